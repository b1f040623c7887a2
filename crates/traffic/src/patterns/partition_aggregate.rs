//! The partition-aggregate pattern: a service that splits its work. Aggregators have workers that
//! all answer at once. In addition there are messages that control the workers, and background
//! flows that update their data (Alizadeh et al. 2010, §2.2; Fujii, Tazaki and Sekiya 2014, §3.3).

use super::bulk::{jitter_ps, later};
use super::destinations::Destinations;
use super::random::{Random, Stop};
use super::sorted;
use crate::deadlines::since_start;
use crate::{
    Arrivals, Draws, Generated, Job, JobKind, SizeDistribution, Template, TrafficError, purpose,
};
use afflux_net::spec::Start;
use afflux_units::{Span, Time};

#[derive(Debug, Clone, PartialEq)]
pub struct PartitionAggregate {
    /// Hosts of the service. Each host sends queries to the others, and answers theirs.
    pub hosts: Vec<u32>,
    /// Number of hosts that answer a query, drawn for each query.
    pub workers: u32,
    /// Size of one answer.
    pub query: SizeDistribution,
    /// Query rate of one aggregator.
    pub queries_per_second: f64,
    /// Longest random delay of an answer. Each answer is delayed by a time drawn uniformly from 0
    /// to this, in whole nanoseconds.
    pub jitter: Span,
    pub messages: BackgroundFlows,
    pub background: BackgroundFlows,
    pub start: Time,
    pub duration: Span,
}

/// Flows between any two of the hosts, by Poisson processes.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundFlows {
    pub sizes: SizeDistribution,
    /// Flows per second of one host; 0 for none.
    pub per_second: f64,
    /// Index into the scenario's class names.
    pub class: u16,
}

impl PartitionAggregate {
    /// Returns the approximate number of flows.
    pub fn expected_flows(&self) -> f64 {
        let per_host = self.queries_per_second * f64::from(self.workers)
            + self.messages.per_second
            + self.background.per_second;
        per_host * self.duration.as_seconds() * self.hosts.len() as f64
    }

    pub fn generate(&self, template: &Template, draws: &Draws) -> Result<Generated, TrafficError> {
        let hosts = sorted("hosts", &self.hosts, 2)?;
        let others = hosts.len() as u32 - 1;
        if self.workers == 0 || self.workers > others {
            return Err(TrafficError::parameter("workers", self.workers, format!("1 to {others}")));
        }
        let mut parts = vec![self.queries(&hosts, template, draws)?];
        // Only answers have a deadline.
        let template = Template { deadline: None, ..*template };
        for (purpose, flows) in
            [(purpose::MESSAGES, &self.messages), (purpose::UPDATES, &self.background)]
        {
            if flows.per_second > 0.0 {
                let random = Random {
                    sources: hosts.clone(),
                    destinations: hosts.clone(),
                    choice: Destinations::Uniform,
                    sizes: flows.sizes.clone(),
                    arrivals: Arrivals::Poisson,
                    flows_per_second: flows.per_second,
                    weights: None,
                    start: self.start,
                    stop: Stop::after(self.duration),
                };
                parts.push(random.generate(
                    &Template { class: flows.class, ..template },
                    &draws.within(purpose),
                )?);
            }
        }
        Generated::merge(parts)
    }

