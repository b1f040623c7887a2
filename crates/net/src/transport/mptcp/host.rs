//! Connects MPTCP to hosts.

use super::{Connection, ConnectionSetup, MPTCP, Mptcp, MptcpReceiver, Sending, Stage, Subflow};
use crate::congestion::IncreaseRule;
use crate::expected::FluidModel;
use crate::frame::{Control, Decisive, Event, Extra, Frame, Multipath};
use crate::idle::{Idle, Route, idle_by, idle_over, least_round_trip_by};
use crate::probe::explain::{Attribution, Label};
use crate::record::{CaptureKind, CaptureMultipath, CaptureOptions, SenderRecord};
use crate::shard::capture::Content;
use crate::shard::finish::round_trips;
use crate::shard::host::{Carried, arm};
use crate::shard::{NOT_YET, OVER, Outlet, ReceivedRecord, SentRecord, Shard, own_event};
use crate::spec::{
    EcnMode, FctEnd, Flow, FlowId, MptcpConfig, PathManager, PathScheduler, Receive, TcpConfig,
    TransportConfig,
};
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::requirements::{Ecn, Paths, Requirements, Setting};
use crate::transport::tcp::{
    AckIn, AckNow, Arrival, Cause, Expired, Receiver, ReceiverSetup, Sender, SenderSetup, Tcp,
    data_flags, first_edge, stamp,
};
use crate::world::World;
use afflux_engine::random::{Stream, mix};

/// Purpose of the random streams of the subflows' congestion controls (see
/// `afflux_engine::random`).
const CONTROL: u64 = 0x6d70_6363;

/// Returns the hash of subflow `number` at the given `attempt`. `own`: hash of the flow.
fn subflow_hash(own: u32, number: usize, attempt: u64) -> u32 {
    if number == 0 && attempt == 0 {
        own
    } else {
        mix(own as u64 ^ (number as u64) << 32 ^ attempt << 40) as u32
    }
}

/// Returns the paths that the path manager finds.
fn routes(world: &World, now: u64, flow: &Flow, config: &MptcpConfig) -> Vec<Route> {
    let (own, back) = (world.flow_hash(flow, false), world.flow_hash(flow, true));
    let route = |number: usize, via: Option<u16>, hash: u32| {
        let path = world.path_via(now, via, hash, flow.src, flow.dst);
        // Replies leave through the NIC at which data arrive.
        let answered =
            path.last().map(|&(node, port)| world.ports.of(node)[port as usize].peer_port);
        Route { there: (via, hash), back: (answered, subflow_hash(back, number, 0)) }
    };
    match config.manager {
        PathManager::DiffPorts(count) => (0..count as usize)
            .map(|number| route(number, None, subflow_hash(own, number, 0)))
            .collect(),
        PathManager::FullMesh(most) => {
            let (sources, targets) =
                (world.ports.of(flow.src).len() as u16, world.ports.of(flow.dst).len() as u16);
            let mut found = Vec::new();
            for (via, target) in
                (0..sources).flat_map(|via| (0..targets).map(move |target| (via, target)))
            {
                let number = found.len();
                let leads_there =
                    |&hash: &u32| world.leads_to(now, (flow.src, via), hash, (flow.dst, target));
                if found.len() < most as usize
                    && let Some(hash) = (0..World::TRIES)
                        .map(|attempt| subflow_hash(own, number, attempt))
                        .find(leads_there)
                {
                    found.push(route(number, Some(via), hash));
                }
            }
            found
        }
    }
}

/// Fraction of a link that flows with coupled congestion control use if that link limits them, as
/// measured (validation/estimates.py).
const COUPLED: f64 = 0.92;

