//! Connects pFabric's transport, and the TCP that it is derived from, to hosts.

use super::{Expired, PFABRIC, Pfabric, Sender, SenderSetup, Transmit};
use crate::expected::FluidModel;
use crate::frame::{Control, Extra, Frame};
use crate::queue::aqm::QueueTag;
use crate::record::{CaptureKind, SenderRecord};
use crate::shard::capture::Content;
use crate::shard::{Outlet, Shard, Slab};
use crate::spec::{self, EcnMode, Flow, FlowId, TransportConfig};
use crate::transport::Halves;
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::requirements::{Ecn, Requirements};
use crate::transport::sending::Sending;
use crate::transport::tcp::{AckIn, Cause, Receiver, Tcp, USES_ECN};
use crate::world::World;

impl Parameters for spec::Pfabric {
    fn requirements(&self) -> Requirements {
        let text = "\"pfabric\" sends with the bytes left of each flow, and no switch looks at them: write scheduling = \"pfabric\" in [switch] and [host], or rank = \"none\"";
        Requirements {
            ecn: Ecn { reacts: true, cure: Some(USES_ECN), ..self.tcp.requirements().ecn },
            queue_tag: self.ranked.then_some((QueueTag::Remaining, text)),
            ..Requirements::default()
        }
    }
    fn frames(&self) -> Frames {
        Frames::plain(self.tcp.mss)
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        FluidModel {
            window: self
                .tcp
                .max_window
                .map_or(f64::INFINITY, |frames| f64::from(frames) * f64::from(self.tcp.mss)),
            remembers: true,
            halves: size_of::<Sender>() + size_of::<Receiver>(),
            ..FluidModel::new(world, self.frames(), 1.0)
        }
    }
}

impl Transport for Pfabric {
    type Sender = Sender;
    type Receiver = Receiver;
    const MARK: u32 = PFABRIC;

    fn senders(halves: &mut Halves) -> &mut Slab<Sender> {
        &mut halves.pfabric.senders
    }
    fn receivers(halves: &mut Halves) -> &mut Slab<Receiver> {
        &mut halves.tcp.receivers
    }

    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, mut opening: Opening) {
        let id = opening.id;
        let flow = shard.world.flow(id);
        let config = shard.settings::<spec::Pfabric>(flow.transport);
        let (mut connected, mut kept) = (true, None);
        if config.pooled {
            match shard.transports.pfabric.pools.entry((flow.src, flow.dst)) {
                std::collections::hash_map::Entry::Vacant(first) => {
                    first.insert(Default::default());
                }
                std::collections::hash_map::Entry::Occupied(mut known) => {
                    kept = known.get_mut().pop_front();
                    connected = kept.is_some();
                    // In the authors' scripts all connections that are opened later have flow
                    // number 0, so the queues see those between two hosts as one flow.
                    opening.hash = kept
                        .as_ref()
                        .map_or(shard.world.pair_hash(flow.src, flow.dst), |kept| kept.hash);
                }
            }
        }
        let setup = SenderSetup {
            half: Sending::new(shard.world, &opening, now),
            bytes: flow.bytes,
            ecn: shard.agreed_ecn(flow, &config.tcp),
            connected,
            kept,
        };
        let slot = shard.open_sender::<Pfabric>(id, Sender::new(setup, config));
        if connected {
            shard.pump_pfabric(out, now, slot, Cause::Start, config)
        } else {
            shard.send_pfabric_syn(out, now, slot, config)
        }
    }

    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame) {
        Tcp::deliver(shard, out, now, frame);
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.on_pfabric_wake(out, now, slot);
    }

    fn receiver_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        Tcp::receiver_due(shard, out, now, slot);
    }

    fn sampled(shard: &mut Shard, _: u64, _: FlowId, slot: u32, found: &mut Vec<SenderRecord>) {
        found.push(shard.transports.pfabric.senders[slot].known());
    }

    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        match frame.kind() {
            Frame::ACK => Content::bare(
                CaptureKind::TcpAck,
                (frame.seq as u64 * shard.world.shape(flow).payload as u64).min(flow.bytes),
                0,
            ),
            Frame::CONTROL => Content::bare(CaptureKind::TcpControl(Control::of(frame)), 0, 0),
            _ => Content::data(shard, flow, frame, CaptureKind::TcpData),
        }
    }
}

