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

use super::super::{Ack, Controller, Opening, Sample, Sampler, State, Window};
use super::arithmetic::{MILLISECOND, SECOND, UNIT};
use super::common::{Core, Cycle, Mode};
use super::filters::{Aggregation, Maximum};
use crate::Model;
use afflux_units::Span;

const HIGH_GAIN: f64 = 2.89;
/// The cycle begins with any phase but the second and the third.
const FIRST_PHASES: u64 = 6;
const BANDWIDTH_ROUNDS: u32 = 10;
const FULL_GROWTH: f64 = 1.25;
const MARGIN: f64 = 0.99;
const MIN_SEGMENTS: u32 = 4;
/// Segments by which the window exceeds the path's own need.
const QUANTA: u32 = 3;

/// Aggregation of acknowledgements in bytes. Its epochs end after 4 KiB.
type Extra = Aggregation<{ 1 << 12 }, { u32::MAX }>;

#[derive(Debug, Clone)]
pub struct Ns3Bbr {
    core: Core,
    /// Window and threshold in bytes.
    cwnd: u32,
    ssthresh: u32,
    rounds: u32,
    /// Estimated bandwidth in bit/s.
    bandwidth: Maximum<true>,
    cycle: Cycle,
    conserving: bool,
    extra: Extra,
}

impl Ns3Bbr {
    pub fn new(probe_rtt_interval: Span, probe_rtt_time: Span, opening: Opening) -> Self {
        let mut core = Core::new(probe_rtt_interval, probe_rtt_time, UNIT, opening);
        let cwnd = core.initial_window.saturating_mul(core.mss);
        core.prior_window = cwnd;
        let mut bbr = Ns3Bbr {
            core,
            cwnd,
            ssthresh: u32::MAX,
            rounds: 0,
            bandwidth: Maximum::default(),
            cycle: Cycle::default(),
            conserving: false,
            extra: Extra::default(),
        };
        bbr.start_pacing(0);
        bbr
    }

    /// Returns the gains of the pacing rate and of the window.
    fn gains(&self) -> (f64, f64) {
        match self.core.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (1.0 / HIGH_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth => (self.cycle.gain() as f64 / UNIT as f64, 2.0),
            Mode::ProbeRtt => (1.0, 1.0),
        }
    }

    fn start_pacing(&mut self, rtt: u64) {
        let milliseconds = (rtt / MILLISECOND).max(1);
        let rate = self.cwnd as u64 * 8000 / milliseconds;
        self.core.pacing_rate = (self.gains().0 * rate as f64) as u64;
        self.bandwidth = Maximum::new(rate);
    }

    /// Returns the bytes in flight at `gain`.
    fn in_flight(&self, gain: f64) -> u32 {
        let Core { mss, initial_window, min_rtt, mode, .. } = self.core;
        if min_rtt.value == u64::MAX {
            return initial_window.saturating_mul(mss);
        }
        let product = self.bandwidth.get() as f64 * (min_rtt.value as f64 / SECOND as f64) / 8.0;
        let probing = mode == Mode::ProbeBandwidth && self.cycle.phase == 0;
        let room = QUANTA + if probing { 2 } else { 0 };
        (gain * product + (room * mss) as f64) as u32
    }

