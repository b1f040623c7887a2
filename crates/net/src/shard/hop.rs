//! One hop: a frame comes to an open port, waits if it has to, and leaves.
//!
//! The node of an open port pauses nobody and records nothing but totals; the peer may pause it. The policies of the node publish bounds (`Limits`). A frame
//! within the bounds is admitted, unmarked, and no cause to pause, whatever the other counters are. Most frames are compared with the bounds and with nothing
//! else. Bytes are counted until their transmission starts. The bounds allow for one frame in transmission at each port, so a frame that finds its port idle is
//! counted nowhere, and nothing happens at the end of a transmission.
//!
//! A frame beyond a bound is judged by exact figures: first by those of its own queue, then by those of the whole node. If only the memory management unit can
//! judge it, the node becomes exact (`shard::exact`). `shard::open` opens nodes, and closes them for watchdogs. The ports of a closed node are automata
//! (`shard::forward`).

use super::count::{mark_at_arrival, mark_at_start};
use super::lane::{Lane, Length, Limits, Lost, Sent, Store, next_start};
use super::pause::carry_pause;
use super::way::send;
use super::{Node, Outlet, Shard, Slab};
use crate::frame::{Change, Extra, Frame};
use crate::port::{Port, Waiting};
use crate::queue::marking::Red;
use crate::queue::{QueueView, Verdict};
use crate::spec::MarkAt;

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
    out: &'s mut O,
    extras: &'s mut Slab<Extra>,
    store: &'s mut Store,
    state: &'s mut Node,
}

