//! Specifies switches: buffers, marking, scheduling, forwarding and the choice of path.

use super::{Aqm, Balance, Compare, Limit, Marking, RouteHash, Scheduling};
use afflux_config::words;
use afflux_units::Span;

#[derive(Debug, Clone, PartialEq)]
pub struct SwitchConfig {
    pub buffer: Buffer,
    pub marking: Option<Marking>,
    /// Discipline that controls the delay of each queue. It excludes marking.
    pub aqm: Option<Aqm>,
    pub scheduling: Scheduling,
    /// Individual settings of the queues, one entry per queue. Empty: all queues have the settings
    /// above.
    pub own: Vec<QueueConfig>,
    pub forwarding: Forwarding,
    /// Pipeline latency of every frame between its arrival and joining the output queue.
    pub latency: Span,
    pub balance: Balance,
    /// Hash for frames whose path is chosen by hash.
    pub hash: RouteHash,
    pub queue_length: QueueLength,
    /// Capacity in frames of the FIFO between the queue discipline and the transmitter. Frames in
    /// it have left the queue. Above 0, `QueueLength::BeforeTransmission` counts a frame until it
    /// leaves the queue instead of until its transmission starts.
    pub device_queue: u32,
    /// Priority flow control for arriving frames; only with `Buffer::Mmu` and `Buffer::Voq`.
    pub pfc: Option<super::Pfc>,
    /// True if ports stop sending when they receive a PAUSE frame.
    pub honours_pause: bool,
    /// Processor for arriving frames; `None`: processing takes no time. It excludes cut-through and
    /// a memory management unit.
    pub processor: Option<super::Processor>,
}

impl SwitchConfig {
    /// True if only the hash of the frame and the seed of the switch choose among equal-cost ports.
    pub fn hashes_plainly(&self) -> bool {
        self.balance == Balance::default() && self.hash != RouteHash::Murmur3
    }

    /// Returns the minimum time from the arrival of a frame until it may leave.
    pub fn least_latency(&self) -> Span {
        match &self.buffer {
            Buffer::Voq(voq) => self.latency + voq.grant_latency,
            _ => self.latency,
        }
    }

    /// Returns the individual settings of the queue of a priority.
    pub fn own_of(&self, priority: u8) -> Option<&QueueConfig> {
        self.own.get(usize::from(self.scheduling.of_priority()[usize::from(priority & 7)]))
    }

    /// Returns the number of queues of each port, for a switch with `ports` ports.
    pub fn queues(&self, ports: usize) -> usize {
        let priorities = self.scheduling.queues() as usize;
        match &self.buffer {
            Buffer::Voq(voq) => priorities * voq.cores(ports),
            _ => priorities,
        }
    }
}

words! {
    /// Frames that count in the length of a queue.
    #[derive(Default)]
    pub enum QueueLength {
        /// Counts the whole frame until its last bit has left.
        #[default]
        ThroughTransmission,
        /// Counts a frame until its transmission starts (convention of ns-3).
        BeforeTransmission,
        /// Like `"before_transmission"`, but a frame that arrives exactly at the start of a
        /// transmission still counts the frame that starts (ns-3, if that arrival was scheduled
        /// first).
        ThroughStart,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Buffer {
    Unlimited,
    /// Separate limit for every queue. A frame is dropped if the queue would exceed the limit
    /// (`Compare::Above`) or reach it (`Compare::AtOrAbove`, the convention of ns-2).
    Static {
        per_queue: Limit,
        drop_when: Compare,
    },
    /// Memory shared by all queues of the switch, with the dynamic threshold of Choudhury and
    /// Hahne. A frame is admitted if the queue including it does not exceed `reserved + alpha *
    /// (total - used)` and the memory can hold it.
    Shared {
        total: u64,
        alpha: f64,
        reserved_per_queue: u64,
    },
    /// Shared memory with ingress and egress accounting. It excludes a device queue, a discipline
    /// and `QueueLength::ThroughStart`.
    Mmu(super::Mmu),
    /// Deep buffer with virtual output queues at the ingress, in on-chip memory and DRAM: one queue
    /// per core, egress port and class.
    Voq(super::Voq),
}

/// Individual settings of a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueConfig {
    pub buffer: Buffer,
    /// Maximum length of this queue, in addition to the rule of the buffer.
    pub limit: Option<Limit>,
    pub marking: Option<Marking>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    StoreAndForward,
    /// Cut-through: a frame may leave after `header` bytes of it have arrived, if its output is
    /// idle and not faster than its input. Otherwise the frame is stored first.
    CutThrough {
        header: u16,
    },
}
