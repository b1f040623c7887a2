//! Counters of balancers over the whole run.

use super::Tag;
use super::conweave::Cause;
use crate::counters::counters;

counters! {
    pub struct BalanceCounters {
        /// Flowlets that began after another flowlet of their flow that was still remembered.
        flowlets,
        /// Changes of a flow's path at its source's ToR.
        reroutes,
        /// Control frames that switches sent to switches.
        switch_frames,
        [conweave: ConweaveCounters]
        [late: LateCounters]
    }
}

counters! {
    /// Counters of ConWeave's ToRs.
    pub struct ConweaveCounters {
        /// Epochs begun, which equals RTT_REQUESTs sent.
        requests,
        /// RTT_REPLYs sent by the destination's ToR.
        replies,
        /// RTT_REPLYs that arrived in time at the source's ToR.
        replies_in_time,
        /// RTT_REPLYs that arrived too late.
        replies_late,
        tails,
        clears,
        notifies,
        /// Rerouted frames that arrived at the destination's ToR before the TAIL.
        out_of_order,
        /// Out-of-order frames that were the first of their epoch and went on because no reorder
        /// queue was free.
        no_queue,
        /// Out-of-order frames that went on because the predicted time of the TAIL had passed.
        too_late,
        /// Frames of an epoch that was over.
        old_epoch,
        /// Reorder queues released.
        flushes,
        /// Reorder queues released because the TAIL arrived. The others were released early, or the
        /// TAIL was lost.
        flushes_by_tail,
    }
}

counters! {
    /// Data frames that arrived at their host after a frame that was sent later, by cause.
    pub struct LateCounters {
        /// The frame is a retransmission.
        recovery,
        /// A reorder queue was released before the TAIL arrived.
        early_flush,
        /// No reorder queue was free.
        no_queue,
        /// The frame belonged to an epoch that was over.
        old_epoch,
        /// The flow took another path after a silence.
        inactivity,
        /// The flow took another path because its path failed.
        path_lost,
        /// The cause is not ConWeave: a switch let the frame be overtaken.
        other,
    }
}

impl LateCounters {
    /// Counts a late data frame. `repeated`: it was sent before. `tag`: the tag on the frame.
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
