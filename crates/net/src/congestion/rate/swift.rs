//! Swift: adapts the window to keep the delay at a target.

use super::{About, Ack, Path, RateController, RateParameters, RateResponse};
use crate::Model;
use crate::congestion::IncreaseRule;
use afflux_config::keys::{at_most_a_second, time_within, up_to_a_second, within};
use afflux_config::tree::Wrong;
use afflux_config::{Duration, keys};
use afflux_units::{Rate, Span};

keys! {
    /// Parameters of Swift. Windows are in frames. Defaults as in csg-htsim, but for the largest
    /// window, which is 1000 there.
    pub struct Keys as "Swift" => SwiftConfig(_nic: Rate) {
        /// Target delay for a path without switches.
        base: Duration = "20us", check up_to_a_second;
        /// Addition to the target delay per switch of the path.
        hop: Duration = (Duration(Span(base.0 * 100 / 655))) "`base` divided by 6.55", check at_most_a_second;
        /// Largest addition to the target delay, for small windows.
        fs_range: Duration = (Duration(Span(5 * base.0))) "five times `base`",
            check |time, at| time_within(time, Span::ZERO, Span::from_s(10), at);
        /// Window for which all of `fs_range` is added.
        fs_min: f64 = 0.1, in 0.001 to 1000.0;
        /// Window from which nothing of `fs_range` is added.
        fs_max: f64 = 100.0, in 0.01 to 1e6, check |fs_max, at| {
            if fs_max <= fs_min { Err(Wrong::at(at, format!("{fs_max} is not above fs_min = {fs_min}"))) } else { Ok(fs_max) }
        };
        /// Additive increase per round trip.
        ai: f64 = 1.0, in 0.0 to 1000.0;
        /// Factor of the decrease: multiplies the fraction of the delay that exceeds the target.
        beta: f64 = 0.8, in 0.0 to 1.0;
        /// Largest decrease, as a fraction of the window.
        max_mdf: f64 = 0.5, in 0.0 to 1.0;
        /// Initial window.
        initial_window: f64 = 12.0;
        /// Least window.
        min_window: f64 = 0.01, in 0.001 to 1000.0;
        /// Largest window.
        max_window: f64 = 10000.0, in 1.0 to 1e6;
        /// Number of successive time-outs that set the window to its least.
        timeouts: u32 = 5, check |timeouts, _| Ok(timeouts.max(1));
    }
    check |swift, at| within(swift.initial_window, swift.min_window, swift.max_window, None, at("initial_window")).map(drop);
}

