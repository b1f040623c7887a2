//! Where rate-based datagrams with negative acknowledgements meet hosts.

use super::host::{Beside, arm};
use super::{NOT_YET, OVER, Outlet, ReceivedRecord, SentRecord, Shard, own_event, set_slot};
use crate::frame::{Control, Event, Extra, Frame};
use crate::idle::Idle;
use crate::spec::{FlowId, Nack, TransportConfig};
use crate::transport::nack::{Act, Reaction, Receiver, Report, Sender, SenderSetup};

impl<'a> Shard<'a> {
    fn nack(&self, transport: u16) -> &'a Nack {
        match &self.world.plan.transports[transport as usize] {
            TransportConfig::Nack(config) => config,
            _ => unreachable!("a frame of another transport's flow"),
        }
    }

    #[inline(never)]
    pub(super) fn start_nack<O: Outlet>(&mut self, out: &mut O, now: u64, (node, id): (u32, FlowId), (hash, idle): (u32, Idle)) {
        let world = self.world;
        let flow = world.flow(id);
        let shape = world.shape(flow);
        let setup = SenderSetup {
            flow: id,
            transport: flow.transport,
            node,
            dst: flow.dst,
            hash,
            priority: flow.priority,
            segments: shape.count as u32,
            nic: self.ports[self.nodes[node as usize].first_port as usize].serialize(shape.full),
            idle,
            explain: world.plan.record.explain,
        };
        let slot = self.nack_senders.insert(Sender::new(setup, now));
        set_slot(&mut self.sending, id, slot);
        self.pump_nack(out, now, slot);
    }

    /// Does what the sender has to do, and sees to its timer.
    fn pump_nack<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let world = self.world;
        let config = self.nack(self.nack_senders[slot].transport);
        loop {
            let s = &mut self.nack_senders[slot];
            let before = s.timeouts;
            match s.next_act(now, config) {
                Act::Wait(at) => {
                    let event = self.nack_event(slot);
                    return arm(out, at, &mut self.nack_senders[slot].armed, event);
                }
                Act::Send(seq, again) => {
                    self.counters.timeouts += s.timeouts - before;
                    self.counters.retransmits += again as u64;
                    s.on_sent(now, seq, again, config);
                    let flags = Frame::DATAGRAM | Frame::REPORTED | s.priority as u16 | if again { Frame::RETRANSMISSION } else { 0 };
                    let size = (world.payload(s.flow, seq, config.payload) + world.plan.wire.data_header).max(world.plan.wire.min_frame);
                    let frame = Frame { flow: s.flow, seq, dst: s.dst, hash: s.hash, size, flags, ..Frame::default() };
                    let node = s.node;
                    self.send(out, now, node, frame);
                }
            }
        }
    }

    fn nack_event(&self, slot: u32) -> Frame {
        let s = &self.nack_senders[slot];
        self.event(s.node, s.flow, Event::Sender)
    }

    pub(super) fn on_nack_wake<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let s = &mut self.nack_senders[slot];
        if s.armed == now {
            s.armed = 0;
            self.pump_nack(out, now, slot);
        }
    }

    /// A report has come to its sender.
    #[inline(never)]
    pub(super) fn on_report<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        let Extra { trigger, edge, blocks, count, paused, .. } = self.extras.take(frame.aux);
        let slot = self.sending[frame.flow as usize];
        if slot == OVER {
            return;
        }
        let s = &mut self.nack_senders[slot];
        let missing = &blocks[..count as usize];
        s.on_report(
            now,
            &Report { cumulative: edge, latest: trigger, repeated: frame.has(Frame::RETRANSMISSION), missing, periodic: frame.has(Frame::PERIODIC), paused },
        );
        if !s.finished() {
            return self.pump_nack(out, now, slot);
        }
        let flow = s.flow;
        self.harvest.sent.push(nack_record(s, Some(now)));
        self.nack_senders.remove(slot);
        self.sending[flow as usize] = OVER;
        self.live -= 1;
        self.flows_done += 1;
        self.last = self.last.max(now);
    }

    #[inline(never)]
    pub(super) fn on_nack_data<O: Outlet>(&mut self, out: &mut O, now: u64, mut frame: Frame) {
        let Beside { paused, tag, .. } = self.take_extra(&mut frame);
        if self.record_paths {
            self.count_path(&frame, 0);
        }
        let (flow, again) = (self.world.flow(frame.flow), frame.has(Frame::RETRANSMISSION));
        let segments = self.world.shape(flow).count as u32;
        let config = self.nack(flow.transport);
        let mut slot = self.receiving_slot(frame.flow);
        if slot == OVER {
            return self.send_report(
                out,
                now,
                frame.flow,
                Extra { trigger: frame.seq, edge: segments, paused, ..Extra::default() },
                frame.flags & Frame::RETRANSMISSION,
            );
        }
        if slot == NOT_YET {
            slot = self.nack_receivers.insert(Receiver::new(frame.flow, segments));
            set_slot(&mut self.receiving, frame.flow, slot);
        }
        let r = &mut self.nack_receivers[slot];
        if frame.seq < r.highest {
            self.counters.balance.late.count(again, tag);
        }
        r.marked += frame.has(Frame::CE) as u64;
        r.paused = paused;
        match r.on_data(now, frame.seq, again, config) {
            Reaction::Nothing => {}
            Reaction::Gap(from, to) => self.report(out, now, slot, &[(from, to)], 0),
            Reaction::Everything => self.report_everything(out, now, slot, 0),
        }
        if self.nack_receivers[slot].is_complete() {
            let record = nack_received(&self.nack_receivers[slot], Some(now));
            self.harvest.received.push(record);
            self.nack_receivers.remove(slot);
            self.receiving[frame.flow as usize] = OVER;
            return self.flow_received(out, now, frame.flow, now);
        }
        self.arm_report(out, slot);
    }

    fn arm_report<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let r = &mut self.nack_receivers[slot];
        let node = self.world.place[self.world.flow(r.flow).dst as usize].local;
        arm(out, r.due, &mut r.armed, own_event(ports, node, r.flow, Event::Receiver));
    }

    pub(super) fn on_report_due<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let r = &mut self.nack_receivers[slot];
        if r.armed != now {
            return;
        }
        r.armed = 0;
        if r.due == now {
            let config = self.nack(self.world.flow(self.nack_receivers[slot].flow).transport);
            self.report_everything(out, now, slot, Frame::PERIODIC);
            self.nack_receivers[slot].on_due(now, config);
        }
        self.arm_report(out, slot);
    }

    fn report_everything<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, flags: u16) {
        let missing: Vec<(u32, u32)> = self.nack_receivers[slot].missing().collect();
        self.report(out, now, slot, &missing, flags);
    }

    /// As many frames as that takes, one at least.
    fn report<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, missing: &[(u32, u32)], flags: u16) {
        let r = &self.nack_receivers[slot];
        let (flow, flags) = (r.flow, flags | if r.repeated { Frame::RETRANSMISSION } else { 0 });
        let plain = Extra { trigger: r.latest, edge: r.next(), paused: r.paused, ..Extra::default() };
        if missing.is_empty() {
            return self.send_report(out, now, flow, plain, flags);
        }
        for part in missing.chunks(Extra::BLOCKS) {
            let mut extra = plain.clone();
            extra.blocks[..part.len()].copy_from_slice(part);
            extra.count = part.len() as u8;
            self.send_report(out, now, flow, extra, flags);
        }
    }

    fn send_report<O: Outlet>(&mut self, out: &mut O, now: u64, id: FlowId, extra: Extra, flags: u16) {
        let world = self.world;
        let (flow, wire) = (world.flow(id), &world.plan.wire);
        let frame = Frame {
            flow: id,
            seq: Control::Report as u32,
            dst: flow.src,
            hash: world.flow_hash(flow, true),
            size: (wire.ack + wire.sack_block * extra.count as u16).max(wire.min_frame),
            flags: Frame::CONTROL | Frame::EXTRA | flow.priority as u16 | flags,
            aux: self.extras.insert(extra),
            ..Frame::default()
        };
        self.send(out, now, world.place[flow.dst as usize].local, frame);
    }
}

pub(super) fn nack_record(s: &Sender, finish: Option<u64>) -> SentRecord {
    SentRecord {
        flow: s.flow,
        start: s.start,
        finish,
        given_up: None,
        ideal: s.idle.total,
        propagation: s.idle.propagation,
        packets: s.sent,
        retransmitted: s.retransmitted,
        timeouts: s.timeouts,
        why: s.why.clone(),
    }
}

pub(super) fn nack_received(r: &Receiver, finish: Option<u64>) -> ReceivedRecord {
    let (frames, has_last) = r.received();
    ReceivedRecord { flow: r.flow, finish, frames, has_last, marked: r.marked, reordered: r.reordered, paused: r.paused }
}
