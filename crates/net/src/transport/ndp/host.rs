//! Connects NDP to hosts.

use super::{Ndp, NdpConfig, Receiver, Sender, Transmit};
use crate::expected::FluidModel;
use crate::frame::{Event, Frame};
use crate::queue::aqm::QueueTag;
use crate::record::CaptureKind;
use crate::shard::capture::Content;
use crate::shard::host::{Carried, arm};
use crate::shard::{NOT_YET, OVER, Outlet, ReceivedRecord, SentRecord, Shard, own_event};
use crate::spec::{Flow, FlowId, TransportConfig};
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::requirements::Requirements;
use crate::transport::sending::Sending;
use crate::world::World;
use afflux_engine::random::mix;

impl Parameters for NdpConfig {
    fn frames(&self) -> Frames {
        Frames::plain(self.payload)
    }
    fn requirements(&self) -> Requirements {
        let text = "waits for headers of data that found no room, and no switch sends any: full queues drop, and what they drop is missed only after `rto`; write trimming = {} in [switch]";
        Requirements { queue_tag: Some((QueueTag::Trimmable, text)), ..Requirements::default() }
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        let window = f64::from(self.initial_window) * f64::from(self.payload);
        FluidModel {
            window,
            remembers: true,
            halves: size_of::<Sender>() + size_of::<Receiver>(),
            ..FluidModel::new(world, self.frames(), 1.0)
        }
    }
}

impl Transport for Ndp {
    const SHARES_RECEIVER_TIMER: bool = true;

    #[inline(never)]
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening) {
        let id = opening.id;
        let config = shard.ndp(shard.world.flow(id).transport);
        let slot = shard
            .transports
            .ndp
            .senders
            .insert(Sender::new(Sending::new(shard.world, &opening, now), config));
        shard.opened(id, slot);
        shard.pump_ndp(out, now, slot, config);
    }

    #[inline(never)]
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, mut frame: Frame) {
        let beside = shard.take_extra(&mut frame);
        if frame.kind() == Frame::ANSWER {
            shard.on_ndp_answer(out, now, frame)
        } else {
            shard.on_ndp_data(out, now, frame, beside)
        }
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, _: FlowId, slot: u32) {
        let s = &mut shard.transports.ndp.senders[slot];
        if s.half.armed != now {
            return;
        }
        s.half.armed = 0;
        let config = shard.ndp(shard.transports.ndp.senders[slot].half.transport);
        let s = &mut shard.transports.ndp.senders[slot];
        if s.deadline(config) <= now {
            s.on_timeout(now);
            shard.counters.timeouts += 1;
        }
        shard.pump_ndp(out, now, slot, config);
    }

    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        let id = shard.transports.ndp.receivers[slot].flow;
        let (node, spacing) = shard.pulls_of(id);
        let ndp = &mut shard.transports.ndp;
        let Some(puller) =
            ndp.pullers.get_mut(&node).filter(|puller| (puller.armed, puller.by) == (now, id))
        else {
            return;
        };
        puller.armed = 0;
        if let Some(slot) = puller.pull(now, &mut ndp.receivers, spacing) {
            let r = &ndp.receivers[slot];
            let (flow, granted) = (r.flow, r.granted);
            shard.answer_ndp(out, now, flow, (0, granted), Frame::ONLY_GRANTS);
        }
        shard.arm_puller(out, node);
    }

    fn give_up<O: Outlet>(shard: &mut Shard, _: &mut O, now: u64, _: FlowId, slot: u32) {
        let record = SentRecord {
            given_up: Some(now),
            ..shard.transports.ndp.senders[slot].half.record(None)
        };
        shard.transports.ndp.senders.remove(slot);
        shard.sending_over(record);
    }

    fn unfinished(shard: &mut Shard, _: FlowId, slot: u32) -> Option<SentRecord> {
        Some(shard.transports.ndp.senders[slot].half.record(None))
    }

    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        let carries = frame.kind() == Frame::DATAGRAM && !frame.has(Frame::TRIMMED);
        if carries {
            Content::data(shard, flow, frame, CaptureKind::Datagram)
        } else {
            Content::opaque()
        }
    }

    fn incomplete(shard: &Shard, slot: u32) -> ReceivedRecord {
        received_record(&shard.transports.ndp.receivers[slot], None)
    }
}

