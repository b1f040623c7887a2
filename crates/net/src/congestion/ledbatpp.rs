//! LEDBAT++, congestion control for background traffic: draft-irtf-iccrg-ledbat-plus-plus-01
//! ("draft" below), based on RFC 6817. The sender derives the queueing delay from round trip times
//! and aims for a queueing delay of `target`. It thus yields to senders that fill the queue
//! further.

use super::{
    About, Ack, Controller, Decrease, IncreaseRule, Opening, Parameters, Sender, SlowStart, State,
    Window,
};
use crate::Model;
use afflux_config::keys::{up_to_a_day, up_to_a_second};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, keys};
use afflux_units::Span;

keys! {
    /// Parameters of LEDBAT++.
    pub struct Keys as "Ledbatpp" => LedbatppConfig(_sender: &Sender) {
        /// Queueing delay that the sender aims for.
        target: Duration = "60ms" from "draft §4.5", check at_least_a_microsecond;
        /// Largest factor by which the window grows more slowly than NewReno's. It applies to paths
        /// whose base delay is below 2 `target` divided by this factor.
        slowest: u32 = 16 from "draft §4.2", in 1 to 1024;
        /// Steepness of the decrease above the target: a queueing delay of (1 + x) `target` takes
        /// this value times x of the window in a round trip, at most one half.
        constant: f64 = 1.0 from "draft §4.3", in 0.1 to 10.0;
        /// Number of intervals, including the current one, whose least round trip is the base
        /// delay.
        base_history: u32 = 10 from "RFC 6817 §2.5", in 1 to 10;
        /// Length of such an interval, at most a day.
        base_interval: Duration = "1min" from "RFC 6817 §2.4.2", check up_to_a_day;
        /// Time between two slowdowns, as a multiple of the duration of the earlier one.
        slowdown_interval: u32 = 9 from "draft §4.4", in 1 to 1000;
    }
}

fn at_least_a_microsecond(time: Duration, at: Key) -> Result<Span, Wrong> {
    let least = Span::from_us(1);
    if time.0 < least {
        Err(Wrong::at(at, format!("\"{}\": write a time from 1us to 1s", time.0)))
    } else {
        up_to_a_second(time, at)
    }
}

impl LedbatppConfig {
    pub fn start<C: From<Box<Ledbatpp>>>(&self, _: Opening) -> C {
        Box::new(Ledbatpp::new(self)).into()
    }
}

impl Parameters for LedbatppConfig {
    fn about(&self) -> About {
        ABOUT
    }
    /// Assumes the growth on short paths, because the base delay is not known here.
    fn window_response(&self, payload: f64) -> (Decrease, IncreaseRule) {
        (
            Decrease { part: 0.5, ..Decrease::default() },
            IncreaseRule::PerRoundTrip(payload / f64::from(self.slowest)),
        )
    }
}

/// RFC 6817 §2.5, MIN_CWND. Draft §4.1 and §4.4: the initial window, and the window in a slowdown.
/// In segments.
const LEAST_WINDOW: u32 = 2;
/// Draft §4.5: "filter the round trip measurements by using the minimum of the 4 most recent delay
/// samples".
const FILTER: usize = 4;
/// Largest value of `base_history`.
const HISTORY: usize = 10;
/// Draft §4.4: the window is "frozen at 2 packets for 2 RTT", for the first time 2 RTT after the
/// first slow start.
const ROUND_TRIPS: u64 = 2;
/// One segment in the fixed-point format of the window.
const ONE: i64 = 1 << 32;

/// Returns 1/`count` of a segment, rounded up so that `count` of them make a segment.
fn part_of_one(count: u64) -> i64 {
    (ONE as u64).div_ceil(count) as i64
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The first slow start.
    First,
    /// Congestion avoidance, and slow starts after time-outs and idle periods. The next slowdown is
    /// due at `due` (ps).
    Normal { due: u64 },
    /// A slowdown: the window stays at its least. `goal` is the window to return to.
    Frozen { from: u64, until: u64, goal: u32 },
    /// The slow start that ends a slowdown.
    Ramp { from: u64 },
}

