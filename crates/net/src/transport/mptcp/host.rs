//! Connects MPTCP to hosts.

use super::parameters::{routes, subflow_hash};
use super::{Connection, ConnectionSetup, MPTCP, Mptcp, MptcpReceiver, Sending, Stage, Subflow};
use crate::frame::{Control, Decisive, Extra, Frame, Multipath};
use crate::idle::{Idle, idle_by, idle_over, least_round_trip_by};
use crate::probe::explain::{Attribution, Label};
use crate::record::{CaptureKind, CaptureMultipath, CaptureOptions, RoundTripRecord, SenderRecord};
use crate::shard::capture::Content;
use crate::shard::finish::round_trips;
use crate::shard::{OVER, Outlet, SentRecord, Shard, Slab};
use crate::spec::{FctEnd, Flow, FlowId, MptcpConfig, TcpConfig};
use crate::transport::Halves;
use crate::transport::door::{Opening, Transport};
use crate::transport::sending::{SendingHalf, Timed, Timer};
use crate::transport::tcp::{AckIn, Cause, Expired, Sender, SenderSetup, Tcp, first_edge, segment};
use afflux_engine::random::Stream;

/// Purpose of the random streams of the subflows' congestion controls (see
/// `afflux_engine::random`).
const CONTROL: u64 = 0x6d70_6363;

impl Transport for Mptcp {
    type Sender = Connection;
    type Receiver = MptcpReceiver;
    const MARK: u32 = MPTCP;

    fn senders(halves: &mut Halves) -> &mut Slab<Connection> {
        &mut halves.mptcp.connections
    }
    fn receivers(halves: &mut Halves) -> &mut Slab<MptcpReceiver> {
        &mut halves.mptcp.receivers
    }

