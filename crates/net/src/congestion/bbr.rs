//! BBR version 1, as in Linux 6.12 tcp_bbr.c, in its arithmetic but with times in ps.
//!
//! The window follows a model of the path, so only a time-out may set it otherwise (to one
//! segment). BBR needs pacing. Linux paces by the payload (the length of the segment before headers
//! are added: tcp_update_skb_after_send), does not pace the first ten segments of a connection, and
//! catches up by up to half of a gap when it was late.

use super::{
    About, Ack, Controller, Decrease, Flavour, IncreaseRule, Parameters, Sample, Sampler, Sender,
    SlowStart, State, Window,
};
use crate::Model;
use afflux_config::keys::up_to_a_day;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Auto, Duration, Or, keys};
use afflux_engine::random::Stream;
use afflux_units::Span;

keys! {
    /// Parameters of BBR version 1.
    pub struct Keys as "Bbr" => BbrConfig(sender: &Sender) {
        /// Implementation whose rules are used.
        flavour: Flavour = (sender.flavour) "the stack's, `\"linux\"` or `\"ns3\"`";
        /// Time without a smaller round trip after which the sender drains the pipe to measure the
        /// round trip.
        probe_rtt_interval: Duration = "10s" from "Linux", check up_to_a_day;
        /// Least duration of that measurement.
        probe_rtt_time: Duration = "200ms", check |time, at| at_most(time, probe_rtt_interval, at);
        /// Segments that sender and receiver pass on at once. The window exceeds the path's own
        /// need by three times as many. `"auto"`: as many as Linux's segmentation offload takes, a
        /// millisecond's worth.
        send_quantum: Or<Auto, u32> = (if flavour == Flavour::Ns3 { Or::some(1) } else { Or::NONE })
            "`\"auto\"`; 1 and nothing else with flavour `\"ns3\"`", check |given, at| quantum(given, flavour, at);
    }
}

pub(super) fn at_most(Duration(time): Duration, interval: Span, at: Key) -> Result<Span, Wrong> {
    if time <= interval {
        Ok(time)
    } else {
        Err(Wrong::at(at, format!("\"{time}\" is longer than probe_rtt_interval = \"{interval}\"")))
    }
}

pub(super) fn quantum(
    given: Or<Auto, u32>,
    flavour: Flavour,
    at: Key,
) -> Result<Option<u32>, Wrong> {
    let segments = given.0;
    match segments {
        Some(1) => Ok(segments),
        _ if flavour == Flavour::Ns3 => {
            Err(Wrong::at(at, "flavour = \"ns3\" supports 1 only: write 1 or remove it"))
        }
        Some(0 | 128..) => Err(Wrong::at(at, "write 1 to 127 segments, or \"auto\"")),
        _ => Ok(segments),
    }
}

impl Parameters for BbrConfig {
    fn about(&self) -> About {
        ABOUT
    }
    fn window_response(&self, _: f64) -> (Decrease, IncreaseRule) {
        (Decrease::default(), IncreaseRule::AtOnce)
    }
}

/// Scale of gains, which are in units of 1/256.
pub(super) const UNIT: u32 = 256;
/// Rates are in segments per microsecond, times 2^24.
const RATE_SCALE: u32 = 24;
const MICROSECOND: u64 = 1_000_000;
pub(super) const MILLISECOND: u64 = 1000 * MICROSECOND;
pub(super) const SECOND: u64 = 1000 * MILLISECOND;

