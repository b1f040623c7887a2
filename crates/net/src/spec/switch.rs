//! Switches: buffers, marking, scheduling, forwarding, choice of path.

use super::queue::{Compare, Limit, Marking};
use super::{Aqm, Balance, RouteHash, Scheduling};
use afflux_config::words;
use afflux_units::Span;

#[derive(Debug, Clone, PartialEq)]
pub struct SwitchConfig {
    pub buffer: Buffer,
    pub marking: Option<Marking>,
    /// A discipline that controls delay on each queue; not beside marking.
    pub aqm: Option<Aqm>,
    pub scheduling: Scheduling,
    /// What each queue has of its own, one entry per queue; none: every queue is as said above.
    pub own: Vec<QueueConfig>,
    pub forwarding: Forwarding,
    /// Pipeline latency added to every frame between its arrival and its joining the output queue.
    pub latency: Span,
    pub balance: Balance,
    /// Of what goes by hash.
    pub hash: RouteHash,
    pub queue_length: QueueLength,
    /// Frames that wait, first in, first out, between the discipline and the transmitter. They have left the queue: above 0,
    /// `QueueLength::BeforeTransmission` holds with "leaves the queue" for "starts".
    pub device_queue: u32,
    /// Priority flow control of what arrives; only with `Buffer::Mmu` and `Buffer::Voq`.
    pub pfc: Option<super::Pfc>,
    /// Stops sending when told to.
    pub honours_pause: bool,
    /// Deals with what arrives; `None`: that takes no time. Not with cut-through or a memory management unit.
    pub processor: Option<super::Processor>,
}

impl SwitchConfig {
    /// The frame's hash and the switch's seed alone choose among equal-cost ports.
    pub fn hashes_plainly(&self) -> bool {
        self.balance == Balance::default() && self.hash != RouteHash::Murmur3
    }

    /// From a frame's arrival to when it may leave at the earliest.
    pub fn least_latency(&self) -> Span {
        match &self.buffer {
            Buffer::Voq(voq) => self.latency + voq.grant_latency,
            _ => self.latency,
        }
    }

    /// What the queue of a priority has of its own.
    pub fn own_of(&self, priority: u8) -> Option<&QueueConfig> {
        self.own.get(usize::from(self.scheduling.of_priority()[usize::from(priority & 7)]))
    }

    /// Queues of each port of a switch with `ports` of them.
    pub fn queues(&self, ports: usize) -> usize {
        let priorities = self.scheduling.queues() as usize;
        match &self.buffer {
            Buffer::Voq(voq) => priorities * voq.cores(ports),
            _ => priorities,
        }
    }
}

words! {
    /// Frames that count in a queue's length.
    #[derive(Default)]
    pub enum QueueLength {
        /// A frame as a whole until its last bit has left.
        #[default]
        ThroughTransmission,
        /// A frame until its transmission starts (ns-3's convention).
        BeforeTransmission,
        /// As `"before_transmission"`; in addition a frame that arrives exactly at the start still counts it (ns-3, if that arrival was planned first).
        ThroughStart,
    }
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
    /// Ingress and egress accounting. Without device queue and discipline, and not with `QueueLength::ThroughStart`.
    Mmu(super::Mmu),
    /// A deep buffer with virtual output queues at the ingress: one per core, egress port and class, in on-chip memory and DRAM.
    Voq(super::Voq),
}

/// A queue that is not as the switch's others.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueConfig {
    pub buffer: Buffer,
    /// On top of the buffer's rule, the most that this queue may hold.
    pub limit: Option<Limit>,
    pub marking: Option<Marking>,
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