    fn update_bandwidth(&mut self, sample: &Sample, delivered: u32) {
        if sample.interval == 0 {
            return;
        }
        self.core.update_round(sample, delivered);
        if self.core.round_start {
            self.rounds += 1;
            self.conserving = false;
        }
        let rate = (sample.delivered as f64 * self.core.mss as f64 * 8.0
            / (sample.interval as f64 / SECOND as f64)) as u64;
        if rate >= self.bandwidth.get() || !sample.app_limited {
            self.bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, rate);
        }
    }

    fn update_extra(&mut self, sample: &Sample, acked: u32, now: u64) {
        if acked > 0 && sample.delivered > 0 {
            let bandwidth = self.bandwidth.get();
            let expected = |time| (bandwidth * (time / SECOND) / 8) as u32 as u64;
            let round = (self.core.round_start, Extra::ROUNDS);
            self.extra.update(acked, round, now, self.cwnd, expected);
        }
    }

    fn start_probing(&mut self, now: u64) {
        self.core.mode = Mode::ProbeBandwidth;
        self.cycle.start(&mut self.core.random, FIRST_PHASES, now);
    }

    fn phase_is_over(&self, sample: &Sample, now: u64) -> bool {
        let full_length = now - self.cycle.since > self.core.min_rtt.value;
        let prior = sample.prior_in_flight * self.core.mss;
        match self.cycle.phase {
            0 => full_length && (sample.losses > 0 || prior >= self.in_flight(self.gains().0)),
            1 => full_length || prior <= self.in_flight(1.0),
            _ => full_length,
        }
    }

    fn check_full(&mut self, sample: &Sample) {
        let full = &mut self.core.full;
        if !full.reached && self.core.round_start && !sample.app_limited {
            let bandwidth = self.bandwidth.get();
            let grows = bandwidth as f64 >= full.bandwidth as f64 * FULL_GROWTH;
            full.update(bandwidth, grows, true);
        }
    }

    fn update_min_rtt(&mut self, ack: &Ack, in_flight: u32, sampler: &mut Sampler) {
        let core = &mut self.core;
        let expired = core.min_rtt.update(ack, core.probe_rtt_interval, true);
        if core.enter_probe_rtt(expired) {
            core.save_window(self.cwnd, true);
        }
        if core.mode == Mode::ProbeRtt && core.in_probe_rtt(ack, in_flight, MIN_SEGMENTS, sampler) {
            self.leave_probe_rtt(ack.now);
        }
        self.core.idle_restart = false;
    }

    fn leave_probe_rtt(&mut self, now: u64) {
        self.core.min_rtt.since = now;
        self.cwnd = self.cwnd.max(self.core.prior_window);
        if self.core.full.reached {
            self.start_probing(now);
        } else {
            self.core.mode = Mode::Startup;
        }
    }

    fn set_pacing_rate(&mut self, gain: f64, smoothed: u64) {
        let rate = ((gain * self.bandwidth.get() as f64) as u64 as f64 * MARGIN) as u64;
        if !self.core.seen_rtt && smoothed > 0 {
            self.core.seen_rtt = true;
            self.start_pacing(smoothed);
        }
        self.core.set_pacing_rate(rate);
    }

    fn set_window(&mut self, sample: &Sample, acked: u32, in_flight: u32, delivered: u32) {
        let Core { mss, initial_window, mode, previous, .. } = self.core;
        let least = MIN_SEGMENTS * mss;
        if acked > 0 {
            if previous == State::Recovery && sample.losses > 0 {
                self.cwnd = self.cwnd.saturating_sub(sample.losses * mss).max(mss);
            }
            if previous == State::Recovery && self.conserving {
                self.cwnd = self.cwnd.max(in_flight.wrapping_add(acked));
            } else {
                let full = self.core.full.reached;
                let most = (self.bandwidth.get() / 80) as u32;
                let extra = if full { self.extra.most().min(most) } else { 0 };
                // Sums of ns-3's 32-bit numbers overflow.
                let target = self.in_flight(self.gains().1).wrapping_add(extra);
                if full {
                    self.cwnd = self.cwnd.wrapping_add(acked).min(target);
                } else if self.cwnd < target || delivered < initial_window {
                    self.cwnd = self.cwnd.wrapping_add(acked);
                }
                self.cwnd = self.cwnd.max(least);
            }
        }
        if mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(least);
        }
    }

    fn save_window(&mut self) {
        self.core.save_window(self.cwnd, self.core.previous == State::Recovery);
    }
}

impl Controller for Ns3Bbr {
    /// Starts the model at `now`, when the connection opens. The handshake took `rtt` ps (0:
    /// unknown).
    fn on_established(&mut self, _: &Window, now: u64, rtt: u64) {
        self.core.min_rtt.since = now;
        self.extra.restart(now);
        if rtt > 0 {
            self.core.min_rtt.value = rtt;
            self.core.seen_rtt = true;
            self.start_pacing(rtt);
        }
    }

