//! Exit from slow start before it overshoots: HyStart as in Linux's and ns-3's CUBIC, and HyStart++
//! (RFC 9406) for any congestion control.

use super::{Ack, Controller, SlowStartExit, State, Window};
use crate::Model;

/// Window in segments below which HyStart is inactive (Linux and ns-3).
const LOW_WINDOW: u32 = 16;
const SAMPLES: u32 = 8;
const US: u64 = 1_000_000;
const MS: u64 = 1_000 * US;
/// Acknowledgements at most this far apart form a train.
const ACK_DELTA: u64 = 2 * MS;
/// Bytes of the largest burst of Linux's segmentation offload (65,536 minus space for headers).
const LARGEST_BURST: u64 = 65_215;

/// Implementation whose rules are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Linux with the rounds of 6.12.14 and later. For paced senders, the train is compared with
    /// the whole round trip.
    Linux {
        mss: u16,
        paced: bool,
    },
    Ns3,
}

/// Returns the window at which the train of acknowledgements ends slow start. `whole`: the train is
/// compared with the whole round trip, not half of it.
pub fn train(whole: bool) -> SlowStartExit {
    let part = if whole { 1.0 } else { 0.5 };
    // The round in which the train becomes that long begins with a window of one to two such
    // trains, 1.5 on average. Each of its acknowledgements adds a segment.
    let times = 2.5 * part;
    // Allowance for four bursts at twice the rate: see `cushion`.
    SlowStartExit { times, burst: 4.0 * LARGEST_BURST as f64 / 2.0, grows: 0.0 }
}

/// HyStart (Ha and Rhee) with both detectors.
#[derive(Debug, Clone, Copy)]
pub struct HyStart {
    rules: Rules,
    found: bool,
    /// True if a round has begun and its end is not known yet.
    fresh: bool,
    round_start: u64,
    last_ack: u64,
    end: u32,
    lowest: u64,
    samples: u32,
    /// Eight times the smoothed round trip in us, as Linux keeps it.
    smoothed: u64,
}

impl HyStart {
    pub fn new(rules: Rules) -> Self {
        HyStart {
            rules,
            found: false,
            fresh: false,
            round_start: 0,
            last_ack: 0,
            end: 0,
            lowest: u64::MAX,
            samples: 0,
            smoothed: 0,
        }
    }

    /// Resets both detectors after a time-out.
    pub fn restart(&mut self, now: u64) {
        *self = HyStart {
            fresh: true,
            round_start: now,
            last_ack: now,
            smoothed: self.smoothed,
            ..HyStart::new(self.rules)
        };
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.round_start = ack.now;
        self.last_ack = ack.now;
        self.end = ack.next;
        self.lowest = u64::MAX;
        self.samples = 0;
    }