/// 2 / ln 2: the least gain that doubles the rate in each round trip.
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
const WINDOW_GAIN: u32 = 2 * UNIT;
const CYCLE: [u32; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The first phase is any but that of 3/4.
const FIRST_PHASES: u64 = 7;
const BANDWIDTH_ROUNDS: u32 = 10;
pub(super) const MIN_WINDOW: u32 = 4;
pub(super) const FULL_GROWTH: u32 = UNIT * 5 / 4;
pub(super) const FULL_ROUNDS: u32 = 3;
/// Initial window in segments (Linux TCP_INIT_CWND).
const INITIAL_WINDOW: u32 = 10;
// Detection of policers.
const POLICED_ROUNDS: u32 = 4;
const POLICED_LOSS: u64 = 50;
const POLICED_RATIO: u64 = UNIT as u64 / 8;
const POLICED_DIFFERENCE: u64 = 4000 / 8;
const POLICED_USE_ROUNDS: u32 = 48;

/// Returns the rate of `delivered` segments in `interval` (ps), rounded down.
pub(super) fn rate(delivered: u32, interval: u64) -> u64 {
    (((delivered as u128) << RATE_SCALE) * MICROSECOND as u128 / interval as u128) as u64
}

/// Returns the segments that `rate` delivers in `time` (ps), rounded down.
pub(super) fn volume(rate: u64, time: u64) -> u64 {
    (rate as u128 * time as u128 / ((MICROSECOND as u128) << RATE_SCALE)) as u64
}

/// Returns `gain` times the product of rate and round trip in segments, rounded up.
pub(super) fn product(rate: u64, rtt: u64, gain: u32) -> u32 {
    let unit = (MICROSECOND as u128 * UNIT as u128) << RATE_SCALE;
    let product = rate as u128 * rtt as u128 * gain as u128;
    product.div_ceil(unit).min(u32::MAX as u128) as u32
}

/// Returns `gain` times the rate in bytes of payload per microsecond, times 2^24, without the
/// pacing margin.
fn bytes(rate: u64, gain: u32, mss: u32) -> u128 {
    (rate as u128 * mss as u128 * gain as u128) >> 8
}

/// Returns the pacing rate in bytes of payload per second, which is 1 % lower.
pub(super) fn paced(rate: u64, gain: u32, mss: u32) -> u64 {
    ((bytes(rate, gain, mss) * 990_000) >> RATE_SCALE) as u64
}

/// Returns the segments that Linux passes to segmentation offload at a rate in bytes per second: a
/// millisecond's worth, at most what the offload takes at once.
pub(super) fn offload(rate: u64, more: u64, mss: u32) -> u32 {
    ((rate >> 10) + more).min(65_536 - 1 - 320) as u32 / mss
}

/// Returns the bytes that Linux passes on at once in addition, if the round trip is short
/// (tcp_tso_rtt_log = 9).
pub(super) fn near(min_rtt: u64) -> u64 {
    let halvings = (min_rtt / MICROSECOND) >> 9;
    if halvings < 32 { 65_536 >> halvings } else { 0 }
}

/// Maximum of a number of rounds: Linux lib/win_minmax.c (Kathleen Nichols' estimate from three
/// samples).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Maximum([(u32, u64); 3]);

impl Maximum {
    pub fn get(&self) -> u64 {
        self.0[0].1
    }
    fn update(&mut self, window: u32, now: u32, value: u64) {
        let best = &mut self.0;
        let new = (now, value);
        if value >= best[0].1 || now - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let age = now - best[0].0;
        if age > window {
            // The best sample is too old: the others move up, at most twice.
            *best = [best[1], best[2], new];
            if now - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            best[1] = new;
            best[2] = new;
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new;
        }
    }
}

/// Aggregation of acknowledgements: the most segments that arrived beyond the estimated rate at
/// once, in the last five to ten rounds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Aggregation {
    since: u64,
    acked: u32,
    extra: [u32; 2],
    rounds: u32,
    slot: usize,
}

impl Aggregation {
    pub const ROUNDS: u32 = 5;
    const MOST_ACKED: u32 = 1 << 20;
    const MOST_TIME: u64 = 100 * MILLISECOND;

    pub fn restart(&mut self, now: u64) {
        self.since = now;
        self.acked = 0;
    }

    /// Updates the estimate. `window`: rounds after which the older half is forgotten.
    pub fn update(
        &mut self,
        sample: &Sample,
        rate: u64,
        now: u64,
        round_start: bool,
        window: u32,
        cwnd: u32,
    ) {
        if sample.acked_sacked == 0 || sample.interval == 0 {
            return;
        }
        if round_start {
            self.rounds = (self.rounds + 1).min(31);
            if self.rounds >= window {
                self.rounds = 0;
                self.slot ^= 1;
                self.extra[self.slot] = 0;
            }
        }
        let mut expected = volume(rate, now - self.since);
        if self.acked as u64 <= expected || self.acked + sample.acked_sacked >= Self::MOST_ACKED {
            self.acked = 0;
            self.since = now;
            expected = 0;
        }
        self.acked = (self.acked + sample.acked_sacked).min(Self::MOST_ACKED - 1);
        let extra =
            (self.acked as u64).saturating_sub(expected).min(cwnd as u64).min(u16::MAX as u64);
        self.extra[self.slot] = self.extra[self.slot].max(extra as u32);
    }

    /// Returns the number of segments to add to the window.
    pub fn window(&self, rate: u64) -> u32 {
        (self.extra[0].max(self.extra[1]) as u64).min(volume(rate, Self::MOST_TIME)) as u32
    }
}

/// Returns the segments in the network at the time at which pacing lets the next one go, plus
/// `quantum`.
pub(super) fn in_network(in_flight: u32, quantum: u32, rate: u64, now: u64, next_send: u64) -> u32 {
    let leaving = volume(rate, next_send.saturating_sub(now));
    ((in_flight + quantum) as u64).saturating_sub(leaving) as u32
}

