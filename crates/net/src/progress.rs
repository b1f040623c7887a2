//! Watching and stopping a run from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared with whoever shows progress. Written about every millisecond of processor time.
#[derive(Debug, Default)]
pub struct Progress {
    now_ps: AtomicU64,
    packet_hops: AtomicU64,
    flows_finished: AtomicU64,
    cancel: AtomicBool,
}

impl Progress {
    pub fn now_ps(&self) -> u64 {
        self.now_ps.load(Ordering::Relaxed)
    }
    pub fn packet_hops(&self) -> u64 {
        self.packet_hops.load(Ordering::Relaxed)
    }
    pub fn flows_finished(&self) -> u64 {
        self.flows_finished.load(Ordering::Relaxed)
    }
    /// Asks the run to stop soon: it ends with [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
    pub(crate) fn advance(&self, now_ps: u64, hops: u64, finished: u64) {
        self.now_ps.fetch_max(now_ps, Ordering::Relaxed);
        self.packet_hops.fetch_add(hops, Ordering::Relaxed);
        self.flows_finished.fetch_add(finished, Ordering::Relaxed);
    }
}
