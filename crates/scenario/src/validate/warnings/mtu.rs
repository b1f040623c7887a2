//! Warns of links between switches that carry smaller packets than hosts send.

use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{NodeKind, TransportConfig};
use std::collections::BTreeSet;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let plan = input.plan;
    if plan.topology.links.iter().all(|link| link.longest.is_none()) {
        return;
    }
    let used: BTreeSet<u16> = plan.flows.iter().map(|flow| flow.transport).collect();
    let frame = |transport: &TransportConfig| {
        let frames = transport.parameters().frames();
        frames.payload + frames.data + plan.wire.data_header
    };
    let Some(longest) = used.iter().map(|index| frame(&plan.transports[usize::from(*index)])).max()
    else {
        return;
    };
    let is_switch = |id: u32| plan.topology.nodes[id as usize].kind == NodeKind::Switch;
    for link in plan.topology.links.iter().filter(|link| is_switch(link.a) && is_switch(link.b)) {
        let Some(most) = link.longest.filter(|most| *most < longest) else { continue };
        let name = |id: u32| plan.topology.nodes[id as usize].name.as_str();
        let text = format!(
            "\"{}-{}\" discards frames above {most} B, and flows send up to {longest} B: no full frame passes it, and TCP does not learn of that; write a \
             larger mtu for the link, or a smaller host.mtu",
            name(link.a),
            name(link.b)
        );
        found.push(Wrong::at(Key::from("topology.override"), text));
        return;
    }
}
