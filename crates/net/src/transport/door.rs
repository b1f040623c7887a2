//! Interface between transports and the hosts of a shard. A transport is a folder. Its sender and
//! receiver know neither hosts nor engines, and its `host.rs` implements [`Transport`].

pub use super::frames::Frames;
pub use super::sending::Opening;

use super::Halves;
use super::receiving::ReceivingHalf;
use super::requirements::{Requirements, Setting};
use super::sending::SendingHalf;
use crate::expected::{FluidModel, Pace};
use crate::frame::Frame;
use crate::idle::Route;
use crate::record::SenderRecord;
use crate::shard::capture::Content;
use crate::shard::{Outlet, Shard, Slab};
use crate::spec::{Flow, FlowId, Receive, TcpConfig};
use crate::world::World;

/// Entry points of a transport, called by the hosts of a shard. `slot` is the index of the flow's
/// half, which the transport opened with [`Shard::open_sender`] or [`Shard::receiver`].
pub trait Transport: Sized {
    type Sender: SendingHalf;
    type Receiver: ReceivingHalf;
    /// Bit that marks the slots of this transport's halves, if its frames have kinds of TCP.
    const MARK: u32 = 0;
    /// True if all flows that end at a host share one receiver timer, which fires in the name of
    /// one of them.
    const SHARES_RECEIVER_TIMER: bool = false;

    fn senders(halves: &mut Halves) -> &mut Slab<Self::Sender>;
    fn receivers(halves: &mut Halves) -> &mut Slab<Self::Receiver>;
    /// Starts a flow at its source.
    fn start<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, opening: Opening);
    /// Handles a frame of this transport that has reached its destination.
    fn deliver<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, frame: Frame);
    /// Handles the timer of a flow's sending half ([`crate::frame::Event::Sender`]), which is due.
    fn sender_due<O: Outlet>(shard: &mut Shard, out: &mut O, now: u64, slot: u32);
    /// Handles the timer of a flow's receiving half ([`crate::frame::Event::Receiver`]).
    fn receiver_due<O: Outlet>(_: &mut Shard, _: &mut O, _: u64, _slot: u32) {
        unreachable!("a timer that was never set");
    }
    /// Ends the sender of a flow before all data are acknowledged. It sends no more frames, except
    /// those that release resources in the network.
    fn give_up<O: Outlet>(shard: &mut Shard, _: &mut O, now: u64, slot: u32) {
        shard.abandon_sender::<Self>(now, slot);
    }
    /// Adds the state of the sender of a flow that is not over, with one record per subflow, if
    /// data are outstanding or left to send.
    fn sampled(_: &mut Shard, _now: u64, _: FlowId, _slot: u32, _: &mut Vec<SenderRecord>) {}
    /// Returns what a packet capture records about a frame of this transport.
    fn captured(shard: &Shard, flow: &Flow, frame: &Frame) -> Content;
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
    /// Returns what the transport requires of hosts, queues and paths.
    fn requirements(&self) -> Requirements;
    /// Returns the keys that other settings of the transport, or hosts of which each has one NIC
    /// (`_one_nic`), make meaningless, each with the reason and a cure.
    fn unused(&self, _one_nic: bool) -> Vec<Setting> {
        Vec::new()
    }
    /// True if the transport's flows know how long their frames waited in their own host.
    fn reports_host_queueing(&self) -> bool {
        false
    }
    /// Returns the TCP settings and the receive window of a connection, for transports whose
    /// captures have TCP headers.
    fn segments(&self) -> Option<(&TcpConfig, Receive)> {
        None
    }
    /// True if the states of its senders can be recorded.
    fn is_sampled(&self) -> bool {
        true
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
