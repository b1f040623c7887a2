//! Who may occupy memory. A policy answers; the port acts and counts.

pub mod mmu;
mod shared;
mod static_limit;
mod voq;

pub use shared::Shared;
pub use static_limit::StaticLimit;
pub use voq::{Place, Refusal, Voq};

use crate::spec;
use afflux_units::Rate;

/// What an admission policy says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admit,
    /// Under an upper bound of the memory in use the answer would be no: release every port, then ask again.
    Unsure,
    Drop,
    /// The port has virtual output queues, which have rules of their own.
    Aside,
}

/// The memory of one node.
#[derive(Debug, Clone)]
pub enum Buffer {
    Unlimited,
    Static(StaticLimit),
    Shared(Shared),
    Voq(Box<Voq>),
}

/// A queue as a policy sees it.
#[derive(Debug, Clone, Copy)]
pub struct QueueView {
    pub bytes: u64,
    pub frames: u32,
}

impl Buffer {
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

    /// May a frame of `size` bytes join `queue`? `used` is the node's memory in use, exact or (`exact == false`) an upper bound.
    #[inline(always)]
    pub fn admit(&self, queue: QueueView, size: u64, used: u64, exact: bool) -> Verdict {
        let admitted = match self {
            Buffer::Unlimited => true,
            Buffer::Static(limit) => return limit.admit(queue, size),
            Buffer::Shared(shared) => shared.admit(queue, size, used),
            Buffer::Voq(_) => return Verdict::Aside,
        };
        if !admitted && !exact {
            return self.refuse(queue, size);
        }
        if admitted { Verdict::Admit } else { Verdict::Drop }
    }

    /// Not admitted under an upper bound of the memory in use. Nor with no more in use than this queue's own: then the bound does not matter.
    #[cold]
    fn refuse(&self, queue: QueueView, size: u64) -> Verdict {
        match self {
            Buffer::Shared(shared) if shared.admit(queue, size, queue.bytes) => Verdict::Unsure,
            _ => Verdict::Drop,
        }
    }
}

pub fn models() -> Vec<crate::Model> {
    [&[static_limit::MODEL, shared::MODEL, voq::MODEL], mmu::MODELS].concat()
}
