//! Is every host reachable? And for fabrics read link by link: tiers and racks.

use crate::tree::{Key, Wrong};
use afflux_net::routing::Ports;
use afflux_net::spec::{NodeId, NodeKind, Topology};
use std::collections::VecDeque;

/// Routing tables hold at most so many equal-cost next hops.
const MOST_NEXT_HOPS: usize = 1_023;

/// Refuses hosts without a link, hosts that cannot reach each other, and switches with too many ports.
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
            return wrong(format!("\"{}\" has {} ports: at most {} are possible", name(node), ports.of(node).len(), u16::MAX));
        }
    }
    for node in (0..topology.nodes.len() as NodeId).filter(|node| ports.of(*node).len() > MOST_NEXT_HOPS) {
        let switches = ports.of(node).iter().filter(|port| topology.nodes[port.peer as usize].kind == NodeKind::Switch).count();
        if switches > MOST_NEXT_HOPS {
            return wrong(format!("\"{}\" has {switches} links to switches: at most {MOST_NEXT_HOPS} are possible", name(node)));
        }
    }
    let reached = reach(topology, &ports, 0);
    if let Some(host) = (0..topology.hosts).find(|host| !reached[*host as usize]) {
        return wrong(apart(topology, &ports, host, 0));
    }
    // Most fabrics: whatever one host reaches through nodes that forward is one piece, and every host hangs on it.
    let inner = (0..topology.nodes.len() as NodeId).find(|node| topology.forwards(*node) && reached[*node as usize]);
    let around = inner.map(|node| reach(topology, &ports, node));
    if around.is_some_and(|around| (0..topology.hosts).all(|host| around[host as usize])) {
        return Ok(());
    }
    for from in 0..topology.hosts {
        let reached = reach(topology, &ports, from);
        if let Some(host) = (0..topology.hosts).find(|host| !reached[*host as usize]) {
            return wrong(apart(topology, &ports, from, host));
        }
    }
    Ok(())
}

/// Why two hosts cannot reach each other.
fn apart(topology: &Topology, ports: &Ports, one: NodeId, other: NodeId) -> String {
    let name = |node: NodeId| topology.nodes[node as usize].name.as_str();
    let hangs_on_hosts = |host: &NodeId| ports.of(*host).iter().all(|port| !topology.forwards(port.peer));
    let found = format!("\"{}\" cannot reach \"{}\"", name(one), name(other));
    match [one, other].into_iter().find(hangs_on_hosts) {
        Some(host) => {
            let peer = ports.of(host).first().map_or("", |port| name(port.peer));
            format!("{found}: \"{}\" is linked to \"{peer}\" alone, and hosts do not forward; link it to a switch", name(host))
        }
        None => format!("{found}: no path through switches joins them; add a link"),
    }
}

/// What a host reaches.
fn reach(topology: &Topology, ports: &Ports, from: NodeId) -> Vec<bool> {
    let mut reached = vec![false; topology.nodes.len()];
    reached[from as usize] = true;
    let mut waiting = VecDeque::from([from]);
    while let Some(node) = waiting.pop_front() {
        if node != from && !topology.forwards(node) {
            continue;
        }
        for port in ports.of(node) {
            if !std::mem::replace(&mut reached[port.peer as usize], true) {
                waiting.push_back(port.peer);
            }
        }
    }
    reached
}

/// Sets every switch's tier to its distance from the nearest host, and the groups of hosts and their switches to racks.
pub fn find_tiers(topology: &mut Topology) {
    let ports = Ports::new(topology);
    let mut tier: Vec<Option<u8>> = topology.nodes.iter().map(|node| (node.kind == NodeKind::Host).then_some(0)).collect();
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
