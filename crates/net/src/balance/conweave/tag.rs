//! What frames carry between the two ToRs.

/// What a data frame says between the two ToRs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag {
    /// When it left the source's ToR.
    pub sent: u64,
    /// When the TAIL of this epoch did; 0 before it.
    pub tail_sent: u64,
    /// By which it came, for a NOTIFY.
    pub path: u32,
    /// From 1. On the wire it is cut to the bits that there are.
    pub epoch: u32,
    pub kind: Kind,
    /// Phase 1: sent after the TAIL.
    pub rerouted: bool,
    /// Not on the wire: for the count of what arrives out of order.
    pub begun: Begun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    #[default]
    Data,
    /// RTT_REQUEST.
    Request,
    /// The last of its epoch on the old path.
    Tail,
}

/// Why an epoch began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Begun {
    /// A reply or a CLEAR came: what was sent before cannot be overtaken.
    #[default]
    Settled,
    /// The flow had been silent, or was new.
    Inactivity,
    /// Its path is no longer one.
    PathLost,
}

/// Why a frame reaches its host after one that was sent later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The reorder queue was flushed before the TAIL came.
    EarlyFlush,
    /// There was no free reorder queue.
    NoQueue,
    /// It belongs to an epoch that is over (with two bits on the wire, even if it is taken for one to come).
    OldEpoch,
    /// The epoch before ended because the flow was silent.
    Inactivity,
    /// The path of the epoch before failed.
    PathLost,
}
