//! Names of directed links and of the ports that send over them.

use afflux_net::spec::Topology;
use serde::Serialize;

/// A port that is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PausedPort {
    pub node: String,
    pub port: u32,
}

/// Returns both ends of a directed link. `2 * link` is the direction from the link's first node to
/// its second.
fn ends(topology: &Topology, direction: u32) -> (u32, u32) {
    let link = &topology.links[direction as usize / 2];
    if direction.is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) }
}

/// Returns the name of a directed link, `from>to`.
pub fn link_name(topology: &Topology, direction: u32) -> String {
    let name = |node: u32| topology.nodes[node as usize].name.as_str();
    let (from, to) = ends(topology, direction);
    format!("{}>{}", name(from), name(to))
}

/// Returns the port that sends over a directed link.
pub fn paused_port(topology: &Topology, direction: u32) -> PausedPort {
    let (from, _) = ends(topology, direction);
    let before = &topology.links[..direction as usize / 2];
    let port = before.iter().filter(|link| link.a == from || link.b == from).count() as u32;
    PausedPort { node: topology.nodes[from as usize].name.clone(), port }
}
