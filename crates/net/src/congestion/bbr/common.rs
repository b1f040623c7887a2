//! State and rules that the versions share.

use super::super::{Ack, Flavour, Opening, Sample, Sampler, State};
use super::arithmetic::{self, MICROSECOND, MILLISECOND, UNIT, paced, product, volume};
use super::filters::{Aggregation, FullPipe, LeastRtt};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Auto, Duration, Or};
use afflux_engine::random::Stream;
use afflux_units::Span;

/// Least window of Linux in segments.
pub const MIN_WINDOW: u32 = 4;
pub const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
pub const WINDOW_GAIN: u32 = 2 * UNIT;

pub fn at_most(Duration(time): Duration, interval: Span, at: Key) -> Result<Span, Wrong> {
    if time <= interval {
        Ok(time)
    } else {
        Err(Wrong::at(at, format!("\"{time}\" is longer than probe_rtt_interval = \"{interval}\"")))
    }
}

pub fn quantum(given: Or<Auto, u32>, flavour: Flavour, at: Key) -> Result<Option<u32>, Wrong> {
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

pub fn recovering(state: State) -> bool {
    matches!(state, State::Recovery | State::Loss)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// Cycle of version 1: eight phases of a round trip. The first probes for more bandwidth, and the
/// second drains the queue of the first.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cycle {
    pub phase: usize,
    /// Start of the phase in ps.
    pub since: u64,
}

impl Cycle {
    const GAINS: [u32; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];

    /// Starts with one of `choices` phases, the first or one of the last.
    pub fn start(&mut self, random: &mut Stream, choices: u64, now: u64) {
        self.phase = Self::GAINS.len() - 1 - random.below(choices) as usize;
        self.next(now);
    }
    pub fn next(&mut self, now: u64) {
        self.phase = (self.phase + 1) % Self::GAINS.len();
        self.since = now;
    }
    #[inline]
    pub fn gain(&self) -> u32 {
        Self::GAINS[self.phase]
    }
}

/// Aggregation of acknowledgements in segments, with Linux's limits.
pub type Extra = Aggregation<{ 1 << 20 }, { u16::MAX as u32 }>;

/// Returns the segments to add to the window: at most 100 ms of `rate`.
#[inline]
pub fn extra_window(extra: &Extra, rate: u64) -> u32 {
    (extra.most() as u64).min(volume(rate, 100 * MILLISECOND)) as u32
}

/// State of every version.
#[derive(Debug, Clone)]
pub struct Core {
    /// Time without a smaller round trip after which PROBE_RTT starts, and its least duration, in
    /// ps.
    pub probe_rtt_interval: u64,
    probe_rtt_time: u64,
    pub mss: u32,
    pub initial_window: u32,
    pub random: Stream,
    pub mode: Mode,
    /// Total of delivered segments at the start of the round. The round ends when a segment is
    /// delivered that was sent after that.
    pub next_round: u32,
    pub round_start: bool,
    pub min_rtt: LeastRtt,
    /// Time in ps at which PROBE_RTT may end; 0: its window has not been reached yet.
    probe_rtt_until: u64,
    pub probe_rtt_round_done: bool,
    pub idle_restart: bool,
    pub full: FullPipe,
    pub pacing_gain: u32,
    pub window_gain: u32,
    /// Pacing rate in bytes of payload per second (ns-3: in bit/s).
    pub pacing_rate: u64,
    pub seen_rtt: bool,
    pub prior_window: u32,
    pub previous: State,
}

impl Core {
    pub fn new(
        probe_rtt_interval: Span,
        probe_rtt_time: Span,
        gain: u32,
        opening: Opening,
    ) -> Self {
        let Opening { mss, initial_window, random } = opening;
        Core {
            probe_rtt_interval: probe_rtt_interval.0,
            probe_rtt_time: probe_rtt_time.0,
            mss,
            initial_window,
            random,
            mode: Mode::Startup,
            next_round: 0,
            round_start: false,
            min_rtt: LeastRtt::NONE,
            probe_rtt_until: 0,
            probe_rtt_round_done: false,
            idle_restart: false,
            full: FullPipe::default(),
            pacing_gain: gain,
            window_gain: gain,
            pacing_rate: 0,
            seen_rtt: false,
            prior_window: 0,
            previous: State::Open,
        }
    }

    /// Starts a round if the sampled segment was sent after the last one had started.
    #[inline]
    pub fn update_round(&mut self, sample: &Sample, delivered: u32) {
        self.round_start = sample.interval > 0 && sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = delivered;
        }
    }

    /// Returns the pacing rate for a window per round trip (ps).
    pub fn first_pacing_rate(&self, cwnd: u32, rtt: u64, gain: u32) -> u64 {
        paced(arithmetic::rate(cwnd, rtt.max(MICROSECOND)), gain, self.mss)
    }

    /// Sets the pacing rate. Until the pipe is full it only rises.
    #[inline]
    pub fn set_pacing_rate(&mut self, rate: u64) {
        if self.full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Returns `gain` times the product of rate and round trip in segments; `initial` without a
    /// round trip.
    #[inline]
    pub fn target(&self, rate: u64, gain: u32, initial: u32) -> u32 {
        let rtt = self.min_rtt.value;
        if rtt == u64::MAX { initial } else { product(rate, rtt, gain) }
    }

    /// Returns the segments in the network at the time at which pacing lets the next one go. While
    /// probing for bandwidth, that one counts.
    #[inline]
    pub fn in_network(
        &self,
        in_flight: u32,
        rate: u64,
        sample: &Sample,
        now: u64,
        quantum: impl FnOnce() -> u32,
    ) -> u32 {
        let quantum = if self.pacing_gain > UNIT { quantum() } else { 0 };
        let leaving = volume(rate, sample.next_send.saturating_sub(now));
        ((in_flight + quantum) as u64).saturating_sub(leaving) as u32
    }

    /// Returns the window after an acknowledgement: it grows to the target, and beyond it before the
    /// pipe is full if it is `small`.
    #[inline]
    pub fn grown(&self, cwnd: u32, acked: u32, target: u32, small: bool) -> u32 {
        let cwnd = if self.full.reached {
            cwnd.saturating_add(acked).min(target)
        } else if cwnd < target || small {
            cwnd.saturating_add(acked)
        } else {
            cwnd
        };
        cwnd.max(MIN_WINDOW)
    }

    /// Saves the window for the end of a recovery or of PROBE_RTT. `reduced`: it is smaller than the
    /// saved one may be.
    #[inline]
    pub fn save_window(&mut self, cwnd: u32, reduced: bool) {
        let keep = reduced || self.mode == Mode::ProbeRtt;
        self.prior_window = if keep { self.prior_window.max(cwnd) } else { cwnd };
    }

    /// Enters PROBE_RTT if the least round trip is too old. Returns true if it does.
    #[inline]
    pub fn enter_probe_rtt(&mut self, expired: bool) -> bool {
        let enters = expired && !self.idle_restart && self.mode != Mode::ProbeRtt;
        if enters {
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = 0;
        }
        enters
    }

    /// Handles an acknowledgement in PROBE_RTT: its time starts when `least` segments are in flight.
    /// Returns true if it may end.
    pub fn in_probe_rtt(
        &mut self,
        ack: &Ack,
        in_flight: u32,
        least: u32,
        sampler: &mut Sampler,
    ) -> bool {
        // Rates measured now are not the network's.
        sampler.mark_app_limited(in_flight);
        if self.probe_rtt_until == 0 {
            if in_flight <= least {
                self.probe_rtt_until = ack.now + self.probe_rtt_time;
                self.probe_rtt_round_done = false;
                self.next_round = sampler.delivered();
            }
            return false;
        }
        self.probe_rtt_round_done |= self.round_start;
        self.probe_rtt_is_over(ack.now)
    }
    pub fn probe_rtt_is_over(&self, now: u64) -> bool {
        self.probe_rtt_round_done && now > self.probe_rtt_until
    }

    /// Handles a restart with nothing in flight. `rate`: pacing rate while probing for bandwidth.
    pub fn restart(&mut self, rate: u64) {
        self.idle_restart = true;
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(rate),
            // Nothing was in flight for a while, which is what PROBE_RTT needs.
            Mode::ProbeRtt => self.probe_rtt_round_done = true,
            _ => {}
        }
    }

    #[cfg(test)]
    pub fn details(&self, phase: impl std::fmt::Debug) -> String {
        if self.mode == Mode::ProbeBandwidth {
            format!(" {:?} {phase:?}", self.mode)
        } else {
            format!(" {:?}", self.mode)
        }
    }
}
