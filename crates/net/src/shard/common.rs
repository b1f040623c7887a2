//! The window engine's short way through ports of the common kind: nothing is recorded but the bytes of uplinks, and nothing but the choice of the
//! queue and a mark is decided at the start of a transmission. Whatever is out of the ordinary (a refusal, a mark on arrival, a drop, a group to be paused or
//! resumed) goes the long way in `forward`, which the classical engine takes always.

use super::balance::unasked_port;
use super::count::{mark, mark_at_start};
use super::pause::carry_pause;
use super::way::{Way, send};
use super::{Outlet, Shard};
use crate::frame::{Change, Frame};
use crate::port::{Automaton, PAUSE_QUEUE, Port, Sending, Waiting};
use crate::queue::buffer::mmu::Charge;
use crate::queue::{QueueView, Verdict};
use crate::spec::MarkAt;

impl<'a> Shard<'a> {
    /// As `advance`. At a switch with a memory management unit no group is paused.
    pub(super) fn advance_common<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, extras, counters, .. } = self;
        let state = &mut nodes[node as usize];
        let mut way = Way { out, extras, counters, state, explains };
        if let Err(at) = way.advance(&mut ports[port as usize], port, now) {
            self.start_next(out, at, node, port);
            self.advance(out, now, node, port);
        }
    }

    /// As `offer_automaton`.
    #[inline(always)]
    pub(super) fn offer_common<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame, hash: u32) {
        if self.nodes[node as usize].managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0) {
            return self.offer_long(out, now, node, port, &Frame { hash, ..*frame });
        }
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, extras, counters, .. } = self;
        let state = &mut nodes[node as usize];
        let mut way = Way { out, extras, counters, state, explains };
        if let Err(free) = way.offer(&mut ports[port as usize], port, now, frame, hash) {
            if let Some(at) = free {
                self.start_next(out, at, node, port);
            }
            self.offer_long(out, now, node, port, &Frame { hash, ..*frame });
        }
    }
}

impl<'a> Shard<'a> {
    /// Passes on frames that arrive at a switch with common ports in one window, in order, up to the first that has to go the long way. Returns how many.
    #[inline(always)]
    pub fn pass_common<O: Outlet>(&mut self, out: &mut O, start: u64, node: u32, frames: &[Frame]) -> usize {
        let state = &self.nodes[node as usize];
        if state.balanced.is_some() {
            return self.pass_balanced(out, start, node, frames);
        }
        if state.open {
            return self.pass_open(out, start, node, frames);
        }
        let (passed, free) =
            if self.world.route_bits != 0 { self.pass_run::<O, true>(out, start, node, frames) } else { self.pass_run::<O, false>(out, start, node, frames) };
        if let Some((port, at)) = free {
            self.start_next(out, at, node, port);
        }
        passed
    }

    /// `ROUTED`: frames carry their route. Returns also a port that is free, and since when, if something out of the ordinary starts there.
    #[inline(never)]
    fn pass_run<O: Outlet, const ROUTED: bool>(&mut self, out: &mut O, start: u64, node: u32, frames: &[Frame]) -> (usize, Option<(u32, u64)>) {
        let Shard { nodes, ports, extras, world, counters, last, .. } = self;
        let state = &mut nodes[node as usize];
        let (first, bits, seed, explains) = (state.first_port, world.route_bits, state.hash_seed, world.plan.record.explain);
        let row = world.routes(0).row(state.id);
        let own = &mut ports[first as usize..(first + state.ports) as usize];
        let mut way = Way { out, extras, counters, state, explains };
        if way.is_paused() {
            return (0, None);
        }
        let (mut passed, mut free) = (0, None);
        for frame in frames {
            if !frame.is_traffic() {
                break;
            }
            let (port, hash) = match ROUTED {
                true => (Some(frame.routed_port(bits)), frame.hash >> bits),
                false => (row.next_hop(frame.dst, frame.hash, seed), frame.hash),
            };
            let Some((number, p)) = port.and_then(|port| Some((port, own.get_mut(port as usize)?))) else { break };
            let (now, port) = (start + frame.offset as u64, first + number as u32);
            if let Err(at) = way.offer(p, port, now, frame, hash) {
                free = at.map(|at| (port, at));
                break;
            }
            passed += 1;
        }
        if passed > 0 {
            *last = (*last).max(start + frames[passed - 1].offset as u64);
        }
        counters.packet_hops += passed as u64;
        (passed, free)
    }

