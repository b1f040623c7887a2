//! Routes of the times between changes of links.

use crate::routing::{Ports, Routes};
use crate::spec::{Down, Link, Topology};
use rustc_hash::FxHashMap;

/// Builds the routes for every set of links that is in use at some time.
pub fn epochs(
    topology: &Topology,
    ports: &Ports,
) -> (Vec<(u64, Routes)>, FxHashMap<usize, Routes>) {
    let mut changes: Vec<u64> = vec![0];
    for down in topology.links.iter().flat_map(failures) {
        changes.extend([down.noticed(), down.known().0]);
        changes.extend(down.known().1);
    }
    changes.sort_unstable();
    changes.dedup();
    let known = |link: &Link, now: u64| {
        failures(link).any(|down| down.known().0 <= now && down.known().1.is_none_or(|to| now < to))
    };
    let noticed = |link: &Link, now: u64| {
        failures(link).any(|down| down.noticed() <= now && now < down.known().0)
    };
    let mut agreed = FxHashMap::default();
    let routes = |(number, from): (usize, u64)| {
        let mut routes = Routes::build_with(topology, ports, |link| {
            !known(&topology.links[link as usize], from)
        });
        if topology.links.iter().any(|link| noticed(link, from)) {
            agreed.insert(number, routes.clone());
        }
        for (id, link) in (0..).zip(&topology.links).filter(|(_, link)| noticed(link, from)) {
            [link.a, link.b]
                .into_iter()
                .for_each(|node| routes.leave_out(topology, ports, node, id));
        }
        (from, routes)
    };
    (changes.into_iter().enumerate().map(routes).collect(), agreed)
}

/// Returns the failures of a link that nodes notice.
fn failures(link: &Link) -> impl Iterator<Item = &Down> {
    link.down.iter().filter(|down| down.is_noticed())
}
