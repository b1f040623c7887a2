//! Scheduling of the forwarding thread: its real-time class, and when it sleeps.

use crate::sys;
use std::io;

/// Time before a due event from which the thread waits with real-time priority and without sleep. A
/// real-time thread that a timer wakes is up to this late (p99 41 us measured under SCHED_FIFO).
const SPIN_NS: u64 = 60_000;
/// Longest time without sleep, after which the thread sleeps for [`PAUSE_NS`]. Reason: the kernel
/// takes the processor for 50 ms at once from real-time threads that used more than 95 % of a
/// second (kernel.sched_rt_runtime_us), and kernel threads on this processor need some of the time.
/// Departures through 1 Gbps were late by 60 to 72 us (p99) with these values, and by 90 to 92 us
/// with 40 us of sleep after every 500 us.
const TURN_NS: u64 = 250_000;
const PAUSE_NS: u64 = 20_000;
/// Length of the sleep while few packets arrive.
const NAP_NS: u64 = 5_000;
/// "Few" means at most `FEW` packets in `WINDOW_NS`, which is 5,000 per second.
const WINDOW_NS: u64 = 10_000_000;
const FEW: u32 = 50;

/// Waiting mode of the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Other processors are available, so the thread stays awake. Waking up takes 50 to 300 us in a
    /// virtual machine and finds cold caches. While few packets arrive, the thread has the highest
    /// ordinary priority until an event is due soon, because that time does not count as real time.
    Awake,
    /// The thread has real-time priority and sleeps until an event is due soon.
    RealTime,
    /// Ordinary thread, because real-time priority was refused.
    Ordinary,
}

#[derive(Debug)]
pub struct Precedence {
    manner: Manner,
    real_time: bool,
    slept_ns: u64,
    /// Start of the current counting window, and the packets counted since then.
    window_ns: u64,
    packets: u32,
    few: bool,
}

impl Precedence {
    /// Sets the scheduling of the calling thread. Also returns the error if real-time scheduling
    /// was refused.
    pub fn of_this_thread() -> (Self, Option<io::Error>) {
        let refused = sys::schedule(true).err();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let manner = match &refused {
            Some(_) => Manner::Ordinary,
            None if processors > 1 && sys::go_first_among_ordinary().is_ok() => Manner::Awake,
            None => Manner::RealTime,
        };
        (
            Precedence {
                manner,
                real_time: refused.is_none(),
                slept_ns: 0,
                window_ns: 0,
                packets: 0,
                few: true,
            },
            refused,
        )
    }

    /// Returns how long to wait for packets, in ns, at time `now` if the next event is due at
    /// `due`.
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
                // The thread wakes up with real-time priority, so that it gets the processor back
                // at once.
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

    /// Notes that the thread has slept until `now`.
    #[inline]
    pub fn has_slept(&mut self, now: u64) {
        self.slept_ns = now;
    }

    #[inline]
    pub fn has_taken_one(&mut self) {
        self.packets = self.packets.saturating_add(1);
    }
}
