//! Connects MPTCP's receivers to hosts: subflows that open, arrivals of data, and their
//! acknowledgements.

use super::parameters::subflow_hash;
use super::{Mptcp, MptcpReceiver};
use crate::frame::{Control, Decisive, Event, Frame};
use crate::idle::{Route, least_round_trip_by};
use crate::shard::host::Carried;
use crate::shard::{Outlet, ReceivedRecord, Shard};
use crate::spec::{EcnMode, MptcpConfig, TcpConfig};
use crate::transport::endpoint::arm_half;
use crate::transport::receiving::ReceivingHalf;
use crate::transport::sending::{Timed, Timer};
use crate::transport::tcp::{AckNow, Arrival, Receiver, ReceiverSetup, stamp};
use crate::world::World;

impl Shard<'_> {
    /// Handles a control frame at the host that accepts the connection.
    pub(super) fn on_opening<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        frame: &Frame,
        number: usize,
    ) {
        let Some(slot) = self.receiver_slot(now, frame) else { return };
        self.hear_of(now, slot, frame, number);
        let receiver =
            self.transports.mptcp.receivers[slot].subflow(number).as_mut().expect("heard of");
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

    pub(super) fn answer_opening<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        number: usize,
        what: Control,
    ) {
        let port = self.transports.mptcp.receivers[slot].ports[number];
        let r = self.transports.mptcp.receivers[slot].subflows[number].as_ref().expect("heard of");
        let (node, mut frame) =
            (r.node, self.control(r.flow, what, (r.src, r.hash, r.priority), r.ecn));
        frame.size = self.opening_size(what, number, false);
        self.write_option(&mut frame, number, (0, u32::MAX), 0);
        self.sets_out(frame.size);
        self.send_by(out, now, node, port, frame);
    }

    /// Returns the slot of the receiving half, which is created at its first frame; `None` if all
    /// data have arrived.
    pub(super) fn receiver_slot(&mut self, now: u64, frame: &Frame) -> Option<u32> {
        self.receiver::<Mptcp>(frame.flow, |shard| {
            let flow = shard.world.flow(frame.flow);
            MptcpReceiver::new(
                frame.flow,
                flow.transport,
                shard.world.place[flow.dst as usize].local,
                shard.segments(frame.flow),
                now,
                shard.settings(flow.transport),
            )
        })
    }

    /// Creates subflow `number` at its first frame, and notes the NIC at which a frame arrives, by
    /// which the answers leave.
    pub(super) fn hear_of(&mut self, now: u64, slot: u32, frame: &Frame, number: usize) {
        if self.transports.mptcp.receivers[slot].subflow(number).is_none() {
            let receiver = self.make_subflow(now, frame, number);
            *self.transports.mptcp.receivers[slot].subflow(number) = Some(receiver);
        }
        self.transports.mptcp.receivers[slot].ports[number] = frame.port;
    }

    pub(super) fn make_subflow(&self, now: u64, frame: &Frame, number: usize) -> Receiver {
        let flow = self.world.flow(frame.flow);
        let config = self.settings::<MptcpConfig>(flow.transport);
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
        let Some(slot) = self.receiver_slot(now, &frame) else {
            return self.acknowledge_all(out, now, &frame, number);
        };
        self.hear_of(now, slot, &frame, number);
        let config = self.settings::<MptcpConfig>(self.transports.mptcp.receivers[slot].transport);
        let full = frame.size
            >= config.tcp.mss + MptcpConfig::DATA_OPTION + self.world.plan.wire.data_header;
        let mptcp_receiver = &mut self.transports.mptcp.receivers[slot];
        let complete = mptcp_receiver.on_data(now, multipath.data, (echo, full));
        let r = mptcp_receiver.subflows[number].as_mut().expect("heard of");
        r.paused = paused;
        if frame.seq < r.highest {
            self.counters.balance.late.count(frame.has(Frame::RETRANSMISSION), tag);
        }
        if complete {
            self.transports
                .mptcp
                .decisive
                .insert(frame.flow, Decisive { subflow: multipath.subflow, seq: frame.seq });
        }
        let mut reaction = r.on_data(Arrival::of(now, &frame, 0, full), &config.tcp);
        if complete && reaction.second.is_none() {
            // The last data segment is acknowledged at once, as a FIN is.
            reaction.second = Some(r.say_now());
        }
        for ack in [reaction.first, reaction.second].into_iter().flatten() {
            self.answer_mptcp(out, now, slot, number, ack, &config.tcp);
        }
        if complete {
            return self.end_receiver::<Mptcp>(out, now, slot);
        }
        self.arm_mptcp_receiver(out, slot);
    }

    /// Acknowledges a frame again after all data have arrived.
    #[cold]
    pub(super) fn acknowledge_all<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        frame: &Frame,
        number: usize,
    ) {
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
        let segments = self.segments(frame.flow);
        self.write_option(&mut answer, number, (segments, u32::MAX), 0);
        let extra = &mut self.extras[answer.aux];
        (extra.trigger, extra.multipath.decisive) =
            (frame.seq, self.transports.mptcp.decisive[&frame.flow]);
        self.sets_out(answer.size);
        self.send_by(out, now, again.node, frame.port, answer);
    }

    pub(super) fn answer_mptcp<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        number: usize,
        ack: AckNow,
        config: &TcpConfig,
    ) {
        let mptcp_receiver = &mut self.transports.mptcp.receivers[slot];
        let (data, edge, stamped, port) = (
            mptcp_receiver.next,
            mptcp_receiver.edge(),
            mptcp_receiver.tunes(),
            mptcp_receiver.ports[number],
        );
        let r = mptcp_receiver.subflows[number].as_ref().expect("heard of");
        let (selective, blocks, count) = r.selective(ack, config);
        let count = (count as usize).min(MptcpConfig::BLOCKS) as u8;
        let (node, paused) = (r.node, r.paused);
        let mut frame = self.plain_ack(
            self.transports.mptcp.receivers[slot].subflows[number].as_ref().expect("heard of"),
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

    pub(super) fn arm_mptcp_receiver<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let mptcp_receiver = &mut self.transports.mptcp.receivers[slot];
        let wake = mptcp_receiver.wake();
        arm_half(out, ports, mptcp_receiver, wake, Event::Receiver);
    }

    pub(super) fn on_mptcp_receiver_wake<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        if self.transports.mptcp.receivers[slot].armed != now {
            return;
        }
        self.transports.mptcp.receivers[slot].armed = 0;
        let config =
            &self.settings::<MptcpConfig>(self.transports.mptcp.receivers[slot].transport).tcp;
        for number in 0..self.transports.mptcp.receivers[slot].subflows.len() {
            if let Some(r) = &mut self.transports.mptcp.receivers[slot].subflows[number]
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

impl Timed for MptcpReceiver {
    fn timer(&mut self) -> Timer<'_> {
        Timer { node: self.node, flow: self.flow, armed: &mut self.armed }
    }
}

impl ReceivingHalf for MptcpReceiver {
    fn record(&self, _: &World, finish: Option<u64>) -> ReceivedRecord {
        ReceivedRecord {
            flow: self.flow,
            finish,
            frames: self.next as u64,
            has_last: self.next == self.segments,
            marked: self.marked(),
            reordered: self.reordered,
            paused: 0,
            last: self.last,
        }
    }
}