    /// The same at a switch with a balancer, which may cause anything when it is asked: up to an event that the switch makes for itself in this window.
    #[inline(never)]
    fn pass_balanced<O: Outlet>(&mut self, out: &mut O, start: u64, node: u32, frames: &[Frame]) -> usize {
        let world = self.world;
        let (id, first) = (self.nodes[node as usize].id, self.nodes[node as usize].first_port);
        let row = world.routes(0).row(id);
        let mut passed = 0;
        for frame in frames {
            if !frame.is_traffic() || out.is_awaited() {
                break;
            }
            let now = start + frame.offset as u64;
            passed += 1;
            let mut asked;
            let hops = row.next_hops(frame.dst);
            let (port, frame, hash) = match unasked_port(world, &self.nodes[node as usize], frame, hops) {
                Some((port, hash)) => (port, frame, hash),
                None => {
                    asked = *frame;
                    let Some(port) = self.asked_port(out, now, node, &mut asked, hops) else { continue };
                    (port, &asked, asked.hash)
                }
            };
            if self.nodes[node as usize].open {
                self.offer_open(out, now, node, first + port as u32, frame, hash);
            } else {
                self.offer_common(out, now, node, first + port as u32, frame, hash);
            }
        }
        if passed > 0 {
            self.last = self.last.max(start + frames[passed - 1].offset as u64);
        }
        self.counters.packet_hops += passed as u64;
        passed
    }
}