/// State of one connection. Times are in ps.
#[derive(Debug, Clone)]
pub struct Ledbatpp {
    target: u64,
    slowest: u32,
    /// Target divided by `constant`.
    slope: u64,
    base_history: usize,
    base_interval: u64,
    slowdown_interval: u64,
    phase: Phase,
    /// Fraction by which the window exceeds whole segments, from 0 to below `ONE`.
    part: i64,
    /// Least round trips by interval, the newest first, and the number of the newest interval.
    bases: [u64; HISTORY],
    interval: u64,
    base: u64,
    /// Newest round trips in no particular order, and the place of the next one.
    recent: [u64; FILTER],
    next: usize,
    /// Least of these; 0 before the first.
    current: u64,
    /// Round trips in which the window grows by one segment: 1 / GAIN.
    slower: u32,
}

impl Ledbatpp {
    pub fn new(config: &LedbatppConfig) -> Self {
        let target = config.target.0;
        Ledbatpp {
            target,
            slowest: config.slowest,
            slope: ((target as f64 / config.constant) as u64).max(1),
            base_history: config.base_history as usize,
            base_interval: config.base_interval.0,
            slowdown_interval: u64::from(config.slowdown_interval),
            phase: Phase::First,
            part: 0,
            bases: [u64::MAX; HISTORY],
            interval: 0,
            base: u64::MAX,
            recent: [u64::MAX; FILTER],
            next: 0,
            current: 0,
            slower: config.slowest,
        }
    }

    /// Updates base and current delay as RFC 6817 §2.4.2 does (update_base_delay,
    /// update_current_delay), with round trips (draft §4.5) instead of one-way delays.
    fn measure(&mut self, now: u64, rtt: u64) {
        let interval = now / self.base_interval;
        if interval == self.interval {
            self.bases[0] = self.bases[0].min(rtt);
            self.base = self.base.min(rtt);
        } else {
            self.interval = interval;
            self.bases.copy_within(..self.base_history - 1, 1);
            self.bases[0] = rtt;
            self.base = self.bases[..self.base_history]
                .iter()
                .fold(u64::MAX, |least, &base| least.min(base));
        }
        // Draft §4.2: GAIN = 1 / min(16, ceil(2 * TARGET / base)).
        self.slower = (2 * self.target).div_ceil(self.base).min(u64::from(self.slowest)) as u32;
        self.recent[self.next] = rtt;
        self.next = (self.next + 1) % FILTER;
        self.current = self.recent.iter().fold(u64::MAX, |least, &recent| least.min(recent));
    }

    /// Returns the queueing delay in ps: the filtered delay minus the base delay (RFC 6817 §2.4.2).
    fn queueing(&self) -> u64 {
        self.current.saturating_sub(self.base)
    }

    /// Returns the phase after a slowdown or the first slow start that ends at `now`, with the time
    /// of the next slowdown.
    fn next_due(&self, now: u64) -> Phase {
        let pause = match self.phase {
            Phase::Ramp { from } => {
                // Draft §4.4: the next one begins after "9 times this duration", so that slowdowns
                // cost at most a tenth of the bandwidth.
                self.slowdown_interval.saturating_mul(now - from)
            }
            _ => ROUND_TRIPS * self.current,
        };
        Phase::Normal { due: now.saturating_add(pause) }
    }