pub(super) fn recovering(state: State) -> bool {
    matches!(state, State::Recovery | State::Loss)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

#[derive(Debug, Clone)]
pub struct Bbr {
    config: BbrConfig,
    mss: u32,
    random: Stream,
    mode: Mode,
    /// Total of delivered segments at the start of the round. The round ends when a segment is
    /// delivered that was sent after that.
    next_round: u32,
    rounds: u32,
    round_start: bool,
    bandwidth: Maximum,
    min_rtt: u64,
    min_rtt_since: u64,
    /// Time in ps at which PROBE_RTT may end; 0: its window has not been reached yet.
    probe_rtt_until: u64,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    phase: usize,
    phase_since: u64,
    pacing_gain: u32,
    window_gain: u32,
    /// Pacing rate in bytes of payload per second.
    pacing_rate: u64,
    seen_rtt: bool,
    full: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    prior_window: u32,
    previous: State,
    conserving: bool,
    aggregation: Aggregation,
    /// True if there was a time-out since the last acknowledgement.
    timed_out: bool,
    delivered_time: u64,
    policed: Policed,
}

/// Long-term rate under a policer.
#[derive(Debug, Clone, Copy, Default)]
struct Policed {
    sampling: bool,
    in_use: bool,
    rate: u64,
    rounds: u32,
    delivered: u32,
    lost: u32,
    /// Start of the interval in ms.
    since: u64,
}

/// Totals at one instant.
#[derive(Clone, Copy)]
struct Totals {
    delivered: u32,
    lost: u32,
    time: u64,
}

impl Policed {
    fn start_interval(&mut self, totals: &Totals) {
        self.since = totals.time / MILLISECOND;
        self.delivered = totals.delivered;
        self.lost = totals.lost;
        self.rounds = 0;
    }
    fn reset(&mut self, totals: &Totals) {
        *self = Policed::default();
        self.start_interval(totals);
    }
}

impl Bbr {
    pub fn new(config: &BbrConfig, mss: u32, initial_window: u32, random: Stream) -> Self {
        let mut bbr = Bbr {
            config: config.clone(),
            mss,
            random,
            mode: Mode::Startup,
            next_round: 0,
            rounds: 0,
            round_start: false,
            bandwidth: Maximum::default(),
            min_rtt: u64::MAX,
            min_rtt_since: 0,
            probe_rtt_until: 0,
            probe_rtt_round_done: false,
            idle_restart: false,
            phase: 0,
            phase_since: 0,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            pacing_rate: 0,
            seen_rtt: false,
            full: false,
            full_bandwidth: 0,
            full_rounds: 0,
            prior_window: 0,
            previous: State::Open,
            conserving: false,
            aggregation: Aggregation::default(),
            timed_out: false,
            delivered_time: 0,
            policed: Policed::default(),
        };
        // Before the first measurement the round trip counts as a millisecond.
        bbr.pacing_rate = paced(rate(initial_window, MILLISECOND), HIGH_GAIN, mss);
        bbr
    }

    fn start_pacing(&mut self, window: &Window, rtt: u64) {
        self.seen_rtt = true;
        self.pacing_rate = paced(rate(window.cwnd, rtt.max(MICROSECOND)), HIGH_GAIN, self.mss);
    }

    fn rate(&self) -> u64 {
        if self.policed.in_use { self.policed.rate } else { self.bandwidth.get() }
    }

    /// Returns the number of segments passed to the network at once.
    fn quantum(&self) -> u32 {
        self.config.send_quantum.unwrap_or_else(|| {
            offload(self.pacing_rate, 0, self.mss).max(self.least_quantum()).min(127)
        })
    }
    fn least_quantum(&self) -> u32 {
        if self.pacing_rate < 1_200_000 >> 3 { 1 } else { 2 }
    }

    fn target(&self, rate: u64, gain: u32) -> u32 {
        if self.min_rtt == u64::MAX { INITIAL_WINDOW } else { product(rate, self.min_rtt, gain) }
    }

    /// Adds the segments that both ends hold, rounded to an even number, and two more while
    /// probing, so that probing has an effect on short pipes.
    fn with_budget(&self, window: u32) -> u32 {
        let window = window.saturating_add(3 * self.quantum()).saturating_add(1) & !1;
        window.saturating_add(if self.mode == Mode::ProbeBandwidth && self.phase == 0 {
            2
        } else {
            0
        })
    }

    fn in_flight_at(&self, rate: u64, gain: u32) -> u32 {
        self.with_budget(self.target(rate, gain))
    }

    fn in_network(&self, in_flight: u32, sample: &Sample, now: u64) -> u32 {
        let quantum = if self.pacing_gain > UNIT { self.quantum() } else { 0 };
        in_network(in_flight, quantum, self.rate(), now, sample.next_send)
    }

    fn set_pacing_rate(&mut self, gain: u32) {
        let rate = paced(self.rate(), gain, self.mss);
        // Until the pipe is full the rate only rises.
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn update_bandwidth(&mut self, sample: &Sample, totals: &Totals) {
        self.round_start = false;
        if sample.interval == 0 {
            return;
        }
        if sample.prior_delivered >= self.next_round {
            self.next_round = totals.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        self.sample_policed(sample.losses > 0, sample.app_limited, totals);
        let bandwidth = rate(sample.delivered, sample.interval);
        if !sample.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, bandwidth);
        }
    }

    /// Detects a policer: two intervals of at least four rounds with a fifth of the segments lost
    /// and nearly the same rate.
    fn sample_policed(&mut self, lossy: bool, app_limited: bool, totals: &Totals) {
        if self.policed.in_use {
            if self.mode == Mode::ProbeBandwidth && self.round_start {
                self.policed.rounds += 1;
                if self.policed.rounds >= POLICED_USE_ROUNDS {
                    self.policed.reset(totals);
                    self.start_probing();
                }
            }
            return;
        }
        if !self.policed.sampling {
            if !lossy {
                return;
            }
            self.policed.start_interval(totals);
            self.policed.sampling = true;
        }
        if app_limited {
            self.policed.reset(totals);
            return;
        }
        self.policed.rounds += self.round_start as u32;
        if self.policed.rounds < POLICED_ROUNDS {
            return;
        }
        if self.policed.rounds > 4 * POLICED_ROUNDS {
            self.policed.reset(totals);
            return;
        }
        // An interval ends with a loss: the policer's tokens are exhausted.
        if !lossy {
            return;
        }
        let (lost, delivered) =
            ((totals.lost - self.policed.lost) as u64, totals.delivered - self.policed.delivered);
        if delivered == 0 || lost * (UNIT as u64) < POLICED_LOSS * delivered as u64 {
            return;
        }
        let time = (totals.time / MILLISECOND).saturating_sub(self.policed.since);
        if time == 0 {
            return;
        }
        let found = rate(delivered, time * MILLISECOND);
        let before = self.policed.rate;
        if before > 0 {
            let difference = found.abs_diff(before);
            let close = difference * UNIT as u64 <= POLICED_RATIO * before;
            if close || paced(difference, UNIT, self.mss) <= POLICED_DIFFERENCE {
                self.policed.rate = (found + before) / 2;
                self.policed.in_use = true;
                self.policed.rounds = 0;
                self.pacing_gain = UNIT;
                return;
            }
        }
        self.policed.rate = found;
        self.policed.start_interval(totals);
    }

    fn start_probing(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        self.phase = CYCLE.len() - 1 - self.random.below(FIRST_PHASES) as usize;
        self.next_phase();
    }

    fn next_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_since = self.delivered_time;
    }

    fn phase_is_over(&self, sample: &Sample, now: u64) -> bool {
        let full_length = self.delivered_time.saturating_sub(self.phase_since) > self.min_rtt;
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let in_flight = self.in_network(sample.prior_in_flight, sample, now);
        let bandwidth = self.bandwidth.get();
        if self.pacing_gain > UNIT {
            // Until the intended queue exists, or does not fit into the buffer.
            return full_length
                && (sample.losses > 0
                    || in_flight >= self.in_flight_at(bandwidth, self.pacing_gain));
        }
        full_length || in_flight <= self.in_flight_at(bandwidth, UNIT)
    }

    fn check_full(&mut self, sample: &Sample) {
        if self.full || !self.round_start || sample.app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= (self.full_bandwidth * FULL_GROWTH as u64) >> 8 {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window, sample: &Sample, now: u64) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            window.ssthresh = self.in_flight_at(self.bandwidth.get(), UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network(sample.in_flight, sample, now)
                <= self.in_flight_at(self.bandwidth.get(), UNIT)
        {
            self.start_probing();
        }
    }

    fn update_min_rtt(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        let expired = ack.now > self.min_rtt_since + self.config.probe_rtt_interval.0;
        // Linux has "less or equal". Its microseconds are rarely equal, but these ps are, whenever
        // the queue is empty.
        if ack.rtt > 0 && (ack.rtt < self.min_rtt || expired) {
            self.min_rtt = ack.rtt;
            self.min_rtt_since = ack.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probe_rtt_until = 0;
        }
        if self.mode == Mode::ProbeRtt {
            // Rates measured now are not the network's.
            sampler.mark_app_limited(sample.in_flight);
            if self.probe_rtt_until == 0 {
                if sample.in_flight <= MIN_WINDOW {
                    self.probe_rtt_until = ack.now + self.config.probe_rtt_time.0;
                    self.probe_rtt_round_done = false;
                    self.next_round = sampler.delivered();
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done && ack.now > self.probe_rtt_until {
                    self.min_rtt_since = ack.now;
                    window.cwnd = window.cwnd.max(self.prior_window);
                    if self.full {
                        self.start_probing();
                    } else {
                        self.mode = Mode::Startup;
                    }
                }
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn set_window(&mut self, window: &mut Window, ack: &Ack, sample: &Sample, delivered: u32) {
        let acked = sample.acked_sacked;
        if acked > 0 {
            let mut cwnd = window.cwnd.saturating_sub(sample.losses).max(1);
            if ack.state == State::Recovery && self.previous != State::Recovery {
                // The first round of recovery sends as many segments as are delivered.
                self.conserving = true;
                self.next_round = delivered;
                cwnd = sample.in_flight + acked;
            } else if recovering(self.previous) && !recovering(ack.state) {
                cwnd = cwnd.max(self.prior_window);
                self.conserving = false;
            }
            self.previous = ack.state;
            if self.conserving {
                cwnd = cwnd.max(sample.in_flight + acked);
            } else {
                let rate = self.rate();
                let aggregated = if self.full { self.aggregation.window(rate) } else { 0 };
                let target = self
                    .with_budget(self.target(rate, self.window_gain).saturating_add(aggregated));
                if self.full {
                    cwnd = cwnd.saturating_add(acked).min(target);
                } else if cwnd < target || delivered < INITIAL_WINDOW {
                    cwnd = cwnd.saturating_add(acked);
                }
                cwnd = cwnd.max(MIN_WINDOW);
            }
            window.cwnd = cwnd;
        }
        window.cwnd = window.cwnd.min(window.limit);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_WINDOW);
        }
    }

    fn save_window(&mut self, window: &Window) {
        if recovering(self.previous) || self.mode == Mode::ProbeRtt {
            self.prior_window = self.prior_window.max(window.cwnd);
        } else {
            self.prior_window = window.cwnd;
        }
    }
}

impl Controller for Bbr {
    /// Starts the model at the time at which the connection opens. The handshake took `rtt` ps (0:
    /// unknown).
    fn on_established(&mut self, window: &Window, now: u64, rtt: u64) {
        self.min_rtt_since = now;
        self.delivered_time = now;
        self.aggregation.restart(now);
        self.policed.since = now / MILLISECOND;
        if rtt > 0 {
            self.min_rtt = rtt;
            self.start_pacing(window, rtt);
        }
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// Returns the pacing rate in bit/s of payload.
    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate.saturating_mul(8).max(1))
    }

    /// Returns the segments that leave back to back, as one buffer for segmentation offload.
    fn burst(&self) -> u32 {
        self.config.send_quantum.unwrap_or_else(|| {
            offload(self.pacing_rate, near(self.min_rtt), self.mss).max(self.least_quantum())
        })
    }

    /// Handles every acknowledgement after losses were marked and the sender's state changed.
    fn on_sample(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        if std::mem::take(&mut self.timed_out) {
            // A time-out counts as the end of a round with a loss, with the totals at that time.
            let delivered = sampler.delivered() - sample.acked_sacked;
            let totals = Totals {
                delivered,
                lost: sampler.lost() - sample.losses,
                time: self.delivered_time,
            };
            self.round_start = true;
            self.sample_policed(true, false, &totals);
        }
        self.delivered_time = sampler.delivered_time();
        let totals = Totals {
            delivered: sampler.delivered(),
            lost: sampler.lost(),
            time: self.delivered_time,
        };
        self.update_bandwidth(sample, &totals);
        let rate = self.rate();
        self.aggregation.update(
            sample,
            rate,
            self.delivered_time,
            self.round_start,
            Aggregation::ROUNDS,
            window.cwnd,
        );
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(sample, ack.now) {
            self.next_phase();
        }
        self.check_full(sample);
        self.check_drain(window, sample, ack.now);
        self.update_min_rtt(window, ack, sample, sampler);
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth => {
                (if self.policed.in_use { UNIT } else { CYCLE[self.phase] }, WINDOW_GAIN)
            }
            Mode::ProbeRtt => (UNIT, UNIT),
        };
        if !self.seen_rtt && ack.rtt > 0 {
            self.start_pacing(window, ack.rtt);
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_window(window, ack, sample, totals.delivered);
    }

    /// Saves the window at a loss, a time-out or an ECN echo. The threshold stays, because BBR does
    /// not use it.
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        self.save_window(window);
        window.ssthresh
    }

    fn on_state(&mut self, state: State, _: &mut Window, _: u64) {
        if state == State::Loss {
            self.previous = State::Loss;
            self.full_bandwidth = 0;
            self.timed_out = true;
        }
    }

    /// Handles a spurious loss: returns the window to continue with.
    fn on_undo(&mut self, window: &Window, sampler: &Sampler) -> Option<u32> {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        self.policed.reset(&Totals {
            delivered: sampler.delivered(),
            lost: sampler.lost(),
            time: sampler.delivered_time(),
        });
        Some(window.cwnd)
    }

    fn on_restart(&mut self, now: u64, _: u64) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(UNIT),
            // Nothing was in flight for a while, which is what PROBE_RTT needs.
            Mode::ProbeRtt => self.probe_rtt_round_done = true,
            _ => {}
        }
    }

    #[cfg(test)]
    fn details(&self) -> String {
        let phase = if self.mode == Mode::ProbeBandwidth {
            format!(" {}", self.phase)
        } else {
            String::new()
        };
        format!(" {:?}{phase}", self.mode)
    }
}

