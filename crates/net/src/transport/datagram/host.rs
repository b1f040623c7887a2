//! Connects datagram flows to hosts.

use super::keys::Config;
use super::{Datagram, Sink, Source};
use crate::expected::FluidModel;
use crate::frame::{Event, Frame};
use crate::probe::explain::{Attribution, Label};
use crate::record::CaptureKind;
use crate::shard::capture::Content;
use crate::shard::host::Carried;
use crate::shard::{NOT_YET, Outlet, ReceivedRecord, SentRecord, Shard};
use crate::spec::{Flow, FlowId, TransportConfig};
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::requirements::{Capable, Ecn, Hash, HostTiming, Requirements};
use crate::world::World;

impl Parameters for Config {
    fn requirements(&self) -> Requirements {
        let capable = if self.ecn_capable { Capable::All } else { Capable::None };
        Requirements {
            ecn: Ecn { capable, reacts: true, ..Ecn::default() },
            hash: Hash::Path,
            timing: HostTiming::Any,
            ..Requirements::default()
        }
    }
    fn is_limited(&self) -> bool {
        self.rate.is_some()
    }
    fn repairs(&self) -> bool {
        false
    }
    fn frames(&self) -> Frames {
        Frames { answer: None, ..Frames::plain(self.payload) }
    }
    fn fluid_model(&self, world: &World) -> FluidModel {
        FluidModel {
            rate: self.rate.map_or(f64::INFINITY, |rate| rate.0 as f64 / 8.0),
            yields: false,
            marked: self.ecn_capable,
            halves: size_of::<Source>() + size_of::<Sink>(),
            ..FluidModel::new(world, self.frames(), 0.0)
        }
    }
}

impl Transport for Datagram {
    fn start<O: Outlet>(
        shard: &mut Shard,
        out: &mut O,
        now: u64,
        Opening { id, node, hash, idle, .. }: Opening,
    ) {
        let flow = shard.world.flow(id);
        let slot = shard.transports.datagram.sources.insert(Source {
            flow: id,
            node,
            dst: flow.dst,
            hash,
            priority: flow.priority,
            start: now,
            next: 0,
            frames: shard.world.shape(flow).count as u32,
            idle,
            why: shard.world.plan.record.explain.then(|| Attribution::new(now)),
        });
        shard.opened(id, slot);
        shard.on_send(out, now, id);
    }

    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, mut frame: Frame) {
        let Carried { paused, tag, .. } = shard.take_extra(&mut frame);
        if shard.is_from_outside(&frame) {
            return shard.leave_outside(now, &frame);
        }
        let mut slot = shard.receiving_slot(frame.flow);
        if slot == NOT_YET {
            let flow = shard.world.flow(frame.flow);
            let expected = shard.world.shape(flow).count as u32;
            slot = shard.transports.datagram.sinks.insert(Sink {
                flow: frame.flow,
                frames: 0,
                expected,
                highest: 0,
                marked: 0,
                reordered: 0,
                has_last: false,
                last: 0,
            });
            shard.note_receiver(frame.flow, slot);
        }
        if shard.record_paths {
            shard.count_path(&frame, 0);
        }
        let s = &mut shard.transports.datagram.sinks[slot];
        s.frames += 1;
        s.last = now;
        s.marked += frame.has(Frame::CE) as u64;
        if frame.seq < s.highest {
            s.reordered += 1;
            shard.counters.balance.late.count(false, tag);
        }
        s.highest = s.highest.max(frame.seq);
        s.has_last |= frame.seq + 1 == s.expected;
        if s.frames == s.expected {
            let record = s.record(Some(now), paused);
            shard.transports.datagram.sinks.remove(slot);
            shard.receiving_over(out, now, record);
        }
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, flow: FlowId, _: u32) {
        shard.on_send(out, now, flow);
    }

    fn give_up<O: Outlet>(shard: &mut Shard, _: &mut O, now: u64, _: FlowId, slot: u32) {
        let record =
            SentRecord { given_up: Some(now), ..shard.transports.datagram.sources[slot].record() };
        shard.transports.datagram.sources.remove(slot);
        shard.sending_over(record);
    }

    fn unfinished(shard: &mut Shard, _: FlowId, slot: u32) -> Option<SentRecord> {
        Some(shard.transports.datagram.sources[slot].record())
    }

    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        Content::data(shard, flow, frame, CaptureKind::Datagram)
    }

    fn incomplete(shard: &Shard, slot: u32) -> ReceivedRecord {
        shard.transports.datagram.sinks[slot].record(None, 0)
    }
}

impl Shard<'_> {
    /// Sends the next frame of a datagram source, which is due now.
    fn on_send<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId) {
        let slot = self.sending[flow as usize];
        let plan = self.world.plan;
        let TransportConfig::Datagram(config) =
            &plan.transports[self.world.flow(flow).transport as usize]
        else {
            unreachable!("a datagram source")
        };
        let shape = self.world.shape(self.world.flow(flow));
        self.last = self.last.max(now);
        let s = &mut self.transports.datagram.sources[slot];
        let seq = s.next;
        s.next += 1;
        let last = s.next == s.frames;
        let time = if last { s.idle.slowest_last } else { s.idle.slowest_full };
        if let Some(why) = &mut s.why {
            why.on_sent(now, Label::Pacing, 0, time, false);
        }
        let mut flags = Frame::DATAGRAM | s.priority as u16;
        if config.ecn_capable {
            flags |= Frame::ECT;
        }
        let (node, dst, hash) = (s.node, s.dst, s.hash);
        let nic = self.ports[self.nodes[node as usize].first_port as usize].serialize(shape.full);
        let due = self.transports.datagram.sources[slot].due(seq + 1, config, nic);
        let frame = Frame {
            flow,
            seq,
            dst,
            hash,
            size: if last { shape.last } else { shape.full },
            flags,
            ..Frame::default()
        };
        self.send(out, now, node, frame);
        if last {
            let s = self.transports.datagram.sources.remove(slot);
            let record = SentRecord { why: s.why.clone(), ..s.record() };
            self.sending_over(record);
        } else {
            let event = self.event(node, flow, Event::Sender);
            out.event(due, event);
        }
    }
}
