//! What balancers have done, whole run.

use super::Tag;
use super::conweave::Cause;
use crate::counters::counters;

counters! {
    pub struct BalanceCounters {
        /// Flowlets that began after another of their flow that was still remembered.
        flowlets,
        /// Changes of a flow's path at its source's ToR.
        reroutes,
        /// Frames that switches sent to switches.
        switch_frames,
        [conweave: ConweaveCounters]
        [late: LateCounters]
    }
}

counters! {
    /// What ConWeave's ToRs have done.
    pub struct ConweaveCounters {
        /// Epochs begun: RTT_REQUESTs sent.
        requests,
        /// RTT_REPLYs sent; those that came in time; those that came too late.
        replies,
        replies_in_time,
        replies_late,
        tails,
        clears,
        notifies,
        /// Rerouted frames that came to the destination's ToR before the TAIL.
        out_of_order,
        /// Of those: no reorder queue was free for the first of its epoch, or the TAIL should have been there long ago. It went on.
        no_queue,
        too_late,
        /// Frames of an epoch that was over.
        old_epoch,
        /// Reorder queues released; of those, because the TAIL had come. The others were early, or the TAIL was lost.
        flushes,
        flushes_by_tail,
    }
}

counters! {
    /// Data frames that reached their host after one that was sent later, by cause.
    pub struct LateCounters {
        /// Repetitions.
        recovery,
        /// A reorder queue was flushed before the TAIL came.
        early_flush,
        /// No reorder queue was free.
        no_queue,
        /// It belonged to an epoch that was over.
        old_epoch,
        /// The flow took another path after a silence, or because its path failed.
        inactivity,
        path_lost,
        /// Not under ConWeave: a switch let it be overtaken.
        other,
    }
}

impl LateCounters {
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
}