pub const ABOUT: About = About {
    slow_start: SlowStart::None,
    ignores_marks: Some(
        "BBR version 1 does not react to marks, which only hide the queue from it: remove ecn, or write congestion = \"bbr3\"",
    ),
    ..About::of(MODEL)
};

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "bbr",
    source: "Linux 6.12 tcp_bbr.c, tcp_rate.c and lib/win_minmax.c; Cardwell et al., ACM Queue 14(5), 2016",
    faithful: "every state with Linux's gains, filters and window rules: start-up, drain, eight-phase cycle from a random phase, PROBE_RTT, aggregation \
               of acknowledgements, long-term rate under policers, conservation in the first round of recovery; no reaction to ECN",
    simplified: "times in picoseconds instead of Linux's microseconds and jiffies, so only a smaller round trip postpones PROBE_RTT, an equal one does \
                 not; segments are sent one by one, the window's budget for segmentation offload is Linux's (send_quantum sets it)",
};

#[cfg(test)]
mod tests {
    use super::super::Control;
    use super::super::bottleneck::{MS, Network, Path};
    use super::*;
    use crate::spec::CongestionControl;
    use afflux_units::Span;

    const STARTUP: u8 = 100;
    const DRAIN: u8 = 101;
    const PROBE_RTT: u8 = 102;

