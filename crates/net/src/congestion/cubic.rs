//! CUBIC (RFC 9438), in the integer arithmetic of Linux 6.12 tcp_cubic.c or in that of ns-3's
//! tcp-cubic.cc.

use super::controller::{LINUX_TICK, divides_a_second};
use super::hystart::{self, Rules};
use super::{
    About, Ack, Controller, Decrease, Flavour, IncreaseRule, Opening, Parameters, PlusPlus, Sender,
    SlowStart, SlowStartExit, State, Window,
};
use crate::Model;
use afflux_config::keys::meaningless;
use afflux_config::{Duration, keys, words};

words! {
    /// How CUBIC leaves slow start.
    pub enum HyStart {
        /// At the first loss only.
        Off,
        /// As in Linux: by trains of acknowledgements and by longer delays.
        Linux,
        /// HyStart++ (RFC 9406).
        Plusplus,
        /// As in ns-3.
        Ns3,
    }
}

keys! {
    /// Parameters of CUBIC (RFC 9438).
    pub struct Keys as "Cubic" => CubicConfig(sender: &Sender) {
        /// Implementation whose arithmetic is used.
        flavour: Flavour = (sender.flavour) "the stack's, `\"linux\"` or `\"ns3\"`";
        /// Steepness of the curve, segments per second cubed.
        c: f64 = 0.4 from "RFC 9438; Linux", in 0.01 to 100.0;
        /// Fraction of the window that remains after a loss or an ECN echo.
        beta: f64 = 0.7 from "RFC 9438; Linux", in 0.1 to 0.99;
        /// Fast convergence: a flow whose window shrinks releases bandwidth to others.
        fast_convergence: bool = true;
        /// Reno-friendly region: CUBIC is never slower than standard TCP.
        tcp_friendly: bool = true;
        /// How CUBIC leaves slow start.
        hystart: HyStart = (if flavour == Flavour::Ns3 { HyStart::Ns3 } else { HyStart::Linux }) "as the flavour, `\"linux\"` or `\"ns3\"`";
        /// Tick of the kernel's clock, unless the flavour is `"ns3"`.
        tick: Duration = {(flavour == Flavour::Linux).then_some(Duration(LINUX_TICK))} "`\"4ms\"`" from "Linux with HZ = 250", check |tick, at| {
            if flavour == Flavour::Ns3 { Err(meaningless(at, "flavour = \"ns3\"")) } else { divides_a_second(tick, at) }
        };
    }
    plus {
        /// Payload of a full segment in bytes, and whether the sender paces. Linux's HyStart uses
        /// both to allow for bursts.
        mss: u16 = sender.mss;
        paced: bool = sender.paced;
    }
}

impl CubicConfig {
    pub fn start<C: From<Box<Cubic>> + From<Box<PlusPlus<C>>>>(&self, _: Opening) -> C {
        let cubic = Box::new(Cubic::new(self)).into();
        if self.hystart == HyStart::Plusplus {
            Box::new(PlusPlus::new(cubic)).into()
        } else {
            cubic
        }
    }
}

impl Parameters for CubicConfig {
    fn about(&self) -> About {
        ABOUT
    }
    fn window_response(&self, _: f64) -> (Decrease, IncreaseRule) {
        (
            Decrease { part: 1.0 - self.beta, ..Decrease::default() },
            IncreaseRule::Cubic { c: self.c, beta: self.beta },
        )
    }
    fn early(&self) -> Option<SlowStartExit> {
        let train = match self.hystart {
            HyStart::Off | HyStart::Plusplus => return None,
            HyStart::Linux => hystart::train(self.paced),
            HyStart::Ns3 => hystart::train(true),
        };
        Some(SlowStartExit { grows: 1.0 / f64::from(INITIAL_COUNT), ..train })
    }
}

const US: u64 = 1_000_000;
const SECOND: u64 = 1_000_000 * US;
/// Scale of the fixed-point values of C and beta in Linux.
const SCALE: u64 = 1024;
/// Time on the cubic curve is in units of 2^-10 s.
const TIME_SHIFT: u32 = 10;
/// Most segments acknowledged per increase before the first loss.
const INITIAL_COUNT: u32 = 20;

