//! State of ports with lanes and of their nodes: waiting frames, the current transmission, and the bounds within
//! which no policy has to be asked.

use super::arena::{Arena, Chain};
use super::rank_queue::RankQueue;
use crate::frame::Frame;
use crate::port::{PAUSE_QUEUE, Port};
use crate::queue::buffer::mmu::CLASSES;
use crate::queue::{QueueView, Reason};

/// Queues of a port that is not plain. The header and the first two queues share one cache line.
#[derive(Clone, Default)]
#[repr(C, align(64))]
pub struct Lane {
    /// Index of the queue of each priority.
    of_priority: [u8; CLASSES],
    /// Bit set of queues with frames.
    pub occupied: u8,
    /// True if the port is in the node's list of ports with waiting frames.
    pub listed: bool,
    /// True if the peer has paused a class, or had paused one at the last check: see
    /// `Hop::advance_rarely`.
    pub held: bool,
    /// True if the arena has the pause clocks of the frames: flow times are explained, and some
    /// frames may have waited while the peer paused them.
    pub clocked: bool,
    /// True if the queueing discipline of a host holds frames for this port.
    pub backlog: bool,
    /// True if `held`, `clocked` or `backlog` is true.
    pub rare: bool,
    /// Exact nodes: true if a transmission is in progress whose end has not been processed.
    pub sending: bool,
    /// True if the node is always exact because a port has more than first-in first-out queues and
    /// totals (see `shard::special`).
    pub special: bool,
    pub sent: Sent,
    pub queues: [Queue; CLASSES],
}

#[derive(Clone, Copy, Default)]
pub struct Queue {
    pub chain: Chain,
    pub waits: Length,
}

/// Length of a queue: bytes in the lower 36 bits, frames above, so that one addition counts both.
#[derive(Clone, Copy, Default)]
pub struct Length(u64);

/// Number of bits of the bytes in a `Length`.
const BYTES: u32 = 36;

impl Length {
    /// Returns the bytes within the bounds, which keep them below 2^32.
    #[inline(always)]
    pub fn bytes(self) -> u32 {
        self.0 as u32
    }
    pub fn all_bytes(self) -> u64 {
        self.0 & ((1 << BYTES) - 1)
    }
    pub fn frames(self) -> u32 {
        (self.0 >> BYTES) as u32
    }
    /// Adds a frame of `size` bytes.
    #[inline(always)]
    pub fn add(&mut self, size: u16) {
        self.0 += 1 << BYTES | size as u64;
    }
    /// Subtracts a frame of `size` bytes.
    #[inline(always)]
    pub fn take(&mut self, size: u16) {
        self.0 -= 1 << BYTES | size as u64;
    }
}

/// The frame whose transmission started last; `size` is 0 if there is none.
#[derive(Clone, Copy, Default)]
pub struct Sent {
    /// Port at which the frame arrived.
    pub input: u32,
    pub size: u16,
    /// Flags of the frame, of which only the class is of use later.
    pub flags: u16,
    /// Index of the queue; `PAUSE_QUEUE` for a PAUSE frame.
    pub queue: u8,
}

impl Sent {
    #[inline(always)]
    pub fn of(frame: &Frame, queue: u8) -> Self {
        Sent { input: frame.port, size: frame.size, flags: frame.flags, queue }
    }
    pub fn class(self) -> u8 {
        (self.flags & Frame::PRIORITY) as u8
    }
}

/// Kind of queues: first-in first-out, without a limit or with one of their own.
pub const OWN: u8 = 0;
/// Kind of queues: first-in first-out in shared memory, which is counted in total, and by ingress
/// port and class.
pub const SHARED: u8 = 1;
/// Kind of queues: one queue at each port, which sends and drops by rank (pFabric).
pub const RANKED: u8 = 2;

/// Kind of queues: one queue of data and one of headers at each port, which cuts data frames to
/// headers (NDP).
pub const TRIMMED: u8 = 3;

