//! The tiers of a fabric, for drawings.

use afflux_net::spec::{NodeId, NodeKind, Topology};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// All nodes of one height above the hosts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tier {
    pub height: u8,
    /// Common name of the nodes, without the numbers at their ends: `"host"` for hosts, `"switch"`
    /// if the names differ.
    pub name: String,
    pub count: usize,
    /// Number of hosts of each rack, in the order of the racks' first hosts. Empty for tiers of
    /// switches.
    pub racks: Vec<usize>,
    /// Links to the tier below (`down`), and between nodes of this tier (`within`).
    pub down: Links,
    pub within: Links,
    /// Lowest and highest ratio of downlink to uplink capacity among the tier's switches that have
    /// both.
    pub oversubscription: Option<(f64, f64)>,
    /// Names of the hosts of each rack, with the name of the rack's switch. Empty unless hosts have
    /// names of their own.
    pub named: Vec<(String, Vec<String>)>,
}

/// Number of links, with their different rates (bits per second) and delays (picoseconds),
/// ascending.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Links {
    pub count: usize,
    pub rates: BTreeSet<u64>,
    pub delays: BTreeSet<u64>,
}

/// Returns the tiers of a fabric from the top down; hosts are the last.
pub fn tiers(topology: &Topology) -> Vec<Tier> {
    let height = |node: NodeId| topology.nodes[node as usize].tier;
    let mut found: BTreeMap<u8, Tier> = BTreeMap::new();
    let mut capacity = vec![(0u64, 0u64); topology.nodes.len()];
    let mut anchors: Vec<Option<NodeId>> = vec![None; topology.hosts as usize];
    for link in &topology.links {
        let (low, high) =
            if height(link.a) <= height(link.b) { (link.a, link.b) } else { (link.b, link.a) };
        let tier = found.entry(height(high)).or_default();
        let links = if height(low) == height(high) { &mut tier.within } else { &mut tier.down };
        links.count += 1;
        links.rates.extend(link.rates().map(|rate| rate.0));
        links.delays.insert(link.delay.0);
        if height(low) != height(high) {
            capacity[high as usize].0 += link.rate_of(low == link.b).0;
            capacity[low as usize].1 += link.rate_of(low == link.b).0;
            if let Some(anchor) = anchors.get_mut(low as usize) {
                anchor.get_or_insert(high);
            }
        }
    }
    for (id, node) in topology.nodes.iter().enumerate() {
        let tier = found.entry(node.tier).or_default();
        let stem = if node.kind == NodeKind::Host {
            "host"
        } else {
            node.name.trim_end_matches(|c: char| c.is_ascii_digit())
        };
        if tier.count == 0 {
            (tier.height, tier.name) = (node.tier, stem.into());
        } else if tier.name != stem {
            tier.name = "switch".into();
        }
        tier.count += 1;
        let (down, up) = capacity[id];
        if node.tier > 0 && down > 0 && up > 0 {
            let ratio = down as f64 / up as f64;
            let (least, most) = tier.oversubscription.unwrap_or((ratio, ratio));
            tier.oversubscription = Some((least.min(ratio), most.max(ratio)));
        }
    }
    if let Some(hosts) = found.get_mut(&0) {
        let mut place: HashMap<NodeId, usize> = HashMap::new();
        let own_names = topology.nodes[..topology.hosts as usize]
            .iter()
            .enumerate()
            .any(|(host, node)| node.name != format!("host{host}"));
        for (host, anchor) in anchors.iter().enumerate() {
            let anchor = anchor.unwrap_or(host as NodeId);
            let rack = *place.entry(anchor).or_insert_with(|| {
                hosts.racks.push(0);
                if own_names {
                    hosts.named.push((topology.nodes[anchor as usize].name.clone(), Vec::new()));
                }
                hosts.racks.len() - 1
            });
            hosts.racks[rack] += 1;
            if own_names {
                hosts.named[rack].1.push(topology.nodes[host].name.clone());
            }
        }
    }
    found.into_values().rev().collect()
}
