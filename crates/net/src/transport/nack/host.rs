//! Connects datagram flows with negative acknowledgements to hosts.

use super::{Act, Nack, Reaction, Receiver, Report, Sender};
use crate::expected::FluidModel;
use crate::frame::{Control, Event, Extra, Frame};
use crate::record::CaptureKind;
use crate::shard::capture::Content;
use crate::shard::host::{Carried, arm};
use crate::shard::{NOT_YET, OVER, Outlet, ReceivedRecord, SentRecord, Shard, own_event};
use crate::spec::{self, Flow, FlowId, TransportConfig};
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::requirements::Requirements;
use crate::transport::sending::Sending;
use crate::world::World;

impl Parameters for spec::Nack {
    fn is_limited(&self) -> bool {
        self.rate.is_some()
    }
    fn requirements(&self) -> Requirements {
        Requirements::default()
    }
    fn frames(&self) -> Frames {
        Frames::plain(self.payload)
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        FluidModel {
            reports: self.report.as_seconds(),
            rate: self.rate.map_or(f64::INFINITY, |rate| rate.0 as f64 / 8.0),
            yields: false,
            halves: size_of::<Sender>() + size_of::<Receiver>(),
            ..FluidModel::new(world, self.frames(), 0.0)
        }
    }
}

impl Transport for Nack {
    #[inline(never)]
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening) {
        let (id, world) = (opening.id, shard.world);
        let full = world.shape(world.flow(id)).full;
        let nic =
            shard.ports[shard.nodes[opening.node as usize].first_port as usize].serialize(full);
        let slot = shard
            .transports
            .nack
            .senders
            .insert(Sender::new(Sending::new(world, &opening, now), nic));
        shard.opened(id, slot);
        shard.pump_nack(out, now, slot);
    }

    #[inline(never)]
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, mut frame: Frame) {
        let Carried { paused, tag, .. } = shard.take_extra(&mut frame);
        if shard.record_paths {
            shard.count_path(&frame, 0);
        }
        let (flow, again) = (shard.world.flow(frame.flow), frame.has(Frame::RETRANSMISSION));
        let segments = shard.world.shape(flow).count as u32;
        let config = shard.nack(flow.transport);
        let mut slot = shard.receiving_slot(frame.flow);
        if slot == OVER {
            return shard.send_report(
                out,
                now,
                frame.flow,
                Extra { trigger: frame.seq, edge: segments, paused, ..Extra::default() },
                frame.flags & Frame::RETRANSMISSION,
            );
        }
        if slot == NOT_YET {
            slot = shard.transports.nack.receivers.insert(Receiver::new(frame.flow, segments));
            shard.note_receiver(frame.flow, slot);
        }
        let r = &mut shard.transports.nack.receivers[slot];
        if frame.seq < r.highest {
            shard.counters.balance.late.count(again, tag);
        }
        r.marked += frame.has(Frame::CE) as u64;
        r.paused = paused;
        match r.on_data(now, frame.seq, again, config) {
            Reaction::Nothing => {}
            Reaction::Gap(from, to) => shard.report(out, now, slot, &[(from, to)], 0),
            Reaction::Everything => shard.report_everything(out, now, slot, 0),
        }
        if shard.transports.nack.receivers[slot].is_complete() {
            let record = received_record(&shard.transports.nack.receivers[slot], Some(now));
            shard.transports.nack.receivers.remove(slot);
            return shard.receiving_over(out, now, record);
        }
        shard.arm_report(out, slot);
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, _: FlowId, slot: u32) {
        let s = &mut shard.transports.nack.senders[slot];
        if s.half.armed == now {
            s.half.armed = 0;
            shard.pump_nack(out, now, slot);
        }
    }

    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        let r = &mut shard.transports.nack.receivers[slot];
        if r.armed != now {
            return;
        }
        r.armed = 0;
        if r.due == now {
            let config =
                shard.nack(shard.world.flow(shard.transports.nack.receivers[slot].flow).transport);
            shard.report_everything(out, now, slot, Frame::PERIODIC);
            shard.transports.nack.receivers[slot].on_due(now, config);
        }
        shard.arm_report(out, slot);
    }

    fn give_up<O: Outlet>(shard: &mut Shard, _: &mut O, now: u64, _: FlowId, slot: u32) {
        let record = SentRecord {
            given_up: Some(now),
            ..shard.transports.nack.senders[slot].half.record(None)
        };
        shard.transports.nack.senders.remove(slot);
        shard.sending_over(record);
    }

    fn unfinished(shard: &mut Shard, _: FlowId, slot: u32) -> Option<SentRecord> {
        Some(shard.transports.nack.senders[slot].half.record(None))
    }

    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        if frame.kind() == Frame::CONTROL {
            Content::opaque()
        } else {
            Content::data(shard, flow, frame, CaptureKind::Datagram)
        }
    }

    fn incomplete(shard: &Shard, slot: u32) -> ReceivedRecord {
        received_record(&shard.transports.nack.receivers[slot], None)
    }
}

