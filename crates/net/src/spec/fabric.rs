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
    /// From `a` to `b`; in the other direction as well, unless that has a rate of its own.
    pub rate: Rate,
    pub rate_back: Option<Rate>,
    /// Propagation delay, one way; never zero.
    pub delay: Span,
    /// Probability that a frame is lost on the wire, likewise.
    pub loss: Probability,
    pub loss_back: Option<Probability>,
    /// Longest frame, without preamble and gap, that the ports at its ends accept: longer ones are discarded where they arrive.
    pub longest: Option<u16>,
    /// When the link is down, sorted and disjoint. A frame that is on the wire at any moment of an interval is lost.
    pub down: Vec<Down>,
}

impl Link {
    /// Between these, alike in both directions.
    pub fn new(a: NodeId, b: NodeId, rate: Rate, delay: Span) -> Link {
        Link { a, b, rate, rate_back: None, delay, loss: Probability::ZERO, loss_back: None, longest: None, down: Vec::new() }
    }

    /// The rate from `a` to `b`, or from `b` to `a`.
    pub fn rate_of(&self, reverse: bool) -> Rate {
        self.rate_back.filter(|_| reverse).unwrap_or(self.rate)
    }

    pub fn loss_of(&self, reverse: bool) -> Probability {
        self.loss_back.filter(|_| reverse).unwrap_or(self.loss)
    }

    /// Both, once where they are the same.
    pub fn rates(&self) -> impl Iterator<Item = Rate> {
        std::iter::once(self.rate).chain(self.rate_back.filter(|back| *back != self.rate))
    }
}

/// The link is down in `from..to`. Its ends stop using it for new decisions at `from + detect`; the routes of the whole fabric leave it out from
/// `from + detect + converge` until `to + detect + converge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Down {
    pub from: Time,
    /// `None`: never comes up again.
    pub to: Option<Time>,
    /// How long the nodes at its ends take to notice a change, and all others after that.
    pub detect: Span,
    pub converge: Span,
}

impl Down {
    /// When the ends of the link notice that it is down.
    pub fn noticed(&self) -> u64 {
        (self.from + self.detect).0
    }

    /// From when and until when all know it.
    pub fn known(&self) -> (u64, Option<u64>) {
        let after = |time: Time| (time + self.detect + self.converge).0;
        (after(self.from), self.to.map(after))
    }
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