/// Memory account of a node.
pub struct NodeMemory {
    /// Bounds for lossy classes, and for lossless ones. Kind `TRIMMED`: `queue` is the limit of the
    /// data, and of the headers.
    pub limits: [Limits; 2],
    /// Bound in bytes for the size of a frame that finds its port idle. Within it the frame is
    /// neither dropped nor marked, and no cause for a PAUSE. 0 where waiting frames exceed a bound.
    pub idle: u32,
    /// Kind `TRIMMED`: size in bytes to which data frames are cut.
    pub header: u16,
    /// Bit set of lossless classes.
    pub lossless: u8,
    /// Kind of queues, a constant of `Hop`.
    pub kind: u8,
    /// Most bytes of memory that a frame takes beyond its own size.
    pub overhead: u32,
    /// Upper bound in bytes of the memory of waiting frames: in total, and by ingress port and
    /// class.
    pub used: u64,
    pub groups: Box<[u32]>,
    /// Time in ps before which an exact node stays exact.
    pub exact_until: u64,
    /// True in exact mode (see `shard::exact`): exact counters decide, and the bounds, `used` and
    /// `groups` have no meaning.
    pub exact: bool,
}

/// Bounds in bytes for the memory in use, for that of the priority group, and for the queue, each
/// including the arriving frame.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub used: u64,
    pub group: u32,
    pub queue: u32,
    /// Bound of the queue that follows from the shared memory alone, without marking and limits of
    /// the queue; at least `queue`.
    pub memory: u32,
}

impl NodeMemory {
    /// Returns the bounds for a frame of this class.
    #[inline(always)]
    pub fn limits_of(&self, class: u8) -> &Limits {
        &self.limits[(self.lossless >> class & 1) as usize]
    }
}

impl Limits {
    /// Largest 32-bit bound in bytes. Within it no 32-bit counter overflows.
    pub const MOST: u32 = 1 << 31;
    pub const NEVER: Limits = Limits { used: 0, group: 0, queue: 0, memory: 0 };
}

impl Lane {
    pub fn new(of_priority: [u8; CLASSES], special: bool) -> Self {
        Lane { of_priority, special, ..Lane::default() }
    }

    #[inline(always)]
    pub fn queue_of(&self, frame: &Frame) -> usize {
        self.of_priority[frame.priority() as usize] as usize % CLASSES
    }

    /// Calls `see` for each waiting frame of a port that does not send by rank, with its queue.
    pub fn each(&self, arena: &Arena, mut see: impl FnMut(u8, &Frame)) {
        for (queue, q) in
            self.queues.iter().enumerate().filter(|(queue, _)| self.occupied >> queue & 1 != 0)
        {
            arena.each(&q.chain, |frame| see(queue as u8, frame));
        }
    }

    /// Removes all frames of a class. Returns them with their queues.
    #[cold]
    pub fn take_class(&mut self, arena: &mut Arena, class: u8) -> Vec<(usize, Frame)> {
        let mut taken = Vec::new();
        let occupied = self.occupied;
        for queue in (0..CLASSES).filter(|queue| occupied >> queue & 1 != 0) {
            let q = &mut self.queues[queue];
            let (mut before, mut slot) = (None, q.chain.first());
            loop {
                let (last, behind) = (arena.is_last(&q.chain, slot), arena.behind(slot));
                if arena.at(slot).priority() == class {
                    match before {
                        Some(before) => {
                            arena.unlink(&mut q.chain, before);
                        }
                        None => self.occupied &= !((arena.take(&mut q.chain).1 as u8) << queue),
                    }
                    let frame = arena.release(slot);
                    q.waits.take(frame.size);
                    taken.push((queue, frame));
                } else {
                    before = Some(slot);
                }
                if last {
                    break;
                }
                slot = behind;
            }
        }
        taken
    }

    /// Returns the slots of all waiting frames of a port that does not send by rank.
    pub fn slots(&self, arena: &Arena) -> impl Iterator<Item = u32> {
        let occupied =
            self.queues.iter().enumerate().filter(|(queue, _)| self.occupied >> queue & 1 != 0);
        occupied.flat_map(|(_, q)| arena.slots(&q.chain))
    }

    /// Returns the highest queue whose first frame may start at `at`.
    #[inline(always)]
    pub fn first_free(&self, arena: &Arena, p: &Port, at: u64) -> Option<usize> {
        if !self.held {
            return (self.occupied != 0).then(|| 7 - self.occupied.leading_zeros() as usize);
        }
        let pause = p.pause().expect("a port that has been paused");
        let free =
            |queue: usize| pause.until(arena.first(&self.queues[queue].chain).priority()) <= at;
        (0..CLASSES).rev().find(|&queue| self.occupied >> queue & 1 != 0 && free(queue))
    }

    /// Updates the flags at `at`, because the peer's pauses may have ended.
    #[cold]
    pub fn look_again(&mut self, p: &Port, at: u64) {
        let pause = p.pause();
        self.held = pause.is_some_and(|pause| pause.holds_any(at));
        self.clocked &= self.held || self.backlog || self.occupied != 0;
        self.rare = self.held || self.clocked || self.backlog;
    }

