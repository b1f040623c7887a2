//! Shortest-path next hops, by destination rack.
//!
//! Hosts that hang with their only link on the same switch form a rack and share a table entry; any other host is a
//! rack of its own. Tables hold, per switch and rack, either one port or a set of equal-cost ports in port order.

use crate::spec::{LinkId, NodeId, NodeKind, Topology};
use rustc_hash::FxHashMap;

/// One end of a link as its node sees it.
#[derive(Debug, Clone, Copy)]
pub struct PortInfo {
    pub peer: NodeId,
    /// The peer's port number of the same link.
    pub peer_port: u16,
    pub link: LinkId,
    /// This node is `Link::b`.
    pub reverse: bool,
}

/// The ports of every node, in the order of the links.
#[derive(Debug, Clone)]
pub struct Ports {
    first: Vec<u32>,
    info: Vec<PortInfo>,
}

impl Ports {
    pub fn new(topology: &Topology) -> Self {
        let mut degree = vec![0u32; topology.nodes.len() + 1];
        for link in &topology.links {
            degree[link.a as usize + 1] += 1;
            degree[link.b as usize + 1] += 1;
        }
        for i in 1..degree.len() {
            degree[i] += degree[i - 1];
        }
        let first = degree;
        let mut next = first.clone();
        let mut info = vec![PortInfo { peer: 0, peer_port: 0, link: 0, reverse: false }; 2 * topology.links.len()];
        for (id, link) in topology.links.iter().enumerate() {
            let (pa, pb) = (next[link.a as usize], next[link.b as usize]);
            next[link.a as usize] += 1;
            next[link.b as usize] += 1;
            info[pa as usize] = PortInfo { peer: link.b, peer_port: (pb - first[link.b as usize]) as u16, link: id as LinkId, reverse: false };
            info[pb as usize] = PortInfo { peer: link.a, peer_port: (pa - first[link.a as usize]) as u16, link: id as LinkId, reverse: true };
        }
        Ports { first, info }
    }
    /// The ports of `node`.
    pub fn of(&self, node: NodeId) -> &[PortInfo] {
        &self.info[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// A table entry: one port, a set of ports, the host's own port at its ToR, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(u32);

impl Entry {
    const SET: u32 = 1 << 31;
    const LOCAL: Entry = Entry(0x7fff_ffff);
    const NONE: Entry = Entry(0x7fff_fffe);
    const OFFSET_BITS: u32 = 21;
}

/// Where each switch sends what is for which host.
#[derive(Debug, Clone)]
pub struct Routes {
    racks: usize,
    rack_of_host: Vec<u32>,
    /// By rack: the switch that its hosts hang on, or the one host.
    anchors: Vec<NodeId>,
    /// Port at the rack's switch that leads to the host.
    host_port: Vec<u16>,
    /// `node * racks + rack`.
    table: Vec<Entry>,
    sets: Vec<u16>,
}

/// What a lookup found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHops<'a> {
    None,
    One(u16),
    /// Two or more equal-cost ports, in port order.
    Many(&'a [u16]),
}

impl NextHops<'_> {
    /// All of them, in port order.
    pub fn as_slice(&self) -> &[u16] {
        match self {
            NextHops::None => &[],
            NextHops::One(port) => std::slice::from_ref(port),
            NextHops::Many(set) => set,
        }
    }
}

impl Routes {
    /// Routes over all links.
    pub fn build(topology: &Topology) -> Self {
        Self::build_with(topology, &Ports::new(topology), |_| true)
    }

    /// Routes over the links for which `usable` says so.
    pub fn build_with(topology: &Topology, ports: &Ports, usable: impl Fn(LinkId) -> bool) -> Self {
        let hosts = topology.hosts as usize;
        let nodes = topology.nodes.len();
        let is_switch = |n: NodeId| topology.nodes[n as usize].kind == NodeKind::Switch;
        // A rack is named by the node at which its search starts.
        let mut rack_of_anchor: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut anchors: Vec<NodeId> = Vec::new();
        let mut rack_of_host = Vec::with_capacity(hosts);
        let mut host_port = vec![0u16; hosts];
        for host in 0..hosts as NodeId {
            let own = ports.of(host);
            let anchor = match own {
                [only] if is_switch(only.peer) => {
                    host_port[host as usize] = only.peer_port;
                    only.peer
                }
                _ => host,
            };
            rack_of_host.push(*rack_of_anchor.entry(anchor).or_insert_with(|| {
                anchors.push(anchor);
                anchors.len() as u32 - 1
            }));
        }
        let racks = anchors.len();
        let mut table = vec![Entry::NONE; nodes * racks];
        let mut sets: Vec<u16> = Vec::new();
        let mut known: FxHashMap<Vec<u16>, Entry> = FxHashMap::default();
        let mut distance = vec![u32::MAX; nodes];
        let mut order: Vec<NodeId> = Vec::with_capacity(nodes);
        let mut found: Vec<u16> = Vec::new();
        for (rack, &anchor) in anchors.iter().enumerate() {
            distance.fill(u32::MAX);
            order.clear();
            distance[anchor as usize] = 0;
            order.push(anchor);
            let mut next = 0;
            while next < order.len() {
                let node = order[next];
                next += 1;
                if node != anchor && !topology.forwards(node) {
                    continue;
                }
                for port in ports.of(node) {
                    if usable(port.link) && distance[port.peer as usize] == u32::MAX {
                        distance[port.peer as usize] = distance[node as usize] + 1;
                        order.push(port.peer);
                    }
                }
            }
            for &node in &order {
                if node == anchor {
                    table[node as usize * racks + rack] = Entry::LOCAL;
                    continue;
                }
                found.clear();
                for (number, port) in ports.of(node).iter().enumerate() {
                    let nearer = distance[port.peer as usize] != u32::MAX && distance[port.peer as usize] + 1 == distance[node as usize];
                    if usable(port.link) && nearer && (port.peer == anchor || topology.forwards(port.peer)) {
                        found.push(number as u16);
                    }
                }
                table[node as usize * racks + rack] = match found.as_slice() {
                    [] => Entry::NONE,
                    [one] => Entry(*one as u32),
                    many => match known.get(many) {
                        Some(entry) => *entry,
                        None => {
                            assert!(many.len() < 1 << (31 - Entry::OFFSET_BITS) && sets.len() < 1 << Entry::OFFSET_BITS, "too many next hops");
                            let entry = Entry(Entry::SET | (many.len() as u32) << Entry::OFFSET_BITS | sets.len() as u32);
                            sets.extend_from_slice(many);
                            known.insert(many.to_vec(), entry);
                            entry
                        }
                    },
                };
            }
        }
        // A host whose only link is out of use cannot be reached over its ToR.
        let mut routes = Routes { racks, rack_of_host, anchors, host_port, table, sets };
        for host in 0..hosts {
            if let [only] = ports.of(host as NodeId)
                && !usable(only.link)
            {
                routes.host_port[host] = u16::MAX;
            }
        }
        routes
    }

    /// Equal-cost next hops of `node` towards `host`, as port numbers of `node`.
    #[inline]
    pub fn next_hops(&self, node: NodeId, host: u32) -> NextHops<'_> {
        let entry = self.table[node as usize * self.racks + self.rack_of_host[host as usize] as usize];
        if entry.0 & Entry::SET != 0 {
            let (offset, count) = (entry.0 & ((1 << Entry::OFFSET_BITS) - 1), (entry.0 & !Entry::SET) >> Entry::OFFSET_BITS);
            NextHops::Many(&self.sets[offset as usize..(offset + count) as usize])
        } else if entry == Entry::LOCAL {
            match self.host_port[host as usize] {
                u16::MAX => NextHops::None,
                port => NextHops::One(port),
            }
        } else if entry == Entry::NONE {
            NextHops::None
        } else {
            NextHops::One(entry.0 as u16)
        }
    }

    /// The next hop by hash, if there is one.
    #[inline(always)]
    pub(crate) fn next_hop(&self, node: NodeId, host: u32, hash: u32, seed: u32) -> Option<u16> {
        match self.next_hops(node, host) {
            NextHops::None => None,
            NextHops::One(port) => Some(port),
            NextHops::Many(set) => Some(set[crate::balance::ecmp(hash, seed, set.len())]),
        }
    }

    /// All next hops where there are several.
    pub fn members(&self, node: NodeId, host: u32) -> &[u16] {
        match self.next_hops(node, host) {
            NextHops::Many(set) => set,
            _ => &[],
        }
    }

    /// Number of racks, and the rack of a host.
    pub fn racks(&self) -> usize {
        self.racks
    }
    pub fn rack_of(&self, host: u32) -> u32 {
        self.rack_of_host[host as usize]
    }
    /// The switch that a rack's hosts hang on; a rack of one host that does not hang on one switch alone is that host.
    pub fn anchor(&self, rack: u32) -> NodeId {
        self.anchors[rack as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fat_tree, leaf_spine};

    /// Number of distinct shortest paths, by walking the tables.
    fn paths(routes: &Routes, ports: &Ports, node: NodeId, host: u32) -> usize {
        if node == host {
            return 1;
        }
        let step = |port: u16| paths(routes, ports, ports.of(node)[port as usize].peer, host);
        match routes.next_hops(node, host) {
            NextHops::None => 0,
            NextHops::One(port) => step(port),
            NextHops::Many(set) => set.iter().map(|&p| step(p)).sum(),
        }
    }

    #[test]
    fn path_counts_of_a_fat_tree() {
        // spec/fabrics.md §7.4 item 9: (k/2)^2 between pods, k/2 inside a pod, one inside a rack.
        for k in [4u32, 6, 8] {
            let topology = fat_tree(k, 1);
            let (routes, ports) = (Routes::build(&topology), Ports::new(&topology));
            let half = k / 2;
            let count = |a: u32, b: u32| paths(&routes, &ports, a, b) as u32;
            assert_eq!(count(0, 1), 1);
            assert_eq!(count(0, half), half);
            assert_eq!(count(0, half * half), half * half);
            assert_eq!(count(half * half, 0), half * half);
        }
    }

    #[test]
    fn a_failed_link_takes_its_spine_out_for_that_leaf_only() {
        let topology = leaf_spine(3, 4, 2);
        let ports = Ports::new(&topology);
        let dead = topology.links.iter().position(|l| topology.nodes[l.a as usize].name == "leaf1" && topology.nodes[l.b as usize].name == "spine2").unwrap();
        let routes = Routes::build_with(&topology, &ports, |l| l as usize != dead);
        assert_eq!(paths(&routes, &ports, 0, 2), 3);
        assert_eq!(paths(&routes, &ports, 0, 4), 4);
    }
}