    /// Handles an acknowledgement before the window grows. `delay` and `least`, the least delay so
    /// far, are in ps. `delay` 0: there is no sample.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Ack, delay: u64, least: u64) {
        if std::mem::take(&mut self.fresh) {
            // No new segment has been sent since the time-out.
            self.end = ack.next;
        }
        if delay > 0 && !self.found {
            match self.rules {
                Rules::Linux { mss, paced } if window.slow_start() => {
                    self.linux(window, ack, delay, least, mss, paced)
                }
                Rules::Ns3 if window.cwnd <= window.ssthresh => {
                    self.ns3(window, ack.now, delay, least)
                }
                _ => {}
            }
        }
        if let (Rules::Linux { .. }, 1..) = (self.rules, ack.rtt) {
            let sample = ack.rtt / US;
            self.smoothed = if self.smoothed == 0 {
                sample << 3
            } else {
                self.smoothed + sample - (self.smoothed >> 3)
            };
        }
    }

    /// Starts a new round in ns-3's rules. ns-3 checks for the end of a round when the window is
    /// about to grow in slow start, after its check for the end of slow start.
    pub fn before_growth(&mut self, ack: &Ack) {
        if self.rules == Rules::Ns3 && ack.una > self.end {
            self.begin_round(ack);
        }
    }

    fn linux(
        &mut self,
        window: &mut Window,
        ack: &Ack,
        delay: u64,
        least: u64,
        mss: u16,
        paced: bool,
    ) {
        if ack.una > self.end {
            self.begin_round(ack);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        // Linux counts in microseconds.
        let (now, delay, least) = (ack.now / US, delay / US, least / US);
        if now - self.last_ack / US <= ACK_DELTA / US {
            self.last_ack = ack.now;
            let threshold = least + self.cushion(window, mss);
            // Pacing spreads a round's segments over up to half of the round trip.
            let threshold = if paced { threshold } else { threshold / 2 };
            self.found |= now - self.round_start / US > threshold;
        }
        self.lowest = self.lowest.min(delay);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            self.found |= self.lowest > least + (least >> 3).clamp(4_000, 16_000);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }

    /// Returns the time in us that four of the largest bursts take at the pacing rate, at most 1
    /// ms. Linux computes this rate even if it does not pace.
    fn cushion(&self, window: &Window, mss: u16) -> u64 {
        let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
        let rate =
            u64::from(mss) * 80_000 * percent * u64::from(window.cwnd) / self.smoothed.max(1);
        (LARGEST_BURST * 4 * 1_000_000).checked_div(rate).map_or(0, |delay| delay.min(1_000))
    }

    fn ns3(&mut self, window: &mut Window, now: u64, delay: u64, least: u64) {
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if now - self.last_ack <= ACK_DELTA {
            self.last_ack = now;
            self.found |= now - self.round_start > least;
        }
        if self.samples < SAMPLES {
            self.lowest = self.lowest.min(delay);
            self.samples += 1;
        } else {
            self.found |= self.lowest > least + least.clamp(4 * MS, 1_000 * MS);
        }
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }
}

const MIN_THRESHOLD: u64 = 4 * MS;
const MAX_THRESHOLD: u64 = 16 * MS;
const DIVISOR: u64 = 8;
const CSS_GROWTH_DIVISOR: u32 = 4;
const CSS_ROUNDS: u32 = 5;
/// Most segments by which an acknowledgement may grow the window of an unpaced sender (L).
const LARGEST_STEP: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    SlowStart,
    /// Conservative slow start: rounds so far, and the delay in ps below which it was spurious.
    Conservative {
        rounds: u32,
        baseline: u64,
    },
    Done,
}

/// HyStart++ (RFC 9406) for the first slow start of any congestion control.
#[derive(Debug, Clone)]
pub struct PlusPlus<C> {
    pub control: C,
    phase: Phase,
    end: u32,
    started: bool,
    last_round: u64,
    this_round: u64,
    samples: u32,
    /// Segments that count towards the next increase in conservative slow start.
    credit: u32,
}

impl<C> PlusPlus<C> {
    pub fn new(control: C) -> Self {
        PlusPlus {
            control,
            phase: Phase::SlowStart,
            end: 0,
            started: false,
            last_round: u64::MAX,
            this_round: u64::MAX,
            samples: 0,
            credit: 0,
        }
    }

    /// Ends HyStart++ for the rest of the connection, after a loss or an ECN echo.
    pub fn stop(&mut self) {
        self.phase = Phase::Done;
    }

    fn judge(&mut self) {
        if self.samples < SAMPLES {
            return;
        }
        match self.phase {
            Phase::SlowStart if self.last_round != u64::MAX => {
                let threshold = (self.last_round / DIVISOR).clamp(MIN_THRESHOLD, MAX_THRESHOLD);
                if self.this_round >= self.last_round + threshold {
                    self.credit = 0;
                    self.phase = Phase::Conservative { rounds: 0, baseline: self.this_round };
                }
            }
            Phase::Conservative { baseline, .. } if self.this_round < baseline => {
                self.phase = Phase::SlowStart
            }
            _ => {}
        }
    }
}

