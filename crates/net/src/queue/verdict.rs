//! The answer of a queue policy. Policies answer; `shard::count` marks, drops and counts.

/// What happens to a frame. A policy that also decides where a frame is charged answers with that place, or with the reason why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admit,
    /// The frame goes on with Congestion Experienced set. Policies answer so for ECN-capable frames only.
    Mark,
    Drop(Reason),
}

/// Why a frame is dropped. Each reason has a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No free memory at egress.
    Buffer,
    /// The DRAM of a deep-buffer switch cannot write the frame soon enough.
    Dram,
    /// Marking or an AQM dropped it.
    Red,
    /// The link lost it.
    Loss,
    /// The link, or every path, is down.
    Down,
    /// A watchdog drops the frames of a storm.
    Watchdog,
    /// No free memory at ingress: in the memory management unit, or before the processor.
    Ingress,
}
