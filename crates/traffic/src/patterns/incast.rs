//! The incast pattern: many senders answer a client at the same time.

use super::bulk::{jitter_ps, later};
use super::sorted;
use crate::{Draws, Generated, Job, JobKind, Template, TrafficError, purpose};
use afflux_engine::random::Stream;
use afflux_net::spec::Start;
use afflux_units::{Span, Time};

/// Rounds of simultaneous flows to one receiver. Every round of a receiver is a job, named by its
/// number. The receivers of a list are independent of each other. Round r of the receiver at
/// position p of n, in ascending order of the hosts, has the number r·n + p.
#[derive(Debug, Clone, PartialEq)]
pub struct Incast {
    /// Hosts that may take part.
    pub hosts: Vec<u32>,
    pub receiver: Receiver,
    pub senders: Senders,
    pub size: IncastSize,
    pub rounds: u32,
    pub rhythm: Loop,
    pub start: Time,
    /// Longest random delay of a flow. Each flow is delayed by a time drawn uniformly from 0 to
    /// this, in whole nanoseconds.
    pub jitter: Span,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receiver {
    /// Each of these hosts has its own rounds.
    These(Vec<u32>),
    /// A receiver is drawn from `hosts` for each round.
    Random,
}

/// Senders of a round. The receiver itself never sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Senders {
    /// All of these hosts, except the round's receiver.
    These(Vec<u32>),
    /// This number of `hosts`, those with the lowest numbers.
    First(u32),
    /// This number of `hosts`, drawn for each round.
    Random(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncastSize {
    PerSender(u64),
    /// Size that the senders of a round share as evenly as whole bytes allow: an aggregator's
    /// query, to which each of N workers answers S/N.
    Total(u64),
}

/// Rule for the start of the next round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// Rounds start at fixed intervals.
    Open { period: Span },
    /// A round starts when the last byte of the previous round has arrived, plus the `delay` that
    /// the requests take (and the receiver thinks). The delay is above zero, and no shorter than
    /// the shortest link delay.
    Closed { delay: Span },
}

/// A round of one of `receivers` receivers. The receiver is drawn if it is `None`.
struct Round {
    number: u32,
    receiver: Option<u32>,
    receivers: u32,
}

impl Incast {
    /// Returns an upper bound on the number of flows.
    pub fn expected_flows(&self) -> f64 {
        let senders = match &self.senders {
            Senders::These(list) => list.len() as f64,
            Senders::First(count) | Senders::Random(count) => {
                f64::from(*count).min(self.hosts.len() as f64)
            }
        };
        let receivers =
            if let Receiver::These(list) = &self.receiver { list.len() as f64 } else { 1.0 };
        senders.max(1.0) * receivers * f64::from(self.rounds)
    }

    pub fn generate(&self, template: &Template, draws: &Draws) -> Result<Generated, TrafficError> {
        let hosts = sorted("hosts", &self.hosts, 2)?;
        if let (Loop::Closed { delay: Span::ZERO }, true) = (self.rhythm, self.rounds > 1) {
            return Err(TrafficError::parameter("delay", Span::ZERO, "a time above 0"));
        }
        let receivers: Vec<Option<u32>> = match &self.receiver {
            Receiver::These(list) => sorted("to", list, 1)?.into_iter().map(Some).collect(),
            Receiver::Random => vec![None],
        };
        let jobs = receivers.len() as u64 * u64::from(self.rounds);
        if jobs > u64::from(u32::MAX) {
            return Err(TrafficError::parameter(
                "rounds",
                format!("{jobs} rounds of all receivers"),
                format!("at most {}", u32::MAX),
            ));
        }
        let mut given = Generated::default();
        for round in 0..self.rounds {
            for receiver in &receivers {
                // Several receivers draw independently, so a further receiver changes no draw of
                // the others.
                let draws = receiver
                    .filter(|_| receivers.len() > 1)
                    .map_or(*draws, |host| draws.within(u64::from(host)));
                let round =
                    Round { number: round, receiver: *receiver, receivers: receivers.len() as u32 };
                self.round(round, &hosts, template, &draws, &mut given)?;
            }
        }
        if matches!(self.rhythm, Loop::Closed { .. }) {
            given.groups = self.rounds.saturating_sub(1) * receivers.len() as u32;
        }
        Ok(given.finish())
    }

