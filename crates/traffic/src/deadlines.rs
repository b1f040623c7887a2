//! Deadlines drawn from a distribution.

use crate::{Draws, Generated, purpose};
use afflux_engine::random::Stream;
use afflux_net::spec::{Flow, Start};
use afflux_units::{Span, Time};
use std::collections::BTreeMap;

/// An exponential distribution of deadlines with a mean and a floor. Draws below the floor are
/// raised to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    pub mean: Span,
    pub least: Span,
}

impl Deadlines {
    /// Returns the deadline for a uniform draw `u` in [0, 1), in whole nanoseconds as in flow
    /// lists.
    pub fn sample(&self, u: f64) -> Span {
        let drawn = Span::from_ns((-libm::log(1.0 - u) * (self.mean.0 as f64 / 1e3) + 0.5) as u64);
        drawn.max(self.least).max(Span::from_ns(1))
    }

    /// Gives every flow of a job the deadline of its job, which counts from the arrival of the job.
    /// Each host that jobs send to draws independently, in the order of its jobs.
    pub fn assign_to_jobs(&self, part: &mut Generated, draws: &Draws) {
        let mut receivers: BTreeMap<u32, u32> = BTreeMap::new();
        for flow in part.flows.iter().filter(|flow| flow.job != Flow::NO_JOB) {
            receivers.entry(flow.job).or_insert(flow.dst);
        }
        let mut streams: BTreeMap<u32, Stream> = BTreeMap::new();
        let deadlines: BTreeMap<u32, Span> = receivers
            .into_iter()
            .map(|(job, host)| {
                let stream = streams
                    .entry(host)
                    .or_insert_with(|| draws.stream(purpose::DEADLINE, u64::from(host)));
                (job, self.sample(stream.next_f64()))
            })
            .collect();
        for flow in &mut part.flows {
            let (Some(deadline), Start::At(start)) = (deadlines.get(&flow.job), flow.start) else {
                continue;
            };
            let arrival = part.jobs[flow.job as usize].arrival.unwrap_or(start);
            flow.deadline = Some(since_start(*deadline, arrival, start));
        }
    }

    /// Gives a deadline to every flow without one. Each source draws independently, in the order of
    /// its flows.
    pub fn assign(&self, part: &mut Generated, draws: &Draws) {
        let mut streams: BTreeMap<u32, Stream> = BTreeMap::new();
        for flow in
            part.flows.iter_mut().chain(&mut part.local).filter(|flow| flow.deadline.is_none())
        {
            let stream = streams
                .entry(flow.src)
                .or_insert_with(|| draws.stream(purpose::DEADLINE, u64::from(flow.src)));
            flow.deadline = Some(self.sample(stream.next_f64()));
        }
    }
}

/// Returns the time from the start of a flow of a job until the deadline of the job, at least 1 ps.
pub fn since_start(deadline: Span, arrival: Time, start: Time) -> Span {
    Span(deadline.0.saturating_sub(start.0 - arrival.0).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, JobKind, Template};

    #[test]
    fn mean_and_floor() {
        let deadlines = Deadlines { mean: Span::from_ms(20), least: Span::from_ms(3) };
        assert_eq!(deadlines.sample(0.0), Span::from_ms(3));
        // The median of an exponential is its mean times ln 2.
        assert_eq!(deadlines.sample(0.5), Span::from_ns(13_862_944));
        let draws = 1_000_000;
        let mean = (0..draws)
            .map(|i| deadlines.sample((i as f64 + 0.5) / draws as f64).0 as f64 / 1e9)
            .sum::<f64>()
            / draws as f64;
        // E[max(X, m)] = m + mean * exp(-m / mean).
        assert!((mean - (3.0 + 20.0 * libm::exp(-3.0 / 20.0))).abs() < 1e-3, "{mean}");
    }

    #[test]
    fn a_source_draws_for_itself_and_what_has_a_deadline_keeps_it() {
        let deadlines = Deadlines { mean: Span::from_ms(20), least: Span::ZERO };
        let flow = |src: u32, ns: u64| {
            Template::default().flow(0, src, 9, 1, Start::At(Time::from_ns(ns)))
        };
        let of = |flows: Vec<_>| {
            let mut part = Generated { flows, ..Generated::default() };
            deadlines.assign(&mut part, &Draws::new(1, "web"));
            part.flows.iter().map(|flow| flow.deadline.unwrap()).collect::<Vec<_>>()
        };
        let all = of(vec![flow(0, 1), flow(1, 2), flow(0, 3)]);
        assert_eq!(of(vec![flow(0, 1), flow(0, 3)]), [all[0], all[2]]);
        assert!(all[0] != all[1] && all[0] != all[2]);
        let mut given = flow(0, 2);
        given.deadline = Some(Span::from_us(5));
        assert_eq!(of(vec![flow(0, 1), given, flow(0, 3)]), [all[0], Span::from_us(5), all[2]]);
    }

    /// Answers to one query have one deadline, which counts from the query. Further answers and the
    /// queries of other hosts do not change it.
    #[test]
    fn a_job_has_one_deadline() {
        let deadlines = Deadlines { mean: Span::from_ms(20), least: Span::from_ms(3) };
        let of = |flows: &[(u32, u32, u32, u64)]| {
            let jobs = (0..3).map(|job| Job::new(JobKind::Query, job, Some(Time::from_ns(100))));
            let flows = flows.iter().map(|&(job, src, dst, ns)| {
                let start = Start::At(Time::from_ns(ns));
                Flow { job, ..Template::default().flow(0, src, dst, 1, start) }
            });
            let (flows, jobs) = (flows.collect(), jobs.collect());
            let mut part = Generated { flows, jobs, ..Generated::default() };
            deadlines.assign_to_jobs(&mut part, &Draws::new(1, "web"));
            part.flows.iter().map(|flow| flow.deadline).collect::<Vec<_>>()
        };
        let all = of(&[(0, 1, 9, 150), (1, 2, 8, 100), (0, 3, 9, 100), (2, 3, 9, 100)]);
        assert_eq!(all[0].map(|after| after + Span::from_ns(50)), all[2]);
        assert!(all[2] != all[1] && all[2] != all[3]);
        assert_eq!(of(&[(0, 3, 9, 100), (2, 1, 9, 100)]), all[2..]);
        assert_eq!(of(&[(Flow::NO_JOB, 1, 2, 100)]), [None]);
    }
}
