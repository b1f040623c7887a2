//! Computes all shortest paths between ToRs, for source routing.
//!
//! A path is the list of output ports of its switches, packed into a 32-bit word with eight bits
//! each, the first port in the lowest bits, as in ConWeave's simulator. It ends at the
//! destination's ToR, so it has at most four ports.

use crate::routing::{Ports, Routes};
use crate::spec::{NodeId, NodeKind, Topology};

/// Maximum number of output ports on a path.
pub const HOPS: usize = 4;

/// Reason for which the frames of a fabric cannot be pinned to paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPaths {
    #[error("switch {0} has more than 256 ports: a path has room for 8 bits each")]
    Ports(NodeId),
    #[error("from switch {0} to switch {1} there are more than {HOPS} hops")]
    Hops(NodeId, NodeId),
    #[error("host {0} does not hang on a switch with its only link")]
    Host(u32),
}

#[derive(Debug, Clone)]
pub struct Paths {
    racks: usize,
    /// Start of the list of each pair of racks, at index `from * racks + to`, and the end of the
    /// last list.
    first: Vec<u32>,
    lists: Vec<u32>,
}

impl Paths {
    /// Computes the paths between all racks. The first switch uses its `own` routes, which include
    /// failures of its links that only it knows. It does not know such failures of other switches.
    pub fn new(
        topology: &Topology,
        ports: &Ports,
        own: &Routes,
        routes: &Routes,
    ) -> Result<Paths, NoPaths> {
        let racks = routes.racks();
        let mut example = vec![0; racks];
        for host in (0..topology.hosts).rev() {
            if topology.nodes[routes.anchor(routes.rack_of(host)) as usize].kind == NodeKind::Host {
                return Err(NoPaths::Host(host));
            }
            example[routes.rack_of(host) as usize] = host;
        }
        let mut paths =
            Paths { racks, first: Vec::with_capacity(racks * racks + 1), lists: Vec::new() };
        for from in 0..racks as u32 {
            for to in 0..racks as u32 {
                paths.first.push(paths.lists.len() as u32);
                if from != to {
                    let goal = Goal {
                        start: routes.anchor(from),
                        end: routes.anchor(to),
                        host: example[to as usize],
                    };
                    let begin = paths.lists.len();
                    walk(ports, (own, routes), goal.start, goal, (0, 0), &mut paths.lists)?;
                    paths.lists[begin..].sort_unstable();
                }
            }
        }
        paths.first.push(paths.lists.len() as u32);
        Ok(paths)
    }

    /// Returns the number of paths plus the number of rack pairs, without computing the paths.
    pub fn count(topology: &Topology, ports: &Ports, routes: &Routes) -> u64 {
        let racks = routes.racks();
        let mut example = vec![0; racks];
        (0..topology.hosts).for_each(|host| example[routes.rack_of(host) as usize] = host);
        let mut total = (racks * racks) as u64;
        let mut known: Vec<Option<u64>> = Vec::new();
        for to in 0..racks as u32 {
            known.clear();
            known.resize(topology.nodes.len(), None);
            for from in (0..racks as u32).filter(|from| *from != to) {
                let goal = Goal {
                    start: routes.anchor(from),
                    end: routes.anchor(to),
                    host: example[to as usize],
                };
                total =
                    total.saturating_add(counted(ports, routes, goal.start, goal, 0, &mut known));
            }
        }
        total
    }

    /// Returns the paths from rack to rack, ascending; none if there is no path or if both racks
    /// are the same.
    pub fn between(&self, from: u32, to: u32) -> &[u32] {
        let place = from as usize * self.racks + to as usize;
        &self.lists[self.first[place] as usize..self.first[place + 1] as usize]
    }
}

#[derive(Clone, Copy)]
struct Goal {
    start: NodeId,
    end: NodeId,
    /// Any host of the rack at the end.
    host: u32,
}

