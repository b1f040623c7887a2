//! Switches: buffers, marking, scheduling, forwarding, choice of path.

use afflux_units::{Probability, Span};

#[derive(Debug, Clone, PartialEq)]
pub struct SwitchConfig {
    pub buffer: Buffer,
    pub marking: Option<Marking>,
    pub scheduling: Scheduling,
    pub forwarding: Forwarding,
    /// Pipeline latency added to every frame between its arrival and its joining the output queue.
    pub latency: Span,
    pub balance: Balance,
    pub queue_length: QueueLength,
}

/// What occupies a buffer, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueLength {
    /// A frame counts as a whole until its last bit has left.
    #[default]
    ThroughTransmission,
    /// A frame counts until its transmission starts (ns-3's convention).
    BeforeTransmission,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Bytes(u64),
    Packets(u32),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Buffer {
    Unlimited,
    /// Every queue has its own limit. A frame is dropped iff the queue would exceed it (`Compare::Above`) or
    /// reach it (`Compare::AtOrAbove`: ns-2's convention).
    Static {
        per_queue: Limit,
        drop_when: Compare,
    },
    /// Memory shared by all queues of the switch, dynamic threshold of Choudhury and Hahne: a frame is admitted iff the queue with it
    /// does not exceed `reserved + alpha * (total - used)` and the memory holds it.
    Shared {
        total: u64,
        alpha: f64,
        reserved_per_queue: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compare {
    #[default]
    Above,
    AtOrAbove,
}

/// ECN or RED on each queue: never below `kmin`, with probability rising to `pmax` at `kmax`, always above.
/// A step has `kmin == kmax` and `pmax` one. Frames that are not ECN-capable are dropped by the same curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Marking {
    pub kmin: Limit,
    pub kmax: Limit,
    pub pmax: Probability,
    pub at: MarkAt,
    /// Is a queue of exactly `kmin` marked (`AtOrAbove`) or not (`Above`)?
    pub compare: Compare,
    /// Weight of the newest sample in the average; `None` is the instantaneous length.
    pub average_weight: Option<f64>,
    /// Drop ECN-incapable frames by the same curve (RED, real switches' WRED); `false` lets them pass.
    pub drop_incapable: bool,
}

/// Which length a marking decision sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkAt {
    /// On arrival: the queue before the arriving frame joins it.
    Enqueue,
    /// At the start of transmission: what is left behind the departing frame.
    Dequeue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    Fifo,
    /// Highest `priority` first, FIFO within; `queues` from 2 to 8; priority p goes to queue `min(p, queues - 1)`.
    StrictPriority {
        queues: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    StoreAndForward,
    /// A frame may leave once `header` bytes of it have arrived, if its output is idle and not faster than its input;
    /// otherwise it is stored first.
    CutThrough {
        header: u16,
    },
}

/// Choice among equal-cost next hops.
#[derive(Debug, Clone, PartialEq)]
pub enum Balance {
    /// One path per flow by hash.
    Ecmp(RouteHash),
    /// Every data frame draws a next hop; acknowledgements too.
    Spray,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteHash {
    /// Each switch hashes with its own seed.
    OwnSeed,
    /// All switches hash alike: polarisation.
    SameSeed,
}
