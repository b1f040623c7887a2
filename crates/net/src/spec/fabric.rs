//! Nodes and links.

use afflux_units::{Probability, Rate, Span, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Index into [`Topology::nodes`]. Hosts come first, in rack order: host `h` is node `h`.
pub type NodeId = u32;
/// Index into [`Topology::links`].
pub type LinkId = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    Host,
    Switch,
}

#[derive(Debug, Clone)]
pub struct Node {
    /// Unique, as written in results: as the scenario names it, else `host0`, `leaf3`, `spine1`, `edge0`, `agg0`, `core0`, `switch0`.
    pub name: String,
    pub kind: NodeKind,
    /// Index into `Plan::hosts` or `Plan::switches`.
    pub config: u32,
    /// Rack or pod: nodes of one group are kept in one partition. `None` for spines and cores, which are spread.
    pub group: Option<u32>,
    /// Height above the hosts: 0 host, 1 ToR/leaf/edge, 2 aggregation or spine, 3 core.
    pub tier: u8,
}

/// A full-duplex link. The order of links fixes the port numbers: a node's ports are numbered from 0 in the order in
/// which its links appear.
#[derive(Debug, Clone)]
pub struct Link {
    pub a: NodeId,
    pub b: NodeId,
    pub rate: Rate,
    /// Propagation delay, one way; never zero.
    pub delay: Span,
    /// Probability that a frame is lost on the wire, each direction.
    pub loss: Probability,
    /// When the link is down, sorted and disjoint. A frame that is on the wire at any moment of an interval is lost.
    pub down: Vec<Down>,
}

/// The link is down in `from..to`. Switches stop using it for new decisions from `from + detect` until `to + detect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Down {
    pub from: Time,
    /// `None`: never comes up again.
    pub to: Option<Time>,
    /// How long neighbours take to notice a change.
    pub detect: Span,
}

#[derive(Debug, Clone, Default)]
pub struct Topology {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    /// Nodes `0..hosts` are hosts.
    pub hosts: u32,
    /// Hosts forward what is not for them, by the same rules as switches.
    pub relays: bool,
    /// Addresses that hosts have outside; most have none.
    pub addresses: BTreeMap<IpAddr, NodeId>,
}

impl Topology {
    /// What comes to `node` for others goes on.
    pub fn forwards(&self, node: NodeId) -> bool {
        self.relays || self.nodes[node as usize].kind == NodeKind::Switch
    }
}
