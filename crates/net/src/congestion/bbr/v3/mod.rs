//! BBR version 3, as in tcp_bbr.c of google/bbr, branch v3, in its arithmetic but with times in ps.
//!
//! As in version 1, it sets the window and needs pacing. In addition to the maximum rate it keeps
//! bounds on the segments in flight: an upper one, learnt while it probes (`probe.rs`), and lower
//! ones, learnt from losses and marks while it does not (`signals.rs`).

mod probe;
mod signals;
#[cfg(test)]
mod tests;

use super::super::{
    About, Ack, Controller, Decrease, Echo, EcnMode, Flavour, IncreaseRule, Lost, Opening,
    Parameters, Sample, Sampler, Sender, SlowStart, State, Window,
};
use super::arithmetic::{MILLISECOND, SECOND, UNIT, near, offload, paced, rate, scaled, volume};
use super::common::{
    Core, DRAIN_GAIN, Extra, MIN_WINDOW, Mode, WINDOW_GAIN, at_most, extra_window, quantum,
    recovering,
};
use super::filters::LeastRtt;
use crate::Model;
use afflux_config::keys::{meaningless, up_to_a_day};
use afflux_config::{Auto, Duration, Or, keys};

keys! {
    /// Parameters of BBR version 3.
    pub struct Keys as "Bbr3" => Bbr3Config(sender: &Sender) {
        /// Not allowed, because only version 1 has flavours. Default: none: the key is refused.
        flavour: Flavour = none, check |_, at| Err(meaningless(at, "congestion = \"bbr3\""));
        /// Time without a smaller round trip after which the sender drains the pipe to measure the
        /// round trip.
        probe_rtt_interval: Duration = "5s", check up_to_a_day;
        /// Least duration of that measurement.
        probe_rtt_time: Duration = "200ms", check |time, at| at_most(time, probe_rtt_interval, at);
        /// Segments that sender and receiver pass on at once. The window is at least three times as
        /// many. `"auto"`: as many as Linux's segmentation offload takes, a millisecond's worth.
        send_quantum: Or<Auto, u32> = "auto", check |given, at| quantum(given, Flavour::Linux, at);
    }
    plus {
        /// True if it reacts to marks: the network marks early, and every mark is echoed exactly.
        ecn: bool = sender.ecn == EcnMode::Dctcp;
    }
}

impl Bbr3Config {
    pub fn start<C: From<Box<Bbr3>>>(&self, opening: Opening) -> C {
        Box::new(Bbr3::new(self, opening)).into()
    }
}

impl Parameters for Bbr3Config {
    fn about(&self) -> About {
        ABOUT
    }
    fn window_response(&self, _: f64) -> (Decrease, IncreaseRule) {
        (Decrease::default(), IncreaseRule::AtOnce)
    }
}

/// 4 ln 2.
const STARTUP_GAIN: u32 = UNIT * 277 / 100 + 1;
/// Added to the window gain while probing up.
const PROBE_WINDOW_GAIN: u32 = UNIT / 4;
const PROBE_RTT_GAIN: u32 = UNIT / 2;
const MIN_RTT_WINDOW: u64 = 10 * SECOND;
/// Fraction that losses take from the bounds.
const BETA: u32 = UNIT * 30 / 100;
const LOSS_THRESHOLD: u32 = UNIT * 2 / 100;
const FULL_LOSSES: u32 = 6;
const HEADROOM: u32 = UNIT * 15 / 100;
const ECN_MAX_RTT: u64 = 5 * MILLISECOND;
const ECN_GAIN: u32 = UNIT / 16;
const ECN_FACTOR: u32 = UNIT / 3;
const ECN_THRESHOLD: u32 = UNIT / 2;
const FULL_ECN_ROUNDS: u32 = 2;
const REPROBE_GAIN: u32 = UNIT / 2;
// Intervals of bandwidth probes.
const PROBE_MOST_ROUNDS: u32 = 63;
const PROBE_RANDOM_ROUNDS: u64 = 2;
const PROBE_WAIT: u64 = 2 * SECOND;
const PROBE_RANDOM_WAIT: u64 = SECOND;

