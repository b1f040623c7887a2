//! The window engine's short way through ports with pFabric's queue and nothing besides: nothing is recorded or marked, no flow control, whole
//! frames. The classical engine takes the long way always (`discipline`).

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
        let Shard { nodes, ports, extras, .. } = self;
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
