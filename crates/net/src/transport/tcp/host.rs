//! Connects TCP to hosts. Frames of pFabric's transport and of MPTCP have TCP's kinds, and arrive
//! here first.

use super::{AckIn, Cause, Expired, Message, OTHERS, Receiver, Sender, SenderSetup, Tcp, Transmit};
use crate::frame::{Control, Extra, Frame, Multipath};
use crate::probe::explain::Attribution;
use crate::record::{CaptureKind, RoundTripRecord, SenderRecord};
use crate::shard::capture::Content;
use crate::shard::finish::round_trips;
use crate::shard::{NOT_YET, OVER, Outlet, SentRecord, Shard, Slab};
use crate::spec::{EcnMode, Flow, FlowId, Metrics, TcpConfig};
use crate::transport::Halves;
use crate::transport::door::{Opening, Transport};
use crate::transport::sending::{SendingHalf, Timed, Timer};
use afflux_engine::random::Stream;

/// Purpose of the random streams of congestion controls (see `afflux_engine::random`).
const CONTROL: u64 = 0x636f_6e74;

impl Transport for Tcp {
    type Sender = Sender;
    type Receiver = Receiver;

    fn senders(halves: &mut Halves) -> &mut Slab<Sender> {
        &mut halves.tcp.senders
    }
    fn receivers(halves: &mut Halves) -> &mut Slab<Receiver> {
        &mut halves.tcp.receivers
    }

    fn start<O: Outlet>(
        shard: &mut Shard,
        out: &mut O,
        now: u64,
        Opening { id, node, hash, idle, deadline }: Opening,
    ) {
        let plan = shard.world.plan;
        let flow = shard.world.flow(id);
        let config = shard.tcp(flow.transport);
        let message = shard.world.message(id);
        if message.head != id {
            // Start another flow on an open connection.
            let slot = shard.sending[message.head as usize];
            if slot == OVER {
                // The connection has been given up.
                return shard.refuse(now, id, idle);
            }
            shard.opened(id, slot);
            shard.transports.tcp.senders[slot].append(
                now,
                id,
                message.to,
                (idle, deadline),
                config,
            );
            return shard.pump(out, now, slot, Cause::Start, config);
        }
        let setup = SenderSetup {
            flow: id,
            transport: flow.transport,
            node,
            dst: flow.dst,
            hash,
            priority: flow.priority,
            segments: shard.world.shape(flow).count as u32,
            ends: shard.world.connection_end(id),
            idle,
            deadline,
            ecn: shard.first_ecn(flow, config),
            explain: plan.record.explain,
            random: Stream::new(plan.run.seed, CONTROL, id as u64),
        };
        let mut sender = Sender::new(setup, now, config);
        sender.round_trips = plan.record.round_trips.then(Box::default);
        if config.metrics == Metrics::Full
            && let Some(ssthresh) = shard.transports.tcp.thresholds.get(&(node, flow.dst))
        {
            sender.begin_with(*ssthresh);
        }
        let slot = shard.open_sender::<Tcp>(id, sender);
        if config.handshake {
            shard.send_syn(out, now, slot, config);
        } else {
            let round_trip = if shard.transports.tcp.senders[slot].measures() {
                shard.least_round_trip(now, flow)
            } else {
                0
            };
            shard.transports.tcp.senders[slot].open(now, round_trip, config);
            shard.pump(out, now, slot, Cause::Start, config);
        }
    }

