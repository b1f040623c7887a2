//! Specifies the topology: nodes, links and link failures.

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
    /// Unique name for results: the name in the scenario, otherwise `host0`, `leaf3`, `spine1`,
    /// `edge0`, `agg0`, `core0` or `switch0`.
    pub name: String,
    pub kind: NodeKind,
    /// Index into `Plan::hosts` or `Plan::switches`.
    pub config: u32,
    /// Rack or pod. Nodes of one group stay in one partition. `None` for spines and cores, which
    /// are spread over the partitions.
    pub group: Option<u32>,
    /// Height above the hosts: 0 host, 1 ToR/leaf/edge, 2 aggregation or spine, 3 core.
    pub tier: u8,
}

/// A full-duplex link. The order of links fixes the port numbers: a node's ports are numbered from
/// 0 in the order in which its links appear.
#[derive(Debug, Clone)]
pub struct Link {
    pub a: NodeId,
    pub b: NodeId,
    /// Rate from `a` to `b`, and also from `b` to `a` unless `rate_back` is set.
    pub rate: Rate,
    pub rate_back: Option<Rate>,
    /// Propagation delay, one way; never zero.
    pub delay: Span,
    /// Probability that a frame from `a` to `b` is lost on the wire, and also from `b` to `a`
    /// unless `loss_back` is set.
    pub loss: Probability,
    pub loss_back: Option<Probability>,
    /// Longest frame in bytes, without preamble and gap, that the ports at both ends accept. The
    /// receiving port discards longer frames.
    pub longest: Option<u16>,
    /// Intervals in which the link is down, sorted and disjoint. A frame that is on the wire at any
    /// instant of an interval is lost.
    pub down: Vec<Down>,
}

impl Link {
    /// Returns a link between `a` and `b` with equal properties in both directions.
    pub fn new(a: NodeId, b: NodeId, rate: Rate, delay: Span) -> Link {
        Link {
            a,
            b,
            rate,
            rate_back: None,
            delay,
            loss: Probability::ZERO,
            loss_back: None,
            longest: None,
            down: Vec::new(),
        }
    }

    /// Returns the rate from `a` to `b`, or from `b` to `a` if `reverse`.
    pub fn rate_of(&self, reverse: bool) -> Rate {
        self.rate_back.filter(|_| reverse).unwrap_or(self.rate)
    }

    pub fn loss_of(&self, reverse: bool) -> Probability {
        self.loss_back.filter(|_| reverse).unwrap_or(self.loss)
    }

    /// True if the link loses frames, or is down at some time before `until` in ps.
    pub fn is_faulty(&self, until: u64) -> bool {
        let loses = [false, true].iter().any(|back| self.loss_of(*back) > Probability::ZERO);
        loses || self.down.iter().any(|down| down.from.0 < until)
    }

    /// Returns the rates of both directions, or a single rate if they are equal.
    pub fn rates(&self) -> impl Iterator<Item = Rate> {
        std::iter::once(self.rate).chain(self.rate_back.filter(|back| *back != self.rate))
    }
}

/// A failure of a link in `from..to`. If it is down for no longer than `detect`, no node notices.
/// Otherwise the ends of the link stop using it for new decisions at `from + detect`. The routes of the whole fabric avoid it from `from + detect + converge` until
/// `to + detect + converge`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Down {
    pub from: Time,
    /// End of the failure; `None` if the link never comes up again.
    pub to: Option<Time>,
    /// Time until the nodes at the ends notice a change (`detect`), and further time until all
    /// other nodes know it (`converge`).
    pub detect: Span,
    pub converge: Span,
}

impl Down {
    /// True if the nodes notice the failure.
    pub fn is_noticed(&self) -> bool {
        self.to.is_none_or(|to| to > self.from + self.detect)
    }

    /// Returns the time in ps at which the ends of the link notice that it is down.
    pub fn noticed(&self) -> u64 {
        (self.from + self.detect).0
    }

    /// Returns the times in ps from which and until which all nodes know that the link is down.
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
    /// True if hosts forward frames for other hosts, by the same rules as switches.
    pub relays: bool,
    /// Real addresses of hosts outside the simulation. Most hosts have none.
    pub addresses: BTreeMap<IpAddr, NodeId>,
}

impl Topology {
    /// True if `node` forwards frames for other nodes.
    pub fn forwards(&self, node: NodeId) -> bool {
        self.relays || self.nodes[node as usize].kind == NodeKind::Switch
    }

    /// True if a host has several links.
    pub fn is_multihomed(&self) -> bool {
        let mut connected = vec![false; self.hosts as usize];
        let mut ends = self.links.iter().flat_map(|link| [link.a, link.b]);
        ends.any(|node| {
            connected.get_mut(node as usize).is_some_and(|before| std::mem::replace(before, true))
        })
    }

    /// Returns the links over which one switch is connected to a switch of a higher tier.
    pub fn uplinks(&self) -> impl Iterator<Item = &Link> {
        let tier = |node: NodeId| self.nodes[node as usize].tier;
        self.links
            .iter()
            .filter(move |link| tier(link.a).min(tier(link.b)) > 0 && tier(link.a) != tier(link.b))
    }
}
