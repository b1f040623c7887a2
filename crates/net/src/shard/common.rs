//! The window engine's short way through ports of the common kind: nothing is recorded but the bytes of uplinks, and nothing but the choice of the
//! queue and a mark is decided at the start of a transmission. Whatever is out of the ordinary (a refusal, a mark on arrival, a drop, a group to be paused or
//! resumed) goes the long way in `forward`, which the classical engine takes always.

use super::count::{mark, mark_at_start};
use super::managed::Managed;
use super::steady::send;
use super::{Outlet, Shard, Slab};
use crate::frame::{Extra, Frame};
use crate::port::{Automaton, PAUSE_QUEUE, Port, Sending, Waiting};
use crate::queue::Verdict;
use crate::queue::buffer::QueueView;
use crate::queue::buffer::mmu::Charge;
use crate::queue::scheduling;
use crate::spec::MarkAt;

impl<'a> Shard<'a> {
    /// As `advance`. At a switch with a memory management unit no group is paused.
    pub(super) fn advance_common<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, extras, counters, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        let at_start = state.marking.as_ref().filter(|red| red.at == MarkAt::Dequeue);
        let mut automaton = p.automaton.take();
        let a = automaton.as_deref_mut().expect("not plain");
        loop {
            let at = match a.sending {
                Some(_) if p.free_at > now => break,
                Some(sent) => {
                    a.latest = sent.size;
                    if let Some(uplink) = &mut a.uplink {
                        *uplink += sent.size as u64;
                    }
                    if sent.queue != PAUSE_QUEUE && !state.until_start {
                        leave(&mut state.used, &mut state.managed, p, a, state.first_port, port, sent);
                    }
                    p.count_sent(sent.size, sent.time);
                    a.sending = None;
                    p.free_at
                }
                None if a.waiting == 0 => break,
                None => match a.held_until() {
                    at if at > now => break,
                    at => at,
                },
            };
            if a.waiting == 0 && !p.eventful {
                break;
            }
            if p.eventful && a.pause.as_ref().is_some_and(|pause| pause.pending != 0) {
                p.automaton = automaton;
                self.start_next(out, at, node, port);
                return self.advance(out, now, node, port);
            }
            // Without a look at the pauses there have not been any of.
            let next = if p.eventful { scheduling::next_queue(a, at) } else { a.highest(|_, _| true) };
            let Some(queue) = next else { continue };
            let q = &mut a.queues[queue];
            let mut verdict = Verdict::Admit;
            if let Some(red) = at_start {
                let head = q.frames.front().expect("not empty").frame;
                let behind = red.length(QueueView { bytes: q.bytes - head.size as u64, frames: q.count - 1 });
                if !red.spares(behind, head.has(Frame::ECT)) {
                    p.automaton = automaton;
                    self.start_next(out, at, node, port);
                    return self.advance(out, now, node, port);
                }
                verdict = mark_at_start(red, q, &mut p.stream, &head);
            }
            let mut waiting = q.take();
            a.waiting -= 1;
            if matches!(verdict, Verdict::Mark) {
                mark(counters, p, queue, &mut waiting.frame);
            }
            start(out, extras, p, a, at, queue, waiting, explains);
            if state.until_start {
                let sent = a.sending.expect("just started");
                leave(&mut state.used, &mut state.managed, p, a, state.first_port, port, sent);
            }
        }
        p.automaton = automaton;
        if let Some(managed) = &mut state.managed {
            managed.set_due(port - state.first_port, p.next_action());
        }
    }

    /// As `offer_automaton`.
    #[inline(always)]
    pub(super) fn offer_common<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: Frame) {
        if self.nodes[node as usize].managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0) {
            self.drain(out, now, node);
            if self.ports[port as usize].automaton.as_ref().is_some_and(|a| a.sending.is_none()) {
                // It may leave at once, and let a group go on.
                return self.offer_long(out, now, node, port, frame);
            }
        } else if self.ports[port as usize].next_action() <= now {
            self.advance_common(out, now, node, port);
        }
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, extras, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        let a = p.automaton.as_deref_mut().expect("not plain");
        let size = frame.size as u64;
        let queue = a.queue_of(&frame);
        let q = &mut a.queues[queue];
        let (mut clock, mut held) = (0, a.waiting > 0);
        if p.eventful
            && let Some(pause) = &a.pause
        {
            clock = pause.clock(frame.priority(), now);
            held |= !pause.is_free(frame.priority(), now);
            if pause.dropping != 0 {
                return self.offer_long(out, now, node, port, frame);
            }
        }
        let idle = a.sending.is_none();
        let length = QueueView { bytes: q.bytes, frames: q.count };
        let quiet = state.marking.as_ref().is_none_or(|red| match red.at {
            MarkAt::Enqueue => red.is_quiet(red.length(length)),
            MarkAt::Dequeue => !idle || red.is_quiet(0),
        });
        if !quiet || idle && held {
            return self.offer_long(out, now, node, port, frame);
        }
        let taken = match &mut state.managed {
            None => matches!(state.buffer.admit(length, size, state.used, false), Some(Verdict::Admit)),
            Some(managed) => {
                let (class, first) = (frame.priority(), state.first_port);
                let size = managed.mmu.size_of(size, class);
                managed.mmu.take_if_safe(&Charge::new(size, frame.port - first, port - first, class, queue as u8))
            }
        };
        if !taken {
            return self.offer_long(out, now, node, port, frame);
        }
        state.used += size;
        p.queued += size;
        q.bytes += size;
        q.count += 1;
        let waiting = Waiting { frame, ready: now, clock };
        if idle {
            let mut automaton = p.automaton.take();
            let a = automaton.as_deref_mut().expect("just seen");
            start(out, extras, p, a, now, queue, waiting, explains);
            if state.until_start {
                let sent = a.sending.expect("just started");
                leave(&mut state.used, &mut state.managed, p, a, state.first_port, port, sent);
            }
            p.automaton = automaton;
            if let Some(managed) = &mut state.managed {
                managed.set_due(port - state.first_port, p.free_at);
            }
            return;
        }
        a.push(queue, waiting);
        if !a.listed && state.managed.is_none() {
            a.listed = true;
            state.active.push(port);
        }
    }
}

