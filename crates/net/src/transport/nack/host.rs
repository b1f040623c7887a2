//! Connects datagram flows with negative acknowledgements to hosts.

use super::{Act, Nack, Reaction, Receiver, Report, Sender};
use crate::expected::FluidModel;
use crate::frame::{Control, Event, Extra, Frame};
use crate::shard::capture::Content;
use crate::shard::host::arm;
use crate::shard::{OVER, Outlet, Shard, Slab, own_event};
use crate::spec::{self, Flow, FlowId};
use crate::transport::Halves;
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::requirements::Requirements;
use crate::transport::sending::Sending;
use crate::world::World;

impl Parameters for spec::Nack {
    fn is_sampled(&self) -> bool {
        false
    }
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
    type Sender = Sender;
    type Receiver = Receiver;

    fn senders(halves: &mut Halves) -> &mut Slab<Sender> {
        &mut halves.nack.senders
    }
    fn receivers(halves: &mut Halves) -> &mut Slab<Receiver> {
        &mut halves.nack.receivers
    }

    #[inline(never)]
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening) {
        let (id, world) = (opening.id, shard.world);
        let nic = shard.full_frame_time(opening.node, world.flow(id));
        let sender = Sender::new(Sending::new(world, &opening, now), nic);
        let slot = shard.open_sender::<Nack>(id, sender);
        shard.pump_nack(out, now, slot);
    }

    #[inline(never)]
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, mut frame: Frame) {
        let carried = shard.take_extra(&mut frame);
        if shard.record_paths {
            shard.count_path(&frame, 0);
        }
        let id = frame.flow;
        let segments = shard.segments(id);
        let config = shard.settings(shard.world.flow(id).transport);
        let Some(slot) = shard.receiver::<Nack>(id, |_| Receiver::new(id, segments)) else {
            return shard.send_report(
                out,
                now,
                id,
                Extra {
                    trigger: frame.seq,
                    edge: segments,
                    paused: carried.paused,
                    ..Extra::default()
                },
                frame.flags & Frame::RETRANSMISSION,
            );
        };
        let r = &mut shard.transports.nack.receivers[slot];
        match r.on_frame(now, &frame, carried, &mut shard.counters.balance.late, config) {
            Reaction::Nothing => {}
            Reaction::Gap(from, to) => shard.report(out, now, slot, &[(from, to)], 0),
            Reaction::Everything => shard.report_everything(out, now, slot, 0),
        }
        if shard.transports.nack.receivers[slot].half.is_complete() {
            return shard.end_receiver::<Nack>(out, now, slot);
        }
        shard.arm_report(out, slot);
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.pump_nack(out, now, slot);
    }

    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        let r = &mut shard.transports.nack.receivers[slot];
        if r.armed != now {
            return;
        }
        r.armed = 0;
        if r.due == now {
            let flow = r.half.flow;
            let config = shard.settings(shard.world.flow(flow).transport);
            shard.report_everything(out, now, slot, Frame::PERIODIC);
            shard.transports.nack.receivers[slot].on_due(now, config);
        }
        shard.arm_report(out, slot);
    }

    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        Content::datagram(shard, flow, frame, frame.kind() != Frame::CONTROL)
    }
}

impl Nack {
    /// Handles a report that has reached the sender of its flow.
    pub fn deliver_report<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame) {
        shard.on_report(out, now, frame);
    }
}

impl Shard<'_> {
    /// Sends the segments that are due, and sets the sender's timer.
    fn pump_nack<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let world = self.world;
        let config = self.settings::<spec::Nack>(self.transports.nack.senders[slot].half.transport);
        loop {
            let s = &mut self.transports.nack.senders[slot];
            let before = s.half.timeouts;
            match s.next_act(now, config) {
                Act::Wait(at) => {
                    return self.arm_sender::<Nack>(out, slot, at);
                }
                Act::Send(seq, again) => {
                    self.counters.timeouts += s.half.timeouts - before;
                    self.counters.retransmits += again as u64;
                    s.on_sent(now, seq, again, config);
                    let kind = Frame::DATAGRAM | Frame::REPORTED;
                    let frame = s.half.data(world, kind, seq, again, config.payload);
                    let node = s.half.node;
                    self.send(out, now, node, frame);
                }
            }
        }
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
        self.end_sender::<Nack>(slot, Some(now));
        self.last = self.last.max(now);
    }

    fn arm_report<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let r = &mut self.transports.nack.receivers[slot];
        let node = self.world.place[self.world.flow(r.half.flow).dst as usize].local;
        arm(out, r.due, &mut r.armed, || own_event(ports, node, r.half.flow, Event::Receiver));
    }

    fn report_everything<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, flags: u16) {
        let missing: Vec<(u32, u32)> =
            self.transports.nack.receivers[slot].half.missing().collect();
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
        let (flow, flags) =
            (r.half.flow, flags | if r.repeated { Frame::RETRANSMISSION } else { 0 });
        let plain = Extra {
            trigger: r.latest,
            edge: r.half.next,
            paused: r.half.paused,
            ..Extra::default()
        };
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
        let wire = &self.world.plan.wire;
        let frame = Frame {
            seq: Control::Report as u32,
            size: wire.ack + wire.sack_block * extra.count as u16,
            flags: Frame::CONTROL | Frame::EXTRA | flags,
            aux: self.extras.insert(extra),
            ..Frame::default()
        };
        self.reply(out, now, id, frame);
    }
}
