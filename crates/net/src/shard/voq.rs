//! Admission and marking at ports of switches with virtual output queues.

use super::count::mark_at_arrival;
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::port::Waiting;
use crate::queue::buffer::{Buffer, Place};
use crate::queue::{QueueView, Reason, Verdict};

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
        let length = self.ports[port as usize].length(0);
        let place = self.find_place(out, now, node, port, 0, &frame);
        let Some(place) = self.marked(now, node, port, 0, &mut frame, length, place) else {
            return;
        };
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

    /// Offers a frame to an automaton, which has been advanced to `now`.
    #[inline(never)]
    pub(super) fn queue_voq<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        mut frame: Frame,
        ready: u64,
    ) {
        let input = frame.port - self.nodes[node as usize].first_port;
        let queue = self.ports[port as usize]
            .automaton
            .as_ref()
            .expect("not plain")
            .queue_from(&frame, input);
        let length = self.ports[port as usize].length(queue);
        let mut place = self.find_place(out, now, node, port, queue, &frame);
        let mut charge = None;
        if place.is_ok() && self.nodes[node as usize].managed.is_some() {
            let balancer_of =
                self.charge_of(node, port, queue as u8, (frame.port, frame.priority(), frame.size));
            match self.ask_managed(out, now, node, port, &frame, &balancer_of) {
                Ok(take) => charge = Some((balancer_of, take)),
                Err(reason) => place = Err(reason),
            }
        }
        let Some(place) = self.marked(now, node, port, queue, &mut frame, length, place) else {
            return;
        };
        self.enter::<O, false>(
            out,
            now,
            node,
            port,
            queue,
            Waiting { frame, ready, clock: 0 },
            (charge, Some(place)),
        );
    }

    /// Returns the place of the frame in memory, or the reason why it has to be dropped.
    fn find_place<O: Outlet>(
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
        let length = self.ports[port as usize].length(queue);
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

    /// Marks a frame that finds `length` in its queue, if necessary. Returns its place, or `None`
    /// if the frame was dropped.
    #[allow(clippy::too_many_arguments)]
    fn marked(
        &mut self,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        frame: &mut Frame,
        length: QueueView,
        place: Result<Place, Reason>,
    ) -> Option<Place> {
        let (state, p) = (&self.nodes[node as usize], &mut self.ports[port as usize]);
        let verdict = match place {
            Ok(_) => mark_at_arrival(state.marking(queue), now, length, p, queue, frame),
            Err(reason) => Verdict::Drop(reason),
        };
        if self.passes(port, queue, frame, verdict) { place.ok() } else { None }
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
            let p = &self.ports[(first + number) as usize];
            let Buffer::Voq(voq) = &mut self.nodes[node as usize].buffer else {
                unreachable!("only ports of such switches come here")
            };
            for queue in 0..voq.queues() {
                voq.set_occupancy(number, queue, p.queue_bytes(queue));
            }
        }
    }
}
