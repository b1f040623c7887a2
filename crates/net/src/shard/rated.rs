//! Where the transports that are granted rates meet hosts, and links that grant them.

use super::forward::Drop;
use super::host::arm;
use super::{NOT_YET, OVER, Outlet, ReceivedRecord, SentRecord, Shard, own_event, set_slot};
use crate::allocation::{Header, Link, Seen, What};
use crate::frame::{Event, Extra, Frame};
use crate::idle::Idle;
use crate::spec::{FlowId, TransportConfig};
use crate::transport::rated::{AckIn, Act, Receiver, Scheduling, Sender, SenderSetup};

impl<'a> Shard<'a> {
    fn scheduling(&self, transport: u16) -> Scheduling<'a> {
        match &self.world.plan.transports[transport as usize] {
            TransportConfig::Pdq(config) => Scheduling::Pdq(config),
            TransportConfig::D3(config) => Scheduling::D3(config),
            _ => unreachable!("a frame of another transport's flow"),
        }
    }

    /// What the links of this shard grant; none where no flow asks.
    pub(super) fn links_that_grant(&self) -> Vec<Link> {
        let plan = self.world.plan;
        if !plan.has_rates() {
            return Vec::new();
        }
        self.ports.iter().map(|port| Link::of(plan, self.nodes[port.node as usize].id, port.rate)).collect()
    }

    /// As the rest of `arrive`, at a switch whose links grant rates.
    #[inline(never)]
    pub(super) fn arrive_rated<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: Frame) {
        let state = &self.nodes[node as usize];
        let Some(port) = self.world.routes(now).next_hop(state.id, frame.dst, frame.hash, state.hash_seed) else {
            return self.drop_frame(frame, Drop::Down);
        };
        if frame.kind() == Frame::RATED {
            self.pass_links(out, now, node, state.first_port + port as u32, &frame);
        }
        self.forward(out, now, node, port, frame);
    }

    /// A frame is about to leave by `port`; if it is an answer, what it answers left by the port at which it came.
    fn pass_links<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame) {
        if self.extras[frame.aux].header_mut().answer {
            return self.links[frame.port as usize].on_answer(frame.flow, self.extras[frame.aux].header_mut());
        }
        self.settle(out, now, node, port);
        let p = &self.ports[port as usize];
        let seen = Seen { now, waiting: p.waiting(self.nodes[node as usize].until_start), sent: p.begun() };
        self.links[port as usize].on_forward(&seen, frame.flow, self.extras[frame.aux].header_mut());
    }

    #[inline(never)]
    pub(super) fn start_rated<O: Outlet>(&mut self, out: &mut O, now: u64, (node, id): (u32, FlowId), (hash, idle): (u32, Idle)) {
        let world = self.world;
        let flow = world.flow(id);
        let shape = world.shape(flow);
        let rates = world.path(now, hash, flow.src, flow.dst).into_iter().map(|(node, port)| world.link(&world.ports.of(node)[port as usize]).rate.0);
        let bits = |size: u16| (size + world.plan.wire.gap) as u64 * 8;
        let setup = SenderSetup {
            flow: id,
            transport: flow.transport,
            node,
            dst: flow.dst,
            hash,
            priority: flow.priority,
            segments: shape.count as u32,
            full_bits: bits(shape.full),
            last_bits: bits(shape.last),
            line: rates.min().unwrap_or(self.ports[self.nodes[node as usize].first_port as usize].rate),
            idle,
            deadline: flow.deadline.map(|span| now + span.0),
            explain: world.plan.record.explain,
        };
        let slot = self.rated.insert(Sender::new(setup, now, self.scheduling(flow.transport)));
        set_slot(&mut self.sending, id, slot);
        self.pump_rated(out, now, slot);
    }

    /// Does what the sender has to do, and sees to its timer.
    fn pump_rated<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let config = self.scheduling(self.rated[slot].transport);
        loop {
            let act = self.rated[slot].next_act(now, config);
            match act {
                Act::Wait(at) => {
                    let ports = self.ports.len();
                    let s = &mut self.rated[slot];
                    return arm(out, at, &mut s.armed, own_event(ports, s.node, s.flow, Event::Sender));
                }
                Act::GiveUp => {
                    if self.rated[slot].is_open() {
                        self.send_rated(out, now, slot, act);
                    }
                    return self.close_rated(now, slot, None);
                }
                _ => self.send_rated(out, now, slot, act),
            }
        }
    }

    fn send_rated<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, act: Act) {
        let world = self.world;
        let config = self.scheduling(self.rated[slot].transport);
        let s = &mut self.rated[slot];
        let wire = &world.plan.wire;
        let (seq, again, size) = match act {
            Act::Send(seq, again) => (seq, again, world.payload(s.flow, seq, config.rated().payload) + wire.data_header),
            Act::Signal(What::Syn) => (0, false, wire.syn),
            _ => (0, false, wire.ack),
        };
        let before = s.timeouts;
        let header = s.on_sent(now, act, config);
        self.counters.timeouts += s.timeouts - before;
        let mut flags = Frame::RATED | Frame::EXTRA | s.priority as u16;
        if again {
            flags |= Frame::RETRANSMISSION;
            self.counters.retransmits += 1;
        }
        let size = (size + config.rated().header).max(wire.min_frame);
        let (node, dst, hash, flow) = (s.node, s.dst, s.hash, s.flow);
        let aux = self.extras.insert(Extra { edge: u32::MAX, header: Some(Box::new(header)), ..Extra::default() });
        let frame = Frame { flow, seq, aux, dst, hash, size, flags, ..Frame::default() };
        if let Some(port) = self.outgoing(now, node, dst, hash) {
            self.pass_links(out, now, node, port, &frame);
        }
        self.send(out, now, node, frame);
    }

    /// The flow is acknowledged whole, at `finish`, or given up.
    fn close_rated(&mut self, now: u64, slot: u32, finish: Option<u64>) {
        let s = &self.rated[slot];
        let flow = s.flow;
        self.harvest.sent.push(SentRecord { given_up: finish.is_none().then_some(now), ..rated_record(s, finish) });
        self.rated.remove(slot);
        self.sending[flow as usize] = OVER;
        self.live -= 1;
        self.flows_done += 1;
        self.last = self.last.max(now);
    }

    pub(super) fn on_rated_wake<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let s = &mut self.rated[slot];
        if s.armed != now {
            return;
        }
        s.armed = 0;
        self.pump_rated(out, now, slot);
    }

    /// A frame of such a transport has come to its host.
    #[inline(never)]
    pub(super) fn on_rated<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        let Extra { header, paused, trigger, .. } = self.extras.take(frame.aux);
        let mut header = header.expect("of kind RATED");
        if !header.answer {
            return self.answer_rated(out, now, &frame, header, paused);
        }
        // The host's own link granted, too.
        self.links[frame.port as usize].on_answer(frame.flow, &mut header);
        let slot = self.sending[frame.flow as usize];
        if slot == OVER {
            return;
        }
        let config = self.scheduling(self.rated[slot].transport);
        let trigger = (header.what == What::Data).then_some(trigger);
        self.rated[slot].on_ack(now, &AckIn { cumulative: frame.seq, trigger, header: *header, paused }, config);
        if !self.rated[slot].finished() {
            return self.pump_rated(out, now, slot);
        }
        if self.rated[slot].is_open() {
            self.send_rated(out, now, slot, Act::Signal(What::End));
        }
        self.close_rated(now, slot, Some(now));
    }

    /// Every frame but the last of a flow is answered, with its own header.
    fn answer_rated<O: Outlet>(&mut self, out: &mut O, now: u64, frame: &Frame, mut header: Box<Header>, paused: u64) {
        let world = self.world;
        if header.what == What::End {
            return;
        }
        let flow = world.flow(frame.flow);
        let node = world.place[flow.dst as usize].local;
        let segments = world.shape(flow).count as u32;
        let mut slot = self.receiving_slot(frame.flow);
        if slot == NOT_YET {
            slot = self.rated_receivers.insert(Receiver::new(frame.flow, segments));
            set_slot(&mut self.receiving, frame.flow, slot);
        }
        let mut cumulative = segments;
        if slot != OVER {
            let r = &mut self.rated_receivers[slot];
            if header.what == What::Data {
                if frame.seq < r.highest {
                    self.counters.balance.late.count(frame.has(Frame::RETRANSMISSION), Default::default());
                }
                r.on_data(frame.seq, frame.has(Frame::CE));
                r.paused = paused;
            }
            cumulative = r.next();
        }
        let (wire, extra) = (&world.plan.wire, self.scheduling(flow.transport).rated().header);
        header.answer = true;
        let aux = self.extras.insert(Extra { edge: u32::MAX, trigger: frame.seq, paused, header: Some(header), ..Extra::default() });
        let answer = Frame {
            flow: frame.flow,
            seq: cumulative,
            aux,
            dst: flow.src,
            hash: world.flow_hash(flow, true),
            size: (wire.ack + extra).max(wire.min_frame),
            flags: Frame::RATED | Frame::EXTRA | flow.priority as u16,
            ..Frame::default()
        };
        self.send(out, now, node, answer);
        if slot != OVER && self.rated_receivers[slot].is_complete() {
            let record = rated_received(&self.rated_receivers[slot], Some(now));
            self.harvest.received.push(record);
            self.rated_receivers.remove(slot);
            self.receiving[frame.flow as usize] = OVER;
            self.flow_received(out, now, frame.flow, now);
        }
    }
}

pub(super) fn rated_record(s: &Sender, finish: Option<u64>) -> SentRecord {
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

pub(super) fn rated_received(r: &Receiver, finish: Option<u64>) -> ReceivedRecord {
    let (frames, has_last) = r.received();
    ReceivedRecord { flow: r.flow, finish, frames, has_last, marked: r.marked, reordered: r.reordered, paused: r.paused }
}
