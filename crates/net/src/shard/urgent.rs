//! The window engine's short way through ports with pFabric's queue and nothing besides: nothing is recorded or marked, no flow control, whole
//! frames. The classical engine takes the long way always (`discipline`).
//!
//! Which frame goes next need not be decided in the window in which it starts, but before the one in which it arrives at the link's other end:
//! what comes in between finds the port advanced to its own moment, and so as it was. Most ports are therefore advanced when the next frame comes,
//! and a node that waits for nothing else is woken once for many transmissions.

use super::forward::rank;
use super::way::send;
use super::{Node, Outlet, Shard, Slab};
use crate::frame::{Extra, Frame};
use crate::port::{Automaton, Port, Queue, Sending, Waiting};
use crate::queue::aqm::{Aqm, Pfabric};
use crate::queue::{Reason, Verdict};

impl<'a> Shard<'a> {
    /// As `advance`.
    pub(super) fn advance_urgent<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let Shard { nodes, ports, extras, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        while p.free_at <= now {
            let at = p.free_at;
            let a = p.automaton.as_deref_mut().expect("not plain");
            let Some(sent) = a.sending else { return };
            let done = a.waiting == 0;
            ended(state, p, sent);
            if done {
                return;
            }
            let frame = pull(p.automaton.as_deref_mut().expect("not plain"));
            if state.until_start {
                leave(&mut state.used, p, frame.size);
            }
            start(out, extras, p, at, &frame);
        }
    }

    /// As `offer_automaton`.
    #[inline(never)]
    pub(super) fn offer_urgent<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame) {
        let p = &self.ports[port as usize];
        if p.free_at <= now {
            let a = p.automaton.as_deref().expect("not plain");
            if a.waiting > 0 {
                self.advance_urgent(out, now, node, port);
            } else if let Some(sent) = a.sending {
                // As `advance_urgent` does where nothing waits.
                ended(&mut self.nodes[node as usize], &mut self.ports[port as usize], sent);
            }
        }
        let Shard { nodes, ports, extras, world, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        let size = frame.size as u64;
        let a = p.automaton.as_deref_mut().expect("not plain");
        // Where nothing is in transmission, nothing waits.
        let starts = p.free_at <= now && size < a.passes_below;
        // Room is only for those that wait.
        if !(starts && state.until_start) {
            state.used += size;
            p.queued += size;
            a.queues[0].bytes += size;
            a.queues[0].count += 1;
        }
        if starts {
            return start(out, extras, p, now, frame);
        }
        let (queue, urgency) = parts(a);
        let surplus = urgency.push(&mut queue.frames, Waiting { frame: *frame, ready: now, clock: rank(extras, frame) });
        a.waiting += 1;
        if !a.listed {
            a.listed = true;
            state.active.push(port);
        }
        state.due = state.due.min(due(p, frame.size, world.lookahead));
        if let Some(frame) = surplus {
            self.give_back(now, node, port, 0, vec![(frame, Verdict::Drop(Reason::Buffer))]);
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
            if a.waiting > 0 {
                let smallest = parts(a).1.smallest();
                earliest = earliest.min(due(p, smallest, self.world.lookahead));
                return true;
            }
            false
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

/// The next frame that waits.
#[inline(always)]
fn pull(a: &mut Automaton) -> Frame {
    let (queue, urgency) = parts(a);
    let frame = urgency.pull(&mut queue.frames).expect("something waits").frame;
    a.waiting -= 1;
    frame
}

/// A transmission has ended.
#[inline(always)]
fn ended(state: &mut Node, p: &mut Port, sent: Sending) {
    let a = p.automaton.as_deref_mut().expect("not plain");
    (a.latest, a.sending) = (sent.size, None);
    if !state.until_start {
        leave(&mut state.used, p, sent.size);
    }
    p.count_sent(sent.size, sent.time);
}

/// A frame no longer occupies the buffer.
#[inline(always)]
fn leave(used: &mut u64, p: &mut Port, size: u16) {
    p.leave(0, size as u64);
    *used -= size as u64;
}

/// The transmitter is free at `at`, and this frame leaves.
#[inline(always)]
fn start<O: Outlet>(out: &mut O, extras: &mut Slab<Extra>, p: &mut Port, at: u64, frame: &Frame) {
    let (size, time) = (frame.size, p.transmission(frame.size));
    p.free_at = at + time;
    let sending = Sending { size, queue: 0, class: frame.priority(), input: frame.port, time };
    p.automaton.as_deref_mut().expect("not plain").sending = Some(sending);
    send(out, extras, p, at, time, frame, frame.to(p.peer_port));
}