    /// Draws the queries. Each query is a job whose flows are its answers, which start at the time
    /// of the query plus their jitter.
    fn queries(
        &self,
        hosts: &[u32],
        template: &Template,
        draws: &Draws,
    ) -> Result<Generated, TrafficError> {
        let mut given = Generated::default();
        if self.queries_per_second <= 0.0 {
            return Ok(given);
        }
        let mut asked: Vec<(Time, u32, u32)> = Vec::new();
        for &aggregator in hosts {
            let times =
                Arrivals::Poisson.times(self.queries_per_second, self.start, draws, aggregator);
            let times =
                times.take_while(|time| time.0 < self.start.0.saturating_add(self.duration.0));
            asked.extend(times.zip(0..).map(|(time, number)| (time, aggregator, number)));
        }
        asked.sort_unstable();
        for (job, (time, aggregator, number)) in asked.into_iter().enumerate() {
            let mut stream = draws.pair(purpose::INCAST, aggregator, number);
            let mut workers: Vec<u32> =
                hosts.iter().copied().filter(|host| *host != aggregator).collect();
            // These are the first steps of a shuffle.
            for i in 0..self.workers as usize {
                let other = i + stream.below((workers.len() - i) as u64) as usize;
                workers.swap(i, other);
            }
            given.jobs.push(Job::new(JobKind::Query, job, Some(time)));
            for &worker in &workers[..self.workers as usize] {
                let bytes = self.query.sample(stream.next_f64());
                let start = later(time, 0, jitter_ps(self.jitter, &mut stream))?;
                let mut flow = template.flow(0, worker, aggregator, bytes, Start::At(start));
                flow.job = job as u32;
                // The deadline is that of the query, so the jitter of an answer shortens it.
                flow.deadline =
                    template.deadline.map(|deadline| since_start(deadline, time, start));
                given.flows.push(flow);
            }
        }
        Ok(given.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> PartitionAggregate {
        let background = |min, max, per_second, class| BackgroundFlows {
            sizes: SizeDistribution::uniform(min, max).unwrap(),
            per_second,
            class,
        };
        PartitionAggregate {
            hosts: (0..20).collect(),
            workers: 12,
            query: SizeDistribution::uniform(2_000, 20_000).unwrap(),
            queries_per_second: 50.0,
            jitter: Span::from_us(100),
            messages: background(50_000, 1_000_000, 5.0, 1),
            background: background(1_000_000, 50_000_000, 1.0, 2),
            start: Time::from_ns(1_000),
            duration: Span::from_s(2),
        }
    }
    fn generate(service: &PartitionAggregate) -> Generated {
        let template = Template { deadline: Some(Span::from_ms(10)), ..Template::default() };
        service.generate(&template, &Draws::new(7, "service")).unwrap()
    }

    #[test]
    fn a_query_is_answered_by_its_workers() {
        let given = generate(&service());
        // The mean is 20 aggregators · 50 per second · 2 s. The limits are three standard
        // deviations of a Poisson count.
        assert!((1_865..2_135).contains(&given.jobs.len()), "{}", given.jobs.len());
        for (job, query) in given.jobs.iter().enumerate() {
            let flows: Vec<_> = given.flows.iter().filter(|flow| flow.job == job as u32).collect();
            let workers: std::collections::BTreeSet<u32> =
                flows.iter().map(|flow| flow.src).collect();
            assert_eq!((flows.len(), workers.len()), (12, 12));
            for flow in flows {
                let Start::At(start) = flow.start else { panic!() };
                let waited = start.0 - query.arrival.unwrap().0;
                assert!(
                    waited <= Span::from_us(100).0
                        && (2_000..=20_000).contains(&flow.bytes)
                        && flow.src != flow.dst
                        && flow.class == 0
                );
                assert_eq!(flow.deadline, Some(Span(Span::from_ms(10).0 - waited)));
            }
        }
    }

    #[test]
    fn most_bytes_are_background() {
        let given = generate(&service());
        let of = |class: u16| given.flows.iter().filter(move |flow| flow.class == class);
        assert!(
            (155..245).contains(&of(1).count()) && (20..60).contains(&of(2).count()),
            "{} {}",
            of(1).count(),
            of(2).count()
        );
        assert!(of(1).all(|flow| (50_000..=1_000_000).contains(&flow.bytes)
            && flow.deadline.is_none()
            && flow.job == afflux_net::spec::Flow::NO_JOB));
        let bytes = |class: u16| of(class).map(|flow| flow.bytes).sum::<u64>();
        assert!(bytes(2) > bytes(1) + bytes(0));
    }

    #[test]
    fn parts_draw_by_themselves() {
        let (all, mut alone) = (generate(&service()), service());
        alone.messages.per_second = 0.0;
        let answers = |given: &Generated| {
            given
                .flows
                .iter()
                .filter(|flow| flow.class == 0)
                .map(|flow| (flow.start, flow.src, flow.bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(answers(&all), answers(&generate(&alone)));
        assert!(
            PartitionAggregate { workers: 20, ..service() }
                .generate(&Template::default(), &Draws::new(1, ""))
                .unwrap_err()
                .to_string()
                .contains("1 to 19")
        );
    }
}
