//! Fields that frames carry between the two ToRs.

/// Fields of a data frame between the two ToRs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tag {
    /// Time in ps at which the frame left the source's ToR.
    pub sent: u64,
    /// Time in ps at which the TAIL of this epoch left the source's ToR; 0 before it.
    pub tail_sent: u64,
    /// Path of the frame, for a NOTIFY.
    pub path: u32,
    /// Epoch, from 1. On the wire it is truncated to the available bits.
    pub epoch: u32,
    pub kind: Kind,
    /// True in phase 1: the frame was sent after the TAIL.
    pub rerouted: bool,
    /// Reason why the epoch began. Not on the wire; it serves to count late frames by cause.
    pub begun: Begun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    #[default]
    Data,
    /// RTT_REQUEST: the first frame of an epoch.
    Request,
    /// The last frame of its epoch on the old path.
    Tail,
}

/// Reason why an epoch began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Begun {
    /// A reply or a CLEAR arrived: earlier frames cannot be overtaken.
    #[default]
    Settled,
    /// The flow had been silent, or was new.
    Inactivity,
    /// The path of the flow no longer exists.
    PathLost,
}

/// Reason why a frame arrives at its host after a frame that was sent later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The reorder queue was released before the TAIL arrived.
    EarlyFlush,
    /// No reorder queue was free.
    NoQueue,
    /// The frame belongs to an epoch that is over (with two bits on the wire, even if it is taken
    /// for a coming one).
    OldEpoch,
    /// The previous epoch ended because the flow was silent.
    Inactivity,
    /// The path of the previous epoch failed.
    PathLost,
}
