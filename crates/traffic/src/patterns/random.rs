//! Open-loop traffic: every source starts flows by its own clock, whether or not earlier flows have
//! ended.

use super::destinations::{Chooser, Destinations};
use super::sorted;
use crate::{Arrivals, Draws, Generated, SizeDistribution, Template, TrafficError, purpose};
use afflux_net::spec::Start;
use afflux_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Independent sources with random destinations and sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct Random {
    pub sources: Vec<u32>,
    /// Candidates for destinations. A source never sends to itself.
    pub destinations: Vec<u32>,
    pub choice: Destinations,
    pub sizes: SizeDistribution,
    pub arrivals: Arrivals,
    /// Flow rate of one source; see [`crate::LoadBasis::flows_per_second`].
    pub flows_per_second: f64,
    /// Factor on the rate of each source, in the order of `sources`; `None` if all have the same
    /// rate.
    pub weights: Option<Vec<f64>>,
    pub start: Time,
    pub stop: Stop,
}

/// Limits after which no new flow starts. At least one must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// Time after the start from which on no flow starts.
    pub after: Option<Span>,
    /// Total number of flows.
    pub flows: Option<u64>,
}

impl Stop {
    pub fn after(span: Span) -> Self {
        Stop { after: Some(span), flows: None }
    }
    pub fn flows(count: u64) -> Self {
        Stop { after: None, flows: Some(count) }
    }
}

impl Random {
    /// Returns the approximate number of flows, or an upper bound on it.
    pub fn expected_flows(&self) -> f64 {
        let factor =
            self.weights.as_ref().map_or(self.sources.len() as f64, |weights| weights.iter().sum());
        // Log-normal gaps are mostly short and rarely very long. A time too short for the long ones
        // therefore has more flows than the mean rate gives.
        let crowded = if let Arrivals::LogNormal { sigma } = self.arrivals {
            libm::exp(sigma * sigma / 8.0)
        } else {
            1.0
        };
        let by_time = self.stop.after.map_or(f64::INFINITY, |span| {
            crowded * factor * self.flows_per_second * span.as_seconds()
        });
        by_time.min(self.stop.flows.map_or(f64::INFINITY, |flows| flows as f64))
    }

    pub fn generate(&self, template: &Template, draws: &Draws) -> Result<Generated, TrafficError> {
        let rates = self.rates()?;
        let destinations = sorted("destinations", &self.destinations, 1)?;
        let active: Vec<u32> = rates.iter().map(|(source, _)| *source).collect();
        let chooser = Chooser::new(&self.choice, &active, &destinations)?;
        let stop_at = self.stop.after.map_or(u64::MAX, |span| self.start.0.saturating_add(span.0));
        let most = self.stop.flows.unwrap_or(u64::MAX);

        let mut clocks: Vec<_> = rates
            .iter()
            .map(|(source, rate)| self.arrivals.times(*rate, self.start, draws, *source))
            .collect();
        let mut size_streams: Vec<_> =
            active.iter().map(|source| draws.stream(purpose::SIZE, u64::from(*source))).collect();
        let mut choice_streams: Vec<_> = active
            .iter()
            .map(|source| draws.stream(purpose::DESTINATION, u64::from(*source)))
            .collect();
        let mut next = |i: usize| clocks[i].next().filter(|time| time.0 < stop_at);

        // Among equal starts, flows are ordered by host.
        let mut pending: BinaryHeap<Reverse<(Time, usize)>> =
            (0..active.len()).filter_map(|i| Some(Reverse((next(i)?, i)))).collect();
        let mut given = Generated::default();
        while let Some(Reverse((time, i))) = pending.pop() {
            if given.flows.len() as u64 >= most {
                break;
            }
            // `Chooser::new` has checked that every active source has a destination.
            let Some(dst) = chooser.choose(active[i], &mut choice_streams[i]) else { continue };
            let bytes = self.sizes.sample(size_streams[i].next_f64());
            given.flows.push(template.flow(0, active[i], dst, bytes, Start::At(time)));
            pending.extend(next(i).map(|time| Reverse((time, i))));
        }
        let count = given.flows.len() as u64;
        if self.stop.after.is_none() && count < most {
            return Err(TrafficError::parameter(
                "flows",
                most,
                format!(
                    "up to {count} at this rate, because no flow starts after 160 h, the latest time of a run"
                ),
            ));
        }
        Ok(given.finish())
    }

    /// Returns the flows per second of each source with a rate above 0, in the order of host
    /// numbers.
    pub(super) fn rates(&self) -> Result<Vec<(u32, f64)>, TrafficError> {
        self.check()?;
        let sources = sorted("sources", &self.sources, 1)?;
        let mut rates: Vec<(u32, f64)> = match &self.weights {
            None => sources.iter().map(|source| (*source, self.flows_per_second)).collect(),
            Some(weights) => self
                .sources
                .iter()
                .zip(weights)
                .map(|(source, weight)| (*source, weight * self.flows_per_second))
                .collect(),
        };
        rates.retain(|(_, rate)| *rate > 0.0);
        rates.sort_by_key(|(source, _)| *source);
        Ok(rates)
    }

    fn check(&self) -> Result<(), TrafficError> {
        self.arrivals.check()?;
        if !(self.flows_per_second > 0.0 && self.flows_per_second.is_finite()) {
            return Err(TrafficError::parameter(
                "load",
                format!("{} flows per second", self.flows_per_second),
                "a rate above 0",
            ));
        }
        if let Some(weights) = &self.weights {
            let usable = weights.iter().all(|weight| *weight >= 0.0 && weight.is_finite())
                && weights.iter().any(|weight| *weight > 0.0);
            if weights.len() != self.sources.len() || !usable {
                return Err(TrafficError::parameter(
                    "weights",
                    format!("{} weights", weights.len()),
                    format!("{} numbers, none negative and not all 0", self.sources.len()),
                ));
            }
        }
        if self.stop.after.is_none() && self.stop.flows.is_none() {
            return Err(TrafficError::parameter(
                "stop",
                "no end",
                "a duration or a number of flows",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
