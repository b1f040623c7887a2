//! What balancers have done, whole run.

use super::Tag;
use super::conweave::Cause;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BalanceCounters {
    /// Flowlets that began after another of their flow that was still remembered.
    pub flowlets: u64,
    /// Changes of a flow's path at its source's ToR.
    pub reroutes: u64,
    /// Frames that switches sent to switches.
    pub switch_frames: u64,
    pub conweave: ConweaveCounters,
    pub late: LateCounters,
}

impl BalanceCounters {
    pub fn add(&mut self, other: &BalanceCounters) {
        let BalanceCounters { flowlets, reroutes, switch_frames, conweave, late } = other;
        self.flowlets += flowlets;
        self.reroutes += reroutes;
        self.switch_frames += switch_frames;
        self.conweave.add(conweave);
        self.late.add(late);
    }
}

/// What ConWeave's ToRs have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConweaveCounters {
    /// Epochs begun: RTT_REQUESTs sent.
    pub requests: u64,
    /// RTT_REPLYs sent; those that came in time; those that came too late.
    pub replies: u64,
    pub replies_in_time: u64,
    pub replies_late: u64,
    pub tails: u64,
    pub clears: u64,
    pub notifies: u64,
    /// Rerouted frames that came to the destination's ToR before the TAIL.
    pub out_of_order: u64,
    /// Of those: no reorder queue was free for the first of its epoch, or the TAIL should have been there long ago. It went on.
    pub no_queue: u64,
    pub too_late: u64,
    /// Frames of an epoch that was over.
    pub old_epoch: u64,
    /// Reorder queues released; of those, because the TAIL had come. The others were early, or the TAIL was lost.
    pub flushes: u64,
    pub flushes_by_tail: u64,
}

/// Data frames that reached their host after one that was sent later, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LateCounters {
    /// Repetitions.
    pub recovery: u64,
    /// A reorder queue was flushed before the TAIL came.
    pub early_flush: u64,
    /// No reorder queue was free.
    pub no_queue: u64,
    /// It belonged to an epoch that was over.
    pub old_epoch: u64,
    /// The flow took another path after a silence, or because its path failed.
    pub inactivity: u64,
    pub path_lost: u64,
    /// Not under ConWeave: a switch let it be overtaken.
    pub other: u64,
}

impl ConweaveCounters {
    /// All of them, by name.
    pub fn list(&self) -> [(&'static str, u64); 13] {
        let ConweaveCounters {
            requests,
            replies,
            replies_in_time,
            replies_late,
            tails,
            clears,
            notifies,
            out_of_order,
            no_queue,
            too_late,
            old_epoch,
            flushes,
            flushes_by_tail,
        } = *self;
        [
            ("requests", requests),
            ("replies", replies),
            ("replies_in_time", replies_in_time),
            ("replies_late", replies_late),
            ("tails", tails),
            ("clears", clears),
            ("notifies", notifies),
            ("out_of_order", out_of_order),
            ("no_queue", no_queue),
            ("too_late", too_late),
            ("old_epoch", old_epoch),
            ("flushes", flushes),
            ("flushes_by_tail", flushes_by_tail),
        ]
    }

    pub fn add(&mut self, other: &ConweaveCounters) {
        self.requests += other.requests;
        self.replies += other.replies;
        self.replies_in_time += other.replies_in_time;
        self.replies_late += other.replies_late;
        self.tails += other.tails;
        self.clears += other.clears;
        self.notifies += other.notifies;
        self.out_of_order += other.out_of_order;
        self.no_queue += other.no_queue;
        self.too_late += other.too_late;
        self.old_epoch += other.old_epoch;
        self.flushes += other.flushes;
        self.flushes_by_tail += other.flushes_by_tail;
    }
}

impl LateCounters {
    /// All of them, by name.
    pub fn list(&self) -> [(&'static str, u64); 7] {
        let LateCounters { recovery, early_flush, no_queue, old_epoch, inactivity, path_lost, other } = *self;
        [
            ("recovery", recovery),
            ("early_flush", early_flush),
            ("no_queue", no_queue),
            ("old_epoch", old_epoch),
            ("inactivity", inactivity),
            ("path_lost", path_lost),
            ("other", other),
        ]
    }

    /// A frame came late: one that was sent before, or for the first time, with this tag on it.
    #[cold]
    pub fn count(&mut self, repeated: bool, tag: Tag) {
        *match tag {
            _ if repeated => &mut self.recovery,
            Tag::Late(Cause::EarlyFlush) => &mut self.early_flush,
            Tag::Late(Cause::NoQueue) => &mut self.no_queue,
            Tag::Late(Cause::OldEpoch) => &mut self.old_epoch,
            Tag::Late(Cause::Inactivity) => &mut self.inactivity,
            Tag::Late(Cause::PathLost) => &mut self.path_lost,
            _ => &mut self.other,
        } += 1;
    }

    pub fn add(&mut self, other: &LateCounters) {
        self.recovery += other.recovery;
        self.early_flush += other.early_flush;
        self.no_queue += other.no_queue;
        self.old_epoch += other.old_epoch;
        self.inactivity += other.inactivity;
        self.path_lost += other.path_lost;
        self.other += other.other;
    }
}
