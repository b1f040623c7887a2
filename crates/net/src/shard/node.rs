//! Configuration and state of a node, except for its ports.

use super::lane::NodeMemory;
use super::policy::Policy;
use super::switch::{Balanced, Managed};
use crate::queue::buffer::{Buffer, Place};
use crate::queue::marking::Red;
use crate::queue::{FastPathLimits, QueueView, Verdict};
use crate::spec::NodeId;
use afflux_engine::random::Stream;

/// Configuration and state of one node, except for its ports.
pub struct Node {
    pub id: NodeId,
    pub first_port: u32,
    pub ports: u32,
    pub host: bool,
    /// True if arrivals take the slow path: the switch has a balancer (`balanced`), its links grant
    /// rates (PDQ, D3), or the host forwards frames of others (BCube).
    pub needs_slow_path: bool,
    /// True if arrivals need additional checks: the node has faulty links, sampled ports or a
    /// processor model.
    pub watched: bool,
    /// Bytes of a frame after which the node processes it (cut-through); `u16::MAX` if the node
    /// waits for the whole frame.
    pub header: u16,
    /// True if a frame counts in the occupancy until its transmission starts, or until it enters
    /// the device queue, instead of until its transmission ends.
    pub until_start: bool,
    /// True if a frame that arrives exactly at the end of a transmission still finds that
    /// transmission in progress (`QueueLength::ThroughStart`).
    pub arrivals_first: bool,
    pub hash_seed: u32,
    /// Memory in use in bytes; an upper bound until departed frames are released.
    pub used: u64,
    pub buffer: Buffer,
    pub managed: Option<Box<Managed>>,
    pub marking: Option<Red>,
    /// Fast-path limits: within them neither the buffer nor the marking rule drops or marks a
    /// frame.
    pub fast_path: FastPathLimits,
    /// True if any queue marks at the start of transmission.
    pub marks_at_start: bool,
    /// Limit and marking of each queue, if the queues differ. They replace `buffer` and `marking`.
    pub own: Option<Box<[Policy]>>,
    /// Random numbers for the choice of paths.
    pub stream: Stream,
    pub balanced: Option<Box<Balanced>>,
    /// Indices of the ports with waiting frames.
    pub active: Vec<u32>,
    /// Ports that send by rank: how many ps before its arrival at the peer a frame has to be
    /// chosen, if that may be after its transmission has started (see `Shard::finish_ranked`).
    pub defers: Option<u64>,
    /// Ports that send by rank: time in ps by which the node has to choose the next frame of a
    /// port.
    pub due: u64,
    /// Time in ps of the scheduled wake event; 0 if there is none.
    pub wake_at: u64,
    /// Window engine: true for a switch whose frames all pass in one loop: see `shard::eager`.
    pub eager: bool,
    /// Window engine: true for a switch that passes the frames of a window in a loop
    /// (`shard::pass`).
    pub loops: bool,
    /// Window engine: true if the node may leave exact mode, so that bounds decide: see
    /// `shard::bounds`.
    pub leaves_exact: bool,
    /// Bytes up to which the ring of a host's card takes frames; beyond, the kernel's queueing
    /// discipline holds them. `u64::MAX` without a discipline.
    pub ring: u64,
    pub memory: NodeMemory,
    /// Queue length in bytes: a frame that leaves less than this behind is not marked at the start
    /// of its transmission.
    pub marks_from: u32,
    /// True if a balancer may hold frames that are charged to the switch's memory.
    pub holds: bool,
}

impl Node {
    /// True if the node has a balancer that may read the metadata of frames.
    pub fn reads_tags(&self) -> bool {
        self.balanced.as_ref().is_some_and(|balanced| !balanced.sprays)
    }

    /// Decides whether a frame of `size` bytes may join `queue`. `exact`: the node's memory in use
    /// is exact, not an upper bound. Returns `None` if an upper bound does not decide, and for
    /// virtual output queues.
    #[inline(always)]
    pub fn admit(&self, queue: usize, view: QueueView, size: u64, exact: bool) -> Option<Verdict> {
        match &self.own {
            None => self.buffer.admit(view, size, self.used, exact),
            Some(own) => self.admit_by(own, queue, view, size, exact),
        }
    }

    #[cold]
    #[inline(never)]
    fn admit_by(
        &self,
        own: &[Policy],
        queue: usize,
        view: QueueView,
        size: u64,
        exact: bool,
    ) -> Option<Verdict> {
        // Virtual output queues have their own rules, and check the queue's limit themselves: see
        // `shard::voq`.
        if self.buffer.is_voq() { None } else { own[queue].admit(view, size, self.used, exact) }
    }

    /// Charges a frame to its place in the memory of virtual output queues.
    pub(super) fn join_voq(&mut self, now: u64, port: u32, queue: usize, size: u16, place: Place) {
        let Buffer::Voq(voq) = &mut self.buffer else {
            unreachable!("only such memories have places")
        };
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