const UNBOUNDED: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Up,
    Down,
    Cruise,
    Refill,
}

/// Probing state at the time at which the segments acknowledged now were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Acks {
    /// Sent while not probing.
    #[default]
    Ordinary,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// Congestion signals.
#[derive(Debug, Clone, Default)]
struct Signals {
    /// Maximum rate of this round.
    bandwidth_latest: u64,
    in_flight_latest: u32,
    loss_round: u32,
    loss_round_start: bool,
    loss_in_round: bool,
    ecn_in_round: bool,
    loss_in_cycle: bool,
    ecn_in_cycle: bool,
    losses_in_round: u32,
}

/// ECN state. `alpha`, the fraction of marked segments, is in units of 1/256.
#[derive(Debug, Clone, Default)]
struct Ecn {
    eligible: bool,
    alpha: u32,
    /// Totals of segments delivered and marked at the last update of `alpha`.
    delivered_before: u32,
    marked_before: u32,
    startup_rounds: u32,
    marked: u32,
}

/// Bandwidth probing.
#[derive(Debug, Clone, Default)]
struct Probe {
    acks: Acks,
    /// True if samples are about segments that a probe has sent.
    samples: bool,
    too_high: bool,
    stopped_at_bound: bool,
    rounds_since: u32,
    wait: u64,
    up_rounds: u32,
    up_acked: u32,
    /// Segments acknowledged per segment by which the upper bound grows.
    up_count: u32,
}

#[derive(Debug, Clone)]
pub struct Bbr3 {
    core: Core,
    send_quantum: Option<u32>,
    /// True if it reacts to marks.
    reacts_to_marks: bool,
    phase: Phase,
    phase_since: u64,
    // Model of the path.
    /// Maximum rate of the previous cycle and of this one.
    bandwidth_high: [u64; 2],
    bandwidth_low: u64,
    in_flight_high: u32,
    in_flight_low: u32,
    probe_min_rtt: LeastRtt,
    extra: Extra,
    signals: Signals,
    ecn: Ecn,
    probe: Probe,
    /// Lower and upper bounds before the last loss.
    undo: (u64, u32, u32),
}

impl Bbr3 {
    pub fn new(config: &Bbr3Config, opening: Opening) -> Self {
        let (interval, time) = (config.probe_rtt_interval, config.probe_rtt_time);
        let mut bbr = Bbr3 {
            core: Core::new(interval, time, STARTUP_GAIN, opening),
            send_quantum: config.send_quantum,
            reacts_to_marks: config.ecn,
            phase: Phase::Up,
            phase_since: 0,
            bandwidth_high: [0; 2],
            bandwidth_low: u64::MAX,
            in_flight_high: UNBOUNDED,
            in_flight_low: UNBOUNDED,
            probe_min_rtt: LeastRtt::NONE,
            extra: Extra::default(),
            signals: Signals { loss_round: 1, ..Signals::default() },
            ecn: Ecn { alpha: UNIT, ..Ecn::default() },
            probe: Probe { up_count: UNBOUNDED, ..Probe::default() },
            undo: (0, 0, 0),
        };
        bbr.core.window_gain = WINDOW_GAIN;
        bbr.core.pacing_rate = bbr.first_pacing_rate(bbr.core.initial_window, MILLISECOND);
        bbr
    }

    fn first_pacing_rate(&self, cwnd: u32, rtt: u64) -> u64 {
        self.core.first_pacing_rate(cwnd, rtt, STARTUP_GAIN).max(1)
    }
    fn start_pacing(&mut self, window: &Window, rtt: u64) {
        self.core.seen_rtt = true;
        self.core.pacing_rate = self.first_pacing_rate(window.cwnd, rtt);
    }

    fn bandwidth(&self) -> u64 {
        self.bandwidth_high[0].max(self.bandwidth_high[1])
    }
    fn rate(&self) -> u64 {
        self.bandwidth().min(self.bandwidth_low)
    }
    fn paced(&self, gain: u32) -> u64 {
        paced(self.rate(), gain, self.core.mss).max(1)
    }

