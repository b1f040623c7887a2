//! Question and answer of a queue policy. Policies answer; `shard::count` marks, trims, drops and counts.

/// What happens to a frame. A policy that also decides where a frame is charged answers with that place, or with the reason why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admit,
    /// The frame goes on with Congestion Experienced set. Policies answer so for ECN-capable frames only.
    Mark,
    /// The frame goes on as a header of so many bytes, without what it carried.
    Trim(u16),
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
    /// Longer than the port at the end of its link accepts.
    TooLong,
    /// A watchdog drops the frames of a storm.
    Watchdog,
    /// No free memory at ingress: in the memory management unit, or before the processor.
    Ingress,
}

/// A queue as a policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct QueueView {
    pub bytes: u64,
    pub frames: u32,
}

/// Bounds within which a frame is admitted, and not marked, whatever else is the case. They hold for upper bounds too.
#[derive(Debug, Clone, Copy)]
pub struct Calm {
    /// The node's memory in use with the frame, the queue with it, and the frames before it (fewer than this).
    pub used: u64,
    pub queue: u64,
    pub frames: u32,
}

impl Calm {
    pub const ALWAYS: Calm = Calm { used: u64::MAX, queue: u64::MAX, frames: u32::MAX };
    pub const NEVER: Calm = Calm { used: 0, queue: 0, frames: 0 };

    pub fn and(self, other: Calm) -> Calm {
        Calm { used: self.used.min(other.used), queue: self.queue.min(other.queue), frames: self.frames.min(other.frames) }
    }
}
