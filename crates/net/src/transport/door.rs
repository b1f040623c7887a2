//! Interface between transports and the hosts of a shard. A transport is a folder. Its sender and
//! receiver know neither hosts nor engines, and its `host.rs` implements [`Transport`].

pub use super::frames::Frames;

use crate::expected::{FluidModel, Pace};
use crate::frame::Frame;
use crate::idle::{Idle, Route};
use crate::queue::aqm::QueueTag;
use crate::record::SenderRecord;
use crate::shard::capture::Content;
use crate::shard::{Outlet, ReceivedRecord, SentRecord, Shard};
use crate::spec::{Flow, FlowId, Pauses, Receive, TcpConfig};
use crate::world::World;

/// Entry points of a transport, called by the hosts of a shard. `slot` is the index that the
/// transport registered for the flow with [`Shard::opened`] (sender) or [`Shard::note_receiver`]
/// (receiver).
pub trait Transport {
    /// True if all flows that end at a host share one receiver timer, which fires in the name of
    /// one of them.
    const SHARES_RECEIVER_TIMER: bool = false;

    /// Starts a flow at its source.
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening);
    /// Handles a frame of this transport that has reached its destination.
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame);
    /// Handles the timer of a flow's sending half ([`crate::frame::Event::Sender`]).
    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, flow: FlowId, slot: u32);
    /// Handles the timer of a flow's receiving half ([`crate::frame::Event::Receiver`]).
    fn receiver_due<O: Outlet>(_: &mut Shard, _: &mut O, _: u64, _slot: u32) {
        unreachable!("a timer that was never set");
    }
    /// Ends the sender of a flow before all data are acknowledged. It sends no more frames, except
    /// those that release resources in the network.
    fn give_up<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, flow: FlowId, slot: u32);
    /// Returns the record of a flow that has not ended at its source when the run ends.
    fn unfinished(shard: &mut Shard, flow: FlowId, slot: u32) -> Option<SentRecord>;
    /// Adds the state of the sender of a flow that is not over, with one record per subflow, if
    /// data are outstanding or left to send.
    fn senders(_: &mut Shard, _now: u64, _: FlowId, _slot: u32, _: &mut Vec<SenderRecord>) {}
    /// Returns what a packet capture records about a frame of this transport.
    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content;
    /// Returns the record of a flow that has not ended at its destination when the run ends.
    fn incomplete(shard: &Shard, slot: u32) -> ReceivedRecord;
}

/// Properties of a configured transport that other parts of the simulator need.
pub trait Parameters {
    fn frames(&self) -> Frames;
    /// Returns the behaviour of the transport's flows for the flow-level model, which simulates no
    /// frames.
    fn fluid_model(&self, world: &World) -> FluidModel;
    /// Returns the paths that a flow takes.
    fn routes(&self, world: &World, flow: &Flow) -> Vec<Route> {
        vec![Route::of(world, flow)]
    }
    /// Returns the fluid model of the rate control, if the rate reacts to marks. `_line` is the
    /// rate of the flow's NIC in bytes per second.
    fn pace(&self, _line: f64) -> Option<Box<dyn Pace + '_>> {
        None
    }
    /// True if the hash on the transport's frames only chooses their path.
    fn hashes_for_paths(&self) -> bool {
        false
    }
    /// True if the transport's senders spread the frames of one flow over all paths.
    fn spreads(&self) -> bool {
        false
    }
    /// True if the transport's data frames are ECN-capable. `_agreed`: both hosts use ECN.
    fn is_capable(&self, _agreed: bool) -> bool {
        false
    }
    /// True if the transport's data frames are ECN-capable and the sender reacts to marks.
    /// Datagrams count too: whoever makes them ECN-capable wants to see the marks.
    fn reacts_to_marks(&self, agreed: bool) -> bool {
        self.is_capable(agreed)
    }
    /// Returns the key of the setting that does not work without marks, and the name of the
    /// mechanism.
    fn requires_marks(&self) -> Option<(&'static str, String)> {
        None
    }
    /// Returns the key of the setting that uses deadlines, and the behaviour if no flow has one.
    fn requires_deadlines(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// Returns the requirements on the paths of the fabric.
    fn paths(&self) -> Paths {
        Paths::default()
    }
    /// Returns the key of a setting that is useless if there is only one path, its effect in that
    /// case, and a cure.
    fn requires_paths(&self) -> Option<(&'static str, &'static str, &'static str)> {
        None
    }
    /// Returns the hint that the transport's data frames carry for queues, and the warning if no
    /// queue uses it.
    fn queue_tag(&self) -> Option<(QueueTag, &'static str)> {
        None
    }
    /// Returns the requirements on PFC in the switches. `None`: the transport works with and
    /// without PFC.
    fn pauses(&self) -> Option<Pauses> {
        None
    }
    /// Returns the key and the name of the setting that chooses a hash per frame, so that switches
    /// with hash-based load balancing spread the frames.
    fn requires_hashes(&self) -> Option<(&'static str, &'static str)> {
        None
    }
    /// True if the pacer of the host delays the transport's data frames.
    fn is_paced(&self) -> bool {
        false
    }
    /// Returns the kind of host timing for the transport's frames.
    fn timing(&self) -> HostTiming {
        HostTiming::Exact
    }
    /// True if the transport's flows know how long their frames waited in their own host.
    fn reports_host_queueing(&self) -> bool {
        false
    }
    /// True if the transport's frames carry more fields than fit into a frame, and need a record
    /// next to it.
    fn carries_more(&self) -> bool {
        false
    }
    /// Returns the TCP settings and the receive window of a connection, for transports whose
    /// captures have TCP headers.
    fn segments(&self) -> Option<(&TcpConfig, Receive)> {
        None
    }
    /// Returns how many frames out of a data frame and its acknowledgement have options that
    /// captures keep (0 to 2).
    fn with_options(&self) -> u64 {
        0
    }
    /// True if the transport never exceeds a configured sending rate.
    fn is_limited(&self) -> bool {
        false
    }
    /// True if the transport retransmits lost data.
    fn repairs(&self) -> bool {
        true
    }
}

/// Timing model of a host's network stack that a transport is meant for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostTiming {
    /// Idealized model without host delays.
    Exact,
    /// Kernel stack with interrupts and softirqs.
    Kernel,
    /// Network card that sends without the kernel (RDMA).
    Nic,
    /// Takes the timing of the other transports in the scenario.
    Any,
}

/// Requirements of a transport on the paths of the fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paths {
    /// All frames of a flow take one path.
    pub one: bool,
    /// Replies return on the path of the data.
    pub symmetric: bool,
    /// Largest number of links on a path that the headers of frames have room for.
    pub links: Option<u32>,
}

/// Parameters of a flow that starts.
pub struct Opening {
    pub id: FlowId,
    /// Source host, as local index in its shard.
    pub node: u32,
    pub hash: u32,
    pub idle: Idle,
    pub deadline: Option<u64>,
}
