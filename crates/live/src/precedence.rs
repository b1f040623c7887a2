//! When the forwarding thread goes before other threads, and whether it sleeps.

use crate::sys;
use std::io;

/// What is due this soon is waited for in real time and without sleep. A real-time thread that a timer wakes is up to this late (p99 41 us measured
/// under SCHED_FIFO).
const SPIN_NS: u64 = 60_000;
/// After so long without sleep it sleeps for [`PAUSE_NS`]: the kernel takes the processor for 50 ms at once from real-time threads that used more
/// than 95 % of a second (kernel.sched_rt_runtime_us), and its own threads on this processor need some of it. Departures through 1 Gbps were late by 90 to
/// 92 us (p99) with 40 us after every 500 us, by 60 to 72 us with these.
const TURN_NS: u64 = 250_000;
const PAUSE_NS: u64 = 20_000;
/// Where few packets come, the sleep is this short.
const NAP_NS: u64 = 5_000;
/// Few: at most as many in as long, which is 5,000 a second.
const WINDOW_NS: u64 = 10_000_000;
const FEW: u32 = 50;

/// How the thread waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// There are processors for others: it stays awake, because waking up takes 50 to 300 us in a virtual machine, and finds caches cold. Where few packets
    /// come, it is the first among ordinary threads until something is due, since that does not count as real time.
    Awake,
    /// In real time, asleep until something is due soon.
    RealTime,
    /// An ordinary thread that may not be more.
    Ordinary,
}

#[derive(Debug)]
pub struct Precedence {
    manner: Manner,
    real_time: bool,
    slept_ns: u64,
    /// Packets since then.
    window_ns: u64,
    packets: u32,
    few: bool,
}

impl Precedence {
    /// For the calling thread; and why it cannot have real-time scheduling, if it cannot.
    pub fn of_this_thread() -> (Self, Option<io::Error>) {
        let refused = sys::schedule(true).err();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let manner = match &refused {
            Some(_) => Manner::Ordinary,
            None if processors > 1 && sys::go_first_among_ordinary().is_ok() => Manner::Awake,
            None => Manner::RealTime,
        };
        (Precedence { manner, real_time: refused.is_none(), slept_ns: 0, window_ns: 0, packets: 0, few: true }, refused)
    }

    /// It is `now`, and the next thing is due at `due`: how long to wait for packets.
    #[inline]
    pub fn wait_ns(&mut self, now: u64, due: u64) -> io::Result<u64> {
        let spare = due.saturating_sub(now.saturating_add(SPIN_NS));
        let turn_over = now - self.slept_ns > TURN_NS;
        match self.manner {
            Manner::Ordinary => Ok(spare),
            Manner::RealTime if spare == 0 && turn_over => Ok(PAUSE_NS),
            Manner::RealTime => Ok(spare),
            Manner::Awake => {
                if now - self.window_ns > WINDOW_NS {
                    self.few = self.packets <= FEW;
                    (self.window_ns, self.packets) = (now, 0);
                }
                // In real time when it wakes up: whoever has the processor then gives it back.
                let sleep = turn_over && (spare > 0 || !self.few);
                let real_time = sleep || spare == 0 || !self.few;
                if real_time != self.real_time {
                    sys::schedule(real_time)?;
                    self.real_time = real_time;
                }
                Ok(match (sleep, self.few) {
                    (false, _) => 0,
                    (true, true) => NAP_NS,
                    (true, false) => PAUSE_NS,
                })
            }
        }
    }

    /// It has slept until `now`.
    #[inline]
    pub fn has_slept(&mut self, now: u64) {
        self.slept_ns = now;
    }

    #[inline]
    pub fn has_taken_one(&mut self) {
        self.packets = self.packets.saturating_add(1);
    }
}