#[derive(Debug, Clone)]
pub struct Cubic {
    arithmetic: Arithmetic,
    hystart: Option<hystart::HyStart>,
    fast_convergence: bool,
    friendly: bool,
    /// Segments acknowledged per increase of one, and those that ns-3 has counted towards the next.
    count: u32,
    counted: u32,
    last_max: u32,
    origin: u32,
    /// Least delay in ps, in Linux's case in whole microseconds; 0 before the first sample.
    least_delay: u64,
    /// Smoothed round trip in ps, which ns-3 uses as samples.
    smoothed: u64,
    acked: u32,
    /// Estimated window of standard TCP.
    estimate: u32,
}

#[derive(Debug, Clone)]
enum Arithmetic {
    Linux(Linux),
    Ns3(Ns3),
}

#[derive(Debug, Clone)]
struct Linux {
    /// Tick of the kernel's clock in ps, and ticks per second.
    tick: u64,
    hz: u64,
    /// C in units of 1/1024 per 100 ms, beta in units of 1/1024, and 8 * (1 + beta) / (3 * (1 -
    /// beta)).
    c: u64,
    beta: u64,
    friendly_scale: u32,
    last_cwnd: u32,
    last_time: u64,
    /// Start of the epoch in ticks.
    epoch: Option<u64>,
    /// K in units of 2^-10 s.
    k: u64,
}

#[derive(Debug, Clone)]
struct Ns3 {
    c: f64,
    beta: f64,
    friendly_scale: u32,
    epoch: Option<u64>,
    /// K in seconds.
    k: f64,
}

impl Cubic {
    pub fn new(config: &CubicConfig) -> Self {
        let arithmetic = match config.flavour {
            Flavour::Linux => Arithmetic::Linux(Linux::new(config)),
            Flavour::Ns3 => Arithmetic::Ns3(Ns3::new(config)),
        };
        let rules = match config.hystart {
            HyStart::Off | HyStart::Plusplus => None,
            HyStart::Linux => Some(Rules::Linux { mss: config.mss, paced: config.paced }),
            HyStart::Ns3 => Some(Rules::Ns3),
        };
        Cubic {
            arithmetic,
            hystart: rules.map(hystart::HyStart::new),
            fast_convergence: config.fast_convergence,
            friendly: config.tcp_friendly,
            count: 0,
            counted: 0,
            last_max: 0,
            origin: 0,
            least_delay: 0,
            smoothed: 0,
            acked: 0,
            estimate: 0,
        }
    }

    /// Returns the delay sample of an acknowledgement in ps; 0 if there is none.
    fn sample(&mut self, ack: &Ack) -> u64 {
        match &self.arithmetic {
            Arithmetic::Linux(linux) => {
                // No samples within a second after the start of an epoch, because queues may not
                // have drained.
                let soon = linux
                    .epoch
                    .is_some_and(|epoch| (ack.now / linux.tick).saturating_sub(epoch) < linux.hz);
                if ack.rtt == 0 || soon { 0 } else { (ack.rtt / US).max(1) * US }
            }
            Arithmetic::Ns3(ns3) => {
                if ack.smoothed > 0 {
                    self.smoothed = ack.smoothed;
                } else if ack.rtt > 0 {
                    self.smoothed = if self.smoothed == 0 {
                        ack.rtt
                    } else {
                        (7 * self.smoothed + ack.rtt) / 8
                    };
                }
                let soon = ns3.epoch.is_some_and(|epoch| ack.now - epoch < 10_000 * US);
                if soon { 0 } else { self.smoothed }
            }
        }
    }

