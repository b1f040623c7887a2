//! Connects TCP's receivers to hosts: arrivals of data, and their acknowledgements.

use super::{AckNow, Arrival, Receiver, ReceiverSetup, Tcp, stamp};
use crate::frame::{Control, Event, Extra, Frame};
use crate::idle::least_round_trip;
use crate::record::CaptureOptions;
use crate::shard::host::Carried;
use crate::shard::{OVER, Outlet, ReceivedRecord, Shard};
use crate::spec::{EcnMode, Flow, TcpConfig};
use crate::transport::endpoint::arm_half;
use crate::transport::receiving::ReceivingHalf;
use crate::transport::sending::{Timed, Timer};
use crate::world::World;

impl Shard<'_> {
    pub(super) fn send_from_receiver<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        what: Control,
    ) {
        let r = &self.transports.tcp.receivers[slot];
        let (node, mut frame) =
            (r.node, self.control(r.flow, what, (r.src, r.hash, r.priority), r.ecn));
        if self.transports.tcp.receivers[slot].tunes() {
            frame.aux = stamp(now);
        }
        self.send(out, now, node, frame);
    }

    /// Schedules the receiver's timer event.
    #[inline(always)]
    pub(super) fn arm_receiver<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let r = &mut self.transports.tcp.receivers[slot];
        let wake = r.wake();
        arm_half(out, ports, r, wake, Event::Receiver);
    }

    #[inline(never)]
    pub(super) fn on_data<O: Outlet>(&mut self, out: &mut O, now: u64, mut frame: Frame) {
        if self.is_multipath(&frame) {
            return self.other_data(out, now, frame);
        }
        let Carried { paused, stamp, tag } = self.take_extra(&mut frame);
        let mut echo = frame.aux;
        if self.record_paths {
            self.count_path(&frame, 0);
            echo = stamp;
        }
        let Some(slot) = self.receiver::<Tcp>(frame.flow, |shard| shard.first_frame(now, &frame))
        else {
            return self.acknowledge_again(out, now, &frame);
        };
        let config = self.tcp(self.transports.tcp.receivers[slot].transport);
        let r = &mut self.transports.tcp.receivers[slot];
        r.paused = paused;
        if frame.seq < r.highest {
            self.counters.balance.late.count(frame.has(Frame::RETRANSMISSION), tag);
        }
        let full = frame.size >= config.mss + self.world.plan.wire.data_header;
        let reaction = r.on_data(Arrival::of(now, &frame, echo, full), config);
        let ends = r.has_current();
        self.arm_receiver(out, slot);
        for ack in [reaction.first, reaction.second].into_iter().flatten() {
            self.answer(out, now, slot, ack, config);
        }
        if ends {
            self.complete_received(out, now, slot);
        }
    }

    /// Acknowledges a frame again after all data of the connection have arrived.
    #[cold]
    pub(super) fn acknowledge_again<O: Outlet>(&mut self, out: &mut O, now: u64, frame: &Frame) {
        let again = self.make_receiver(now, frame);
        let mut ack = again.repeat(frame.seq, frame.has(Frame::CE) && again.ecn != EcnMode::Off);
        if frame.kind() == Frame::CONTROL {
            // A window request is not a segment.
            ack.trigger = u32::MAX;
        }
        let answer = self.plain_ack(&again, ack);
        self.send(out, now, again.node, answer);
    }

    /// Completes flows that have arrived in full. The connection's receiving half ends with its
    /// last flow.
    pub(super) fn complete_received<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        while self.transports.tcp.receivers[slot].has_current() {
            let r = &mut self.transports.tcp.receivers[slot];
            let (flow, head) = (r.current, r.flow);
            let read = r.read_by(now);
            let message = self.world.message(flow);
            self.harvest.received.push(r.record(self.world, Some(now)));
            (r.marked, r.reordered) = (0, 0);
            let Some(next) = message.next else {
                self.transports.tcp.receivers.remove(slot);
                self.receiving[head as usize] = OVER;
                return self.flow_received(out, now, flow, read);
            };
            r.current = next;
            r.to = self.world.message(next).to;
            self.flow_received(out, now, flow, read);
        }
    }

    /// Creates the receiver of a connection at this frame, its first one.
    #[cold]
    #[inline(never)]
    pub(super) fn first_frame(&self, now: u64, frame: &Frame) -> Receiver {
        let id = frame.flow;
        let mut receiver = self.make_receiver(now, frame);
        let flow = self.world.flow(id);
        let config = self.tcp(flow.transport);
        if !config.handshake && config.sack_compression.is_some() {
            receiver.round_trip = self.least_round_trip(now, flow);
        }
        receiver
    }

    /// Creates a receiver for the flow of this frame.
    pub(super) fn make_receiver(&self, now: u64, frame: &Frame) -> Receiver {
        let id = frame.flow;
        let flow = self.world.flow(id);
        // If the connection is one of a pool, which share one hash per pair of hosts, its replies
        // use the hash of the reverse pair.
        let shared = frame.hash == self.world.pair_hash(flow.src, flow.dst)
            && self.is_pooled(flow.transport);
        let config = self.tcp(flow.transport);
        let setup = ReceiverSetup {
            flow: id,
            transport: flow.transport,
            node: self.world.place[flow.dst as usize].local,
            src: flow.src,
            hash: if shared {
                self.world.pair_hash(flow.dst, flow.src)
            } else {
                self.world.return_route(flow)
            },
            priority: config.ack_priority.unwrap_or(flow.priority),
            segments: self.world.connection_end(id),
            to: self.world.message(id).to,
            ecn: self.granted_ecn(flow, config, frame),
            now,
        };
        Receiver::new(setup, config)
    }

    /// Returns the time in ps that the handshake of an already open connection would have taken.
    pub(super) fn least_round_trip(&self, now: u64, flow: &Flow) -> u64 {
        least_round_trip(
            self.world,
            now,
            flow,
            self.world.shape(flow).ack.expect("TCP acknowledges"),
        )
    }

    /// Returns an acknowledgement without options.
    #[inline(always)]
    pub fn plain_ack(&self, r: &Receiver, ack: AckNow) -> Frame {
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
        Frame {
            flow: r.flow,
            seq: ack.cumulative,
            aux: ack.trigger,
            dst: r.src,
            hash: r.hash,
            size: wire.ack.max(wire.min_frame),
            flags,
            ..Frame::default()
        }
    }

    /// Sends an acknowledgement with the options that are due.
    #[inline(always)]
    pub(super) fn answer<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        ack: AckNow,
        config: &TcpConfig,
    ) {
        let r = &mut self.transports.tcp.receivers[slot];
        let edge = r.announce();
        let (selective, blocks, count) = r.selective(ack, config);
        let r = &self.transports.tcp.receivers[slot];
        let node = r.node;
        let mut frame = self.plain_ack(r, ack);
        let paused = r.paused;
        if selective || edge.is_some() || paused > 0 {
            let stamp = if self.transports.tcp.receivers[slot].tunes() { stamp(now) } else { 0 };
            let edge = edge.unwrap_or(u32::MAX);
            frame.aux = self.extras.insert(Extra {
                trigger: ack.trigger,
                edge,
                blocks,
                count,
                stamp,
                paused,
                opened: ack.opened,
                ..Extra::default()
            });
            frame.flags |= Frame::EXTRA;
        }
        if selective {
            let wire = &self.world.plan.wire;
            // The block of a duplicate segment comes first (RFC 2883).
            let count = (count as u16 + ack.duplicate as u16).min(Extra::BLOCKS as u16);
            frame.size = (wire.ack + wire.sack_base + wire.sack_block * count).max(wire.min_frame);
        }
        self.send(out, now, node, frame);
    }

    /// Returns the options of an acknowledgement for captures: the window, and at most `most` SACK
    /// blocks, with the block of a duplicate segment first (RFC 2883).
    pub fn acknowledged(
        &self,
        frame: &Frame,
        at: impl Fn(u32) -> u64,
        announces: bool,
        most: usize,
    ) -> Option<Box<CaptureOptions>> {
        if !frame.has(Frame::EXTRA) {
            return None;
        }
        let extra = &self.extras[frame.aux];
        let duplicate = frame.has(Frame::DUPLICATE).then_some((extra.trigger, extra.trigger + 1));
        let blocks = duplicate
            .into_iter()
            .chain(extra.blocks[..extra.count as usize].iter().copied())
            .take(most);
        let blocks = blocks.map(|(from, to)| (at(from), at(to))).collect();
        let edge = (announces && extra.edge != u32::MAX)
            .then(|| at(frame.seq) + self.beyond(frame, extra.edge));
        Some(Box::new(CaptureOptions { edge, blocks, multipath: None }))
    }

    /// Returns the bytes of the window that ends before segment `edge`.
    pub(super) fn beyond(&self, frame: &Frame, edge: u32) -> u64 {
        edge.saturating_sub(frame.seq) as u64
            * self.tcp(self.world.flow(frame.flow).transport).mss as u64
    }
}

impl Timed for Receiver {
    #[inline(always)]
    fn timer(&mut self) -> Timer<'_> {
        Timer { node: self.node, flow: self.flow, armed: &mut self.armed }
    }
}

impl ReceivingHalf for Receiver {
    fn record(&self, world: &World, finish: Option<u64>) -> ReceivedRecord {
        let message = world.message(self.current);
        let (frames, has_last) = self.received(message.from, message.to);
        ReceivedRecord {
            flow: self.current,
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
