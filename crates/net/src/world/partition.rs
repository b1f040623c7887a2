//! Division of the nodes among the workers' shards.

use crate::routing::Ports;
use crate::spec::{NodeId, Topology};

/// Location of a node.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub shard: u16,
    /// Index among the shard's nodes.
    pub local: u32,
    /// Index of the node's port 0 among the shard's ports.
    pub first_port: u32,
}

/// Spreads nodes over `workers` shards. Groups (racks, pods) stay together in contiguous runs with
/// about equal numbers of ports. Nodes without a group are spread independently.
pub fn partition(topology: &Topology, ports: &Ports, workers: usize) -> Vec<Vec<NodeId>> {
    let mut shards = vec![Vec::new(); workers];
    if workers == 1 {
        shards[0] = (0..topology.nodes.len() as NodeId).collect();
        return shards;
    }
    let groups = topology.nodes.iter().filter_map(|n| n.group).max().map_or(0, |g| g as usize + 1);
    let mut weight = vec![0u64; groups];
    let mut loose = 0u64;
    for (id, node) in topology.nodes.iter().enumerate() {
        let ports = ports.of(id as NodeId).len() as u64;
        match node.group {
            Some(group) => weight[group as usize] += ports,
            None => loose += ports,
        }
    }
    let total: u64 = weight.iter().sum();
    let mut shard_of_group = vec![0usize; groups];
    let mut before = 0;
    for (group, weight) in weight.iter().enumerate() {
        // The middle of the group decides, so that rounding does not pile up at one end.
        shard_of_group[group] = (((2 * before + weight) * workers as u64) / (2 * total).max(1))
            .min(workers as u64 - 1) as usize;
        before += weight;
    }
    let mut before = 0;
    for (id, node) in topology.nodes.iter().enumerate() {
        let shard = match node.group {
            Some(group) => shard_of_group[group as usize],
            None => {
                let middle = 2 * before + ports.of(id as NodeId).len() as u64;
                before += ports.of(id as NodeId).len() as u64;
                ((middle * workers as u64) / (2 * loose).max(1)).min(workers as u64 - 1) as usize
            }
        };
        shards[shard].push(id as NodeId);
    }
    shards
}

/// Returns the locations of all nodes, and the number of ports of each shard.
pub fn places(shards: &[Vec<NodeId>], ports: &Ports) -> (Vec<Place>, Vec<u32>) {
    let nodes = shards.iter().map(Vec::len).sum();
    let mut place = vec![Place { shard: 0, local: 0, first_port: 0 }; nodes];
    let mut shard_ports = Vec::with_capacity(shards.len());
    for (nodes, shard) in shards.iter().zip(0..) {
        let mut first_port = 0;
        for (&node, local) in nodes.iter().zip(0..) {
            place[node as usize] = Place { shard, local, first_port };
            first_port += ports.of(node).len() as u32;
        }
        shard_ports.push(first_port);
    }
    (place, shard_ports)
}
