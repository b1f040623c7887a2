//! Priority flow control (PFC, IEEE 802.1Qbb): which priorities of a port may send, and which PAUSE
//! frames the port has to send to its peer.

pub mod deadlock;
pub mod headroom;
pub mod keys;
pub mod models;
pub mod party;

use crate::queue::buffer::mmu::CLASSES;
use afflux_units::{Rate, Span};
/// Bytes of a pause quantum: its duration is the time of 512 bits.
const QUANTUM_BYTES: u64 = 64;

/// Flow control state of one port, in both directions.
#[derive(Debug, Clone)]
pub struct Pause {
    /// True if the port obeys PAUSE frames.
    honours: bool,
    /// Pause clock of each class. The last clock runs while any class is paused.
    clocks: [Clock; CLASSES + 1],
    /// Bit masks of classes, set by the watchdog: in a pause storm; with pauses ignored; with
    /// frames dropped.
    pub storms: u8,
    pub ignored: u8,
    pub dropping: u8,
    /// Time in ps at which a PAUSE frame that pauses the class last took effect.
    last_pause: [u64; CLASSES],
    /// Time in ps since which `asserted` has contained the class.
    pub asserted_since: [u64; CLASSES],
    /// Bit masks of classes: those that the peer has to pause, and those whose state the next PAUSE
    /// frame has to carry.
    pub asserted: u8,
    pub pending: u8,
    /// Pause time in PAUSE frames to the peer, in quanta of 512 bits.
    pub quanta: u16,
    /// Time in ps from the last bit of a PAUSE frame leaving to its effect at the peer.
    pub delay: u64,
    /// Time in ps at which the PAUSE of each class has to be repeated.
    pub refresh_at: [u64; CLASSES],
    /// Half the duration of `quanta` in ps; 0 if PAUSE frames are not repeated.
    pub half: u64,
    /// PAUSE frames sent and received since the last sample.
    pub sent: u64,
    pub received: u64,
    /// Time in ps that each clock had counted at the last sample.
    sampled: [u64; CLASSES + 1],
    rate: u64,
}

/// Counter of the time spent paused. All times are in ps.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// End of the current or last pause.
    until: u64,
    /// Start of the uninterrupted pause.
    since: u64,
    /// Time spent paused before `counted`.
    total: u64,
    counted: u64,
}

impl Clock {
    fn total(&self, now: u64) -> u64 {
        self.total + now.min(self.until).saturating_sub(self.counted)
    }
    fn set(&mut self, now: u64, until: u64) {
        self.total = self.total(now);
        self.counted = now;
        if self.until <= now {
            self.since = now;
        }
        self.until = until;
    }
}

/// Parameters of the flow control state of a port.
struct PauseSetup {
    honours: bool,
    quanta: u16,
    refresh: bool,
    delay: u64,
    rate: u64,
}

impl Pause {
    fn new(setup: PauseSetup) -> Self {
        Pause {
            honours: setup.honours,
            clocks: Default::default(),
            storms: 0,
            ignored: 0,
            dropping: 0,
            last_pause: [0; CLASSES],
            asserted_since: [0; CLASSES],
            asserted: 0,
            pending: 0,
            quanta: setup.quanta,
            delay: setup.delay,
            refresh_at: [0; CLASSES],
            half: if setup.refresh { (duration(setup.quanta, setup.rate) / 2).max(1) } else { 0 },
            sent: 0,
            received: 0,
            sampled: [0; CLASSES + 1],
            rate: setup.rate,
        }
    }

    /// True if frames of this class may be sent at `at` (ps).
    #[inline(always)]
    pub fn may_send(&self, class: u8, at: u64) -> bool {
        self.clocks[class as usize].until <= at || self.ignored >> class & 1 != 0
    }

    /// Returns the link's rate in bit/s if the port obeys PAUSE frames.
    pub fn obeys(&self) -> Option<u64> {
        self.honours.then_some(self.rate)
    }

    /// True if any class is paused at `at` (ps).
    pub fn holds_any(&self, at: u64) -> bool {
        self.clocks[CLASSES].until > at
    }

