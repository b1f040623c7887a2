//! The bulk pattern: one flow per pair, or several at fixed intervals.

use crate::{Draws, Generated, SizeDistribution, Template, TrafficError, purpose};
use afflux_net::spec::Start;
use afflux_units::{Span, Time};
use std::collections::BTreeMap;

/// `rounds` flows for each of `pairs` (see [`crate::pairs`]), `period` apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Bulk {
    pub pairs: Vec<(u32, u32)>,
    pub sizes: SizeDistribution,
    pub start: Time,
    /// Longest random delay of a start. Each start is delayed by a time drawn uniformly from 0 to
    /// this, in whole nanoseconds.
    pub jitter: Span,
    pub rounds: u32,
    pub period: Span,
}

impl Bulk {
    /// Creates one flow per pair, all at `start`.
    pub fn once(pairs: Vec<(u32, u32)>, sizes: SizeDistribution, start: Time) -> Self {
        Bulk { pairs, sizes, start, jitter: Span::ZERO, rounds: 1, period: Span::ZERO }
    }
    /// Returns the number of flows.
    pub fn expected_flows(&self) -> f64 {
        self.pairs.len() as f64 * f64::from(self.rounds)
    }
    pub fn generate(&self, template: &Template, draws: &Draws) -> Result<Generated, TrafficError> {
        let mut given = Generated::default();
        let streams = |(src, dst)| {
            (draws.pair(purpose::SIZE, src, dst), draws.pair(purpose::JITTER, src, dst))
        };
        // A pair that is written several times draws on.
        let mut repeated: BTreeMap<_, _> =
            self.repeated().map(|pair| (pair, streams(pair))).collect();
        for &(src, dst) in &self.pairs {
            let mut own = streams((src, dst));
            let (size, jitter) = repeated.get_mut(&(src, dst)).unwrap_or(&mut own);
            for round in 0..self.rounds {
                let start = later(
                    self.start,
                    self.period.0.saturating_mul(u64::from(round)),
                    jitter_ps(self.jitter, jitter),
                )?;
                given.flows.push(template.flow(
                    0,
                    src,
                    dst,
                    self.sizes.sample(size.next_f64()),
                    Start::At(start),
                ));
            }
        }
        // Among equal starts, flows are ordered by round and not by pair.
        let pairs = self.pairs.len();
        let rounds = self.rounds as usize;
        if rounds > 1 {
            given.flows = (0..rounds)
                .flat_map(|round| (0..pairs).map(move |pair| pair * rounds + round))
                .map(|i| given.flows[i].clone())
                .collect();
        }
        Ok(given.finish())
    }
    /// Returns the pairs that are written several times.
    fn repeated(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut pairs = self.pairs.clone();
        pairs.sort_unstable();
        let again: Vec<_> =
            pairs.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
        again.into_iter()
    }
}

/// Returns a uniformly drawn delay from 0 to `most` in picoseconds, a multiple of 1 ns.
pub(super) fn jitter_ps(most: Span, stream: &mut afflux_engine::random::Stream) -> u64 {
    1_000 * stream.below(most.0 / 1_000 + 1)
}

/// Returns `start` plus both delays, rounded to whole nanoseconds.
pub(super) fn later(start: Time, by_ps: u64, jitter_ps: u64) -> Result<Time, TrafficError> {
    let moved = start
        .0
        .checked_add(by_ps)
        .and_then(|ps| ps.checked_add(jitter_ps))
        .filter(|ps| *ps <= Time::LATEST.0);
    let moved = moved.ok_or_else(|| {
        TrafficError::parameter(
            "start",
            "a start after 160 h, the latest time of a run",
            "earlier starts",
        )
    })?;
    Ok(Time::from_ns(Time(moved).round_ns()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_and_jitter() {
        let sizes = SizeDistribution::fixed(1_000).unwrap();
        let mut bulk = Bulk::once(vec![(0, 1), (1, 0)], sizes, Time::from_ns(7));
        bulk.rounds = 2;
        bulk.period = Span::from_us(1);
        let given = bulk.generate(&Template::default(), &Draws::new(1, "")).unwrap();
        let starts: Vec<_> = given.flows.iter().map(|flow| (flow.start, flow.src)).collect();
        assert_eq!(
            starts,
            [
                (Start::At(Time::from_ns(7)), 0),
                (Start::At(Time::from_ns(7)), 1),
                (Start::At(Time::from_ns(1_007)), 0),
                (Start::At(Time::from_ns(1_007)), 1)
            ]
        );
        bulk.jitter = Span::from_ns(500);
        let jittered = bulk.generate(&Template::default(), &Draws::new(1, "")).unwrap();
        assert!(jittered.flows.iter().all(|flow| matches!(flow.start, Start::At(time) if time.0 % 1_000 == 0 && (7..=1_507).contains(&time.round_ns()))));
        bulk.period = Span(u64::MAX);
        assert!(bulk.generate(&Template::default(), &Draws::new(1, "")).is_err());
    }

    #[test]
    fn a_pair_draws_the_same_whatever_the_others() {
        let sizes = SizeDistribution::named("websearch").unwrap();
        let one = |pairs| {
            let given = Bulk::once(pairs, sizes.clone(), Time::ZERO)
                .generate(&Template::default(), &Draws::new(3, "x"))
                .unwrap();
            given.flows.iter().find(|flow| flow.src == 5).unwrap().bytes
        };
        assert_eq!(one(vec![(5, 6)]), one(vec![(1, 2), (5, 6), (6, 5)]));
    }

    /// Parallel connections are not copies of one another.
    #[test]
    fn a_pair_that_is_written_again_draws_on() {
        let sizes = SizeDistribution::named("websearch").unwrap();
        let made = |pairs| {
            let bulk =
                Bulk { jitter: Span::from_us(100), ..Bulk::once(pairs, sizes.clone(), Time::ZERO) };
            let given = bulk.generate(&Template::default(), &Draws::new(3, "x")).unwrap();
            let own = given.flows.into_iter().filter(|flow| flow.src == 5);
            own.map(|flow| (flow.bytes, flow.start)).collect::<Vec<_>>()
        };
        let (one, three) = (made(vec![(5, 6)]), made(vec![(5, 6), (1, 2), (5, 6), (5, 6)]));
        assert_eq!((one.len(), three.len()), (1, 3));
        assert!(three.contains(&one[0]));
        assert!(three[0] != three[1] && three[0] != three[2] && three[1] != three[2]);
    }
}
