//! Options of a run in live mode, and the control over the run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Real hosts: a number selects the first hosts, a comma-separated list selects names or
    /// numbers. `None`: all hosts.
    pub hosts: Option<String>,
    /// Real hosts behind existing interfaces: `host2=eth1`, or with several NICs `host2=eth1,eth2`.
    pub attach: Vec<String>,
    /// Duration of the run. `None`: until the command ends or a stop is requested.
    pub duration: Option<Duration>,
    /// Command to run in the first real host. May be empty.
    pub command: Vec<String>,
    /// Upper bound on the 99th percentile of lateness. Above it, the run is invalid.
    pub bound: Duration,
}

/// Control of the caller over a run.
pub struct Control<'a> {
    /// Request to end the run.
    pub stop: &'a AtomicBool,
    /// Prints a message to the user while the run starts.
    pub say: &'a dyn Fn(&str),
}

impl Control<'_> {
    /// True if the run should end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}
