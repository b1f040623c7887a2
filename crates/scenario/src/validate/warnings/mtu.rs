//! Warns of links that carry smaller packets than hosts send.

use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{NodeKind, TransportConfig};
use std::collections::BTreeSet;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let plan = input.plan;
    if plan.topology.links.iter().all(|link| link.longest.is_none()) {
        return;
    }
    let Some(longest) = longest_frame(input) else { return };
    handshake(input, found);
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

/// Returns the longest frame of all simulated flows in bytes; `None` without flows.
pub fn longest_frame(input: &WarningInput) -> Option<u16> {
    let plan = input.plan;
    let frame = |transport: &TransportConfig| {
        let frames = transport.parameters().frames();
        frames.payload + frames.data + plan.wire.data_header
    };
    transports(input).into_iter().map(|index| frame(&plan.transports[usize::from(index)])).max()
}

fn transports(input: &WarningInput) -> BTreeSet<u16> {
    let of_flows = input.plan.flows.iter().map(|flow| flow.transport);
    of_flows.chain(input.uses.variants.iter().map(|way| way.0)).collect()
}

/// Warns of a link that discards even the frames that open a TCP connection.
fn handshake(input: &WarningInput, found: &mut Vec<Wrong>) {
    let plan = input.plan;
    let opens = |index: u16| {
        let transport = &plan.transports[usize::from(index)];
        transport.parameters().segments().is_some_and(|(tcp, _)| tcp.handshake)
    };
    if !transports(input).into_iter().any(opens) {
        return;
    }
    let small = plan.topology.links.iter().find_map(|link| {
        let most = link.longest.filter(|most| *most < plan.wire.syn)?;
        Some((link, most))
    });
    if let Some((link, most)) = small {
        let name = |id: u32| plan.topology.nodes[id as usize].name.as_str();
        let text = format!(
            "\"{}-{}\" discards frames above {most} B, and a SYN has {} B, so no TCP connection opens: write a larger mtu for the link",
            name(link.a),
            name(link.b),
            plan.wire.syn
        );
        found.push(Wrong::at(Key::from("topology.override"), text));
    }
}
