//! Connects datagram flows to hosts.

use super::keys::Config;
use super::{Datagram, Sink};
use crate::expected::FluidModel;
use crate::frame::Frame;
use crate::probe::explain::Label;
use crate::shard::capture::Content;
use crate::shard::host::Carried;
use crate::shard::{Outlet, Shard, Slab};
use crate::spec::{Flow, Settings};
use crate::transport::Halves;
use crate::transport::door::{Frames, Opening, Parameters, Transport};
use crate::transport::requirements::{Capable, Ecn, Hash, HostTiming, Requirements};
use crate::transport::sending::Sending;
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
    fn is_sampled(&self) -> bool {
        false
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
            halves: size_of::<Sending>() + size_of::<Sink>(),
            ..FluidModel::new(world, self.frames(), 0.0)
        }
    }
}

impl Transport for Datagram {
    type Sender = Sending;
    type Receiver = Sink;

    fn senders(halves: &mut Halves) -> &mut Slab<Sending> {
        &mut halves.datagram.senders
    }
    fn receivers(halves: &mut Halves) -> &mut Slab<Sink> {
        &mut halves.datagram.receivers
    }

    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening) {
        let sender = Sending::new(shard.world, &opening, now);
        let slot = shard.open_sender::<Datagram>(opening.id, sender);
        shard.send_datagram(out, now, slot);
    }

    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, mut frame: Frame) {
        let Carried { paused, tag, .. } = shard.take_extra(&mut frame);
        if shard.is_from_outside(&frame) {
            return shard.leave_outside(now, &frame);
        }
        let id = frame.flow;
        let slot = shard.receiver::<Datagram>(id, |shard| Sink::new(id, shard.segments(id)));
        let slot = slot.expect("a sink ends with its last frame");
        if shard.record_paths {
            shard.count_path(&frame, 0);
        }
        let s = &mut shard.transports.datagram.receivers[slot];
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
            s.paused = paused;
            shard.end_receiver::<Datagram>(out, now, slot);
        }
    }

    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32) {
        shard.send_datagram(out, now, slot);
    }

    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content {
        Content::datagram(shard, flow, frame, true)
    }
}

impl Shard<'_> {
    /// Sends the next frame of a datagram source, which is due now.
    fn send_datagram<O: Outlet>(&mut self, out: &mut O, now: u64, slot: u32) {
        let world = self.world;
        self.last = self.last.max(now);
        let s = &mut self.transports.datagram.senders[slot];
        let config = Config::of(&world.plan.transports[s.transport as usize]);
        let seq = s.sent as u32;
        s.on_sent(now, seq, false, (Label::Pacing, 0));
        let last = s.sent == s.segments as u64;
        let ect = if config.ecn_capable { Frame::ECT } else { 0 };
        let frame = s.data(world, Frame::DATAGRAM | ect, seq, false, config.payload);
        let (node, start) = (s.node, s.start);
        let nic = self.full_frame_time(node, world.flow(frame.flow));
        self.send(out, now, node, frame);
        if last {
            self.end_sender::<Datagram>(slot, None);
        } else {
            self.arm_sender::<Datagram>(out, slot, config.due(start, seq + 1, nic));
        }
    }
}
