//! The all-to-all pattern: every host sends to every other host.

use super::bulk::later;
use super::{pairs, sorted};
use crate::{Draws, Generated, Job, JobKind, SizeDistribution, Template, TrafficError, purpose};
use afflux_net::spec::Start;
use afflux_units::{Span, Time};

/// A shuffle: one flow per ordered pair of hosts. All flows together are one job.
#[derive(Debug, Clone, PartialEq)]
pub struct AllToAll {
    pub hosts: Vec<u32>,
    pub sizes: SizeDistribution,
    pub start: Time,
    pub stagger: Stagger,
}

/// Rule for the starts of a shuffle's flows. In step s, host i sends to the host s places after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stagger {
    /// All flows start at once.
    None,
    /// Step s starts s − 1 intervals after the first, whether or not earlier steps are complete.
    Interval(Span),
    /// Each receiver has `parallel` flows at a time, and requests the next flow when one has ended,
    /// as Hadoop's reducers do. The request takes `delay`, which is above zero and no shorter than
    /// the shortest link delay.
    Parallel { parallel: u32, delay: Span },
}

impl AllToAll {
    /// Returns the number of flows.
    pub fn expected_flows(&self) -> f64 {
        let count = self.hosts.len() as f64;
        count * (count - 1.0)
    }

    pub fn generate(&self, template: &Template, draws: &Draws) -> Result<Generated, TrafficError> {
        let hosts = sorted("hosts", &self.hosts, 2)?;
        let count = hosts.len();
        let window = match self.stagger {
            Stagger::Parallel { parallel: 0, .. } => {
                return Err(TrafficError::parameter("parallel", 0, "at least 1"));
            }
            Stagger::Parallel { delay: Span::ZERO, .. } => {
                return Err(TrafficError::parameter("delay", Span::ZERO, "a time above 0"));
            }
            // Steps before this one start at once. Every later flow waits for the flow to the same
            // receiver this many steps earlier.
            Stagger::Parallel { parallel, .. } => (parallel as usize).min(count - 1),
            _ => count - 1,
        };
        let start = later(self.start, 0, 0)?;
        let mut given = Generated {
            jobs: vec![Job::new(JobKind::Coflow, "", Some(start))],
            ..Generated::default()
        };
        for (index, (src, dst)) in pairs::all(&hosts)?.into_iter().enumerate() {
            let (step, sender) = (index / count, index % count);
            // Each flow that has a successor is a group of its own. `group` numbers the groups by
            // step and receiver.
            let group = |step: usize| (step * count + (sender + index / count + 1) % count) as u32;
            let begin = match self.stagger {
                Stagger::Interval(interval) => {
                    Start::At(later(self.start, interval.0.saturating_mul(step as u64), 0)?)
                }
                Stagger::Parallel { delay, .. } if step >= window => {
                    Start::After { group: group(step - window), delay }
                }
                _ => Start::At(start),
            };
            let mut flow = template.flow(
                0,
                src,
                dst,
                self.sizes.sample(draws.pair(purpose::SIZE, src, dst).next_f64()),
                begin,
            );
            flow.job = 0;
            flow.group = (step + window < count - 1).then(|| group(step));
            given.flows.push(flow);
        }
        given.groups = ((count - 1 - window) * count) as u32;
        Ok(given.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffle(count: u32, stagger: Stagger) -> Generated {
        let all = AllToAll {
            hosts: (0..count).collect(),
            sizes: SizeDistribution::fixed(1_000).unwrap(),
            start: Time::from_ns(3),
            stagger,
        };
        all.generate(&Template::default(), &Draws::new(1, "")).unwrap()
    }

    #[test]
    fn at_once_or_in_steps() {
        let once = shuffle(5, Stagger::None);
        assert_eq!(once.flows.len(), 20);
        assert!(once.flows.iter().all(|flow| flow.start == Start::At(Time::from_ns(3))
            && flow.group.is_none()
            && flow.job == 0));
        let steps = shuffle(5, Stagger::Interval(Span::from_us(1)));
        assert_eq!(steps.flows[19].start, Start::At(Time::from_ns(3_003)));
    }

    #[test]
    fn each_receiver_asks_for_the_next() {
        for parallel in [1, 2, 3, 4, 9] {
            let given = shuffle(5, Stagger::Parallel { parallel, delay: Span::from_us(1) });
            let window = (parallel as usize).min(4);
            assert_eq!(given.groups as usize, (4 - window) * 5);
            let members = |group| {
                given.flows.iter().filter(|flow| flow.group == Some(group)).collect::<Vec<_>>()
            };
            let mut waiting = 0;
            for flow in &given.flows {
                if let Start::After { group, .. } = flow.start {
                    waiting += 1;
                    // A flow waits for a flow to the same receiver, and no other flow waits for
                    // that one.
                    assert_eq!(
                        members(group).iter().map(|before| before.dst).collect::<Vec<_>>(),
                        [flow.dst]
                    );
                    assert_eq!(given.flows.iter().filter(|other| matches!(other.start, Start::After { group: same, .. } if same == group)).count(), 1);
                }
            }
            assert_eq!(waiting, (4 - window) * 5);
        }
    }
}
