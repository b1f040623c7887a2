//! Connects queue pairs to hosts. The NIC makes a frame when its transmitter is free, for the queue
//! pair whose turn it is.

use super::paced::Paced;
use super::{AckIn, Acknowledgement, QueuePair, Rdma, Reps, Responder, Setup};
use crate::congestion::rate;
use crate::expected::{FluidModel, Pace};
use crate::frame::{Event, Extra, Frame};
use crate::record::SenderRecord;
use crate::shard::capture::Content;
use crate::shard::host::Carried;
use crate::shard::{OVER, Outlet, ReceivedRecord, Shard, Slab, own_event};
use crate::spec::{Cnp, Entropy, Flow, FlowId, Plan, RdmaConfig, RdmaRecovery, TransportConfig};
use crate::telemetry::Telemetry;
use crate::transport::Halves;
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::receiving::ReceivingHalf;
use crate::transport::requirements::{Capable, Ecn, Hash, HostTiming, Requirements, Setting};
use crate::transport::sending::Sending;
use crate::world::World;
use crate::world::cut_off;
use afflux_engine::random::Stream;
use afflux_units::Span;

/// Purpose of the random streams of entropies (see `afflux_engine::random`).
const ENTROPY: u64 = 0x7265_7073;

impl Plan {
    /// True if RDMA is among the transports.
    pub fn has_queue_pairs(&self) -> bool {
        self.transports.iter().any(|transport| matches!(transport, TransportConfig::Rdma(_)))
    }

    /// True if switches write telemetry of their ports on frames.
    pub fn has_telemetry(&self) -> bool {
        self.transports.iter().any(
            |transport| matches!(transport, TransportConfig::Rdma(rdma) if rdma.overhead() > 0),
        )
    }
}

impl Parameters for RdmaConfig {
    fn reports_host_queueing(&self) -> bool {
        true
    }
    fn requirements(&self) -> Requirements {
        let spreads = matches!(self.entropy, Entropy::Reps(_));
        // With the key `cnp_out_of_order`, frames out of order count as marked, so that the control
        // works without marks.
        let marks = (self.control.is_notified() && !self.cnp_out_of_order)
            .then(|| Setting { key: "congestion", text: self.control.kind().name() });
        Requirements {
            ecn: Ecn {
                capable: Capable::All,
                reacts: self.control.is_notified() || spreads,
                negotiated: false,
                cure: Some("a congestion control that uses ECN"),
                marks,
                paced: false,
            },
            hash: if spreads {
                Hash::PerFrame(Setting { key: "entropy", text: "reps" })
            } else {
                Hash::Path
            },
            pauses: Some(self.pauses),
            timing: HostTiming::Nic,
            ack_priority: self.ack_priority,
            ..Requirements::default()
        }
    }
    fn unused(&self, _: bool) -> Vec<Setting> {
        let text = "has no effect with freeze = \"off\": write freeze, or remove it";
        match &self.entropy {
            Entropy::Reps(reps) if reps.freeze.is_none() => {
                vec![Setting { key: "entropy.explore", text }]
            }
            _ => Vec::new(),
        }
    }
    fn repairs(&self) -> bool {
        !matches!(&self.recovery, RdmaRecovery::Irn(irn) if !irn.timeouts)
    }
    fn pace(&self, line: f64) -> Option<Box<dyn Pace + '_>> {
        Paced::of(self, line).map(|paced| Box::new(paced) as Box<dyn Pace>)
    }
    fn frames(&self) -> Frames {
        let overhead = self.overhead();
        Frames {
            data: overhead,
            answer: Some(overhead),
            carry_more: overhead > 0,
            ..Frames::plain(self.payload)
        }
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        let common = FluidModel {
            ordered: matches!(self.recovery, RdmaRecovery::GoBackN { .. }),
            marked: true,
            halves: size_of::<QueuePair>() + size_of::<Responder>(),
            ..FluidModel::new(world, self.frames(), 1.0)
        };
        match self
            .control
            .parameters()
            .map(|parameters| parameters.rate_response(f64::from(self.payload)))
        {
            Some(rate::RateResponse { erratic, growth, efficiency, .. }) => {
                FluidModel { erratic, growth, efficiency, ..common }
            }
            None => common,
        }
    }
}