    /// Returns the number of segments passed to the network at once: more on short round trips.
    fn quantum(&self) -> u32 {
        self.send_quantum.unwrap_or_else(|| {
            offload(self.core.pacing_rate, near(self.core.min_rtt.value), self.core.mss).max(2)
        })
    }

    fn target(&self, rate: u64, gain: u32) -> u32 {
        self.core.target(rate, gain, self.core.initial_window)
    }

    fn with_budget(&self, window: u32) -> u32 {
        let window = window.max(3 * self.quantum()).max(MIN_WINDOW);
        window.saturating_add(if self.is_in(Phase::Up) { 2 } else { 0 })
    }
    fn in_flight_at(&self, rate: u64) -> u32 {
        self.with_budget(self.target(rate, UNIT))
    }
    /// Returns the product of rate and round trip, unless congestion cut the window below it.
    fn target_in_flight(&self, window: &Window) -> u32 {
        self.in_flight_at(self.rate()).min(window.cwnd)
    }
    fn probe_rtt_window(&self) -> u32 {
        self.target(self.rate(), PROBE_RTT_GAIN).max(MIN_WINDOW)
    }
    fn in_network(&self, in_flight: u32, sample: &Sample, now: u64) -> u32 {
        self.core.in_network(in_flight, self.rate(), sample, now, || self.quantum())
    }

    fn is_in(&self, phase: Phase) -> bool {
        self.core.mode == Mode::ProbeBandwidth && self.phase == phase
    }
    fn is_probing(&self) -> bool {
        self.core.mode == Mode::Startup || self.is_in(Phase::Refill) || self.is_in(Phase::Up)
    }

    fn check_full(&mut self, sample: &Sample, found: u64) {
        let full = &mut self.core.full;
        if !full.now && !sample.app_limited {
            full.update(found, full.grows(found), self.core.round_start);
        }
    }

    fn check_drain(&mut self, window: &mut Window, sample: &Sample, now: u64, delivered: u32) {
        if self.core.mode == Mode::Startup && self.core.full.reached {
            self.core.mode = Mode::Drain;
            window.ssthresh = self.in_flight_at(self.bandwidth());
            self.reset_signals();
        }
        if self.core.mode == Mode::Drain
            && self.in_network(sample.in_flight, sample, now) <= self.in_flight_at(self.bandwidth())
        {
            self.core.mode = Mode::ProbeBandwidth;
            self.start_down(now, delivered);
        }
    }

    fn update_min_rtt(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        let interval = self.core.probe_rtt_interval;
        let expired = self.probe_min_rtt.update(ack, interval, false);
        let core = &mut self.core;
        if self.probe_min_rtt.value <= core.min_rtt.value
            || ack.now > core.min_rtt.since + MIN_RTT_WINDOW
        {
            core.min_rtt = self.probe_min_rtt;
        }
        if core.enter_probe_rtt(expired) {
            core.prior_window = core.prior_window.max(window.cwnd);
            self.probe.acks = Acks::ProbeStopping;
            core.next_round = sampler.delivered();
        }
        if core.mode == Mode::ProbeRtt {
            let least = self.probe_rtt_window();
            if self.core.in_probe_rtt(ack, sample.in_flight, least, sampler) {
                self.probe_min_rtt.since = ack.now;
                window.cwnd = window.cwnd.max(self.core.prior_window);
                self.leave_probe_rtt(ack.now, sampler.delivered());
            }
        }
        self.core.idle_restart &= sample.delivered == 0;
    }

    fn leave_probe_rtt(&mut self, now: u64, delivered: u32) {
        self.reset_lower_bounds();
        if self.core.full.reached {
            self.core.mode = Mode::ProbeBandwidth;
            self.start_down(now, delivered);
            self.start_cruise();
        } else {
            self.core.mode = Mode::Startup;
        }
    }

