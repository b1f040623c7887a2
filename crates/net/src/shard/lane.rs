//! State of open ports and nodes: waiting frames, the transmission under way, and the bounds within which no rule has to be asked.

use super::arena::{Arena, Chain};
use crate::frame::Frame;
use crate::port::{PAUSE_QUEUE, Port};
use crate::queue::buffer::mmu::CLASSES;
use crate::queue::{QueueView, Reason};

/// The queues of an open port. The header and two queues are in one cache line.
#[derive(Clone, Default)]
#[repr(C, align(64))]
pub struct Lane {
    /// The queue of each priority.
    of_priority: [u8; CLASSES],
    /// Queues with frames, a bit for each.
    pub occupied: u8,
    /// In the node's list of ports with waiting frames.
    pub listed: bool,
    /// The peer has paused a class, or had done so when the port was looked at last: see `Hop::advance_rarely`.
    pub held: bool,
    /// The arena has the clocks of its frames: some may have waited while the peer paused them, and flows' times are explained.
    pub clocked: bool,
    /// The queueing discipline of a host holds frames for this port.
    pub backlog: bool,
    /// `held`, `clocked` or `backlog`.
    pub rare: bool,
    /// Exact nodes: a transmission is under way, whose end has not been seen to.
    pub sending: bool,
    pub sent: Sent,
    pub queues: [Queue; CLASSES],
}

#[derive(Clone, Copy, Default)]
pub struct Queue {
    pub chain: Chain,
    pub waits: Length,
}

/// Length of a queue: bytes in the lower half, frames in the upper one, so that one addition counts both. Bounds keep the bytes below 2^32.
#[derive(Clone, Copy, Default)]
pub struct Length(u64);

impl Length {
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0 as u32
    }
    pub fn frames(self) -> u32 {
        (self.0 >> 32) as u32
    }
    /// A frame of this size joins, or leaves.
    #[inline(always)]
    pub fn add(&mut self, size: u16) {
        self.0 += 1 << 32 | size as u64;
    }
    #[inline(always)]
    pub fn take(&mut self, size: u16) {
        self.0 -= 1 << 32 | size as u64;
    }
}

/// The frame whose transmission started last; of no bytes if there is none.
#[derive(Clone, Copy, Default)]
pub struct Sent {
    /// Port at which the frame came in.
    pub input: u32,
    pub size: u16,
    /// `PAUSE_QUEUE` for a PAUSE frame.
    pub queue: u8,
    pub class: u8,
}

impl Sent {
    pub fn of(frame: &Frame, queue: u8) -> Self {
        Sent { input: frame.port, size: frame.size, queue, class: frame.priority() }
    }
}

/// The memory of an open node.
pub struct Room {
    /// For lossy and lossless classes.
    pub limits: [Limits; 2],
    pub lossless: u8,
    /// Memory is counted, because it is shared: all, and that of each ingress port and class.
    pub counts: bool,
    /// Frames take at most so much more memory than they have bytes.
    pub overhead: u32,
    /// Memory of what waits, at most: of all, and of each ingress port and class.
    pub used: u64,
    pub groups: Box<[u32]>,
    /// A closed node is not opened before, and an exact one stays so.
    pub closed_until: u64,
    /// The memory management unit is asked, see `shard::exact`: bounds, `used` and `groups` mean nothing.
    pub exact: bool,
}

/// Bounds, with the frame that comes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub used: u64,
    pub group: u32,
    pub queue: u32,
    /// The part of `queue` that is due to the shared memory.
    pub memory: u32,
}

impl Room {
    /// Bounds for a frame of this class.
    #[inline(always)]
    pub fn limits_of(&self, class: u8) -> &Limits {
        &self.limits[(self.lossless >> class & 1) as usize]
    }
}

impl Limits {
    /// No figure of 32 bits overflows within this.
    pub const MOST: u32 = 1 << 31;
    pub const NEVER: Limits = Limits { used: 0, group: 0, queue: 0, memory: 0 };
}

impl Lane {
    pub fn new(of_priority: [u8; CLASSES]) -> Self {
        Lane { of_priority, ..Lane::default() }
    }

    #[inline(always)]
    pub fn queue_of(&self, frame: &Frame) -> usize {
        self.of_priority[frame.priority() as usize] as usize % CLASSES
    }

