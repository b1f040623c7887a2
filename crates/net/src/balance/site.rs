//! What a balancer may ask of the switch it runs on, and do there.

use super::{BalanceCounters, Tag};
use crate::frame::Frame;
use crate::spec::{FlowId, NodeId};

/// A switch at one moment. Whatever is asked for is exact at [`Site::now`]: all that ended before or at it has been accounted for, under
/// either engine.
pub trait Site {
    fn now(&self) -> u64;
    /// The switch.
    fn node(&self) -> NodeId;
    /// The rack whose hosts hang on this switch, if it is a ToR.
    fn rack(&self) -> Option<u32>;
    fn rack_of(&self, host: u32) -> u32;
    /// The host that a flow's data come from.
    fn source_of(&self, flow: FlowId) -> u32;
    /// What stands for the flow's addresses and ports in a table that is keyed as ConWeave's ns-3 simulator keys it: it leaves out the source's
    /// address, and a priority group is or-ed into the destination's port.
    fn ns3_key(&self, flow: FlowId) -> u64;
    /// All shortest paths from this ToR to another rack's, ascending; see [`crate::paths`].
    fn paths(&self, rack: u32) -> &[u32];
    /// The routes are not those of the start of the run.
    fn rerouted(&self) -> bool;
    /// Bytes in the queues of one of this switch's ports, as its buffer counts them.
    fn queued(&mut self, port: u16) -> u64;
    /// Bytes whose transmission by the port has begun, since the start of the run.
    fn sent(&mut self, port: u16) -> u64;
    /// Bits per second.
    fn rate(&self, port: u16) -> u64;
    /// Uniform in `0..n`, from the switch's own stream.
    fn below(&mut self, n: u64) -> u64;
    /// What the frame carries for balancers; it gets one if it has none.
    fn tag(&mut self, frame: &mut Frame) -> &mut Tag;
    /// Takes it off again.
    fn take_tag(&mut self, frame: &mut Frame) -> Tag;
    /// Sends a frame from this switch to the ToR of host `to`, which consumes it ([`super::Balancer::told`]): `seq` and `tag` are the
    /// balancer's, `flow` the one concerned. It takes the way of the flow's acknowledgements.
    fn send(&mut self, to: u32, flow: FlowId, seq: u32, size: u16, priority: u8, tag: Tag);
    /// A frame that was held ([`super::Choice::Held`]) goes on.
    fn release(&mut self, frame: Frame);
    /// [`super::Balancer::woken`] is called at `at`, not before now, with `key`. What wakes cannot be taken back: whoever is woken looks whether
    /// it is still wanted.
    fn wake(&mut self, at: u64, key: u32);
    fn counters(&mut self) -> &mut BalanceCounters;
}