    /// Returns the bytes that occupy the port's queues at `now`. `until_start`: bytes count only
    /// until their transmission starts.
    #[inline(always)]
    pub fn holds(&self, p: &Port, until_start: bool, now: u64) -> u64 {
        p.queued + if until_start { 0 } else { self.in_transmission(p, None, now) }
    }

    /// Returns the bytes in the ring of a host's card at `now`.
    #[inline(always)]
    pub fn ring(&self, p: &Port, now: u64) -> u64 {
        self.holds(p, false, now)
    }

    /// True if the ring is full, so that the queueing discipline of the host has to hold this
    /// frame. The port has been advanced to `now`.
    pub fn fills_ring(&self, p: &Port, frame: &Frame, now: u64) -> bool {
        let qdisc = p.qdisc();
        qdisc.is_some_and(|qdisc| {
            !frame.is_of_nic() && qdisc.takes(self.ring(p, now) + qdisc.bytes())
        })
    }

    /// Returns the bytes of `queue` that are in transmission at `now`; of any queue if `queue` is
    /// `None`.
    pub fn in_transmission(&self, p: &Port, queue: Option<usize>, now: u64) -> u64 {
        let counts = p.free_at > now
            && self.sent.queue != PAUSE_QUEUE
            && queue.is_none_or(|queue| queue == self.sent.queue as usize);
        if counts { self.sent.size as u64 } else { 0 }
    }

    /// Exact nodes: returns the bytes in transmission that count in the length of `queue`.
    #[inline(always)]
    pub fn bytes_sending(&self, until_start: bool, queue: usize) -> u64 {
        let counts = self.sending && !until_start && self.sent.queue as usize == queue;
        if counts { self.sent.size as u64 } else { 0 }
    }

    /// Returns the length of `queue`, including `sending` bytes of the frame in transmission (0 if
    /// it does not count).
    pub fn length(&self, queue: usize, sending: u64) -> QueueView {
        let waits = self.queues[queue].waits;
        QueueView {
            bytes: waits.all_bytes() + sending,
            frames: waits.frames() + (sending > 0) as u32,
        }
    }
}

/// Waiting frames of all lanes of a shard, and drops and marks that have not been counted yet.
#[derive(Default)]
pub struct Store {
    pub arena: Arena,
    /// Queue of each port, up to the last one of kind `RANKED`.
    pub rank_queues: Vec<RankQueue>,
    pub lost: Vec<Lost>,
    pub marks: u64,
    /// Bytes that were cut off.
    pub trimmed: u64,
    /// True if there are drops, marks or cuts to count.
    pub news: bool,
}

impl Store {
    /// Removes the next frame of a queue that is not empty. Returns its slot, which the caller has
    /// to release, and whether the queue is empty now.
    #[inline(always)]
    pub fn take<const KIND: u8>(&mut self, port: u32, chain: &mut Chain) -> (u32, bool) {
        if KIND == RANKED {
            self.rank_queues[port as usize].take(&mut self.arena)
        } else {
            self.arena.take(chain)
        }
    }

    /// Counts a mark. Returns the flag of a marked frame.
    pub fn mark(&mut self) -> u16 {
        (self.marks, self.news) = (self.marks + 1, true);
        Frame::CE
    }

    /// Counts bytes that were cut off.
    pub fn trim(&mut self, bytes: u16) {
        (self.trimmed, self.news) = (self.trimmed + bytes as u64, true);
    }

    pub fn lose(&mut self, lost: Lost) {
        self.lost.push(lost);
        self.news = true;
    }
}

/// A dropped frame that has not been counted yet.
pub struct Lost {
    pub port: u32,
    pub queue: u8,
    pub frame: Frame,
    pub reason: Reason,
}

/// Returns the start in ps of the next frame at a port with waiting frames: the first time at which
/// the transmitter is idle and a pause does not hold back all of them.
#[cold]
pub fn next_start(arena: &Arena, p: &Port, lane: &Lane) -> u64 {
    let pause = p.pause().expect("a port that is paused");
    let queues =
        lane.queues.iter().enumerate().filter(|(queue, _)| lane.occupied >> queue & 1 != 0);
    let free = queues
        .map(|(_, queue)| pause.until(arena.first(&queue.chain).priority()))
        .min()
        .expect("something waits");
    p.free_at.max(free)
}
