//! One hop through a port with a lane: a frame arrives, waits if it has to, and leaves.
//!
//! Within bounds the node sends no PAUSE frames and records nothing but totals. The peer may pause the port. The policies of the node publish bounds (`Limits`). A
//! frame within the bounds is admitted, not marked, and no cause for a PAUSE, whatever the other
//! counters are. Most frames are only compared with the bounds. Bytes count until their
//! transmission starts. The bounds allow for one frame in transmission at each port. Therefore a
//! frame that finds its port idle is not counted at all, and the end of a transmission needs no
//! processing.
//!
//! A frame beyond a bound is judged by exact counters: first by those of its own queue, then by
//! those of the whole node. If that does not decide, the node enters exact mode (`shard::exact`),
//! in which the nodes of the classical engine, and those with features that few have
//! (`shard::special`), always are. `shard::judge` contains these judgements, `shard::offers` the
//! operations of a node on its ports, `shard::held` handles ports that the peer has paused, and
//! `shard::bounds` states the bounds.

use super::forward::rank;
use super::lane::{Lane, Limits, RANKED, SHARED, Sent, Store, TRIMMED};
use super::{Node, Outlet, Slab};
use crate::frame::{Change, Extra, Frame};
use crate::port::Port;

/// Result of judging a frame beyond a bound.
pub(super) enum Judgement {
    /// The frame is admitted, with these flags.
    Goes(u16),
    Dropped,
    /// The counters of the port do not suffice to judge the frame.
    Unknown,
}

/// State around a port, borrowed once for many frames. `KIND`: kind of the queues.
pub(super) struct Hop<'s, O, const KIND: u8> {
    pub out: &'s mut O,
    pub extras: &'s mut Slab<Extra>,
    pub store: &'s mut Store,
    pub state: &'s mut Node,
}