impl<'a> Shard<'a> {
    fn ndp(&self, transport: u16) -> &'a NdpConfig {
        match &self.world.plan.transports[transport as usize] {
            TransportConfig::Ndp(config) => config,
            _ => unreachable!("a frame of another transport's flow"),
        }
    }

    /// Sends the frames that are allowed, and sets the timer.
    fn pump_ndp<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &NdpConfig) {
        let (world, ports) = (self.world, self.ports.len());
        while let Some(Transmit { seq, again, order }) =
            self.transports.ndp.senders[slot].transmit(now)
        {
            let s = &self.transports.ndp.senders[slot];
            let hash = if config.spread {
                mix((s.half.hash as u64) << 32 ^ order) as u32
            } else {
                s.half.hash
            };
            let flags = Frame::DATAGRAM
                | Frame::TRIMMABLE
                | s.half.priority as u16
                | if again { Frame::RETRANSMISSION } else { 0 };
            let size = (world.payload(s.half.flow, seq, config.payload)
                + world.plan.wire.data_header)
                .max(world.plan.wire.min_frame);
            let frame = Frame {
                flow: s.half.flow,
                seq,
                dst: s.half.dst,
                hash,
                size,
                flags,
                ..Frame::default()
            };
            let node = s.half.node;
            self.counters.retransmits += again as u64;
            self.send(out, now, node, frame);
        }
        let s = &mut self.transports.ndp.senders[slot];
        arm(out, s.deadline(config), &mut s.half.armed, || {
            own_event(ports, s.half.node, s.half.flow, Event::Sender)
        });
    }

    /// Handles a segment, or only its header, at the receiver.
    fn on_ndp_data<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        frame: Frame,
        Carried { paused, tag, .. }: Carried,
    ) {
        let (id, again, trimmed) =
            (frame.flow, frame.has(Frame::RETRANSMISSION), frame.has(Frame::TRIMMED));
        if self.record_paths && !trimmed {
            self.count_path(&frame, 0);
        }
        let mut slot = self.receiving_slot(id);
        if slot == OVER {
            return self.answer_ndp(out, now, id, (frame.seq, 0), 0);
        }
        if slot == NOT_YET {
            let segments = self.world.shape(self.world.flow(id)).count as u32;
            slot = self.transports.ndp.receivers.insert(Receiver::new(id, segments));
            self.note_receiver(id, slot);
        }
        let r = &mut self.transports.ndp.receivers[slot];
        r.on_frame(frame.seq);
        if !trimmed {
            if frame.seq < r.highest {
                self.counters.balance.late.count(again, tag);
            }
            r.marked += frame.has(Frame::CE) as u64;
            r.paused = paused;
            r.on_data(now, frame.seq);
        }
        let negative = if r.has(frame.seq) { 0 } else { Frame::NACK };
        let (complete, (node, spacing)) = (r.is_complete(), self.pulls_of(id));
        let ndp = &mut self.transports.ndp;
        ndp.pullers.entry(node).or_default().ask(now, slot, &mut ndp.receivers, spacing);
        let granted = ndp.receivers[slot].granted;
        self.answer_ndp(out, now, id, (frame.seq, granted), negative);
        if complete {
            let record = received_record(&self.transports.ndp.receivers[slot], Some(now));
            self.transports.ndp.receivers.remove(slot);
            let puller = self.transports.ndp.pullers.get_mut(&node).expect("just seen");
            if puller.by == id {
                // The timer event belongs to this flow and ends with it.
                puller.armed = 0;
            }
            self.receiving_over(out, now, record);
        }
        self.arm_puller(out, node);
    }

    /// Handles an answer at the sender.
    fn on_ndp_answer<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        let slot = self.sending[frame.flow as usize];
        if slot == OVER {
            return;
        }
        let s = &mut self.transports.ndp.senders[slot];
        s.on_granted(now, frame.aux);
        if !frame.has(Frame::ONLY_GRANTS) {
            s.on_answer(frame.seq, frame.has(Frame::NACK));
        }
        if !s.finished() {
            let config = self.ndp(self.transports.ndp.senders[slot].half.transport);
            return self.pump_ndp(out, now, slot, config);
        }
        let record = s.half.record(Some(now));
        self.transports.ndp.senders.remove(slot);
        self.sending_over(record);
    }

    /// Returns the receiving host of a flow, and the time in ps between two pulls there.
    fn pulls_of(&self, id: FlowId) -> (u32, u64) {
        let flow = self.world.flow(id);
        let node = self.world.place[flow.dst as usize].local;
        let full = self.ports[self.nodes[node as usize].first_port as usize]
            .serialize(self.world.shape(flow).full);
        (node, (full as f64 / self.ndp(flow.transport).pull_rate) as u64)
    }

    fn arm_puller<O: Outlet>(&mut self, out: &mut O, node: u32) {
        let (ports, ndp) = (self.ports.len(), &mut self.transports.ndp);
        let Some(puller) = ndp.pullers.get_mut(&node).filter(|puller| puller.armed == 0) else {
            return;
        };
        if let Some((at, slot)) = puller.due() {
            puller.by = ndp.receivers[slot].flow;
            arm(out, at, &mut puller.armed, || own_event(ports, node, puller.by, Event::Receiver));
        }
    }

    fn answer_ndp<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        id: FlowId,
        (seq, granted): (u32, u32),
        flags: u16,
    ) {
        let world = self.world;
        let (flow, wire) = (world.flow(id), &world.plan.wire);
        let frame = Frame {
            flow: id,
            seq,
            aux: granted,
            dst: flow.src,
            hash: world.flow_hash(flow, true),
            size: wire.ack.max(wire.min_frame),
            flags: Frame::ANSWER | flow.priority as u16 | flags,
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
