//! Host side of all transports: sends and delivers frames, and starts and ends flows.

use super::{NOT_YET, OVER, Outlet, ReceivedRecord, SentRecord, Shard, set_slot};
use crate::balance::Tag;
use crate::features::Features;
use crate::frame::{Event, Frame};
use crate::idle::{Idle, idle};
use crate::memory::Kept;
use crate::queue::Reason;
use crate::spec::{Flow, FlowId};
use crate::transport::door::Opening;

/// Metadata that arrived with a frame.
#[derive(Default)]
pub struct Carried {
    /// Time in ps for which this frame, and the frame that caused it, were paused.
    pub paused: u64,
    /// Timestamp of an acknowledgement, or the timestamp that data echo; 0 for none.
    pub stamp: u32,
    /// Tag that the last switch wrote on the frame.
    pub tag: Tag,
}

/// Arms a lazy timer: schedules `event` for `wake`, unless an event is scheduled for `wake` or
/// earlier. `armed`: time of the scheduled event in ps, 0 for none. `wake` is 0 if the timer is
/// off. An event that comes too early arms the timer again, so that only an earlier `wake` needs a
/// new event.
#[inline(always)]
pub fn arm<O: Outlet>(out: &mut O, wake: u64, armed: &mut u64, event: impl FnOnce() -> Frame) {
    if wake != 0 && (*armed == 0 || wake < *armed) {
        *armed = wake;
        out.event(wake, event());
    }
}

