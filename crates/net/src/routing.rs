//! Computes shortest-path next hops, by destination rack.
//!
//! Hosts whose only link leads to the same switch form a rack and share a table entry. Any other
//! host is a rack of its own. Per switch and rack, tables hold either one port or a set of
//! equal-cost ports in port order. If every host has a single link, to a switch, hosts have no
//! rows: they send by their only port if their switch can reach the destination.

use crate::spec::{LinkId, NodeId, NodeKind, Topology};
use rustc_hash::FxHashMap;

/// One end of a link, as seen from its node.
#[derive(Debug, Clone, Copy)]
pub struct PortInfo {
    pub peer: NodeId,
    /// Port number of the peer for the same link.
    pub peer_port: u16,
    pub link: LinkId,
    /// True if this node is `Link::b`.
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
        let mut info = vec![
            PortInfo { peer: 0, peer_port: 0, link: 0, reverse: false };
            2 * topology.links.len()
        ];
        for (id, link) in topology.links.iter().enumerate() {
            let (pa, pb) = (next[link.a as usize], next[link.b as usize]);
            next[link.a as usize] += 1;
            next[link.b as usize] += 1;
            info[pa as usize] = PortInfo {
                peer: link.b,
                peer_port: (pb - first[link.b as usize]) as u16,
                link: id as LinkId,
                reverse: false,
            };
            info[pb as usize] = PortInfo {
                peer: link.a,
                peer_port: (pa - first[link.a as usize]) as u16,
                link: id as LinkId,
                reverse: true,
            };
        }
        Ports { first, info }
    }
    /// The ports of `node`.
    pub fn of(&self, node: NodeId) -> &[PortInfo] {
        &self.info[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// A table entry: one port, a set of ports, the host's own port at its ToR, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Entry(u32);

impl Entry {
    const SET: u32 = 1 << 31;
    const LOCAL: Entry = Entry(0x7fff_ffff);
    const NONE: Entry = Entry(0x7fff_fffe);
    const OFFSET_BITS: u32 = 21;

    /// Returns the entry for these ports. Several ports are added to `sets`.
    fn of(ports: &[u16], sets: &mut Vec<u16>) -> Entry {
        match ports {
            [] => Entry::NONE,
            [one] => Entry(u32::from(*one)),
            many => {
                assert!(
                    many.len() < 1 << (31 - Entry::OFFSET_BITS)
                        && sets.len() < 1 << Entry::OFFSET_BITS,
                    "too many next hops"
                );
                let entry = Entry(
                    Entry::SET | (many.len() as u32) << Entry::OFFSET_BITS | sets.len() as u32,
                );
                sets.extend_from_slice(many);
                entry
            }
        }
    }

    #[inline(always)]
    fn next_hops<'a>(self, host: u32, host_port: &[u16], sets: &'a [u16]) -> NextHops<'a> {
        if self.0 & Entry::SET != 0 {
            let (offset, count) = (
                self.0 & ((1 << Entry::OFFSET_BITS) - 1),
                (self.0 & !Entry::SET) >> Entry::OFFSET_BITS,
            );
            NextHops::Many(&sets[offset as usize..(offset + count) as usize])
        } else if self == Entry::LOCAL {
            match host_port[host as usize] {
                u16::MAX => NextHops::None,
                port => NextHops::One(port),
            }
        } else if self == Entry::NONE {
            NextHops::None
        } else {
            NextHops::One(self.0 as u16)
        }
    }
}

/// Next hops of every node towards every host.
#[derive(Debug, Clone)]
pub struct Routes {
    racks: usize,
    rack_of_host: Vec<u32>,
    /// Node at which the search of each rack starts: the switch of its hosts, or the single host.
    anchors: Vec<NodeId>,
    /// Port of the rack's switch that leads to the host; `u16::MAX` if that link is out of use.
    host_port: Vec<u16>,
    /// Nodes below this number have no rows. They are hosts with one link, to the switch of their
    /// rack.
    rowless: NodeId,
    /// Entries, at index `(node - rowless) * racks + rack`.
    table: Vec<Entry>,
    sets: Vec<u16>,
    most_switches: u32,
}

/// Routes of one node that has rows.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    rack_of_host: &'a [u32],
    entries: &'a [Entry],
    host_port: &'a [u16],
    sets: &'a [u16],
}

impl<'a> Row<'a> {
    /// Returns the equal-cost next hops towards `host`, as port numbers.
    #[inline(always)]
    pub(crate) fn next_hops(&self, host: u32) -> NextHops<'a> {
        self.entries[self.rack_of_host[host as usize] as usize].next_hops(
            host,
            self.host_port,
            self.sets,
        )
    }
    #[inline(always)]
    pub(crate) fn rack_of(&self, host: u32) -> u32 {
        self.rack_of_host[host as usize]
    }
    /// Returns the next hop that the hash selects, if there is one.
    #[inline(always)]
    pub(crate) fn next_hop(&self, host: u32, hash: u32, seed: u32) -> Option<u16> {
        self.next_hops(host).by_hash(hash, seed)
    }
}