    fn config() -> BbrConfig {
        BbrConfig {
            flavour: Flavour::Linux,
            probe_rtt_interval: Span::from_s(10),
            probe_rtt_time: Span::from_ms(200),
            send_quantum: Some(1),
        }
    }

    fn bbr(control: &Control) -> &Bbr {
        let Control::Bbr(bbr) = control else { panic!() };
        bbr
    }

    fn label(control: &Control) -> u8 {
        let bbr = bbr(control);
        match bbr.mode {
            Mode::Startup => STARTUP,
            Mode::Drain => DRAIN,
            Mode::ProbeBandwidth => bbr.phase as u8,
            Mode::ProbeRtt => PROBE_RTT,
        }
    }

    fn network(path: Path, flows: usize, seed: u64) -> Network {
        Network::new(path, &CongestionControl::Bbr(config()), flows, seed)
    }

    /// spec/transports.md §9 item 7.
    #[test]
    fn one_flow_with_a_deep_buffer() {
        let path = Path::new(100_000_000, 40 * MS, 2000);
        let (product, frame) = (path.product(), path.frame());
        let mut network = network(path, 1, 3);
        network.run(32_000 * MS, label);
        let startup = network.stays(STARTUP)[0].1;
        let drain = network.stays(DRAIN)[0].1;
        let peak = network
            .seen
            .iter()
            .filter(|seen| seen.now <= drain)
            .map(|seen| seen.queue)
            .fold(0.0, f64::max);
        assert!(startup < 900 * MS, "{startup}");
        assert!(peak <= 1.89 * product + 8.0 && peak >= 1.5 * product, "{peak} of {product}");
        assert!(drain - startup < 250 * MS, "{} ms", (drain - startup) / MS);
        // The queue has pulses of a quarter every eight round trips, and is nearly empty between
        // them.
        let steady: Vec<_> = network
            .seen
            .iter()
            .filter(|seen| seen.now > 2000 * MS && seen.now < 9900 * MS)
            .collect();
        let highest = steady.iter().map(|seen| seen.queue).fold(0.0, f64::max);
        assert!(
            highest <= 0.27 * product + 8.0 && highest >= 0.2 * product,
            "{highest} of {product}"
        );
        let cruising: Vec<f64> = steady
            .iter()
            .filter(|seen| (3..8).contains(&seen.label))
            .map(|seen| seen.queue)
            .collect();
        let mean = cruising.iter().sum::<f64>() / cruising.len() as f64;
        assert!(mean < 0.03 * product, "{mean} of {product}");
        let probes: Vec<u64> = network
            .stays(0)
            .iter()
            .map(|stay| stay.0)
            .filter(|&start| start > 2000 * MS && start < 9900 * MS)
            .collect();
        let period = (probes[probes.len() - 1] - probes[0]) as f64
            / (probes.len() - 1) as f64
            / (40 * MS + frame) as f64;
        assert!((7.5..8.8).contains(&period), "{period} round trips");
        // PROBE_RTT runs every ten seconds.
        let dips = network.stays(PROBE_RTT);
        assert_eq!(dips.len(), 3, "{dips:?}");
        for (index, (from, to)) in dips.iter().enumerate() {
            assert!((to - from) >= 200 * MS && (to - from) < 330 * MS, "{} ms", (to - from) / MS);
            if index > 0 {
                let gap = from - dips[index - 1].1;
                assert!((9999 * MS..10_100 * MS).contains(&gap), "{gap}");
            }
        }
        // Each PROBE_RTT costs its 200 ms and the round trip in which the pipe fills again: a
        // little over 2 %.
        let undisturbed = network.share(0, 2000 * MS, 9900 * MS);
        assert!((0.99..=1.0).contains(&undisturbed), "{undisturbed}");
        let share = network.share(0, 2000 * MS, 32_000 * MS) / undisturbed;
        assert!((1.0 - 0.24 / 10.2 - 0.001..1.0 - 0.2 / 10.2).contains(&share), "{share}");
        // The bandwidth estimate matches the link.
        let estimate =
            bbr(&network.flows[0].control).bandwidth.get() as f64 / rate(1, frame) as f64;
        assert!((estimate - 1.0).abs() < 0.01, "{estimate}");
        assert_eq!(network.flows[0].lost, 0);
    }