impl Parameters for MptcpConfig {
    fn segments(&self) -> Option<(&TcpConfig, Receive)> {
        Some((&self.tcp, self.receive))
    }
    fn requirements(&self) -> Requirements {
        let tcp = self.tcp.requirements();
        let useless = Setting { key: "mptcp.subflows", text: "the subflows share one path" };
        let several = matches!(self.manager, PathManager::DiffPorts(2..))
            .then_some((useless, "mptcp.subflows = 1"));
        Requirements {
            ecn: Ecn { reacts: true, paced: false, ..tcp.ecn },
            paths: Paths { several, ..Paths::default() },
            timing: tcp.timing,
            ..Requirements::default()
        }
    }
    fn routes(&self, world: &World, flow: &Flow) -> Vec<Route> {
        routes(world, 0, flow, self)
    }
    fn frames(&self) -> Frames {
        Frames {
            payload: self.tcp.mss,
            data: Self::DATA_OPTION,
            answer: Some(Self::ACK_OPTION),
            carry_more: true,
            with_options: 2,
        }
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        let subflows = match self.manager {
            PathManager::DiffPorts(count) | PathManager::FullMesh(count) => {
                usize::from(count.max(1))
            }
        };
        let one = size_of::<Subflow>() + size_of::<Receiver>() + 300;
        let of_one = self.tcp.fluid_model_with(
            FluidModel::new(world, self.frames(), self.tcp.frames_per_ack()),
            one,
        );
        // All subflows together grow as one connection (RFC 6356).
        let growth = match of_one.growth {
            IncreaseRule::PerRoundTrip(bytes) => {
                IncreaseRule::PerRoundTrip(bytes / subflows as f64)
            }
            other => other,
        };
        FluidModel {
            subflows,
            copies: if self.scheduler == PathScheduler::Redundant { subflows as f64 } else { 1.0 },
            overtakes: self.opportunistic
                && self.scheduler != PathScheduler::Redundant
                && subflows > 1,
            halves: subflows * one + size_of::<Connection>() + size_of::<MptcpReceiver>(),
            control: if self.tcp.handshake {
                (3 * subflows as u64, 2 * subflows as u64)
            } else {
                (0, 0)
            },
            efficiency: COUPLED,
            growth,
            erratic: of_one.marked,
            window: self.receive.most().min(of_one.window),
            ..of_one
        }
    }
}

impl Transport for Mptcp {
    fn start<O: Outlet>(
        shard: &mut Shard,
        out: &mut O,
        now: u64,
        Opening { id, node, .. }: Opening,
    ) {
        let (plan, flow) = (shard.world.plan, shard.world.flow(id));
        let config = shard.mptcp(flow.transport);
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
        let slot = shard.transports.mptcp.connections.insert(connection);
        shard.opened(id, slot | MPTCP);
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

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, _: FlowId, slot: u32) {
        shard.on_mptcp_wake(out, now, slot & !MPTCP);
    }

    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.on_mptcp_receiver_wake(out, now, slot & !MPTCP);
    }

    fn give_up<O: Outlet>(shard: &mut Shard, _: &mut O, now: u64, _: FlowId, slot: u32) {
        shard.abandon_mptcp(now, slot & !MPTCP);
    }

    fn unfinished(shard: &mut Shard, _: FlowId, slot: u32) -> Option<SentRecord> {
        let connection = &shard.transports.mptcp.connections[slot & !MPTCP];
        shard.harvest.round_trips.extend(
            connection
                .subflows
                .iter()
                .enumerate()
                .flat_map(|(n, subflow)| round_trips(&subflow.sender, n)),
        );
        Some(connection_record(connection, None, None))
    }

    fn senders(shard: &mut Shard, _: u64, flow: FlowId, slot: u32, found: &mut Vec<SenderRecord>) {
        let connection = &shard.transports.mptcp.connections[slot & !MPTCP];
        let config = &shard.mptcp(connection.transport).tcp;
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
        let mss = shard.mptcp(flow.transport).tcp.mss;
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

    fn incomplete(shard: &Shard, slot: u32) -> ReceivedRecord {
        receiver_record(&shard.transports.mptcp.joints[slot & !MPTCP], None)
    }
}

