//! Requirements of transports on the paths of the fabric.

use super::transport::Transports;
use afflux_config::tree::{Key, Wrong};
use afflux_net::routing::{Ports, Routes};
use afflux_net::spec::{Balance, EngineKind, NodeId, NodeKind, Plan, RouteHash};

/// Refuses fabrics whose paths do not meet the requirements of a transport in use. The flow-level
/// engine has no such requirements.
pub fn fits(plan: &Plan, transports: &Transports) -> Result<(), Wrong> {
    let mut variants = None;
    for (index, key) in transports.named() {
        let (transport, at) = (&plan.transports[usize::from(index)], || key.clone().name("kind"));
        let (word, needs) = (transport.name(), transport.parameters().requirements().paths);
        if plan.run.engine == EngineKind::Ideal
            || plan.flows.iter().all(|flow| flow.transport != index)
        {
            continue;
        }
        if let Some(name) = needs.subflows {
            subflows_have_own_paths(plan, key.clone().name(name))?;
        }
        if !needs.one {
            continue;
        }
        let (several, longest) = *variants.get_or_insert_with(|| path_choice(plan));
        if plan.switches.iter().any(|switch| switch.balance != Balance::default()) {
            return Err(Wrong::at(
                at(),
                format!("\"{word}\" needs one path per flow: write balance = \"ecmp\" in [switch]"),
            ));
        }
        // Only switches that hash plainly grant rates.
        if plan.switches.iter().any(|switch| switch.hash == RouteHash::Murmur3) {
            return Err(Wrong::at(
                at(),
                format!(
                    "\"{word}\" does not work with hash = \"murmur3\": write another hash in [switch]"
                ),
            ));
        }
        if plan.topology.relays {
            return Err(Wrong::at(
                at(),
                format!(
                    "\"{word}\": hosts that forward frames grant no rates: write another transport, or a fabric whose hosts forward none"
                ),
            ));
        }
        if needs.symmetric
            && several
            && plan.switches.iter().any(|switch| switch.hash != RouteHash::Symmetric)
        {
            let cure = "write hash = \"symmetric\" in [switch]";
            return Err(Wrong::at(
                at(),
                format!("\"{word}\" needs replies to return on the path of the flow: {cure}"),
            ));
        }
        if let Some(most) = needs.links.filter(|most| longest > *most) {
            return Err(Wrong::at(
                at(),
                format!(
                    "\"{word}\" supports paths of at most {most} links, and this fabric has paths of {longest}: use another transport, or a fabric with shorter paths"
                ),
            ));
        }
    }
    Ok(())
}

/// Refuses balancers that keep a state for each flow and would take its subflows for one.
fn subflows_have_own_paths(plan: &Plan, key: Key) -> Result<(), Wrong> {
    let about = plan.switches.iter().map(|switch| switch.balance.about());
    match about.into_iter().find(|about| about.reorders) {
        Some(about) => {
            let found = format!(
                "balance = \"{}\" in [switch] follows flows, and would take the subflows of a connection for one: write subflows = 1, or another balance",
                about.model.name
            );
            Err(Wrong::at(key, found))
        }
        None => Ok(()),
    }
}

/// Returns whether there is a choice of paths anywhere, and the largest number of links on a path.
fn path_choice(plan: &Plan) -> (bool, u32) {
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
    let nodes = (0..topology.nodes.len() as NodeId).filter(|node| {
        topology.nodes[*node as usize].kind == NodeKind::Switch || ports.of(*node).len() > 1
    });
    let several = nodes.into_iter().any(|node| {
        hosts.iter().any(|&host| host != node && routes.next_hops(node, host).as_slice().len() > 1)
    });
    (several, longest)
}
