//! What hosts do: transports meet the network here.

use super::finish::round_trips;
use super::{MPTCP, NOT_YET, OVER, Outlet, PFABRIC, ReceivedRecord, SentRecord, Shard, own_event, set_slot};
use crate::balance::Tag;
use crate::frame::{Control, Event, Extra, Frame, Multipath};
use crate::idle::{idle, least_round_trip};
use crate::memory::Kept;
use crate::probe::explain::Attribution;
use crate::spec::{EcnMode, FctEnd, Flow, FlowId, Metrics, TcpConfig, TransportConfig};
use crate::transport::tcp::{AckIn, AckNow, Arrival, Cause, Expired, Message, Receiver, ReceiverSetup, Sender, SenderSetup, Transmit, stamp};
use afflux_engine::random::Stream;

/// Purpose of the random streams of congestion controls (see `afflux_engine::random`).
const CONTROL: u64 = 0x636f_6e74;

/// What came with a frame.
#[derive(Default)]
pub(super) struct Beside {
    /// How long it stood paused.
    pub paused: u64,
    /// The timestamp.
    pub stamp: u32,
    /// What its last switch wrote on it.
    pub tag: Tag,
}

/// Timers are lazy: an event under way (`armed`, 0 for none) is armed anew when it goes off early, and only an earlier moment needs another. If
/// `wake` (0 for not at all) does, `event` is sent and is the one under way.
#[inline(always)]
pub(super) fn arm<O: Outlet>(out: &mut O, wake: u64, armed: &mut u64, event: Frame) {
    if wake != 0 && (*armed == 0 || wake < *armed) {
        *armed = wake;
        out.event(wake, event);
    }
}

