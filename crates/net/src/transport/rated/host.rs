//! Connects rated transports to hosts, and to the links that grant rates.

use super::{AckIn, Act, Rated, Scheduling, Sender, SenderSetup};
use crate::expected::FluidModel;
use crate::frame::{Extra, Frame};
use crate::queue::Reason;
use crate::record::SenderRecord;
use crate::shard::capture::Content;
use crate::shard::host::Carried;
use crate::shard::{OVER, Outlet, Shard, Slab};
use crate::spec::{self, Flow, FlowId, Plan, TransportConfig};
use crate::transport::Halves;
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::rated::allocation::d3::HOPS;
use crate::transport::rated::allocation::{Header, Link, Seen, What};
use crate::transport::receiving::Receiving;
use crate::transport::requirements::{Paths, Requirements, Setting};
use crate::transport::sending::Sending;
use crate::world::World;

impl Plan {
    /// True if the links grant rates.
    pub fn has_rates(&self) -> bool {
        self.transports
            .iter()
            .any(|transport| matches!(transport, TransportConfig::Pdq(_) | TransportConfig::D3(_)))
    }
}

impl Parameters for super::keys::Rated {
    fn frames(&self) -> Frames {
        Frames {
            data: self.header,
            answer: Some(self.header),
            carry_more: true,
            ..Frames::plain(self.payload)
        }
    }
    fn requirements(&self) -> Requirements {
        Requirements::default()
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        let halves = size_of::<Sender>() + size_of::<Receiving>();
        FluidModel {
            opens: true,
            granted: true,
            control: (2, 2),
            halves,
            ..FluidModel::new(world, self.frames(), 1.0)
        }
    }
}

impl Parameters for spec::Pdq {
    fn requirements(&self) -> Requirements {
        let paths = Paths { one: true, symmetric: true, ..Paths::default() };
        Requirements { paths, ..Requirements::default() }
    }
    fn frames(&self) -> Frames {
        self.rated().frames()
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        self.rated().fluid_model(world)
    }
}

impl Parameters for spec::D3 {
    fn requirements(&self) -> Requirements {
        Requirements {
            paths: Paths { one: true, links: Some(HOPS as u32), ..Paths::default() },
            deadlines: Some(Setting { key: "kind", text: "D3 shares links equally here" }),
            ..Requirements::default()
        }
    }
    fn frames(&self) -> Frames {
        self.rated().frames()
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        self.rated().fluid_model(world)
    }
    fn repairs(&self) -> bool {
        self.forget.is_some()
    }
}

impl Transport for Rated {
    type Sender = Sender;
    type Receiver = Receiving;

    fn senders(halves: &mut Halves) -> &mut Slab<Sender> {
        &mut halves.rated.senders
    }
    fn receivers(halves: &mut Halves) -> &mut Slab<Receiving> {
        &mut halves.rated.receivers
    }

    #[inline(never)]
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening) {
        let Opening { id, node, hash, deadline, .. } = opening;
        let world = shard.world;
        let flow = world.flow(id);
        let shape = world.shape(flow);
        let rates = world
            .path(now, hash, flow.src, flow.dst)
            .into_iter()
            .map(|(node, port)| world.rate(&world.ports.of(node)[port as usize]).0);
        let bits = |size: u16| (size + world.plan.wire.gap) as u64 * 8;
        let setup = SenderSetup {
            half: Sending::new(shard.world, &opening, now),
            full_bits: bits(shape.full),
            last_bits: bits(shape.last),
            line: rates
                .min()
                .unwrap_or(shard.ports[shard.nodes[node as usize].first_port as usize].rate),
            deadline,
        };
        let sender = Sender::new(setup, shard.scheduling(flow.transport));
        let slot = shard.open_sender::<Rated>(id, sender);
        shard.pump_rated(out, now, slot);
    }

    #[inline(never)]
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame) {
        let Extra { header, paused, trigger, .. } = shard.extras.take(frame.aux);
        let mut header = header.expect("of kind RATED");
        if !header.answer {
            if shard.record_paths && header.what == What::Data {
                shard.count_path(&Frame { aux: trigger, ..frame }, 0);
            }
            return shard.answer_rated(out, now, &frame, header, paused);
        }
        // The host's own link has granted a rate, too.
        shard.transports.rated.links[frame.port as usize].on_answer(frame.flow, &mut header);
        let slot = shard.sending[frame.flow as usize];
        if slot == OVER {
            return;
        }
        let config = shard.scheduling(shard.transports.rated.senders[slot].half.transport);
        let trigger = (header.what == What::Data).then_some(trigger);
        shard.transports.rated.senders[slot].on_ack(
            now,
            &AckIn { cumulative: frame.seq, trigger, header: *header, paused },
            config,
        );
        if !shard.transports.rated.senders[slot].finished() {
            return shard.pump_rated(out, now, slot);
        }
        if shard.transports.rated.senders[slot].is_open() {
            shard.send_rated(out, now, slot, Act::Signal(What::End));
        }
        shard.close_rated(now, slot, Some(now));
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.pump_rated(out, now, slot);
    }

    fn give_up<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.end_rated(out, now, slot);
    }

    fn sampled(shard: &mut Shard, _: u64, _: FlowId, slot: u32, found: &mut Vec<SenderRecord>) {
        let s = &shard.transports.rated.senders[slot];
        let full = shard.scheduling(s.half.transport).rated().payload;
        found.push(s.known(|seq| shard.world.payload(s.half.flow, seq, full).into()));
    }

    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        let header = shard.extras[frame.aux].header.as_ref();
        let data = header.is_none_or(|header| header.carries_data());
        Content::datagram(shard, flow, frame, data)
    }
}

