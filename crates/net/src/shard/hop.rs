//! One hop: a frame comes to an open port, waits if it has to, and leaves.
//!
//! The node of an open port pauses nobody and records nothing but totals; the peer may pause it. The policies of the node publish bounds (`Limits`). A frame
//! within the bounds is admitted, unmarked, and no cause to pause, whatever the other counters are. Most frames are compared with the bounds and with nothing
//! else. Bytes are counted until their transmission starts. The bounds allow for one frame in transmission at each port, so a frame that finds its port idle is
//! counted nowhere, and nothing happens at the end of a transmission.
//!
//! A frame beyond a bound is judged by exact figures: first by those of its own queue, then by those of the whole node. If only the memory management unit can
//! judge it, the node becomes exact (`shard::exact`). `shard::offers` has what the node does with its ports, and `shard::held` ports that the peer has paused.
//! `shard::open` opens nodes, and closes them for watchdogs. The ports of a closed node are automata (`shard::forward`).

use super::count::{mark_at_arrival, mark_at_start};
use super::lane::{Lane, Length, Limits, Lost, Sent, Store};
use super::way::send;
use super::{Node, Outlet, Slab};
use crate::frame::{Change, Extra, Frame};
use crate::port::Port;
use crate::queue::{QueueView, Verdict};

/// The fate of a frame beyond a bound.
enum Closer {
    /// The frame is admitted and has these flags from now on.
    Goes(u16),
    Dropped,
    /// The figures of the port do not suffice.
    Unknown,
}

/// The state around a port, borrowed once for many frames. `COUNTS`: the node shares memory, which has to be counted.
pub(super) struct Hop<'s, O, const COUNTS: bool> {
    pub out: &'s mut O,
    pub extras: &'s mut Slab<Extra>,
    pub store: &'s mut Store,
    pub state: &'s mut Node,
}

