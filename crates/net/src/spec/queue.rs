//! Queues: what disciplines are set to.

use afflux_units::Span;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Bytes(u64),
    Packets(u32),
}

/// HULL's phantom queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Phantom {
    /// Share of the link's rate at which the counter empties.
    pub drain: f64,
    /// Bytes.
    pub threshold: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Codel {
    pub target: Span,
    pub interval: Span,
    /// Mark ECN-capable frames instead of dropping them.
    pub ecn: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FqCodel {
    pub codel: Codel,
    /// Bytes per turn.
    pub quantum: u32,
    /// Number of buckets flows are hashed into.
    pub flows: u32,
    /// Frames in all flows together; above it the flow with the most bytes loses frames.
    pub limit: u32,
    /// At most so many at once.
    pub drop_batch: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pie {
    pub target: Span,
    pub t_update: Span,
    pub alpha: f64,
    pub beta: f64,
    pub burst_allowance: Span,
    pub ecn: bool,
    /// Probability above which ECN-capable frames are dropped too.
    pub ecn_threshold: f64,
    pub derandomize: bool,
}
