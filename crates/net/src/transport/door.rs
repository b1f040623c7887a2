//! The door between transports and the hosts of a shard. A transport is a folder: its sender and receiver, which know neither hosts nor engines, and
//! `host.rs`, which implements [`Transport`].

use super::{datagram, mptcp, nack, pfabric, rated, rdma, tcp};
use crate::expected::{Habits, Pace};
use crate::frame::Frame;
use crate::idle::{Idle, Route};
use crate::shard::capture::Content;
use crate::shard::{OVER, Outlet, ReceivedRecord, SentRecord, Shard};
use crate::spec::{Flow, FlowId, TransportConfig};
use crate::world::World;
use afflux_engine::prefetch;

/// What hosts ask of a transport. `slot` is what it has set for the flow with [`Shard::opened`] or [`Shard::heard_of`].
pub trait Transport {
    /// A flow starts at its source.
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening);
    /// A frame of one of its kinds has reached its destination.
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame);
    /// The timer of a flow's sending half ([`crate::frame::Event::Sender`]).
    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, flow: FlowId, slot: u32);
    /// The timer of its receiving half ([`crate::frame::Event::Receiver`]).
    fn receiver_due<O: Outlet>(_: &mut Shard, _: &mut O, _: u64, _slot: u32) {
        unreachable!("a timer that was never set");
    }
    /// The record of a flow that has not ended at its source when the run ends.
    fn unfinished(shard: &mut Shard, flow: FlowId, slot: u32) -> Option<SentRecord>;
    /// What a capture says of one of its frames.
    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content;
    /// The record of a flow that has not ended at its destination.
    fn incomplete(shard: &Shard, slot: u32) -> ReceivedRecord;
}

/// What the settings of a transport tell other rooms.
pub trait Parameters {
    fn frames(&self) -> Frames;
    /// What its flows are like to an estimate without frames.
    fn habits(&self, world: &World) -> Habits;
    /// The ways that a flow takes.
    fn routes(&self, world: &World, flow: &Flow) -> Vec<Route> {
        vec![Route::of(world, flow)]
    }
    /// What sets the rate of a flow whose NIC sends so many bytes per second, if it answers to marks.
    fn pace(&self, _line: f64) -> Option<Box<dyn Pace + '_>> {
        None
    }
    /// The hash on its frames serves to choose their path, and nothing else.
    fn hashes_for_paths(&self) -> bool {
        false
    }
    /// Its senders spread the frames of a flow over all paths.
    fn spreads(&self) -> bool {
        false
    }
}

/// Sizes of a transport's frames, in bytes beside those of the host's wire profile.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    /// Payload of a full segment.
    pub payload: u16,
    /// More headers on data.
    pub data: u16,
    /// More headers on what acknowledges them; `None` if nothing does.
    pub answer: Option<u16>,
}

/// A flow that starts.
pub struct Opening {
    pub id: FlowId,
    /// Of its source, in its shard.
    pub node: u32,
    pub hash: u32,
    pub idle: Idle,
    pub deadline: Option<u64>,
}

/// The transports, one line for each: `$call` is evaluated with `$transport` as the one that `$config` belongs to.
macro_rules! transport_of {
    ($config:expr, $transport:ident => $call:expr) => {
        transport_of! { $config, $transport => $call,
            Tcp => tcp::Tcp,
            Mptcp => mptcp::Mptcp,
            Rdma => rdma::Rdma,
            Pfabric => pfabric::Pfabric,
            Pdq => rated::Rated,
            D3 => rated::Rated,
            Datagram => datagram::Datagram,
            Nack => nack::Nack,
        }
    };
    ($config:expr, $transport:ident => $call:expr, $($kind:ident => $type:ty,)*) => {
        match $config {
            $(TransportConfig::$kind(_) => { type $transport = $type; $call })*
        }
    };
}

