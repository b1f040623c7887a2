//! Connects NDP to hosts.

use super::{Ndp, NdpConfig, Receiver, Sender, Transmit};
use crate::expected::FluidModel;
use crate::frame::{Event, Frame};
use crate::queue::aqm::QueueTag;
use crate::shard::capture::Content;
use crate::shard::host::{Carried, arm};
use crate::shard::{OVER, Outlet, Shard, Slab, own_event};
use crate::spec::{Flow, FlowId};
use crate::transport::Halves;
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::requirements::{Hash, Requirements, Setting};
use crate::transport::sending::Sending;
use crate::world::World;
use afflux_engine::random::mix;

impl Parameters for NdpConfig {
    fn frames(&self) -> Frames {
        Frames::plain(self.payload)
    }
    fn is_sampled(&self) -> bool {
        false
    }
    fn requirements(&self) -> Requirements {
        let text = "waits for headers of data that found no room, and no switch sends any: full queues drop, and what they drop is missed only after `rto`; write trimming = {} in [switch]";
        let spread = Setting { key: "spread", text: "spread = false" };
        Requirements {
            hash: if self.spread { Hash::PerFrameIfFollowed(spread) } else { Hash::Read },
            queue_tag: Some((QueueTag::Trimmable, text)),
            ..Requirements::default()
        }
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
    type Sender = Sender;
    type Receiver = Receiver;
    const SHARES_RECEIVER_TIMER: bool = true;

    fn senders(halves: &mut Halves) -> &mut Slab<Sender> {
        &mut halves.ndp.senders
    }
    fn receivers(halves: &mut Halves) -> &mut Slab<Receiver> {
        &mut halves.ndp.receivers
    }

    #[inline(never)]
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening) {
        let id = opening.id;
        let config = shard.settings(shard.world.flow(id).transport);
        let sender = Sender::new(Sending::new(shard.world, &opening, now), config);
        let slot = shard.open_sender::<Ndp>(id, sender);
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

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        let config = shard.settings(shard.transports.ndp.senders[slot].half.transport);
        let s = &mut shard.transports.ndp.senders[slot];
        if s.deadline(config) <= now {
            s.on_timeout(now);
            shard.counters.timeouts += 1;
        }
        shard.pump_ndp(out, now, slot, config);
    }

    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        let id = shard.transports.ndp.receivers[slot].half.flow;
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
            let (flow, granted) = (r.half.flow, r.granted);
            shard.answer_ndp(out, now, flow, (0, granted), Frame::ONLY_GRANTS);
        }
        shard.arm_puller(out, node);
    }

    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        Content::datagram(shard, flow, frame, shard.carries_data(frame))
    }
}

impl Shard<'_> {
    /// Sends the frames that are allowed, and sets the timer.
    fn pump_ndp<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &NdpConfig) {
        let world = self.world;
        while let Some(Transmit { seq, again, order }) =
            self.transports.ndp.senders[slot].transmit(now)
        {
            let s = &self.transports.ndp.senders[slot];
            let kind = Frame::DATAGRAM | Frame::TRIMMABLE;
            let mut frame = s.half.data(world, kind, seq, again, config.payload);
            if config.spread {
                frame.hash = mix((s.half.hash as u64) << 32 ^ order) as u32;
            }
            let node = s.half.node;
            self.counters.retransmits += again as u64;
            self.send(out, now, node, frame);
        }
        let wake = self.transports.ndp.senders[slot].deadline(config);
        self.arm_sender::<Ndp>(out, slot, wake);
    }

    /// Handles a segment, or only its header, at the receiver.
    fn on_ndp_data<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame, carried: Carried) {
        let (id, trimmed) = (frame.flow, frame.has(Frame::TRIMMED));
        if self.record_paths && !trimmed {
            self.count_path(&frame, 0);
        }
        let Some(slot) = self.receiver::<Ndp>(id, |shard| Receiver::new(id, shard.segments(id)))
        else {
            return self.answer_ndp(out, now, id, (frame.seq, 0), 0);
        };
        let r = &mut self.transports.ndp.receivers[slot];
        r.on_frame(frame.seq);
        if !trimmed {
            r.half.on_frame(now, &frame, carried, &mut self.counters.balance.late);
        }
        let negative = if r.half.has(frame.seq) { 0 } else { Frame::NACK };
        let (complete, (node, spacing)) = (r.half.is_complete(), self.pulls_of(id));
        let ndp = &mut self.transports.ndp;
        ndp.pullers.entry(node).or_default().ask(now, slot, &mut ndp.receivers, spacing);
        let granted = ndp.receivers[slot].granted;
        self.answer_ndp(out, now, id, (frame.seq, granted), negative);
        if complete {
            let puller = self.transports.ndp.pullers.get_mut(&node).expect("just seen");
            if puller.by == id {
                // The timer event belongs to this flow and ends with it.
                puller.armed = 0;
            }
            self.end_receiver::<Ndp>(out, now, slot);
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
        let only_grants = frame.has(Frame::ONLY_GRANTS);
        s.on_granted(now, frame.aux, only_grants);
        if !only_grants {
            s.on_answer(frame.seq, frame.has(Frame::NACK));
        }
        if !s.finished() {
            let config = self.settings(self.transports.ndp.senders[slot].half.transport);
            return self.pump_ndp(out, now, slot, config);
        }
        self.end_sender::<Ndp>(slot, Some(now));
    }

    /// Returns the receiving host of a flow, and the time in ps between two pulls there.
    fn pulls_of(&self, id: FlowId) -> (u32, u64) {
        let flow = self.world.flow(id);
        let node = self.world.place[flow.dst as usize].local;
        let full = self.full_frame_time(node, flow);
        (node, (full as f64 / self.settings::<NdpConfig>(flow.transport).pull_rate) as u64)
    }

    fn arm_puller<O: Outlet>(&mut self, out: &mut O, node: u32) {
        let (ports, ndp) = (self.ports.len(), &mut self.transports.ndp);
        let Some(puller) = ndp.pullers.get_mut(&node).filter(|puller| puller.armed == 0) else {
            return;
        };
        if let Some((at, slot)) = puller.due() {
            puller.by = ndp.receivers[slot].half.flow;
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
        let (size, flags) = (self.world.plan.wire.ack, Frame::ANSWER | flags);
        self.reply(out, now, id, Frame { seq, aux: granted, size, flags, ..Frame::default() });
    }
}
