//! Choices among paths and queues that there are not.

use super::Ground;
use crate::tree::{Key, Wrong};
use afflux_net::spec::{Aqm, Balance, Buffer, Scheduling};

pub fn find(ground: &Ground, found: &mut Vec<Wrong>) {
    one_path(ground, found);
    one_queue(ground, found);
    urgency(ground, found);
    trimming(ground, found);
    undated(ground, found);
}

/// A fabric that is a tree has one path between any two nodes.
fn one_path(ground: &Ground, found: &mut Vec<Wrong>) {
    let topology = &ground.plan.topology;
    if topology.links.len() + 1 != topology.nodes.len() {
        return;
    }
    let key = ground.switch_key("balance");
    if ground.tree.has(&key) && ground.switches().any(|switch| switch.balance != Balance::default()) {
        found.push(Wrong::at(key, "has no effect: this fabric has one path between any two hosts; remove it, or write another [topology]"));
    }
    for transport in ground.used() {
        if let Some((key, what, cure)) = transport.config.parameters().wants_paths() {
            let text = format!("{what}: this fabric has no other between any two hosts; write {cure}, or another [topology]");
            found.push(Wrong::at(key.split('.').fold(transport.key, Key::name), text));
        }
    }
}

/// Priorities where every port has one queue.
fn one_queue(ground: &Ground, found: &mut Vec<Wrong>) {
    let told_apart = ground.switches().any(|switch| switch.scheduling.queues() > 1 || matches!(switch.buffer, Buffer::Mmu(_)))
        || ground.hosts().any(|host| host.scheduling != Scheduling::Fifo);
    if told_apart {
        return;
    }
    let of_blocks = (0..ground.written.traffic.len()).flat_map(|block| ["priority", "dscp"].map(|name| (Key::from("traffic").index(block).name(name), name)));
    let of_transports = ground.transports.named().map(|(_, key)| (key.name("ack_priority"), "ack_priority"));
    let first = of_blocks.chain(of_transports).find(|(key, _)| ground.tree.has(key) && !ground.tree.is_zero(key));
    if let Some((key, _)) = first {
        let text = "has no effect: no switch or NIC has more than one queue; write scheduling = \"strict_priority\" in [switch] and [host], or remove it";
        found.push(Wrong::at(key, text));
    }
}

/// pFabric is a transport and a queue: each is half of it.
fn urgency(ground: &Ground, found: &mut Vec<Wrong>) {
    let queues = ground.switches().any(|switch| matches!(switch.aqm, Some(Aqm::Pfabric(_))));
    let used = ground.used();
    let ranked = used.iter().find(|one| one.config.parameters().tells_remaining());
    match ranked {
        Some(one) if !queues => {
            let text = "\"pfabric\" sends with the bytes left of each flow, and no switch looks at them: write scheduling = \"pfabric\" in [switch] and [host], or rank = \"none\"";
            found.push(Wrong::at(one.key.clone().name("kind"), text));
        }
        None if queues && !used.is_empty() => {
            let text = "\"pfabric\" serves the flow with the fewest bytes left, and no traffic says how many it has left: write kind = \"pfabric\" in [host.transport]";
            found.push(Wrong::at(ground.switch_key("scheduling"), text));
        }
        _ => {}
    }
}

/// So are transports whose data can be cut to headers, and queues that do so.
fn trimming(ground: &Ground, found: &mut Vec<Wrong>) {
    let queues = ground.switches().any(|switch| switch.aqm.as_ref().is_some_and(|aqm| aqm.about().trims));
    let used = ground.used();
    match used.iter().find(|one| one.config.parameters().is_trimmable()) {
        Some(one) if !queues => {
            let text = "waits for headers of data that found no room, and no switch sends any: full queues drop, and what they drop is missed only after `rto`; write trimming = {} in [switch]";
            found.push(Wrong::at(one.key.clone().name("kind"), text));
        }
        None if queues && !used.is_empty() => {
            let text = "no data can be cut to headers, so full queues drop them: write kind = \"ndp\" in [host.transport], or remove it";
            found.push(Wrong::at(ground.switch_key("trimming"), text));
        }
        _ => {}
    }
}

/// Transports that go by deadlines, where no flow has one.
fn undated(ground: &Ground, found: &mut Vec<Wrong>) {
    for one in ground.used().into_iter().filter(|one| !one.dated) {
        let Some((name, text)) = one.config.parameters().wants_deadlines() else { continue };
        found.push(Wrong::at(one.key.name(name), format!("{text}: no flow has a deadline; write deadline = \"10ms\" in [[traffic]]")));
    }
}