    #[test]
    fn random_loss_is_no_sign_of_congestion() {
        let mut network =
            network(Path { loss: 10_000, ..Path::new(100_000_000, 40 * MS, 2000) }, 1, 5);
        network.run(15_000 * MS, label);
        let share = network.share(0, 3000 * MS, 15_000 * MS);
        assert!(share > 0.95, "{share}");
        assert_eq!(network.flows[0].timeouts, 0);
    }

    /// Flows that share a queue drain it together.
    #[test]
    fn two_flows_share() {
        let mut network = network(Path::new(100_000_000, 20 * MS, 2000), 2, 7);
        network.run(60_000 * MS, label);
        let shares = [0, 1].map(|flow| network.share(flow, 10_000 * MS, 60_000 * MS));
        assert!(shares[0] + shares[1] > 0.96, "{shares:?}");
        assert!(shares[0] / shares[1] > 0.5 && shares[0] / shares[1] < 2.0, "{shares:?}");
        let queue = network
            .seen
            .iter()
            .filter(|seen| seen.now > 10_000 * MS)
            .map(|seen| seen.queue)
            .fold(0.0, f64::max);
        // Two windows of two products each, minus the pipe.
        assert!(queue < 1.4 * network.path.product(), "{queue}");
    }

    /// Acknowledgements that arrive in bunches: without an allowance for them the pipe would run
    /// empty.
    #[test]
    fn bunches_of_acknowledgements() {
        let path = Path { hold: 20 * MS, ..Path::new(100_000_000, 10 * MS, 2000) };
        let mut network = network(path, 1, 9);
        network.run(9_000 * MS, label);
        let bbr = bbr(&network.flows[0].control);
        assert!(bbr.aggregation.window(bbr.rate()) > 50);
        let share = network.share(0, 3000 * MS, 9000 * MS);
        assert!(share > 0.9, "{share}");
    }

