//! Input and result of a queue policy. Policies decide; `shard::count` marks, trims, drops and
//! counts.

/// Decision about a frame. A policy that also decides where a frame is charged returns that place,
/// or the [`Reason`] why the frame is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admit,
    /// The frame continues with Congestion Experienced set. Policies return this for ECN-capable
    /// frames only.
    Mark,
    /// The frame loses its payload and continues as a header of this many bytes.
    Trim(u16),
    Drop(Reason),
}

/// Reason why a frame is dropped. Each reason has a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No free memory at egress.
    Buffer,
    /// The DRAM of a deep-buffer switch cannot write the frame soon enough.
    Dram,
    /// The marking rule or an AQM dropped it.
    Red,
    /// The link lost the frame.
    Loss,
    /// The link, or every path, is down.
    Down,
    /// The frame is longer than the port at the other end of the link accepts.
    TooLong,
    /// The PFC watchdog drops the frames of a pause storm.
    Watchdog,
    /// No free memory at ingress: in the memory management unit, or in front of the processor.
    Ingress,
}

/// Occupancy of a queue, as input of a policy.
#[derive(Debug, Clone, Copy)]
pub struct QueueView {
    pub bytes: u64,
    pub frames: u32,
}

/// Fast-path limits: a frame within them is admitted and not marked, whatever the other counters
/// are. Callers may compare upper bounds of the occupancy with them.
#[derive(Debug, Clone, Copy)]
pub struct FastPathLimits {
    /// `used`: memory in use at the node in bytes. `queue`: bytes in the queue. Both include the
    /// frame. `frames`: the number of frames ahead must be below this.
    pub used: u64,
    pub queue: u64,
    pub frames: u32,
}

impl FastPathLimits {
    pub const ALWAYS: FastPathLimits =
        FastPathLimits { used: u64::MAX, queue: u64::MAX, frames: u32::MAX };
    pub const NEVER: FastPathLimits = FastPathLimits { used: 0, queue: 0, frames: 0 };

    pub fn and(self, other: FastPathLimits) -> FastPathLimits {
        FastPathLimits {
            used: self.used.min(other.used),
            queue: self.queue.min(other.queue),
            frames: self.frames.min(other.frames),
        }
    }
}