impl<O: Outlet> Way<'_, O> {
    /// Everything that ends or starts at the port by `now` has happened, or, if something out of the ordinary starts, up to then.
    #[inline(always)]
    fn advance(&mut self, p: &mut Port, port: u32, now: u64) -> Result<(), u64> {
        if p.free_at > now {
            return Ok(());
        }
        let mut automaton = p.automaton.take();
        let done = self.advance_due(p, automaton.as_deref_mut().expect("not plain"), port, now);
        p.put_back(automaton);
        done
    }

    #[inline(always)]
    fn advance_due(&mut self, p: &mut Port, a: &mut Automaton, port: u32, now: u64) -> Result<(), u64> {
        while p.free_at <= now {
            let mut at = p.free_at;
            if let Some(sent) = a.sending.take() {
                self.end(p, a, port, sent);
            } else if a.waiting > 0 {
                at = a.held_until();
                if at > now {
                    break;
                }
            }
            if p.eventful && a.pause.as_ref().is_some_and(|pause| pause.pending != 0) {
                return Err(at);
            }
            if a.waiting == 0 {
                break;
            }
            if a.is_held_back() {
                return Err(at);
            }
            // Without a look at the pauses there have not been any of.
            let next = if p.eventful { a.next_queue(at) } else { a.highest(|_, _| true) };
            let Some(queue) = next else { continue };
            let q = &mut a.queues[queue];
            let mut verdict = Verdict::Admit;
            if let Some(red) = self.state.marking.as_ref().filter(|red| red.at == MarkAt::Dequeue) {
                let head = &q.frames.front().expect("not empty").frame;
                let (behind, capable) = (red.length(q.behind(head.size)), head.has(Frame::ECT));
                if !red.spares(behind, capable) {
                    return Err(at);
                }
                verdict = mark_at_start(red, q, &mut p.stream, behind, capable);
            }
            let Waiting { frame, clock, .. } = q.take();
            a.waiting -= 1;
            let mut change = frame.to(p.peer_port);
            if matches!(verdict, Verdict::Mark) {
                mark(self.counters, p, queue, &mut change.flags);
            }
            let sent = self.start(p, a, at, (queue, clock), &frame, change);
            if self.state.until_start {
                self.leave(p, a, port, sent);
            }
        }
        Ok(())
    }

    /// A frame that wants to leave by the port, where no group is paused. It is on its way or waits, or has to go the long way; then with the time since when the
    /// port is free, if something out of the ordinary starts there.
    #[inline(always)]
    fn offer(&mut self, p: &mut Port, port: u32, now: u64, frame: &Frame, hash: u32) -> Result<(), Option<u64>> {
        let mut automaton = p.automaton.take();
        let a = automaton.as_deref_mut().expect("not plain");
        let mut done = if p.free_at <= now { self.advance_due(p, a, port, now).map_err(Some) } else { Ok(()) };
        if done.is_ok() && !self.join(p, a, port, now, frame, hash) {
            done = Err(None);
        }
        p.put_back(automaton);
        done
    }

    #[inline(always)]
    fn join(&mut self, p: &mut Port, a: &mut Automaton, port: u32, now: u64, frame: &Frame, hash: u32) -> bool {
        let state = &mut *self.state;
        let size = frame.size as u64;
        let queue = a.queue_of(frame);
        if let Some(qdisc) = &a.qdisc
            && qdisc.takes(p.queued)
        {
            return false;
        }
        let q = &mut a.queues[queue];
        let (mut clock, mut held) = (0, a.waiting > 0);
        if p.eventful
            && let Some(pause) = &a.pause
        {
            clock = pause.clock(frame.priority(), now);
            held |= !pause.is_free(frame.priority(), now);
            if pause.dropping != 0 {
                return false;
            }
        }
        let idle = a.sending.is_none();
        let length = QueueView { bytes: q.bytes, frames: q.count };
        let quiet = state.marking.as_ref().is_none_or(|red| match red.at {
            MarkAt::Enqueue => red.is_quiet(red.length(length)),
            MarkAt::Dequeue => !idle || red.is_quiet(0),
        });
        if !quiet || idle && held {
            return false;
        }
        // It comes and no longer counts in one instant.
        let at_once = idle && state.until_start;
        let taken = match &mut state.managed {
            None => matches!(state.buffer.admit(length, size, state.used, false), Some(Verdict::Admit)),
            Some(managed) => {
                let (class, first) = (frame.priority(), state.first_port);
                let charge = Charge::new(managed.mmu.size_of(size, class), frame.port - first, port - first, class, queue as u8);
                if at_once { managed.mmu.is_safe(&charge) } else { managed.mmu.take_if_safe(&charge) }
            }
        };
        if !taken {
            return false;
        }
        if !at_once {
            self.enter(p, a, queue, size);
        }
        if idle {
            self.start(p, a, now, (queue, clock), frame, Change { hash, ..frame.to(p.peer_port) });
            return true;
        }
        a.push(queue, Waiting { frame: Frame { hash, ..*frame }, ready: now, clock });
        if !a.listed {
            a.listed = true;
            self.state.active.push(port);
        }
        true
    }

    /// A frame occupies the buffer.
    #[inline(always)]
    fn enter(&mut self, p: &mut Port, a: &mut Automaton, queue: usize, size: u64) {
        let q = &mut a.queues[queue];
        q.bytes += size;
        q.count += 1;
        p.queued += size;
        self.state.used += size;
    }

    /// The transmission has ended.
    #[inline(always)]
    fn end(&mut self, p: &mut Port, a: &mut Automaton, port: u32, sent: Sending) {
        a.latest = sent.size;
        if sent.queue != PAUSE_QUEUE && !self.state.until_start {
            self.leave(p, a, port, sent);
        }
        p.count_sent(sent.size, sent.time);
    }

    /// The frame in transmission no longer occupies the buffer. No group goes on by it.
    #[inline(always)]
    fn leave(&mut self, p: &mut Port, a: &mut Automaton, port: u32, sent: Sending) {
        let bytes = sent.size as u64;
        let q = &mut a.queues[sent.queue as usize];
        q.bytes -= bytes;
        q.count -= 1;
        p.queued -= bytes;
        self.state.used -= bytes;
        if let Some(managed) = &mut self.state.managed {
            let (size, first) = (managed.mmu.size_of(bytes, sent.class), self.state.first_port);
            managed.mmu.give_back(&Charge::new(size, sent.input - first, port - first, sent.class, sent.queue));
            debug_assert!(managed.mmu.leaves_quietly(sent.input - first, sent.class));
        }
    }

    /// The transmitter is free at `at`, and this frame leaves.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn start(&mut self, p: &mut Port, a: &mut Automaton, at: u64, (queue, clock): (usize, u64), frame: &Frame, change: Change) -> Sending {
        let (start, time) = p.begin(at, frame);
        let sent = Sending { size: frame.size, queue: queue as u8, class: frame.priority(), input: frame.port, time };
        a.sending = Some(sent);
        if p.eventful
            && self.explains
            && let Some(pause) = &a.pause
        {
            let paused = pause.clock(frame.priority(), at) - clock;
            if paused > 0 {
                let frame = carry_pause(self.extras, *frame, paused);
                send(self.out, self.extras, p, start, time, &frame, Change { flags: change.flags | frame.flags, ..change });
                return sent;
            }
        }
        send(self.out, self.extras, p, start, time, frame, change);
        sent
    }
}
