//! Capacity towards a rack, by which balancers weigh next hops.

use super::World;
use crate::routing::Routes;
use crate::spec::NodeId;

impl World<'_> {
    /// Returns the capacity in bit/s of the shortest paths through `port` of `node` to a host's
    /// rack. It is limited by the port's own link, and parallel links to one peer share what lies
    /// behind it. Where failures have taken a part of the paths behind the peer, the link's rate
    /// counts in proportion to what is left of their capacity, because other nodes send over the
    /// rest, too.
    pub fn capacity(&self, now: u64, node: NodeId, port: u16, host: u32) -> u64 {
        // A failure that only the ends of the link know does not reduce the capacity that other
        // nodes see.
        let epoch = self.epoch(now);
        let routes = self.agreed.get(&epoch).unwrap_or(&self.epochs[epoch].1);
        self.capacity_by(routes, node, port, host)
    }

    fn capacity_by(&self, routes: &Routes, node: NodeId, port: u16, host: u32) -> u64 {
        let ports = self.ports.of(node);
        let info = &ports[port as usize];
        let own = self.rate(info).0;
        if info.peer == routes.anchor(routes.rack_of(host)) {
            return own;
        }
        let beyond = self.behind(routes, info.peer, host);
        let hops = routes.next_hops(node, host);
        let parallel = hops.as_slice().iter().map(|&port| &ports[port as usize]);
        let rates: u64 =
            parallel.filter(|one| one.peer == info.peer).map(|one| self.rate(one).0).sum();
        let whole = self.without_failures(routes);
        let before =
            if std::ptr::eq(whole, routes) { beyond } else { self.behind(whole, info.peer, host) };
        let part = |of: u64| (own as u128 * beyond as u128 / of.max(1) as u128) as u64;
        own.min(part(rates)).min(part(before))
    }

    /// Returns the capacity in bit/s of the shortest paths from `node` to a host's rack.
    fn behind(&self, routes: &Routes, node: NodeId, host: u32) -> u64 {
        let hops = routes.next_hops(node, host);
        hops.as_slice().iter().map(|&port| self.capacity_by(routes, node, port, host)).sum()
    }

    /// Returns the routes over all links; those given if no link ever fails.
    fn without_failures<'r>(&'r self, routes: &'r Routes) -> &'r Routes {
        let links = &self.plan.topology.links;
        if links.iter().all(|link| link.down.is_empty()) {
            return routes;
        }
        self.whole.get_or_init(|| Routes::build_with(&self.plan.topology, &self.ports, |_| true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Down, Topology};
    use crate::testing::{fat_tree, leaf_spine, plan};
    use afflux_units::{Span, Time};

    /// Lets the first link between two nodes fail at the start.
    fn fail(topology: &mut Topology, a: &str, b: &str) {
        let id = |name: &str| topology.nodes.iter().position(|node| node.name == name).unwrap();
        let ends = (id(a) as NodeId, id(b) as NodeId);
        let link = topology.links.iter_mut().find(|link| (link.a, link.b) == ends).unwrap();
        link.down = vec![Down {
            from: Time::from_ns(0),
            to: None,
            detect: Span::ZERO,
            converge: Span::ZERO,
        }];
    }

    /// Returns the name of each next hop from a node to a host, with its capacity in Gbps.
    fn towards(topology: Topology, node: &str, host: u32) -> Vec<(String, u64)> {
        let plan = plan(topology, Vec::new());
        let world = World::new(&plan, 1).unwrap();
        let nodes = &plan.topology.nodes;
        let own = nodes.iter().position(|one| one.name == node).unwrap() as NodeId;
        let hops = world.routes(0).next_hops(own, host);
        let of = |port: u16| {
            let peer = world.ports.of(own)[port as usize].peer;
            (nodes[peer as usize].name.clone(), world.capacity(0, own, port, host) / 1_000_000_000)
        };
        hops.as_slice().iter().map(|&port| of(port)).collect()
    }

    fn named(found: &[(&str, u64)]) -> Vec<(String, u64)> {
        found.iter().map(|(name, gbps)| (name.to_string(), *gbps)).collect()
    }

    /// CONGA's fabric (Alizadeh et al., SIGCOMM 2014, figure 2): two links to each spine, one of
    /// which has failed at the other leaf.
    #[test]
    fn parallel_links_share_what_lies_behind() {
        let mut topology = leaf_spine(2, 2, 4);
        let between: Vec<_> = topology.links.iter().filter(|link| link.a >= 8).cloned().collect();
        topology.links.extend(between);
        assert_eq!(
            towards(topology.clone(), "leaf0", 4),
            named(&[("spine0", 100), ("spine1", 100), ("spine0", 100), ("spine1", 100)])
        );
        fail(&mut topology, "leaf1", "spine1");
        assert_eq!(
            towards(topology.clone(), "leaf0", 4),
            named(&[("spine0", 100), ("spine1", 50), ("spine0", 100), ("spine1", 50)])
        );
        // From the other leaf, one link of three leads to the second spine.
        assert_eq!(
            towards(topology, "leaf1", 0),
            named(&[("spine0", 100), ("spine0", 100), ("spine1", 100)])
        );
    }

    /// Behind the first aggregation switch one of two paths is left, which the switch's other edge
    /// uses, too.
    #[test]
    fn failures_behind_the_next_hop_count() {
        let mut topology = fat_tree(4, 1);
        assert_eq!(towards(topology.clone(), "edge0", 4), named(&[("agg0", 100), ("agg1", 100)]));
        fail(&mut topology, "agg2", "core0");
        assert_eq!(towards(topology.clone(), "edge0", 4), named(&[("agg0", 50), ("agg1", 100)]));
        assert_eq!(towards(topology, "agg0", 4), named(&[("core1", 100)]));
    }
}