impl<C: Controller> Controller for PlusPlus<C> {
    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if self.phase == Phase::Done || !window.slow_start() {
            self.stop();
            return self.control.on_ack(window, ack);
        }
        // The congestion control sees all acknowledgements, but the window is grown here.
        self.control.on_ack(window, &Ack { may_grow: false, open: false, ..*ack });
        if ack.may_grow || ack.open {
            let mut step = ack.acked.min(LARGEST_STEP);
            if matches!(self.phase, Phase::Conservative { .. }) {
                self.credit += step;
                step = self.credit / CSS_GROWTH_DIVISOR;
                self.credit %= CSS_GROWTH_DIVISOR;
            }
            window.cwnd = window.cwnd.saturating_add(step).min(window.ssthresh).min(window.limit);
        }
        if ack.rtt > 0 {
            self.this_round = self.this_round.min(ack.rtt);
            self.samples += 1;
            self.judge();
        }
        if !self.started {
            self.started = true;
            self.end = ack.next;
        }
        if ack.una >= self.end {
            self.end = ack.next;
            self.last_round = self.this_round;
            self.this_round = u64::MAX;
            self.samples = 0;
            if let Phase::Conservative { rounds, .. } = &mut self.phase {
                // The round in which conservative slow start began counts.
                *rounds += 1;
                if *rounds == CSS_ROUNDS {
                    window.ssthresh = window.cwnd;
                    self.stop();
                }
            }
        }
    }

    fn on_state(&mut self, state: State, window: &mut Window, now: u64) {
        if state != State::Open {
            self.stop();
        }
        self.control.on_state(state, window, now);
    }

    #[cfg(test)]
    fn details(&self) -> String {
        let phase: String = match self.phase {
            Phase::SlowStart => " slow start".into(),
            Phase::Conservative { rounds, .. } => format!(" conservative {rounds}"),
            Phase::Done => String::new(),
        };
        phase + &self.control.details()
    }

    fn on_ecn(&mut self, window: &Window, now: u64) -> u32 {
        self.stop();
        self.control.on_ecn(window, now)
    }

    fn on_loss_after_echo(&mut self, window: &Window) -> Option<u32> {
        self.control.on_loss_after_echo(window)
    }

    fn on_loss(&mut self, window: &Window, now: u64) -> u32 {
        self.stop();
        self.control.on_loss(window, now)
    }

    fn on_timeout(&mut self, window: &Window, now: u64) -> u32 {
        self.stop();
        self.control.on_timeout(window, now)
    }

    fn on_flight(&mut self, flight: u32) {
        self.control.on_flight(flight);
    }

    fn on_window_set(&mut self) {
        self.control.on_window_set();
    }

    fn on_flow(&mut self, to: u32, deadline: Option<u64>) {
        self.control.on_flow(to, deadline);
    }

    fn on_progress(&mut self, una: u32, round_trip: u64) {
        self.control.on_progress(una, round_trip);
    }

    fn on_restart(&mut self, now: u64, idle: u64) {
        self.control.on_restart(now, idle);
    }
}