    /// Frames that wait, with their queues.
    pub fn each(&self, arena: &Arena, mut see: impl FnMut(u8, &Frame)) {
        for (queue, q) in self.queues.iter().enumerate().filter(|(queue, _)| self.occupied >> queue & 1 != 0) {
            arena.each(&q.chain, |frame| see(queue as u8, frame));
        }
    }

    /// The highest queue whose first frame may start at `at`.
    #[inline(always)]
    pub fn first_free(&self, arena: &Arena, p: &Port, at: u64) -> Option<usize> {
        if !self.held {
            return (self.occupied != 0).then(|| 7 - self.occupied.leading_zeros() as usize);
        }
        let pause = p.pause().expect("a port that has been paused");
        let free = |queue: usize| pause.until(arena.first(&self.queues[queue].chain).priority()) <= at;
        (0..CLASSES).rev().find(|&queue| self.occupied >> queue & 1 != 0 && free(queue))
    }

    /// The peer's pauses may be over at `at`.
    #[cold]
    pub fn look_again(&mut self, p: &Port, at: u64) {
        let pause = p.pause();
        self.held = pause.is_some_and(|pause| pause.holds_any(at));
        self.clocked &= self.held || self.backlog || self.occupied != 0;
        self.rare = self.held || self.clocked || self.backlog;
    }

    /// Bytes that count in the port's queues at `now`, those in transmission unless bytes count only until their transmission starts.
    #[inline(always)]
    pub fn holds(&self, p: &Port, until_start: bool, now: u64) -> u64 {
        p.queued + if until_start { 0 } else { self.in_transmission(p, None, now) }
    }

    /// Bytes in the ring of a host's card at `now`.
    #[inline(always)]
    pub fn ring(&self, p: &Port, now: u64) -> u64 {
        self.holds(p, false, now)
    }

    /// Whether the queueing discipline of the host has to hold this frame, because the ring is full. The port has been brought to `now`.
    pub fn fills_ring(&self, p: &Port, frame: &Frame, now: u64) -> bool {
        let qdisc = p.qdisc();
        qdisc.is_some_and(|qdisc| !frame.is_of_nic() && qdisc.takes(self.ring(p, now) + qdisc.bytes()))
    }

    /// Bytes of `queue`, or of any (none), that are in transmission at `now`.
    pub fn in_transmission(&self, p: &Port, queue: Option<usize>, now: u64) -> u64 {
        let counts = p.free_at > now && self.sent.queue != PAUSE_QUEUE && queue.is_none_or(|queue| queue == self.sent.queue as usize);
        if counts { self.sent.size as u64 } else { 0 }
    }

    /// Length of `queue`, with the frame in transmission of this size (0: none that counts).
    pub fn length(&self, queue: usize, sending: u64) -> QueueView {
        let waits = self.queues[queue].waits;
        QueueView { bytes: waits.bytes() as u64 + sending, frames: waits.frames() + (sending > 0) as u32 }
    }
}

/// Waiting frames of all open ports of a shard, and drops and marks that have yet to be counted.
#[derive(Default)]
pub struct Store {
    pub arena: Arena,
    pub lost: Vec<Lost>,
    pub marks: u64,
    /// There are drops or marks to count.
    pub news: bool,
}

impl Store {
    /// Counts a mark. Returns the flag of a marked frame.
    pub fn mark(&mut self) -> u16 {
        (self.marks, self.news) = (self.marks + 1, true);
        Frame::CE
    }

    pub fn lose(&mut self, lost: Lost) {
        self.lost.push(lost);
        self.news = true;
    }
}

/// A frame that is dropped.
pub struct Lost {
    pub port: u32,
    pub queue: u8,
    pub frame: Frame,
    pub reason: Reason,
}

/// Start of the next frame at a port where some wait: the transmitter is free then, and a pause does not hold back all of them.
#[cold]
pub fn next_start(arena: &Arena, p: &Port, lane: &Lane) -> u64 {
    let pause = p.pause().expect("a port that is paused");
    let queues = lane.queues.iter().enumerate().filter(|(queue, _)| lane.occupied >> queue & 1 != 0);
    let free = queues.map(|(_, queue)| pause.until(arena.first(&queue.chain).priority())).min().expect("something waits");
    p.free_at.max(free)
}