    #[inline(always)]
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame) {
        match frame.kind() {
            Frame::ACK => shard.on_ack(out, now, frame),
            Frame::DATA => shard.on_data(out, now, frame),
            _ => shard.on_control(out, now, frame),
        }
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        let s = &shard.transports.tcp.senders[slot];
        let wake = s.wake();
        if wake == 0 || wake > now {
            return shard.arm_tcp(out, slot);
        }
        let config = shard.tcp(shard.transports.tcp.senders[slot].transport);
        match shard.transports.tcp.senders[slot].on_wake(now, config) {
            Expired::Pump(cause) => shard.pump(out, now, slot, cause, config),
            Expired::TimedOut(cause) => {
                shard.counters.timeouts += 1;
                shard.pump(out, now, slot, cause, config);
            }
            Expired::Syn => {
                shard.counters.timeouts += 1;
                shard.counters.retransmits += 1;
                shard.send_syn(out, now, slot, config);
            }
            Expired::InVain => shard.abandon(now, slot),
            Expired::AskWindow => {
                shard.send_from_sender(out, now, slot, Control::AskWindow);
                shard.arm_tcp(out, slot);
            }
        }
    }

    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        if shard.transports.tcp.receivers[slot].armed != now {
            return;
        }
        let config = shard.tcp(shard.transports.tcp.receivers[slot].transport);
        let r = &mut shard.transports.tcp.receivers[slot];
        r.armed = 0;
        let wake = r.wake();
        if wake != 0
            && wake <= now
            && let Some(ack) = r.on_wake(now, config)
        {
            shard.answer(out, now, slot, ack, config);
        }
        shard.arm_receiver(out, slot);
    }

    fn give_up<O: Outlet>(shard: &mut Shard, _: &mut O, now: u64, slot: u32) {
        shard.abandon(now, slot);
    }

    fn sampled(shard: &mut Shard, _: u64, _: FlowId, slot: u32, found: &mut Vec<SenderRecord>) {
        let s = &shard.transports.tcp.senders[slot];
        if !s.finished() {
            found.push(s.known(shard.tcp(s.transport)));
        }
    }

    /// Returns positions within the connection, which may carry several flows.
    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        let &TcpConfig { mss, handshake, .. } = shard.tcp(flow.transport);
        let at = |segment: u32| shard.world.position(frame.flow, segment, mss);
        let end = shard.world.connection_end(frame.flow);
        match frame.kind() {
            Frame::DATA => {
                let last = handshake && frame.seq + 1 == end;
                Content {
                    last,
                    ..Content::bare(
                        CaptureKind::TcpData,
                        at(frame.seq),
                        shard.world.payload(frame.flow, frame.seq, mss),
                    )
                }
            }
            // A sender's control frame has the position behind the data that it knows to be
            // acknowledged.
            Frame::CONTROL => {
                let behind = if frame.has(Frame::EXTRA) { 0 } else { frame.aux };
                let control = Control::of(frame);
                let sequence = if control == Control::SynAck { 0 } else { at(behind) };
                Content {
                    last: handshake && control == Control::Ack && behind == end,
                    ..Content::bare(CaptureKind::TcpControl(control), sequence, 0)
                }
            }
            _ => Content {
                last: handshake && frame.seq == end,
                again: frame.has(Frame::DUPLICATE),
                options: shard.acknowledged(frame, at, true, Extra::BLOCKS),
                ..Content::bare(CaptureKind::TcpAck, at(frame.seq), 0)
            },
        }
    }
}

