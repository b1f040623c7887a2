//! Reachability between hosts, and tiers and racks of fabrics that are written link by link.

use afflux_config::tree::{Key, Wrong};
use afflux_net::routing::Ports;
use afflux_net::spec::{NodeId, NodeKind, Topology};
use std::collections::{BTreeSet, VecDeque};

/// Largest number of equal-cost next hops in a routing table.
const MOST_NEXT_HOPS: usize = 1_023;

/// Refuses hosts without a link, and switches with too many ports.
pub fn check(topology: &Topology, key: &Key) -> Result<(), Wrong> {
    let wrong = |message: String| Err(Wrong::at(key.clone(), message));
    let ports = Ports::new(topology);
    let name = |node: NodeId| topology.nodes[node as usize].name.as_str();
    for host in 0..topology.hosts {
        if ports.of(host).is_empty() {
            return wrong(format!("\"{}\" has no link", name(host)));
        }
    }
    for node in 0..topology.nodes.len() as NodeId {
        if ports.of(node).len() > usize::from(u16::MAX) {
            return wrong(format!(
                "\"{}\" has {} ports: at most {} are possible",
                name(node),
                ports.of(node).len(),
                u16::MAX
            ));
        }
    }
    for node in
        (0..topology.nodes.len() as NodeId).filter(|node| ports.of(*node).len() > MOST_NEXT_HOPS)
    {
        let switches = ports
            .of(node)
            .iter()
            .filter(|port| topology.nodes[port.peer as usize].kind == NodeKind::Switch)
            .count();
        if switches > MOST_NEXT_HOPS {
            return wrong(format!(
                "\"{}\" has {switches} links to switches: at most {MOST_NEXT_HOPS} are possible",
                name(node)
            ));
        }
    }
    Ok(())
}

/// Reachability between hosts. Separate planes are valid: a path is needed only between hosts that
/// send to each other.
pub struct Reach<'a> {
    topology: &'a Topology,
    ports: &'a Ports,
    /// For each host, the components of forwarding nodes that it is part of or linked to,
    /// ascending.
    pieces: Vec<Vec<u32>>,
    /// True if every host is linked to one common component.
    whole: bool,
}

impl<'a> Reach<'a> {
    pub fn of(topology: &'a Topology, ports: &'a Ports) -> Self {
        let (piece, count) = pieces(topology, ports);
        let of_host = |host: NodeId| {
            let near = ports.of(host).iter().map(|port| port.peer).chain([host]);
            let found: BTreeSet<u32> = near.filter_map(|node| piece[node as usize]).collect();
            found.into_iter().collect::<Vec<_>>()
        };
        let pieces: Vec<Vec<u32>> = (0..topology.hosts).map(of_host).collect();
        let whole =
            (0..count).any(|piece| pieces.iter().all(|own| own.binary_search(&piece).is_ok()));
        Reach { topology, ports, pieces, whole }
    }

    fn joins(&self, one: NodeId, other: NodeId) -> bool {
        let linked = || self.ports.of(one).iter().any(|port| port.peer == other);
        one == other
            || self.pieces[one as usize]
                .iter()
                .any(|piece| self.pieces[other as usize].binary_search(piece).is_ok())
            || linked()
    }

    /// Refuses pairs of hosts without a path. `key` is the block whose traffic they carry.
    pub fn check(
        &self,
        mut pairs: impl Iterator<Item = (NodeId, NodeId)>,
        key: &Key,
    ) -> Result<(), Wrong> {
        if self.whole {
            return Ok(());
        }
        match pairs.find(|(from, to)| !self.joins(*from, *to)) {
            Some((from, to)) => Err(Wrong::at(
                key.clone(),
                unreachable_because(self.topology, self.ports, from, to),
            )),
            None => Ok(()),
        }
    }
}

/// Divides the forwarding nodes into connected components. Returns the component of each node
/// (`None` for nodes that do not forward) and the number of components.
fn pieces(topology: &Topology, ports: &Ports) -> (Vec<Option<u32>>, u32) {
    let mut piece = vec![None; topology.nodes.len()];
    let mut count = 0;
    for first in 0..topology.nodes.len() as NodeId {
        if !topology.forwards(first) || piece[first as usize].is_some() {
            continue;
        }
        piece[first as usize] = Some(count);
        let mut waiting = vec![first];
        while let Some(node) = waiting.pop() {
            for peer in ports.of(node).iter().map(|port| port.peer) {
                if topology.forwards(peer) && piece[peer as usize].is_none() {
                    piece[peer as usize] = Some(count);
                    waiting.push(peer);
                }
            }
        }
        count += 1;
    }
    (piece, count)
}

/// Returns the message that explains why two hosts cannot reach each other.
fn unreachable_because(topology: &Topology, ports: &Ports, one: NodeId, other: NodeId) -> String {
    let name = |node: NodeId| topology.nodes[node as usize].name.as_str();
    let hangs_on_hosts =
        |host: &NodeId| ports.of(*host).iter().all(|port| !topology.forwards(port.peer));
    let found = format!("\"{}\" sends to \"{}\" and cannot reach it", name(one), name(other));
    match [one, other].into_iter().find(hangs_on_hosts) {
        Some(host) => {
            let peer = ports.of(host).first().map_or("", |port| name(port.peer));
            format!(
                "{found}: \"{}\" is linked to \"{peer}\" alone, and hosts do not forward; link it to a switch",
                name(host)
            )
        }
        None => format!(
            "{found}: no path through switches joins them; add a link, or write hosts that have one"
        ),
    }
}

/// Sets the tier of every switch to its distance in links from the nearest host, and the groups of
/// hosts and of their switches to racks.
pub fn find_tiers(topology: &mut Topology) {
    let ports = Ports::new(topology);
    let mut tier: Vec<Option<u8>> =
        topology.nodes.iter().map(|node| (node.kind == NodeKind::Host).then_some(0)).collect();
    let mut waiting: VecDeque<NodeId> = (0..topology.hosts).collect();
    while let Some(node) = waiting.pop_front() {
        let above = tier[node as usize].unwrap_or(0).saturating_add(1);
        for port in ports.of(node) {
            if tier[port.peer as usize].is_none() {
                tier[port.peer as usize] = Some(above);
                waiting.push_back(port.peer);
            }
        }
    }
    for (node, tier) in topology.nodes.iter_mut().zip(tier) {
        node.tier = tier.unwrap_or(1);
    }
    let mut racks = 0;
    for host in 0..topology.hosts {
        let Some(first) = ports.of(host).first().map(|port| port.peer) else { continue };
        if topology.nodes[first as usize].kind == NodeKind::Host {
            continue;
        }
        let rack = *topology.nodes[first as usize].group.get_or_insert_with(|| {
            racks += 1;
            racks - 1
        });
        topology.nodes[host as usize].group = Some(rack);
    }
}