/// Number of racks that are searched for at once, one bit of a word each.
const SEARCHES: usize = u64::BITS as usize;

/// Breadth-first searches from several anchors at once, level by level. Each bit of a word stands
/// for one anchor.
struct Search<'a, F> {
    topology: &'a Topology,
    ports: &'a Ports,
    usable: F,
    /// Searches that have reached each node (`seen`), that reached it on the latest level
    /// (`front`), and that reach it on the next level (`next`).
    seen: Vec<u64>,
    front: Vec<u64>,
    next: Vec<u64>,
}

impl<F: Fn(LinkId) -> bool> Search<'_, F> {
    /// Fills the entries of the racks from `first` on, whose anchors are `anchors`. Returns the
    /// largest number of nodes on a shortest path that ends at one of them.
    fn run(&mut self, anchors: &[NodeId], first: usize, tables: &mut Tables) -> u32 {
        self.seen.fill(0);
        let mut latest: Vec<NodeId> = anchors.to_vec();
        for (bit, &anchor) in anchors.iter().enumerate() {
            self.seen[anchor as usize] = 1 << bit;
            self.front[anchor as usize] = 1 << bit;
            tables.set(anchor, first + bit, Entry::LOCAL);
        }
        let mut reached: Vec<NodeId> = Vec::new();
        let mut classes: Vec<(u64, Vec<u16>)> = Vec::new();
        let mut level = 0;
        while !latest.is_empty() {
            for &node in &latest {
                // An anchor need not forward, because paths end there.
                if level > 0 && !self.topology.forwards(node) {
                    continue;
                }
                for port in self.ports.of(node) {
                    let new = self.front[node as usize] & !self.seen[port.peer as usize];
                    if new != 0 && port.peer >= tables.rowless && (self.usable)(port.link) {
                        if self.next[port.peer as usize] == 0 {
                            reached.push(port.peer);
                        }
                        self.next[port.peer as usize] |= new;
                    }
                }
            }
            for &node in &reached {
                self.classify(node, level, &mut classes);
                for (racks, found) in classes.drain(..) {
                    tables.fill(node, first, racks, found);
                }
            }
            latest.drain(..).for_each(|node| self.front[node as usize] = 0);
            for &node in &reached {
                self.front[node as usize] = std::mem::take(&mut self.next[node as usize]);
                self.seen[node as usize] |= self.front[node as usize];
            }
            std::mem::swap(&mut latest, &mut reached);
            level += 1;
        }
        level
    }

    /// Collects the ports of a newly reached node that lead one level nearer to the anchors. Racks
    /// with the same set of ports share a class.
    fn classify(&self, node: NodeId, level: u32, classes: &mut Vec<(u64, Vec<u16>)>) {
        classes.push((self.next[node as usize], Vec::new()));
        for (number, port) in self.ports.of(node).iter().enumerate() {
            let passes = level == 0 || self.topology.forwards(port.peer);
            let nearer =
                if passes { self.front[port.peer as usize] & self.next[node as usize] } else { 0 };
            if nearer == 0 || !(self.usable)(port.link) {
                continue;
            }
            for place in 0..classes.len() {
                let (racks, found) = &mut classes[place];
                let (with, without) = (*racks & nearer, *racks & !nearer);
                if with == 0 {
                    continue;
                }
                *racks = with;
                if without != 0 {
                    let rest = found.clone();
                    found.push(number as u16);
                    classes.push((without, rest));
                } else {
                    found.push(number as u16);
                }
            }
        }
    }
}

/// Routing tables under construction.
struct Tables {
    racks: usize,
    rowless: NodeId,
    table: Vec<Entry>,
    sets: Vec<u16>,
    known: FxHashMap<Vec<u16>, Entry>,
}

impl Tables {
    fn set(&mut self, node: NodeId, rack: usize, entry: Entry) {
        self.table[(node - self.rowless) as usize * self.racks + rack] = entry;
    }

    /// Sets the entries of `node` for the racks in the bit set `racks`, which is counted from
    /// `first`.
    fn fill(&mut self, node: NodeId, first: usize, mut racks: u64, found: Vec<u16>) {
        let entry = match found.as_slice() {
            [] | [_] => Entry::of(&found, &mut self.sets),
            many => match self.known.get(many) {
                Some(entry) => *entry,
                None => {
                    let entry = Entry::of(many, &mut self.sets);
                    self.known.insert(found, entry);
                    entry
                }
            },
        };
        while racks != 0 {
            self.set(node, first + racks.trailing_zeros() as usize, entry);
            racks &= racks - 1;
        }
    }
}