    fn round(
        &self,
        round: Round,
        hosts: &[u32],
        template: &Template,
        draws: &Draws,
        given: &mut Generated,
    ) -> Result<(), TrafficError> {
        let Round { number: round, receiver, receivers } = round;
        let mut stream = draws.stream(purpose::INCAST, u64::from(round));
        let receiver = receiver.unwrap_or_else(|| hosts[stream.below(hosts.len() as u64) as usize]);
        let senders = self.senders_to(receiver, hosts, &mut stream)?;
        let arrival = match self.rhythm {
            Loop::Open { period } => {
                Some(later(self.start, period.0.saturating_mul(u64::from(round)), 0)?)
            }
            Loop::Closed { .. } if round == 0 => Some(later(self.start, 0, 0)?),
            Loop::Closed { .. } => None,
        };
        let job = given.jobs.len() as u32;
        given.jobs.push(Job::new(JobKind::Query, job, arrival));
        for (position, sender) in senders.iter().enumerate() {
            let jitter = jitter_ps(self.jitter, &mut draws.pair(purpose::JITTER, round, *sender));
            let start = match (arrival, self.rhythm) {
                (None, Loop::Closed { delay }) => {
                    Start::After { group: job - receivers, delay: delay + Span(jitter) }
                }
                (arrival, _) => Start::At(later(arrival.unwrap_or(self.start), 0, jitter)?),
            };
            let mut flow = template.flow(
                0,
                *sender,
                receiver,
                self.share(position as u64, senders.len() as u64)?,
                start,
            );
            flow.job = job;
            // The flows of a round form a group if a further round of the same receiver waits for
            // them.
            flow.group = (matches!(self.rhythm, Loop::Closed { .. }) && round + 1 < self.rounds)
                .then_some(job);
            given.flows.push(flow);
        }
        Ok(())
    }

    fn senders_to(
        &self,
        receiver: u32,
        hosts: &[u32],
        stream: &mut Stream,
    ) -> Result<Vec<u32>, TrafficError> {
        let mut others: Vec<u32> = match &self.senders {
            Senders::These(list) => sorted("senders", list, 1)?,
            _ => hosts.to_vec(),
        };
        others.retain(|host| *host != receiver);
        let count = match self.senders {
            Senders::These(_) => others.len(),
            Senders::First(count) | Senders::Random(count) => count as usize,
        };
        if others.is_empty() {
            let allowed = "at least one host besides the receiver, which does not send to itself";
            return Err(TrafficError::parameter("senders", "no sender", allowed));
        }
        if count == 0 || count > others.len() {
            return Err(TrafficError::parameter(
                "senders",
                count,
                format!("1 to {} (the receiver does not send to itself)", others.len()),
            ));
        }
        if let Senders::Random(_) = self.senders {
            // These are the first `count` steps of a shuffle.
            for i in 0..count {
                let other = i + stream.below((others.len() - i) as u64) as usize;
                others.swap(i, other);
            }
        }
        others.truncate(count);
        Ok(others)
    }

