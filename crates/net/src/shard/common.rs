//! The window engine's short way through ports of the common kind: nothing is recorded, and nothing but the choice of the queue is decided at the
//! start of a transmission. Whatever is out of the ordinary (a refusal, a mark, a group to be paused or resumed) goes the long way in
//! `forward`, which the classical engine takes always.

use super::{Outlet, Shard};
use crate::buffer::mmu::Charge;
use crate::buffer::{QueueView, Verdict};
use crate::frame::Frame;
use crate::port::{PAUSE_QUEUE, Port, Waiting};
use crate::scheduling;

impl<'a> Shard<'a> {
    /// As `advance`. At a switch with a memory management unit no group is paused.
    pub(super) fn advance_common<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, extras, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        let first_port = state.first_port;
        loop {
            let a = p.automaton.as_deref_mut().expect("not plain");
            let at = match a.sending {
                Some(sent) => {
                    if p.free_at > now {
                        break;
                    }
                    a.sending = None;
                    a.latest = sent.size;
                    let bytes = sent.size as u64;
                    if sent.queue != PAUSE_QUEUE {
                        let q = &mut a.queues[sent.queue as usize];
                        q.bytes -= bytes;
                        q.count -= 1;
                        p.queued -= bytes;
                        state.used -= bytes;
                        if let Some(managed) = &mut state.managed {
                            let size = managed.mmu.size_of(bytes, sent.class);
                            managed.mmu.release(&Charge::new(size, sent.input - first_port, port - first_port, sent.class, sent.queue));
                            debug_assert_eq!(managed.mmu.paused, 0);
                        }
                    }
                    p.count_sent(sent.size, sent.time);
                    p.free_at
                }
                None if a.waiting > 0 => match a.held_until() {
                    at if at > now => break,
                    at => at,
                },
                None => break,
            };
            let a = p.automaton.as_deref_mut().expect("not plain");
            if a.pause.as_ref().is_some_and(|pause| pause.pending != 0) {
                self.start_next(out, at, node, port);
                return self.advance(out, now, node, port);
            }
            let Some(queue) = scheduling::next_queue(a, at) else { continue };
            let waiting = a.queues[queue].frames.pop_front().expect("not empty");
            a.waiting -= 1;
            start(out, extras, p, at, queue, waiting, explains);
        }
        if let Some(managed) = &mut state.managed {
            managed.set_due(port - first_port, p.next_action());
        }
    }

    /// As `offer_automaton`.
    #[inline(always)]
    pub(super) fn offer_common<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: Frame) {
        if self.nodes[node as usize].managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0) {
            return self.offer_long(out, now, node, port, frame);
        }
        if self.ports[port as usize].next_action() <= now {
            self.advance_common(out, now, node, port);
        }
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, extras, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        let a = p.automaton.as_deref_mut().expect("not plain");
        let size = frame.size as u64;
        let queue = a.queue_of(&frame);
        let q = &mut a.queues[queue];
        let mut charge = Charge::default();
        let admitted = match &state.managed {
            None => state.buffer.admit(QueueView { bytes: q.bytes, frames: q.count }, size, state.used, false) == Verdict::Admit,
            Some(managed) => {
                let class = frame.priority();
                charge = Charge::new(managed.mmu.size_of(size, class), frame.port - state.first_port, port - state.first_port, class, queue as u8);
                managed.mmu.verdict(&charge).is_safe()
            }
        };
        let quiet = state.marking.as_ref().is_none_or(|red| red.is_quiet(if red.in_packets { q.count as u64 } else { q.bytes }));
        let (mut clock, mut free) = (0, a.sending.is_none() && a.waiting == 0);
        let mut dropping = false;
        if let Some(pause) = &a.pause {
            clock = pause.clock(frame.priority(), now);
            free = free && pause.is_free(frame.priority(), now);
            dropping = pause.dropping >> frame.priority() & 1 != 0;
        }
        if !admitted || !quiet || dropping || a.sending.is_none() && !free {
            return self.offer_long(out, now, node, port, frame);
        }
        if let Some(managed) = &mut state.managed {
            managed.mmu.charge(&charge, false);
        }
        state.used += size;
        p.queued += size;
        q.bytes += size;
        q.count += 1;
        let waiting = Waiting { frame, ready: now, clock };
        if free {
            start(out, extras, p, now, queue, waiting, explains);
            if let Some(managed) = &mut state.managed {
                managed.set_due(port - state.first_port, p.free_at);
            }
            return;
        }
        q.frames.push_back(waiting);
        a.waiting += 1;
        if !a.listed && state.managed.is_none() {
            a.listed = true;
            state.active.push(port);
        }
    }
}

/// The transmitter is free at `at`, and this frame leaves.
#[inline(always)]
fn start<O: Outlet>(
    out: &mut O,
    extras: &mut super::Slab<crate::frame::Extra>,
    p: &mut Port,
    at: u64,
    queue: usize,
    waiting: Waiting,
    explains: bool,
) {
    let Waiting { mut frame, clock, .. } = waiting;
    if explains && let Some(pause) = p.automaton.as_ref().and_then(|a| a.pause.as_ref()) {
        let paused = pause.clock(frame.priority(), at) - clock;
        if paused > 0 {
            super::forward::carry_pause(extras, &mut frame, paused);
        }
    }
    let departure = p.depart(at, queue, Waiting { frame, ..waiting });
    frame.port = departure.peer_port;
    out.frame(departure.arrives, departure.peer_shard, frame, extras);
}
