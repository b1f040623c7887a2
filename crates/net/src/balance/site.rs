//! What a balancer may ask of the switch it runs on, and do there.

use super::{BalanceCounters, Tag};
use crate::frame::Frame;
use crate::spec::{FlowId, NodeId};

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Source,
    Destination,
}

/// A switch at one moment. Whatever is asked for is exact at [`Site::now`]: all that ended before or at it has been accounted for, under
/// either engine.
pub trait Site {
    fn now(&self) -> u64;
    /// The rack whose hosts hang on this switch, if it is a ToR.
    fn rack(&self) -> Option<u32>;
    fn rack_of(&self, host: u32) -> u32;
    /// This switch.
    fn node(&self) -> NodeId;
    /// The ToR of a host.
    fn tor_of(&self, host: u32) -> NodeId;
    /// The other end of the link by which the frame has come.
    fn came_from(&self, frame: &Frame) -> NodeId;
    /// The host that the frame comes from.
    fn source_of(&self, frame: &Frame) -> u32;
    /// What stands for the flow's addresses and ports in a table that is keyed as ConWeave's ns-3 simulator keys it: it leaves out the source's
    /// address, and a priority group is or-ed into the destination's port.
    fn ns3_key(&self, flow: FlowId) -> u64;
    /// All shortest paths from this ToR to another rack's, ascending; see [`crate::paths`].
    fn paths(&self, rack: u32) -> &[u32];
    /// How often the routes have changed since the start of the run.
    fn epoch(&self) -> usize;
    /// The routes are not those of the start of the run.
    fn rerouted(&self) -> bool {
        self.epoch() > 0
    }
    /// Next hops to a host at the start of the run.
    fn members(&self, host: u32) -> &[u16];
    /// Bits per second of the shortest paths behind a next hop to a host's rack, its own link included.
    fn capacity(&self, port: u16, host: u32) -> u64;
    /// At the other end of the port's link.
    fn peer(&self, port: u16) -> NodeId;
    /// The frame's hash at this switch, over all of 32 bits.
    fn hash(&self, frame: &Frame) -> u32;
    /// Bytes in the queues of one of this switch's ports, as its buffer counts them.
    fn queued(&mut self, port: u16) -> u64;
    /// Of those, what goes before a new frame of this priority, or with it.
    fn queued_ahead(&mut self, port: u16, priority: u8) -> u64;
    /// Bytes whose transmission by the port has begun, since the start of the run.
    fn sent(&mut self, port: u16) -> u64;
    /// Uniform in `0..n`, from the switch's own stream.
    fn below(&mut self, n: u64) -> u64;
    /// What the frame carries for balancers; it gets one if it has none.
    fn tag(&mut self, frame: &mut Frame) -> &mut Tag;
    /// Takes it off again.
    fn take_tag(&mut self, frame: &mut Frame) -> Tag;
    /// Sends a frame from this switch to the ToR of host `to`, which consumes it ([`super::Policy::on_control_frame`]): `seq` and `tag` are the
    /// balancer's, `flow` the one concerned. It takes the way of the flow's acknowledgements.
    fn send(&mut self, to: u32, flow: FlowId, seq: u32, size: u16, priority: u8, tag: Tag);
    /// A frame that was held ([`super::Choice::Held`]) goes on.
    fn release(&mut self, frame: Frame);
    /// [`super::Policy::on_wake`] is called at `at`, not before now, with `key`. What wakes cannot be taken back: whoever is woken looks whether
    /// it is still wanted.
    fn wake(&mut self, at: u64, key: u32);
    /// The run does not end before the balancer says `false`.
    fn keep_running(&mut self, keep: bool);
    fn counters(&mut self) -> &mut BalanceCounters;
}

/// What those may ask and do besides that hold frames back at the ToR of their destination.
pub trait Holding: Site {
    /// The host that they go to.
    fn destination_of(&self, flow: FlowId) -> u32;
    /// From this ToR to that of a rack by one of [`Site::paths`]: what a frame without length would take.
    fn propagation(&self, path: u32, rack: u32) -> u64;
    /// A list by flow, as long as need be, for the ToR at this end of it.
    fn slots(&mut self, end: End) -> &mut Vec<u32>;
    /// Bytes of header that the frame gets on its way between the ToRs, and loses again.
    fn grow(&mut self, frame: &mut Frame, header: u16);
    fn shrink(&mut self, frame: &mut Frame, header: u16);
    /// A frame is to be held, in a queue of its own at `port` that holds so many frames and bytes: charges it to the switch's memory, or drops it
    /// if there is no room.
    fn charge(&mut self, frame: &Frame, port: u16, length: (u32, u64)) -> bool;
    /// One that was charged goes on by that port. There is room for it.
    fn release_charged(&mut self, frame: Frame, port: u16);
}
