//! BBR version 1 as in ns-3 (3.48, TcpBbr): in bytes and bit/s. It differs from Linux in these
//! points:
//!
//! - The bandwidth filter starts with the initial window per round trip in whole milliseconds, at
//!   least one.
//! - A recovery ends with the window at the threshold: the data in flight at the bandwidth that was
//!   found when start-up ended. Before that the threshold is 2^32 − 1, and so is the window until
//!   the next acknowledgement that updates it overflows 32 bits.
//! - Losses count as the absolute difference in the number of lost bytes before and after the
//!   acknowledgement, and only in a recovery.
//! - Extra acknowledgements are counted in bytes against a limit meant for segments, over whole
//!   seconds: an epoch ends after a few segments, and the window is larger by that many.
//! - A round that has begun remains so until there is another valid sample. A time-out begins a
//!   round.
//! - There is no long-term rate under policers. Segments that pacing is about to release are not
//!   subtracted from the data in flight.

use super::bbr::{Bbr, BbrConfig, MILLISECOND, SECOND};
use super::{Ack, Controller, Flavour, Opening, Sample, Sampler, State, Window};
use crate::Model;
use afflux_engine::random::Stream;

const HIGH_GAIN: f64 = 2.89;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The cycle begins with any phase but the second and the third.
const FIRST_PHASES: u64 = 6;
const BANDWIDTH_ROUNDS: u32 = 10;
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
const MARGIN: f64 = 0.99;
const MIN_SEGMENTS: u32 = 4;
/// Segments by which the window exceeds the path's own need.
const QUANTA: u32 = 3;
const EXTRA_ROUNDS: u32 = 5;
/// Bytes after which an epoch of acknowledgements ends.
const EPOCH: u32 = 1 << 12;

/// Maximum of a number of rounds: Kathleen Nichols' estimate from three samples. The initial value
/// counts as none.
#[derive(Debug, Clone, Copy, Default)]
struct Filter {
    none: u64,
    best: [(u32, u64); 3],
}