    fn start<O: Outlet>(
        shard: &mut Shard,
        out: &mut O,
        now: u64,
        Opening { id, node, .. }: Opening,
    ) {
        let (plan, flow) = (shard.world.plan, shard.world.flow(id));
        let config = shard.settings::<MptcpConfig>(flow.transport);
        let shape = shard.world.shape(flow);
        let routes = routes(shard.world, now, flow, config);
        let with_return = plan.run.fct_end == FctEnd::LastAck;
        let each: Vec<Idle> = routes
            .iter()
            .map(|route| idle_by(shard.world, now, flow, *route, shape, with_return))
            .collect();
        let mut connection = Connection::new(ConnectionSetup {
            flow: id,
            transport: flow.transport,
            node,
            segments: shape.count as u32,
            edge: first_edge(&TcpConfig { receive: config.receive, ..config.tcp.clone() }),
            idle: idle_over(shard.world, now, flow, (&routes, &each), shape, with_return),
            start: now,
        });
        for (number, (route, idle)) in routes.iter().zip(each).enumerate() {
            // It is not known in advance which subflow carries the last segment.
            let idle = Idle { slowest_last: idle.slowest_full, ..idle };
            let setup = SenderSetup {
                flow: id,
                transport: flow.transport,
                node,
                dst: flow.dst,
                hash: route.there.1,
                priority: flow.priority,
                segments: 0,
                ends: u32::MAX,
                idle,
                deadline: None,
                ecn: shard.first_ecn(flow, &config.tcp),
                explain: plan.record.explain,
                random: Stream::new(plan.run.seed, CONTROL, (id as u64) << 8 | number as u64),
            };
            let mut sender = Sender::new(setup, now, &config.tcp);
            sender.goes_on();
            sender.round_trips = plan.record.round_trips.then(Box::default);
            if !config.tcp.handshake {
                let ack = shape.ack.expect("it acknowledges");
                let round_trip = if sender.measures() {
                    least_round_trip_by(shard.world, now, flow, *route, ack)
                } else {
                    0
                };
                sender.open(now, round_trip, &config.tcp);
            }
            let stage = if config.tcp.handshake { Stage::Planned } else { Stage::Open };
            connection.subflows.push(Subflow::new(sender, route.there.0, stage));
        }
        let slot = shard.open_sender::<Mptcp>(id, connection);
        if config.tcp.handshake {
            shard.emit_mptcp_syn(out, now, slot, 0, config);
            shard.arm_mptcp(out, slot);
        } else {
            shard.pump_mptcp(out, now, slot, 0, Cause::Start, config);
        }
    }

    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame) {
        Tcp::deliver(shard, out, now, frame);
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.on_mptcp_wake(out, now, slot);
    }

    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.on_mptcp_receiver_wake(out, now, slot);
    }

    fn give_up<O: Outlet>(shard: &mut Shard, _: &mut O, now: u64, slot: u32) {
        shard.abandon_mptcp(now, slot);
    }

    fn sampled(shard: &mut Shard, _: u64, flow: FlowId, slot: u32, found: &mut Vec<SenderRecord>) {
        let connection = &shard.transports.mptcp.connections[slot];
        let config = &shard.settings::<MptcpConfig>(connection.transport).tcp;
        let open = connection
            .subflows
            .iter()
            .enumerate()
            .filter(|(_, subflow)| subflow.sender.connected());
        found.extend(open.map(|(number, subflow)| SenderRecord {
            flow,
            subflow: number as u8,
            ..subflow.sender.known(config)
        }));
    }

    /// Returns positions on a subflow, where all segments count as full. If the connection's last
    /// segment is short, later segments of its subflow are placed too far by the missing bytes. The
    /// capture writer corrects that, because it sees the last segment.
    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        let mss = shard.settings::<MptcpConfig>(flow.transport).tcp.mss;
        let full = |segment: u32| segment as u64 * mss as u64;
        let Multipath { subflow, data, edge, .. } = shard.extras[frame.aux].multipath;
        let multipath =
            |data: u64, closes: bool| Some(CaptureMultipath { subflow: subflow - 1, data, closes });
        let options =
            |multipath| Some(Box::new(CaptureOptions { multipath, ..CaptureOptions::default() }));
        match frame.kind() {
            Frame::DATA => {
                let content = Content::bare(
                    CaptureKind::TcpData,
                    full(frame.seq),
                    shard.world.payload(frame.flow, data, mss),
                );
                Content { options: options(multipath(full(data), false)), ..content }
            }
            Frame::CONTROL => {
                let closes = edge != u32::MAX;
                let sequence = if closes { full(data) } else { 0 };
                Content {
                    options: options(multipath(0, closes)),
                    ..Content::bare(CaptureKind::TcpControl(Control::of(frame)), sequence, 0)
                }
            }
            _ => {
                let mut options =
                    shard.acknowledged(frame, full, false, MptcpConfig::BLOCKS).unwrap_or_default();
                options.edge = (edge != u32::MAX).then(|| full(edge));
                options.multipath = multipath(full(data).min(flow.bytes), false);
                let again = frame.has(Frame::DUPLICATE);
                Content {
                    again,
                    options: Some(options),
                    ..Content::bare(CaptureKind::TcpAck, full(frame.seq), 0)
                }
            }
        }
    }
}