impl<'a> Shard<'a> {
    fn mptcp(&self, transport: u16) -> &'a MptcpConfig {
        match &self.world.plan.transports[transport as usize] {
            TransportConfig::Mptcp(config) => config,
            _ => unreachable!("a flow of another transport"),
        }
    }

    #[inline(always)]
    pub fn is_multipath(&self, frame: &Frame) -> bool {
        frame.has(Frame::EXTRA) && self.extras[frame.aux].multipath.subflow > 0
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
        let (node, mut frame) =
            (s.node, self.control(s.flow, what, (s.dst, s.hash, s.priority), s.ecn));
        if what == Control::Syn && !s.requests_ecn() {
            frame.flags &= !Frame::ECE;
        }
        frame.size = self.opening_size(what, number, true);
        self.write_option(&mut frame, number, (0, u32::MAX), 0);
        self.send_via(out, now, node, via, frame);
    }

    /// Returns the frame size in bytes with the MPTCP option of this step of the handshake.
    fn opening_size(&self, what: Control, number: usize, asks: bool) -> u16 {
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
        let mut frame = self.control(s.flow, Control::Ack, (s.dst, s.hash, s.priority), s.ecn);
        self.write_option(&mut frame, number, (next, 0), 0);
        self.send_via(out, now, node, via, frame);
    }

    fn write_option(
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
        let config = self.mptcp(self.transports.mptcp.connections[slot].transport);
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

    /// Handles a control frame at the host that accepts the connection.
    fn on_opening<O: Outlet>(&mut self, out: &mut O, now: u64, frame: &Frame, number: usize) {
        let slot = self.receiver_slot(now, frame);
        if slot == OVER {
            return;
        }
        self.hear_of(now, slot, frame, number);
        let receiver =
            self.transports.mptcp.joints[slot].subflow(number).as_mut().expect("heard of");
        match Control::of(frame) {
            Control::Syn => {
                receiver.answered = now;
                self.answer_opening(out, now, slot, number, Control::SynAck);
            }
            Control::Ack => {
                receiver.on_established(now);
                if number > 0 {
                    self.answer_opening(out, now, slot, number, Control::Ack);
                }
            }
            Control::SynAck | Control::AskWindow | Control::Report => {}
        }
    }

    fn answer_opening<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        number: usize,
        what: Control,
    ) {
        let port = self.transports.mptcp.joints[slot].ports[number];
        let r = self.transports.mptcp.joints[slot].subflows[number].as_ref().expect("heard of");
        let (node, mut frame) =
            (r.node, self.control(r.flow, what, (r.src, r.hash, r.priority), r.ecn));
        frame.size = self.opening_size(what, number, false);
        self.write_option(&mut frame, number, (0, u32::MAX), 0);
        self.sets_out(frame.size);
        self.send_by(out, now, node, port, frame);
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
            let flags = data_flags(s, &transmit);
            self.counters.retransmits += transmit.retransmission as u64;
            let size = (payload + MptcpConfig::DATA_OPTION + wire.data_header).max(wire.min_frame);
            let mut frame = Frame {
                flow: s.flow,
                seq: transmit.seq,
                dst: s.dst,
                hash: s.hash,
                size,
                flags,
                ..Frame::default()
            };
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
        let ports = self.ports.len();
        let connection = &mut self.transports.mptcp.connections[slot];
        arm(out, connection.wake(), &mut connection.armed, || {
            own_event(ports, connection.node, connection.flow, Event::Sender)
        });
    }

    #[inline(never)]
    fn on_mptcp_wake<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        if self.transports.mptcp.connections[slot].armed != now {
            return;
        }
        self.transports.mptcp.connections[slot].armed = 0;
        let config = self.mptcp(self.transports.mptcp.connections[slot].transport);
        while let Some(number) = self.transports.mptcp.connections[slot].due(now) {
            if self.transports.mptcp.connections[slot].subflows[number].stage == Stage::Confirming {
                self.transports.mptcp.connections[slot].subflows[number].sender.waited(
                    now,
                    Label::Recovery,
                    0,
                );
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
        let config = self.mptcp(self.transports.mptcp.connections[slot].transport);
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
            && let Some(number) = planned(&self.transports.mptcp.connections[slot])
        {
            self.emit_mptcp_syn(out, now, slot, number, config);
        }
        self.pump_mptcp(out, now, slot, number, cause, config);
    }

    /// Ends the connection before all data are acknowledged.
    fn abandon_mptcp(&mut self, now: u64, slot: u32) {
        let connection = &self.transports.mptcp.connections[slot];
        let record =
            SentRecord { given_up: Some(now), ..connection_record(connection, None, None) };
        self.harvest.round_trips.extend(
            connection
                .subflows
                .iter()
                .enumerate()
                .flat_map(|(n, subflow)| round_trips(&subflow.sender, n)),
        );
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
        self.harvest.round_trips.extend(
            connection
                .subflows
                .iter()
                .enumerate()
                .flat_map(|(n, subflow)| round_trips(&subflow.sender, n)),
        );
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

    /// Returns the slot of the receiving half, which is created at its first frame; `OVER` if all
    /// data have arrived.
    fn receiver_slot(&mut self, now: u64, frame: &Frame) -> u32 {
        match self.receiving_slot(frame.flow) {
            OVER => OVER,
            NOT_YET => {
                let flow = self.world.flow(frame.flow);
                let config = self.mptcp(flow.transport);
                let node = self.world.place[flow.dst as usize].local;
                let segments = self.world.shape(flow).count as u32;
                let slot = self.transports.mptcp.joints.insert(MptcpReceiver::new(
                    frame.flow,
                    flow.transport,
                    node,
                    segments,
                    now,
                    config,
                ));
                self.note_receiver(frame.flow, slot | MPTCP);
                slot
            }
            slot => slot & !MPTCP,
        }
    }

    /// Creates subflow `number` at its first frame.
    fn hear_of(&mut self, now: u64, slot: u32, frame: &Frame, number: usize) {
        if self.transports.mptcp.joints[slot].subflow(number).is_none() {
            let receiver = self.make_subflow(now, frame, number);
            *self.transports.mptcp.joints[slot].subflow(number) = Some(receiver);
            self.transports.mptcp.joints[slot].ports[number] = frame.port;
        }
    }

    fn make_subflow(&self, now: u64, frame: &Frame, number: usize) -> Receiver {
        let flow = self.world.flow(frame.flow);
        let config = self.mptcp(flow.transport);
        let setup = ReceiverSetup {
            flow: frame.flow,
            transport: flow.transport,
            node: self.world.place[flow.dst as usize].local,
            src: flow.src,
            hash: subflow_hash(self.world.flow_hash(flow, true), number, 0),
            priority: config.tcp.ack_priority.unwrap_or(flow.priority),
            segments: u32::MAX,
            to: u32::MAX,
            ecn: self.granted_ecn(flow, &config.tcp, frame),
            now,
        };
        let mut receiver = Receiver::new(setup, &config.tcp);
        if !config.tcp.handshake && config.tcp.sack_compression.is_some() {
            let route = Route { there: (None, frame.hash), back: (None, receiver.hash) };
            let ack = self.world.shape(flow).ack.expect("it acknowledges");
            receiver.round_trip = least_round_trip_by(self.world, now, flow, route, ack);
        }
        receiver
    }

    #[inline(never)]
    pub fn on_mptcp_data<O: Outlet>(&mut self, out: &mut O, now: u64, mut frame: Frame) {
        let multipath = self.extras[frame.aux].multipath;
        let Carried { paused, stamp: echo, tag } = self.take_extra(&mut frame);
        let number = multipath.subflow as usize - 1;
        if self.record_paths {
            self.count_path(&frame, number as u8);
        }
        let slot = self.receiver_slot(now, &frame);
        if slot == OVER {
            return self.acknowledge_all(out, now, &frame, number);
        }
        self.hear_of(now, slot, &frame, number);
        let config = self.mptcp(self.transports.mptcp.joints[slot].transport);
        let full = frame.size
            >= config.tcp.mss + MptcpConfig::DATA_OPTION + self.world.plan.wire.data_header;
        let mptcp_receiver = &mut self.transports.mptcp.joints[slot];
        let complete = mptcp_receiver.on_data(now, multipath.data, (echo, full));
        let r = mptcp_receiver.subflows[number].as_mut().expect("heard of");
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
            echo: 0,
            full,
        };
        if complete {
            self.transports
                .mptcp
                .decisive
                .insert(frame.flow, Decisive { subflow: multipath.subflow, seq: frame.seq });
        }
        let mut reaction = r.on_data(arrival, &config.tcp);
        if complete && reaction.second.is_none() {
            // The last data segment is acknowledged at once, as a FIN is.
            reaction.second = Some(r.say_now());
        }
        for ack in [reaction.first, reaction.second].into_iter().flatten() {
            self.answer_mptcp(out, now, slot, number, ack, &config.tcp);
        }
        if complete {
            let mptcp_receiver = &self.transports.mptcp.joints[slot];
            let record = receiver_record(mptcp_receiver, Some(now));
            self.transports.mptcp.joints.remove(slot);
            return self.receiving_over(out, now, record);
        }
        self.arm_mptcp_receiver(out, slot);
    }

    /// Acknowledges a frame again after all data have arrived.
    #[cold]
    fn acknowledge_all<O: Outlet>(&mut self, out: &mut O, now: u64, frame: &Frame, number: usize) {
        let again = self.make_subflow(now, frame, number);
        let ack = AckNow {
            cumulative: frame.seq + 1,
            trigger: frame.seq,
            ece: frame.has(Frame::CE) && again.ecn != EcnMode::Off,
            repeated: true,
            duplicate: true,
            delayed: false,
            opened: 0,
        };
        let mut answer = self.plain_ack(&again, ack);
        answer.size = (self.world.plan.wire.ack + MptcpConfig::ACK_OPTION)
            .max(self.world.plan.wire.min_frame);
        let segments = self.world.shape(self.world.flow(frame.flow)).count as u32;
        self.write_option(&mut answer, number, (segments, u32::MAX), 0);
        let extra = &mut self.extras[answer.aux];
        (extra.trigger, extra.multipath.decisive) =
            (frame.seq, self.transports.mptcp.decisive[&frame.flow]);
        self.sets_out(answer.size);
        self.send_by(out, now, again.node, frame.port, answer);
    }

    fn answer_mptcp<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        number: usize,
        ack: AckNow,
        config: &TcpConfig,
    ) {
        let mptcp_receiver = &mut self.transports.mptcp.joints[slot];
        let (data, edge, stamped, port) = (
            mptcp_receiver.next,
            mptcp_receiver.edge(),
            mptcp_receiver.tunes(),
            mptcp_receiver.ports[number],
        );
        let r = mptcp_receiver.subflows[number].as_ref().expect("heard of");
        let selective =
            config.recovery != crate::spec::Recovery::NewReno && (r.holds() || ack.duplicate);
        let (blocks, count) = if selective { r.blocks() } else { Default::default() };
        let count = (count as usize).min(MptcpConfig::BLOCKS) as u8;
        let (node, paused) = (r.node, r.paused);
        let mut frame = self.plain_ack(
            self.transports.mptcp.joints[slot].subflows[number].as_ref().expect("heard of"),
            ack,
        );
        self.write_option(&mut frame, number, (data, edge), if stamped { stamp(now) } else { 0 });
        let extra = &mut self.extras[frame.aux];
        (extra.trigger, extra.blocks, extra.count, extra.paused) =
            (ack.trigger, blocks, count, paused);
        extra.multipath.decisive =
            self.transports.mptcp.decisive.get(&frame.flow).copied().unwrap_or_default();
        let wire = &self.world.plan.wire;
        let told = (count as u16 + ack.duplicate as u16).min(MptcpConfig::BLOCKS as u16);
        let sack = if selective { wire.sack_base + wire.sack_block * told } else { 0 };
        frame.size = (wire.ack + MptcpConfig::ACK_OPTION + sack).max(wire.min_frame);
        self.sets_out(frame.size);
        self.send_by(out, now, node, port, frame);
    }

    fn arm_mptcp_receiver<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let mptcp_receiver = &mut self.transports.mptcp.joints[slot];
        arm(out, mptcp_receiver.wake(), &mut mptcp_receiver.armed, || {
            own_event(ports, mptcp_receiver.node, mptcp_receiver.flow, Event::Receiver)
        });
    }

    fn on_mptcp_receiver_wake<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        if self.transports.mptcp.joints[slot].armed != now {
            return;
        }
        self.transports.mptcp.joints[slot].armed = 0;
        let config = &self.mptcp(self.transports.mptcp.joints[slot].transport).tcp;
        for number in 0..self.transports.mptcp.joints[slot].subflows.len() {
            if let Some(r) = &mut self.transports.mptcp.joints[slot].subflows[number]
                && r.wake() != 0
                && r.wake() <= now
                && let Some(ack) = r.on_wake(now, config)
            {
                self.answer_mptcp(out, now, slot, number, ack, config);
            }
        }
        self.arm_mptcp_receiver(out, slot);
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

fn receiver_record(mptcp_receiver: &MptcpReceiver, finish: Option<u64>) -> ReceivedRecord {
    ReceivedRecord {
        flow: mptcp_receiver.flow,
        finish,
        frames: mptcp_receiver.next as u64,
        has_last: mptcp_receiver.next == mptcp_receiver.segments,
        marked: mptcp_receiver.marked(),
        reordered: mptcp_receiver.reordered,
        paused: 0,
        last: mptcp_receiver.last,
    }
}