impl Filter {
    fn new(none: u64) -> Self {
        Filter { none, best: [(0, none); 3] }
    }
    fn get(&self) -> u64 {
        self.best[0].1
    }
    fn update(&mut self, now: u32, value: u64) {
        let (best, new, window) = (&mut self.best, (now, value), BANDWIDTH_ROUNDS);
        if best[0].1 == self.none || value >= best[0].1 || now - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if value >= best[2].1 {
            best[2] = new;
        }
        if now - best[0].0 > window {
            *best = [best[1], best[2], new];
            if now - best[0].0 > window {
                (best[0], best[1]) = (best[1], best[2]);
            }
        } else if best[1].1 == best[0].1 && now - best[1].0 > window / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].1 == best[1].1 && now - best[2].0 > window / 2 {
            best[2] = new;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

#[derive(Debug, Clone)]
pub struct Ns3Bbr {
    config: BbrConfig,
    mss: u32,
    initial_window: u32,
    random: Stream,
    mode: Mode,
    /// Window and threshold in bytes.
    cwnd: u32,
    ssthresh: u32,
    /// Total of delivered segments at the start of the round. The round ends when a segment is
    /// delivered that was sent after that.
    next_round: u32,
    rounds: u32,
    round_start: bool,
    /// Estimated bandwidth in bit/s.
    bandwidth: Filter,
    pacing_rate: u64,
    seen_rtt: bool,
    min_rtt: u64,
    min_rtt_since: u64,
    /// Time in ps at which PROBE_RTT may end; 0: its window has not been reached yet.
    probe_rtt_until: u64,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    phase: usize,
    phase_since: u64,
    pacing_gain: f64,
    window_gain: f64,
    full: bool,
    full_bandwidth: u64,
    full_rounds: u32,
    prior_window: u32,
    previous: State,
    conserving: bool,
    extra: [u32; 2],
    extra_slot: usize,
    extra_rounds: u32,
    epoch_since: u64,
    epoch_acked: u32,
}

impl Ns3Bbr {
    pub fn new(config: &BbrConfig, mss: u32, initial_window: u32, random: Stream) -> Self {
        let mut bbr = Ns3Bbr {
            config: config.clone(),
            mss,
            initial_window,
            random,
            mode: Mode::Startup,
            cwnd: initial_window.saturating_mul(mss),
            ssthresh: u32::MAX,
            next_round: 0,
            rounds: 0,
            round_start: false,
            bandwidth: Filter::default(),
            pacing_rate: 0,
            seen_rtt: false,
            min_rtt: u64::MAX,
            min_rtt_since: 0,
            probe_rtt_until: 0,
            probe_rtt_round_done: false,
            idle_restart: false,
            phase: 0,
            phase_since: 0,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            full: false,
            full_bandwidth: 0,
            full_rounds: 0,
            prior_window: initial_window.saturating_mul(mss),
            previous: State::Open,
            conserving: false,
            extra: [0; 2],
            extra_slot: 0,
            extra_rounds: 0,
            epoch_since: 0,
            epoch_acked: 0,
        };
        bbr.start_pacing(0);
        bbr
    }

    fn start_pacing(&mut self, rtt: u64) {
        let milliseconds = (rtt / MILLISECOND).max(1);
        let rate = self.cwnd as u64 * 8000 / milliseconds;
        self.pacing_rate = (self.pacing_gain * rate as f64) as u64;
        self.bandwidth = Filter::new(rate);
    }

    /// Returns the bytes in flight at `gain`.
    fn in_flight(&self, gain: f64) -> u32 {
        if self.min_rtt == u64::MAX {
            return self.initial_window.saturating_mul(self.mss);
        }
        let product = self.bandwidth.get() as f64 * (self.min_rtt as f64 / SECOND as f64) / 8.0;
        let probing = self.mode == Mode::ProbeBandwidth && self.phase == 0;
        let room = QUANTA + if probing { 2 } else { 0 };
        (gain * product + (room * self.mss) as f64) as u32
    }

    fn update_bandwidth(&mut self, sample: &Sample, delivered: u32) {
        if sample.interval == 0 {
            return;
        }
        self.round_start = sample.prior_delivered >= self.next_round;
        if self.round_start {
            self.next_round = delivered;
            self.rounds += 1;
            self.conserving = false;
        }
        let rate = (sample.delivered as f64 * self.mss as f64 * 8.0
            / (sample.interval as f64 / SECOND as f64)) as u64;
        if rate >= self.bandwidth.get() || !sample.app_limited {
            self.bandwidth.update(self.rounds, rate);
        }
    }

    fn update_extra(&mut self, sample: &Sample, acked: u32, now: u64) {
        if acked == 0 || sample.delivered == 0 {
            return;
        }
        if self.round_start {
            self.extra_rounds = (self.extra_rounds + 1).min(31);
            if self.extra_rounds >= EXTRA_ROUNDS {
                self.extra_rounds = 0;
                self.extra_slot ^= 1;
                self.extra[self.extra_slot] = 0;
            }
        }
        let seconds = (now - self.epoch_since) / SECOND;
        let mut expected = (self.bandwidth.get() * seconds / 8) as u32;
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH {
            self.epoch_acked = 0;
            self.epoch_since = now;
            expected = 0;
        }
        self.epoch_acked += acked;
        let extra = (self.epoch_acked - expected.min(self.epoch_acked)).min(self.cwnd);
        self.extra[self.extra_slot] = self.extra[self.extra_slot].max(extra);
    }

    fn start_probing(&mut self, now: u64) {
        self.mode = Mode::ProbeBandwidth;
        self.window_gain = 2.0;
        self.phase = CYCLE.len() - 1 - self.random.below(FIRST_PHASES) as usize;
        self.next_phase(now);
    }

    fn next_phase(&mut self, now: u64) {
        self.phase_since = now;
        self.phase = (self.phase + 1) % CYCLE.len();
        self.pacing_gain = CYCLE[self.phase];
    }

    fn phase_is_over(&self, sample: &Sample, now: u64) -> bool {
        let full_length = now - self.phase_since > self.min_rtt;
        let prior = sample.prior_in_flight * self.mss;
        match self.phase {
            0 => full_length && (sample.losses > 0 || prior >= self.in_flight(self.pacing_gain)),
            1 => full_length || prior <= self.in_flight(1.0),
            _ => full_length,
        }
    }

    fn check_full(&mut self, sample: &Sample) {
        if self.full || !self.round_start || sample.app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth as f64 >= self.full_bandwidth as f64 * FULL_GROWTH {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    fn update_min_rtt(&mut self, ack: &Ack, in_flight: u32, sampler: &mut Sampler) {
        let expired = ack.now > self.min_rtt_since + self.config.probe_rtt_interval.0;
        if ack.rtt > 0 && (ack.rtt <= self.min_rtt || expired) {
            self.min_rtt = ack.rtt;
            self.min_rtt_since = ack.now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            (self.pacing_gain, self.window_gain) = (1.0, 1.0);
            self.prior_window = self.prior_window.max(self.cwnd);
            self.probe_rtt_until = 0;
        }
        if self.mode == Mode::ProbeRtt {
            // Rates measured now are not the network's.
            sampler.mark_app_limited(in_flight);
            if self.probe_rtt_until == 0 {
                if in_flight <= MIN_SEGMENTS {
                    self.probe_rtt_until = ack.now + self.config.probe_rtt_time.0;
                    self.probe_rtt_round_done = false;
                    self.next_round = sampler.delivered();
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                self.leave_probe_rtt(ack.now);
            }
        }
        self.idle_restart = false;
    }

    fn leave_probe_rtt(&mut self, now: u64) {
        if !self.probe_rtt_round_done || now <= self.probe_rtt_until {
            return;
        }
        self.min_rtt_since = now;
        self.cwnd = self.cwnd.max(self.prior_window);
        if self.full {
            self.start_probing(now);
        } else {
            self.mode = Mode::Startup;
            (self.pacing_gain, self.window_gain) = (HIGH_GAIN, HIGH_GAIN);
        }
    }

    fn set_pacing_rate(&mut self, gain: f64, smoothed: u64) {
        let rate = ((gain * self.bandwidth.get() as f64) as u64 as f64 * MARGIN) as u64;
        if !self.seen_rtt && smoothed > 0 {
            self.seen_rtt = true;
            self.start_pacing(smoothed);
        }
        // Until the pipe is full the rate only rises.
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_window(&mut self, sample: &Sample, acked: u32, in_flight: u32, delivered: u32) {
        let least = MIN_SEGMENTS * self.mss;
        if acked > 0 {
            if self.previous == State::Recovery && sample.losses > 0 {
                self.cwnd = self.cwnd.saturating_sub(sample.losses * self.mss).max(self.mss);
            }
            if self.previous == State::Recovery && self.conserving {
                self.cwnd = self.cwnd.max(in_flight.wrapping_add(acked));
            } else {
                let extra = if self.full {
                    self.extra[0].max(self.extra[1]).min((self.bandwidth.get() / 80) as u32)
                } else {
                    0
                };
                // Sums of ns-3's 32-bit numbers overflow.
                let target = self.in_flight(self.window_gain).wrapping_add(extra);
                if self.full {
                    self.cwnd = self.cwnd.wrapping_add(acked).min(target);
                } else if self.cwnd < target || delivered < self.initial_window {
                    self.cwnd = self.cwnd.wrapping_add(acked);
                }
                self.cwnd = self.cwnd.max(least);
            }
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(least);
        }
    }

    fn save_window(&mut self) {
        let keep = self.previous == State::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_window = if keep { self.prior_window.max(self.cwnd) } else { self.cwnd };
    }
}

impl Controller for Ns3Bbr {
    /// Starts the model at `now`, when the connection opens. The handshake took `rtt` ps (0:
    /// unknown).
    fn on_established(&mut self, _: &Window, now: u64, rtt: u64) {
        self.min_rtt_since = now;
        self.epoch_since = now;
        if rtt > 0 {
            self.min_rtt = rtt;
            self.seen_rtt = true;
            self.start_pacing(rtt);
        }
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// Returns the pacing rate in bit/s of payload.
    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate.max(1))
    }

    /// Handles every acknowledgement after losses were marked and the sender's state changed.
    fn on_sample(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        let (acked, in_flight, delivered) =
            (sample.acked_sacked * self.mss, sample.in_flight * self.mss, sampler.delivered());
        if ack.state == State::Recovery && self.previous != State::Recovery {
            self.save_window();
            // The first retransmission is in flight by now, but was not yet in ns-3.
            self.cwnd = in_flight.saturating_sub(self.mss).wrapping_add(acked.max(self.mss));
            self.prior_window = self.prior_window.max(self.cwnd);
            self.conserving = true;
        } else if self.previous == State::Recovery && ack.state == State::Open {
            self.conserving = false;
            self.cwnd = self.ssthresh;
        }
        self.previous = ack.state;
        self.update_bandwidth(sample, delivered);
        self.update_extra(sample, acked, ack.now);
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(sample, ack.now) {
            self.next_phase(ack.now);
        }
        self.check_full(sample);
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            (self.pacing_gain, self.window_gain) = (1.0 / HIGH_GAIN, HIGH_GAIN);
            self.ssthresh = self.in_flight(1.0);
            window.ssthresh = self.ssthresh / self.mss;
        }
        if self.mode == Mode::Drain && in_flight <= self.in_flight(1.0) {
            self.start_probing(ack.now);
        }
        self.update_min_rtt(ack, sample.in_flight, sampler);
        self.set_pacing_rate(self.pacing_gain, ack.smoothed);
        self.set_window(sample, acked, in_flight, delivered);
        window.cwnd = (self.cwnd / self.mss).min(window.limit);
    }

    fn on_state(&mut self, state: State, _: &mut Window, _: u64) {
        if state == State::Loss {
            self.save_window();
            self.previous = State::Loss;
            self.round_start = true;
            self.cwnd = self.mss;
        }
    }

    /// Handles a spurious loss: returns the window to continue with.
    fn on_undo(&mut self, _: &Window, _: &Sampler) -> Option<u32> {
        self.previous = State::Open;
        self.conserving = false;
        self.cwnd = self.cwnd.max(self.prior_window);
        Some(self.cwnd / self.mss)
    }

    /// Handles a restart of the sender with nothing in flight, after an application limit.
    fn on_restart(&mut self, now: u64, _: u64) {
        self.idle_restart = true;
        self.epoch_since = now;
        self.epoch_acked = 0;
        match self.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(1.0, 0),
            Mode::ProbeRtt => self.leave_probe_rtt(now),
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

    /// Returns the threshold unchanged. The window is saved when the state changes.
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        window.ssthresh
    }
}

impl BbrConfig {
    pub fn start<C: From<Box<Bbr>> + From<Box<Ns3Bbr>>>(
        &self,
        Opening { mss, initial_window, random }: Opening,
    ) -> C {
        match self.flavour {
            Flavour::Linux => Box::new(Bbr::new(self, mss, initial_window, random)).into(),
            Flavour::Ns3 => Box::new(Ns3Bbr::new(self, mss, initial_window, random)).into(),
        }
    }
}

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "bbr (ns-3)",
    source: "ns-3 3.48 TcpBbr, TcpRateLinux and WindowedFilter",
    faithful: "every state with ns-3's gains, filters and window rules, its samples of the delivery rate, and its rules at the end of a recovery and \
               after a time-out",
    simplified: "sizes are whole segments; times in picoseconds instead of nanoseconds; each flow draws its first phases from its own stream; in ns-3 all \
                 flows draw the same",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Flavour;
    use afflux_units::Span;

    fn window() -> Window {
        Window { cwnd: 10, credit: 0, ssthresh: u32::MAX, limit: u32::MAX }
    }

    fn bbr() -> Ns3Bbr {
        let config = BbrConfig {
            flavour: Flavour::Ns3,
            probe_rtt_interval: Span::from_s(10),
            probe_rtt_time: Span::from_ms(200),
            send_quantum: Some(1),
        };
        Ns3Bbr::new(&config, 1460, 10, Stream::new(1, 1, 1))
    }

    /// Ten segments per whole millisecond, times the gain and without the margin. The filter starts
    /// with the same rate, and drops it for any sample.
    #[test]
    fn the_start() {
        for (rtt, milliseconds) in
            [(100_000, 1), (MILLISECOND, 1), (2 * MILLISECOND - 1, 1), (300 * MILLISECOND + 5, 300)]
        {
            let mut bbr = bbr();
            bbr.on_established(&window(), 0, rtt);
            let rate = 10 * 1460 * 8000 / milliseconds;
            assert_eq!(bbr.bandwidth.get(), rate);
            assert_eq!(bbr.pacing_rate(), Some((2.89 * rate as f64) as u64));
            bbr.bandwidth.update(0, 7);
            assert_eq!(bbr.bandwidth.get(), 7);
        }
    }

    #[test]
    fn the_maximum_is_forgotten_after_the_window() {
        let mut filter = Filter::new(1);
        filter.update(0, 100);
        for now in 1..=10 {
            filter.update(now, 50 - now as u64);
            assert_eq!(filter.get(), 100);
        }
        filter.update(11, 30);
        // The second best sample is from the second quarter of the window.
        assert_eq!(filter.get(), 50 - 3);
        filter.update(12, 60);
        assert_eq!(filter.get(), 60);
    }

    /// One acknowledged segment at a time: epochs end before 4,096 bytes, so the window is larger
    /// by two segments.
    #[test]
    fn extra_acknowledgements() {
        let mut bbr = bbr();
        bbr.on_established(&window(), 0, MILLISECOND);
        let sample =
            Sample { delivered: 10, interval: MILLISECOND, acked_sacked: 1, ..Sample::default() };
        for now in 1..100 {
            bbr.update_extra(&sample, 1460, now * MILLISECOND);
        }
        assert_eq!(bbr.extra, [2 * 1460, 0]);
    }

    /// A recovery before the pipe is full leaves a window without limit. The first acknowledgement
    /// after the pipe is full overflows it.
    #[test]
    fn the_window_overflows() {
        let mut bbr = bbr();
        bbr.on_established(&window(), 0, MILLISECOND);
        let mut sampler = Sampler::as_ns3();
        for seq in 0..10 {
            sampler.on_send(seq, 0, 0, seq, seq);
            sampler.on_delivered(seq, 0);
        }
        let mut window = window();
        let sample = Sample { acked_sacked: 1, in_flight: 20, ..Sample::default() };
        let mut step = |bbr: &mut Ns3Bbr, state| {
            bbr.on_sample(
                &mut window,
                &Ack { now: 1, rtt: MILLISECOND, state, ..Ack::default() },
                &sample,
                &mut sampler,
            );
            window.cwnd
        };
        // The data in flight with the first retransmission, plus as much as has arrived.
        assert_eq!(step(&mut bbr, State::Recovery), 21);
        assert_eq!(step(&mut bbr, State::Open), u32::MAX / 1460);
        bbr.full = true;
        assert_eq!(step(&mut bbr, State::Open), 4);
    }
}
