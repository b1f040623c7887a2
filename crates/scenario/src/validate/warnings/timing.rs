//! Warns of hosts without timing noise that share a drop-tail port.

use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Plan, TransportConfig};
use std::collections::BTreeMap;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let key = Key::from("host").name("timing");
    let exact = input.tree.has(&key) && input.hosts().all(|host| host.timing.is_none());
    let drops_tail = input
        .switches()
        .any(|switch| switch.marking.is_none() && switch.aqm.is_none() && switch.pfc.is_none());
    if !exact || !drops_tail {
        return;
    }
    if let Some(receiver) = shared(input.plan) {
        let name = &input.plan.topology.nodes[receiver as usize].name;
        found.push(Wrong::at(
            key,
            format!(
                "several TCP senders share the drop-tail port to {name}, which is as fast as their own links: without noise their phases stay where they \
                 are, and one of them can take all places in the queue, which does not happen between real hosts; remove it, or write timing = {{}}"
            ),
        ));
    }
}

/// Returns a host to which several others send by TCP, each with a link no faster than the host's
/// own.
fn shared(plan: &Plan) -> Option<u32> {
    let mut fastest = vec![0; plan.topology.nodes.len()];
    for link in &plan.topology.links {
        for node in [link.a, link.b] {
            fastest[node as usize] = link.rate.0.max(fastest[node as usize]);
        }
    }
    let mut senders: BTreeMap<u32, u32> = BTreeMap::new();
    for flow in plan.flows.iter().filter(|flow| flow.src != flow.dst) {
        if matches!(plan.transports[flow.transport as usize], TransportConfig::Tcp(_))
            && fastest[flow.src as usize] <= fastest[flow.dst as usize]
        {
            let first = *senders.entry(flow.dst).or_insert(flow.src);
            if first != flow.src {
                return Some(flow.dst);
            }
        }
    }
    None
}