impl Shard<'_> {
    /// Delivers a frame to its destination.
    #[inline(always)]
    pub fn deliver<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        self.counters.delivered_packets += 1;
        self.counters.delivered_bytes += frame.size as u64;
        self.live -= 1;
        self.deliver_to_transport(out, now, frame);
    }

    pub fn start_flow<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, id: FlowId) {
        let flow = self.world.flow(id);
        if flow.src == flow.dst {
            return self.finish_local(out, now, id);
        }
        if flow.stop.0 <= now {
            return self.refuse(now, id, Idle::default());
        }
        let shape = self.world.shape(flow);
        let with_return = self.world.ends_with_ack(shape);
        let idle = idle(self.world, now, flow, shape, with_return);
        let hash = self.world.route_of(self.world.flow_hash(flow, false), flow.src, flow.dst);
        self.start_transport(
            out,
            now,
            Opening { id, node, hash, idle, deadline: flow.deadline.map(|span| now + span.0) },
        );
    }

    /// Notes that a flow's sending half is in `slot` of its transport.
    pub fn opened(&mut self, flow: FlowId, slot: u32) {
        set_slot(&mut self.sending, flow, slot);
        if !self.open.is_empty() {
            let node = self.world.place[self.world.flow(flow).src as usize].local;
            self.open[node as usize].push(flow);
        }
    }

    /// Notes that a flow's receiving half is in `slot` of its transport.
    pub fn note_receiver(&mut self, flow: FlowId, slot: u32) {
        set_slot(&mut self.receiving, flow, slot);
    }

    /// Ends a flow at its source.
    pub fn sending_over(&mut self, record: SentRecord) {
        self.sending[record.flow as usize] = OVER;
        self.harvest.leave(record);
        self.live -= 1;
        self.flows_done += 1;
    }

    /// Ends a flow at its destination: all of its data has arrived.
    pub fn receiving_over<O: Outlet>(&mut self, out: &mut O, now: u64, record: ReceivedRecord) {
        self.receiving[record.flow as usize] = OVER;
        self.harvest.received.push(record);
        self.flow_received(out, now, record.flow, now);
    }

    /// Sends a frame from a host. With small queues, returns the time in ps at which the frame will
    /// have left, if nothing is paused and no later frame overtakes it; 0 if it was dropped. Always
    /// 0 without small queues.
    #[inline(always)]
    pub fn send<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: Frame) -> u64 {
        self.sets_out(frame.size);
        let Some(port) = self.outgoing(now, node, frame.dst, frame.hash) else {
            self.drop_frame(frame, Reason::Down);
            return 0;
        };
        self.send_by(out, now, node, port, frame)
    }

    /// Sends a frame from a host by this port. Returns the estimated departure as [`Self::send`]
    /// does.
    #[inline(always)]
    pub fn send_by<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: Frame,
    ) -> u64 {
        if self.cleared.is_empty() {
            self.offer(out, now, node, port, &frame);
            return 0;
        }
        let drops = |a: &Features| a.discipline.is_some() || a.is_held_back();
        if self.nodes[node as usize].marks_at_start
            || self.ports[port as usize].features.as_deref().is_some_and(drops)
        {
            // Advance the port first: an earlier frame that is dropped at the start of its
            // transmission must not be taken for this one.
            self.release_departed(out, now, node, port);
        }
        let dropped = self.counters.dropped_packets;
        self.offer(out, now, node, port, &frame);
        if self.counters.dropped_packets > dropped {
            return 0;
        }
        let p = &self.ports[port as usize];
        let pitch = p.pitch(frame.size);
        let until = self.cleared[port as usize].max(now) + pitch;
        self.cleared[port as usize] = until;
        let until = match p.qdisc().filter(|qdisc| qdisc.holds()) {
            Some(qdisc) => {
                let queued = self.lanes[port as usize].ring(p, now) + qdisc.bytes();
                now + qdisc.bytes_before(queued, &frame, self.hash_at_host(node, &frame)) * pitch
                    / frame.size as u64
            }
            None => until,
        };
        self.at_host = until.saturating_sub(now + pitch);
        until
    }

    /// Counts a frame of `size` bytes that enters the network.
    #[inline(always)]
    pub fn sets_out(&mut self, size: u16) {
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += size as u64;
        self.live += 1;
    }

    /// Returns the port by which a host sends to `dst`, if any leads there. A host with a single
    /// port always uses it.
    #[inline(always)]
    pub fn outgoing(&self, now: u64, node: u32, dst: u32, hash: u32) -> Option<u32> {
        let state = &self.nodes[node as usize];
        if state.ports == 1 {
            return Some(state.first_port);
        }
        let port = self.world.routes(now).next_hop(state.id, dst, hash, state.hash_seed)?;
        Some(state.first_port + port as u32)
    }

    /// Schedules the first timed flow start of each host.
    pub fn arm_starts<O: Outlet>(&mut self, out: &mut O) {
        for node in 0..self.nodes.len() as u32 {
            if self.nodes[node as usize].host {
                self.arm_next_start(out, node);
            }
        }
    }

    pub fn arm_next_start<O: Outlet>(&mut self, out: &mut O, node: u32) {
        if let Some(flow) = self.starts[node as usize].pop() {
            let crate::spec::Start::At(at) = self.world.plan.flows[flow as usize].start else {
                unreachable!("only timed starts are listed")
            };
            let mut event = self.event(node, flow, Event::Start);
            event.aux = Event::BY_TIME;
            out.event(at.0, event);
        }
    }

    /// Lists the flows that have a stop time by host, the earliest last.
    pub(super) fn list_stops(&mut self) {
        let flows = &self.world.plan.flows;
        for (id, flow) in flows.iter().enumerate().filter(|(_, flow)| flow.stop != Flow::ENDLESS) {
            let source = self.world.place[flow.src as usize];
            if source.shard == self.index {
                self.stops.resize_with(self.nodes.len(), Vec::new);
                self.stops[source.local as usize].push(id as FlowId);
            }
        }
        self.stops.iter_mut().for_each(|list| {
            list.sort_by_key(|&id| std::cmp::Reverse((flows[id as usize].stop, id)))
        });
    }

    pub(super) fn arm_stops<O: Outlet>(&mut self, out: &mut O) {
        (0..self.stops.len() as u32).for_each(|node| self.arm_next_stop(out, node));
    }

    fn arm_next_stop<O: Outlet>(&mut self, out: &mut O, node: u32) {
        if let Some(flow) = self.stops[node as usize].pop() {
            let event = Frame { aux: Event::STOPS, ..self.event(node, flow, Event::Start) };
            out.event(self.world.plan.flows[flow as usize].stop.0, event);
        }
    }

    /// Ends the sender of a flow, if it is still active. Frames that are already in the network
    /// continue.
    pub(super) fn on_stop<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, flow: FlowId) {
        let slot = self.sending.get(flow as usize).copied().unwrap_or(NOT_YET);
        if slot != NOT_YET && slot != OVER {
            self.last = self.last.max(now);
            self.give_up(out, now, flow, slot);
        }
        self.arm_next_stop(out, node);
    }

    /// Ends a flow that has sent nothing, because its stop time has passed or its connection has
    /// been given up.
    #[cold]
    pub fn refuse(&mut self, now: u64, id: FlowId, idle: Idle) {
        set_slot(&mut self.sending, id, OVER);
        self.sending_over(SentRecord { given_up: Some(now), ..SentRecord::new(id, now, idle) });
    }

    /// Completes a flow from a host to itself.
    #[cold]
    fn finish_local<O: Outlet>(&mut self, out: &mut O, now: u64, id: FlowId) {
        let frames = self.world.shape(self.world.flow(id)).count;
        let nothing_sent =
            SentRecord { finish: Some(now), ..SentRecord::new(id, now, Idle::default()) };
        self.harvest.leave(nothing_sent);
        self.harvest.received.push(ReceivedRecord {
            flow: id,
            finish: Some(now),
            frames,
            has_last: true,
            marked: 0,
            reordered: 0,
            paused: 0,
            last: now,
        });
        set_slot(&mut self.sending, id, OVER);
        self.live -= 1;
        self.flows_done += 1;
        self.flow_received(out, now, id, now);
    }

    /// Processes the arrival of the last byte of a flow, which the host will have read by `read`:
    /// informs the applications, or starts the flows that wait for this one.
    pub fn flow_received<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId, read: u64) {
        let plan = self.world.plan;
        let Some(planned) = plan.flows.get(flow as usize) else {
            return self.tell_received(out, now, flow, read);
        };
        let Some(group) = planned.group else { return };
        let g = self.groups.get_mut(&group).expect("groups live where their flows end");
        g.left -= 1;
        if g.left > 0 {
            return;
        }
        for flow in std::mem::take(&mut g.starts) {
            let spec = &plan.flows[flow as usize];
            let crate::spec::Start::After { delay, .. } = spec.start else {
                unreachable!("listed as a follower")
            };
            let place = self.world.place[spec.src as usize];
            let event = Frame {
                port: self.world.shard_ports[place.shard as usize] + place.local,
                flow,
                seq: Event::Start as u32,
                flags: Frame::EVENT,
                ..Frame::default()
            };
            out.start(now + delay.0, place.shard, event);
        }
    }

    /// Removes and returns the metadata of a frame.
    #[inline(always)]
    pub fn take_extra(&mut self, frame: &mut Frame) -> Carried {
        if !frame.has(Frame::EXTRA) {
            return Carried::default();
        }
        let extra = self.extras.remove(frame.aux);
        frame.aux = extra.trigger;
        frame.flags &= !Frame::EXTRA;
        Carried { paused: extra.paused, stamp: extra.stamp, tag: extra.tag }
    }

    pub fn count_path(&mut self, frame: &Frame, subflow: u8) {
        let entry = self.path_counts.entry((frame.flow, subflow, frame.aux)).or_default();
        self.kept += if entry.0 == 0 { Kept::PATH } else { 0 };
        entry.0 += 1;
        entry.1 += frame.size as u64;
    }
}