    /// True if no PAUSE frame is pending and the watchdog is not acting.
    pub fn is_undisturbed(&self) -> bool {
        self.pending == 0 && self.storms | self.ignored | self.dropping == 0
    }

    /// Returns the time in ps at which the pause of a class ends if no further PAUSE frame arrives.
    pub fn until(&self, class: u8) -> u64 {
        self.clocks[class as usize].until
    }

    /// Returns the time in ps from which frames of a class may be sent if no further PAUSE frame
    /// arrives; 0 if the watchdog ignores the pauses of the class.
    pub fn free_from(&self, class: u8) -> u64 {
        if self.ignored >> class & 1 != 0 { 0 } else { self.until(class) }
    }

    /// Returns for how long, in ps, the class has been paused without interruption; `None` if it is
    /// not paused.
    pub fn lasting(&self, class: u8, now: u64) -> Option<u64> {
        let clock = &self.clocks[class as usize];
        (clock.until > now).then(|| now - clock.since)
    }

    /// Returns the total time in ps that a class has spent paused.
    pub fn clock(&self, class: u8, now: u64) -> u64 {
        self.clocks[class as usize].total(now)
    }

    /// Returns the time in ps at which a PAUSE frame that pauses the class last took effect.
    pub fn last_pause(&self, class: u8) -> u64 {
        self.last_pause[class as usize]
    }

    /// Returns the time in ps that each class, and any of them, has spent paused since the last
    /// call.
    pub fn take_totals(&mut self, now: u64) -> [u64; CLASSES + 1] {
        std::array::from_fn(|class| {
            let total = self.clocks[class].total(now);
            total - std::mem::replace(&mut self.sampled[class], total)
        })
    }

    /// Applies a PAUSE frame: pauses those of `classes` that are in `xoff` for `quanta`, and
    /// resumes the others.
    pub fn receive(&mut self, now: u64, classes: u8, xoff: u8, quanta: u16) {
        self.received += 1;
        if !self.honours {
            return;
        }
        let time = duration(quanta, self.rate);
        for class in (0..CLASSES).filter(|class| classes >> class & 1 != 0) {
            let held = xoff >> class & 1 != 0;
            self.clocks[class].set(now, if held { now + time } else { now });
            if held {
                self.last_pause[class] = now;
            }
        }
        let any = self.clocks[..CLASSES].iter().map(|clock| clock.until).max().expect("eight");
        self.clocks[CLASSES].set(now, any.max(now));
    }
}

/// Returns the duration in ps of `quanta` at a link rate in bit/s.
pub fn duration(quanta: u16, rate: u64) -> u64 {
    (quanta as u128 * QUANTUM_BYTES as u128 * 8_000_000_000_000 / rate as u128) as u64
}

/// Returns the number of quanta that last for `time` (ps), rounded up, from 1 to 65535.
pub fn quanta(time: u64, rate: u64) -> u16 {
    let bits = time as u128 * rate as u128;
    bits.div_ceil(QUANTUM_BYTES as u128 * 8_000_000_000_000).clamp(1, u16::MAX as u128) as u16
}

/// Returns the time in quanta within which a port of this rate has to stop (IEEE 802.3 annex
/// 31B.3.7). Rates between those of the standard use the value of the next higher one.
fn response_quanta(rate: Rate) -> u64 {
    const TABLE: [(u64, u64); 8] =
        [(10, 67), (25, 80), (40, 118), (50, 147), (100, 394), (200, 453), (400, 905), (800, 905)];
    TABLE.iter().find(|(gbps, _)| rate <= Rate::from_gbps(*gbps)).map_or(905, |(_, quanta)| *quanta)
}

/// Returns the time within which a port of this rate has to stop sending after a PAUSE frame.
pub fn response_time(rate: Rate) -> Span {
    Span(response_bytes(rate) * duration(1, rate.0) / QUANTUM_BYTES)
}

/// Returns the bytes that a port of this rate can send within its response time.
pub fn response_bytes(rate: Rate) -> u64 {
    response_quanta(rate) * QUANTUM_BYTES
}
