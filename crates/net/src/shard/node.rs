//! A node: everything of it but its ports.

use super::lane::Room;
use super::policy::Policy;
use super::switch::{Balanced, Managed};
use crate::queue::buffer::{Buffer, Place};
use crate::queue::marking::Red;
use crate::queue::{Calm, QueueView, Verdict};
use crate::spec::NodeId;
use afflux_engine::random::Stream;

/// Everything of one node but its ports.
pub struct Node {
    pub id: NodeId,
    pub first_port: u32,
    pub ports: u32,
    pub host: bool,
    /// More is to be done with what arrives than to choose its way by hash: it has `balanced`, or its links grant rates. Of a host: it forwards.
    pub aside: bool,
    /// Has faulty links or sampled ports: arrivals are looked at more closely.
    pub watched: bool,
    /// Bytes after which a frame is dealt with; `u16::MAX` for whole frames.
    pub header: u16,
    /// Occupancy ends at the start of transmission.
    pub until_start: bool,
    /// What arrives at the instant at which a transmission ends finds it under way.
    pub arrivals_first: bool,
    pub hash_seed: u32,
    /// Memory in use; an upper bound between settlings.
    pub used: u64,
    pub buffer: Buffer,
    pub managed: Option<Box<Managed>>,
    pub marking: Option<Red>,
    /// What neither of them minds.
    pub calm: Calm,
    /// Some queue marks at the start of transmission.
    pub marks_at_start: bool,
    /// What each queue has instead, where they differ.
    pub own: Option<Box<[Policy]>>,
    /// Draws for choices of paths.
    pub stream: Stream,
    pub balanced: Option<Box<Balanced>>,
    /// Ports with waiting frames.
    pub active: Vec<u32>,
    /// Window engine: its ports have rings, from this one on, and no automata: see `shard::urgent`.
    pub urgent: bool,
    pub first_ring: u32,
    /// What starts there may be decided on later, by `due`.
    pub defers: bool,
    pub due: u64,
    /// The wake event under way, 0 for none.
    pub wake_at: u64,
    /// Window engine: a switch whose frames all pass in one loop: see `shard::eager`.
    pub eager: bool,
    /// Window engine: a switch that passes the frames of a window in a loop (`shard::pass`, `shard::urgent`).
    pub loops: bool,
    /// Window engine: its ports may be open, and are: see `shard::hop`.
    pub opens: bool,
    /// Bytes that the ring of a host's card holds at least before the kernel's queueing discipline takes frames; no limit without one.
    pub ring: u64,
    pub open: bool,
    pub room: Room,
    /// A queue that leaves less than this behind is not marked at the start of transmission.
    pub quiet_start: u32,
    /// A balancer holds frames that are charged.
    pub holds: bool,
}

impl Node {
    /// It has a balancer that may look at what frames carry.
    pub fn reads_tags(&self) -> bool {
        self.balanced.as_ref().is_some_and(|balanced| !balanced.sprays)
    }

    /// May a frame of `size` bytes join `queue`? With `exact` the node's memory in use is no upper bound but the truth.
    #[inline(always)]
    pub fn admit(&self, queue: usize, view: QueueView, size: u64, exact: bool) -> Option<Verdict> {
        match &self.own {
            None => self.buffer.admit(view, size, self.used, exact),
            Some(own) => self.admit_by(own, queue, view, size, exact),
        }
    }

    #[cold]
    #[inline(never)]
    fn admit_by(&self, own: &[Policy], queue: usize, view: QueueView, size: u64, exact: bool) -> Option<Verdict> {
        // Virtual output queues have rules of their own: see `shard::voq`, which also asks for the queue's limit.
        if self.buffer.is_voq() { None } else { own[queue].admit(view, size, self.used, exact) }
    }

    /// A frame takes its place in the memory of virtual output queues.
    pub(super) fn join_voq(&mut self, now: u64, port: u32, queue: usize, size: u16, place: Place) {
        let Buffer::Voq(voq) = &mut self.buffer else { unreachable!("only such memories have places") };
        voq.join(now, port - self.first_port, queue, size, place);
    }

    #[inline(always)]
    pub fn marking(&self, queue: usize) -> Option<&Red> {
        match &self.own {
            None => self.marking.as_ref(),
            Some(own) => marking_by(own, queue),
        }
    }
}

impl Node {
    pub(super) fn balanced(&mut self) -> &mut Balanced {
        self.balanced.as_mut().expect("a switch that does not simply hash")
    }
}

#[cold]
#[inline(never)]
fn marking_by(own: &[Policy], queue: usize) -> Option<&Red> {
    own[queue].marking.as_ref()
}
