//! What the traffic of a plan comes to, before it is begun.

use crate::routing::{Ports, Routes};
use crate::spec::{EngineKind, Flow, MptcpConfig, NodeId, NodeKind, Pdq, Plan, Start, TransportConfig};

/// Without retransmissions, handshakes and control frames: roughly.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Expected {
    /// Payload that is sent, as far as links and time allow.
    pub bytes: u64,
    pub packet_hops: u64,
    /// Of traffic that has no end but that of the jobs: comes on top for each simulated second.
    pub hops_per_second: u64,
    /// There is an application that does not tell what it sends.
    pub unknown: bool,
}

/// What `plan` will send, and over how many links.
pub fn expected(plan: &Plan) -> Expected {
    let mut found = Expected::default();
    if plan.run.engine == EngineKind::Ideal {
        return found;
    }
    let fabric = Fabric::of(plan);
    let mut distances = Distances::of(plan);
    let mut timed = Vec::new();
    for flow in plan.flows.iter().filter(|flow| flow.src != flow.dst) {
        let transport = &plan.transports[flow.transport as usize];
        let rate = fabric.rate[flow.src as usize].min(limit(transport));
        match plan.run.until {
            // So much that it is not meant to end by itself.
            None if flow.bytes as f64 * 8.0 / rate > ENDLESS_S => {
                found.hops_per_second += (hops_per_byte(transport, f64::INFINITY) * rate / 8.0 * f64::from(distances.of_flow(flow))).round() as u64;
            }
            None => timed.push((flow, flow.bytes as f64)),
            Some(end) => {
                let left = end.0.saturating_sub(start(flow)) as f64 * 1e-12;
                timed.push((flow, (flow.bytes as f64).min(rate * left / 8.0)));
            }
        }
    }
    let shares = plan.run.until.map(|end| fabric.shares(&timed, end.0));
    for (number, (flow, bytes)) in timed.into_iter().enumerate() {
        let bytes = bytes * shares.as_ref().map_or(1.0, |shares| shares[number]);
        found.bytes += bytes.round() as u64;
        found.packet_hops += (bytes * hops_per_byte(&plan.transports[flow.transport as usize], bytes) * f64::from(distances.of_flow(flow))).round() as u64;
    }
    for program in plan.applications.iter().flat_map(|applications| &applications.programs) {
        match program.expected_bytes() {
            None => found.unknown = true,
            Some(bytes) => {
                found.bytes += bytes;
                found.packet_hops += (bytes as f64 * hops_per_byte(&plan.transports[0], f64::INFINITY) * distances.mean(&program.hosts())).round() as u64;
            }
        }
    }
    found
}

/// Seconds: a flow that would take longer at its highest rate is meant to last.
const ENDLESS_S: f64 = 36_000.0;

fn start(flow: &Flow) -> u64 {
    match flow.start {
        Start::At(time) => time.0,
        Start::After { .. } => 0,
    }
}

/// The highest rate of a flow of its own accord, bits per second.
fn limit(transport: &TransportConfig) -> f64 {
    let limit = match transport {
        TransportConfig::Datagram(datagram) => datagram.rate,
        TransportConfig::Nack(nack) => nack.rate,
        TransportConfig::Tcp(tcp) => tcp.pacing.and_then(|pacing| pacing.most),
        _ => None,
    };
    limit.map_or(f64::INFINITY, |rate| rate.0 as f64)
}

/// Frames per byte of a message of so many bytes, acknowledgements included, on each link.
fn hops_per_byte(transport: &TransportConfig, bytes: f64) -> f64 {
    let acknowledged = |tcp: &crate::spec::TcpConfig| 1.0 + 1.0 / tcp.delayed_ack.map_or(1.0, |delayed| f64::from(delayed.segments));
    let (payload, frames) = match transport {
        TransportConfig::Tcp(tcp) => (tcp.mss, acknowledged(tcp)),
        TransportConfig::Mptcp(mptcp) => (mptcp.tcp.mss.saturating_sub(MptcpConfig::DATA_OPTION), acknowledged(&mptcp.tcp)),
        TransportConfig::Datagram(datagram) => (datagram.payload, 1.0),
        // Reports are few.
        TransportConfig::Nack(nack) => (nack.payload, 1.0),
        TransportConfig::Rdma(rdma) => (rdma.payload, 2.0),
        TransportConfig::Pfabric(pfabric) => (pfabric.tcp.mss, 2.0),
        TransportConfig::Pdq(Pdq { rated, .. }) | TransportConfig::D3(crate::spec::D3 { rated, .. }) => (rated.payload, 2.0),
    };
    let payload = f64::from(payload.max(1));
    if bytes.is_finite() && bytes > 0.0 { frames * (bytes / payload).ceil() / bytes } else { frames / payload }
}

/// What links can carry.
struct Fabric<'a> {
    plan: &'a Plan,
    ports: Ports,
    routes: Routes,
    /// Of the hosts' links together, bits per second.
    rate: Vec<f64>,
}

impl<'a> Fabric<'a> {
    fn of(plan: &'a Plan) -> Self {
        let mut rate = vec![0.0; plan.topology.hosts as usize];
        for link in &plan.topology.links {
            for end in [link.a, link.b] {
                if let Some(rate) = rate.get_mut(end as usize) {
                    *rate += link.rate.0 as f64;
                }
            }
        }
        Fabric { plan, ports: Ports::new(&plan.topology), routes: Routes::build(&plan.topology), rate }
    }

