//! Ports with features that few ports have: a discipline, cut-through, recorders, captures,
//! telemetry, limits and marking by queue, averaged marking, virtual output queues. Their nodes are
//! always in exact mode, where `shard::exact` calls these functions when a frame arrives, starts
//! and has left.

use super::count::mark_at_start;
use super::lane::{OWN, Sent};
use super::pause::carry_pause;
use super::{Outlet, Shard};
use crate::features::Departure;
use crate::frame::{Extra, Frame};
use crate::port::{PAUSE_QUEUE, Port};
use crate::queue::buffer::Place;
use crate::queue::waiting::Waiting;
use crate::spec::MarkAt;
use crate::telemetry::Reading;

impl<'a> Shard<'a> {
    pub(super) fn has_discipline(&self, port: u32) -> bool {
        self.ports[port as usize].discipline().is_some()
    }

    /// True if the discipline of the port has frames, here or in its device queue.
    pub(super) fn is_disciplining(&self, port: u32) -> bool {
        self.ports[port as usize].discipline().is_some_and(|d| d.waiting > 0)
    }

    /// Returns the queue of a frame.
    pub(super) fn special_queue(&self, node: u32, port: u32, frame: &Frame) -> usize {
        let a = self.ports[port as usize].features();
        a.queue_from(frame, frame.port.wrapping_sub(self.nodes[node as usize].first_port))
    }

    /// Returns the time in ps from which a frame that arrives now could be sent. A cut-through
    /// switch may forward it at once if the output is idle and not faster than the input.
    /// Otherwise the switch stores the whole frame first.
    pub(super) fn ready_at(&self, now: u64, node: u32, port: u32, frame: &Frame) -> u64 {
        let header = self.nodes[node as usize].header;
        if header >= frame.size {
            return now;
        }
        let (p, input) = (&self.ports[port as usize], &self.ports[frame.port as usize]);
        if !self.lanes[port as usize].sending && p.rate <= input.incoming {
            return now;
        }
        now + input.arrival(frame.size) - input.arrival(header)
    }

