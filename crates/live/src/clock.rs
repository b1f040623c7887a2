//! Wall clock that provides simulated time.

use afflux_units::Time;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy)]
pub struct Clock {
    begin: Instant,
}

impl Clock {
    pub fn start() -> Self {
        Clock { begin: Instant::now() }
    }
    #[inline]
    pub fn now_ns(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

/// Converts a clock reading in ns to simulated time in ps.
pub fn simulated(ns: u64) -> Time {
    Time(ns * 1_000)
}