impl<O: Outlet, const COUNTS: bool> Hop<'_, O, COUNTS> {
    /// Starts all transmissions that are due by `now`.
    #[inline(always)]
    fn advance(&mut self, p: &mut Port, lane: &mut Lane, port: u32, now: u64) {
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

    /// Starts all transmissions that are due by `now` at a port that the peer has paused, or for which a discipline holds frames. None of them was due before
    /// `from`.
    #[cold]
    #[inline(never)]
    fn advance_rarely(&mut self, p: &mut Port, lane: &mut Lane, port: u32, from: u64, now: u64) {
        while p.free_at <= now {
            if lane.backlog {
                self.fill_ring(p, lane, port, p.free_at.max(from));
            }
            if lane.occupied == 0 {
                break;
            }
            let at = if lane.held { next_start(&self.store.arena, p, lane) } else { p.free_at }.max(from);
            if at > now {
                break;
            }
            let queue = lane.first_free(&self.store.arena, p, at).expect("it may start by then");
            self.start_first::<true>(p, lane, port, queue, at);
        }
        lane.look_again(p, now);
    }

    /// The card takes frames from the host's queueing discipline while its ring has room.
    pub(super) fn fill_ring(&mut self, p: &mut Port, lane: &mut Lane, port: u32, at: u64) {
        let discipline = |p: &mut Port| p.automaton.as_mut().and_then(|a| a.qdisc.take()).expect("a discipline that holds frames");
        let mut qdisc = discipline(p);
        while qdisc.may_give(lane.ring(p, at) + qdisc.bytes())
            && let Some((Waiting { mut frame, clock, .. }, verdict)) = qdisc.pull(at)
        {
            match verdict {
                Verdict::Drop(reason) => {
                    self.store.lose(Lost { port, queue: 0, frame, reason });
                    continue;
                }
                Verdict::Mark => frame.flags |= self.store.mark(),
                Verdict::Admit | Verdict::Trim(_) => {}
            }
            self.push(p, lane, port, 0, frame);
            if lane.clocked {
                self.store.arena.set_clock(&lane.queues[0].chain, clock);
            }
        }
        lane.backlog = qdisc.holds();
        p.automaton.as_mut().expect("not plain").qdisc = Some(qdisc);
    }

    /// Writes on the frame how long it stood paused.
    #[cold]
    #[inline(never)]
    fn tell_pause(&mut self, p: &Port, at: u64, clock: u64, frame: Frame) -> Frame {
        let pause = p.pause().expect("a port that has been paused");
        let paused = pause.clock(frame.priority(), at) - clock;
        if paused > 0 { carry_pause(self.extras, frame, paused) } else { frame }
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
    fn start(&mut self, p: &mut Port, lane: &mut Lane, port: u32, at: u64, queue: usize, frame: &Frame, change: Change) {
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
    fn wait(&mut self, p: &mut Port, lane: &mut Lane, port: u32, now: u64, queue: usize, frame: Frame) {
        self.push(p, lane, port, queue, frame);
        if lane.rare {
            self.wait_rarely(p, lane, port, now, queue, frame.priority());
        }
    }

    /// The rest of `wait` at a port that the peer has paused. The frame itself may be of a class that is not paused, and start at once.
    #[cold]
    #[inline(never)]
    fn wait_rarely(&mut self, p: &mut Port, lane: &mut Lane, port: u32, now: u64, queue: usize, class: u8) {
        self.note_clock(p, lane, now, queue, class);
        if lane.held {
            self.advance_rarely(p, lane, port, now, now);
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

    /// Notes for the last frame of a queue how long its class had been paused when it came, if that is recorded.
    pub(super) fn note_clock(&mut self, p: &Port, lane: &Lane, now: u64, queue: usize, class: u8) {
        if lane.clocked {
            let pause = p.pause().expect("a port that has been paused");
            self.store.arena.set_clock(&lane.queues[queue].chain, pause.clock(class, now));
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
    fn give_back(&mut self, frame: &Frame) {
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

impl<'a> Shard<'a> {
    /// The peer's flow control has changed at an open port, which has been brought to `now`.
    #[cold]
    pub(super) fn hold_open<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let Shard { lanes, store, world, ports, .. } = self;
        let lane = &mut lanes[port as usize];
        let pause = ports[port as usize].pause().expect("a port that is paused");
        (lane.held, lane.rare) = (true, true);
        if world.plan.record.explain && !lane.clocked {
            lane.clocked = true;
            for (queue, q) in lane.queues.iter().enumerate() {
                if lane.occupied >> queue & 1 != 0 {
                    // Since they came nothing has been paused.
                    store.arena.set_clocks(&q.chain, |frame| pause.clock(frame.priority(), now));
                }
            }
        }
        if !self.is_exact(node) {
            self.advance_open(out, now, node, port);
        } else if !self.lanes[port as usize].sending {
            self.start_exact(out, now, node, port);
        }
    }

    /// Brings an idle port at which something waits to `now`: a pause may have ended.
    #[cold]
    pub(super) fn hold_on_open<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let (mut hop, ports, lanes) = self.hop::<O, false>(out, node);
        hop.advance_rarely(&mut ports[port as usize], &mut lanes[port as usize], port, now, now);
        self.see_to_losses();
    }

    /// Returns for each class whether it is neither waiting nor paused at an open port.
    pub fn free_classes(&self, now: u64, port: u32) -> impl Fn(u8) -> bool {
        let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
        let a = p.automaton.as_ref().expect("not plain");
        move |class: u8| {
            let waits = lane.occupied >> a.queue_of_priority(class) & 1 != 0;
            !waits && a.pause.as_ref().is_none_or(|pause| pause.may_send(class, now))
        }
    }

    /// Start of the next waiting frame of an open port, if no other comes; `u64::MAX` if none waits.
    pub fn next_start(&self, port: u32) -> u64 {
        let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
        match lane.occupied {
            0 if !lane.backlog => u64::MAX,
            1.. if lane.held => next_start(&self.store.arena, p, lane),
            _ => p.free_at,
        }
    }

    /// Whether the port is open and the peer has paused it.
    #[inline(always)]
    pub fn is_held(&self, port: u32) -> bool {
        self.ports[port as usize].open && self.lanes[port as usize].held
    }

    /// Whether the host's queueing discipline holds frames for an open port.
    pub fn has_backlog(&self, port: u32) -> bool {
        self.lanes[port as usize].backlog
    }

    /// Borrows the state around the ports of a node, and all ports with their lanes.
    #[inline(always)]
    pub(super) fn hop<'s, O: Outlet, const COUNTS: bool>(&'s mut self, out: &'s mut O, node: u32) -> (Hop<'s, O, COUNTS>, &'s mut [Port], &'s mut [Lane]) {
        let Shard { nodes, ports, lanes, store, extras, .. } = self;
        (Hop { out, extras, store, state: &mut nodes[node as usize] }, ports, lanes)
    }

    #[inline(always)]
    pub(super) fn counts(&self, node: u32) -> bool {
        self.nodes[node as usize].room.counts
    }

    /// A frame for a port of an open node.
    #[inline(never)]
    pub(super) fn offer_open<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame, hash: u32) {
        if self.is_exact(node) {
            return self.offer_exact::<O, false>(out, now, node, port, Frame { hash, ..*frame });
        }
        let done = if self.counts(node) {
            self.offer_hop::<O, true>(out, now, node, port, frame, hash, None)
        } else {
            self.offer_hop::<O, false>(out, now, node, port, frame, hash, None)
        };
        if !done {
            self.offer_beyond(out, now, node, port, frame, hash);
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn offer_hop<O: Outlet, const COUNTS: bool>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame, hash: u32, used: Option<u64>) -> bool {
        let (mut hop, ports, lanes) = self.hop::<O, COUNTS>(out, node);
        let done = hop.offer(&mut ports[port as usize], &mut lanes[port as usize], port, now, frame, hash, used);
        self.see_to_losses();
        done
    }

    /// Takes a frame beyond the bounds: brings all ports to `now`, states the bounds again for the memory then in use, and tries once more. If that does not
    /// settle it, the memory management unit judges it.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_beyond<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame, hash: u32) {
        if self.lanes[port as usize].fills_ring(&self.ports[port as usize], frame, now) {
            return self.hold_back_open(out, now, node, port, Frame { hash, ..*frame });
        }
        self.advance_all(out, now, node);
        self.set_level(node);
        let managed = self.nodes[node as usize].managed.is_some();
        let settled = self.counts(node) && {
            // A dynamic threshold judges by the memory in use, which is exact now.
            let used = (!managed).then(|| self.memory_used(now, node));
            self.offer_hop::<O, true>(out, now, node, port, frame, hash, used)
        };
        if settled {
            return;
        }
        if managed {
            self.enter_exact(now, node);
            return self.offer_exact::<O, false>(out, now, node, port, Frame { hash, ..*frame });
        }
        self.close(out, now, node);
        self.offer_long(out, now, node, port, &Frame { hash, ..*frame });
    }

    /// Starts all transmissions of an open port that are due by `now`.
    pub(super) fn advance_open<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        if self.counts(node) {
            self.advance_port::<O, true>(out, now, node, port);
        } else {
            self.advance_port::<O, false>(out, now, node, port);
        }
    }

    pub(super) fn advance_all<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let (first, ports) = (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        (first..first + ports).for_each(|port| self.advance_open(out, now, node, port));
    }

    #[inline(always)]
    fn advance_port<O: Outlet, const COUNTS: bool>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let (mut hop, ports, lanes) = self.hop::<O, COUNTS>(out, node);
        hop.advance(&mut ports[port as usize], &mut lanes[port as usize], port, now);
        self.see_to_losses();
    }

    /// Memory in use at an open node all of whose ports have been brought to `now`.
    fn memory_used(&self, now: u64, node: u32) -> u64 {
        let state = &self.nodes[node as usize];
        let sent = |port: u32| self.lanes[port as usize].in_transmission(&self.ports[port as usize], None, now);
        let sending = if state.until_start { 0 } else { (state.first_port..state.first_port + state.ports).map(sent).sum() };
        state.room.used + sending
    }

    /// A frame that a balancer has held, and that has been charged since, joins its queue. Returns `false`, and does nothing, if the frame may have to be marked.
    pub(super) fn join_open<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame) -> bool {
        let (mut hop, ports, lanes) = self.hop::<O, true>(out, node);
        let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
        hop.advance(p, lane, port, now);
        let queue = lane.queue_of(frame);
        let fits = lane.queues[queue].waits.bytes() + frame.size as u32 <= hop.state.room.limits_of(frame.priority()).queue;
        if fits && p.free_at <= now && !lane.held {
            hop.give_back(frame);
            hop.start(p, lane, port, now, queue, frame, frame.to(p.peer_port));
        } else if fits {
            hop.wait(p, lane, port, now, queue, *frame);
        }
        if fits {
            self.uncharge_open(node, port, queue as u8, frame);
        }
        self.see_to_losses();
        fits
    }

    /// Ends a window of an open node: starts what is due before `end`, and wakes the node when the next transmission is due.
    pub(super) fn finish_open<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) {
        if self.is_exact(node) {
            return self.finish_exact(out, end, node);
        }
        let earliest = if self.counts(node) { self.finish_hops::<O, true>(out, end, node) } else { self.finish_hops::<O, false>(out, end, node) };
        self.see_to_losses();
        self.wake_by(out, node, earliest);
    }

    /// Starts all transmissions that are due before `end`. Returns the start of the next one.
    #[inline(never)]
    fn finish_hops<O: Outlet, const COUNTS: bool>(&mut self, out: &mut O, end: u64, node: u32) -> u64 {
        let mut active = std::mem::take(&mut self.nodes[node as usize].active);
        let (mut hop, ports, lanes) = self.hop::<O, COUNTS>(out, node);
        let mut earliest = u64::MAX;
        active.retain(|&port| {
            let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
            hop.advance(p, lane, port, end - 1);
            lane.listed = lane.occupied != 0 || lane.backlog;
            if lane.listed {
                earliest = earliest.min(if lane.held && lane.occupied != 0 { next_start(&hop.store.arena, p, lane) } else { p.free_at });
            }
            lane.listed
        });
        self.nodes[node as usize].active = active;
        earliest
    }

    #[inline(always)]
    pub(super) fn see_to_losses(&mut self) {
        if self.store.news {
            self.count_news();
        }
    }

    #[cold]
    #[inline(never)]
    fn count_news(&mut self) {
        self.store.news = false;
        self.counters.ecn_marks += std::mem::take(&mut self.store.marks);
        for Lost { port, queue, frame, reason } in std::mem::take(&mut self.store.lost) {
            self.drop_at(port, queue as usize, frame, reason);
        }
    }

    /// Bytes left behind in a queue from which on marking at dequeue has a say.
    pub(super) fn quiet_start(marking: Option<&Red>) -> u32 {
        let quiet = |red: &Red| if red.in_packets { 0 } else { red.quiet().min(u32::MAX as u64) as u32 };
        marking.filter(|red| red.at == MarkAt::Dequeue).map_or(u32::MAX, quiet)
    }
}
