//! BBR version 3, as in tcp_bbr.c of google/bbr, branch v3, in its arithmetic but with times in ps.
//!
//! As in version 1, it sets the window and needs pacing. In addition to the maximum rate it keeps
//! bounds on the segments in flight: an upper one, learnt while it probes, and lower ones, learnt
//! from losses and marks while it does not.

use super::bbr::{
    Aggregation, FULL_GROWTH, FULL_ROUNDS, MILLISECOND, MIN_WINDOW, SECOND, UNIT, at_most,
    in_network, near, offload, paced, product, quantum, rate, recovering,
};
use super::{
    About, Ack, Controller, Decrease, Echo, EcnMode, Flavour, IncreaseRule, Lost, Opening,
    Parameters, Sample, Sampler, Sender, SlowStart, State, Window,
};
use crate::Model;

use afflux_config::keys::{meaningless, up_to_a_day};
use afflux_config::{Auto, Duration, Or, keys};
use afflux_engine::random::Stream;

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
        /// Segments that sender and receiver pass on at once. The window exceeds the path's own
        /// need by three times as many. `"auto"`: as many as Linux's segmentation offload takes, a
        /// millisecond's worth.
        send_quantum: Or<Auto, u32> = "auto", check |given, at| quantum(given, Flavour::Linux, at);
    }
    plus {
        /// True if it reacts to marks: the network marks early, and every mark is echoed exactly.
        ecn: bool = sender.ecn == EcnMode::Dctcp;
    }
}

impl Bbr3Config {
    pub fn start<C: From<Box<Bbr3>>>(&self, Opening { mss, initial_window, random }: Opening) -> C {
        Box::new(Bbr3::new(self, mss, initial_window, random)).into()
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

const MICROSECOND: u64 = MILLISECOND / 1000;

/// 4 ln 2.
const STARTUP_GAIN: u32 = UNIT * 277 / 100 + 1;
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u32 = 2 * UNIT;
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Up,
    Down,
    Cruise,
    Refill,
}

/// Probing state at the time at which the segments acknowledged now were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acks {
    /// Sent while not probing.
    Ordinary,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

#[derive(Debug, Clone)]
pub struct Bbr3 {
    config: Bbr3Config,
    mss: u32,
    initial_window: u32,
    random: Stream,
    mode: Mode,
    phase: Phase,
    phase_since: u64,
    acks: Acks,
    next_round: u32,
    round_start: bool,
    // Model of the path.
    /// Maximum rate of the previous cycle and of this one.
    bandwidth_high: [u64; 2],
    bandwidth_low: u64,
    in_flight_high: u32,
    in_flight_low: u32,
    min_rtt: u64,
    min_rtt_since: u64,
    probe_min_rtt: u64,
    probe_min_rtt_since: u64,
    probe_rtt_until: u64,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    full: bool,
    full_now: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    aggregation: Aggregation,
    // Congestion signals.
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
    // ECN state. `alpha` is in units of 1/256.
    ecn_eligible: bool,
    alpha: u32,
    delivered_at_alpha: u32,
    marked_at_alpha: u32,
    startup_ecn_rounds: u32,
    marked: u32,
    // Bandwidth probing.
    /// True if samples are about segments that a probe has sent.
    probe_samples: bool,
    probed_too_high: bool,
    stopped_at_bound: bool,
    rounds_since_probe: u32,
    probe_wait: u64,
    up_rounds: u32,
    up_acked: u32,
    /// Segments acknowledged per segment by which the upper bound grows.
    up_count: u32,
    // Control values.
    pacing_gain: u32,
    window_gain: u32,
    /// Pacing rate in bytes of payload per second.
    pacing_rate: u64,
    seen_rtt: bool,
    prior_window: u32,
    previous: State,
    undo: (u64, u32, u32),
}

impl Bbr3 {
    pub fn new(config: &Bbr3Config, mss: u32, initial_window: u32, random: Stream) -> Self {
        Bbr3 {
            config: config.clone(),
            mss,
            initial_window,
            random,
            mode: Mode::Startup,
            phase: Phase::Up,
            phase_since: 0,
            acks: Acks::Ordinary,
            next_round: 0,
            round_start: false,
            bandwidth_high: [0; 2],
            bandwidth_low: u64::MAX,
            in_flight_high: UNBOUNDED,
            in_flight_low: UNBOUNDED,
            min_rtt: u64::MAX,
            min_rtt_since: 0,
            probe_min_rtt: u64::MAX,
            probe_min_rtt_since: 0,
            probe_rtt_until: 0,
            probe_rtt_round_done: false,
            idle_restart: false,
            full: false,
            full_now: false,
            full_bandwidth: 0,
            full_rounds: 0,
            aggregation: Aggregation::default(),
            bandwidth_latest: 0,
            in_flight_latest: 0,
            loss_round: 1,
            loss_round_start: false,
            loss_in_round: false,
            ecn_in_round: false,
            loss_in_cycle: false,
            ecn_in_cycle: false,
            losses_in_round: 0,
            ecn_eligible: false,
            alpha: UNIT,
            delivered_at_alpha: 0,
            marked_at_alpha: 0,
            startup_ecn_rounds: 0,
            marked: 0,
            probe_samples: false,
            probed_too_high: false,
            stopped_at_bound: false,
            rounds_since_probe: 0,
            probe_wait: 0,
            up_rounds: 0,
            up_acked: 0,
            up_count: UNBOUNDED,
            pacing_gain: STARTUP_GAIN,
            window_gain: WINDOW_GAIN,
            pacing_rate: paced(rate(initial_window, MILLISECOND), STARTUP_GAIN, mss).max(1),
            seen_rtt: false,
            prior_window: 0,
            previous: State::Open,
            undo: (0, 0, 0),
        }
    }

