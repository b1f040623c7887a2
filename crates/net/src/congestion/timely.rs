//! TIMELY: a rate that follows the gradient of the round trip.

use crate::Model;
use crate::spec::TimelyConfig;

#[derive(Debug, Clone)]
pub struct Timely {
    /// Bits per second.
    rate: u64,
    line: u64,
    /// Of the completion before; 0 for none.
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

    #[inline]
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// `acked` more bytes are acknowledged, by a round trip of `round_trip`.
    pub fn on_ack(&mut self, acked: u64, round_trip: u64, config: &TimelyConfig) {
        self.since += acked;
        if self.since < config.segment {
            return;
        }
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
            weight: 0.875,
            beta: 0.8,
            additive: 100_000_000,
            hyper_after: 5,
            segment: 16_000,
            min_rate: 100_000_000,
        }
    }

    const US: u64 = 1_000_000;

    #[test]
    fn each_rule_in_turn() {
        let (config, mut c) = (config(), Timely::new(100_000_000_000));
        let mut after = |round_trip: u64| {
            c.on_ack(16_000, round_trip * US, &config);
            c.rate()
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
            c.on_ack(1_000, round_trip * US, &config);
        }
        assert_eq!((c.rate(), c.previous), (100_000_000_000, 0));
    }
}
