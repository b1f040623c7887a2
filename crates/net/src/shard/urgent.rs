//! The window engine's short way through ports with pFabric's queue and nothing besides: nothing is recorded or marked, no flow control, whole
//! frames. The classical engine takes the long way always (`discipline`).
//!
//! Which frame goes next need not be decided in the window in which it starts, but before the one in which it arrives at the link's other end:
//! what comes in between finds the port advanced to its own moment, and so as it was. Most ports are therefore advanced when the next frame comes,
//! and a node that waits for nothing else is woken once for many transmissions.

use super::common::start;
use super::forward::rank;
use super::{Outlet, Shard};
use crate::aqm::{Aqm, Pfabric};
use crate::frame::Frame;
use crate::port::{Automaton, Port, Queue, Sending, Waiting};

impl<'a> Shard<'a> {
    /// As `advance`.
    pub(super) fn advance_urgent<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let Shard { nodes, ports, extras, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        let mut automaton = p.automaton.take();
        let a = automaton.as_deref_mut().expect("not plain");
        while let Some(sent) = a.sending
            && p.free_at <= now
        {
            let at = p.free_at;
            a.latest = sent.size;
            a.sending = None;
            if !state.until_start {
                leave(&mut state.used, p, &mut a.queues[0], sent);
            }
            p.count_sent(sent.size, sent.time);
            if a.waiting == 0 {
                break;
            }
            let (queue, urgency) = parts(a);
            let waiting = urgency.pull(&mut queue.frames).expect("something waits");
            a.waiting -= 1;
            start(out, extras, p, a, at, 0, waiting, false);
            if state.until_start {
                leave(&mut state.used, p, &mut a.queues[0], a.sending.expect("just started"));
            }
        }
        p.automaton = automaton;
    }

    /// As `offer_automaton`.
    #[inline(never)]
    pub(super) fn offer_urgent<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: Frame) {
        if self.ports[port as usize].free_at <= now {
            self.advance_urgent(out, now, node, port);
        }
        let Shard { nodes, ports, extras, world, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        let mut automaton = p.automaton.take();
        let a = automaton.as_deref_mut().expect("not plain");
        let size = frame.size as u64;
        let waiting = Waiting { frame, ready: now, clock: rank(extras, &frame) };
        // Where nothing is in transmission, nothing waits.
        let idle = a.sending.is_none();
        let mut surplus = Vec::new();
        let (queue, urgency) = parts(a);
        state.used += size;
        p.queued += size;
        queue.bytes += size;
        queue.count += 1;
        if idle && urgency.takes_alone(size) {
            start(out, extras, p, a, now, 0, waiting, false);
            if state.until_start {
                leave(&mut state.used, p, &mut a.queues[0], a.sending.expect("just started"));
            }
        } else {
            surplus = urgency.push(&mut queue.frames, waiting);
            a.waiting += 1;
            state.due = state.due.min(due(p, frame.size, world.lookahead));
            if !a.listed {
                a.listed = true;
                state.active.push(port);
            }
        }
        p.automaton = automaton;
        if !surplus.is_empty() {
            self.drop_surplus(node, port, 0, surplus);
        }
    }

    /// As `finish_window`, at a node that defers.
    pub(super) fn finish_deferring<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) {
        let until = self.world.until();
        if self.nodes[node as usize].due >= end && end <= until {
            let due = self.nodes[node as usize].due;
            return self.wake_by(out, node, due.min(until));
        }
        let mut active = std::mem::take(&mut self.nodes[node as usize].active);
        let mut earliest = u64::MAX;
        active.retain(|&port| {
            if self.ports[port as usize].free_at < end {
                self.advance_urgent(out, end - 1, node, port);
            }
            let p = &mut self.ports[port as usize];
            let a = p.automaton.as_mut().expect("only automata are listed");
            a.listed = a.waiting > 0;
            let smallest = a.queues[0].frames.iter().map(|waiting| waiting.frame.size).min();
            if let Some(size) = smallest {
                earliest = earliest.min(due(p, size, self.world.lookahead));
            }
            smallest.is_some()
        });
        let state = &mut self.nodes[node as usize];
        (state.active, state.due) = (active, earliest);
        // In the window in which the run ends everything has started that does by then; what is left is for later than that.
        let by = if end <= until { earliest.min(until) } else { earliest };
        if earliest < u64::MAX {
            self.wake_by(out, node, by);
        }
    }
}

/// When, at the latest, it must be known what starts at a busy port where no frame smaller than this waits: then it arrives in a later window.
#[inline(always)]
fn due(p: &Port, smallest: u16, lookahead: u64) -> u64 {
    p.free_at + p.first_bits(smallest) + p.delay - lookahead
}

#[inline(always)]
fn parts(a: &mut Automaton) -> (&mut Queue, &mut Pfabric) {
    match a.discipline.as_deref_mut().map(|d| &mut d.aqm[0]) {
        Some(Aqm::Pfabric(urgency)) => (&mut a.queues[0], urgency),
        _ => unreachable!("urgent ports have pFabric's queue"),
    }
}

/// The frame in transmission no longer occupies the buffer.
#[inline(always)]
fn leave(used: &mut u64, p: &mut Port, queue: &mut Queue, sent: Sending) {
    let bytes = sent.size as u64;
    queue.bytes -= bytes;
    queue.count -= 1;
    p.queued -= bytes;
    *used -= bytes;
}