impl Transport for Rdma {
    type Sender = QueuePair;
    type Receiver = Responder;

    fn senders(halves: &mut Halves) -> &mut Slab<QueuePair> {
        &mut halves.rdma.pairs
    }
    fn receivers(halves: &mut Halves) -> &mut Slab<Responder> {
        &mut halves.rdma.responders
    }

    #[inline(never)]
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening) {
        let Opening { id, node, hash, .. } = opening;
        let world = shard.world;
        let flow = world.flow(id);
        let config = shard.settings::<RdmaConfig>(flow.transport);
        let port = shard
            .outgoing(now, node, flow.dst, hash)
            .unwrap_or(shard.nodes[node as usize].first_port);
        let setup = Setup {
            half: Sending::new(world, &opening, now),
            port,
            line: shard.ports[port as usize].rate,
            bytes: flow.bytes,
            reps: matches!(config.entropy, Entropy::Reps(_))
                .then(|| Box::new(Reps::new(Stream::new(world.plan.run.seed, ENTROPY, id as u64)))),
        };
        let slot = shard.open_sender::<Rdma>(id, QueuePair::new(setup, config));
        let place = shard.transports.rdma.nics[port as usize].open(slot, flow.priority);
        shard.transports.rdma.pairs[slot].place = place;
        shard.tell_nic(out, now, slot, config);
    }

    #[inline(always)]
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame) {
        match frame.kind() {
            Frame::RDMA_ACK => shard.on_rdma_ack(out, now, frame),
            _ => shard.on_rdma_data(out, now, frame),
        }
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        let pair = &shard.transports.rdma.pairs[slot];
        if pair.wake() == now {
            let config = shard.settings(pair.half.transport);
            shard.transports.rdma.pairs[slot].on_timeout(now, config);
            shard.counters.timeouts += 1;
            shard.last = shard.last.max(now);
            shard.tell_nic(out, now, slot, config);
        }
        shard.arm_pair(out, slot);
    }

    fn give_up<O: Outlet>(shard: &mut Shard, _: &mut O, now: u64, slot: u32) {
        shard.leave_nic(slot);
        shard.abandon_sender::<Rdma>(now, slot);
    }

    /// Sends a notification that the receiver's NIC has delayed.
    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.last = shard.last.max(now);
        shard.notify(out, now, slot);
    }

    fn sampled(shard: &mut Shard, now: u64, _: FlowId, slot: u32, found: &mut Vec<SenderRecord>) {
        let config = shard.settings(shard.transports.rdma.pairs[slot].half.transport);
        let (world, pair) = (shard.world, &mut shard.transports.rdma.pairs[slot]);
        let flow = world.flow(pair.half.flow);
        let bits = (world.shape(flow).full + world.plan.wire.gap) as u64 * 8;
        found.push(pair.known(now, bits, config));
    }

    // A capture records a datagram to a RoCEv2 port, without its contents.
    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        Content::datagram(shard, flow, frame, frame.kind() != Frame::RDMA_ACK)
    }
}