/// Counts the paths from `node`, which is `hops` hops after the start, to the end.
fn counted(
    ports: &Ports,
    routes: &Routes,
    node: NodeId,
    goal: Goal,
    hops: usize,
    known: &mut [Option<u64>],
) -> u64 {
    if node == goal.end {
        return 1;
    }
    if hops > HOPS {
        return 0;
    }
    if let Some(count) = known[node as usize] {
        return count;
    }
    let next = routes.next_hops(node, goal.host);
    let count = next
        .as_slice()
        .iter()
        .map(|&port| {
            counted(ports, routes, ports.of(node)[port as usize].peer, goal, hops + 1, known)
        })
        .fold(0, u64::saturating_add);
    known[node as usize] = Some(count);
    count
}

/// Follows all next hops from `node`, which is `hops` hops after the start, towards the end. `own`
/// routes apply at `node`, and `routes` at all later nodes.
fn walk(
    ports: &Ports,
    (own, routes): (&Routes, &Routes),
    node: NodeId,
    goal: Goal,
    (path, hops): (u32, usize),
    lists: &mut Vec<u32>,
) -> Result<(), NoPaths> {
    if node == goal.end {
        lists.push(path);
        return Ok(());
    }
    if hops == HOPS {
        return Err(NoPaths::Hops(goal.start, goal.end));
    }
    for &port in own.next_hops(node, goal.host).as_slice() {
        let number = u8::try_from(port).map_err(|_| NoPaths::Ports(node))?;
        let path = path | (number as u32) << (8 * hops);
        walk(
            ports,
            (routes, routes),
            ports.of(node)[port as usize].peer,
            goal,
            (path, hops + 1),
            lists,
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fat_tree, leaf_spine};

    fn of(topology: &Topology) -> (Ports, Routes, Paths) {
        let (ports, routes) = (Ports::new(topology), Routes::build(topology));
        let paths = Paths::new(topology, &ports, &routes, &routes).unwrap();
        (ports, routes, paths)
    }

    #[test]
    fn every_path_leads_to_its_rack_and_is_there_once() {
        for topology in [fat_tree(4, 2), fat_tree(8, 1), leaf_spine(3, 5, 2)] {
            let (ports, routes, paths) = of(&topology);
            for from in 0..routes.racks() as u32 {
                for to in 0..routes.racks() as u32 {
                    let list = paths.between(from, to);
                    assert!(list.is_sorted_by(|a, b| a < b));
                    assert_eq!(list.is_empty(), from == to);
                    for path in list {
                        let (mut node, mut rest) = (routes.anchor(from), *path);
                        while node != routes.anchor(to) {
                            node = ports.of(node)[(rest & 0xff) as usize].peer;
                            rest >>= 8;
                        }
                        assert_eq!(rest, 0);
                    }
                }
            }
        }
        let (_, routes, paths) = of(&fat_tree(8, 1));
        let counted: usize = (0..32)
            .flat_map(|from| (0..32).map(move |to| (from, to)))
            .map(|(from, to)| paths.between(from, to).len())
            .sum();
        let topology = fat_tree(8, 1);
        assert_eq!(
            Paths::count(&topology, &Ports::new(&topology), &routes),
            (32 * 32 + counted) as u64
        );
        let between = |a: u32, b: u32| paths.between(routes.rack_of(a), routes.rack_of(b)).len();
        assert_eq!((between(0, 4), between(0, 127)), (4, 16));
    }

    #[test]
    fn fabrics_without() {
        let mut topology = leaf_spine(2, 2, 2);
        let fails = |topology: &Topology| {
            Paths::new(
                topology,
                &Ports::new(topology),
                &Routes::build(topology),
                &Routes::build(topology),
            )
            .unwrap_err()
        };
        // Host 0 has links to both leaves.
        topology.links.push(crate::testing::link(
            0,
            5,
            afflux_units::Rate::from_gbps(100),
            afflux_units::Span::from_us(1),
        ));
        assert_eq!(fails(&topology), NoPaths::Host(0));
        // A leaf with 300 spines has too many ports.
        let wide = leaf_spine(2, 300, 1);
        assert_eq!(fails(&wide), NoPaths::Ports(2));
    }
}