    fn start_pacing(&mut self, window: &Window, rtt: u64) {
        self.seen_rtt = true;
        self.pacing_rate =
            paced(rate(window.cwnd, rtt.max(MICROSECOND)), STARTUP_GAIN, self.mss).max(1);
    }

    fn bandwidth(&self) -> u64 {
        self.bandwidth_high[0].max(self.bandwidth_high[1])
    }
    fn rate(&self) -> u64 {
        self.bandwidth().min(self.bandwidth_low)
    }

    /// Returns the number of segments passed to the network at once: more on short round trips.
    fn quantum(&self) -> u32 {
        self.config
            .send_quantum
            .unwrap_or_else(|| offload(self.pacing_rate, near(self.min_rtt), self.mss).max(2))
    }

    fn target(&self, rate: u64, gain: u32) -> u32 {
        if self.min_rtt == u64::MAX {
            self.initial_window
        } else {
            product(rate, self.min_rtt, gain)
        }
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
        let quantum = if self.pacing_gain > UNIT { self.quantum() } else { 0 };
        in_network(in_flight, quantum, self.rate(), now, sample.next_send)
    }

    fn is_in(&self, phase: Phase) -> bool {
        self.mode == Mode::ProbeBandwidth && self.phase == phase
    }
    fn is_probing(&self) -> bool {
        self.mode == Mode::Startup || self.is_in(Phase::Refill) || self.is_in(Phase::Up)
    }

    fn set_pacing_rate(&mut self, gain: u32) {
        let rate = paced(self.rate(), gain, self.mss).max(1);
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Updates the fraction of marked segments, once per round.
    fn update_alpha(&mut self, delivered: u32) {
        if !self.ecn_eligible && self.config.ecn && self.min_rtt <= ECN_MAX_RTT {
            self.ecn_eligible = true;
        }
        let acked = delivered - self.delivered_at_alpha;
        if !self.ecn_eligible || acked == 0 {
            return;
        }
        let share =
            (((self.marked - self.marked_at_alpha) as u64 * UNIT as u64) / acked as u64) as u32;
        self.alpha = (scaled(self.alpha, UNIT - ECN_GAIN) + scaled(share, ECN_GAIN)).min(UNIT);
        self.delivered_at_alpha = delivered;
        self.marked_at_alpha = self.marked;
        if !self.full {
            self.startup_ecn_rounds =
                if share >= ECN_THRESHOLD { self.startup_ecn_rounds + 1 } else { 0 };
            if self.startup_ecn_rounds >= FULL_ECN_ROUNDS {
                self.queue_too_high_in_startup();
            }
        }
    }

    fn queue_too_high_in_startup(&mut self) {
        self.full = true;
        self.in_flight_high = self.in_flight_at(self.bandwidth()).max(self.in_flight_latest);
    }

    fn update_signals(&mut self, window: &Window, sample: &Sample, found: u64) {
        if !sample.app_limited || found >= self.bandwidth() {
            self.bandwidth_high[1] = self.bandwidth_high[1].max(found);
        }
        self.loss_in_round |= sample.losses > 0;
        if self.loss_round_start {
            self.adapt_lower_bounds(window);
            self.loss_in_round = false;
            self.ecn_in_round = false;
        }
    }

    /// Lowers the bounds after losses and marks while not probing, but not below what still
    /// arrives.
    fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.is_probing() {
            return;
        }
        let mut by_ecn = UNBOUNDED;
        if self.ecn_in_round {
            if self.in_flight_low == UNBOUNDED {
                self.in_flight_low = window.cwnd;
            }
            by_ecn = scaled(self.in_flight_low, UNIT - scaled(self.alpha, ECN_FACTOR));
        }
        if self.loss_in_round {
            if self.bandwidth_low == u64::MAX {
                self.bandwidth_low = self.bandwidth();
            }
            if self.in_flight_low == UNBOUNDED {
                self.in_flight_low = window.cwnd;
            }
            self.bandwidth_low =
                self.bandwidth_latest.max((self.bandwidth_low * (UNIT - BETA) as u64) >> 8);
            self.in_flight_low = self.in_flight_latest.max(scaled(self.in_flight_low, UNIT - BETA));
        }
        self.in_flight_low = self.in_flight_low.min(by_ecn);
        self.bandwidth_low = self.bandwidth_low.max(1);
    }

