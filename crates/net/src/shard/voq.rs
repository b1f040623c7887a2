//! Admission and marking at ports of switches with virtual output queues.

use super::count::mark_at_arrival;
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::queue::Reason;
use crate::queue::buffer::{Buffer, Place};

impl<'a> Shard<'a> {
    /// Offers a frame to a plain port, which has been released to `now`. One core and one priority
    /// form a single FIFO, so that the departure is known at admission.
    #[inline(never)]
    pub(super) fn offer_voq<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        mut frame: Frame,
    ) {
        let length = self.length_of(node, port, 0);
        let place = match self.find_place(out, now, node, port, 0, &frame) {
            Ok(place) => place,
            Err(reason) => return self.drop_at(port, 0, frame, reason),
        };
        let (state, p) = (&self.nodes[node as usize], &mut self.ports[port as usize]);
        let verdict = mark_at_arrival(state.marking(0), now, length, p, 0, &frame);
        if !self.passes(port, 0, &mut frame, verdict) {
            return;
        }
        let size = frame.size;
        let state = &mut self.nodes[node as usize];
        state.used += size as u64;
        state.join_voq(now, port, 0, size, place);
        let p = &mut self.ports[port as usize];
        let (start, _) = p.append(now, size);
        let arrives = p.received(start + p.first_bits(size) + p.delay, &frame);
        frame.port = p.peer_port;
        out.frame(arrives, p.peer_shard, &frame, frame.to(p.peer_port), &mut self.extras);
    }

    /// Returns the place of the frame in memory, or the reason why it has to be dropped.
    pub(super) fn find_place<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        frame: &Frame,
    ) -> Result<Place, Reason> {
        let state = &self.nodes[node as usize];
        let number = port - state.first_port;
        // Flow control limits lossless frames at ingress instead.
        let capped =
            state.managed.as_ref().is_none_or(|managed| !managed.mmu.is_lossless(frame.priority()));
        let length = self.length_of(node, port, queue);
        if capped
            && state
                .own
                .as_ref()
                .is_some_and(|own| own[queue].exceeds_limit(length, frame.size.into()))
        {
            return Err(Reason::Buffer);
        }
        let Buffer::Voq(voq) = &mut self.nodes[node as usize].buffer else {
            unreachable!("only ports of such switches come here")
        };
        voq.set_occupancy(number, queue, length.bytes);
        let mut answer = voq.admit(now, number, queue, length, frame.size, capped, false);
        if answer.is_none() {
            self.tell_all(out, now, node);
            let Buffer::Voq(voq) = &self.nodes[node as usize].buffer else {
                unreachable!("just seen")
            };
            answer = voq.admit(now, number, queue, length, frame.size, capped, true);
        }
        answer.expect("exact sums settle it")
    }

    /// Updates the memory sums of the switch: releases all ports to `now` and reports the length of
    /// each queue.
    #[cold]
    #[inline(never)]
    fn tell_all<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let (first, ports) =
            (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        for number in 0..ports {
            self.release_departed(out, now, node, first + number);
            let Buffer::Voq(voq) = &self.nodes[node as usize].buffer else {
                unreachable!("only ports of such switches come here")
            };
            let queues = voq.queues();
            for queue in 0..queues {
                let bytes = self.length_of(node, first + number, queue).bytes;
                let Buffer::Voq(voq) = &mut self.nodes[node as usize].buffer else {
                    unreachable!("just seen")
                };
                voq.set_occupancy(number, queue, bytes);
            }
        }
    }
}