    fn set_window(&mut self, window: &mut Window, sample: &Sample) {
        let acked = sample.acked_sacked;
        if acked > 0 {
            let rate = self.rate();
            let extra = extra_window(&self.extra, rate);
            let target = self.target(rate, self.core.window_gain).saturating_add(extra);
            let small = window.cwnd < 2 * self.core.initial_window;
            window.cwnd = self.core.grown(window.cwnd, acked, self.with_budget(target), small);
        }
        window.cwnd = window.cwnd.min(window.limit);
        if self.core.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
        let cap = match (self.core.mode, self.phase) {
            (Mode::ProbeBandwidth, Phase::Cruise) | (Mode::ProbeRtt, _) => self.with_headroom(),
            (Mode::ProbeBandwidth, _) => self.in_flight_high,
            _ => UNBOUNDED,
        };
        window.cwnd = window.cwnd.min(cap.min(self.in_flight_low).max(MIN_WINDOW));
    }
}

impl Controller for Bbr3 {
    /// Starts the model at the time at which the connection opens. The handshake took `rtt` ps (0:
    /// unknown).
    fn on_established(&mut self, window: &Window, now: u64, rtt: u64) {
        self.core.min_rtt.since = now;
        self.probe_min_rtt.since = now;
        self.extra.restart(now);
        if rtt > 0 {
            self.core.min_rtt.value = rtt;
            self.probe_min_rtt.value = rtt;
            self.start_pacing(window, rtt);
        }
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// Returns the pacing rate in bit/s of payload.
    fn pacing_rate(&self) -> Option<u64> {
        Some(self.core.pacing_rate.saturating_mul(8))
    }

    /// Returns the segments that leave back to back, as one buffer for segmentation offload.
    fn burst(&self) -> u32 {
        self.quantum()
    }

    /// Handles every acknowledgement after losses were marked and the sender's state changed.
    fn on_sample(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        let delivered = sampler.delivered();
        self.core.update_round(sample, delivered);
        if self.core.round_start {
            self.probe.rounds_since = (self.probe.rounds_since + 1).min(255);
        }
        if ack.ece {
            self.ecn.marked += sample.acked_sacked;
        }
        if self.core.round_start {
            self.update_alpha(delivered);
        }
        self.signals.ecn_in_round |= self.ecn.eligible && ack.ece;
        // The rate is rounded up, so that small rates can grow.
        let found =
            if sample.interval > 0 { rate(sample.delivered, sample.interval) + 1 } else { 0 };
        let valid = sample.interval > 0 && sample.acked_sacked > 0;
        self.signals.loss_round_start = false;
        if valid {
            self.signals.bandwidth_latest = self.signals.bandwidth_latest.max(found);
            self.signals.in_flight_latest = self.signals.in_flight_latest.max(sample.delivered);
            if sample.prior_delivered >= self.signals.loss_round {
                self.signals.loss_round = delivered;
                self.signals.loss_round_start = true;
            }
            self.update_signals(window, sample, found);
        }
        if valid {
            let forget = if self.core.full.reached { Extra::ROUNDS } else { 1 };
            let (rate, round) = (self.rate(), (self.core.round_start, forget));
            let (acked, now) = (sample.acked_sacked, sampler.delivered_time());
            self.extra.update(acked, round, now, window.cwnd, |time| volume(rate, time));
        }
        self.check_losses_in_startup(ack, sample);
        self.check_full(sample, found);
        self.check_drain(window, sample, ack.now, delivered);
        self.update_phase(window, ack, sample, found, delivered);
        self.update_min_rtt(window, ack, sample, sampler);
        (self.core.pacing_gain, self.core.window_gain) = match (self.core.mode, self.phase) {
            (Mode::Startup, _) => (STARTUP_GAIN, WINDOW_GAIN),
            (Mode::Drain, _) => (DRAIN_GAIN, WINDOW_GAIN),
            (Mode::ProbeBandwidth, Phase::Up) => (UNIT * 5 / 4, WINDOW_GAIN + PROBE_WINDOW_GAIN),
            (Mode::ProbeBandwidth, Phase::Down) => (UNIT * 91 / 100, WINDOW_GAIN),
            (Mode::ProbeBandwidth, Phase::Cruise | Phase::Refill) => (UNIT, WINDOW_GAIN),
            (Mode::ProbeRtt, _) => (UNIT, UNIT),
        };
        if !self.core.seen_rtt && ack.rtt > 0 {
            self.start_pacing(window, ack.rtt);
        }
        self.core.set_pacing_rate(self.paced(self.core.pacing_gain));
        self.set_window(window, sample);
        if self.signals.loss_round_start {
            self.signals.bandwidth_latest = found;
            self.signals.in_flight_latest = sample.delivered;
        }
        self.core.previous = ack.state;
        self.signals.loss_in_cycle |= sample.lost > 0;
        self.signals.ecn_in_cycle |= sample.marked > 0;
    }

    /// Handles a segment that has been marked as lost.
    fn on_segment_lost(&mut self, window: &Window, now: u64, lost: &Lost, sampler: &Sampler) {
        let delivered = sampler.delivered();
        // The round for losses starts with the first loss.
        if !self.signals.loss_in_round {
            self.signals.loss_round = delivered;
        }
        self.signals.loss_in_round = true;
        self.signals.loss_in_cycle = true;
        if self.probe.samples && self.is_too_high(lost.lost, lost.tx_in_flight, &Sample::default())
        {
            let bound = Self::bound_from_loss(lost);
            self.too_high(window, now, delivered, bound, lost.app_limited);
        }
    }

    /// Saves the window and the bounds at a loss, a time-out or an ECN echo. The threshold stays,
    /// because BBR does not use it.
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        self.core.save_window(window.cwnd, recovering(self.core.previous));
        self.undo = (self.bandwidth_low, self.in_flight_low, self.in_flight_high);
        window.ssthresh
    }