pub const MODEL: Model = Model {
    kind: "slow start",
    name: "hystart",
    source: "Ha and Rhee, HyStart, as in Linux 6.12 tcp_cubic.c and in ns-3 tcp-cubic.cc (3.48); HyStart++: RFC 9406",
    faithful: "Linux: rounds by sequence, both detectors in whole microseconds, window of 16, 8 samples, trains of 2 ms against half of the least delay \
               plus the cushion for offload bursts, delay against an eighth within 4 to 16 ms; ns-3: smoothed samples, no division of either threshold, \
               ceiling 1 s; HyStart++: thresholds, conservative slow start for 5 rounds at a quarter, return when spurious, first slow start only",
    simplified: "the cushion's smoothed round trip takes the newest segment's sample; HyStart++ treats every sender as unpaced (8 segments per \
                 acknowledgement)",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::NewReno;

    /// Simulates rounds of `cwnd` acknowledgements `gap` apart. Round trips are `base`, plus `gap`
    /// for every segment above `pipe`. Returns the window at the exit, and the windows at which
    /// rounds began.
    fn drive(
        mut on_ack: impl FnMut(&mut Window, &Ack),
        base: u64,
        gap: u64,
        pipe: u32,
        rounds: u32,
    ) -> (Window, Vec<u32>) {
        let mut window = Window { cwnd: 10, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
        let (mut una, mut next, mut now) = (0u32, 10u32, base);
        let mut starts = Vec::new();
        for _ in 0..rounds {
            starts.push(window.cwnd);
            let flight = next - una;
            // A queue delays the acknowledgements of the round.
            let start = now;
            for index in 0..flight {
                let queue = (flight.saturating_sub(pipe)).min(index) as u64 * gap;
                let at = start + index as u64 * gap;
                una += 1;
                on_ack(
                    &mut window,
                    &Ack {
                        now: at,
                        rtt: base + queue,
                        acked: 1,
                        delivered: 1,
                        una,
                        next,
                        may_grow: true,
                        ..Ack::default()
                    },
                );
                next = (una + window.cwnd).max(next);
            }
            now = (start + base).max(start + flight as u64 * gap);
        }
        (window, starts)
    }

    fn linux(hystart: &mut HyStart, least: &mut u64, window: &mut Window, ack: &Ack) {
        *least = (*least).min(ack.rtt);
        hystart.on_ack(window, ack, ack.rtt, *least);
        window.reno_increase(ack.acked);
    }

    /// A congestion control that grows in slow start whatever limits the sender (ns-3's) does not
    /// grow in addition to HyStart++.
    #[test]
    fn an_acknowledgement_grows_the_window_once() {
        let mut window = Window { cwnd: 10, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
        let ack = Ack { acked: 2, delivered: 2, una: 2, next: 12, open: true, ..Ack::default() };
        PlusPlus::new(NewReno).on_ack(&mut window, &ack);
        assert_eq!(window.cwnd, 12);
    }

    const RULES: Rules = Rules::Linux { mss: 1448, paced: false };

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // A round trip of 100 ms and a segment every 0.5 ms: 200 segments fill the pipe. The train
        // exceeds 50 ms (plus half a cushion) with the 102nd acknowledgement of the first round
        // with so many, which is the one of 160. Each acknowledgement grows the window by one.
        let (mut hystart, mut least) = (HyStart::new(RULES), u64::MAX);
        let (window, starts) =
            drive(|w, a| linux(&mut hystart, &mut least, w, a), 100 * MS, MS / 2, 200, 6);
        assert_eq!(starts, [10, 20, 40, 80, 160, window.ssthresh]);
        assert_eq!(window.ssthresh, 160 + 102);
        // With pacing, the whole round trip counts: 100.5 ms or more are reached after 203
        // acknowledgements.
        let (mut hystart, mut least) =
            (HyStart::new(Rules::Linux { mss: 1448, paced: true }), u64::MAX);
        let (window, _) =
            drive(|w, a| linux(&mut hystart, &mut least, w, a), 100 * MS, MS / 2, 10_000, 6);
        assert_eq!(window.ssthresh, 320 + 203);
    }

    #[test]
    fn longer_delays_end_slow_start() {
        // Acknowledgements 3 ms apart are no train. With 40 ms the threshold is 5 ms above. The
        // least delay of at least nine samples of a round counts.
        let mut hystart = HyStart::new(RULES);
        let mut window = Window { cwnd: 20, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
        let mut ack = Ack { acked: 1, delivered: 1, una: 0, next: 20, ..Ack::default() };
        for (round, excess) in [(0u32, 0), (1, 5_000), (2, 5_001)] {
            for index in 0..20 {
                ack = Ack {
                    now: ack.now + 3 * MS,
                    rtt: 40 * MS + excess * US,
                    una: ack.una + 1,
                    next: (round + 1) * 20,
                    ..ack
                };
                hystart.on_ack(&mut window, &ack, ack.rtt, 40 * MS);
                // The first acknowledgement of a round ends the previous one. It and the next seven
                // are the samples, the ninth decides.
                assert_eq!(
                    window.ssthresh == 20,
                    round == 2 && index >= 8,
                    "round {round}, acknowledgement {index}"
                );
            }
            ack.next += 20;
        }
    }

    /// spec/transports.md §1.5: the floor of 4 ms is above every delay in a data centre. Trains,
    /// however, would end slow start at half of the pipe; in Linux the cushion prevents that.
    #[test]
    fn with_a_data_centre_round_trip() {
        // 100 us at 10 Gbps: 1.2 us each, a pipe of 83 segments, and a queue of up to 1.4 ms.
        let (base, gap, pipe) = (100 * US, 12 * US / 10, 83);
        let mut plus = PlusPlus::new(NewReno);
        let (window, starts) = drive(|w, a| plus.on_ack(w, a), base, gap, pipe, 8);
        assert_eq!(starts, [10, 20, 40, 80, 160, 320, 640, 1280]);
        assert_eq!(window.ssthresh, u32::MAX);
        // The 68th of a round of 80 arrives 80.4 us after the first. The cushion for 147 segments
        // is 260,860 B / (2 * 147 * 1448 B) of 100 us.
        let (mut hystart, mut least) = (HyStart::new(RULES), u64::MAX);
        let (window, starts) =
            drive(|w, a| linux(&mut hystart, &mut least, w, a), base, gap, pipe, 5);
        assert_eq!(starts, [10, 20, 40, 80, 148]);
        assert_eq!(window.ssthresh, 80 + 68);
    }

    #[test]
    fn ns3_wants_a_whole_round_trip() {
        let (mut hystart, mut least) = (HyStart::new(Rules::Ns3), u64::MAX);
        let step = |window: &mut Window, ack: &Ack| {
            least = least.min(ack.rtt);
            hystart.on_ack(window, ack, ack.rtt, least);
            if window.slow_start() {
                hystart.before_growth(ack);
            }
            window.reno_increase(ack.acked);
        };
        let (window, _) = drive(step, 100 * MS, MS / 2, 10_000, 6);
        // The train exceeds 100 ms at the 202nd acknowledgement of a round of 320.
        assert_eq!(window.ssthresh, 320 + 201);
    }

    /// Simulates rounds with the given round trips in ms under HyStart++. `seen` is called after
    /// each round with the window at its start.
    fn rounds(rtts: &[u64], mut seen: impl FnMut(u32, &PlusPlus<NewReno>)) -> Window {
        let mut plus = PlusPlus::new(NewReno);
        let mut window = Window { cwnd: 16, credit: 0, ssthresh: u32::MAX, limit: u32::MAX };
        let (mut una, mut next, mut end) = (0, 16, 16);
        for rtt in rtts {
            let start = window.cwnd;
            while window.slow_start() && (una == 0 || plus.end == end) {
                una += 1;
                plus.on_ack(
                    &mut window,
                    &Ack {
                        now: 1,
                        rtt: rtt * MS,
                        acked: 1,
                        delivered: 1,
                        una,
                        next,
                        may_grow: true,
                        ..Ack::default()
                    },
                );
                next = next.max(una + window.cwnd);
            }
            end = plus.end;
            seen(start, &plus);
        }
        window
    }

    /// After a round with a delay that is an eighth higher: growth by a quarter for five rounds,
    /// then the end of slow start.
    #[test]
    fn hystart_plus_plus_is_conservative_for_five_rounds() {
        let mut starts = Vec::new();
        let window = rounds(&[80, 80, 90, 90, 90, 90, 90, 90], |start, _| starts.push(start));
        // A round has as many segments as were outstanding at its start. The third grows by one
        // each until the eighth sample, then by a quarter.
        assert_eq!(starts[..3], [16, 32, 62]);
        assert!((62 + 8 + 50 / 4..=62 + 8 + 56 / 4).contains(&starts[3]), "{starts:?}");
        for pair in starts[3..7].windows(2) {
            let grown = f64::from(pair[1]) / f64::from(pair[0]);
            assert!((1.2..1.26).contains(&grown), "{starts:?}");
        }
        assert_eq!((window.ssthresh, window.cwnd), (starts[7], starts[7]), "{starts:?}");
    }

    #[test]
    fn hystart_plus_plus_returns_when_it_was_spurious() {
        let mut phases = Vec::new();
        let window = rounds(&[80, 80, 90, 80, 80], |_, plus| {
            phases.push(matches!(plus.phase, Phase::Conservative { .. }))
        });
        assert_eq!(phases, [false, false, true, false, false]);
        assert_eq!(window.ssthresh, u32::MAX);
        // The delay stays below the threshold of an eighth, and then below the floor of 4 ms.
        rounds(&[80, 80, 89, 89], |_, plus| assert_eq!(plus.phase, Phase::SlowStart));
        rounds(&[1, 1, 4, 4], |_, plus| assert_eq!(plus.phase, Phase::SlowStart));
        let mut plus = PlusPlus::new(NewReno);
        plus.on_state(
            State::Recovery,
            &mut Window { cwnd: 16, credit: 0, ssthresh: 8, limit: u32::MAX },
            1,
        );
        assert_eq!(plus.phase, Phase::Done);
    }
}