    fn reset_lower_bounds(&mut self) {
        self.bandwidth_low = u64::MAX;
        self.in_flight_low = UNBOUNDED;
    }

    fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.ecn_in_round = false;
        self.loss_in_cycle = false;
        self.ecn_in_cycle = false;
        self.bandwidth_latest = 0;
        self.in_flight_latest = 0;
    }

    fn reset_full(&mut self, bandwidth: u64) {
        self.full_bandwidth = bandwidth;
        self.full_rounds = 0;
        self.full_now = false;
    }

    fn check_losses_in_startup(&mut self, ack: &Ack, sample: &Sample) {
        if self.full {
            return;
        }
        if sample.losses > 0 {
            self.losses_in_round = (self.losses_in_round + 1).min(15);
        }
        if !self.loss_round_start {
            return;
        }
        if ack.state == State::Recovery
            && self.losses_in_round >= FULL_LOSSES
            && self.is_too_high(sample.lost, sample.tx_in_flight, sample)
        {
            self.queue_too_high_in_startup();
        } else {
            self.losses_in_round = 0;
        }
    }

    fn check_full(&mut self, sample: &Sample, found: u64) {
        if self.full_now || sample.app_limited {
            return;
        }
        if found >= (self.full_bandwidth * FULL_GROWTH as u64) >> 8 {
            self.reset_full(found);
        } else if self.round_start {
            self.full_rounds += 1;
            self.full_now = self.full_rounds >= FULL_ROUNDS;
            self.full |= self.full_now;
        }
    }

