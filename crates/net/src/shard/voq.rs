//! Ports of switches with virtual output queues.

use super::count::mark_at_arrival;
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::port::Waiting;
use crate::queue::Verdict;
use crate::queue::buffer::{Buffer, Place};
use crate::queue::scheduling::Turns;

impl<'a> Shard<'a> {
    /// Plain port, already released to `now`: one core and one priority are one FIFO, so the departure is known now.
    #[inline(never)]
    pub(super) fn offer_voq<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, mut frame: Frame) {
        let Some(place) = self.find_place(out, now, node, port, 0, &mut frame) else { return };
        let size = frame.size;
        self.take_place(now, node, port, 0, size, place);
        let p = &mut self.ports[port as usize];
        let (start, _) = p.append(now, size);
        let arrives = start + p.first_bits(size) + p.delay;
        frame.port = p.peer_port;
        out.frame(arrives, p.peer_shard, &frame, frame.to(p.peer_port), &mut self.extras);
    }

    /// Automaton, already advanced to `now`.
    #[inline(never)]
    pub(super) fn queue_voq<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, mut frame: Frame) {
        let input = frame.port - self.nodes[node as usize].first_port;
        let a = self.ports[port as usize].automaton.as_ref().expect("not plain");
        let queue = match a.turns.as_deref() {
            Some(Turns::Cores(cores)) => cores.queue_of(frame.priority(), input),
            _ => a.queue_of(&frame),
        };
        let Some(place) = self.find_place(out, now, node, port, queue, &mut frame) else { return };
        self.take_place(now, node, port, queue, frame.size, place);
        let size = frame.size as u64;
        let p = &mut self.ports[port as usize];
        p.queued += size;
        let a = p.automaton.as_mut().expect("not plain");
        a.queues[queue].bytes += size;
        a.queues[queue].count += 1;
        let (idle, sampled) = (a.sending.is_none(), a.series.is_some());
        let waiting = Waiting { frame, ready: now, clock: 0 };
        if idle {
            if let Some(Turns::Cores(cores)) = a.turns.as_deref_mut() {
                cores.send_at_once(queue, frame.size);
            }
        } else {
            a.push(queue, waiting);
        }
        if sampled {
            p.note_length(false, queue);
        }
        if idle {
            self.transmit(out, now, node, port, queue, waiting);
        } else if !O::CLASSICAL {
            self.list(node, port);
        }
    }

    /// Where the frame may stand, marked if need be; `None` if it had to be dropped.
    fn find_place<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, queue: usize, frame: &mut Frame) -> Option<Place> {
        let number = port - self.nodes[node as usize].first_port;
        let length = self.ports[port as usize].length(queue);
        let Buffer::Voq(voq) = &mut self.nodes[node as usize].buffer else { unreachable!("only ports of such switches come here") };
        voq.told(number, queue, length.bytes);
        let mut answer = voq.admit(now, number, queue, length, frame.size, false);
        if answer.is_none() {
            self.tell_all(out, now, node);
            let Buffer::Voq(voq) = &self.nodes[node as usize].buffer else { unreachable!("just seen") };
            answer = voq.admit(now, number, queue, length, frame.size, true);
        }
        let (state, p) = (&self.nodes[node as usize], &mut self.ports[port as usize]);
        let (place, verdict) = match answer.expect("exact sums settle it") {
            Ok(place) => (Some(place), mark_at_arrival(state.marking.as_ref(), now, length, p, queue, frame)),
            Err(reason) => (None, Verdict::Drop(reason)),
        };
        if self.passes(port, queue, frame, verdict) { place } else { None }
    }

    fn take_place(&mut self, now: u64, node: u32, port: u32, queue: usize, size: u16, place: Place) {
        let state = &mut self.nodes[node as usize];
        state.used += size as u64;
        if let Buffer::Voq(voq) = &mut state.buffer {
            voq.join(now, port - state.first_port, queue, size, place);
        }
    }

    /// Brings the sums of the switch's memory up to date: releases all ports to `now`.
    #[cold]
    #[inline(never)]
    fn tell_all<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let (first, ports) = (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        for number in 0..ports {
            self.settle(out, now, node, first + number);
            let p = &self.ports[(first + number) as usize];
            let Buffer::Voq(voq) = &mut self.nodes[node as usize].buffer else { unreachable!("only ports of such switches come here") };
            for queue in 0..voq.queues() {
                voq.told(number, queue, p.queue_bytes(queue));
            }
        }
    }
}