impl TransportConfig {
    pub fn parameters(&self) -> &dyn Parameters {
        match self {
            TransportConfig::Tcp(tcp) => tcp,
            TransportConfig::Mptcp(mptcp) => mptcp,
            TransportConfig::Rdma(rdma) => rdma,
            TransportConfig::Pfabric(pfabric) => pfabric,
            TransportConfig::Pdq(pdq) => &pdq.rated,
            TransportConfig::D3(d3) => &d3.rated,
            TransportConfig::Datagram(datagram) => datagram,
            TransportConfig::Nack(nack) => nack,
        }
    }
}

/// What a shard keeps of each transport.
#[derive(Default)]
pub struct Halves {
    pub tcp: tcp::Halves,
    pub mptcp: mptcp::Halves,
    pub rdma: rdma::Halves,
    pub pfabric: pfabric::Halves,
    pub rated: rated::Halves,
    pub datagram: datagram::Halves,
    pub nack: nack::Halves,
}

impl Shard<'_> {
    pub fn start_transport<O: Outlet>(&mut self, out: &mut O, now: u64, opening: Opening) {
        let config = &self.world.plan.transports[self.world.flow(opening.id).transport as usize];
        transport_of!(config, T => T::start(self, out, now, opening));
    }

    /// To the transport that the kind of a frame belongs to.
    #[inline(always)]
    pub fn deliver_to_transport<O: Outlet>(&mut self, out: &mut O, now: u64, frame: Frame) {
        match frame.kind() {
            Frame::RDMA_DATA | Frame::RDMA_ACK => rdma::Rdma::deliver(self, out, now, frame),
            Frame::DATA | Frame::ACK | Frame::CONTROL => tcp::Tcp::deliver(self, out, now, frame),
            Frame::RATED => rated::Rated::deliver(self, out, now, frame),
            _ if frame.has(Frame::REPORTED) => nack::Nack::deliver(self, out, now, frame),
            _ => datagram::Datagram::deliver(self, out, now, frame),
        }
    }

    /// Starts loading what [`Self::deliver_to_transport`] will need.
    #[inline(always)]
    pub fn prefetch_half(&self, frame: &Frame) {
        match frame.kind() {
            Frame::RDMA_DATA => {
                prefetch::<2, _>(self.transports.rdma.responders.slots(), self.receiving_slot(frame.flow) as usize);
            }
            Frame::RDMA_ACK => prefetch::<4, _>(self.transports.rdma.pairs.slots(), self.sending[frame.flow as usize] as usize),
            Frame::DATA => prefetch::<2, _>(self.transports.tcp.receivers.slots(), self.receiving_slot(frame.flow) as usize),
            Frame::ACK => prefetch::<6, _>(self.transports.tcp.senders.slots(), self.sending[frame.flow as usize] as usize),
            _ => {}
        }
    }

    pub fn sender_due<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId) {
        let slot = self.sending[flow as usize];
        if slot != OVER {
            let config = &self.world.plan.transports[self.world.flow(flow).transport as usize];
            transport_of!(config, T => T::sender_due(self, out, now, flow, slot));
        }
    }

    pub fn receiver_due<O: Outlet>(&mut self, out: &mut O, now: u64, flow: FlowId) {
        let slot = self.receiving[flow as usize];
        if slot != OVER {
            let config = &self.world.plan.transports[self.world.flow(flow).transport as usize];
            transport_of!(config, T => T::receiver_due(self, out, now, slot));
        }
    }

    pub fn unfinished(&mut self, flow: FlowId, slot: u32) -> Option<SentRecord> {
        let config = &self.world.plan.transports[self.world.flow(flow).transport as usize];
        transport_of!(config, T => T::unfinished(self, flow, slot))
    }

    pub fn incomplete(&self, flow: FlowId, slot: u32) -> ReceivedRecord {
        let config = &self.world.plan.transports[self.world.flow(flow).transport as usize];
        transport_of!(config, T => T::incomplete(self, slot))
    }

    pub fn captured(&self, flow: &Flow, frame: &Frame) -> Content {
        let config = &self.world.plan.transports[flow.transport as usize];
        transport_of!(config, T => T::captured(self, flow, frame))
    }
}
