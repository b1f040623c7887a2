//! TIMELY: sets the rate by the gradient of the round trip.

use super::controller::bits_per_second;
use super::{About, Ack, Path, RateController, RateParameters, RateResponse};
use crate::Model;
use crate::congestion::IncreaseRule;
use afflux_config::keys::up_to_a_second;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Size, Speed, keys};
use afflux_units::{Bytes, Rate};

keys! {
    /// Parameters of TIMELY.
    pub struct Keys as "Timely" => TimelyConfig(nic: Rate) {
        /// Round trip below which the rate rises whatever the gradient.
        t_low: Duration = "50us" from "paper", check up_to_a_second;
        /// Round trip above which the rate falls whatever the gradient.
        t_high: Duration = "500us" from "paper", check |given, at| match up_to_a_second(given, at.clone())? {
            t_high if t_high <= t_low => Err(Wrong::at(at, format!("\"{t_high}\" is not above t_low = \"{t_low}\""))),
            t_high => Ok(t_high),
        };
        /// Unit of the gradient: the least round trip.
        min_rtt: Duration = "20us" from "paper", check up_to_a_second;
        /// Weight of the newest difference of round trips.
        weight: f64 = 0.875 from "HPCC's simulator", in 0.001 to 1.0;
        /// Multiplicative decrease.
        beta: f64 = 0.8 from "paper", in 0.0 to 1.0;
        /// Additive increase.
        additive: Speed as u64 = (Speed(Rate((nic.0 / 1_000).max(1))))
            "`\"10Mbps\"` per 10 Gbps of the first host's link" from "HPCC's simulator", check bits_per_second;
        /// Successive completions with a falling round trip after which each raises the rate by
        /// this many steps at once.
        hyper_after: u32 = 5 from "paper", check |completions, _| Ok(completions.max(1));
        /// Acknowledged bytes (a segment) after which the rate is updated.
        segment: Size as u64 = "16kB" from "paper: 16 to 64 KB", check |Size(Bytes(bytes)), _| Ok(bytes);
        /// Least rate.
        min_rate: Speed as u64 = "100Mbps", check bits_per_second;
    }
}

impl RateParameters for TimelyConfig {
    fn rate_response(&self, _: f64) -> RateResponse {
        RateResponse { growth: IncreaseRule::AtOnce, efficiency: 1.0, erratic: true }
    }
}

#[derive(Debug, Clone)]
pub struct Timely {
    /// Rate in bit/s.
    rate: u64,
    line: u64,
    /// Round trip in ps of the previous completion; 0 if there was none.
    previous: u64,
    /// Smoothed difference of successive round trips, picoseconds.
    difference: f64,
    /// Successive completions with a gradient that is not above 0.
    falling: u32,
    /// Bytes acknowledged since the last completion.
    since: u64,
}

impl Timely {
    pub fn new(line: u64) -> Self {
        Timely { rate: line, line, previous: 0, difference: 0.0, falling: 0, since: 0 }
    }
}

impl RateController for Timely {
    type Config = TimelyConfig;
    fn start(path: &Path, _: &TimelyConfig) -> Self {
        Timely::new(path.line)
    }
    #[inline(always)]
    fn rate(&mut self, _: u64, _: u64, _: &TimelyConfig) -> u64 {
        self.rate
    }
    fn uses_round_trips(&self) -> bool {
        true
    }
    fn on_ack(&mut self, ack: &Ack, _: u16, config: &TimelyConfig) {
        self.since += ack.acked;
        let Some(round_trip) = ack.round_trip.filter(|_| self.since >= config.segment) else {
            return;
        };
        self.since = 0;
        let previous = std::mem::replace(&mut self.previous, round_trip);
        if previous == 0 {
            return;
        }
        // Algorithm 1 of the paper.
        let new = round_trip as f64 - previous as f64;
        self.difference = (1.0 - config.weight) * self.difference + config.weight * new;
        let gradient = self.difference / config.min_rtt.0 as f64;
        let rate = self.rate as f64;
        let rate = if round_trip < config.t_low.0 {
            self.falling = 0;
            rate + config.additive as f64
        } else if round_trip > config.t_high.0 {
            self.falling = 0;
            rate * (1.0 - config.beta * (1.0 - config.t_high.0 as f64 / round_trip as f64))
        } else if gradient <= 0.0 {
            self.falling += 1;
            let steps = if self.falling >= config.hyper_after { config.hyper_after } else { 1 };
            rate + (steps as u64 * config.additive) as f64
        } else {
            self.falling = 0;
            rate * (1.0 - config.beta * gradient).max(0.0)
        };
        self.rate = (rate as u64).clamp(config.min_rate.min(self.line), self.line);
    }
}

pub const ABOUT: About = About::of(MODEL);

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "timely",
    source: "Mittal et al., SIGCOMM 2015, algorithm 1",
    faithful: "thresholds, smoothed gradient, additive and hyperactive increase, a decision per completed segment",
    simplified: "a queue pair starts at the NIC's rate; frames are paced one by one, not in bursts of a segment; the round trip is that of the frame whose \
                 acknowledgement completes the segment",
};

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    fn config() -> TimelyConfig {
        TimelyConfig {
            t_low: Span::from_us(50),
            t_high: Span::from_us(500),
            min_rtt: Span::from_us(20),
            ..crate::testing::timely()
        }
    }

    const US: u64 = 1_000_000;

    #[test]
    fn each_rule_in_turn() {
        let (config, mut c) = (config(), Timely::new(100_000_000_000));
        let mut after = |round_trip: u64| {
            c.on_ack(
                &Ack { now: 0, round_trip: Some(round_trip * US), acked: 16_000 },
                1_000,
                &config,
            );
            c.rate
        };
        assert_eq!(after(100), 100_000_000_000, "one round trip has no gradient");
        // 2 us more: 0.875 · 2 / 20 = 0.0875; 1 − 0.8 · 0.0875 = 0.93.
        assert_eq!(after(102), 93_000_000_000);
        // 2 us less: 0.125 · 1.75 − 0.875 · 2 < 0.
        assert_eq!(after(100), 93_100_000_000);
        // Above the upper threshold whatever the gradient: 1 − 0.8 · (1 − 500/1000).
        assert_eq!(after(1_000), 55_860_000_000);
        assert_eq!(after(1_000), 33_516_000_000);
        assert_eq!(after(40), 33_616_000_000, "below the lower one");
        for step in 1..=4 {
            assert_eq!(after(100 - step), 33_616_000_000 + 100_000_000 * step, "falling");
        }
        assert_eq!(after(95), 34_516_000_000, "the fifth time by five steps");
    }

    #[test]
    fn only_whole_segments_count() {
        let (config, mut c) = (config(), Timely::new(100_000_000_000));
        for round_trip in 100..115 {
            c.on_ack(
                &Ack { now: 0, round_trip: Some(round_trip * US), acked: 1_000 },
                1_000,
                &config,
            );
        }
        assert_eq!((c.rate, c.previous), (100_000_000_000, 0));
    }
}