/// The frame in transmission no longer occupies the buffer. No group is paused.
#[inline(always)]
fn leave(used: &mut u64, managed: &mut Option<Box<Managed>>, p: &mut Port, a: &mut Automaton, first: u32, port: u32, sent: Sending) {
    let bytes = sent.size as u64;
    let q = &mut a.queues[sent.queue as usize];
    q.bytes -= bytes;
    q.count -= 1;
    p.queued -= bytes;
    *used -= bytes;
    if let Some(managed) = managed {
        let size = managed.mmu.size_of(bytes, sent.class);
        managed.mmu.give_back(&Charge::new(size, sent.input - first, port - first, sent.class, sent.queue));
        debug_assert_eq!(managed.mmu.paused, 0);
    }
}

/// The transmitter is free at `at`, and this frame leaves.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn start<O: Outlet>(out: &mut O, extras: &mut Slab<Extra>, p: &mut Port, a: &mut Automaton, at: u64, queue: usize, waiting: Waiting, explains: bool) {
    let Waiting { mut frame, clock, .. } = waiting;
    if p.eventful
        && explains
        && let Some(pause) = &a.pause
    {
        let paused = pause.clock(frame.priority(), at) - clock;
        if paused > 0 {
            super::forward::carry_pause(extras, &mut frame, paused);
        }
    }
    let (size, time) = (frame.size, p.transmission(frame.size));
    p.free_at = at + time;
    a.sending = Some(Sending { size, queue: queue as u8, class: frame.priority(), input: frame.port, time });
    send(out, extras, p, at, time, frame);
}
