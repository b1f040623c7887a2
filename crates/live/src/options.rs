//! Options of a run in real time, and the control over it while it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which hosts are real: a number for the first ones, or names or numbers with commas; `None` for all.
    pub hosts: Option<String>,
    /// Real hosts that exist: `host2=eth1`, or with several NICs `host2=eth1,eth2`.
    pub attach: Vec<String>,
    /// Ends then; `None`: when the command ends, or when told to.
    pub duration: Option<Duration>,
    /// Runs in the first real host; may be empty.
    pub command: Vec<String>,
    /// A run whose packets leave later than this at the 99th percentile is not valid.
    pub bound: Duration,
}

/// The control of the caller over a run.
pub struct Control<'a> {
    /// The run is to end.
    pub stop: &'a AtomicBool,
    /// Tells people something while the run begins.
    pub say: &'a dyn Fn(&str),
}

impl Control<'_> {
    /// Whether the run is to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}
