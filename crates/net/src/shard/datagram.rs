//! Hosts with sources of datagrams, and those that receive them.

use super::host::Beside;
use super::{NOT_YET, OVER, Outlet, ReceivedRecord, SentRecord, Shard, set_slot};
use crate::frame::{Event, Frame};
use crate::idle::Idle;
use crate::probe::explain::{Attribution, Label};
use crate::spec::{FlowId, TransportConfig};
use crate::transport::datagram::{Sink, Source};

impl<'a> Shard<'a> {
    pub(super) fn start_datagrams<O: Outlet>(&mut self, out: &mut O, now: u64, (node, id): (u32, FlowId), (hash, idle): (u32, Idle)) {
        let flow = self.world.flow(id);
        let source = Source {
            flow: id,
            node,
            dst: flow.dst,
            hash,
            priority: flow.priority,
            start: now,
            next: 0,
            frames: self.world.shape(flow).count as u32,
            idle,
            why: self.world.plan.record.explain.then(|| Attribution::new(now)),
        };
        let slot = self.sources.insert(source);
        set_slot(&mut self.sending, id, slot);
        self.on_send(out, now, id);
    }

    /// A datagram source's next frame is due.
    pub(super) fn on_send<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId) {
        let slot = self.sending[flow as usize];
        let plan = self.world.plan;
        let TransportConfig::Datagram(config) = &plan.transports[self.world.flow(flow).transport as usize] else { unreachable!("a datagram source") };
        let shape = self.world.shape(self.world.flow(flow));
        self.last = self.last.max(now);
        let s = &mut self.sources[slot];
        let seq = s.next;
        s.next += 1;
        let last = s.next == s.frames;
        let time = if last { s.idle.slowest_last } else { s.idle.slowest_full };
        if let Some(why) = &mut s.why {
            why.on_sent(now, Label::Pacing, 0, time, false);
        }
        let mut flags = Frame::DATAGRAM | s.priority as u16;
        if config.ecn_capable {
            flags |= Frame::ECT;
        }
        let (node, dst, hash) = (s.node, s.dst, s.hash);
        let nic = self.ports[self.nodes[node as usize].first_port as usize].serialize(shape.full);
        let due = self.sources[slot].due(seq + 1, config, nic);
        let frame = Frame { flow, seq, dst, hash, size: if last { shape.last } else { shape.full }, flags, ..Frame::default() };
        self.send(out, now, node, frame);
        if last {
            let s = self.sources.remove(slot);
            self.harvest.sent.push(SentRecord {
                flow,
                start: s.start,
                finish: None,
                given_up: None,
                ideal: s.idle.total,
                propagation: s.idle.propagation,
                packets: s.frames as u64,
                retransmitted: 0,
                timeouts: 0,
                why: s.why.clone(),
            });
            self.sending[flow as usize] = OVER;
            self.live -= 1;
            self.flows_done += 1;
        } else {
            let event = self.event(node, flow, Event::Send);
            out.event(due, event);
        }
    }

    pub(super) fn on_datagram<O: Outlet>(&mut self, out: &mut O, now: u64, mut frame: Frame) {
        if frame.has(Frame::REPORTED) {
            return self.on_nack_data(out, now, frame);
        }
        let Beside { paused, tag, .. } = self.take_extra(&mut frame);
        if self.is_from_outside(&frame) {
            return self.leave_outside(now, &frame);
        }
        let mut slot = self.receiving_slot(frame.flow);
        if slot == NOT_YET {
            let flow = self.world.flow(frame.flow);
            let expected = self.world.shape(flow).count as u32;
            slot = self.sinks.insert(Sink { flow: frame.flow, frames: 0, expected, highest: 0, marked: 0, reordered: 0, has_last: false });
            set_slot(&mut self.receiving, frame.flow, slot);
        }
        if self.record_paths {
            self.count_path(&frame, 0);
        }
        let s = &mut self.sinks[slot];
        s.frames += 1;
        s.marked += frame.has(Frame::CE) as u64;
        if frame.seq < s.highest {
            s.reordered += 1;
            self.counters.balance.late.count(false, tag);
        }
        s.highest = s.highest.max(frame.seq);
        s.has_last |= frame.seq + 1 == s.expected;
        if s.frames == s.expected {
            let record =
                ReceivedRecord { flow: s.flow, finish: Some(now), frames: s.frames as u64, has_last: true, marked: s.marked, reordered: s.reordered, paused };
            self.harvest.received.push(record);
            self.sinks.remove(slot);
            self.receiving[frame.flow as usize] = OVER;
            self.flow_received(out, now, frame.flow, now);
        }
    }
}