/// Result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextHops<'a> {
    None,
    One(u16),
    /// Two or more equal-cost ports, in port order.
    Many(&'a [u16]),
}

impl NextHops<'_> {
    /// Returns the port that the hash of a frame selects, if there is one.
    #[inline(always)]
    pub(crate) fn by_hash(&self, hash: u32, seed: u32) -> Option<u16> {
        match self {
            NextHops::None => None,
            NextHops::One(port) => Some(*port),
            NextHops::Many(set) => Some(set[crate::balance::ecmp(hash, seed, set.len())]),
        }
    }
    /// True if `port` is one of the next hops.
    #[inline(always)]
    pub(crate) fn leads(&self, port: u16) -> bool {
        match self {
            NextHops::None => false,
            NextHops::One(only) => *only == port,
            // Equal-cost ports usually have consecutive numbers.
            NextHops::Many(set) => {
                set.get(port.wrapping_sub(set[0]) as usize) == Some(&port)
                    || set.binary_search(&port).is_ok()
            }
        }
    }
    /// Returns all next hops, in port order.
    pub fn as_slice(&self) -> &[u16] {
        match self {
            NextHops::None => &[],
            NextHops::One(port) => std::slice::from_ref(port),
            NextHops::Many(set) => set,
        }
    }
}

impl Routes {
    /// Builds routes over all links.
    pub fn build(topology: &Topology) -> Self {
        Self::build_with(topology, &Ports::new(topology), |_| true)
    }

    /// Builds routes over the links for which `usable` returns true.
    pub fn build_with(topology: &Topology, ports: &Ports, usable: impl Fn(LinkId) -> bool) -> Self {
        let hosts = topology.hosts as usize;
        let nodes = topology.nodes.len();
        let is_switch = |n: NodeId| topology.nodes[n as usize].kind == NodeKind::Switch;
        // Each rack is identified by its anchor, the node at which its search starts.
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
        let rowless =
            if anchors.iter().all(|anchor| is_switch(*anchor)) { hosts as NodeId } else { 0 };
        let mut tables = Tables {
            racks,
            rowless,
            table: vec![Entry::NONE; (nodes - rowless as usize) * racks],
            sets: Vec::new(),
            known: FxHashMap::default(),
        };
        let mut search = Search {
            topology,
            ports,
            usable: &usable,
            seen: vec![0; nodes],
            front: vec![0; nodes],
            next: vec![0; nodes],
        };
        let batches = anchors.chunks(SEARCHES).enumerate();
        let most_switches = batches
            .map(|(batch, anchors)| search.run(anchors, batch * SEARCHES, &mut tables))
            .max()
            .unwrap_or(0);
        let Tables { table, sets, .. } = tables;
        // A host whose only link is out of use cannot be reached through its ToR.
        let mut routes =
            Routes { racks, rack_of_host, anchors, host_port, rowless, table, sets, most_switches };
        for host in 0..hosts {
            if let [only] = ports.of(host as NodeId)
                && !usable(only.link)
            {
                routes.host_port[host] = u16::MAX;
            }
        }
        routes
    }

    /// Removes `link` from the next hops of its end `node`, which then uses its other next hops, or
    /// has none. Other nodes still send frames this way. `node` drops them if it has no other next
    /// hop.
    pub fn leave_out(&mut self, topology: &Topology, ports: &Ports, node: NodeId, link: LinkId) {
        let number =
            ports.of(node).iter().position(|port| port.link == link).expect("one of its links")
                as u16;
        for host in 0..topology.hosts as NodeId {
            let anchored = self.anchors[self.rack_of_host[host as usize] as usize] == node;
            let own = ports.of(host).len() == 1
                && (host == node || anchored && ports.of(host)[0].link == link);
            if own && ports.of(host)[0].link == link {
                self.host_port[host as usize] = u16::MAX;
            }
        }
        if node < self.rowless {
            return;
        }
        let mut known: FxHashMap<Entry, Entry> = FxHashMap::default();
        for at in (node - self.rowless) as usize * self.racks
            ..((node - self.rowless) as usize + 1) * self.racks
        {
            let entry = self.table[at];
            let NextHops::Many(set) = entry.next_hops(0, &self.host_port, &self.sets) else {
                if entry == Entry(number.into()) {
                    self.table[at] = Entry::NONE;
                }
                continue;
            };
            if !set.contains(&number) || entry == Entry::LOCAL {
                continue;
            }
            let rest: Vec<u16> = set.iter().copied().filter(|port| *port != number).collect();
            let sets = &mut self.sets;
            self.table[at] = *known.entry(entry).or_insert_with(|| Entry::of(&rest, sets));
        }
    }