impl RateParameters for SwiftConfig {
    fn rate_response(&self, payload: f64) -> RateResponse {
        RateResponse {
            growth: IncreaseRule::PerRoundTrip(self.ai * payload),
            efficiency: 0.97,
            erratic: false,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Swift {
    /// Window in frames. Below 1, a frame leaves every `round_trip / window`.
    window: f64,
    /// Parameters of fabric scaling.
    alpha: f64,
    beta: f64,
    /// Base delay in ps, including that of the path's switches.
    base: f64,
    /// Latest round trip in ps.
    round_trip: u64,
    cut_at: u64,
    /// Time-outs since the last acknowledgement.
    timeouts: u32,
}

impl Swift {
    /// Creates the controller for a path through `switches` switches.
    pub fn new(switches: u32, round_trip: u64, config: &SwiftConfig) -> Self {
        // α = range / (1/√min − 1/√max), β = −α/√max.
        let alpha =
            config.fs_range.0 as f64 / (1.0 / config.fs_min.sqrt() - 1.0 / config.fs_max.sqrt());
        Swift {
            window: config.initial_window,
            alpha,
            beta: -alpha / config.fs_max.sqrt(),
            base: (config.base.0 + switches as u64 * config.hop.0) as f64,
            round_trip,
            cut_at: 0,
            timeouts: 0,
        }
    }

    /// Returns the target delay in ps.
    fn target(&self, config: &SwiftConfig) -> f64 {
        self.base
            + (self.alpha / self.window.sqrt() + self.beta).clamp(0.0, config.fs_range.0 as f64)
    }

    fn may_cut(&mut self, now: u64) -> bool {
        let may = now >= self.cut_at + self.round_trip;
        if may {
            self.cut_at = now;
        }
        may
    }
}

impl RateController for Swift {
    type Config = SwiftConfig;
    fn start(path: &Path, config: &SwiftConfig) -> Self {
        Swift::new(path.switches, path.round_trip, config)
    }

    /// Returns the time between frames if the window is less than one frame.
    #[inline(always)]
    fn spacing(&self) -> Option<u64> {
        (self.window < 1.0).then(|| (self.round_trip as f64 / self.window) as u64)
    }

    #[inline(always)]
    fn window(&self, payload: u16) -> Option<u64> {
        Some((self.window as u64).max(1) * u64::from(payload))
    }

    fn uses_round_trips(&self) -> bool {
        true
    }

    fn on_ack(&mut self, ack: &Ack, payload: u16, config: &SwiftConfig) {
        let (now, acked) = (ack.now, ack.acked as f64 / payload as f64);
        self.timeouts = 0;
        let Some(round_trip) = ack.round_trip else { return };
        self.round_trip = round_trip;
        let (delay, target) = (round_trip as f64, self.target(config));
        if delay < target {
            self.window += config.ai * acked / if self.window >= 1.0 { self.window } else { 1.0 };
        } else if self.may_cut(now) {
            self.window *= (1.0 - config.beta * (delay - target) / delay).max(1.0 - config.max_mdf);
        }
        self.window = self.window.clamp(config.min_window, config.max_window);
    }

    /// Handles a NACK.
    fn on_loss(&mut self, now: u64, config: &SwiftConfig) {
        if self.may_cut(now) {
            self.window = (self.window * (1.0 - config.max_mdf)).max(config.min_window);
        }
    }

    fn on_timeout(&mut self, now: u64, config: &SwiftConfig) {
        self.timeouts += 1;
        if self.timeouts >= config.timeouts {
            self.window = config.min_window;
        } else {
            self.on_loss(now, config);
        }
    }
}

pub const ABOUT: About = About { window: Some("Swift"), ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "swift",
    source: "Kumar et al., SIGCOMM 2020; constants as in csg-htsim's swift.cpp, several of them guesses there",
    faithful: "target delay by switches of the path and by window (fabric scaling), additive increase, decrease in proportion to the excess, at most once \
               per round trip; windows below one frame are paced",
    simplified: "one window for the whole round trip; there is no separate window for the delay in the receiving host",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> SwiftConfig {
        SwiftConfig {
            base: Span::from_us(20),
            hop: Span::from_ns(3_053),
            fs_range: Span::from_us(100),
            ..crate::testing::swift()
        }
    }

    #[test]
    fn the_target_by_window() {
        let (config, mut c) = (config(), Swift::new(3, 10_000_000, &config()));
        let at = |c: &mut Swift, window: f64| {
            c.window = window;
            (c.target(&config) - c.base).round()
        };
        // All of the range is added for the smallest window and below, nothing for the largest and
        // above.
        assert_eq!(
            (at(&mut c, 0.1), at(&mut c, 100.0), at(&mut c, 0.01), at(&mut c, 400.0)),
            (1e8, 0.0, 1e8, 0.0)
        );
        assert_eq!(c.base, 29_159_000.0);
    }

    #[test]
    fn grows_by_a_frame_per_window_and_is_cut_once_per_round_trip() {
        let (config, mut c) = (config(), Swift::new(0, 10_000_000, &config()));
        (0..12).for_each(|_| {
            c.on_ack(&Ack { now: 0, round_trip: Some(10_000_000), acked: 1 }, 1, &config)
        });
        // An acknowledgement without a round trip ends a row of time-outs.
        c.timeouts = 1;
        let before = c.window;
        c.on_ack(&Ack { now: 0, round_trip: None, acked: 1 }, 1, &config);
        assert_eq!((c.timeouts, c.window), (0, before));
        assert!((c.window - 13.0).abs() < 0.05, "{}", c.window);
        // The delay is four times the target and more: the window is halved at most, once per round
        // trip.
        let before = c.window;
        c.on_ack(&Ack { now: 1_000_000_000, round_trip: Some(400_000_000), acked: 1 }, 1, &config);
        assert_eq!(c.window, before / 2.0);
        c.on_ack(&Ack { now: 1_100_000_000, round_trip: Some(400_000_000), acked: 1 }, 1, &config);
        assert_eq!(c.window, before / 2.0);
        c.on_ack(&Ack { now: 1_400_000_000, round_trip: Some(400_000_000), acked: 1 }, 1, &config);
        assert_eq!(c.window, before / 4.0);
    }

    /// The decrease is proportional to the excess: 1 − 0.8 · (delay − target)/delay.
    #[test]
    fn decrease_in_proportion() {
        let (config, mut c) = (config(), Swift::new(0, 10_000_000, &config()));
        c.window = 100.0;
        let target = c.target(&config);
        c.on_ack(
            &Ack { now: 1_000_000_000, round_trip: Some((target * 1.25) as u64), acked: 1 },
            1,
            &config,
        );
        assert!((c.window - 100.0 * (1.0 - 0.8 * 0.2)).abs() < 1e-6);
    }

    #[test]
    fn a_window_below_one_is_paced() {
        let (config, mut c) = (config(), Swift::new(0, 10_000_000, &config()));
        assert_eq!(c.spacing(), None);
        (0..4).for_each(|step| c.on_timeout(step * 100_000_000, &config));
        assert_eq!(c.window(1_000), Some(1_000));
        c.on_timeout(400_000_000, &config);
        assert_eq!((c.window, c.spacing()), (0.01, Some(1_000_000_000)));
    }
}