    fn owns_window(&self) -> bool {
        true
    }

    /// Returns the pacing rate in bit/s of payload.
    fn pacing_rate(&self) -> Option<u64> {
        Some(self.core.pacing_rate.max(1))
    }

    /// Handles every acknowledgement after losses were marked and the sender's state changed.
    fn on_sample(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        sample: &Sample,
        sampler: &mut Sampler,
    ) {
        let mss = self.core.mss;
        let (acked, in_flight) = (sample.acked_sacked * mss, sample.in_flight * mss);
        let delivered = sampler.delivered();
        if ack.state == State::Recovery && self.core.previous != State::Recovery {
            self.save_window();
            // The first retransmission is in flight by now, but was not yet in ns-3.
            self.cwnd = in_flight.saturating_sub(mss).wrapping_add(acked.max(mss));
            self.core.prior_window = self.core.prior_window.max(self.cwnd);
            self.conserving = true;
        } else if self.core.previous == State::Recovery && ack.state == State::Open {
            self.conserving = false;
            self.cwnd = self.ssthresh;
        }
        self.core.previous = ack.state;
        self.update_bandwidth(sample, delivered);
        self.update_extra(sample, acked, ack.now);
        if self.core.mode == Mode::ProbeBandwidth && self.phase_is_over(sample, ack.now) {
            self.cycle.next(ack.now);
        }
        self.check_full(sample);
        if self.core.mode == Mode::Startup && self.core.full.reached {
            self.core.mode = Mode::Drain;
            self.ssthresh = self.in_flight(1.0);
            window.ssthresh = self.ssthresh / mss;
        }
        if self.core.mode == Mode::Drain && in_flight <= self.in_flight(1.0) {
            self.start_probing(ack.now);
        }
        self.update_min_rtt(ack, sample.in_flight, sampler);
        self.set_pacing_rate(self.gains().0, ack.smoothed);
        self.set_window(sample, acked, in_flight, delivered);
        window.cwnd = (self.cwnd / mss).min(window.limit);
    }

    fn on_state(&mut self, state: State, _: &mut Window, _: u64) {
        if state == State::Loss {
            self.save_window();
            self.core.previous = State::Loss;
            self.core.round_start = true;
            self.cwnd = self.core.mss;
        }
    }

    /// Handles a spurious loss: returns the window to continue with.
    fn on_undo(&mut self, _: &Window, _: &Sampler) -> Option<u32> {
        self.core.previous = State::Open;
        self.conserving = false;
        self.cwnd = self.cwnd.max(self.core.prior_window);
        Some(self.cwnd / self.core.mss)
    }

    /// Handles a restart of the sender with nothing in flight, after an application limit.
    fn on_restart(&mut self, now: u64, _: u64) {
        self.core.idle_restart = true;
        self.extra.restart(now);
        match self.core.mode {
            Mode::ProbeBandwidth => self.set_pacing_rate(1.0, 0),
            Mode::ProbeRtt if self.core.probe_rtt_is_over(now) => self.leave_probe_rtt(now),
            _ => {}
        }
    }

    #[cfg(test)]
    fn details(&self) -> String {
        self.core.details(self.cycle.phase)
    }

    /// Returns the threshold unchanged. The window is saved when the state changes.
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        window.ssthresh
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
    use afflux_engine::random::Stream;

    fn window() -> Window {
        Window { cwnd: 10, credit: 0, ssthresh: u32::MAX, limit: u32::MAX }
    }

    fn bbr() -> Ns3Bbr {
        let opening = Opening { mss: 1460, initial_window: 10, random: Stream::new(1, 1, 1) };
        Ns3Bbr::new(Span::from_s(10), Span::from_ms(200), opening)
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
            bbr.bandwidth.update(10, 0, 7);
            assert_eq!(bbr.bandwidth.get(), 7);
        }
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
        assert_eq!(bbr.extra.extra(), [2 * 1460, 0]);
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
        bbr.core.full.reached = true;
        assert_eq!(step(&mut bbr, State::Open), 4);
    }
}
