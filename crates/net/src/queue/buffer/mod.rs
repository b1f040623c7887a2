//! Buffer policies of switches and hosts: whether a frame may occupy memory. A policy decides; the
//! port acts and counts.

pub mod mmu;
mod shared;
pub mod shares;
pub mod sharing;
mod static_limit;
mod voq;

pub use shared::Shared;
pub use static_limit::StaticLimit;
pub use voq::{Config as VoqConfig, Ingress as VoqIngress, Keys as VoqKeys, Place, Voq};

use crate::queue::{FastPathLimits, QueueView, Reason, Verdict};
use crate::spec;
use afflux_units::Rate;

/// Buffer policy of one node.
#[derive(Debug, Clone)]
pub enum Buffer {
    Unlimited,
    Static(StaticLimit),
    Shared(Shared),
    Voq(Box<Voq>),
}

impl Buffer {
    pub fn fast_path(&self) -> FastPathLimits {
        match self {
            Buffer::Unlimited => FastPathLimits::ALWAYS,
            Buffer::Static(limit) => limit.fast_path(),
            Buffer::Shared(shared) => shared.fast_path(),
            // Virtual output queues have to account for every frame.
            Buffer::Voq(_) => FastPathLimits::NEVER,
        }
    }

    /// Creates the buffer policy of a node whose ports have these rates and `queues` queues each.
    pub fn new(config: &spec::Buffer, rates: &[Rate], queues: usize) -> Self {
        match config {
            // The MMU is consulted separately, because it needs the ingress port of a frame.
            spec::Buffer::Unlimited | spec::Buffer::Mmu(_) => Buffer::Unlimited,
            spec::Buffer::Static { per_queue, drop_when } => {
                Buffer::Static(StaticLimit { limit: *per_queue, drop_when: *drop_when })
            }
            spec::Buffer::Shared { total, alpha, reserved_per_queue } => {
                Buffer::Shared(Shared::new(*total, *alpha, *reserved_per_queue))
            }
            spec::Buffer::Voq(voq) => Buffer::Voq(Box::new(Voq::new(voq, rates, queues))),
        }
    }

    /// Decides whether a frame of `size` bytes may join `queue`. `used` is the node's memory in use
    /// in bytes: exact, or (`exact == false`) an upper bound. `None` means that the upper bound
    /// does not decide: the caller releases all departed frames and calls again with the exact
    /// value. Virtual output queues always return `None`, because they have their own rules
    /// ([`Voq::admit`]).
    #[inline(always)]
    pub fn admit(&self, queue: QueueView, size: u64, used: u64, exact: bool) -> Option<Verdict> {
        let admitted = match self {
            Buffer::Unlimited => true,
            Buffer::Static(limit) => return Some(limit.admit(queue, size)),
            Buffer::Shared(shared) => shared.admit(queue, size, used),
            Buffer::Voq(_) => return None,
        };
        if !admitted && !exact {
            return self.refuse(queue, size);
        }
        Some(if admitted { Verdict::Admit } else { Verdict::Drop(Reason::Buffer) })
    }

    /// True if the node has virtual output queues.
    pub fn is_voq(&self) -> bool {
        matches!(self, Buffer::Voq(_))
    }

    /// Handles a frame that the upper bound of the memory in use refuses. If the frame is refused
    /// even with no more memory in use than this queue's own bytes, the drop is certain. Otherwise
    /// `None`.
    #[cold]
    fn refuse(&self, queue: QueueView, size: u64) -> Option<Verdict> {
        match self {
            Buffer::Shared(shared) if shared.admit(queue, size, queue.bytes) => None,
            _ => Some(Verdict::Drop(Reason::Buffer)),
        }
    }
}

pub fn models() -> Vec<crate::Model> {
    [&[static_limit::MODEL, shared::MODEL, voq::MODEL], mmu::MODELS].concat()
}