impl<'a> Shard<'a> {
    fn scheduling(&self, transport: u16) -> Scheduling<'a> {
        match &self.world.plan.transports[transport as usize] {
            TransportConfig::Pdq(config) => Scheduling::Pdq(config),
            TransportConfig::D3(config) => Scheduling::D3(config),
            _ => unreachable!("a frame of another transport's flow"),
        }
    }

    /// Sets up the rate allocation of this shard's links, if any flow asks for rates.
    pub fn set_up_links(&mut self) {
        let plan = self.world.plan;
        if plan.has_rates() {
            self.transports.rated.links = self
                .ports
                .iter()
                .map(|port| Link::of(plan, self.nodes[port.node as usize].id, port.rate))
                .collect();
        }
    }

    /// Continues the arrival of a frame at a switch whose links grant rates.
    #[inline(never)]
    pub fn arrive_rated<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, mut frame: Frame) {
        let state = &self.nodes[node as usize];
        let Some(port) =
            self.world.routes(now).next_hop(state.id, frame.dst, frame.hash, state.hash_seed)
        else {
            return self.drop_frame(frame, Reason::Down);
        };
        if frame.kind() == Frame::RATED {
            self.pass_links(out, now, node, state.first_port + port as u32, &frame);
        }
        self.forward(out, now, node, port, &mut frame);
    }

    /// Passes the header of a frame that is about to leave by `port` to the link. An answer goes to
    /// the link at whose port it arrived, because the answered frame left by that port.
    fn pass_links<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
    ) {
        if self.extras[frame.aux].header_mut().answer {
            return self.transports.rated.links[frame.port as usize]
                .on_answer(frame.flow, self.extras[frame.aux].header_mut());
        }
        self.release_departed(out, now, node, port);
        let (waiting, sent) = self.waiting_and_begun(port);
        let seen = Seen { now, waiting, sent };
        self.transports.rated.links[port as usize].on_forward(
            &seen,
            frame.flow,
            self.extras[frame.aux].header_mut(),
        );
    }

    /// Performs the sender's actions, and sets its timer.
    fn pump_rated<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let config = self.scheduling(self.transports.rated.senders[slot].half.transport);
        loop {
            let s = &mut self.transports.rated.senders[slot];
            let before = (s.half.timeouts, s.half.retransmitted);
            let act = s.next_act(now, config);
            self.counters.timeouts += s.half.timeouts - before.0;
            self.counters.retransmits += s.half.retransmitted - before.1;
            match act {
                Act::Wait(at) => {
                    return self.arm_sender::<Rated>(out, slot, at);
                }
                Act::GiveUp => {
                    return self.end_rated(out, now, slot);
                }
                _ => self.send_rated(out, now, slot, act),
            }
        }
    }

    fn send_rated<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, act: Act) {
        let world = self.world;
        let config = self.scheduling(self.transports.rated.senders[slot].half.transport);
        let s = &mut self.transports.rated.senders[slot];
        let wire = &world.plan.wire;
        let (seq, again, size) = match act {
            Act::Send(seq, again) => (
                seq,
                again,
                world.payload(s.half.flow, seq, config.rated().payload) + wire.data_header,
            ),
            Act::Signal(What::Syn) => (0, false, wire.syn),
            _ => (0, false, wire.ack),
        };
        let header = s.on_sent(now, act, config);
        self.counters.retransmits += again as u64;
        let size = (size + config.rated().header).max(wire.min_frame);
        let mut frame = s.half.frame(Frame::RATED | Frame::EXTRA, seq, again, size);
        let node = s.half.node;
        frame.aux = self.extras.insert(Extra {
            edge: u32::MAX,
            header: Some(Box::new(header)),
            ..Extra::default()
        });
        if let Some(port) = self.outgoing(now, node, frame.dst, frame.hash) {
            self.pass_links(out, now, node, port, &frame);
        }
        self.send(out, now, node, frame);
    }

    /// Gives up a flow, and tells the links.
    fn end_rated<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        if self.transports.rated.senders[slot].is_open() {
            self.send_rated(out, now, slot, Act::GiveUp);
        }
        self.close_rated(now, slot, None);
    }

    /// Closes a flow that was acknowledged completely at `finish`, or was given up.
    fn close_rated(&mut self, now: u64, slot: u32, finish: Option<u64>) {
        match finish {
            Some(_) => self.end_sender::<Rated>(slot, finish),
            None => self.abandon_sender::<Rated>(now, slot),
        }
        self.last = self.last.max(now);
    }

    /// Answers every frame with the frame's own header, except the one that ends the flow.
    fn answer_rated<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        frame: &Frame,
        mut header: Box<Header>,
        paused: u64,
    ) {
        if header.what == What::End {
            return;
        }
        let id = frame.flow;
        let segments = self.segments(id);
        let slot = self.receiver::<Rated>(id, |_| Receiving::new(id, segments));
        let mut cumulative = segments;
        if let Some(slot) = slot {
            let r = &mut self.transports.rated.receivers[slot];
            if header.what == What::Data {
                let carried = Carried { paused, ..Carried::default() };
                r.on_frame(now, frame, carried, &mut self.counters.balance.late);
            }
            cumulative = r.next;
        }
        let transport = self.world.flow(id).transport;
        let size = self.world.plan.wire.ack + self.scheduling(transport).rated().header;
        header.answer = true;
        let aux = self.extras.insert(Extra {
            edge: u32::MAX,
            trigger: frame.seq,
            paused,
            header: Some(header),
            ..Extra::default()
        });
        let flags = Frame::RATED | Frame::EXTRA;
        self.reply(out, now, id, Frame { seq: cumulative, aux, size, flags, ..Frame::default() });
        if let Some(slot) = slot
            && self.transports.rated.receivers[slot].is_complete()
        {
            self.end_receiver::<Rated>(out, now, slot);
        }
    }
}
