//! HPCC: sets the window, and the rate that follows from it, by the switches' readings of their
//! ports.

use super::{About, Path, RateController, RateParameters, RateResponse};
use crate::Model;
use crate::congestion::IncreaseRule;
use crate::telemetry::{Reading, Telemetry};
use afflux_config::keys::up_to_a_second;
use afflux_config::{Duration, Size, keys};
use afflux_units::{Bytes, Rate};

keys! {
    /// Parameters of HPCC.
    pub struct Keys as "HpccControl" => HpccConfig(_nic: Rate) {
        /// Target utilisation.
        eta: f64 = 0.95 from "paper", in 0.01 to 1.0;
        /// Number of round trips with additive increase before a multiplicative one.
        max_stage: u32 = 5 from "paper; HPCC's simulator has 0";
        /// Additive increase per round trip.
        additive: Size as f64 = "80B" from "paper", check |Size(Bytes(bytes)), _| Ok(bytes as f64);
        /// Base round trip T.
        base_rtt: Duration = none "the idle one of the flow's path; the paper has one a little above the longest of the fabric", check up_to_a_second;
    }
}

impl RateParameters for HpccConfig {
    fn rate_response(&self, _: f64) -> RateResponse {
        RateResponse { growth: IncreaseRule::AtOnce, efficiency: 0.9, erratic: false }
    }
}

#[derive(Debug, Clone)]
pub struct Hpcc {
    /// Window, reference window (that of the last round trip) and capacity of the path, in bytes.
    window: f64,
    reference: f64,
    most: f64,
    /// Base round trip in ps.
    base: f64,
    line: u64,
    /// Smoothed utilisation of the busiest link.
    utilisation: f64,
    stage: u32,
    /// Position in bytes whose acknowledgement renews the reference.
    renew_at: u64,
    /// Previous readings of the switches.
    last: Telemetry,
}

impl Hpcc {
    /// Creates the controller. `round_trip`: round trip of the idle path in ps.
    pub fn new(line: u64, round_trip: u64, config: &HpccConfig) -> Self {
        let base = config.base_rtt.map_or(round_trip, |span| span.0) as f64;
        let most = line as f64 * base / 8e12;
        Hpcc {
            window: most,
            reference: most,
            most,
            base,
            line,
            utilisation: 1.0,
            stage: 0,
            renew_at: 0,
            last: Telemetry::default(),
        }
    }
}

impl RateController for Hpcc {
    type Config = HpccConfig;
    fn start(path: &Path, config: &HpccConfig) -> Self {
        Hpcc::new(path.line, path.round_trip, config)
    }

    #[inline(always)]
    fn rate(&mut self, _: u64, _: u64, _: &HpccConfig) -> u64 {
        ((self.window * 8e12 / self.base) as u64).max(1_000_000).min(self.line)
    }

    #[inline(always)]
    fn window(&self, _: u16) -> Option<u64> {
        Some((self.window as u64).max(1))
    }

    fn on_telemetry(
        &mut self,
        (una, next): (u64, u64),
        telemetry: &Telemetry,
        rates: &[u64],
        config: &HpccConfig,
    ) {
        let last = std::mem::replace(&mut self.last, *telemetry);
        if last.count() != telemetry.count() || telemetry.count() == 0 {
            // These are the first readings, or those of another path.
            self.renew_at = next;
            return;
        }
        // MeasureInflight (algorithm 1): the busiest link, and the time between its two readings.
        let (mut busiest, mut between) = (0.0f64, 0.0);
        for (now, before) in telemetry.readings(rates).zip(last.readings(rates)) {
            let time = Reading::time_between(&before, &now) as f64;
            if time == 0.0 {
                continue;
            }
            let rate = now.rate as f64;
            let sent = Reading::bytes_between(&before, &now) as f64 * 8e12 / time;
            let queued = now.queue.min(before.queue) as f64 * 8e12 / (rate * self.base);
            let u = sent / rate + queued;
            if u > busiest {
                (busiest, between) = (u, time);
            }
        }
        if between == 0.0 {
            return;
        }
        let part = between.min(self.base) / self.base;
        self.utilisation = (1.0 - part) * self.utilisation + part * busiest;
        // ComputeWind.
        let mut stage = self.stage;
        let load = self.utilisation / config.eta;
        let window = if load >= 1.0 || stage >= config.max_stage {
            stage = 0;
            self.reference / load + config.additive
        } else {
            stage += 1;
            self.reference + config.additive
        };
        self.window = window.clamp(1.0, self.most);
        if una > self.renew_at {
            (self.reference, self.stage, self.renew_at) = (self.window, stage, next);
        }
    }
}