impl<'a> Shard<'a> {
    /// Returns the TCP settings of a transport that uses TCP, if only for its receiver.
    pub fn tcp(&self, transport: u16) -> &'a TcpConfig {
        self.world.plan.transports[transport as usize].tcp()
    }

    /// Returns the ECN mode that a sender requests: `Off` on a host without ECN (Linux's
    /// `tcp_ecn = 0`).
    pub fn requested_ecn(&self, flow: &Flow, config: &TcpConfig) -> EcnMode {
        if self.uses_ecn(flow.src) { config.ecn } else { EcnMode::Off }
    }

    /// Returns the ECN mode that the sender requests and the receiving host supports.
    pub fn agreed_ecn(&self, flow: &Flow, config: &TcpConfig) -> EcnMode {
        if self.uses_ecn(flow.dst) { self.requested_ecn(flow, config) } else { EcnMode::Off }
    }

    /// Returns the ECN mode that a receiver grants when its first frame arrives: `Off` for a SYN
    /// that does not request ECN. A retransmitted SYN makes no request any more, which changes
    /// nothing: the first SYN made it, and only its answer was lost (Linux tcp_conn_request,
    /// tcp_check_req).
    pub fn granted_ecn(&self, flow: &Flow, config: &TcpConfig, first: &Frame) -> EcnMode {
        let requests_ecn = first.kind() != Frame::CONTROL
            || Control::of(first) != Control::Syn
            || first.has(Frame::ECE);
        if requests_ecn { self.agreed_ecn(flow, config) } else { EcnMode::Off }
    }

    fn uses_ecn(&self, host: u32) -> bool {
        let node = &self.world.plan.topology.nodes[host as usize];
        self.world.plan.hosts[node.config as usize].ecn
    }

    /// Returns the ECN mode of a new sender: the mode that its SYN requests, or without a handshake
    /// the mode that the handshake would have given.
    pub fn first_ecn(&self, flow: &Flow, config: &TcpConfig) -> EcnMode {
        if config.handshake {
            self.requested_ecn(flow, config)
        } else {
            self.agreed_ecn(flow, config)
        }
    }

    /// Builds a control frame of a connection, for its sender or its receiver.
    pub fn control(&self, flow: FlowId, what: Control, to: (u32, u32, u8), ecn: EcnMode) -> Frame {
        let wire = &self.world.plan.wire;
        let (dst, hash, priority) = to;
        let size = if matches!(what, Control::Syn | Control::SynAck) { wire.syn } else { wire.ack };
        let mut flags = Frame::CONTROL | priority as u16;
        if matches!(what, Control::Syn | Control::SynAck) && ecn != EcnMode::Off {
            flags |= Frame::ECE;
        }
        // RFC 3168 §6.1.1: control frames are not ECN-capable, except those of DCTCP (Linux).
        if ecn == EcnMode::Dctcp {
            flags |= Frame::ECT;
        }
        Frame {
            flow,
            seq: what as u32,
            dst,
            hash,
            size: size.max(wire.min_frame),
            flags,
            ..Frame::default()
        }
    }

    /// Builds a control frame of a sender.
    pub fn sender_control(&self, s: &Sender, what: Control) -> Frame {
        let mut frame = self.control(s.flow, what, (s.dst, s.hash, s.priority), s.ecn);
        if what == Control::Syn && !s.requests_ecn() {
            frame.flags &= !Frame::ECE;
        }
        frame
    }

    fn send_from_sender<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, what: Control) {
        let s = &self.transports.tcp.senders[slot];
        let (node, mut frame) = (s.node, self.sender_control(s, what));
        frame.aux = s.acknowledged();
        let until = self.send(out, now, node, frame);
        let wait = if until > now { self.at_host } else { 0 };
        if let Some(why) =
            self.transports.tcp.senders[slot].why.as_mut().filter(|_| what == Control::Syn)
        {
            // The next frame that arrives answers this SYN.
            why.waited_at_host(wait);
        }
    }

    fn send_syn<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &TcpConfig) {
        self.transports.tcp.senders[slot].syn_sent(now, config);
        self.send_from_sender(out, now, slot, Control::Syn);
        self.arm_tcp(out, slot);
    }

    #[cold]
    #[inline(never)]
    fn on_control<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        if self.is_multipath(&frame) {
            return self.other_control(out, now, frame);
        }
        match Control::of(&frame) {
            Control::Syn => {
                let Some(slot) =
                    self.receiver::<Tcp>(frame.flow, |shard| shard.first_frame(now, &frame))
                else {
                    return;
                };
                self.transports.tcp.receivers[slot].answered = now;
                self.send_from_receiver(out, now, slot, Control::SynAck);
            }
            Control::SynAck => {
                let slot = self.sending[frame.flow as usize];
                if slot == OVER {
                    return;
                }
                if slot & OTHERS != 0 {
                    return self.other_connected(out, now, slot);
                }
                let config = self.tcp(self.transports.tcp.senders[slot].transport);
                self.transports.tcp.senders[slot].echo =
                    self.transports.tcp.senders[slot].echo.max(frame.aux);
                let Some(cause) = self.transports.tcp.senders[slot].on_connected(
                    now,
                    frame.has(Frame::ECE),
                    config,
                ) else {
                    return;
                };
                self.send_from_sender(out, now, slot, Control::Ack);
                self.pump(out, now, slot, cause, config);
            }
            Control::Ack => {
                let slot = self.receiving_slot(frame.flow);
                if slot != OVER && slot != NOT_YET {
                    self.transports.tcp.receivers[slot].on_established(now);
                    self.arm_receiver(out, slot);
                }
            }
            Control::Report => unreachable!("it is no frame of TCP"),
            Control::AskWindow => {
                // The receiver does not exist yet if all data of the sender were lost.
                let Some(slot) =
                    self.receiver::<Tcp>(frame.flow, |shard| shard.first_frame(now, &frame))
                else {
                    return self.acknowledge_again(out, now, &frame);
                };
                let config = self.tcp(self.transports.tcp.receivers[slot].transport);
                let ack = self.transports.tcp.receivers[slot].say_again();
                self.answer(out, now, slot, ack, config);
            }
        }
    }

    /// Sends the segments that the window allows, and sets the timer.
    fn pump<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        cause: Cause,
        config: &TcpConfig,
    ) {
        let wire = &self.world.plan.wire;
        while let Some(transmit) = self.transports.tcp.senders[slot].transmit(now, cause, config) {
            let s = &self.transports.tcp.senders[slot];
            let within = transmit.seq + 1 < s.current.to;
            let payload = if within {
                config.mss
            } else {
                self.world.payload(s.current.flow, transmit.seq, config.mss)
            };
            let size = (payload + wire.data_header).max(wire.min_frame);
            let mut frame = segment(s, &transmit, size);
            self.counters.retransmits += transmit.retransmission as u64;
            let (node, echo) = (s.node, s.echo);
            if echo > 0 {
                self.echo(&mut frame, echo);
            }
            if !self.pacers.is_empty() && self.is_paced(out, now, node, &frame) {
                continue;
            }
            let until = self.send(out, now, node, frame);
            if config.small_queues && until > now {
                let s = &mut self.transports.tcp.senders[slot];
                s.small_queue.hand_over(now, until, frame.size);
                if s.explains() {
                    s.at_host.note(frame.seq, self.at_host);
                }
            }
        }
        self.arm_tcp(out, slot);
    }

    /// Puts the receiver's timestamp on a data segment, as its echo.
    #[cold]
    fn echo(&mut self, frame: &mut Frame, stamp: u32) {
        if self.record_paths {
            frame.aux = self.extras.insert(Extra { edge: u32::MAX, stamp, ..Extra::default() });
            frame.flags |= Frame::EXTRA;
        } else {
            frame.aux = stamp;
        }
    }

    /// Schedules the sender's timer event.
    #[inline(always)]
    fn arm_tcp<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let wake = self.transports.tcp.senders[slot].wake();
        self.arm_sender::<Tcp>(out, slot, wake);
    }

    #[inline(never)]
    fn on_ack<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        let (extra, multipath);
        let (trigger, edge, blocks, stamp, paused, opened) = if frame.has(Frame::EXTRA) {
            extra = self.extras.take(frame.aux);
            multipath = extra.multipath;
            (
                extra.trigger,
                (extra.edge != u32::MAX).then_some(extra.edge),
                &extra.blocks[..extra.count as usize],
                extra.stamp,
                extra.paused,
                extra.opened,
            )
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
        if slot & OTHERS != 0 {
            return self.other_acknowledged(out, now, slot, multipath, &ack);
        }
        let config = self.tcp(self.transports.tcp.senders[slot].transport);
        if !self.pacers.is_empty() && ack.ece {
            let (node, flow) = (self.transports.tcp.senders[slot].node, frame.flow);
            self.echo_to_pacer(now, node, flow);
        }
        let s = &mut self.transports.tcp.senders[slot];
        let cause = s.on_ack(now, &ack, config);
        if s.una_passed_current() {
            self.complete_sent(out, now, slot, config);
            if self.sending[frame.flow as usize] == OVER {
                return;
            }
        }
        self.pump(out, now, slot, cause, config);
    }

    /// Completes flows that are fully acknowledged. The connection ends with its last flow.
    fn complete_sent<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &TcpConfig) {
        let head = self.transports.tcp.senders[slot].flow;
        let mut ended = false;
        while let Some(completed) = self.transports.tcp.senders[slot].take_completed() {
            let s = &self.transports.tcp.senders[slot];
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
            let s = &self.transports.tcp.senders[slot];
            let key = (s.node, s.dst);
            if config.metrics == Metrics::Full
                && let Some(ssthresh) = s.leaves(self.transports.tcp.thresholds.get(&key).copied())
            {
                self.transports.tcp.thresholds.insert(key, ssthresh);
            }
            if config.handshake {
                // The last acknowledgement carried the peer's FIN.
                self.send_from_sender(out, now, slot, Control::Ack);
            }
            self.harvest.round_trips.extend(round_trips(&self.transports.tcp.senders[slot], 0));
            self.transports.tcp.senders.remove(slot);
            self.sending[head as usize] = OVER;
        }
    }

    /// Gives up the connection, with all started flows that are not fully acknowledged.
    #[cold]
    fn abandon(&mut self, now: u64, slot: u32) {
        let s = &self.transports.tcp.senders[slot];
        let head = s.flow;
        for message in s.unfinished() {
            self.harvest.leave(SentRecord {
                given_up: Some(now),
                ..sent_record(s, message, None, s.why_of(message))
            });
            self.sending[message.flow as usize] = OVER;
            self.live -= 1;
            self.flows_done += 1;
        }
        self.harvest.round_trips.extend(round_trips(s, 0));
        self.transports.tcp.senders.remove(slot);
        self.sending[head as usize] = OVER;
        self.last = self.last.max(now);
    }
}