impl Shard<'_> {
    #[inline(always)]
    pub fn is_multipath(&self, frame: &Frame) -> bool {
        self.subflow(frame) > 0
    }

    /// Returns the number of a frame's subflow, from 1 on; 0 for frames of other transports.
    #[inline(always)]
    pub fn subflow(&self, frame: &Frame) -> u8 {
        if frame.has(Frame::EXTRA) { self.extras[frame.aux].multipath.subflow } else { 0 }
    }

    /// Returns the hash of a frame's flow, or of its subflow.
    pub fn connection_hash(&self, frame: &Frame) -> u32 {
        let flow = self.world.flow(frame.flow);
        let own = self.world.flow_hash(flow, flow.dst != frame.dst);
        subflow_hash(own, self.subflow(frame).saturating_sub(1).into(), 0)
    }

    fn emit_mptcp_syn<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        number: usize,
        config: &MptcpConfig,
    ) {
        let subflow = &mut self.transports.mptcp.connections[slot].subflows[number];
        subflow.stage = Stage::Opening;
        // A subflow that joins later has waited for the others. The wait of a time-out has been
        // attributed already.
        subflow.sender.waited(now, Label::Window, 0);
        subflow.sender.syn_sent(now, &config.tcp);
        self.emit_mptcp_control(out, now, slot, number, Control::Syn);
    }

    fn emit_mptcp_control<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        number: usize,
        what: Control,
    ) {
        let subflow = &self.transports.mptcp.connections[slot].subflows[number];
        let (s, via) = (&subflow.sender, subflow.via);
        let (node, mut frame) = (s.node, self.sender_control(s, what));
        frame.size = self.opening_size(what, number, true);
        self.write_option(&mut frame, number, (0, u32::MAX), 0);
        self.send_via(out, now, node, via, frame);
    }

    /// Returns the frame size in bytes with the MPTCP option of this step of the handshake.
    pub(super) fn opening_size(&self, what: Control, number: usize, asks: bool) -> u16 {
        let wire = &self.world.plan.wire;
        let plain =
            if matches!(what, Control::Syn | Control::SynAck) { wire.syn } else { wire.ack };
        (plain + MptcpConfig::opening_option(what, number > 0, asks)).max(wire.min_frame)
    }

    /// Sends the last frame on a subflow, which carries no options.
    fn close_subflow<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, number: usize) {
        let subflow = &self.transports.mptcp.connections[slot].subflows[number];
        let (s, via) = (&subflow.sender, subflow.via);
        let (node, next) = (s.node, s.next());
        let mut frame = self.sender_control(s, Control::Ack);
        self.write_option(&mut frame, number, (next, 0), 0);
        self.send_via(out, now, node, via, frame);
    }

    pub(super) fn write_option(
        &mut self,
        frame: &mut Frame,
        number: usize,
        (data, edge): (u32, u32),
        stamp: u32,
    ) {
        let multipath = Multipath { subflow: number as u8 + 1, data, edge, ..Multipath::default() };
        frame.aux =
            self.extras.insert(Extra { edge: u32::MAX, stamp, multipath, ..Extra::default() });
        frame.flags |= Frame::EXTRA;
    }

    /// Sends a frame by the NIC `via`, or by hash. Returns the time in ps at which it will have
    /// left, or 0 if it was dropped.
    fn send_via<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        via: Option<u16>,
        frame: Frame,
    ) -> u64 {
        match via {
            Some(port) => {
                self.sets_out(frame.size);
                let port = self.nodes[node as usize].first_port + port as u32;
                self.send_by(out, now, node, port, frame)
            }
            None => self.send(out, now, node, frame),
        }
    }

    #[cold]
    #[inline(never)]
    pub fn on_mptcp_control<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        let number = self.extras.remove(frame.aux).multipath.subflow as usize - 1;
        let here = self.nodes[self.ports[frame.port as usize].node as usize].id;
        if here == self.world.flow(frame.flow).src {
            self.on_answer(out, now, &frame, number)
        } else {
            self.on_opening(out, now, &frame, number)
        }
    }

    /// Handles a control frame at the host that opens the connection.
    fn on_answer<O: Outlet>(&mut self, out: &mut O, now: u64, frame: &Frame, number: usize) {
        let slot = self.sending[frame.flow as usize];
        if slot == OVER {
            return;
        }
        let slot = slot & !MPTCP;
        let config =
            self.settings::<MptcpConfig>(self.transports.mptcp.connections[slot].transport);
        let connection = &mut self.transports.mptcp.connections[slot];
        let subflow = &mut connection.subflows[number];
        match (Control::of(frame), subflow.stage) {
            (Control::SynAck, Stage::Opening) => {
                let Some(cause) =
                    subflow.sender.on_connected(now, frame.has(Frame::ECE), &config.tcp)
                else {
                    return;
                };
                let Cause::Ack { excess } = cause else {
                    unreachable!("a connection opens by an answer")
                };
                subflow.sender.waited(now, Label::Window, excess);
                if number == 0 {
                    connection.opened(now, number);
                    self.emit_mptcp_control(out, now, slot, number, Control::Ack);
                    return self.pump_mptcp(out, now, slot, number, cause, config);
                }
                subflow.stage = Stage::Confirming;
                self.confirm(out, now, slot, number, config);
            }
            // The acknowledgement of the SYN-ACK was lost.
            (Control::SynAck, Stage::Open) => {
                self.emit_mptcp_control(out, now, slot, number, Control::Ack)
            }
            (Control::Ack, Stage::Confirming) => {
                connection.opened(now, number);
                self.pump_mptcp(out, now, slot, number, Cause::Ack { excess: 0 }, config);
            }
            _ => {}
        }
    }

    /// Sends the third segment of MP_JOIN, which the peer acknowledges.
    fn confirm<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        number: usize,
        config: &MptcpConfig,
    ) {
        self.emit_mptcp_control(out, now, slot, number, Control::Ack);
        let subflow = &mut self.transports.mptcp.connections[slot].subflows[number];
        subflow.confirm_at = subflow.sender.time_out_from(now, &config.tcp);
        self.arm_mptcp(out, slot);
    }

    /// Sends the segments that the windows allow, and sets the timers. `of`: subflow to which
    /// `cause` refers.
    fn pump_mptcp<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        of: usize,
        cause: Cause,
        config: &MptcpConfig,
    ) {
        self.transports.mptcp.connections[slot].begin();
        while let Some(Sending { subflow: number, transmit, data }) =
            self.transports.mptcp.connections[slot].transmit(now, of, cause, config)
        {
            let wire = &self.world.plan.wire;
            let connection = &self.transports.mptcp.connections[slot];
            let s = &connection.subflows[number].sender;
            let payload = self.world.payload(connection.flow, data, config.tcp.mss);
            self.counters.retransmits += transmit.retransmission as u64;
            let size = (payload + MptcpConfig::DATA_OPTION + wire.data_header).max(wire.min_frame);
            let mut frame = segment(s, &transmit, size);
            let (node, via, echo) = (s.node, connection.subflows[number].via, connection.echo);
            self.write_option(&mut frame, number, (data, u32::MAX), echo);
            let until = self.send_via(out, now, node, via, frame);
            if config.tcp.small_queues && until > now {
                self.transports.mptcp.connections[slot].subflows[number]
                    .sender
                    .small_queue
                    .hand_over(now, until, size);
            }
        }
        self.arm_mptcp(out, slot);
    }

    fn arm_mptcp<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let wake = self.transports.mptcp.connections[slot].wake();
        self.arm_sender::<Mptcp>(out, slot, wake);
    }

    #[inline(never)]
    fn on_mptcp_wake<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let config =
            self.settings::<MptcpConfig>(self.transports.mptcp.connections[slot].transport);
        while let Some(number) = self.transports.mptcp.connections[slot].due(now) {
            if self.transports.mptcp.connections[slot].subflows[number].stage == Stage::Confirming {
                let sender = &mut self.transports.mptcp.connections[slot].subflows[number].sender;
                sender.waited(now, Label::Recovery, 0);
                sender.timeouts += 1;
                self.counters.timeouts += 1;
                self.confirm(out, now, slot, number, config);
                continue;
            }
            match self.transports.mptcp.connections[slot].on_wake(now, number, config) {
                Expired::Pump(cause) => self.pump_mptcp(out, now, slot, number, cause, config),
                Expired::TimedOut(cause) => {
                    self.counters.timeouts += 1;
                    self.pump_mptcp(out, now, slot, number, cause, config);
                }
                Expired::Syn => {
                    self.counters.timeouts += 1;
                    self.counters.retransmits += 1;
                    self.emit_mptcp_syn(out, now, slot, number, config);
                }
                Expired::AskWindow => {
                    unreachable!("a subflow has no window of its own at the receiver")
                }
                Expired::InVain => unreachable!(
                    "validated: connections over several paths have no limit of retries"
                ),
            }
        }
        self.arm_mptcp(out, slot);
    }

    #[inline(never)]
    pub fn on_mptcp_ack<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        multipath: Multipath,
        ack: &AckIn,
    ) {
        let config =
            self.settings::<MptcpConfig>(self.transports.mptcp.connections[slot].transport);
        let number = multipath.subflow as usize - 1;
        let cause =
            self.transports.mptcp.connections[slot].on_ack(now, number, &multipath, ack, config);
        if self.transports.mptcp.connections[slot].finished() {
            return self.finish_mptcp(out, now, slot, config);
        }
        // RFC 8684 §3.2 and §3.1: other subflows join when the receiver is known to understand
        // MPTCP.
        let planned = |connection: &Connection| {
            connection.subflows.iter().position(|subflow| subflow.stage == Stage::Planned)
        };
        while multipath.data > 0
            && let Some(joining) = planned(&self.transports.mptcp.connections[slot])
        {
            let subflows = &mut self.transports.mptcp.connections[slot].subflows;
            let so_far = subflows[number].sender.attribution();
            subflows[joining].sender.takes_over(so_far);
            self.emit_mptcp_syn(out, now, slot, joining, config);
        }
        self.pump_mptcp(out, now, slot, number, cause, config);
    }

    /// Ends the connection before all data are acknowledged.
    fn abandon_mptcp(&mut self, now: u64, slot: u32) {
        let connection = &self.transports.mptcp.connections[slot];
        let record =
            SentRecord { given_up: Some(now), ..connection_record(connection, None, None) };
        self.harvest.round_trips.extend(connection.round_trips(connection.flow));
        let shape = self.world.shape(self.world.flow(record.flow));
        if self.world.plan.record.explain && !self.world.ends_with_ack(shape) {
            // All data may have arrived. Only the end of the run shows that, and the time
            // attribution depends on it.
            self.transports.mptcp.abandoned.insert(record.flow, slot);
        } else {
            self.transports.mptcp.connections.remove(slot);
        }
        self.sending_over(record);
    }

    fn finish_mptcp<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &MptcpConfig) {
        let connection = &self.transports.mptcp.connections[slot];
        let record = connection_record(connection, Some(now), connection.account.clone());
        self.harvest.round_trips.extend(connection.round_trips(connection.flow));
        if config.tcp.handshake {
            for number in 0..self.transports.mptcp.connections[slot].subflows.len() {
                if self.transports.mptcp.connections[slot].subflows[number].stage == Stage::Open {
                    self.close_subflow(out, now, slot, number);
                }
            }
        }
        self.transports.mptcp.connections.remove(slot);
        self.sending_over(record);
    }

    /// Returns the time attribution of a flow that is complete at its receiver, but not at this
    /// sender.
    pub fn account_of(&self, flow: FlowId, decisive: Decisive) -> Option<Attribution> {
        let mptcp = &self.transports.mptcp;
        let connection = match self.sending[flow as usize] {
            OVER => &mptcp.connections[*mptcp.abandoned.get(&flow)?],
            slot => &mptcp.connections[slot & !MPTCP],
        };
        connection.account_until(decisive)
    }
}

fn connection_record(
    connection: &Connection,
    finish: Option<u64>,
    why: Option<Attribution>,
) -> SentRecord {
    let (packets, retransmitted, timeouts) = connection.sent();
    SentRecord {
        finish,
        packets,
        retransmitted,
        timeouts,
        why,
        ..SentRecord::new(connection.flow, connection.start, connection.idle)
    }
}

impl Timed for Connection {
    fn timer(&mut self) -> Timer<'_> {
        Timer { node: self.node, flow: self.flow, armed: &mut self.armed }
    }
}

impl SendingHalf for Connection {
    fn record(&mut self, _: FlowId, finish: Option<u64>) -> Option<SentRecord> {
        Some(connection_record(self, finish, None))
    }

    fn round_trips(&self, _: FlowId) -> Vec<RoundTripRecord> {
        let subflows = self.subflows.iter().enumerate();
        subflows.flat_map(|(number, subflow)| round_trips(&subflow.sender, number)).collect()
    }
}