impl<'a> Shard<'a> {
    /// The settings of what is TCP, if only in its receiver.
    pub(super) fn tcp(&self, transport: u16) -> &'a TcpConfig {
        match &self.world.plan.transports[transport as usize] {
            TransportConfig::Tcp(config) => config,
            TransportConfig::Pfabric(config) => &config.tcp,
            TransportConfig::Mptcp(config) => &config.tcp,
            _ => unreachable!("a TCP frame of another transport's flow"),
        }
    }

    /// A host puts a frame on its network. With small queues: when it will have left, as far as a transmitter goes that sends in the order of
    /// arrival and is not paused; 0 if it was dropped.
    #[inline(always)]
    pub(super) fn send<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: Frame) -> u64 {
        self.sets_out(frame.size);
        let Some(port) = self.outgoing(now, node, frame.dst, frame.hash) else {
            self.drop_frame(frame, super::forward::Drop::Down);
            return 0;
        };
        self.send_by(out, now, node, port, frame)
    }

    /// The same by this port of the host's.
    #[inline(always)]
    pub(super) fn send_by<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: Frame) -> u64 {
        if self.cleared.is_empty() {
            self.offer(out, now, node, port, frame);
            return 0;
        }
        let drops_at_start = self.nodes[node as usize].marks_at_start || self.ports[port as usize].automaton.as_ref().is_some_and(|a| a.discipline.is_some());
        if drops_at_start {
            // A frame dropped at the start of its transmission before now is not this one.
            self.settle(out, now, node, port);
        }
        let dropped = self.counters.dropped_packets;
        self.offer(out, now, node, port, frame);
        if self.counters.dropped_packets > dropped {
            return 0;
        }
        let until = self.cleared[port as usize].max(now) + self.ports[port as usize].serialize(frame.size);
        self.cleared[port as usize] = until;
        until
    }

    /// A frame of so many bytes comes into the network.
    #[inline(always)]
    pub(super) fn sets_out(&mut self, size: u16) {
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += size as u64;
        self.live += 1;
    }

    /// The port by which a host sends to `dst`, if any leads there; its only one is taken whether it does or not.
    #[inline(always)]
    pub(super) fn outgoing(&self, now: u64, node: u32, dst: u32, hash: u32) -> Option<u32> {
        let state = &self.nodes[node as usize];
        if state.ports == 1 {
            return Some(state.first_port);
        }
        let port = self.world.routes(now).next_hop(state.id, dst, hash, state.hash_seed)?;
        Some(state.first_port + port as u32)
    }

    /// A frame has come to its destination.
    #[inline(always)]
    pub(super) fn deliver<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        self.counters.delivered_packets += 1;
        self.counters.delivered_bytes += frame.size as u64;
        self.live -= 1;
        match frame.kind() {
            Frame::ACK => self.on_ack(out, now, frame),
            Frame::RDMA_ACK => self.on_rdma_ack(out, now, frame),
            Frame::DATA if frame.has(Frame::QUEUE_PAIR) => self.on_rdma_data(out, now, frame),
            Frame::DATA => self.on_data(out, now, frame),
            Frame::CONTROL => self.on_control(out, now, frame),
            Frame::RATED => self.on_rated(out, now, frame),
            _ => self.on_datagram(out, now, frame),
        }
    }

    /// The first start of each host's list.
    pub fn arm_starts<O: Outlet>(&mut self, out: &mut O) {
        for node in 0..self.nodes.len() as u32 {
            if self.nodes[node as usize].host {
                self.arm_next_start(out, node);
            }
        }
    }

    pub(super) fn arm_next_start<O: Outlet>(&mut self, out: &mut O, node: u32) {
        if let Some(flow) = self.starts[node as usize].pop() {
            let crate::spec::Start::At(at) = self.world.plan.flows[flow as usize].start else { unreachable!("only timed starts are listed") };
            let mut event = self.event(node, flow, Event::Start);
            event.aux = 1;
            out.event(at.0, event);
        }
    }

    pub(super) fn start_flow<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, id: FlowId) {
        let plan = self.world.plan;
        let flow = self.world.flow(id);
        if flow.src == flow.dst {
            return self.finish_local(out, now, id);
        }
        let shape = self.world.shape(flow);
        let with_return = plan.run.fct_end == FctEnd::LastAck && shape.ack.is_some();
        let idle = idle(self.world, now, flow, shape, with_return);
        let hash = self.world.flow_hash(flow, false);
        let deadline = flow.deadline.map(|span| now + span.0);
        match &plan.transports[flow.transport as usize] {
            TransportConfig::Tcp(config) => {
                let message = self.world.message(id);
                if message.head != id {
                    // Another flow on a connection that is open.
                    let slot = self.sending[message.head as usize];
                    set_slot(&mut self.sending, id, slot);
                    self.senders[slot].append(now, id, message.to, (idle, deadline), config);
                    return self.pump(out, now, slot, Cause::Start, config);
                }
                let setup = SenderSetup {
                    flow: id,
                    transport: flow.transport,
                    node,
                    dst: flow.dst,
                    hash,
                    priority: flow.priority,
                    segments: shape.count as u32,
                    ends: self.world.connection_end(id),
                    idle,
                    deadline,
                    ecn: if config.handshake { config.ecn } else { self.agreed_ecn(flow.dst, config) },
                    explain: plan.record.explain,
                    random: Stream::new(plan.run.seed, CONTROL, id as u64),
                };
                let mut sender = Sender::new(setup, now, config);
                sender.round_trips = plan.record.round_trips.then(Box::default);
                if config.metrics == Metrics::Full
                    && let Some(ssthresh) = self.thresholds.get(&(node, flow.dst))
                {
                    sender.begin_with(*ssthresh);
                }
                let slot = self.senders.insert(sender);
                set_slot(&mut self.sending, id, slot);
                if config.handshake {
                    self.send_syn(out, now, slot, config);
                } else {
                    let round_trip = if self.senders[slot].measures() { self.least_round_trip(now, flow) } else { 0 };
                    self.senders[slot].open(now, round_trip, config);
                    self.pump(out, now, slot, Cause::Start, config);
                }
            }
            TransportConfig::Rdma(config) => self.open_pair(out, now, (node, id), (hash, idle), config),
            TransportConfig::Pfabric(config) => self.start_pfabric(out, now, node, id, idle, config),
            TransportConfig::Pdq(_) | TransportConfig::D3(_) => self.start_rated(out, now, (node, id), (hash, idle)),
            TransportConfig::Mptcp(config) => self.start_mptcp(out, now, node, id, config),
            TransportConfig::Datagram(_) => self.start_datagrams(out, now, (node, id), (hash, idle)),
            TransportConfig::Nack(_) => self.start_nack(out, now, (node, id), (hash, idle)),
        }
    }

    /// A flow from a host to itself.
    #[cold]
    fn finish_local<O: Outlet>(&mut self, out: &mut O, now: u64, id: FlowId) {
        let frames = self.world.shape(self.world.flow(id)).count;
        let nothing_sent = SentRecord {
            flow: id,
            start: now,
            finish: Some(now),
            given_up: None,
            ideal: 0,
            propagation: 0,
            packets: 0,
            retransmitted: 0,
            timeouts: 0,
            why: None,
        };
        self.harvest.leave(nothing_sent);
        self.harvest.received.push(ReceivedRecord { flow: id, finish: Some(now), frames, has_last: true, marked: 0, reordered: 0, paused: 0 });
        set_slot(&mut self.sending, id, OVER);
        self.live -= 1;
        self.flows_done += 1;
        self.flow_received(out, now, id, now);
    }

    /// What a sender that asks for `config.ecn` gets from `dst`.
    pub(super) fn agreed_ecn(&self, dst: u32, config: &TcpConfig) -> EcnMode {
        let node = &self.world.plan.topology.nodes[dst as usize];
        if self.world.plan.hosts[node.config as usize].ecn { config.ecn } else { EcnMode::Off }
    }

    /// A frame of the connection's own from a sender or a receiver.
    pub(super) fn control(&self, flow: FlowId, what: Control, to: (u32, u32, u8), ecn: EcnMode) -> Frame {
        let wire = &self.world.plan.wire;
        let (dst, hash, priority) = to;
        let size = if matches!(what, Control::Syn | Control::SynAck) { wire.syn } else { wire.ack };
        let mut flags = Frame::CONTROL | priority as u16;
        if matches!(what, Control::Syn | Control::SynAck) && ecn != EcnMode::Off {
            flags |= Frame::ECE;
        }
        // RFC 3168 §6.1.1: not ECN-capable; DCTCP's are (Linux).
        if ecn == EcnMode::Dctcp {
            flags |= Frame::ECT;
        }
        Frame { flow, seq: what as u32, dst, hash, size: size.max(wire.min_frame), flags, ..Frame::default() }
    }

    fn send_from_sender<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, what: Control) {
        let s = &self.senders[slot];
        let (node, mut frame) = (s.node, self.control(s.flow, what, (s.dst, s.hash, s.priority), s.ecn));
        frame.aux = s.acknowledged();
        self.send(out, now, node, frame);
    }

    fn send_syn<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &TcpConfig) {
        self.senders[slot].syn_sent(now, config);
        self.send_from_sender(out, now, slot, Control::Syn);
        self.arm_sender(out, slot);
    }

    #[cold]
    #[inline(never)]
    fn on_control<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        if self.is_multipath(&frame) {
            return self.on_mptcp_control(out, now, frame);
        }
        match Control::of(&frame) {
            Control::Syn => {
                let asked = frame.has(Frame::ECE);
                let mut slot = self.receiving_slot(frame.flow);
                if slot == OVER {
                    return;
                }
                if slot == NOT_YET {
                    slot = self.open_receiver(now, &frame);
                }
                let r = &mut self.receivers[slot];
                r.answered = now;
                if !asked {
                    r.ecn = EcnMode::Off;
                }
                self.send_from_receiver(out, now, slot, Control::SynAck);
            }
            Control::SynAck => {
                let slot = self.sending[frame.flow as usize];
                if slot == OVER {
                    return;
                }
                if slot & PFABRIC != 0 {
                    return self.on_pfabric_connected(out, now, slot & !PFABRIC);
                }
                let config = self.tcp(self.senders[slot].transport);
                self.senders[slot].echo = self.senders[slot].echo.max(frame.aux);
                let Some(cause) = self.senders[slot].on_connected(now, frame.has(Frame::ECE), config) else { return };
                self.send_from_sender(out, now, slot, Control::Ack);
                self.pump(out, now, slot, cause, config);
            }
            Control::Ack => {
                let slot = self.receiving_slot(frame.flow);
                if slot != OVER && slot != NOT_YET {
                    self.receivers[slot].on_established(now);
                }
            }
            Control::Report => self.on_report(out, now, frame),
            Control::AskWindow => {
                let mut slot = self.receiving_slot(frame.flow);
                if slot == OVER {
                    return self.acknowledge_again(out, now, &frame);
                }
                // Of a sender all of whose data were lost.
                if slot == NOT_YET {
                    slot = self.open_receiver(now, &frame);
                }
                {
                    let config = self.tcp(self.receivers[slot].transport);
                    let ack = self.receivers[slot].say_again();
                    self.answer(out, now, slot, ack, config);
                }
            }
        }
    }

    fn send_from_receiver<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, what: Control) {
        let r = &self.receivers[slot];
        let (node, mut frame) = (r.node, self.control(r.flow, what, (r.src, r.hash, r.priority), r.ecn));
        if self.receivers[slot].tunes() {
            frame.aux = stamp(now);
        }
        self.send(out, now, node, frame);
    }

    /// Sends what the window allows, and sees to the timer.
    fn pump<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, cause: Cause, config: &TcpConfig) {
        let wire = &self.world.plan.wire;
        while let Some(transmit) = self.senders[slot].transmit(now, cause, config) {
            let s = &self.senders[slot];
            let within = transmit.seq + 1 < s.current.to;
            let payload = if within { config.mss } else { self.world.payload(s.current.flow, transmit.seq, config.mss) };
            let flags = data_flags(s, &transmit);
            self.counters.retransmits += transmit.retransmission as u64;
            let mut frame = Frame {
                flow: s.flow,
                seq: transmit.seq,
                dst: s.dst,
                hash: s.hash,
                size: (payload + wire.data_header).max(wire.min_frame),
                flags,
                ..Frame::default()
            };
            let (node, echo) = (s.node, s.echo);
            if echo > 0 {
                self.echo(&mut frame, echo);
            }
            if !self.pacers.is_empty() && self.is_paced(out, now, node, &frame) {
                continue;
            }
            let until = self.send(out, now, node, frame);
            if config.small_queues && until > now {
                self.senders[slot].small_queue.hand_over(now, until, frame.size);
            }
        }
        self.arm_sender(out, slot);
    }

    /// A segment echoes the receiver's timestamp.
    #[cold]
    fn echo(&mut self, frame: &mut Frame, stamp: u32) {
        if self.record_paths {
            frame.aux = self.extras.insert(Extra { edge: u32::MAX, stamp, ..Extra::default() });
            frame.flags |= Frame::EXTRA;
        } else {
            frame.aux = stamp;
        }
    }

    /// Sees to a sender's timer.
    #[inline(always)]
    fn arm_sender<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let s = &mut self.senders[slot];
        arm(out, s.wake(), &mut s.armed, own_event(ports, s.node, s.flow, Event::Sender));
    }

    /// The same for a receiver.
    #[inline(always)]
    fn arm_receiver<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let r = &mut self.receivers[slot];
        arm(out, r.wake(), &mut r.armed, own_event(ports, r.node, r.flow, Event::Receiver));
    }

    pub(super) fn on_sender_wake<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId) {
        let slot = self.sending[flow as usize];
        if slot == OVER {
            return;
        }
        if slot & PFABRIC != 0 {
            return self.on_pfabric_wake(out, now, slot & !PFABRIC);
        }
        if slot & MPTCP != 0 {
            return self.on_mptcp_wake(out, now, slot & !MPTCP);
        }
        match self.world.plan.transports[self.world.flow(flow).transport as usize] {
            TransportConfig::Rdma(_) => return self.on_pair_wake(out, now, slot),
            TransportConfig::Pdq(_) | TransportConfig::D3(_) => return self.on_rated_wake(out, now, slot),
            TransportConfig::Nack(_) => return self.on_nack_wake(out, now, slot),
            _ => {}
        }
        if self.senders[slot].armed != now {
            return;
        }
        let s = &mut self.senders[slot];
        s.armed = 0;
        let wake = s.wake();
        if wake == 0 || wake > now {
            return self.arm_sender(out, slot);
        }
        let config = self.tcp(self.senders[slot].transport);
        match self.senders[slot].on_wake(now, config) {
            Expired::Pump(cause) => self.pump(out, now, slot, cause, config),
            Expired::TimedOut(cause) => {
                self.counters.timeouts += 1;
                self.pump(out, now, slot, cause, config);
            }
            Expired::Syn => {
                self.counters.timeouts += 1;
                self.counters.retransmits += 1;
                self.send_syn(out, now, slot, config);
            }
            Expired::AskWindow => {
                self.send_from_sender(out, now, slot, Control::AskWindow);
                self.arm_sender(out, slot);
            }
        }
    }

    #[inline(never)]
    fn on_ack<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        let (extra, multipath);
        let (trigger, edge, blocks, stamp, paused, opened) = if frame.has(Frame::EXTRA) {
            extra = self.extras.take(frame.aux);
            multipath = extra.multipath;
            (extra.trigger, (extra.edge != u32::MAX).then_some(extra.edge), &extra.blocks[..extra.count as usize], extra.stamp, extra.paused, extra.opened)
        } else {
            multipath = Multipath::default();
            (frame.aux, None, &[][..], 0, 0, 0)
        };
        let slot = self.sending[frame.flow as usize];
        if slot == OVER {
            return;
        }
        let ack = AckIn {
            cumulative: frame.seq,
            trigger,
            ece: frame.has(Frame::ECE),
            delayed: frame.has(Frame::DELAYED),
            repeated: frame.has(Frame::RETRANSMISSION),
            duplicate: frame.has(Frame::DUPLICATE),
            edge,
            blocks,
            stamp,
            paused,
            opened,
        };
        if slot & PFABRIC != 0 {
            return self.on_pfabric_ack(out, now, slot & !PFABRIC, &ack);
        }
        if slot & MPTCP != 0 {
            return self.on_mptcp_ack(out, now, slot & !MPTCP, multipath, &ack);
        }
        let config = self.tcp(self.senders[slot].transport);
        if !self.pacers.is_empty() && ack.ece {
            let (node, flow) = (self.senders[slot].node, frame.flow);
            self.echo_to_pacer(now, node, flow);
        }
        let s = &mut self.senders[slot];
        let cause = s.on_ack(now, &ack, config);
        if s.una_passed_current() {
            self.complete_sent(out, now, slot, config);
            if self.sending[frame.flow as usize] == OVER {
                return;
            }
        }
        self.pump(out, now, slot, cause, config);
    }

    /// Flows have been acknowledged whole; with the last of them the connection ends.
    fn complete_sent<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &TcpConfig) {
        let head = self.senders[slot].flow;
        let mut ended = false;
        while let Some(completed) = self.senders[slot].take_completed() {
            let s = &self.senders[slot];
            let flow = completed.message.flow;
            self.harvest.leave(sent_record(s, &completed.message, Some(now), completed.why));
            ended = self.world.message(flow).next.is_none();
            if flow != head {
                self.sending[flow as usize] = OVER;
            }
            self.live -= 1;
            self.flows_done += 1;
        }
        if ended {
            let s = &self.senders[slot];
            let key = (s.node, s.dst);
            if config.metrics == Metrics::Full
                && let Some(ssthresh) = s.leaves(self.thresholds.get(&key).copied())
            {
                self.thresholds.insert(key, ssthresh);
            }
            if config.handshake {
                // The last acknowledgement carried the other side's FIN.
                self.send_from_sender(out, now, slot, Control::Ack);
            }
            self.harvest.round_trips.extend(round_trips(&self.senders[slot], 0));
            self.senders.remove(slot);
            self.sending[head as usize] = OVER;
        }
    }

    #[inline(never)]
    fn on_data<O: Outlet>(&mut self, out: &mut O, now: u64, mut frame: Frame) {
        if self.is_multipath(&frame) {
            return self.on_mptcp_data(out, now, frame);
        }
        let Beside { paused, stamp, tag } = self.take_extra(&mut frame);
        let mut slot = self.receiving_slot(frame.flow);
        let mut echo = frame.aux;
        if self.record_paths {
            self.count_path(&frame, 0);
            echo = stamp;
        }
        if slot == NOT_YET {
            slot = self.open_receiver(now, &frame);
        } else if slot == OVER {
            return self.acknowledge_again(out, now, &frame);
        }
        let config = self.tcp(self.receivers[slot].transport);
        let r = &mut self.receivers[slot];
        r.paused = paused;
        if frame.seq < r.highest {
            self.counters.balance.late.count(frame.has(Frame::RETRANSMISSION), tag);
        }
        let arrival = Arrival {
            now,
            seq: frame.seq,
            marked: frame.has(Frame::CE),
            cwr: frame.has(Frame::CWR),
            retransmission: frame.has(Frame::RETRANSMISSION),
            echo,
            full: frame.size >= config.mss + self.world.plan.wire.data_header,
        };
        let reaction = r.on_data(arrival, config);
        let ends = r.has_current();
        self.arm_receiver(out, slot);
        for ack in [reaction.first, reaction.second].into_iter().flatten() {
            self.answer(out, now, slot, ack, config);
        }
        if ends {
            self.complete_received(out, now, slot);
        }
    }

    /// Everything is here already: say so again.
    #[cold]
    fn acknowledge_again<O: Outlet>(&mut self, out: &mut O, now: u64, frame: &Frame) {
        let again = self.make_receiver(now, frame);
        let mut ack = again.repeat(frame.seq, frame.has(Frame::CE) && again.ecn != EcnMode::Off);
        if frame.kind() == Frame::CONTROL {
            // A request for the window, which is no segment.
            ack.trigger = u32::MAX;
        }
        let answer = self.plain_ack(&again, ack);
        self.send(out, now, again.node, answer);
    }

    /// Flows are here whole; with the last of them the connection's receiving half ends.
    fn complete_received<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        while self.receivers[slot].has_current() {
            let r = &mut self.receivers[slot];
            let (flow, head) = (r.current, r.flow);
            let read = r.read_by(now);
            let message = self.world.message(flow);
            self.harvest.received.push(received_record(r, message, flow, Some(now)));
            (r.marked, r.reordered) = (0, 0);
            let Some(next) = message.next else {
                self.receivers.remove(slot);
                self.receiving[head as usize] = OVER;
                return self.flow_received(out, now, flow, read);
            };
            r.current = next;
            r.to = self.world.message(next).to;
            self.flow_received(out, now, flow, read);
        }
    }

    #[cold]
    #[inline(never)]
    fn open_receiver(&mut self, now: u64, frame: &Frame) -> u32 {
        let id = frame.flow;
        let mut receiver = self.make_receiver(now, frame);
        let flow = self.world.flow(id);
        let config = self.tcp(flow.transport);
        if !config.handshake && config.sack_compression.is_some() {
            receiver.round_trip = self.least_round_trip(now, flow);
        }
        let slot = self.receivers.insert(receiver);
        set_slot(&mut self.receiving, id, slot);
        slot
    }

    /// For the flow of this frame.
    fn make_receiver(&self, now: u64, frame: &Frame) -> Receiver {
        let id = frame.flow;
        let flow = self.world.flow(id);
        // What answers a connection that is one with others is one with theirs.
        let shared = frame.hash == self.world.pair_hash(flow.src, flow.dst) && self.is_pooled(flow.transport);
        let config = self.tcp(flow.transport);
        let setup = ReceiverSetup {
            flow: id,
            transport: flow.transport,
            node: self.world.place[flow.dst as usize].local,
            src: flow.src,
            hash: if shared { self.world.pair_hash(flow.dst, flow.src) } else { self.world.flow_hash(flow, true) },
            priority: config.ack_priority.unwrap_or(flow.priority),
            segments: self.world.connection_end(id),
            to: self.world.message(id).to,
            ecn: self.agreed_ecn(flow.dst, config),
            now,
        };
        Receiver::new(setup, config)
    }

    /// What the handshake of a connection that is open already would have taken.
    fn least_round_trip(&self, now: u64, flow: &Flow) -> u64 {
        least_round_trip(self.world, now, flow, self.world.shape(flow).ack.expect("TCP acknowledges"))
    }

    pub(super) fn on_receiver_wake<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId) {
        let slot = self.receiving[flow as usize];
        if slot != OVER && slot & MPTCP != 0 {
            return self.on_mptcp_receiver_wake(out, now, slot & !MPTCP);
        }
        if slot != OVER
            && !self.nack_receivers.slots().is_empty()
            && matches!(self.world.plan.transports[self.world.flow(flow).transport as usize], TransportConfig::Nack(_))
        {
            return self.on_report_due(out, now, slot);
        }
        if slot == OVER || self.receivers[slot].armed != now {
            return;
        }
        let config = self.tcp(self.receivers[slot].transport);
        let r = &mut self.receivers[slot];
        r.armed = 0;
        let wake = r.wake();
        if wake != 0
            && wake <= now
            && let Some(ack) = r.on_wake(now, config)
        {
            self.answer(out, now, slot, ack, config);
        }
        self.arm_receiver(out, slot);
    }

    /// An acknowledgement without options.
    #[inline(always)]
    pub(super) fn plain_ack(&self, r: &Receiver, ack: AckNow) -> Frame {
        let wire = &self.world.plan.wire;
        let mut flags = Frame::ACK | r.priority as u16;
        for (is, flag) in [
            (ack.ece, Frame::ECE),
            (ack.delayed, Frame::DELAYED),
            (ack.repeated, Frame::RETRANSMISSION),
            (ack.duplicate, Frame::DUPLICATE),
            (r.ecn == EcnMode::Dctcp, Frame::ECT),
        ] {
            flags |= if is { flag } else { 0 };
        }
        Frame { flow: r.flow, seq: ack.cumulative, aux: ack.trigger, dst: r.src, hash: r.hash, size: wire.ack.max(wire.min_frame), flags, ..Frame::default() }
    }

    /// An acknowledgement with the options that are due.
    #[inline(always)]
    fn answer<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, ack: AckNow, config: &TcpConfig) {
        let r = &mut self.receivers[slot];
        let edge = r.announce();
        let selective = config.recovery != crate::spec::Recovery::NewReno && (r.holds() || ack.duplicate);
        let (blocks, count) = if selective { r.blocks() } else { Default::default() };
        let r = &self.receivers[slot];
        let node = r.node;
        let mut frame = self.plain_ack(r, ack);
        let paused = r.paused;
        if selective || edge.is_some() || paused > 0 {
            let stamp = if self.receivers[slot].tunes() { stamp(now) } else { 0 };
            let edge = edge.unwrap_or(u32::MAX);
            frame.aux = self.extras.insert(Extra { trigger: ack.trigger, edge, blocks, count, stamp, paused, opened: ack.opened, ..Extra::default() });
            frame.flags |= Frame::EXTRA;
        }
        if selective {
            let wire = &self.world.plan.wire;
            // A block for what had arrived before comes first (RFC 2883).
            let count = (count as u16 + ack.duplicate as u16).min(Extra::BLOCKS as u16);
            frame.size = (wire.ack + wire.sack_base + wire.sack_block * count).max(wire.min_frame);
        }
        self.send(out, now, node, frame);
    }

    /// The last byte of a flow is here, and will have been read by `read`: it may be what others wait for.
    pub(super) fn flow_received<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId, read: u64) {
        let plan = self.world.plan;
        let Some(planned) = plan.flows.get(flow as usize) else { return self.tell_received(out, now, flow, read) };
        let Some(group) = planned.group else { return };
        let g = self.groups.get_mut(&group).expect("groups live where their flows end");
        g.left -= 1;
        if g.left > 0 {
            return;
        }
        for flow in std::mem::take(&mut g.starts) {
            let spec = &plan.flows[flow as usize];
            let crate::spec::Start::After { delay, .. } = spec.start else { unreachable!("listed as a follower") };
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

    /// What came with a frame; it then is as if nothing had been added to it.
    #[inline(always)]
    pub(super) fn take_extra(&mut self, frame: &mut Frame) -> Beside {
        if !frame.has(Frame::EXTRA) {
            return Beside::default();
        }
        let extra = self.extras.remove(frame.aux);
        frame.aux = extra.trigger;
        frame.flags &= !Frame::EXTRA;
        Beside { paused: extra.paused, stamp: extra.stamp, tag: extra.tag }
    }

    pub(super) fn count_path(&mut self, frame: &Frame, subflow: u8) {
        let entry = self.path_counts.entry((frame.flow, subflow, frame.aux)).or_default();
        self.kept += if entry.0 == 0 { Kept::PATH } else { 0 };
        entry.0 += 1;
        entry.1 += frame.size as u64;
    }
}

/// Flags of a segment.
#[inline(always)]
pub(super) fn data_flags(s: &Sender, transmit: &Transmit) -> u16 {
    let mut flags = Frame::DATA | s.priority as u16;
    // RFC 3168 §6.1.5: retransmissions are not ECN-capable; DCTCP marks everything capable.
    if s.ecn == EcnMode::Dctcp || (s.ecn == EcnMode::Classic && !transmit.retransmission) {
        flags |= Frame::ECT;
    }
    if transmit.retransmission {
        flags |= Frame::RETRANSMISSION;
    }
    if transmit.cwr {
        flags |= Frame::CWR;
    }
    flags
}

pub(super) fn sent_record(s: &Sender, message: &Message, finish: Option<u64>, why: Option<Attribution>) -> SentRecord {
    SentRecord {
        flow: message.flow,
        start: message.start,
        finish,
        given_up: None,
        ideal: message.idle.total,
        propagation: message.idle.propagation,
        packets: s.sent - message.sent,
        retransmitted: s.retransmitted - message.retransmitted,
        timeouts: s.timeouts - message.timeouts,
        why,
    }
}

pub(super) fn received_record(r: &Receiver, message: crate::world::Message, flow: FlowId, finish: Option<u64>) -> ReceivedRecord {
    let (frames, has_last) = r.received(message.from, message.to);
    ReceivedRecord { flow, finish, frames: frames as u64, has_last, marked: r.marked, reordered: r.reordered, paused: r.paused }
}
