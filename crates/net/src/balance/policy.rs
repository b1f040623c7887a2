//! Interface between balancers and switches.

use super::ReorderQueues;
use super::oblivious::Oblivious;
use super::site::Holding;
use super::tag::Tag;
use crate::Model;
use crate::frame::Frame;
use crate::spec::NodeId;

/// Position on a frame's path at which a balancer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// At the ToR of the frame's source, if the frame goes to another rack.
    Source,
    /// Between ToRs.
    Transit,
    /// At the ToR of the frame's destination, if the frame comes from another rack.
    Destination,
}

/// Decision of a balancer about a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The frame leaves by this port, which is one of the next hops.
    Port(u16),
    /// The frame leaves by the next hop that its hash selects.
    Ecmp,
    /// The frame follows the path it is pinned to. It is hashed if it is not pinned, or if that
    /// path's port is no longer a next hop.
    Follow,
    /// The balancer holds the frame until it calls [`super::Site::release`].
    Held,
}

/// A balancer at one switch. The default methods suit balancers without the feature in question.
pub trait Policy: Sized {
    type Config;
    /// Creates a balancer. `ports`: rate in bit/s of each port whose load matters.
    fn new(config: &Self::Config, ports: &[Option<u64>]) -> Self;
    /// True if the balancer selects the path of this inter-rack frame. Other frames are hashed.
    fn selects_path(&self, frame: &Frame) -> bool {
        frame.is_data()
    }
    /// Decides how a frame goes on. `hops`: its next hops in port order.
    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        role: Role,
        hops: &[u16],
    ) -> Choice;
    /// Handles a frame that another balancer has sent to this switch ([`super::Site::send`]).
    fn on_control_frame(&mut self, _site: &mut impl Holding, frame: &Frame, _tag: Tag) {
        unreachable!("frame {frame:?} to a switch that none sends to")
    }
    /// Handles a wake-up that the balancer has requested by [`super::Site::wake`].
    fn on_wake(&mut self, _site: &mut impl Holding, key: u32) {
        unreachable!("woken with {key}, though nothing asks to be woken")
    }
    /// Returns the queues in which frames wait at this switch.
    fn reorder_queues(&self) -> Option<&ReorderQueues> {
        None
    }
    /// True if the waiting frames occupy the switch's memory.
    fn is_charged(&self) -> bool {
        false
    }
    /// Returns the state for the fast path, if the balancer considers nothing but the next hops.
    #[inline(always)]
    fn oblivious(&mut self) -> Option<&mut Oblivious> {
        None
    }
    /// True if the balancer does nothing between ToRs: frames follow the paths that they are pinned
    /// to.
    fn leaves_transit(&self) -> bool {
        false
    }
    /// True if, with these parameters, frames may wait at the ToR of their destination in the
    /// switch's memory.
    fn holds_charged(_config: &Self::Config) -> bool {
        false
    }
    /// Returns the bytes that ToRs add to the data frames between them.
    fn header(_config: &Self::Config) -> u16 {
        0
    }
    /// Returns a key that other parameters make meaningless, and a text with the reason and a cure.
    fn unused(_config: &Self::Config) -> Option<(&'static str, &'static str)> {
        None
    }
    /// True if, with these parameters, the balancer distinguishes flows by addresses and ports.
    fn needs_ports(_config: &Self::Config) -> bool {
        false
    }
}

/// Properties of a balancer that do not depend on its parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    /// True if all frames of a flow take the same path by hash.
    pub hashes: bool,
    /// True if frames of a flow can overtake each other at one switch.
    pub overtakes: bool,
    /// True if it chooses paths for flows, or for parts of flows, whatever the hash of a frame is.
    pub follows_flows: bool,
    /// True if the ToR of a frame's source selects its whole path.
    pub pins: bool,
    /// True if frames can wait for others at the ToR of their destination. Not supported with
    /// cut-through or with virtual output queues.
    pub reorders: bool,
    /// True if switches send control frames of their own, which have priority 7.
    pub controls: bool,
    /// Reason why all switches need this balancer, if they do.
    pub alike: Option<&'static str>,
}

impl About {
    pub const fn of(model: Model) -> Self {
        About {
            model,
            hashes: false,
            overtakes: false,
            follows_flows: false,
            pins: false,
            reorders: false,
            controls: false,
            alike: None,
        }
    }
    pub const fn pinning(model: Model) -> Self {
        let alike = Some(
            "the source's ToR chooses all of a path here, and the switches behind have to follow",
        );
        About { follows_flows: true, pins: true, alike, ..About::of(model) }
    }
}

/// Context in which the keys of a balancer are checked.
pub struct PathContext<'a> {
    /// Number of nodes of the fabric.
    pub nodes: usize,
    /// Returns the switches that match a name, which may contain `*` or `?`, or an error message.
    pub switches: &'a dyn Fn(&str) -> Result<Vec<NodeId>, String>,
    /// True if balancers deviate as in ConWeave's ns-3 simulator.
    pub ns3: bool,
}