    /// A buffer of a tenth of the pipe: many losses, but neither time-outs nor an idle link.
    #[test]
    fn a_shallow_buffer() {
        let mut network = network(Path::new(100_000_000, 40 * MS, 33), 1, 11);
        network.run(15_000 * MS, label);
        let share = network.share(0, 3000 * MS, 15_000 * MS);
        assert!(share > 0.9, "{share}");
        assert_eq!(network.flows[0].timeouts, 0);
    }

    /// A policer at a fifth of the link: after two similar intervals the sender keeps to the
    /// policer's rate for 48 rounds.
    #[test]
    fn a_policer() {
        let path =
            Path { police: Some((8333 / 5, 200.0)), ..Path::new(100_000_000, 40 * MS, 2000) };
        let mut network = network(path, 1, 13);
        let mut in_use = 0;
        for step in 1..=200 {
            network.run(step * 100 * MS, label);
            let bbr = bbr(&network.flows[0].control);
            if bbr.policed.in_use {
                in_use += 1;
                let estimate = bbr.policed.rate as f64 / rate(8333 / 5, SECOND) as f64;
                assert!((0.8..1.3).contains(&estimate), "{estimate}");
            }
        }
        assert!(in_use > 60, "{in_use}");
        assert!(network.share(0, 5000 * MS, 20_000 * MS) > 0.15);
    }

