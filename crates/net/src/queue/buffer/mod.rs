//! Who may occupy memory. A policy answers; the port acts and counts.

pub mod mmu;
mod shared;
mod static_limit;
mod voq;

pub use shared::Shared;
pub use static_limit::StaticLimit;
pub use voq::{Config as VoqConfig, Ingress as VoqIngress, Keys as VoqKeys, Place, Voq};

use crate::queue::{Calm, QueueView, Reason, Verdict};
use crate::spec;
use afflux_units::Rate;

/// The memory of one node.
#[derive(Debug, Clone)]
pub enum Buffer {
    Unlimited,
    Static(StaticLimit),
    Shared(Shared),
    Voq(Box<Voq>),
}

impl Buffer {
    pub fn calm(&self) -> Calm {
        match self {
            Buffer::Unlimited => Calm::ALWAYS,
            Buffer::Static(limit) => limit.calm(),
            Buffer::Shared(shared) => shared.calm(),
            // It has to know of every frame.
            Buffer::Voq(_) => Calm::NEVER,
        }
    }

    /// Of a node with ports of these rates, each with so many queues.
    pub fn new(config: &spec::Buffer, rates: &[Rate], queues: usize) -> Self {
        match config {
            // An MMU is asked apart: it needs to know the frame's ingress.
            spec::Buffer::Unlimited | spec::Buffer::Mmu(_) => Buffer::Unlimited,
            spec::Buffer::Static { per_queue, drop_when } => Buffer::Static(StaticLimit { limit: *per_queue, drop_when: *drop_when }),
            spec::Buffer::Shared { total, alpha, reserved_per_queue } => Buffer::Shared(Shared::new(*total, *alpha, *reserved_per_queue)),
            spec::Buffer::Voq(voq) => Buffer::Voq(Box::new(Voq::new(voq, rates, queues))),
        }
    }

    /// May a frame of `size` bytes join `queue`? `used` is the node's memory in use, exact or (`exact == false`) an upper bound. No answer means that
    /// these figures do not settle it: release every port, then ask again with the exact memory in use. Virtual output queues never answer here;
    /// they have rules of their own ([`Voq::admit`]).
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

    /// Has it virtual output queues?
    pub fn is_voq(&self) -> bool {
        matches!(self, Buffer::Voq(_))
    }

    /// Not admitted under an upper bound of the memory in use. Nor with no more in use than this queue's own: then the bound does not matter.
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