    fn update_linux(&mut self, cwnd: u32, acked: u32, now: u64) {
        let Arithmetic::Linux(linux) = &mut self.arithmetic else { return };
        self.acked = self.acked.wrapping_add(acked);
        let ticks = now / linux.tick;
        if linux.last_cwnd == cwnd && ticks - linux.last_time <= linux.hz / 32 {
            return;
        }
        // The curve is evaluated at most once per tick.
        if linux.epoch.is_none() || ticks != linux.last_time {
            linux.last_cwnd = cwnd;
            linux.last_time = ticks;
            let epoch = *linux.epoch.get_or_insert_with(|| {
                self.acked = acked;
                self.estimate = cwnd;
                (linux.k, self.origin) = match self.last_max.checked_sub(cwnd) {
                    None | Some(0) => (0, cwnd),
                    Some(below) => {
                        (cube_root((1 << 40) / linux.c * u64::from(below)), self.last_max)
                    }
                };
                ticks
            });
            // The target is the curve's value one round trip ahead.
            let time =
                ((ticks - epoch + self.least_delay.div_ceil(linux.tick)) << TIME_SHIFT) / linux.hz;
            let offset = time.abs_diff(linux.k);
            // Overflows as in Linux (345 s from the plateau).
            let delta = (linux.c.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset)
                >> 40) as u32;
            let target = if time < linux.k {
                self.origin.wrapping_sub(delta)
            } else {
                self.origin.wrapping_add(delta)
            };
            self.count = count(target, cwnd, self.last_max);
        }
        if self.friendly {
            self.count = self.count.min(friendly_count(
                &mut self.acked,
                &mut self.estimate,
                cwnd,
                linux.friendly_scale,
            ));
        }
        self.count = self.count.max(2);
    }

    fn update_ns3(&mut self, cwnd: u32, acked: u32, now: u64) -> u32 {
        let Arithmetic::Ns3(ns3) = &mut self.arithmetic else { return 2 };
        self.acked = self.acked.wrapping_add(acked);
        let epoch = *ns3.epoch.get_or_insert_with(|| {
            self.acked = acked;
            self.estimate = cwnd;
            (ns3.k, self.origin) = match self.last_max.checked_sub(cwnd) {
                None | Some(0) => (0.0, cwnd),
                Some(below) => (libm::pow(f64::from(below) / ns3.c, 1.0 / 3.0), self.last_max),
            };
            now
        });
        let time = (now + self.least_delay - epoch) as f64 / SECOND as f64;
        // The difference is truncated to whole segments.
        let delta = (ns3.c * libm::pow((time - ns3.k).abs(), 3.0)) as u32;
        let target = if time < ns3.k {
            self.origin.wrapping_sub(delta)
        } else {
            self.origin.wrapping_add(delta)
        };
        let mut count = count(target, cwnd, self.last_max);
        if self.friendly {
            count = count.min(friendly_count(
                &mut self.acked,
                &mut self.estimate,
                cwnd,
                ns3.friendly_scale,
            ));
        }
        count.max(2)
    }
}

impl Linux {
    fn new(config: &CubicConfig) -> Self {
        // 41 and 717 for 0.4 and 0.7.
        let c = 10 * ((config.c * 102.4 + 0.5) as u64).max(1);
        let beta = (config.beta * 1024.0 + 0.5) as u64;
        let friendly_scale = (8 * (SCALE + beta) / 3 / (SCALE - beta)) as u32;
        let tick = config.tick.unwrap_or(LINUX_TICK).0;
        Linux {
            tick,
            hz: SECOND / tick,
            c,
            beta,
            friendly_scale,
            last_cwnd: 0,
            last_time: 0,
            epoch: None,
            k: 0,
        }
    }
}

impl Ns3 {
    fn new(config: &CubicConfig) -> Self {
        let beta = config.beta * 1024.0;
        let friendly_scale = (8.0 * (1024.0 + beta) / 3.0 / (1024.0 - beta)) as u32;
        Ns3 { c: config.c, beta: config.beta, friendly_scale, epoch: None, k: 0.0 }
    }
}

/// Returns the acknowledged segments per increase with which the window reaches `target` within a
/// window.
fn count(target: u32, cwnd: u32, last_max: u32) -> u32 {
    let count = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
    if last_max == 0 { count.min(INITIAL_COUNT) } else { count }
}

/// Returns the acknowledged segments per increase that follow the estimate of standard TCP's
/// window.
fn friendly_count(acked: &mut u32, estimate: &mut u32, cwnd: u32, scale: u32) -> u32 {
    let step = ((u64::from(cwnd) * u64::from(scale)) >> 3).clamp(1, u64::from(u32::MAX)) as u32;
    while *acked > step {
        *acked -= step;
        *estimate += 1;
    }
    if *estimate > cwnd { cwnd / (*estimate - cwnd) } else { u32::MAX }
}

/// Returns the integer part of the cube root. Linux's version has a table and one Newton step, and
/// is within 0.16 % of this.
fn cube_root(a: u64) -> u64 {
    let mut root = 0u64;
    for bit in (0..=21).rev() {
        let tried = root | 1 << bit;
        if u128::from(tried).pow(3) <= u128::from(a) {
            root = tried;
        }
    }
    root
}