pub const ABOUT: About = About { telemetry: true, window: Some("HPCC"), ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "hpcc",
    source: "Li et al., SIGCOMM 2019, algorithm 1; HPCC's ns-3",
    faithful: "each switch port adds a reading to a departing frame (time, bytes sent, queue, rate; 8 bytes, with their rounding); every acknowledgement \
               returns the readings; data and acknowledgements are 42 B longer; window and pacing; a reference that is renewed once per round trip",
    simplified: "at most five switches are read; the base round trip is that of the flow's idle path unless the scenario sets it; \
                 a change of rate does not move the time at which the next frame of the queue pair may leave",
};

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    const LINE: u64 = 100_000_000_000;

    fn config() -> HpccConfig {
        HpccConfig { eta: 0.95, max_stage: 5, additive: 80.0, base_rtt: Some(Span::from_us(10)) }
    }

    #[test]
    fn the_rate_of_a_slow_line_is_the_lines() {
        let mut c = Hpcc::new(500_000, 0, &config());
        assert_eq!(c.rate(0, 500_000, &config()), 500_000);
    }

    /// A reading every microsecond of a port that sends at `load` of the line's rate and has
    /// `queue` bytes.
    fn readings(load: f64, queue: u64) -> impl Iterator<Item = Telemetry> {
        (0..).map(move |step| {
            let mut telemetry = Telemetry::default();
            telemetry.push(
                Reading {
                    time: step * 1_000_000,
                    bytes: (step as f64 * 12_500.0 * load) as u64,
                    queue,
                    rate: LINE,
                },
                &[LINE],
            );
            telemetry
        })
    }

    fn after(load: f64, queue: u64, acks: usize) -> Hpcc {
        let mut c = Hpcc::new(LINE, 0, &config());
        for (step, telemetry) in readings(load, queue).take(acks).enumerate() {
            let una = 12_500 * step as u64;
            c.on_telemetry((una, una + 125_000), &telemetry, &[LINE], &config());
        }
        c
    }

    #[test]
    fn begins_with_what_the_path_holds() {
        let mut c = Hpcc::new(LINE, 0, &config());
        assert_eq!((c.window(1), c.rate(0, LINE, &config())), (Some(125_000), LINE));
    }

    /// A link at full rate with a queue of half of the path's capacity: utilisation 1.5 in the long
    /// run.
    #[test]
    fn utilisation_counts_queues() {
        let c = after(1.0, 62_500, 400);
        assert!((c.utilisation - 1.5).abs() < 0.01, "{}", c.utilisation);
        assert!(c.window < 1_000.0, "keeps dividing while nothing gets better: {}", c.window);
    }

    /// If the load equals η, the reference stays the same except for the additive increase.
    #[test]
    fn is_constant_at_eta() {
        let mut c = after(0.95, 0, 2);
        (c.utilisation, c.reference, c.stage) = (0.95, 50_000.0, 5);
        let telemetry = readings(0.95, 0).nth(2).unwrap();
        c.on_telemetry((25_000, 150_000), &telemetry, &[LINE], &config());
        assert!((c.window - 50_080.0).abs() < 100.0, "{}", c.window);
    }

    #[test]
    fn idle_links_are_filled_step_by_step_then_at_once() {
        let mut c = after(0.5, 0, 2);
        (c.utilisation, c.reference, c.stage, c.renew_at) = (0.5, 20_000.0, 0, 0);
        let mut windows = Vec::new();
        for (step, telemetry) in readings(0.5, 0).enumerate().skip(2).take(6) {
            // Each acknowledgement ends a round trip.
            c.on_telemetry(
                (1_000_000 * step as u64, 1_000_000 * step as u64 + 1),
                &telemetry,
                &[LINE],
                &config(),
            );
            windows.push(c.window.round());
        }
        assert_eq!(windows[..5], [20_080.0, 20_160.0, 20_240.0, 20_320.0, 20_400.0]);
        // The window grows by 0.95/0.5, within the rounding of the bytes sent.
        assert!((windows[5] / 20_400.0 - 1.9).abs() < 0.03, "{windows:?}");
    }
}