    fn on_state(&mut self, state: State, window: &mut Window, _: u64) {
        if state == State::Loss {
            self.core.previous = State::Loss;
            self.core.full.restart(0);
            if !self.is_probing() && self.in_flight_low == UNBOUNDED {
                self.in_flight_low = window.cwnd.max(self.core.prior_window);
            }
        } else if self.core.previous == State::Loss {
            window.cwnd = window.cwnd.max(self.core.prior_window);
        }
    }

    /// Handles a spurious loss: returns the window to continue with.
    fn on_undo(&mut self, _: &Window, _: &Sampler) -> Option<u32> {
        self.core.full.restart(0);
        self.signals.loss_in_round = false;
        self.bandwidth_low = self.bandwidth_low.max(self.undo.0);
        self.in_flight_low = self.in_flight_low.max(self.undo.1);
        self.in_flight_high = self.in_flight_high.max(self.undo.2);
        Some(self.core.prior_window)
    }

    fn on_restart(&mut self, now: u64, _: u64) {
        self.extra.restart(now);
        self.core.restart(self.paced(UNIT));
    }

    #[cfg(test)]
    fn details(&self) -> String {
        let bound =
            |bound: u32| if bound == u32::MAX { "-".to_string() } else { bound.to_string() };
        let (high, low) = (bound(self.in_flight_high), bound(self.in_flight_low));
        format!("{} {high}/{low}", self.core.details(self.phase))
    }
}

pub const ABOUT: About =
    About { echo: Echo::Either, slow_start: SlowStart::None, sets_rate: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "bbr3",
    source: "google/bbr, branch v3, tcp_bbr.c and tcp_rate.c; draft-cardwell-ccwg-bbr",
    faithful: "start-up with its exits on losses and marks, drain, the cycle of down, cruise, refill and up with random waits and Reno's pace as a bound, \
               upper and lower bounds on rate and flight, headroom, PROBE_RTT at half the flight, marks (ecn = \"dctcp\", round trips up to 5 ms)",
    simplified: "times in picoseconds instead of microseconds and jiffies; segments are sent one by one, the window's budget for segmentation offload is \
                 Google's (send_quantum sets it); no path change on marks (PLB), no shortcut for application-limited flows, tail losses that a probe \
                 repaired are not counted",
};