    fn check_drain(&mut self, window: &mut Window, sample: &Sample, now: u64, delivered: u32) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            window.ssthresh = self.in_flight_at(self.bandwidth());
            self.reset_signals();
        }
        if self.mode == Mode::Drain
            && self.in_network(sample.in_flight, sample, now) <= self.in_flight_at(self.bandwidth())
        {
            self.mode = Mode::ProbeBandwidth;
            self.start_down(now, delivered);
        }
    }

    /// True if more than 2 % of the segments in flight were lost, or more than half of them marked.
    fn is_too_high(&self, lost: u32, tx_in_flight: u32, sample: &Sample) -> bool {
        if lost > 0 && tx_in_flight > 0 && lost > scaled(tx_in_flight, LOSS_THRESHOLD) {
            return true;
        }
        self.ecn_eligible
            && sample.marked > 0
            && sample.delivered > 0
            && sample.marked > scaled(sample.delivered, ECN_THRESHOLD)
    }

    fn start_refill(&mut self, up_rounds: u32, delivered: u32) {
        self.reset_lower_bounds();
        self.up_rounds = up_rounds;
        self.up_acked = 0;
        self.stopped_at_bound = false;
        self.acks = Acks::Refilling;
        self.next_round = delivered;
        self.phase = Phase::Refill;
    }

    fn start_up(&mut self, window: &Window, now: u64, found: u64, delivered: u32) {
        self.acks = Acks::ProbeStarting;
        self.next_round = delivered;
        self.phase_since = now;
        self.reset_full(found);
        self.phase = Phase::Up;
        self.raise_slope(window);
    }

    fn start_down(&mut self, now: u64, delivered: u32) {
        self.reset_signals();
        self.up_count = UNBOUNDED;
        self.rounds_since_probe = self.random.below(PROBE_RANDOM_ROUNDS) as u32;
        self.probe_wait = PROBE_WAIT + self.random.below(PROBE_RANDOM_WAIT);
        self.phase_since = now;
        self.acks = Acks::ProbeStopping;
        self.next_round = delivered;
        self.phase = Phase::Down;
    }

    fn start_cruise(&mut self) {
        if self.in_flight_low != UNBOUNDED {
            self.in_flight_low = self.in_flight_low.min(self.in_flight_high);
        }
        self.phase = Phase::Cruise;
    }

    /// Doubles the step of the upper bound, in each round of probing up.
    fn raise_slope(&mut self, window: &Window) {
        let growth = 1u32 << self.up_rounds.min(31);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = (window.cwnd / growth).max(1);
    }

    fn raise_upper_bound(&mut self, window: &Window, sample: &Sample) {
        if !sample.window_limited || window.cwnd < self.in_flight_high {
            return;
        }
        self.up_acked += sample.acked_sacked;
        if self.up_acked >= self.up_count {
            let delta = self.up_acked / self.up_count;
            self.up_acked -= delta * self.up_count;
            self.in_flight_high = self.in_flight_high.saturating_add(delta);
        }
        if self.round_start {
            self.raise_slope(window);
        }
    }

    /// Handles a probe that went too far: once per probe, the upper bound falls to the segments in
    /// flight at that point.
    fn too_high(
        &mut self,
        window: &Window,
        now: u64,
        delivered: u32,
        tx_in_flight: u32,
        app_limited: bool,
    ) {
        self.probed_too_high = true;
        self.probe_samples = false;
        if !app_limited {
            self.in_flight_high =
                tx_in_flight.max(scaled(self.target_in_flight(window), UNIT - BETA));
        }
        if self.is_in(Phase::Up) {
            self.start_down(now, delivered);
        }
    }

    /// Adapts the upper bound. Returns true if the phase has changed.
    fn adapt_upper_bound(
        &mut self,
        window: &Window,
        ack: &Ack,
        sample: &Sample,
        delivered: u32,
    ) -> bool {
        if self.acks == Acks::ProbeStarting && self.round_start {
            self.acks = Acks::ProbeFeedback;
        }
        if self.acks == Acks::ProbeStopping && self.round_start {
            self.probe_samples = false;
            self.acks = Acks::Ordinary;
            if self.mode == Mode::ProbeBandwidth {
                // The last segments of the probe have arrived: the previous cycle may be forgotten.
                if !sample.app_limited && self.bandwidth_high[1] > 0 {
                    self.bandwidth_high = [self.bandwidth_high[1], 0];
                }
                // The probe stopped at the bound without losses: continue beyond it.
                if self.stopped_at_bound && !self.probed_too_high {
                    self.start_refill(0, delivered);
                    return true;
                }
            }
        }
        if self.is_too_high(sample.lost, sample.tx_in_flight, sample) {
            if self.probe_samples {
                self.too_high(window, ack.now, delivered, sample.tx_in_flight, sample.app_limited);
            }
        } else if self.in_flight_high != UNBOUNDED {
            self.in_flight_high = self.in_flight_high.max(sample.tx_in_flight);
            if self.is_in(Phase::Up) {
                self.raise_upper_bound(window, sample);
            }
        }
        false
    }

    fn starts_to_probe(&mut self, window: &Window, ack: &Ack, delivered: u32) -> bool {
        if self.ecn_eligible && self.ecn_in_cycle && !self.loss_in_cycle && ack.state == State::Open
        {
            // The marks have ceased: probe soon, with a first step of half the bound.
            let step = scaled(self.in_flight_high, REPROBE_GAIN).max(1);
            self.start_refill(step.ilog2(), delivered);
            return true;
        }
        // Probe as often as a Reno flow with this window would have a loss, but at least every few
        // seconds.
        let rounds = PROBE_MOST_ROUNDS.min(self.target_in_flight(window));
        if ack.now > self.phase_since + self.probe_wait || self.rounds_since_probe >= rounds {
            self.start_refill(0, delivered);
            return true;
        }
        false
    }

    fn update_phase(
        &mut self,
        window: &Window,
        ack: &Ack,
        sample: &Sample,
        found: u64,
        delivered: u32,
    ) {
        if !self.full
            || self.adapt_upper_bound(window, ack, sample, delivered)
            || self.mode != Mode::ProbeBandwidth
        {
            return;
        }
        let in_flight = self.in_network(sample.prior_in_flight, sample, ack.now);
        match self.phase {
            Phase::Cruise => {
                self.starts_to_probe(window, ack, delivered);
            }
            Phase::Refill => {
                if self.round_start {
                    self.probe_samples = true;
                    self.start_up(window, ack.now, found, delivered);
                }
            }
            Phase::Up => {
                let mut done = false;
                if self.probed_too_high && in_flight >= self.in_flight_high {
                    self.stopped_at_bound = true;
                    done = true;
                } else if sample.window_limited && window.cwnd >= self.in_flight_high {
                    // The bound limits the rate.
                    self.reset_full(found);
                } else if self.full_now {
                    done = true;
                }
                if done {
                    self.probed_too_high = false;
                    self.start_down(ack.now, delivered);
                }
            }
            Phase::Down => {
                if self.starts_to_probe(window, ack, delivered) {
                    return;
                }
                if in_flight <= self.with_headroom()
                    && in_flight <= self.in_flight_at(self.bandwidth())
                {
                    self.start_cruise();
                }
            }
        }
    }

    /// Returns the upper bound minus the headroom for other flows.
    fn with_headroom(&self) -> u32 {
        if self.in_flight_high == UNBOUNDED {
            return UNBOUNDED;
        }
        let headroom = scaled(self.in_flight_high, HEADROOM).max(1);
        self.in_flight_high.saturating_sub(headroom).max(MIN_WINDOW)
    }

    fn update_min_rtt(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        let expired = ack.now > self.probe_min_rtt_since + self.config.probe_rtt_interval.0;
        if ack.rtt > 0 && (ack.rtt < self.probe_min_rtt || expired) {
            self.probe_min_rtt = ack.rtt;
            self.probe_min_rtt_since = ack.now;
        }
        if self.probe_min_rtt <= self.min_rtt || ack.now > self.min_rtt_since + MIN_RTT_WINDOW {
            self.min_rtt = self.probe_min_rtt;
            self.min_rtt_since = self.probe_min_rtt_since;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_window(window);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = 0;
            self.acks = Acks::ProbeStopping;
            self.next_round = sampler.delivered();
        }
        if self.mode == Mode::ProbeRtt {
            sampler.mark_app_limited(sample.in_flight);
            if self.probe_rtt_until == 0 {
                if sample.in_flight <= self.probe_rtt_window() {
                    self.probe_rtt_until = ack.now + self.config.probe_rtt_time.0;
                    self.probe_rtt_round_done = false;
                    self.next_round = sampler.delivered();
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done && ack.now > self.probe_rtt_until {
                    self.probe_min_rtt_since = ack.now;
                    window.cwnd = window.cwnd.max(self.prior_window);
                    self.leave_probe_rtt(ack.now, sampler.delivered());
                }
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn leave_probe_rtt(&mut self, now: u64, delivered: u32) {
        self.reset_lower_bounds();
        if self.full {
            self.mode = Mode::ProbeBandwidth;
            self.start_down(now, delivered);
            self.start_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_window(&mut self, window: &mut Window, sample: &Sample) {
        let acked = sample.acked_sacked;
        if acked > 0 {
            let rate = self.rate();
            let target =
                self.target(rate, self.window_gain).saturating_add(self.aggregation.window(rate));
            let target = self.with_budget(target);
            if self.full {
                window.cwnd = window.cwnd.saturating_add(acked).min(target);
            } else if window.cwnd < target || window.cwnd < 2 * self.initial_window {
                window.cwnd = window.cwnd.saturating_add(acked);
            }
            window.cwnd = window.cwnd.max(MIN_WINDOW);
        }
        window.cwnd = window.cwnd.min(window.limit);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
        let cap = match (self.mode, self.phase) {
            (Mode::ProbeBandwidth, Phase::Cruise) | (Mode::ProbeRtt, _) => self.with_headroom(),
            (Mode::ProbeBandwidth, _) => self.in_flight_high,
            _ => UNBOUNDED,
        };
        window.cwnd = window.cwnd.min(cap.min(self.in_flight_low).max(MIN_WINDOW));
    }

    fn save_window(&mut self, window: &Window) {
        if recovering(self.previous) || self.mode == Mode::ProbeRtt {
            self.prior_window = self.prior_window.max(window.cwnd);
        } else {
            self.prior_window = window.cwnd;
        }
    }
}

fn scaled(value: u32, by: u32) -> u32 {
    ((value as u64 * by as u64) >> 8) as u32
}

/// Returns the segments in flight at which the fraction of losses exceeded the threshold.
fn bound_from_loss(lost: &Lost) -> u32 {
    let (before, lost_before) = (lost.tx_in_flight - 1, (lost.lost - 1) as u64);
    let budget = (before as u64 * LOSS_THRESHOLD as u64).div_ceil(UNIT as u64);
    let prefix = budget.saturating_sub(lost_before) * UNIT as u64 / (UNIT - LOSS_THRESHOLD) as u64;
    before + prefix as u32
}

impl Controller for Bbr3 {
    /// Starts the model at the time at which the connection opens. The handshake took `rtt` ps (0:
    /// unknown).
    fn on_established(&mut self, window: &Window, now: u64, rtt: u64) {
        self.min_rtt_since = now;
        self.probe_min_rtt_since = now;
        self.aggregation.restart(now);
        if rtt > 0 {
            self.min_rtt = rtt;
            self.probe_min_rtt = rtt;
            self.start_pacing(window, rtt);
        }
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// Returns the pacing rate in bit/s of payload.
    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate.saturating_mul(8))
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
        self.round_start = sample.interval > 0 && sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = delivered;
            self.rounds_since_probe = (self.rounds_since_probe + 1).min(255);
        }
        if ack.ece {
            self.marked += sample.acked_sacked;
        }
        if self.round_start {
            self.update_alpha(delivered);
        }
        self.ecn_in_round |= self.ecn_eligible && ack.ece;
        // The rate is rounded up, so that small rates can grow.
        let found =
            if sample.interval > 0 { rate(sample.delivered, sample.interval) + 1 } else { 0 };
        let valid = sample.interval > 0 && sample.acked_sacked > 0;
        self.loss_round_start = false;
        if valid {
            self.bandwidth_latest = self.bandwidth_latest.max(found);
            self.in_flight_latest = self.in_flight_latest.max(sample.delivered);
            if sample.prior_delivered >= self.loss_round {
                self.loss_round = delivered;
                self.loss_round_start = true;
            }
            self.update_signals(window, sample, found);
        }
        let forget = if self.full { Aggregation::ROUNDS } else { 1 };
        self.aggregation.update(
            sample,
            self.rate(),
            sampler.delivered_time(),
            self.round_start,
            forget,
            window.cwnd,
        );
        self.check_losses_in_startup(ack, sample);
        self.check_full(sample, found);
        self.check_drain(window, sample, ack.now, delivered);
        self.update_phase(window, ack, sample, found, delivered);
        self.update_min_rtt(window, ack, sample, sampler);
        (self.pacing_gain, self.window_gain) = match (self.mode, self.phase) {
            (Mode::Startup, _) => (STARTUP_GAIN, WINDOW_GAIN),
            (Mode::Drain, _) => (DRAIN_GAIN, WINDOW_GAIN),
            (Mode::ProbeBandwidth, Phase::Up) => (UNIT * 5 / 4, WINDOW_GAIN + PROBE_WINDOW_GAIN),
            (Mode::ProbeBandwidth, Phase::Down) => (UNIT * 91 / 100, WINDOW_GAIN),
            (Mode::ProbeBandwidth, Phase::Cruise | Phase::Refill) => (UNIT, WINDOW_GAIN),
            (Mode::ProbeRtt, _) => (UNIT, UNIT),
        };
        if !self.seen_rtt && ack.rtt > 0 {
            self.start_pacing(window, ack.rtt);
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_window(window, sample);
        if self.loss_round_start {
            self.bandwidth_latest = found;
            self.in_flight_latest = sample.delivered;
        }
        self.previous = ack.state;
        self.loss_in_cycle |= sample.lost > 0;
        self.ecn_in_cycle |= sample.marked > 0;
    }

    /// Handles a segment that has been marked as lost.
    fn on_segment_lost(&mut self, window: &Window, now: u64, lost: &Lost, sampler: &Sampler) {
        let delivered = sampler.delivered();
        // The round for losses starts with the first loss.
        if !self.loss_in_round {
            self.loss_round = delivered;
        }
        self.loss_in_round = true;
        self.loss_in_cycle = true;
        if self.probe_samples && self.is_too_high(lost.lost, lost.tx_in_flight, &Sample::default())
        {
            let bound = bound_from_loss(lost);
            self.too_high(window, now, delivered, bound, lost.app_limited);
        }
    }

    /// Saves the window and the bounds at a loss, a time-out or an ECN echo. The threshold stays,
    /// because BBR does not use it.
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        self.save_window(window);
        self.undo = (self.bandwidth_low, self.in_flight_low, self.in_flight_high);
        window.ssthresh
    }

    fn on_state(&mut self, state: State, window: &mut Window, _: u64) {
        if state == State::Loss {
            self.previous = State::Loss;
            self.reset_full(0);
            if !self.is_probing() && self.in_flight_low == UNBOUNDED {
                self.in_flight_low = window.cwnd.max(self.prior_window);
            }
        } else if self.previous == State::Loss {
            window.cwnd = window.cwnd.max(self.prior_window);
        }
    }

    /// Handles a spurious loss: returns the window to continue with.
    fn on_undo(&mut self, _: &Window, _: &Sampler) -> Option<u32> {
        self.reset_full(0);
        self.loss_in_round = false;
        self.bandwidth_low = self.bandwidth_low.max(self.undo.0);
        self.in_flight_low = self.in_flight_low.max(self.undo.1);
        self.in_flight_high = self.in_flight_high.max(self.undo.2);
        Some(self.prior_window)
    }

    fn on_restart(&mut self, now: u64, _: u64) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(UNIT),
            Mode::ProbeRtt => self.probe_rtt_round_done = true,
            _ => {}
        }
    }

    #[cfg(test)]
    fn details(&self) -> String {
        let phase = if self.mode == Mode::ProbeBandwidth {
            format!(" {:?}", self.phase)
        } else {
            String::new()
        };
        let bound =
            |bound: u32| if bound == u32::MAX { "-".to_string() } else { bound.to_string() };
        format!(
            " {:?}{phase} {}/{}",
            self.mode,
            bound(self.in_flight_high),
            bound(self.in_flight_low)
        )
    }
}

pub const ABOUT: About =
    About { echo: Echo::Either, slow_start: SlowStart::None, ..About::of(MODEL) };

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

#[cfg(test)]
mod tests {
    use super::super::Control;
    use super::super::bottleneck::{MS, Network, Path};
    use super::*;
    use crate::spec::{BbrConfig, CongestionControl};
    use afflux_units::Span;

    const UP: u8 = 0;
    const DOWN: u8 = 1;
    const CRUISE: u8 = 2;
    const REFILL: u8 = 3;
    const STARTUP: u8 = 4;
    const DRAIN: u8 = 5;
    const PROBE_RTT: u8 = 6;

    fn config() -> Bbr3Config {
        Bbr3Config {
            flavour: None,
            probe_rtt_interval: Span::from_s(5),
            probe_rtt_time: Span::from_ms(200),
            send_quantum: Some(1),
            ecn: false,
        }
    }

    fn bbr(control: &Control) -> &Bbr3 {
        let Control::Bbr3(bbr) = control else { panic!() };
        bbr
    }

    fn label(control: &Control) -> u8 {
        match (bbr(control).mode, bbr(control).phase) {
            (Mode::Startup, _) => STARTUP,
            (Mode::Drain, _) => DRAIN,
            (Mode::ProbeRtt, _) => PROBE_RTT,
            (Mode::ProbeBandwidth, Phase::Up) => UP,
            (Mode::ProbeBandwidth, Phase::Down) => DOWN,
            (Mode::ProbeBandwidth, Phase::Cruise) => CRUISE,
            (Mode::ProbeBandwidth, Phase::Refill) => REFILL,
        }
    }

    fn network(path: Path, flows: usize, seed: u64) -> Network {
        Network::new(path, &CongestionControl::Bbr3(config()), flows, seed)
    }

    /// spec/transports.md §2.4 and §9 item 7.
    #[test]
    fn one_flow_with_a_deep_buffer() {
        let path = Path::new(100_000_000, 40 * MS, 2000);
        let (product, frame) = (path.product(), path.frame());
        let mut network = network(path, 1, 3);
        network.run(32_000 * MS, label);
        let highest = |label: u8| {
            network
                .seen
                .iter()
                .filter(|seen| seen.label == label)
                .map(|seen| seen.queue)
                .fold(0.0, f64::max)
        };
        // Start-up keeps two products in flight, one of them in the queue.
        assert!(
            highest(STARTUP) <= 1.0 * product + 24.0 && highest(STARTUP) > 0.8 * product,
            "{}",
            highest(STARTUP)
        );
        assert!(network.stays(DRAIN)[0].1 < 900 * MS);
        assert!(highest(CRUISE) < 0.03 * product && highest(REFILL) < 0.03 * product);
        // The phases follow each other, with PROBE_RTT at times between them.
        let mut phases: Vec<(u64, u8)> = Vec::new();
        for seen in &network.seen {
            if phases.last().is_none_or(|&(_, last)| last != seen.label) {
                phases.push((seen.now, seen.label));
            }
        }
        for pair in phases.windows(2) {
            let next: &[u8] = match pair[0].1 {
                STARTUP => &[DRAIN],
                // DOWN may end at once.
                DRAIN => &[DOWN, CRUISE],
                DOWN => &[CRUISE, PROBE_RTT],
                CRUISE => &[REFILL, PROBE_RTT],
                REFILL => &[UP, PROBE_RTT],
                UP => &[DOWN, PROBE_RTT],
                _ => &[CRUISE],
            };
            assert!(next.contains(&pair[1].1), "{pair:?}");
        }
        // The next probe comes 2 to 3 s, or 63 rounds, after the last.
        let dips = network.stays(PROBE_RTT);
        for pair in network.stays(REFILL).windows(2) {
            let waited = pair[1].0 - pair[0].1;
            let dipped = dips.iter().any(|dip| dip.0 > pair[0].1 && dip.0 < pair[1].0);
            assert!(dipped || (2000 * MS..3500 * MS).contains(&waited), "{} ms", waited / MS);
        }
        assert!(dips.len() >= 5, "{dips:?}");
        for (index, (from, to)) in dips.iter().enumerate() {
            assert!((to - from) >= 200 * MS && (to - from) < 330 * MS, "{} ms", (to - from) / MS);
            if index > 0 {
                let gap = from - dips[index - 1].1;
                assert!((4999 * MS..5100 * MS).contains(&gap), "{gap}");
            }
        }
        // The window in PROBE_RTT is half of the product.
        let least = network
            .seen
            .iter()
            .filter(|seen| seen.label == PROBE_RTT)
            .map(|seen| seen.in_flight)
            .min()
            .unwrap();
        assert!((least as f64 / product - 0.5).abs() < 0.02, "{least}");
        let undisturbed = network.share(0, 1000 * MS, 4900 * MS);
        assert!(undisturbed > 0.985, "{undisturbed}");
        let share = network.share(0, 1000 * MS, 32_000 * MS);
        assert!(share > undisturbed * (1.0 - 0.5 * 0.24 / 5.2 - 0.005), "{share} {undisturbed}");
        let estimate = bbr(&network.flows[0].control).bandwidth() as f64 / rate(1, frame) as f64;
        assert!((estimate - 1.0).abs() < 0.01, "{estimate}");
        assert_eq!(network.flows[0].lost, 0);
    }

    /// Buffers of a tenth and a third of the pipe: version 1 keeps filling the first, version 3
    /// finds its bound.
    #[test]
    fn shallow_buffers() {
        let first = CongestionControl::Bbr(BbrConfig {
            flavour: Flavour::Linux,
            probe_rtt_interval: Span::from_s(10),
            probe_rtt_time: Span::from_ms(200),
            send_quantum: Some(1),
        });
        for buffer in [33, 100] {
            let lost = |control: &CongestionControl| {
                let mut network =
                    Network::new(Path::new(100_000_000, 40 * MS, buffer), control, 1, 3);
                network.run(3_000 * MS, |_| 0);
                let (lost, delivered) = (network.flows[0].lost, network.flows[0].delivered);
                network.run(23_000 * MS, |_| 0);
                let flow = &network.flows[0];
                assert_eq!(flow.timeouts, 0);
                let share = network.share(0, 3000 * MS, 23_000 * MS);
                (
                    (flow.lost - lost) as f64 / (flow.delivered - delivered) as f64,
                    share,
                    flow.control.clone(),
                )
            };
            let (loss, share, control) = lost(&CongestionControl::Bbr3(config()));
            let bound = bbr(&control).in_flight_high;
            let room = Path::new(100_000_000, 40 * MS, buffer).product() + buffer as f64;
            assert!(
                bound != UNBOUNDED && (bound as f64) < 1.1 * room,
                "{buffer}: {bound} of {room}"
            );
            assert!(share > 0.9, "{buffer}: {share}");
            let (loss_first, ..) = lost(&first);
            assert!(buffer > 33 || loss_first > 0.02, "{loss_first}");
            assert!(loss < 0.005 && loss <= loss_first.max(0.001), "{buffer}: {loss} {loss_first}");
        }
    }

    /// With more than 2 % of random loss, the window falls to where the losses end, or to its
    /// least.
    #[test]
    fn losses_above_the_threshold() {
        let share = |loss| {
            let mut network = network(Path { loss, ..Path::new(100_000_000, 40 * MS, 2000) }, 1, 5);
            network.run(20_000 * MS, label);
            network.share(0, 5000 * MS, 20_000 * MS)
        };
        let (none, some, many) = (share(0), share(1_000), share(50_000));
        assert!(none > 0.95 && some > 0.7 && many < 0.5 * some, "{none} {some} {many}");
    }

    /// During an outage of two seconds no frame arrives.
    #[test]
    fn an_outage() {
        let mut network = network(Path::new(100_000_000, 40 * MS, 2000), 1, 15);
        network.run(4_000 * MS, label);
        network.path.loss = 1_000_000;
        network.run(6_000 * MS, label);
        network.path.loss = 0;
        network.run(15_000 * MS, label);
        assert!(network.flows[0].timeouts > 0);
        let share = network.share(0, 10_000 * MS, 15_000 * MS);
        assert!(share > 0.9, "{share}");
    }

    #[test]
    fn bounds_come_back_after_a_loss_that_was_none() {
        let window = Window { cwnd: 50, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
        let mut bbr = Bbr3::new(&config(), 1460, 10, Stream::new(1, 1, 1));
        bbr.on_established(&window, 0, 20 * MS);
        assert_eq!(bbr.target(rate(100, MS), UNIT), 2000);
        bbr.in_flight_high = 80;
        bbr.on_loss(&window, 0);
        bbr.in_flight_high = 40;
        bbr.on_restart(100 * MS, 0);
        assert_eq!((bbr.on_undo(&window, &Sampler::default()), bbr.in_flight_high), (Some(50), 80));
    }

    #[test]
    fn two_flows_share() {
        let mut network = network(Path::new(100_000_000, 20 * MS, 500), 2, 3);
        network.run(60_000 * MS, label);
        let shares = [0, 1].map(|flow| network.share(flow, 10_000 * MS, 60_000 * MS));
        assert!(shares[0] + shares[1] > 0.95, "{shares:?}");
        assert!(shares[0] / shares[1] > 0.6 && shares[0] / shares[1] < 1.6, "{shares:?}");
    }

    /// Marks keep the queue short on short round trips. A sender that is not told to react ignores
    /// them.
    #[test]
    fn marks() {
        let mean = |ecn: bool| {
            let control = CongestionControl::Bbr3(Bbr3Config { ecn, ..config() });
            let mut network = Network::new(
                Path { mark: Some(20), ..Path::new(1_000_000_000, MS, 500) },
                &control,
                2,
                3,
            );
            network.run(3_000 * MS, label);
            assert!(
                network.share(0, 500 * MS, 3_000 * MS) + network.share(1, 500 * MS, 3_000 * MS)
                    > 0.97
            );
            let queues: Vec<f64> = network
                .seen
                .iter()
                .filter(|seen| seen.now > 500 * MS)
                .map(|seen| seen.queue)
                .collect();
            queues.iter().sum::<f64>() / queues.len() as f64
        };
        let (with, without) = (mean(true), mean(false));
        assert!(with < 20.0 && without > 3.0 * with, "{with} {without}");
    }

    /// (lost before + prefix) / (in flight before + prefix) = 2 % (5/256).
    #[test]
    fn the_bound_is_where_losses_became_too_many() {
        // There were 100 segments before this one, of which 2 % are 2 (rounded up). The third loss
        // crosses the threshold at once.
        assert_eq!(bound_from_loss(&Lost { tx_in_flight: 101, lost: 3, app_limited: false }), 100);
        assert_eq!(bound_from_loss(&Lost { tx_in_flight: 101, lost: 2, app_limited: false }), 101);
        assert_eq!(bound_from_loss(&Lost { tx_in_flight: 1, lost: 1, app_limited: false }), 0);
    }

    /// Bursts of 64 KiB on short round trips, and only a millisecond's worth of the rate on long
    /// ones.
    #[test]
    fn offload_burst() {
        let config = Bbr3Config { send_quantum: None, ..config() };
        let mut bbr = Bbr3::new(&config, 1460, 10, Stream::new(1, 1, 1));
        bbr.pacing_rate = 12_500_000;
        bbr.min_rtt = 100_000_000;
        assert_eq!(bbr.quantum(), 44);
        bbr.min_rtt = 40 * MILLISECOND;
        assert_eq!(bbr.quantum(), 8);
    }
}