    /// During an outage of two seconds no frame arrives.
    #[test]
    fn an_outage() {
        let mut network = network(Path::new(100_000_000, 40 * MS, 2000), 1, 15);
        network.run(5_000 * MS, label);
        network.path.loss = 1_000_000;
        network.run(7_000 * MS, label);
        network.path.loss = 0;
        network.run(15_000 * MS, label);
        assert!(network.flows[0].timeouts > 0);
        let share = network.share(0, 10_000 * MS, 15_000 * MS);
        assert!(share > 0.9, "{share}");
    }

    #[test]
    fn pacing_before_and_after_the_first_round_trip() {
        let mut window = Window { cwnd: 10, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
        let mut bbr = Bbr::new(&config(), 1460, 10, Stream::new(1, 1, 1));
        let expected = |rtt: f64| 0.99 * 739.0 / 256.0 * 10.0 * 1460.0 * 8.0 / rtt;
        assert!((bbr.pacing_rate().unwrap() as f64 / expected(1e-3) - 1.0).abs() < 1e-4);
        bbr.on_established(&window, 5 * MS, 20 * MS);
        assert!((bbr.pacing_rate().unwrap() as f64 / expected(20e-3) - 1.0).abs() < 1e-4);
        assert_eq!(bbr.target(rate(100, MS), UNIT), 2000);
        // After an idle time in PROBE_BW, the pacing rate does not exceed the estimate.
        bbr.bandwidth.update(10, 0, rate(1, MS));
        bbr.full = true;
        bbr.start_probing();
        bbr.on_restart(50 * MS, 0);
        assert!(
            (bbr.pacing_rate().unwrap() as f64 / (0.99 * 1460.0 * 8.0 / 1e-3) - 1.0).abs() < 1e-4
        );
        assert!(bbr.idle_restart);
        // The window is restored after a spurious loss.
        window.cwnd = 40;
        assert_eq!(bbr.on_loss(&window, 0), u32::MAX);
        assert_eq!(bbr.on_undo(&window, &Sampler::default()), Some(40));
    }

    /// One flow for 60 s at 100 Mb/s and 300 ms, with queues of 3,750,000 B and 375,000 B, against
    /// Linux 6.12.117 (its first 0.3 s are the handshake): goodput, goodput of the second half, and
    /// segments lost.
    #[test]
    fn as_linux() {
        for (buffer, goodput, half, lost) in
            [(2477, 85.801, 89.293, 4536.0), (248, 84.67, 88.253, 16859.0)]
        {
            let config = BbrConfig { send_quantum: None, ..config() };
            let path = Path { delayed: Some(40 * MS), ..Path::new(100_000_000, 300 * MS, buffer) };
            let mut network = Network::new(path, &CongestionControl::Bbr(config), 1, 3);
            let window = network.flows[0].window;
            network.flows[0].control.on_established(&window, 0, 300 * MS);
            network.run(59_700 * MS, label);
            let flow = &network.flows[0];
            let least = 100.0 * 1448.0 / 1514.0;
            let ours = [
                network.share(0, 0, 59_700 * MS) * least * 59.7 / 60.0,
                network.share(0, 29_700 * MS, 59_700 * MS) * least,
            ];
            assert!(
                (ours[0] / goodput - 1.0).abs() < 0.005 && (ours[1] / half - 1.0).abs() < 0.005,
                "{ours:?} {goodput} {half}"
            );
            assert!((flow.lost as f64 / lost - 1.0).abs() < 0.04, "{} of {lost}", flow.lost);
            assert_eq!(flow.timeouts, 0);
        }
    }

    #[test]
    fn the_maximum_is_forgotten_after_the_window() {
        let mut maximum = Maximum::default();
        maximum.update(10, 0, 100);
        for now in 1..=10 {
            maximum.update(10, now, 50 - now as u64);
            assert_eq!(maximum.get(), 100);
        }
        maximum.update(10, 11, 30);
        // The second best sample is from the second quarter of the window.
        assert_eq!(maximum.get(), 50 - 3);
        maximum.update(10, 12, 60);
        assert_eq!(maximum.get(), 60);
    }

    /// Linux's values for 100 Mb/s of 1448 B segments: 8 in a millisecond. Then the limits.
    #[test]
    fn offload_burst() {
        assert_eq!(offload(12_500_000, 0, 1448), 8);
        assert_eq!(offload(1_250_000_000, 0, 1460), 44);
        assert_eq!(offload(10_000, 0, 1460), 0);
    }
}