/// Builds the frame of a data segment.
#[inline(always)]
pub fn segment(s: &Sender, transmit: &Transmit, size: u16) -> Frame {
    let mut flags = Frame::DATA | s.priority as u16;
    // RFC 3168 §6.1.5: retransmissions are not ECN-capable. DCTCP makes every frame ECN-capable.
    if s.ecn == EcnMode::Dctcp || (s.ecn == EcnMode::Classic && !transmit.retransmission) {
        flags |= Frame::ECT;
    }
    if transmit.retransmission {
        flags |= Frame::RETRANSMISSION;
    }
    if transmit.cwr {
        flags |= Frame::CWR;
    }
    let &Sender { flow, dst, hash, .. } = s;
    Frame { flow, seq: transmit.seq, dst, hash, size, flags, ..Frame::default() }
}

pub fn sent_record(
    s: &Sender,
    message: &Message,
    finish: Option<u64>,
    why: Option<Attribution>,
) -> SentRecord {
    SentRecord {
        finish,
        packets: s.sent - message.sent,
        retransmitted: s.retransmitted - message.retransmitted,
        timeouts: s.timeouts - message.timeouts,
        why,
        ..SentRecord::new(message.flow, message.start, message.idle)
    }
}

impl Timed for Sender {
    #[inline(always)]
    fn timer(&mut self) -> Timer<'_> {
        Timer { node: self.node, flow: self.flow, armed: &mut self.armed }
    }
}

impl SendingHalf for Sender {
    fn record(&mut self, flow: FlowId, finish: Option<u64>) -> Option<SentRecord> {
        let message = std::iter::once(&self.current).chain(&self.waiting).find(|m| m.flow == flow);
        message.map(|message| sent_record(self, message, finish, self.why_of(message)))
    }

    fn round_trips(&self, flow: FlowId) -> Vec<RoundTripRecord> {
        // The connection's first flow gives them for all.
        if self.flow == flow { round_trips(self, 0).into_iter().collect() } else { Vec::new() }
    }
}
