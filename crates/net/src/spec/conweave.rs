//! ConWeave: rerouting at the source's ToR, reordering at the destination's.

use afflux_units::Span;

/// Song et al., SIGCOMM 2023. Field by field: the name in the paper, or in the authors' code.
#[derive(Debug, Clone, PartialEq)]
pub struct Conweave {
    /// An RTT_REPLY is late after the path's propagation there and back and this (`extra_reply_deadline`).
    pub reply_extra: Span,
    /// A path of which a NOTIFY came is avoided for so long (theta_path_busy).
    pub path_busy: Span,
    /// A flow that was silent for longer begins a new epoch and may take another path (theta_inactive).
    pub inactive: Span,
    /// Added to the predicted arrival of a TAIL (`extra_voq_flush_time`).
    pub flush_extra: Span,
    /// How long to wait for a TAIL when no frame of the old path has been seen in its epoch (`default_voq_waiting_time`).
    pub default_wait: Span,
    /// A ToR forgets a flow that was silent for longer.
    pub age: Span,
    /// Most reorder queues per egress port; not with `Compat::Ns3`.
    pub reorder_queues: u16,
    pub manner: ConweaveManner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConweaveManner {
    /// As in the paper: epochs of two bits, four bytes of header, reorder queues that are a switch's own and take its memory.
    #[default]
    Paper,
    /// As in the authors' ns-3: epochs without end, no header, any number of reorder queues in memory that nobody counts, a flush one
    /// nanosecond after the TAIL.
    Ns3,
}