impl Nack {
    /// Handles a report that has reached the sender of its flow.
    pub fn deliver_report<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame) {
        shard.on_report(out, now, frame);
    }
}

impl<'a> Shard<'a> {
    fn nack(&self, transport: u16) -> &'a spec::Nack {
        match &self.world.plan.transports[transport as usize] {
            TransportConfig::Nack(config) => config,
            _ => unreachable!("a frame of another transport's flow"),
        }
    }

    /// Sends the segments that are due, and sets the sender's timer.
    fn pump_nack<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let world = self.world;
        let config = self.nack(self.transports.nack.senders[slot].half.transport);
        loop {
            let s = &mut self.transports.nack.senders[slot];
            let before = s.half.timeouts;
            match s.next_act(now, config) {
                Act::Wait(at) => {
                    let event = self.nack_event(slot);
                    return arm(
                        out,
                        at,
                        &mut self.transports.nack.senders[slot].half.armed,
                        || event,
                    );
                }
                Act::Send(seq, again) => {
                    self.counters.timeouts += s.half.timeouts - before;
                    self.counters.retransmits += again as u64;
                    s.on_sent(now, seq, again, config);
                    let flags = Frame::DATAGRAM
                        | Frame::REPORTED
                        | s.half.priority as u16
                        | if again { Frame::RETRANSMISSION } else { 0 };
                    let size = (world.payload(s.half.flow, seq, config.payload)
                        + world.plan.wire.data_header)
                        .max(world.plan.wire.min_frame);
                    let frame = Frame {
                        flow: s.half.flow,
                        seq,
                        dst: s.half.dst,
                        hash: s.half.hash,
                        size,
                        flags,
                        ..Frame::default()
                    };
                    let node = s.half.node;
                    self.send(out, now, node, frame);
                }
            }
        }
    }

    fn nack_event(&self, slot: u32) -> Frame {
        let s = &self.transports.nack.senders[slot];
        self.event(s.half.node, s.half.flow, Event::Sender)
    }

    /// Processes a report at its sender.
    #[inline(never)]
    fn on_report<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        let Extra { trigger, edge, blocks, count, paused, .. } = self.extras.take(frame.aux);
        let slot = self.sending[frame.flow as usize];
        if slot == OVER {
            return;
        }
        let s = &mut self.transports.nack.senders[slot];
        let missing = &blocks[..count as usize];
        s.on_report(
            now,
            &Report {
                cumulative: edge,
                latest: trigger,
                repeated: frame.has(Frame::RETRANSMISSION),
                missing,
                periodic: frame.has(Frame::PERIODIC),
                paused,
            },
        );
        if !s.finished() {
            return self.pump_nack(out, now, slot);
        }
        let record = s.half.record(Some(now));
        self.transports.nack.senders.remove(slot);
        self.sending_over(record);
        self.last = self.last.max(now);
    }

    fn arm_report<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let r = &mut self.transports.nack.receivers[slot];
        let node = self.world.place[self.world.flow(r.flow).dst as usize].local;
        arm(out, r.due, &mut r.armed, || own_event(ports, node, r.flow, Event::Receiver));
    }

    fn report_everything<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, flags: u16) {
        let missing: Vec<(u32, u32)> = self.transports.nack.receivers[slot].missing().collect();
        self.report(out, now, slot, &missing, flags);
    }

    /// Sends a report in as many frames as it needs, at least one.
    fn report<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        missing: &[(u32, u32)],
        flags: u16,
    ) {
        let r = &self.transports.nack.receivers[slot];
        let (flow, flags) = (r.flow, flags | if r.repeated { Frame::RETRANSMISSION } else { 0 });
        let plain =
            Extra { trigger: r.latest, edge: r.next(), paused: r.paused, ..Extra::default() };
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

    fn send_report<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        id: FlowId,
        extra: Extra,
        flags: u16,
    ) {
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

fn received_record(r: &Receiver, finish: Option<u64>) -> ReceivedRecord {
    let (frames, has_last) = r.received();
    ReceivedRecord {
        flow: r.flow,
        finish,
        frames,
        has_last,
        marked: r.marked,
        reordered: r.reordered,
        paused: r.paused,
        last: r.last,
    }
}