    /// Changes the phase as far as `ack` allows.
    fn advance(&mut self, window: &mut Window, ack: &Ack) {
        let now = ack.now;
        if let Phase::Normal { due } = self.phase
            && due <= now
            && ack.state == State::Open
            && !window.slow_start()
        {
            // Draft §4.4: "set SSTHRESH to the current version of the congestion window CWND, and
            // then reduce CWND to 2 packets."
            let goal = window.cwnd.max(LEAST_WINDOW);
            window.ssthresh = goal;
            self.part = 0;
            self.phase = Phase::Frozen { from: now, until: now + ROUND_TRIPS * self.current, goal };
        }
        if let Phase::Frozen { from, until, goal } = self.phase {
            if now < until {
                window.cwnd = window.cwnd.min(LEAST_WINDOW);
            } else {
                // Draft §4.4: "ramp up the congestion window according to the slow start algorithm,
                // until the congestion window reaches SSTHRESH".
                window.ssthresh = goal;
                self.phase = Phase::Ramp { from };
            }
        }
        // Draft §4.1: "If the queuing delay is larger than 3/4ths of the target delay, exit slow
        // start and immediately move to the congestion avoidance phase", in the first slow start
        // only.
        if self.phase == Phase::First && 4 * self.queueing() > 3 * self.target {
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
        if matches!(self.phase, Phase::First | Phase::Ramp { .. }) && !window.slow_start() {
            self.phase = self.next_due(now);
        }
    }

    /// Returns the change of the window, in units of 1/`ONE` of a segment, per arriving segment in
    /// congestion avoidance (draft §4.3, here for one of the W segments of a round trip).
    fn change(&self, cwnd: u32) -> i64 {
        // W += GAIN.
        let gain = part_of_one(u64::from(self.slower) * u64::from(cwnd.max(1)));
        match self.queueing().checked_sub(self.target) {
            None | Some(0) => gain,
            Some(above) => {
                // W += max(GAIN - Constant * W * (delay / target - 1), -W / 2). The excess is
                // limited to `slope` before the shift. That is twice the lower bound, and so
                // enough.
                let share = (above.min(self.slope) << 16) / self.slope;
                (gain - ((share as i64) << 16)).max(-ONE / 2)
            }
        }
    }

    /// Changes the window by `change`, to at most `most` segments.
    fn shift(&mut self, window: &mut Window, change: i64, most: u32) {
        let part = self.part.saturating_add(change);
        let least = LEAST_WINDOW.min(window.cwnd);
        let cwnd = i64::from(window.cwnd) + part.div_euclid(ONE);
        let bounded = cwnd.clamp(i64::from(least), i64::from(most.max(least)));
        self.part = if bounded == cwnd { part.rem_euclid(ONE) } else { 0 };
        window.cwnd = bounded as u32;
    }
}

impl Controller for Ledbatpp {
    // Not inlined, so that the path of NewReno and DCTCP stays small.
    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.rtt > 0 {
            self.measure(ack.now, ack.rtt);
        }
        // During reductions the transport sets the window.
        if !matches!(ack.state, State::Open | State::Loss) {
            return;
        }
        self.advance(window, ack);
        if matches!(self.phase, Phase::Frozen { .. }) {
            return;
        }
        if window.slow_start() {
            if ack.may_grow {
                // Draft §4.1: the window grows by the arriving segments, "multiplied by the dynamic
                // GAIN value".
                let most = window.ssthresh.min(window.limit);
                self.shift(
                    window,
                    i64::from(ack.acked) * part_of_one(u64::from(self.slower)),
                    most,
                );
            }
            return;
        }
        let change = self.change(window.cwnd);
        if change > 0 {
            if ack.may_grow {
                self.shift(window, i64::from(ack.acked) * change, window.limit);
            }
        } else {
            self.shift(window, i64::from(ack.delivered) * change, window.limit);
            // The former window is no longer a goal for slow start.
            window.ssthresh = window.ssthresh.min(window.cwnd.max(LEAST_WINDOW));
        }
    }

    /// Returns half of the window, at least two segments, once per round trip (RFC 6817 §2.4.2).
    /// During a slowdown it also halves the window to return to, because the losses are due to the
    /// earlier window.
    fn on_loss(&mut self, window: &Window, now: u64) -> u32 {
        match &mut self.phase {
            Phase::Frozen { goal, .. } => *goal = (*goal / 2).max(LEAST_WINDOW),
            Phase::First | Phase::Ramp { .. } => self.phase = self.next_due(now),
            Phase::Normal { .. } => {}
        }
        window.half()
    }

    fn on_state(&mut self, state: State, _: &mut Window, _: u64) {
        if state != State::Open {
            self.part = 0;
        }
    }

    #[cfg(test)]
    fn details(&self) -> String {
        let phase = match self.phase {
            Phase::First => "first",
            Phase::Normal { .. } => "normal",
            Phase::Frozen { .. } => "frozen",
            Phase::Ramp { .. } => "ramp",
        };
        format!(" {phase} 1/{} {:.1}", self.slower, self.queueing() as f64 / 1e9)
    }
}

pub const ABOUT: About = About {
    slow_start: SlowStart::Own(
        "congestion = \"ledbatpp\" ends slow start by its own rule: remove it",
    ),
    initial_window: LEAST_WINDOW,
    ..About::of(MODEL)
};

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "ledbatpp",
    source: "draft-irtf-iccrg-ledbat-plus-plus-01; RFC 6817",
    faithful: "base delay by minute over ten minutes and the least of four samples, both of round trips; growth by GAIN; multiplicative decrease above \
               the target; slow start by GAIN with its exit at 3/4 of the target; first and periodic slowdowns; halving on loss and on an ECN echo once \
               per round trip",
    simplified: "the round trip of a slowdown is the filtered one; the transport decides whether the window limits the sender, instead of RFC 6817's \
                 bound by the bytes in flight; recovery sets the window during a slowdown too; spurious reductions are not undone; time-outs are the \
                 transport's",
};

#[cfg(test)]
mod tests;
