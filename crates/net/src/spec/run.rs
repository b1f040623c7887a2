//! How to run and what to write down.

use super::{LinkId, NodeId};
use afflux_units::{Span, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// Window logs: the fast one.
    WindowLog,
    /// Binary heap, two events per hop: the oracle and the baseline.
    Classical,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FctEnd {
    /// The last byte is acknowledged at the sender.
    LastAck,
    /// The last byte has been received.
    LastByte,
}

#[derive(Debug, Clone)]
pub struct RunConfig {
    pub seed: u64,
    /// Stop after the events of this moment; `None` runs until nothing is left to happen.
    pub until: Option<Time>,
    /// Stop when all applications have done what they had to do, a latency later.
    pub until_done: bool,
    pub fct_end: FctEnd,
    pub engine: EngineKind,
    /// Worker threads of the window-log engine; results do not depend on it.
    pub threads: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Split every flow's completion time by cause.
    pub explain: bool,
    pub ports: Option<PortSeries>,
    /// Count frames per flow and path.
    pub paths: bool,
    /// Bytes sent per switch uplink in windows of this length.
    pub imbalance: Option<Span>,
    /// Reorder queues of each ToR, at intervals.
    pub reordering: Option<Span>,
    pub captures: Vec<Capture>,
}

/// A row per port, queue and interval.
#[derive(Debug, Clone)]
pub struct PortSeries {
    pub interval: Span,
    /// Nodes whose ports are sampled.
    pub nodes: Vec<NodeId>,
}

/// Every frame that starts on the wire in one direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    pub link: LinkId,
    /// `false`: from `Link::a` to `Link::b`.
    pub reverse: bool,
}