    /// Returns the largest number of switches on a path, if all hosts have one link, to a switch.
    pub fn most_switches(&self) -> Option<u32> {
        (self.rowless as usize == self.rack_of_host.len()).then_some(self.most_switches)
    }

    /// Returns the equal-cost next hops of `node` towards `host`, as port numbers of `node`.
    #[inline]
    pub fn next_hops(&self, node: NodeId, host: u32) -> NextHops<'_> {
        let rack = self.rack_of_host[host as usize];
        if node < self.rowless {
            return if self.leads(node, rack) { NextHops::One(0) } else { NextHops::None };
        }
        self.entry(node, rack).next_hops(host, &self.host_port, &self.sets)
    }

    /// Returns the part of the tables that belongs to one node.
    #[inline(always)]
    pub(crate) fn row(&self, node: NodeId) -> Row<'_> {
        let first = (node - self.rowless) as usize * self.racks;
        Row {
            rack_of_host: &self.rack_of_host,
            entries: &self.table[first..first + self.racks],
            host_port: &self.host_port,
            sets: &self.sets,
        }
    }

    #[inline(always)]
    fn entry(&self, node: NodeId, rack: u32) -> Entry {
        self.table[(node - self.rowless) as usize * self.racks + rack as usize]
    }

    /// True if the only link of a host without a row leads to `rack`.
    #[inline]
    fn leads(&self, host: NodeId, rack: u32) -> bool {
        let own = self.rack_of_host[host as usize];
        self.host_port[host as usize] != u16::MAX
            && (own == rack || self.entry(self.anchors[own as usize], rack) != Entry::NONE)
    }

    /// Returns the next hop that the hash selects, if there is one.
    #[inline(always)]
    pub(crate) fn next_hop(&self, node: NodeId, host: u32, hash: u32, seed: u32) -> Option<u16> {
        self.next_hops(node, host).by_hash(hash, seed)
    }

    /// Returns all next hops if there are several, and an empty slice otherwise.
    pub fn members(&self, node: NodeId, host: u32) -> &[u16] {
        match self.next_hops(node, host) {
            NextHops::Many(set) => set,
            _ => &[],
        }
    }

    /// Returns the number of racks.
    pub fn racks(&self) -> usize {
        self.racks
    }
    pub fn rack_of(&self, host: u32) -> u32 {
        self.rack_of_host[host as usize]
    }
    /// Returns the switch of a rack's hosts. For a host that is a rack of its own, it returns the
    /// host.
    pub fn anchor(&self, rack: u32) -> NodeId {
        self.anchors[rack as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fat_tree, leaf_spine, link};
    use afflux_units::{Rate, Span};

    /// Returns the number of distinct shortest paths, by walking the tables.
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
        let dead = topology
            .links
            .iter()
            .position(|l| {
                topology.nodes[l.a as usize].name == "leaf1"
                    && topology.nodes[l.b as usize].name == "spine2"
            })
            .unwrap();
        let routes = Routes::build_with(&topology, &ports, |l| l as usize != dead);
        assert_eq!(paths(&routes, &ports, 0, 2), 3);
        assert_eq!(paths(&routes, &ports, 0, 4), 4);
    }

    /// The next hops of hosts without rows equal those that rows of their own would hold, whichever
    /// links are out of use.
    #[test]
    fn rows_of_hosts_are_needless() {
        let topology = leaf_spine(3, 2, 2);
        let mut wide = topology.clone();
        // One host has two links, so all hosts have rows. The second link is never used.
        let extra = wide.nodes.len() as NodeId;
        wide.nodes.push(crate::spec::Node { name: "other".into(), ..wide.nodes[6].clone() });
        wide.links.push(link(5, extra, Rate::from_gbps(100), Span::from_us(1)));
        let (ports, wide_ports) = (Ports::new(&topology), Ports::new(&wide));
        for dead in 0..topology.links.len() as LinkId {
            for second in dead..topology.links.len() as LinkId {
                let usable = |l: LinkId| l != dead && l != second;
                let short = Routes::build_with(&topology, &ports, usable);
                let long = Routes::build_with(&wide, &wide_ports, |l| {
                    usable(l) && (l as usize) < topology.links.len()
                });
                assert_eq!((short.rowless, long.rowless), (topology.hosts, 0));
                // Hosts 4 and 5 are excluded: in the other fabric they are in different racks.
                for (node, host) in (0..5).flat_map(|node| (0..4).map(move |host| (node, host))) {
                    assert_eq!(
                        short.next_hops(node, host),
                        long.next_hops(node, host),
                        "{node} to {host} without {dead} and {second}"
                    );
                }
            }
        }
    }
}
