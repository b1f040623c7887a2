//! Allows another thread to watch and to stop a run.

use crate::spec::FlowId;
use crate::view::{Snapshot, View};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// State of a run that is shared with the thread that shows progress. Workers update it about every
/// millisecond of processor time.
#[derive(Debug, Default)]
pub struct Progress {
    now_ps: AtomicU64,
    packet_hops: AtomicU64,
    flows_finished: AtomicU64,
    cancel: AtomicBool,
    /// Guest that has had the clock for the longest real time so far, and this time in seconds.
    slowest: Mutex<Option<(String, f64)>>,
    /// Number of requests for a view.
    requests: AtomicU64,
    /// Time in ps; flows that start earlier do not count in the view.
    counts_from: AtomicU64,
    seen: Mutex<Seen>,
}

/// State that the workers have published.
#[derive(Debug, Default)]
struct Seen {
    snapshots: Vec<Option<Snapshot>>,
    view: View,
    /// Flows of which one end is known: start and ideal time from the source, or finish from the
    /// destination.
    halves: FxHashMap<FlowId, Half>,
}

#[derive(Debug, Clone, Copy)]
enum Half {
    Sent { start: u64, ideal: u64 },
    Received { finish: u64 },
}

/// End of a flow at its source, at its destination, or at both. Times are in ps.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Source { flow: FlowId, start: u64, ideal: u64 },
    Destination { flow: FlowId, finish: u64 },
    Whole { start: u64, finish: u64, ideal: u64 },
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
    /// Returns the guest that has had the clock for the longest real time so far, and this time in
    /// seconds. `None` without guests.
    pub fn slowest_guest(&self) -> Option<(String, f64)> {
        self.slowest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Says how far guests are: up to `now_ps`, and how long the slowest of some of them has had the
    /// clock, in seconds of real time.
    pub fn advance_guests(&self, now_ps: u64, guest: &str, seconds: f64) {
        self.now_ps.fetch_max(now_ps, Ordering::Relaxed);
        let mut slowest = self.slowest.lock().unwrap_or_else(PoisonError::into_inner);
        if slowest.as_ref().is_none_or(|known| known.1 <= seconds || known.0 == guest) {
            *slowest = Some((guest.into(), seconds));
        }
    }
    /// Asks the run to stop soon. It then ends with
    /// [`RunError::Cancelled`](crate::RunError::Cancelled).
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Returns the latest view of queues, and of flows that start at `counts_from` (ps) or later.
    /// It also requests a newer view, which the workers publish about a millisecond later. The
    /// result is `None` until all workers have published one, and always with the flow-level
    /// engine. A run without requests spends no time on views.
    pub fn view(&self, counts_from: u64) -> Option<View> {
        self.counts_from.store(counts_from, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.snapshots.is_empty() || seen.snapshots.iter().any(Option::is_none) {
            return None;
        }
        let mut view = seen.view.clone();
        seen.snapshots.iter().flatten().for_each(|snapshot| view.snapshot.add(snapshot));
        Some(view)
    }

    pub(crate) fn advance(&self, now_ps: u64, hops: u64, finished: u64) {
        self.now_ps.fetch_max(now_ps, Ordering::Relaxed);
        self.packet_hops.fetch_add(hops, Ordering::Relaxed);
        self.flows_finished.fetch_add(finished, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Publishes the snapshot of one worker, and the flows that have ended there since its last
    /// snapshot.
    pub(crate) fn show(
        &self,
        worker: usize,
        workers: usize,
        snapshot: Snapshot,
        ends: impl Iterator<Item = End>,
    ) {
        let counts_from = self.counts_from.load(Ordering::Relaxed);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.snapshots.resize(workers, None);
        seen.snapshots[worker] = Some(snapshot);
        for end in ends {
            if let Some((start, finish, ideal)) = seen.join(end)
                && start >= counts_from
            {
                seen.view.end(finish - start, ideal);
            }
        }
    }
}

impl Seen {
    /// Returns start, finish and ideal time of a flow if both ends are now known.
    fn join(&mut self, end: End) -> Option<(u64, u64, u64)> {
        let (flow, half) = match end {
            End::Whole { start, finish, ideal } => return Some((start, finish, ideal)),
            End::Source { flow, start, ideal } => (flow, Half::Sent { start, ideal }),
            End::Destination { flow, finish } => (flow, Half::Received { finish }),
        };
        match (half, self.halves.remove(&flow)) {
            (Half::Sent { start, ideal }, Some(Half::Received { finish }))
            | (Half::Received { finish }, Some(Half::Sent { start, ideal })) => {
                Some((start, finish, ideal))
            }
            _ => {
                self.halves.insert(flow, half);
                None
            }
        }
    }
}
