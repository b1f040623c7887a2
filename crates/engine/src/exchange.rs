//! Exchange between worker threads after each window: mailboxes, choice of the next window, end of
//! the run.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// Result on which all workers agree after each window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Earliest window in which any worker has an event. `None`: no events are left.
    pub next: Option<u64>,
    /// Sums over the values that all workers reported.
    pub live: i64,
    pub pending: i64,
    pub counts: [u64; 3],
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Report {
    next: AtomicU64,
    live: AtomicI64,
    pending: AtomicI64,
    counts: [AtomicU64; 3],
}

/// Spins at the barrier before a worker sleeps: some hundred microseconds. A short wait so needs no
/// system call, and a long wait costs no processor time.
const SPINS: u32 = 5_000;

/// Barrier and mailboxes of `workers` threads. Mailboxes and reports exist twice and alternate
/// between rounds, so that one barrier per window is enough: no worker writes data that another
/// worker may still be reading.
#[derive(Debug)]
pub struct Exchange<M> {
    workers: usize,
    boxes: [Vec<Mutex<M>>; 2],
    reports: [Vec<Report>; 2],
    arrived: AtomicUsize,
    generation: AtomicUsize,
    spins: u32,
    /// Mutex of `wake`, for workers that sleep after spinning.
    sleepers: Mutex<()>,
    wake: Condvar,
    aborted: AtomicBool,
}

/// Sets the abort flag when its worker panics, so that the other workers do not wait for ever.
pub struct AbortOnPanic<'a>(&'a AtomicBool);

impl Drop for AbortOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl<M: Default> Exchange<M> {
    pub fn new(workers: usize) -> Self {
        let boxes = || (0..workers * workers).map(|_| Mutex::new(M::default())).collect();
        let reports = || (0..workers).map(|_| Report::default()).collect();
        // With more workers than processors, spinning would only keep the others from running.
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        Exchange {
            workers,
            boxes: [boxes(), boxes()],
            reports: [reports(), reports()],
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            spins: if workers > cores { 0 } else { SPINS },
            sleepers: Mutex::new(()),
            wake: Condvar::new(),
            aborted: AtomicBool::new(false),
        }
    }

    /// Puts `mail` into the mailbox from `from` to `to`, which is empty, and returns the mailbox's
    /// old buffer in `mail` for reuse.
    pub fn post(&self, round: usize, from: usize, to: usize, mail: &mut M) {
        std::mem::swap(
            &mut *self.boxes[round % 2][to * self.workers + from]
                .lock()
                .expect("no worker panicked"),
            mail,
        );
    }

    /// Calls `read` with the mail from `from` to `to` of this round. Call it only after
    /// [`Self::meet`].
    pub fn open(&self, round: usize, from: usize, to: usize, read: impl FnOnce(&mut M)) {
        read(
            &mut self.boxes[round % 2][to * self.workers + from]
                .lock()
                .expect("no worker panicked"),
        );
    }

    /// Publishes this worker's report and waits for the reports of all workers of this round.
    pub fn meet(
        &self,
        round: usize,
        worker: usize,
        next: Option<u64>,
        (live, pending, counts): (i64, i64, [u64; 3]),
    ) -> Turn {
        let reports = &self.reports[round % 2];
        reports[worker].next.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
        reports[worker].live.store(live, Ordering::Relaxed);
        reports[worker].pending.store(pending, Ordering::Relaxed);
        reports[worker]
            .counts
            .iter()
            .zip(counts)
            .for_each(|(sum, count)| sum.store(count, Ordering::Relaxed));
        self.barrier();
        let next = reports
            .iter()
            .map(|r| r.next.load(Ordering::Relaxed))
            .min()
            .expect("at least one worker");
        Turn {
            next: (next != u64::MAX).then_some(next),
            live: reports.iter().map(|r| r.live.load(Ordering::Relaxed)).sum(),
            pending: reports.iter().map(|r| r.pending.load(Ordering::Relaxed)).sum(),
            counts: std::array::from_fn(|which| {
                reports.iter().map(|r| r.counts[which].load(Ordering::Relaxed)).sum()
            }),
        }
    }

    pub fn abort_on_panic(&self) -> AbortOnPanic<'_> {
        AbortOnPanic(&self.aborted)
    }

    /// Waits until all workers have arrived: spins first, then sleeps.
    fn barrier(&self) {
        if self.workers == 1 {
            return;
        }
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            self.arrived.store(0, Ordering::Relaxed);
            let guard = self.sleepers.lock().expect("no worker panicked");
            self.generation.store(generation.wrapping_add(1), Ordering::Release);
            drop(guard);
            self.wake.notify_all();
            return;
        }
        for _ in 0..self.spins {
            if self.generation.load(Ordering::Acquire) != generation {
                return;
            }
            std::hint::spin_loop();
        }
        let mut guard = self.sleepers.lock().expect("no worker panicked");
        while self.generation.load(Ordering::Acquire) == generation {
            assert!(!self.aborted.load(Ordering::Acquire), "another worker failed");
            guard = self
                .wake
                .wait_timeout(guard, Duration::from_millis(100))
                .expect("no worker panicked")
                .0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_arrives_and_everybody_agrees() {
        let exchange: Exchange<Vec<(usize, usize)>> = Exchange::new(3);
        std::thread::scope(|scope| {
            for me in 0..3 {
                let exchange = &exchange;
                scope.spawn(move || {
                    for round in 0..200 {
                        for to in 0..3 {
                            let mut mail = vec![(round, me)];
                            exchange.post(round, me, to, &mut mail);
                            assert!(mail.is_empty());
                        }
                        let turn = exchange.meet(
                            round,
                            me,
                            (me > 0).then_some((round + me) as u64),
                            (me as i64, 1, [me as u64, 0, 1]),
                        );
                        assert_eq!(
                            turn,
                            Turn {
                                next: Some(round as u64 + 1),
                                live: 3,
                                pending: 3,
                                counts: [3, 0, 3]
                            }
                        );
                        for from in 0..3 {
                            exchange.open(round, from, me, |mail| {
                                assert_eq!(std::mem::take(mail), vec![(round, from)])
                            });
                        }
                    }
                });
            }
        });
    }
}