    fn share(&self, position: u64, senders: u64) -> Result<u64, TrafficError> {
        let bytes = match self.size {
            IncastSize::PerSender(bytes) => bytes,
            IncastSize::Total(total) => total / senders + u64::from(position < total % senders),
        };
        if bytes == 0 {
            return Err(TrafficError::parameter(
                "size",
                "less than a byte per sender",
                "at least one byte per sender",
            ));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(rhythm: Loop) -> Incast {
        Incast {
            hosts: (0..10).collect(),
            receiver: Receiver::These(vec![3]),
            senders: Senders::First(4),
            size: IncastSize::Total(1_002),
            rounds: 3,
            rhythm,
            start: Time::from_ns(50),
            jitter: Span::ZERO,
        }
    }
    fn generate(incast: &Incast) -> Generated {
        incast.generate(&Template::default(), &Draws::new(1, "query")).unwrap()
    }

    #[test]
    fn open_loop_by_the_clock() {
        let given = generate(&query(Loop::Open { period: Span::from_us(1) }));
        assert_eq!(given.flows.len(), 12);
        assert_eq!(
            given.flows[..4]
                .iter()
                .map(|flow| (flow.src, flow.dst, flow.bytes))
                .collect::<Vec<_>>(),
            [(0, 3, 251), (1, 3, 251), (2, 3, 250), (4, 3, 250)]
        );
        assert_eq!(given.flows[8].start, Start::At(Time::from_ns(2_050)));
        assert!(given.flows.iter().all(|flow| flow.group.is_none()));
        assert_eq!(given.jobs[2], Job::new(JobKind::Query, 2, Some(Time::from_ns(2_050))));
    }

    #[test]
    fn closed_loop_waits_for_the_round_before() {
        let delay = Span::from_us(5);
        let given = generate(&query(Loop::Closed { delay }));
        assert_eq!(given.groups, 2);
        for flow in &given.flows {
            let round = flow.job;
            assert_eq!(flow.group, (round < 2).then_some(round));
            assert_eq!(
                flow.start,
                if round == 0 {
                    Start::At(Time::from_ns(50))
                } else {
                    Start::After { group: round - 1, delay }
                }
            );
        }
        assert_eq!(
            given.jobs.iter().map(|job| job.arrival).collect::<Vec<_>>(),
            [Some(Time::from_ns(50)), None, None]
        );
    }

    #[test]
    fn each_receiver_of_a_list_has_rounds_of_its_own() {
        let delay = Span::from_us(5);
        let given = generate(&Incast {
            receiver: Receiver::These(vec![7, 3]),
            ..query(Loop::Closed { delay })
        });
        assert_eq!(
            given.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(),
            ["0", "1", "2", "3", "4", "5"]
        );
        assert_eq!((given.flows.len(), given.groups), (24, 4));
        for flow in &given.flows {
            let (round, position) = (flow.job / 2, flow.job % 2);
            assert_eq!(flow.dst, [3, 7][position as usize]);
            assert_eq!(
                flow.start,
                if round == 0 {
                    Start::At(Time::from_ns(50))
                } else {
                    Start::After { group: flow.job - 2, delay }
                }
            );
            assert_eq!(flow.group, (round < 2).then_some(flow.job));
        }
        let senders = |given: &Generated, dst| {
            given
                .flows
                .iter()
                .filter(|flow| flow.dst == dst)
                .map(|flow| flow.src)
                .collect::<Vec<_>>()
        };
        assert_eq!(senders(&given, 7), [0, 1, 2, 3].repeat(3));
        // A further receiver changes no draw of the others.
        let drawn = |list| {
            generate(&Incast {
                receiver: Receiver::These(list),
                senders: Senders::Random(4),
                ..query(Loop::Open { period: delay })
            })
        };
        assert_eq!(senders(&drawn(vec![3, 7]), 7), senders(&drawn(vec![3, 5, 7]), 7));
        assert_ne!(senders(&drawn(vec![3, 7]), 7), senders(&drawn(vec![3, 7]), 3));
    }

    #[test]
    fn random_receivers_and_senders_with_jitter() {
        let mut incast = query(Loop::Open { period: Span::from_us(10) });
        incast.receiver = Receiver::Random;
        incast.senders = Senders::Random(9);
        incast.rounds = 50;
        incast.jitter = Span::from_us(2);
        let given = generate(&incast);
        let mut receivers = std::collections::BTreeSet::new();
        for round in 0..50 {
            let flows: Vec<_> = given.flows.iter().filter(|flow| flow.job == round).collect();
            let senders: std::collections::BTreeSet<u32> =
                flows.iter().map(|flow| flow.src).collect();
            assert_eq!((flows.len(), senders.len()), (9, 9));
            assert!(flows.iter().all(|flow| flow.dst == flows[0].dst && flow.src != flow.dst));
            receivers.insert(flows[0].dst);
        }
        assert!(receivers.len() > 7);
        // A longer run keeps its first rounds.
        incast.rounds = 60;
        assert_eq!(
            generate(&incast).flows[..50].iter().map(|flow| flow.start).collect::<Vec<_>>(),
            given.flows[..50].iter().map(|flow| flow.start).collect::<Vec<_>>()
        );
    }

    #[test]
    fn mistakes_are_refused() {
        let base = query(Loop::Closed { delay: Span::from_us(1) });
        let refused = |incast: Incast| {
            incast.generate(&Template::default(), &Draws::new(1, "")).unwrap_err().to_string()
        };
        assert!(refused(Incast { senders: Senders::First(10), ..base.clone() }).contains("1 to 9"));
        assert!(
            refused(Incast { size: IncastSize::Total(3), ..base.clone() })
                .contains("one byte per sender")
        );
        assert!(
            refused(Incast { rhythm: Loop::Closed { delay: Span::ZERO }, ..base.clone() })
                .contains("delay")
        );
        assert!(refused(Incast { senders: Senders::These(vec![3]), ..base }).contains("senders"));
    }
}
