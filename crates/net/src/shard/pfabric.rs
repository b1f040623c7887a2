//! Hosts with pFabric's transport, or the TCP it was made from.

use super::host::arm;
use super::{OVER, Outlet, PFABRIC, SentRecord, Shard, own_event, set_slot};
use crate::frame::{Control, Event, Extra, Frame};
use crate::idle::Idle;
use crate::spec::{EcnMode, FlowId, Pfabric, TransportConfig};
use crate::transport::pfabric::{Expired, Sender, SenderSetup, Transmit};
use crate::transport::tcp::{AckIn, Cause};

impl<'a> Shard<'a> {
    fn pfabric(&self, transport: u16) -> &'a Pfabric {
        match &self.world.plan.transports[transport as usize] {
            TransportConfig::Pfabric(config) => config,
            _ => unreachable!("a flow of another transport"),
        }
    }

    pub(super) fn is_pooled(&self, transport: u16) -> bool {
        matches!(&self.world.plan.transports[transport as usize], TransportConfig::Pfabric(config) if config.pooled)
    }

    pub(super) fn start_pfabric<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, id: FlowId, idle: Idle, config: &Pfabric) {
        let plan = self.world.plan;
        let flow = self.world.flow(id);
        let (mut connected, mut kept, mut hash) = (true, None, self.world.flow_hash(flow, false));
        if config.pooled {
            match self.pools.entry((flow.src, flow.dst)) {
                std::collections::hash_map::Entry::Vacant(first) => {
                    first.insert(Default::default());
                }
                std::collections::hash_map::Entry::Occupied(mut known) => {
                    kept = known.get_mut().pop_front();
                    connected = kept.is_some();
                    // The authors' scripts number all connections that are opened later 0: between two hosts they are one flow to the queues.
                    hash = kept.as_ref().map_or(self.world.pair_hash(flow.src, flow.dst), |kept| kept.hash);
                }
            }
        }
        let setup = SenderSetup {
            flow: id,
            transport: flow.transport,
            node,
            dst: flow.dst,
            hash,
            priority: flow.priority,
            segments: self.world.shape(flow).count as u32,
            bytes: flow.bytes,
            idle,
            ecn: self.agreed_ecn(flow.dst, &config.tcp),
            explain: plan.record.explain,
            connected,
            kept,
        };
        let slot = self.pfabrics.insert(Sender::new(setup, now, config));
        set_slot(&mut self.sending, id, slot | PFABRIC);
        if connected { self.pump_pfabric(out, now, slot, Cause::Start, config) } else { self.send_pfabric_syn(out, now, slot, config) }
    }

    fn send_pfabric_syn<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, config: &Pfabric) {
        self.pfabrics[slot].syn_sent(now, config);
        self.send_pfabric_control(out, now, slot, Control::Syn, 0);
        self.arm_pfabric(out, slot);
    }

    fn send_pfabric_control<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, what: Control, rank: u32) {
        let s = &self.pfabrics[slot];
        let (node, mut frame) = (s.node, self.control(s.flow, what, (s.dst, s.hash, s.priority), s.ecn));
        if what == Control::Syn {
            // Nothing has been agreed on yet (RFC 3168 §6.1.1; so do the authors' hosts): marking queues drop it. The answer is ECN-capable there.
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
    pub(super) fn on_pfabric_connected<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let config = self.pfabric(self.pfabrics[slot].transport);
        if let Some(cause) = self.pfabrics[slot].on_connected(now, config) {
            self.pump_pfabric(out, now, slot, cause, config);
        }
    }

    #[inline(never)]
    pub(super) fn on_pfabric_ack<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, ack: &AckIn) {
        let config = self.pfabric(self.pfabrics[slot].transport);
        if !self.pacers.is_empty() && ack.ece {
            let (node, flow) = (self.pfabrics[slot].node, self.pfabrics[slot].flow);
            self.echo_to_pacer(now, node, flow);
        }
        let cause = self.pfabrics[slot].on_ack(now, ack, config);
        if !self.pfabrics[slot].finished() {
            return self.pump_pfabric(out, now, slot, cause, config);
        }
        let s = &self.pfabrics[slot];
        let flow = s.flow;
        self.harvest.sent.push(pfabric_record(s, Some(now)));
        if config.pooled {
            let pair = (self.nodes[s.node as usize].id, s.dst);
            let kept = s.keep();
            self.pools.entry(pair).or_default().push_back(kept);
        }
        self.pfabrics.remove(slot);
        self.sending[flow as usize] = OVER;
        self.live -= 1;
        self.flows_done += 1;
    }

    pub(super) fn on_pfabric_wake<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let s = &mut self.pfabrics[slot];
        if s.armed != now {
            return;
        }
        s.armed = 0;
        if s.deadline == 0 || s.deadline > now {
            return self.arm_pfabric(out, slot);
        }
        self.counters.timeouts += 1;
        let config = self.pfabric(self.pfabrics[slot].transport);
        match self.pfabrics[slot].on_wake(now, config) {
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

    /// Sends what the window allows, and sees to the timer.
    fn pump_pfabric<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32, cause: Cause, config: &Pfabric) {
        while let Some(Transmit { seq, retransmission, rank }) = self.pfabrics[slot].transmit(now, cause, config) {
            let s = &self.pfabrics[slot];
            let (node, flow) = (s.node, s.flow);
            let mut flags = Frame::DATA | s.priority as u16;
            if s.ecn == EcnMode::Dctcp || (s.ecn == EcnMode::Classic && !retransmission) {
                flags |= Frame::ECT;
            }
            if retransmission {
                flags |= Frame::RETRANSMISSION;
                self.counters.retransmits += 1;
            }
            let wire = &self.world.plan.wire;
            let size = (self.world.payload(flow, seq, config.tcp.mss) + wire.data_header).max(wire.min_frame);
            let mut frame = Frame { flow, seq, dst: s.dst, hash: s.hash, size, flags, ..Frame::default() };
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

    /// Sees to a sender's timer.
    #[inline(always)]
    fn arm_pfabric<O: Outlet>(&mut self, out: &mut O, slot: u32) {
        let ports = self.ports.len();
        let s = &mut self.pfabrics[slot];
        arm(out, s.deadline, &mut s.armed, own_event(ports, s.node, s.flow, Event::Sender));
    }
}

pub(super) fn pfabric_record(s: &Sender, finish: Option<u64>) -> SentRecord {
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