    /// What part of what each flow wants the most loaded link on a path of it can carry until `end`.
    fn shares(&self, wanted: &[(&Flow, f64)], end: u64) -> Vec<f64> {
        // Bytes and the first start, by link and direction.
        let mut load = vec![[(0.0f64, u64::MAX); 2]; self.plan.topology.links.len()];
        for (number, (flow, bytes)) in wanted.iter().enumerate() {
            self.walk(flow, number, |link, reverse| {
                let (sum, first) = &mut load[link][reverse];
                *sum += bytes;
                *first = start(flow).min(*first);
            });
        }
        let able = |link: usize, reverse: usize| {
            let (sum, first) = load[link][reverse];
            let room = self.plan.topology.links[link].rate.0 as f64 / 8.0 * end.saturating_sub(first) as f64 * 1e-12;
            if sum > 0.0 { (room / sum).min(1.0) } else { 1.0 }
        };
        let of_flow = |(number, (flow, _)): (usize, &(&Flow, f64))| {
            let mut share = 1.0f64;
            self.walk(flow, number, |link, reverse| share = share.min(able(link, reverse)));
            share
        };
        wanted.iter().enumerate().map(of_flow).collect()
    }

    /// One of the shortest paths; flows take them in turn.
    fn walk(&self, flow: &Flow, number: usize, mut step: impl FnMut(usize, usize)) {
        let mut node = flow.src;
        while node != flow.dst {
            let next = self.routes.next_hops(node, flow.dst);
            let Some(port) = next.as_slice().get(number % next.as_slice().len().max(1)) else { return };
            let port = self.ports.of(node)[*port as usize];
            step(port.link as usize, usize::from(port.reverse));
            node = port.peer;
        }
    }
}

/// Links on the shortest path between hosts.
struct Distances<'a> {
    plan: &'a Plan,
    ports: Ports,
    routes: Routes,
    /// By rack of the destination, when it has been asked for: from every node to the rack's switch.
    known: Vec<Option<Vec<u8>>>,
}

impl<'a> Distances<'a> {
    fn of(plan: &'a Plan) -> Self {
        let routes = Routes::build(&plan.topology);
        Distances { plan, ports: Ports::new(&plan.topology), known: vec![None; routes.racks()], routes }
    }

    fn of_flow(&mut self, flow: &Flow) -> u8 {
        self.between(flow.src, flow.dst)
    }

    fn between(&mut self, from: u32, to: u32) -> u8 {
        let rack = self.routes.rack_of(to);
        let anchor = self.routes.anchor(rack);
        if self.known[rack as usize].is_none() {
            self.known[rack as usize] = Some(self.search(anchor));
        }
        let to_anchor = self.known[rack as usize].as_ref().map_or(0, |known| known[from as usize]);
        to_anchor + u8::from(anchor != to)
    }

    /// The mean over all pairs of these hosts.
    fn mean(&mut self, hosts: &[u32]) -> f64 {
        let (mut sum, mut pairs) = (0u64, 0u64);
        for &from in hosts {
            for &to in hosts.iter().filter(|to| **to != from) {
                sum += u64::from(self.between(from, to));
                pairs += 1;
            }
        }
        if pairs == 0 { 0.0 } else { sum as f64 / pairs as f64 }
    }

    fn search(&self, anchor: NodeId) -> Vec<u8> {
        let nodes = &self.plan.topology.nodes;
        let mut distance = vec![u8::MAX; nodes.len()];
        distance[anchor as usize] = 0;
        let mut order = vec![anchor];
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            if node != anchor && nodes[node as usize].kind == NodeKind::Host {
                continue;
            }
            for port in self.ports.of(node) {
                if distance[port.peer as usize] == u8::MAX {
                    distance[port.peer as usize] = distance[node as usize].saturating_add(1);
                    order.push(port.peer);
                }
            }
        }
        // What cannot be reached is sent nowhere.
        for far in distance.iter_mut().filter(|far| **far == u8::MAX) {
            *far = 0;
        }
        distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Progress;
    use crate::testing::{flow, leaf_spine, plan, star};
    use afflux_units::Time;

    #[test]
    fn without_losses_it_is_what_a_run_takes() {
        let flows = vec![flow(0, 0, 1, 100_000, Time::ZERO), flow(1, 0, 3, 1, Time::ZERO), flow(2, 2, 1, 50_001, Time::ZERO), flow(3, 3, 3, 9, Time::ZERO)];
        let plan = plan(leaf_spine(2, 2, 2), flows);
        let output = crate::run(&plan, &Progress::default()).unwrap();
        assert_eq!(output.counters.dropped_packets, 0);
        assert_eq!(expected(&plan), Expected { bytes: 150_002, packet_hops: output.counters.packet_hops, hops_per_second: 0, unknown: false });
    }

    #[test]
    fn a_link_carries_what_it_can_until_the_end() {
        let flows = (1..4).map(|source| flow(i64::from(source), source, 0, 1 << 40, Time::from_ns(100_000))).collect();
        let mut plan = plan(star(4), flows);
        plan.run.until = Some(Time::from_ns(1_100_000));
        let able = plan.topology.links[0].rate.0 / 8 / 1_000;
        assert!(expected(&plan).bytes.abs_diff(able) <= 3, "{} of {able}", expected(&plan).bytes);
    }
}