impl Controller for Cubic {
    // Not inlined, so that the path of NewReno and DCTCP stays small.
    #[inline(never)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let delay = self.sample(ack);
        if delay > 0 && (self.least_delay == 0 || delay < self.least_delay) {
            self.least_delay = delay;
        }
        if let Some(hystart) = &mut self.hystart {
            hystart.on_ack(window, ack, delay, self.least_delay);
        }
        if !ack.may_grow || ack.acked == 0 {
            return;
        }
        let slow_start = window.slow_start();
        if let (true, Some(hystart)) = (slow_start, &mut self.hystart) {
            hystart.before_growth(ack);
        }
        match self.arithmetic {
            Arithmetic::Linux(_) => {
                let left =
                    if slow_start { window.slow_start_increase(ack.acked) } else { ack.acked };
                if left > 0 {
                    self.update_linux(window.cwnd, left, ack.now);
                    window.increase_per(self.count, left);
                }
            }
            // Slow start goes beyond the threshold. After it, an acknowledgement adds at most one
            // segment.
            Arithmetic::Ns3(_) if slow_start => {
                window.cwnd = window.cwnd.saturating_add(ack.acked).min(window.limit)
            }
            Arithmetic::Ns3(_) => {
                self.counted = self.counted.saturating_add(ack.acked);
                let count = self.update_ns3(window.cwnd, ack.acked, ack.now);
                if self.counted >= count {
                    self.counted -= count;
                    window.cwnd = (window.cwnd + 1).min(window.limit);
                }
            }
        }
    }

    /// Returns beta times the window, after a loss or an ECN echo.
    fn on_loss(&mut self, window: &Window, _: u64) -> u32 {
        let cwnd = u64::from(window.cwnd);
        let lower = window.cwnd < self.last_max && self.fast_convergence;
        let (less, reduced) = match &mut self.arithmetic {
            Arithmetic::Linux(linux) => {
                linux.epoch = None;
                (cwnd * (SCALE + linux.beta) / (2 * SCALE), cwnd * linux.beta / SCALE)
            }
            Arithmetic::Ns3(ns3) => {
                ns3.epoch = None;
                ((cwnd as f64 * (1.0 + ns3.beta) / 2.0) as u64, (cwnd as f64 * ns3.beta) as u64)
            }
        };
        self.last_max = if lower { less as u32 } else { window.cwnd };
        (reduced as u32).max(2)
    }

    fn on_state(&mut self, state: State, _: &mut Window, now: u64) {
        if state != State::Loss {
            return;
        }
        self.origin = 0;
        self.acked = 0;
        self.estimate = 0;
        self.least_delay = 0;
        match &mut self.arithmetic {
            Arithmetic::Linux(linux) => {
                self.count = 0;
                self.last_max = 0;
                *linux = Linux { last_cwnd: 0, last_time: 0, epoch: None, k: 0, ..linux.clone() };
            }
            // ns-3 keeps the window before the reduction (`last_max`).
            Arithmetic::Ns3(ns3) => ns3.k = 0.0,
        }
        if let Some(hystart) = &mut self.hystart {
            hystart.restart(now);
        }
    }

    /// Excludes the time in which nothing was sent from the curve (Linux only).
    fn on_restart(&mut self, now: u64, idle: u64) {
        if let Arithmetic::Linux(linux) = &mut self.arithmetic
            && let Some(epoch) = &mut linux.epoch
        {
            let ticks = now / linux.tick;
            *epoch = (*epoch + ticks - now.saturating_sub(idle) / linux.tick).min(ticks);
        }
    }

    #[cfg(test)]
    fn details(&self) -> String {
        let k = match &self.arithmetic {
            Arithmetic::Linux(linux) => linux.k as f64 / 1024.0,
            Arithmetic::Ns3(ns3) => ns3.k,
        };
        format!(" origin {} K {k:.2}", self.origin)
    }
}

pub const ABOUT: About = About {
    slow_start: SlowStart::Own("with congestion = \"cubic\" write cubic.hystart = \"plusplus\""),
    ..About::of(MODEL)
};

pub const MODEL: Model = Model {
    kind: "congestion control",
    name: "cubic",
    source: "RFC 9438; Linux 6.12 tcp_cubic.c (C = 41/102.4, beta = 717/1024); by choice ns-3 3.48 tcp-cubic.cc",
    faithful: "Linux's integers: the curve a round trip ahead in 2^-10 s, evaluated once per tick of the kernel's clock, segments per increase (2 at \
               least, 20 at most before the first loss), Reno-friendly estimate, fast convergence, no delay samples in an epoch's first second, reset on \
               a time-out, the curve halts while nothing is sent; HyStart. ns-3: floating point with the curve's rise cut to whole segments, smoothed \
               delay samples from 10 ms, slow start beyond the threshold",
    simplified: "the cube root is exact (Linux: within 0.16 %); spurious reductions are not undone",
};

#[cfg(test)]
mod tests;
