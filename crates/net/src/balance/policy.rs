//! What a balancer is: what it is asked, what it answers, and what is told of it.

use super::ReorderQueues;
use super::oblivious::Oblivious;
use super::site::Holding;
use super::tag::Tag;
use crate::Model;
use crate::frame::Frame;
use crate::spec::NodeId;

/// Where on its way a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// At the ToR of its source, and bound for another rack.
    Source,
    /// Between ToRs.
    Transit,
    /// At the ToR of its destination, and come from another.
    Destination,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// One of the next hops.
    Port(u16),
    /// By hash.
    Ecmp,
    /// As it is pinned; by hash if it is not, or if that is no longer a next hop.
    Follow,
    /// The balancer keeps it, until it calls [`super::Site::release`].
    Held,
}

/// What a balancer does at a switch. Methods without a body of their own are for balancers that do nothing of the kind.
pub trait Policy: Sized {
    type Config;
    /// `ports`: bits per second of each port whose load matters.
    fn new(config: &Self::Config, ports: &[Option<u64>]) -> Self;
    /// It chooses the path of this frame, which goes from rack to rack. Other frames go by hash.
    fn selects_path(&self, frame: &Frame) -> bool {
        frame.is_data()
    }
    /// A frame with these next hops, in port order, is to go on.
    fn choose(&mut self, site: &mut impl Holding, frame: &mut Frame, role: Role, hops: &[u16]) -> Choice;
    /// A frame for this switch has come: see [`super::Site::send`].
    fn on_control_frame(&mut self, _site: &mut impl Holding, frame: &Frame, _tag: Tag) {
        unreachable!("frame {frame:?} to a switch that none sends to")
    }
    /// See [`super::Site::wake`].
    fn on_wake(&mut self, _site: &mut impl Holding, key: u32) {
        unreachable!("woken with {key}, though nothing asks to be woken")
    }
    /// Frames that wait here.
    fn reorder_queues(&self) -> Option<&ReorderQueues> {
        None
    }
    /// They take the switch's memory.
    fn is_charged(&self) -> bool {
        false
    }
    /// The fast path of a balancer that looks at nothing but the next hops.
    #[inline(always)]
    fn oblivious(&mut self) -> Option<&mut Oblivious> {
        None
    }
    /// Between ToRs it does nothing: frames follow the paths they are pinned to.
    fn leaves_transit(&self) -> bool {
        false
    }
    /// Some frames will wait at the ToR of their destination, in the switch's memory.
    fn holds_charged(_config: &Self::Config) -> bool {
        false
    }
    /// It distinguishes flows by addresses and ports.
    fn needs_ports(_config: &Self::Config) -> bool {
        false
    }
}

/// What does not depend on parameters.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    /// Frames of a flow go by hash, all alike.
    pub hashes: bool,
    /// Frames of a flow overtake each other at one switch.
    pub overtakes: bool,
    /// The ToR of a frame's source chooses all of its path.
    pub pins: bool,
    /// Frames wait for others at the ToR of their destination. Not with cut-through, nor with virtual output queues.
    pub reorders: bool,
    /// Why all switches need the same, if they do.
    pub alike: Option<&'static str>,
}

impl About {
    pub const fn of(model: Model) -> Self {
        About { model, hashes: false, overtakes: false, pins: false, reorders: false, alike: None }
    }
    pub const fn pinning(model: Model) -> Self {
        let alike = Some("the source's ToR chooses all of a path here, and the switches behind have to follow");
        About { pins: true, alike, ..About::of(model) }
    }
}

/// What keys are read in.
pub struct Around<'a> {
    /// Nodes of the fabric.
    pub nodes: usize,
    /// The switches that a name with `*` or `?` means, or what is wrong with it.
    pub switches: &'a dyn Fn(&str) -> Result<Vec<NodeId>, String>,
    /// With the deviations of ConWeave's ns-3 simulator.
    pub ns3: bool,
}