impl<O: Outlet, const KIND: u8> Hop<'_, O, KIND> {
    /// Starts all transmissions that are due by `now`.
    #[inline(always)]
    pub(super) fn advance(&mut self, p: &mut Port, lane: &mut Lane, port: u32, now: u64) {
        if KIND != RANKED && lane.rare {
            return self.advance_rarely(p, lane, port, 0, now);
        }
        while p.free_at <= now && lane.occupied != 0 {
            let highest =
                if KIND == RANKED { 0 } else { 7 - lane.occupied.leading_zeros() as usize };
            self.start_first::<false>(p, lane, port, highest, p.free_at);
        }
    }

    /// Starts the first frame of this queue at `at`, when the transmitter is idle. Returns the
    /// frame, and `false` if marking has dropped it. `RARE`: the port may have pause clocks.
    #[inline(always)]
    pub(super) fn start_first<const RARE: bool>(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        queue: usize,
        at: u64,
    ) -> (Sent, bool) {
        let q = &mut lane.queues[queue];
        let clock = if RARE && lane.clocked { self.store.arena.note(q.chain.first()) } else { 0 };
        let (slot, empty) = self.store.take::<KIND>(port, &mut q.chain);
        let frame = self.store.arena.at(slot);
        if KIND != RANKED {
            q.waits.take(frame.size);
        }
        let behind = q.waits;
        lane.occupied &= !((empty as u8) << queue);
        p.queued -= frame.size as u64;
        if KIND == SHARED {
            self.state.release_waiting(frame);
        }
        let mut flags = frame.flags;
        if KIND != RANKED && behind.bytes() >= self.state.marks_from {
            let frame = *frame;
            match self.judge_start(p, port, queue, behind, &frame) {
                Some(marked) => flags = marked,
                None => {
                    self.store.arena.release(slot);
                    return (Sent::of(&frame, queue as u8), false);
                }
            }
        }
        if RARE && lane.clocked {
            let frame = Frame { flags, ..self.store.arena.release(slot) };
            let frame = self.tell_pause(p, at, clock, frame);
            self.start(p, lane, port, at, queue, &frame, frame.to(p.peer_port));
            return (lane.sent, true);
        }
        // The frame is copied from its slot to where it goes.
        let Hop { out, extras, store, .. } = self;
        let frame = store.arena.at(slot);
        let change = Change { flags, ..frame.to(p.peer_port) };
        transmit::<O, KIND>(out, extras, p, lane, port, at, queue, frame, change);
        store.arena.release(slot);
        (lane.sent, true)
    }

    /// Offers a frame to this port. `hash`: the frame's hash beyond this node. `used`: the exact
    /// memory in use in bytes, if it is known. Returns `false` if the counters of the port do not
    /// suffice to judge the frame, which the port then has not accepted.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn offer(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        now: u64,
        frame: &Frame,
        hash: u32,
        used: Option<u64>,
    ) -> bool {
        if KIND == RANKED {
            self.advance(p, lane, port, now);
            return self.offer_ranked(p, lane, port, now, frame, hash);
        }
        if KIND == TRIMMED {
            self.advance(p, lane, port, now);
            return self.offer_trimmed(p, lane, port, now, frame, hash);
        }
        let queue = lane.queue_of(frame);
        if lane.rare {
            self.advance_rarely(p, lane, port, 0, now);
        } else if p.free_at <= now {
            self.advance(p, lane, port, now);
            if p.free_at <= now && frame.size as u32 <= self.state.memory.idle && used.is_none() {
                debug_assert!(KIND != SHARED || self.state.memory.is_within());
                let change = Change { hash, ..frame.to(p.peer_port) };
                self.start(p, lane, port, now, queue, frame, change);
                return true;
            }
        }
        let limits = match KIND {
            SHARED => self.state.memory.limits_of(frame.priority()),
            _ => &self.state.memory.limits[0],
        };
        let mut flags = frame.flags;
        if lane.queues[queue].waits.bytes() + frame.size as u32 > limits.queue
            || self.exceeds(limits, frame)
            || used.is_some()
        {
            match self.judge_closer(p, lane, port, queue, now, frame, used) {
                Judgement::Goes(marked) => flags = marked,
                Judgement::Dropped => return true,
                Judgement::Unknown => return false,
            }
        }
        if p.free_at <= now && !lane.held {
            self.start(p, lane, port, now, queue, frame, Change { port: p.peer_port, hash, flags });
            return true;
        }
        self.take(frame);
        self.wait(p, lane, port, now, queue, frame, hash, flags);
        true
    }

    /// Starts the transmission of a frame at `at`, when the transmitter is idle.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn start(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        at: u64,
        queue: usize,
        frame: &Frame,
        change: Change,
    ) {
        let Hop { out, extras, .. } = self;
        transmit::<O, KIND>(out, extras, p, lane, port, at, queue, frame, change);
    }

    /// Appends a frame to its queue, with this hash and these flags.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn wait(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        now: u64,
        queue: usize,
        frame: &Frame,
        hash: u32,
        flags: u16,
    ) {
        self.push(p, lane, port, queue, frame, |frame| (frame.hash, frame.flags) = (hash, flags));
        if lane.rare {
            self.wait_rarely(p, lane, port, now, queue, frame.priority());
        }
    }

    /// Appends a frame to its queue, with this change.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        p: &mut Port,
        lane: &mut Lane,
        port: u32,
        queue: usize,
        frame: &Frame,
        change: impl FnOnce(&mut Frame),
    ) {
        let (bit, q) = (1 << queue, &mut lane.queues[queue]);
        if KIND != RANKED {
            q.waits.add(frame.size);
        }
        p.queued += frame.size as u64;
        let Store { arena, rank_queues, .. } = &mut *self.store;
        if KIND == RANKED {
            let mut frame = *frame;
            change(&mut frame);
            rank_queues[port as usize].push(arena, frame, rank(self.extras, &frame));
        } else {
            arena.push(&mut q.chain, lane.occupied & bit == 0, frame, change);
        }
        lane.occupied |= bit;
        if KIND == RANKED {
            self.note_due(p, frame.size);
        }
        if !lane.listed {
            lane.listed = true;
            self.state.active.push(port);
        }
    }

    /// True if this frame would make the memory in use, or that of its priority group, exceed its
    /// bound.
    #[inline(always)]
    pub(super) fn exceeds(&self, limits: &Limits, frame: &Frame) -> bool {
        let cost = frame.size as u32 + self.state.memory.overhead;
        KIND == SHARED
            && (self.state.memory.used + cost as u64 > limits.used
                || self.state.memory.groups[self.state.group_of(frame)] + cost > limits.group)
    }

    #[inline(always)]
    fn take(&mut self, frame: &Frame) {
        if KIND == SHARED {
            self.state.take_memory(frame);
        }
    }
}

/// Transmits a frame at `at`, when the transmitter is idle.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn transmit<O: Outlet, const KIND: u8>(
    out: &mut O,
    extras: &mut Slab<Extra>,
    p: &mut Port,
    lane: &mut Lane,
    port: u32,
    at: u64,
    queue: usize,
    frame: &Frame,
    change: Change,
) {
    let (time, arrives) = p.start(at, frame);
    p.count_sent(frame.size, time);
    if KIND == RANKED {
        lane.sent.size = frame.size;
    } else {
        lane.sent = Sent::of(frame, queue as u8);
    }
    if O::CLASSICAL {
        // Schedule the earlier of the two events first: it sinks less far into the heap.
        out.sent(p.free_at, port);
    }
    out.frame(arrives, p.peer_shard, frame, change, extras);
}