impl Shard<'_> {
    pub fn is_pooled(&self, transport: u16) -> bool {
        matches!(&self.world.plan.transports[transport as usize], TransportConfig::Pfabric(config) if config.pooled)
    }

    fn send_pfabric_syn<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        config: &spec::Pfabric,
    ) {
        self.transports.pfabric.senders[slot].syn_sent(now, config);
        self.send_pfabric_control(out, now, slot, Control::Syn, 0);
        self.arm_pfabric(out, slot);
    }

    fn send_pfabric_control<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        what: Control,
        rank: u32,
    ) {
        let s = &self.transports.pfabric.senders[slot];
        let (node, mut frame) = (
            s.half.node,
            self.control(s.half.flow, what, (s.half.dst, s.half.hash, s.half.priority), s.ecn),
        );
        if what == Control::Syn {
            // ECN has not been agreed on yet (RFC 3168 §6.1.1; the authors' hosts behave alike), so
            // marking queues drop the SYN. The SYN-ACK is ECN-capable there.
            frame.flags &= !Frame::ECT;
        }
        if rank > 0 {
            frame.aux = rank;
            frame.flags |= Frame::RANKED;
        }
        self.send(out, now, node, frame);
    }

    #[cold]
    #[inline(never)]
    pub fn on_pfabric_connected<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let config = self.settings(self.transports.pfabric.senders[slot].half.transport);
        if let Some(cause) = self.transports.pfabric.senders[slot].on_connected(now, config) {
            self.pump_pfabric(out, now, slot, cause, config);
        }
    }

    #[inline(never)]
    pub fn on_pfabric_ack<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, ack: &AckIn) {
        let config = self.settings(self.transports.pfabric.senders[slot].half.transport);
        if !self.pacers.is_empty() && ack.ece {
            let (node, flow) = (
                self.transports.pfabric.senders[slot].half.node,
                self.transports.pfabric.senders[slot].half.flow,
            );
            self.echo_to_pacer(now, node, flow);
        }
        let cause = self.transports.pfabric.senders[slot].on_ack(now, ack, config);
        if !self.transports.pfabric.senders[slot].finished() {
            return self.pump_pfabric(out, now, slot, cause, config);
        }
        let s = &self.transports.pfabric.senders[slot];
        if config.pooled {
            let pair = (self.nodes[s.half.node as usize].id, s.half.dst);
            let kept = s.keep();
            self.transports.pfabric.pools.entry(pair).or_default().push_back(kept);
        }
        self.end_sender::<Pfabric>(slot, Some(now));
    }

    fn on_pfabric_wake<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let s = &self.transports.pfabric.senders[slot];
        if s.deadline == 0 || s.deadline > now {
            return self.arm_pfabric(out, slot);
        }
        self.counters.timeouts += 1;
        let config = self.settings(self.transports.pfabric.senders[slot].half.transport);
        match self.transports.pfabric.senders[slot].on_wake(now, config) {
            Expired::TimedOut => self.pump_pfabric(out, now, slot, Cause::Timeout, config),
            Expired::Probe(rank) => {
                self.send_pfabric_control(out, now, slot, Control::AskWindow, rank);
                self.arm_pfabric(out, slot);
            }
            Expired::Syn => {
                self.counters.retransmits += 1;
                self.send_pfabric_syn(out, now, slot, config);
            }
        }
    }

    /// Sends the segments that the window allows, and sets the timer.
    fn pump_pfabric<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        slot: u32,
        cause: Cause,
        config: &spec::Pfabric,
    ) {
        while let Some(Transmit { seq, retransmission, rank }) =
            self.transports.pfabric.senders[slot].transmit(now, cause, config)
        {
            let s = &self.transports.pfabric.senders[slot];
            let capable = s.ecn == EcnMode::Dctcp || (s.ecn == EcnMode::Classic && !retransmission);
            let kind = Frame::DATA | if capable { Frame::ECT } else { 0 };
            let mut frame = s.half.data(self.world, kind, seq, retransmission, config.tcp.mss);
            let node = s.half.node;
            self.counters.retransmits += retransmission as u64;
            if rank > 0 && self.record_paths {
                frame.aux = self.extras.insert(Extra { edge: u32::MAX, rank, ..Extra::default() });
                frame.flags |= Frame::EXTRA;
            } else if rank > 0 {
                frame.aux = rank;
                frame.flags |= Frame::RANKED;
            }
            if !self.pacers.is_empty() && self.is_paced(out, now, node, &frame) {
                continue;
            }
            self.send(out, now, node, frame);
        }
        self.arm_pfabric(out, slot);
    }

    /// Schedules a sender's timer event.
    #[inline(always)]
    fn arm_pfabric<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let wake = self.transports.pfabric.senders[slot].deadline;
        self.arm_sender::<Pfabric>(out, slot, wake);
    }
}