impl Shard<'_> {
    /// Tells the NIC that a queue pair may have become able to send.
    #[inline(always)]
    fn tell_nic<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &RdmaConfig) {
        let pair = &mut self.transports.rdma.pairs[slot];
        let (due, node, port, place) =
            (pair.due(now, config), pair.half.node, pair.port, pair.place);
        let nic = &mut self.transports.rdma.nics[port as usize];
        nic.set_due(place, due);
        if due == u64::MAX || nic.armed != 0 && nic.armed <= due {
            return;
        }
        if due > now {
            return self.arm_nic(out, node, port, due);
        }
        // The NIC checks again at the end of the current transmission.
        let p = &self.ports[port as usize];
        if p.free_at > now && nic.armed != 0 && nic.armed <= p.free_at {
            return;
        }
        self.run_nic(out, now, node, port);
    }

    fn arm_nic<O: Outlet>(&mut self, out: &mut O, node: u32, port: u32, at: u64) {
        let state = &self.nodes[node as usize];
        let armed = &mut self.transports.rdma.nics[port as usize].armed;
        if *armed != 0 && at >= *armed {
            return;
        }
        *armed = at;
        if state.ports > 1 || !out.nic_looks(at) {
            out.event(at, own_event(self.ports.len(), node, port - state.first_port, Event::Nic));
        }
    }

    pub fn on_nic<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, number: u32) {
        let port = self.nodes[node as usize].first_port + number;
        let nic = &mut self.transports.rdma.nics[port as usize];
        if nic.armed == now {
            nic.armed = 0;
            self.run_nic(out, now, node, port);
        }
    }

    /// Sets up a NIC for each port, if any flow uses RDMA.
    pub fn set_up_nics(&mut self) {
        if self.world.plan.has_queue_pairs() {
            self.transports.rdma.nics.resize_with(self.ports.len(), Default::default);
        }
    }

    /// Lets queue pairs send after the transmitter of a host's port may have become free.
    #[inline(always)]
    pub fn free_for_pairs<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        if !self.transports.rdma.nics.is_empty() {
            self.run_nic(out, now, node, port);
        }
    }

    /// Sends the next frame, if the transmitter is free.
    fn run_nic<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let p = &self.ports[port as usize];
        // At an idle port that has been advanced to `now`, nothing waits, unless it is paused.
        let behind = !p.plain && (p.queued > 0 || self.may_act(port));
        if !O::CLASSICAL && behind && p.free_at <= now {
            self.bring_up(out, now, node, port);
        }
        let p = &self.ports[port as usize];
        // At `free_at` the frame in transmission has left, even if that has not been processed yet.
        let busy = p.free_at > now;
        let allowed = if !p.plain && self.is_held(port) {
            self.transports.rdma.nics[port as usize].classes(self.free_classes(now, port))
        } else {
            u8::MAX
        };
        if busy {
            let at = p.free_at.max(self.transports.rdma.nics[port as usize].earliest_due());
            if at < u64::MAX {
                self.arm_nic(out, node, port, at);
            }
            return;
        }
        match self.transports.rdma.nics[port as usize].next(now, allowed) {
            Some(slot) => self.send_from_pair(out, now, slot),
            None => {
                let a = p.features.as_deref();
                let waiting = if p.plain { u64::MAX } else { self.next_start(port) };
                let held = |class: u8| match a.and_then(|a| a.pause.as_ref()) {
                    _ if allowed >> class & 1 != 0 => u64::MAX,
                    Some(pause) if !pause.may_send(class, now) => pause.until(class),
                    _ => waiting,
                };
                let at = self.transports.rdma.nics[port as usize].earliest(now, held);
                if at < u64::MAX {
                    self.arm_nic(out, node, port, at);
                }
            }
        }
    }

    /// Sends the next frame of a queue pair. The transmitter must be free.
    fn send_from_pair<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let world = self.world;
        let wire = &world.plan.wire;
        let config = self.settings::<RdmaConfig>(self.transports.rdma.pairs[slot].half.transport);
        let pair = &mut self.transports.rdma.pairs[slot];
        let (node, port, class) = (pair.half.node, pair.port, pair.half.priority);
        let p = &self.ports[port as usize];
        let clock = match p.pause() {
            Some(pause) if p.pause_seen && world.plan.record.explain => pause.clock(class, now),
            _ => 0,
        };
        let transmit = pair.transmit(now, clock, config);
        let payload = if pair.is_last(transmit.seq) {
            world.last_payload(pair.half.flow, config.payload)
        } else {
            config.payload
        };
        let overhead = config.overhead();
        let size = (payload + overhead + wire.data_header).max(wire.min_frame);
        let at_line = cut_off(p.serialize(size), world.tick());
        pair.pace(now, (size + wire.gap) as u64 * 8, at_line, world.tick(), config);
        let due = pair.due(now, config);
        self.counters.retransmits += transmit.retransmission as u64;
        let kind = Frame::RDMA_DATA | Frame::ECT;
        let mut frame = pair.half.frame(kind, transmit.seq, transmit.retransmission, size);
        frame.hash = pair.next_hash(now, config);
        if overhead > 0 {
            frame.aux = self.extras.insert(Extra {
                edge: u32::MAX,
                telemetry: Some(Box::default()),
                ..Extra::default()
            });
            frame.flags |= Frame::EXTRA;
        }
        let place = pair.place;
        self.transports.rdma.nics[port as usize].set_due(place, due);
        self.arm_pair(out, slot);
        self.sets_out(size);
        self.last = self.last.max(now);
        self.offer(out, now, node, port, &frame);
        let at = self.transports.rdma.nics[port as usize]
            .earliest_due()
            .max(self.ports[port as usize].free_at);
        if at < u64::MAX {
            self.arm_nic(out, node, port, at);
        }
    }

    /// Schedules the timer event of a queue pair.
    #[inline(always)]
    fn arm_pair<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let wake = self.transports.rdma.pairs[slot].wake();
        self.arm_sender::<Rdma>(out, slot, wake);
    }

    #[inline(never)]
    fn on_rdma_ack<O: Outlet>(&mut self, out: &mut O, now: u64, mut frame: Frame) {
        let telemetry = self.take_telemetry(&frame);
        let paused = self.take_extra(&mut frame).paused;
        let slot = self.sending[frame.flow as usize];
        if slot == OVER {
            return;
        }
        let config = self.settings::<RdmaConfig>(self.transports.rdma.pairs[slot].half.transport);
        let pair = &mut self.transports.rdma.pairs[slot];
        if frame.has(Frame::CNP_ALONE) {
            pair.control.on_cnp(now, &config.control);
        } else {
            let (negative, cnp) = (frame.has(Frame::NACK), frame.has(Frame::CNP));
            pair.recycle(frame.hash, cnp, config);
            let nothing = Telemetry::default();
            let telemetry = (config.overhead() > 0)
                .then(|| (telemetry.as_deref().unwrap_or(&nothing), &self.world.rates[..]));
            let ack = AckIn {
                cumulative: frame.seq,
                trigger: frame.aux,
                negative,
                cnp,
                paused,
                telemetry,
            };
            pair.on_ack(now, &ack, config);
            if pair.is_complete() {
                self.leave_nic(slot);
                return self.end_sender::<Rdma>(slot, Some(now));
            }
            self.arm_pair(out, slot);
        }
        self.tell_nic(out, now, slot, config);
    }

    /// Removes a queue pair, which ends, from its NIC.
    fn leave_nic(&mut self, slot: u32) {
        let super::Halves { nics, pairs, .. } = &mut self.transports.rdma;
        let (port, place) = (pairs[slot].port, pairs[slot].place);
        nics[port as usize].close(place, |slot, place| pairs[slot].place = place);
    }

    #[inline(never)]
    fn on_rdma_data<O: Outlet>(&mut self, out: &mut O, now: u64, mut frame: Frame) {
        let telemetry = self.take_telemetry(&frame);
        let Carried { paused, tag, .. } = self.take_extra(&mut frame);
        if self.record_paths {
            self.count_path(&frame, 0);
        }
        let slot = self.receiver::<Rdma>(frame.flow, |shard| shard.make_responder(frame.flow));
        let Some(slot) = slot else {
            // All data have arrived already: acknowledge again.
            let again = self.make_responder(frame.flow);
            let cumulative = self.segments(frame.flow);
            let in_ack = self.settings::<RdmaConfig>(again.transport).cnp == Cnp::Ack;
            let ack = Acknowledgement {
                cumulative,
                trigger: frame.seq,
                negative: false,
                cnp: in_ack && frame.has(Frame::CE),
            };
            self.counters.cnps += u64::from(ack.cnp);
            let answer = self.rdma_ack(&again, ack, frame.hash);
            self.send(out, now, again.node, answer);
            return;
        };
        let config = self.settings::<RdmaConfig>(self.transports.rdma.responders[slot].transport);
        let r = &mut self.transports.rdma.responders[slot];
        r.paused = paused;
        if frame.seq < r.highest {
            self.counters.balance.late.count(frame.has(Frame::RETRANSMISSION), tag);
        }
        let answer = r.on_data(now, frame.seq, frame.has(Frame::CE), config);
        let (node, complete) = (r.node, r.is_complete());
        if answer.cnp {
            match config.cnp {
                Cnp::Packet { delay, .. } if delay > Span::ZERO => out.event(
                    now + delay.0,
                    own_event(self.ports.len(), node, frame.flow, Event::Receiver),
                ),
                _ => self.notify(out, now, slot),
            }
        }
        if let Some(ack) = answer.ack {
            self.counters.cnps += u64::from(ack.cnp);
            let mut frame = self.rdma_ack(&self.transports.rdma.responders[slot], ack, frame.hash);
            if paused > 0 || telemetry.is_some() {
                frame.aux = self.extras.insert(Extra {
                    trigger: ack.trigger,
                    edge: u32::MAX,
                    paused,
                    telemetry,
                    ..Extra::default()
                });
                frame.flags |= Frame::EXTRA;
            }
            self.send(out, now, node, frame);
        }
        if complete {
            self.end_receiver::<Rdma>(out, now, slot);
        }
    }

    /// Reports a mark to the sender in a separate frame.
    fn notify<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let r = &self.transports.rdma.responders[slot];
        let (node, overhead, wire) =
            (r.node, self.settings::<RdmaConfig>(r.transport).overhead(), &self.world.plan.wire);
        let mut notification = self.rdma_ack(
            r,
            Acknowledgement { cumulative: 0, trigger: 0, negative: false, cnp: true },
            r.hash,
        );
        notification.flags |= Frame::CNP_ALONE;
        notification.size = (wire.cnp + overhead).max(wire.min_frame);
        self.counters.cnps += 1;
        self.send(out, now, node, notification);
    }

    #[inline(always)]
    fn take_telemetry(&mut self, frame: &Frame) -> Option<Box<Telemetry>> {
        if frame.has(Frame::EXTRA) { self.extras[frame.aux].telemetry.take() } else { None }
    }

    fn make_responder(&self, id: FlowId) -> Responder {
        let flow = self.world.flow(id);
        Responder {
            flow: id,
            transport: flow.transport,
            node: self.world.place[flow.dst as usize].local,
            src: flow.src,
            hash: self.world.return_route(flow),
            priority: self
                .settings::<RdmaConfig>(flow.transport)
                .ack_priority
                .unwrap_or(flow.priority),
            segments: self.segments(id),
            ..Responder::default()
        }
    }

    /// Builds an acknowledgement. `hash`: hash of the frame that it answers.
    #[inline(always)]
    fn rdma_ack(&self, r: &Responder, ack: Acknowledgement, hash: u32) -> Frame {
        let wire = &self.world.plan.wire;
        let mut flags = Frame::RDMA_ACK | Frame::ECT | r.priority as u16;
        if ack.negative {
            flags |= Frame::NACK;
        }
        if ack.cnp {
            flags |= Frame::CNP;
        }
        let config = self.settings::<RdmaConfig>(r.transport);
        let size = (wire.ack + config.overhead()).max(wire.min_frame);
        let hash = if matches!(config.entropy, Entropy::Reps(_)) { hash } else { r.hash };
        Frame {
            flow: r.flow,
            seq: ack.cumulative,
            aux: ack.trigger,
            dst: r.src,
            hash,
            size,
            flags,
            ..Frame::default()
        }
    }
}

impl ReceivingHalf for Responder {
    fn record(&self, _: &World, finish: Option<u64>) -> ReceivedRecord {
        let (frames, has_last) = self.received();
        ReceivedRecord {
            flow: self.flow,
            finish,
            frames: frames as u64,
            has_last,
            marked: self.marked,
            reordered: self.reordered,
            paused: self.paused,
            last: self.last,
        }
    }
}
