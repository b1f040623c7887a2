//! The classical engine's ports that the window engine has as plain ones: a FIFO, and nothing recorded nor decided at the start of a transmission.
//! What `forward` asks of any port need not be asked of these.

use super::count::{mark, mark_at_arrival};
use super::way::send;
use super::{Outlet, Shard, Slab};
use crate::frame::{Extra, Frame};
use crate::port::{Port, Sending, Waiting};
use crate::queue::{QueueView, Verdict};

impl<'a> Shard<'a> {
    /// As `offer_automaton`.
    #[inline(always)]
    pub(super) fn offer_fifo<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, mut frame: Frame) {
        let Shard { nodes, ports, extras, counters, .. } = self;
        let (state, p) = (&mut nodes[node as usize], &mut ports[port as usize]);
        let q = &p.automaton.as_ref().expect("not plain").queues[0];
        let (size, length) = (frame.size as u64, QueueView { bytes: q.bytes, frames: q.count });
        let mut verdict = state.buffer.admit(length, size, state.used, true).expect("exact figures settle it");
        if matches!(verdict, Verdict::Admit) {
            verdict = mark_at_arrival(state.marking.as_ref(), now, length, p, 0, &frame);
        }
        match verdict {
            Verdict::Admit => {}
            Verdict::Mark => mark(counters, p, 0, &mut frame.flags),
            Verdict::Trim(_) => unreachable!("ports without a discipline do not trim"),
            Verdict::Drop(reason) => return self.drop_at(port, 0, frame, reason),
        }
        state.used += size;
        p.queued += size;
        let a = p.automaton.as_deref_mut().expect("not plain");
        let q = &mut a.queues[0];
        q.bytes += size;
        q.count += 1;
        if a.sending.is_none() {
            return start(out, extras, now, port, p, frame);
        }
        q.frames.push_back(Waiting { frame, ready: now, clock: 0 });
        a.waiting += 1;
    }

    /// The transmission under way has ended: as `complete`, then `start_next`.
    #[inline(always)]
    pub(super) fn fifo_sent<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let Shard { nodes, ports, extras, .. } = self;
        let p = &mut ports[port as usize];
        let a = p.automaton.as_deref_mut().expect("not plain");
        let Sending { size, time, .. } = a.sending.take().expect("a transmission under way");
        a.latest = size;
        let q = &mut a.queues[0];
        q.bytes -= size as u64;
        q.count -= 1;
        nodes[node as usize].used -= size as u64;
        p.queued -= size as u64;
        let next = q.frames.pop_front();
        a.waiting -= next.is_some() as u32;
        p.count_sent(size, time);
        if let Some(next) = next {
            start(out, extras, now, port, p, next.frame);
        }
    }
}

/// As `transmit`.
#[inline(always)]
fn start<O: Outlet>(out: &mut O, extras: &mut Slab<Extra>, at: u64, port: u32, p: &mut Port, frame: Frame) {
    let (size, time) = (frame.size, p.serialize(frame.size));
    p.free_at = at + time;
    let a = p.automaton.as_deref_mut().expect("not plain");
    a.queues[0].free_at = p.free_at;
    a.sending = Some(Sending { size, queue: 0, class: frame.priority(), input: frame.port, time });
    // The sooner of the two first: it has less far to sink.
    out.sent(p.free_at, port);
    send(out, extras, p, at, time, &frame, frame.to(p.peer_port));
}
