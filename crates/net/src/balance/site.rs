//! View of a switch for balancers: what they can read, and which actions they can take.

use super::{BalanceCounters, Tag};
use crate::frame::Frame;
use crate::spec::{FlowId, NodeId};

/// End of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Source,
    Destination,
}

/// A switch at one instant. All values are exact at [`Site::now`], under either engine: events
/// before and at that time are included.
pub trait Site {
    fn now(&self) -> u64;
    /// Returns the rack of the hosts that are attached to this switch, if it is a ToR.
    fn rack(&self) -> Option<u32>;
    fn rack_of(&self, host: u32) -> u32;
    /// Returns the number of this switch.
    fn node(&self) -> NodeId;
    /// Returns the ToR of a host.
    fn tor_of(&self, host: u32) -> NodeId;
    /// Returns the other end of the link by which the frame arrived.
    fn came_from(&self, frame: &Frame) -> NodeId;
    /// Returns the host that the frame comes from.
    fn source_of(&self, frame: &Frame) -> u32;
    /// Returns a number for the connection of a frame, by which switches tell flows apart (the
    /// 5-tuple). Each subflow of MPTCP has its own.
    fn connection(&self, frame: &Frame) -> u64;
    /// Returns the key of a flow in tables that work as in ConWeave's ns-3 simulator. There the key
    /// lacks the source's address, and the priority group is or-ed into the destination's port.
    fn ns3_key(&self, flow: FlowId) -> u64;
    /// Returns all shortest paths from this ToR to another rack's, ascending. See [`crate::paths`].
    fn paths(&self, rack: u32) -> &[u32];
    /// Returns how often the routes have changed since the start of the run.
    fn epoch(&self) -> usize;
    /// True if the routes have changed since the start of the run.
    fn rerouted(&self) -> bool {
        self.epoch() > 0
    }
    /// Returns the next hops to a host at the start of the run.
    fn members(&self, host: u32) -> &[u16];
    /// Returns the capacity in bit/s of the shortest paths over a next hop to a host's rack
    /// (`World::capacity`).
    fn capacity(&self, port: u16, host: u32) -> u64;
    /// Returns the node at the other end of the port's link.
    fn peer(&self, port: u16) -> NodeId;
    /// Returns the frame's hash at this switch, in the full range of 32 bits.
    fn hash(&self, frame: &Frame) -> u32;
    /// Returns the bytes in the queues of one of this switch's ports, as its buffer counts them.
    fn queued(&mut self, port: u16) -> u64;
    /// Returns how many of these bytes precede a new frame of this priority: those of its queue, of
    /// strict queues that are served before it, and of queues with higher priorities only.
    fn bytes_before(&mut self, port: u16, priority: u8) -> u64;
    /// Returns the bytes whose transmission by the port has begun since the start of the run.
    fn sent(&mut self, port: u16) -> u64;
    /// Draws a uniform number in `0..n` from the switch's own stream.
    fn below(&mut self, n: u64) -> u64;
    /// Returns the balancer tag of the frame. Adds an empty one if there is none.
    fn tag(&mut self, frame: &mut Frame) -> &mut Tag;
    /// Removes and returns the balancer tag of the frame.
    fn take_tag(&mut self, frame: &mut Frame) -> Tag;
    /// Sends a control frame from this switch to the ToR of host `to`, which consumes it
    /// ([`super::Policy::on_control_frame`]). `seq` and `tag` are up to the balancer, `flow` is the
    /// flow concerned. The frame takes the path of the flow's acknowledgements.
    fn send(&mut self, to: u32, flow: FlowId, seq: u32, size: u16, priority: u8, tag: Tag);
    /// Forwards a frame that was held ([`super::Choice::Held`]).
    fn release(&mut self, frame: Frame);
    /// Requests a call of [`super::Policy::on_wake`] with `key` at `at` (ps), which must not be in
    /// the past. A request cannot be cancelled, so the callee has to check whether the wake-up is
    /// still needed.
    fn wake(&mut self, at: u64, key: u32);
    /// Keeps the run from ending until the balancer calls this with `false`.
    fn keep_running(&mut self, keep: bool);
    fn counters(&mut self) -> &mut BalanceCounters;
}

/// Further operations for balancers that hold frames at the ToR of their destination.
pub trait Holding: Site {
    /// Returns the host that the flow's data go to.
    fn destination_of(&self, flow: FlowId) -> u32;
    /// Returns the propagation delay in ps from this ToR to that of a rack by one of
    /// [`Site::paths`].
    fn propagation(&self, path: u32, rack: u32) -> u64;
    /// Returns a list with an entry per flow for the ToR at this end of it. The balancer extends it
    /// as needed.
    fn slots(&mut self, end: End) -> &mut Vec<u32>;
    /// `grow` adds `header` bytes to the frame for its path between the ToRs. `shrink` removes
    /// them.
    fn grow(&mut self, frame: &mut Frame, header: u16);
    fn shrink(&mut self, frame: &mut Frame, header: u16);
    /// Charges a frame to the switch's memory that is to be held in its own queue at `port`.
    /// `length`: frames and bytes in that queue. Drops the frame and returns false if there is no
    /// free memory.
    fn charge(&mut self, frame: &Frame, port: u16, length: (u32, u64)) -> bool;
    /// Forwards a held and charged frame by that port, without an admission check.
    fn release_charged(&mut self, frame: Frame, port: u16);
}