    /// Notes what is recorded about a frame that has joined its queue in the lane.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn note_joined(
        &mut self,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        size: u16,
        ready: u64,
        place: Option<Place>,
    ) {
        let lane = &self.lanes[port as usize];
        self.store.arena.set_ready(&lane.queues[queue].chain, ready);
        if let Some(place) = place {
            self.nodes[node as usize].join_voq(now, port, queue, size, place);
        }
        self.note_length(node, port, queue);
    }

    /// Updates the greatest length of a queue in the series, if the port is sampled.
    pub(super) fn note_length(&mut self, node: u32, port: u32, queue: usize) {
        if self.ports[port as usize].features.as_ref().is_some_and(|a| a.series.is_some()) {
            let total = self.bytes_at(node, port, None);
            let of_queue = self.bytes_at(node, port, Some(queue));
            self.ports[port as usize].note_length(total, queue, of_queue);
        }
    }

    /// Returns the bytes of a queue, or of all queues, with the frame in transmission and the device
    /// queue, whether the buffer counts these or not. The port has been advanced to the current
    /// time.
    pub(super) fn bytes_at(&self, node: u32, port: u32, queue: Option<usize>) -> u64 {
        let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
        let a = p.features();
        let until_start = self.nodes[node as usize].until_start;
        let is_of = |of: u8| queue.is_none_or(|queue| queue == of as usize);
        let device = a.discipline.iter().flat_map(|d| &d.device);
        let beside: u64 = device
            .filter(|(_, queue)| is_of(*queue))
            .map(|(waiting, _)| waiting.frame.size as u64)
            .sum();
        let counts = lane.sending && lane.sent.queue != PAUSE_QUEUE && is_of(lane.sent.queue);
        let sending = if counts { lane.sent.size as u64 } else { 0 };
        match queue {
            None => p.queued + a.qdisc.as_ref().map_or(0, |qdisc| qdisc.bytes()) + beside + sending,
            Some(queue) => {
                let length = self.length_of(node, port, queue).bytes;
                length + beside + if until_start { sending } else { 0 }
            }
        }
    }

    /// Notes what is recorded about a transmission that has ended, and takes it from the length of
    /// its queue in the discipline.
    pub(super) fn note_ended(&mut self, node: u32, port: u32, sent: Sent) {
        let a = self.ports[port as usize].features_mut();
        let (queue, bytes) = (sent.queue as usize, sent.size as u64);
        if sent.queue == PAUSE_QUEUE {
            return a.note_pause(bytes);
        }
        a.note(queue, |i| i.tx_bytes += bytes);
        if let Some(d) = a.discipline.as_mut().filter(|_| !self.nodes[node as usize].until_start) {
            d.leave(queue, bytes);
        }
    }

    /// Returns the time in ps at which a frame of the discipline may start, where none may now;
    /// `u64::MAX` if none waits.
    pub(super) fn next_disciplined(&self, port: u32) -> u64 {
        if self.is_disciplining(port) {
            self.ports[port as usize].features().held_until()
        } else {
            u64::MAX
        }
    }

    /// Starts the first frame of a queue of the lane at `at`, when the transmitter is idle. Returns
    /// the frame, and `false` if marking has dropped it.
    #[inline(never)]
    pub(super) fn start_special<O: Outlet>(
        &mut self,
        out: &mut O,
        at: u64,
        node: u32,
        port: u32,
        queue: usize,
    ) -> (Sent, bool) {
        let (hop, ports, lanes) = self.hop::<O, OWN>(out, node);
        let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
        let (arena, q) = (&mut hop.store.arena, &mut lane.queues[queue]);
        let clock = if lane.clocked { Some(arena.note(q.chain.first())) } else { None };
        let ready = if lane.special { arena.ready(q.chain.first()) } else { at };
        let (slot, empty) = arena.take(&mut q.chain);
        let mut frame = arena.release(slot);
        q.waits.take(frame.size);
        lane.occupied &= !((empty as u8) << queue);
        p.queued -= frame.size as u64;
        let behind = lane.length(queue, 0);
        let red = hop.state.marking(queue).filter(|red| red.at == MarkAt::Dequeue);
        if let Some(red) = red {
            let verdict = mark_at_start(red, behind, p, queue, &frame);
            if !self.passes(port, queue, &mut frame, verdict) {
                return (Sent::of(&frame, queue as u8), false);
            }
        }
        self.depart(out, at, node, port, queue, Waiting { frame, ready, clock: 0 }, clock);
        (self.lanes[port as usize].sent, true)
    }

    /// Transmits a frame that has left its queue, at `at` or when its tail has arrived if that is
    /// later. `clock`: the time in ps for which its class had been paused when it joined the queue.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn depart<O: Outlet>(
        &mut self,
        out: &mut O,
        at: u64,
        node: u32,
        port: u32,
        queue: usize,
        Waiting { mut frame, ready, .. }: Waiting,
        clock: Option<u64>,
    ) {
        let (state, p) = (&self.nodes[node as usize], &mut self.ports[port as usize]);
        if frame.has(Frame::EXTRA) && !self.world.rates.is_empty() && !state.host {
            stamp(&mut self.extras[frame.aux], &frame, p, at, &self.world.rates);
        }
        if let Some((pause, clock)) = p.pause().zip(clock)
            && self.world.plan.record.explain
        {
            let paused = pause.clock(frame.priority(), at) - clock;
            if paused > 0 {
                frame = carry_pause(&mut self.extras, frame, paused);
            }
        }
        let (start, time) = p.begin(at.max(ready), &frame);
        let arrives = p.arrives(start, time, &frame);
        let departure = Departure { start, ends: p.free_at, ready };
        p.count_sent(frame.size, time);
        // Nodes that forward a notification do not count it again.
        let notifies = frame.notifies() && self.world.flow(frame.flow).dst == state.id;
        let a = p.features_mut();
        a.note(queue, |i| {
            i.latency_max = i.latency_max.max(start.saturating_sub(ready));
            i.cnps += u64::from(notifies);
        });
        a.marking[queue].free_at = departure.ends;
        if let Some(turns) = a.discipline.as_mut().and_then(|d| d.turns.as_mut()) {
            turns.sent(start, queue, frame.size);
        }
        let (capture, watched) = (a.capture, a.watch.is_some());
        let (peer_port, peer_shard) = (p.peer_port, p.peer_shard);
        let lane = &mut self.lanes[port as usize];
        (lane.sent, lane.sending) = (Sent::of(&frame, queue as u8), true);
        let late = state.arrivals_first as u64;
        if let Some(capture) = capture {
            self.capture(capture, start, frame);
        }
        if watched {
            self.watch(port, &frame, &departure);
        }
        if O::CLASSICAL {
            // Schedule the earlier of the two events first: it sinks less far into the heap. Where
            // arrivals come first, the end of the transmission is processed 1 ps later.
            out.sent(departure.ends + late, port);
        }
        out.frame(arrives, peer_shard, &frame, frame.to(peer_port), &mut self.extras);
    }

    /// Calls `see` for each frame that waits at a port that is not plain.
    pub(super) fn each_waiting(&self, node: u32, port: u32, mut see: impl FnMut(&Frame)) {
        let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
        if self.nodes[node as usize].memory.kind == super::lane::RANKED {
            self.store.rank_queues[port as usize].each(&self.store.arena, &mut see);
        } else {
            lane.each(&self.store.arena, |_, frame| see(frame));
        }
        p.features.iter().flat_map(|a| a.held()).for_each(|waiting| see(&waiting.frame));
    }
}

/// Appends in-band telemetry of the departing port to RDMA data that carries telemetry. The frame
/// has left its queue at `at`.
#[cold]
#[inline(never)]
fn stamp(extra: &mut Extra, frame: &Frame, p: &Port, at: u64, rates: &[u64]) {
    if frame.kind() == Frame::RDMA_DATA
        && let Some(telemetry) = &mut extra.telemetry
    {
        telemetry.push(Reading { time: at, bytes: p.bytes, queue: p.queued, rate: p.rate }, rates);
    }
}