impl<O: Outlet, const COUNTS: bool> Hop<'_, O, COUNTS> {
    /// Starts all transmissions that are due by `now`.
    #[inline(always)]
    pub(super) fn advance(&mut self, p: &mut Port, lane: &mut Lane, port: u32, now: u64) {
        if lane.rare {
            return self.advance_rarely(p, lane, port, 0, now);
        }
        while p.free_at <= now && lane.occupied != 0 {
            self.start_first::<false>(p, lane, port, 7 - lane.occupied.leading_zeros() as usize, p.free_at);
        }
    }

    /// The transmitter is free at `at`, and the first frame of this queue leaves. Returns the frame, and `false` if marking has dropped it.
    #[inline(always)]
    pub(super) fn start_first<const RARE: bool>(&mut self, p: &mut Port, lane: &mut Lane, port: u32, queue: usize, at: u64) -> (Sent, bool) {
        let q = &mut lane.queues[queue];
        let clock = if RARE && lane.clocked { self.store.arena.clock(&q.chain) } else { 0 };
        let (mut frame, empty) = self.store.arena.pop(&mut q.chain);
        q.waits.take(frame.size);
        let behind = q.waits;
        lane.occupied &= !((empty as u8) << queue);
        p.queued -= frame.size as u64;
        self.give_back(&frame);
        if behind.bytes() >= self.state.quiet_start {
            match self.judge_start(p, port, queue, behind, &frame) {
                Some(flags) => frame.flags = flags,
                None => return (Sent::of(&frame, queue as u8), false),
            }
        }
        if RARE && lane.clocked {
            frame = self.tell_pause(p, at, clock, frame);
        }
        self.start(p, lane, port, at, queue, &frame, frame.to(p.peer_port));
        (lane.sent, true)
    }

    /// Takes a frame for this port, which has `hash` from now on. `used`: the exact memory in use, if it is known. Returns `false`, and does nothing, if the
    /// figures of the port do not suffice to judge the frame.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn offer(&mut self, p: &mut Port, lane: &mut Lane, port: u32, now: u64, frame: &Frame, hash: u32, used: Option<u64>) -> bool {
        self.advance(p, lane, port, now);
        let class = frame.priority();
        let queue = lane.queue_of(frame);
        let limits = self.state.room.limits_of(class);
        let mut flags = frame.flags;
        if lane.queues[queue].waits.bytes() + frame.size as u32 > limits.queue || self.exceeds(limits, frame) || used.is_some() {
            match self.look_closely(p, lane, port, queue, now, frame, used) {
                Closer::Goes(marked) => flags = marked,
                Closer::Dropped => return true,
                Closer::Unknown => return false,
            }
        }
        if p.free_at <= now && !lane.held {
            self.start(p, lane, port, now, queue, frame, Change { port: p.peer_port, hash, flags });
            return true;
        }
        self.take(frame);
        self.wait(p, lane, port, now, queue, Frame { hash, flags, ..*frame });
        true
    }

    /// Starts the transmission of a frame at `at`, when the transmitter is free.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn start(&mut self, p: &mut Port, lane: &mut Lane, port: u32, at: u64, queue: usize, frame: &Frame, change: Change) {
        let (at, time) = p.begin(at, frame);
        p.count_sent(frame.size, time);
        lane.sent = Sent::of(frame, queue as u8);
        if O::CLASSICAL {
            // The sooner of the two events first: it has less far to sink.
            self.out.sent(p.free_at, port);
        }
        send(self.out, self.extras, p, at, time, frame, change);
    }

    #[inline(always)]
    pub(super) fn wait(&mut self, p: &mut Port, lane: &mut Lane, port: u32, now: u64, queue: usize, frame: Frame) {
        self.push(p, lane, port, queue, frame);
        if lane.rare {
            self.wait_rarely(p, lane, port, now, queue, frame.priority());
        }
    }

    /// A frame joins its queue.
    #[inline(always)]
    pub(super) fn push(&mut self, p: &mut Port, lane: &mut Lane, port: u32, queue: usize, frame: Frame) {
        let (bit, q) = (1 << queue, &mut lane.queues[queue]);
        q.waits.add(frame.size);
        p.queued += frame.size as u64;
        self.store.arena.push(&mut q.chain, lane.occupied & bit == 0, frame);
        lane.occupied |= bit;
        if !lane.listed {
            lane.listed = true;
            self.state.active.push(port);
        }
    }

    /// Whether the memory in use would exceed a bound with this frame.
    #[inline(always)]
    fn exceeds(&self, limits: &Limits, frame: &Frame) -> bool {
        let cost = frame.size as u32 + self.state.room.overhead;
        COUNTS && (self.state.room.used + cost as u64 > limits.used || self.state.room.groups[self.state.group_of(frame)] + cost > limits.group)
    }

    #[inline(always)]
    fn take(&mut self, frame: &Frame) {
        let cost = frame.size as u32 + self.state.room.overhead;
        if COUNTS {
            let group = self.state.group_of(frame);
            self.state.room.used += cost as u64;
            self.state.room.groups[group] += cost;
        }
    }

    #[inline(always)]
    pub(super) fn give_back(&mut self, frame: &Frame) {
        let cost = frame.size as u32 + self.state.room.overhead;
        if COUNTS {
            let group = self.state.group_of(frame);
            self.state.room.used -= cost as u64;
            self.state.room.groups[group] -= cost;
        }
    }

    /// Judges a frame beyond a bound by the exact length of its queue. The port has been brought to `now`.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn look_closely(&mut self, p: &mut Port, lane: &Lane, port: u32, queue: usize, now: u64, frame: &Frame, used: Option<u64>) -> Closer {
        let limits = self.state.room.limits_of(frame.priority());
        let waits = lane.queues[queue].waits.bytes();
        if used.is_none() && (self.exceeds(limits, frame) || waits + frame.size as u32 > limits.memory) || waits > Limits::MOST {
            return Closer::Unknown;
        }
        if lane.fills_ring(p, frame, now) {
            return Closer::Unknown;
        }
        let sending = if self.state.until_start { 0 } else { lane.in_transmission(p, Some(queue), now) };
        let length = lane.length(queue, sending);
        let mut verdict = self.state.buffer.admit(length, frame.size as u64, used.unwrap_or(0), true).expect("exact figures settle it");
        if matches!(verdict, Verdict::Admit) {
            verdict = mark_at_arrival(self.state.marking.as_ref(), now, length, p, queue, frame);
        }
        let mut flags = frame.flags;
        match verdict {
            Verdict::Admit => {}
            Verdict::Mark => flags |= self.store.mark(),
            Verdict::Trim(_) => unreachable!("ports without a discipline do not trim"),
            Verdict::Drop(reason) => {
                self.store.lose(Lost { port, queue: queue as u8, frame: *frame, reason });
                return Closer::Dropped;
            }
        }
        Closer::Goes(flags)
    }

    /// Marks at the start of a transmission that leaves `behind` in the queue. Returns the flags of the frame, or nothing if it is dropped.
    #[cold]
    #[inline(never)]
    fn judge_start(&mut self, p: &mut Port, port: u32, queue: usize, behind: Length, frame: &Frame) -> Option<u16> {
        let red = self.state.marking.as_ref().expect("where there is no marking everything is quiet");
        let a = p.automaton.as_deref_mut().expect("not plain");
        let behind = red.length(QueueView { bytes: behind.bytes() as u64, frames: behind.frames() });
        match mark_at_start(red, &mut a.queues[queue], &mut p.stream, behind, frame.has(Frame::ECT)) {
            Verdict::Mark => Some(frame.flags | self.store.mark()),
            Verdict::Drop(reason) => {
                self.store.lose(Lost { port, queue: queue as u8, frame: *frame, reason });
                None
            }
            Verdict::Admit | Verdict::Trim(_) => Some(frame.flags),
        }
    }
}
