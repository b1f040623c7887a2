//! Properties of a fabric that traffic depends on: racks, capacities, distances.

use super::Names;
use afflux_net::routing::{PortInfo, Ports};
use afflux_net::spec::{Link, NodeId, NodeKind, Topology};
use afflux_traffic::{Channel, Racks};
use afflux_units::{Rate, Span};
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

pub struct Facts<'a> {
    pub topology: &'a Topology,
    pub ports: Ports,
    names: OnceCell<Names<'a>>,
}

impl<'a> Facts<'a> {
    pub fn of(topology: &'a Topology) -> Self {
        Facts { topology, ports: Ports::new(topology), names: OnceCell::new() }
    }

    /// Returns the rate of the first host's first link.
    pub fn nic(&self) -> Rate {
        self.ports.of(0).first().map_or(Rate::from_gbps(100), |port| self.rate(port))
    }

    /// Rate at which a port sends.
    fn rate(&self, port: &PortInfo) -> Rate {
        self.topology.links[port.link as usize].rate_of(port.reverse)
    }

    /// Nodes by name, built on first use.
    pub fn names(&self) -> &Names<'a> {
        self.names.get_or_init(|| Names::of(self.topology))
    }

    pub fn name(&self, node: NodeId) -> &'a str {
        &self.topology.nodes[node as usize].name
    }

    pub fn hosts(&self) -> u32 {
        self.topology.hosts
    }

    /// Returns the shortest delay of a link.
    pub fn shortest_link(&self) -> Span {
        self.topology.links.iter().map(|link| link.delay).min().unwrap_or_default()
    }

    /// Returns the switch of a host that has a single link; for any other host, the host itself.
    fn anchor(&self, host: u32) -> NodeId {
        match self.ports.of(host) {
            [only] if self.topology.nodes[only.peer as usize].kind == NodeKind::Switch => only.peer,
            _ => host,
        }
    }

    /// Returns the hosts of each switch, in the order of hosts. Refuses fabrics whose hosts are not
    /// numbered rack by rack.
    pub fn racks(&self) -> Result<Racks, String> {
        let anchors: Vec<NodeId> = (0..self.hosts()).map(|host| self.anchor(host)).collect();
        let mut sizes: Vec<u32> = Vec::new();
        let mut seen = vec![false; self.topology.nodes.len()];
        for (host, anchor) in anchors.iter().enumerate() {
            if host > 0 && anchors[host - 1] == *anchor {
                if let Some(size) = sizes.last_mut() {
                    *size += 1;
                }
                continue;
            }
            if std::mem::replace(&mut seen[*anchor as usize], true) {
                return Err(format!(
                    "needs hosts that are numbered rack by rack: \"{}\" comes after another rack than the other hosts of its switch",
                    self.name(host as NodeId)
                ));
            }
            sizes.push(1);
        }
        Ok(Racks::new(&sizes))
    }

    /// Longest frame in bytes that all links of a host carry, if any of these links has a limit.
    pub fn longest_frame(&self, host: u32) -> Option<u16> {
        self.ports
            .of(host)
            .iter()
            .filter_map(|port| self.topology.links[port.link as usize].longest)
            .min()
    }

    /// Rate at which each of these hosts can send over all its links. Refuses hosts whose rates
    /// differ.
    pub fn host_rate(&self, hosts: &[u32]) -> Result<Rate, String> {
        let rate =
            |host: &u32| Rate(self.ports.of(*host).iter().map(|port| self.rate(port).0).sum());
        let first = hosts.first().map(rate).unwrap_or_default();
        match hosts.iter().find(|host| rate(host) != first) {
            Some(other) => Err(format!(
                "needs hosts of one rate: {} has {first}, {} {}; make a block of traffic for each",
                self.name(hosts[0]),
                self.name(*other),
                rate(other)
            )),
            None => Ok(first),
        }
    }

    /// Oversubscription of the switches that hosts are linked to: capacity of a switch's links to
    /// hosts divided by the capacity of its other links; 1 if there are no such links.
    pub fn oversubscription(&self) -> Result<f64, String> {
        let mut found: Option<(f64, NodeId)> = None;
        for switch in self.hosts()..self.topology.nodes.len() as NodeId {
            let (mut down, mut up) = (0u64, 0u64);
            for port in self.ports.of(switch) {
                let rate = self.rate(port).0;
                match self.topology.nodes[port.peer as usize].kind {
                    NodeKind::Host => down += rate,
                    NodeKind::Switch => up += rate,
                }
            }
            if down == 0 {
                continue;
            }
            let ratio = if up == 0 { 1.0 } else { down as f64 / up as f64 };
            match found {
                Some((other, node)) if other != ratio => {
                    return Err(format!(
                        "needs racks of one oversubscription: \"{}\" has {other}, \"{}\" {ratio}",
                        self.name(node),
                        self.name(switch)
                    ));
                }
                _ => found = Some((ratio, switch)),
            }
        }
        Ok(found.map_or(1.0, |(ratio, _)| ratio))
    }

    /// Capacity between two halves of the hosts in one direction: half of the least total capacity
    /// between two neighbouring tiers. `None` unless all links join neighbouring tiers (star,
    /// leaf-spine, fat-tree, VL2), or there are two switches with hosts on both.
    pub fn bisection(&self) -> Option<Rate> {
        if self.topology.relays {
            return None;
        }
        let nodes = &self.topology.nodes;
        let least = |link: &Link| link.rates().map(|rate| rate.0).min().expect("one or two");
        let mut between: Vec<u128> = Vec::new();
        let mut inside: u128 = 0;
        for link in &self.topology.links {
            let (a, b) = (nodes[link.a as usize].tier, nodes[link.b as usize].tier);
            let low = usize::from(a.min(b));
            match a.abs_diff(b) {
                0 => inside += u128::from(least(link)),
                1 => {
                    between.resize(between.len().max(low + 1), 0);
                    between[low] += u128::from(least(link));
                }
                _ => return None,
            }
        }
        let least = between.iter().filter(|sum| **sum > 0).min().map(|sum| sum / 2)?;
        let switches = nodes.len() - self.hosts() as usize;
        match inside {
            0 => Some(Rate(least as u64)),
            inside if switches == 2 => Some(Rate(inside.min(least) as u64)),
            _ => None,
        }
    }

    /// Longest of all shortest paths between two hosts, as the time of a frame of `frame_bytes`
    /// bytes on each link; 0 counts propagation only. In a fabric with loops, the longest of the
    /// paths that two sweeps of each plane find.
    pub fn longest(&self, frame_bytes: u64) -> Span {
        let mut reached = vec![false; self.hosts() as usize];
        let mut longest = Span::ZERO;
        while let Some(host) = reached.iter().position(|reached| !reached) {
            let near = self.distances(host as NodeId, frame_bytes);
            reached
                .iter_mut()
                .zip(&near)
                .for_each(|(reached, distance)| *reached |= *distance < u64::MAX);
            let (first, _) = Self::farthest(&near).unwrap_or((host as NodeId, Span::ZERO));
            let far = self.distances(first, frame_bytes);
            longest = longest.max(Self::farthest(&far).map_or(Span::ZERO, |(_, span)| span));
        }
        longest
    }

    fn farthest(distances: &[u64]) -> Option<(NodeId, Span)> {
        let hosts = distances.iter().enumerate().filter(|(_, distance)| **distance < u64::MAX);
        hosts
            .map(|(host, distance)| (*distance, Reverse(host)))
            .max()
            .map(|(distance, Reverse(host))| (host as NodeId, Span(distance)))
    }

    /// Returns the shortest time in ps from `from` to each host, including serialization of
    /// `frame_bytes` on each link; `u64::MAX` if there is no path.
    fn distances(&self, from: NodeId, frame_bytes: u64) -> Vec<u64> {
        let mut best = vec![u64::MAX; self.topology.nodes.len()];
        let mut waiting = BinaryHeap::from([Reverse((0u64, from))]);
        best[from as usize] = 0;
        while let Some(Reverse((distance, node))) = waiting.pop() {
            let passes = node == from || self.topology.forwards(node);
            if distance > best[node as usize] || !passes {
                continue;
            }
            for port in self.ports.of(node) {
                let link = &self.topology.links[port.link as usize];
                let next = distance
                    .saturating_add(link.delay.0)
                    .saturating_add(link.rate_of(port.reverse).serialize(frame_bytes).0);
                if next < best[port.peer as usize] {
                    best[port.peer as usize] = next;
                    waiting.push(Reverse((next, port.peer)));
                }
            }
        }
        best.truncate(self.hosts() as usize);
        best
    }

    /// Returns the most loaded direction of a link when each of `sources` sends the share
    /// `share(source, destination)` of its traffic, spread evenly over all shortest paths.
    pub fn busiest(
        &self,
        sources: &[u32],
        destinations: &[u32],
        share: impl Fn(u32, u32) -> f64,
    ) -> Option<Channel> {
        let nodes = self.topology.nodes.len();
        let mut load = vec![[0.0f64; 2]; self.topology.links.len()];
        let mut by_anchor: Vec<(NodeId, u32)> =
            destinations.iter().map(|host| (self.anchor(*host), *host)).collect();
        by_anchor.sort_unstable();
        for rack in by_anchor.chunk_by(|a, b| a.0 == b.0) {
            let anchor = rack[0].0;
            let mut demand = vec![0.0f64; nodes];
            for &(_, destination) in rack {
                let mut arriving = 0.0;
                for &source in sources.iter().filter(|source| **source != destination) {
                    let part = share(source, destination);
                    demand[source as usize] += part;
                    arriving += part;
                }
                if let ([own], true) = (self.ports.of(destination), anchor != destination) {
                    load[own.link as usize][usize::from(!own.reverse)] += arriving;
                }
            }
            self.spread(anchor, &mut demand, &mut load);
        }
        let links = self.topology.links.iter().zip(&load);
        Channel::busiest(links.flat_map(|(link, load)| {
            [false, true]
                .map(|back| Channel { share: load[usize::from(back)], rate: link.rate_of(back) })
        }))
    }

    /// Spreads the `demand` of each node for `anchor` evenly over all shortest paths, and adds it
    /// to `load`.
    fn spread(&self, anchor: NodeId, demand: &mut [f64], load: &mut [[f64; 2]]) {
        let mut distance = vec![u32::MAX; demand.len()];
        distance[anchor as usize] = 0;
        let mut order = vec![anchor];
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            if node != anchor && !self.topology.forwards(node) {
                continue;
            }
            for port in self.ports.of(node) {
                if distance[port.peer as usize] == u32::MAX {
                    distance[port.peer as usize] = distance[node as usize] + 1;
                    order.push(port.peer);
                }
            }
        }
        for &node in order.iter().skip(1).rev() {
            if demand[node as usize] == 0.0 {
                continue;
            }
            let nearer = |peer: NodeId| {
                let forwards = peer == anchor || self.topology.forwards(peer);
                forwards && distance[peer as usize].checked_add(1) == Some(distance[node as usize])
            };
            let ways: Vec<_> =
                self.ports.of(node).iter().filter(|port| nearer(port.peer)).collect();
            let part = demand[node as usize] / ways.len() as f64;
            for port in ways {
                load[port.link as usize][usize::from(port.reverse)] += part;
                demand[port.peer as usize] += part;
            }
        }
    }
}
