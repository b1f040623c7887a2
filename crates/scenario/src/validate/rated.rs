//! `kind = "pdq"` and `"d3"`: transports that are granted rates.

use crate::document::{Host, Transport};
use crate::tree::{Key, Wrong};
use afflux_net::routing::{Ports, Routes};
use afflux_net::spec::{Balance, EngineKind, NodeId, NodeKind, Plan, RouteHash};

/// Links that D3's header has room for.
const HOPS: u32 = 8;

/// Where the flows of such a transport can go. The flow-level engine does not mind.
pub fn fits(plan: &Plan, host: &Host) -> Result<(), Wrong> {
    let named = std::iter::once((Key::from("host.transport"), host.transport.as_ref()))
        .chain(host.transports.iter().map(|(name, transport)| (Key::from("host.transports").name(name), Some(transport))));
    let mut ways = None;
    for (index, (key, transport)) in named.enumerate() {
        let word = match transport {
            Some(Transport::Pdq(_)) => "pdq",
            Some(Transport::D3(_)) => "d3",
            _ => continue,
        };
        let unused = plan.flows.iter().all(|flow| usize::from(flow.transport) != index);
        if unused || plan.run.engine == EngineKind::Ideal {
            continue;
        }
        let (several, longest) = *ways.get_or_insert_with(|| ways_of(plan));
        if several && plan.switches.iter().any(|switch| switch.balance != Balance::default()) {
            return Err(Wrong::at(key.name("kind"), format!("\"{word}\" needs flows that keep to one path: write balance = \"ecmp\" in [switch]")));
        }
        if word == "pdq" && several && plan.switches.iter().any(|switch| switch.hash != RouteHash::Symmetric) {
            return Err(Wrong::at(
                key.name("kind"),
                "\"pdq\" needs answers that come back by the way of what they answer: write hash = \"symmetric\" in [switch]",
            ));
        }
        if word == "d3" && longest > HOPS {
            return Err(Wrong::at(key.name("kind"), format!("\"d3\": its header has room for {HOPS} links on a path, this fabric has paths of {longest}")));
        }
    }
    Ok(())
}

/// Is there a choice of paths anywhere; and the most links on a path.
fn ways_of(plan: &Plan) -> (bool, u32) {
    let topology = &plan.topology;
    let (routes, ports) = (Routes::build(topology), Ports::new(topology));
    let mut hosts: Vec<u32> = (0..topology.hosts).collect();
    hosts.dedup_by_key(|host| routes.rack_of(*host));
    let mut longest = 0;
    for &from in &hosts {
        for &to in hosts.iter().filter(|&&to| to != from) {
            let (mut node, mut links) = (from as NodeId, 0);
            while node != to {
                let Some(&port) = routes.next_hops(node, to).as_slice().first() else { break };
                (node, links) = (ports.of(node)[port as usize].peer, links + 1);
            }
            longest = longest.max(links);
        }
    }
    let nodes = (0..topology.nodes.len() as NodeId).filter(|node| topology.nodes[*node as usize].kind == NodeKind::Switch || ports.of(*node).len() > 1);
    let several = nodes.into_iter().any(|node| hosts.iter().any(|&host| host != node && routes.next_hops(node, host).as_slice().len() > 1));
    (several, longest)
}
