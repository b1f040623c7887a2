//! Warns of path selection, priorities, hints and deadlines that have no effect in the scenario.

use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Balance, Buffer, QueueTag, RouteHash, SchedulingKind, Served};
use afflux_net::transports::{Hash, Setting};

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    one_path(input, found);
    chosen_path(input, found);
    one_queue(input, found);
    hints(input, found);
    missing_deadline(input, found);
}

/// Warns of path selection in a fabric that is a tree: it has one path between any two nodes.
fn one_path(input: &WarningInput, found: &mut Vec<Wrong>) {
    let topology = &input.plan.topology;
    if topology.links.len() + 1 != topology.nodes.len() {
        return;
    }
    let key = input.switch_key("balance");
    if input.tree.has(&key) && input.switches().any(|switch| switch.balance != Balance::default()) {
        found.push(Wrong::at(key, "has no effect: this fabric has one path between any two hosts; remove it, or write another [topology]"));
    }
    let key = input.switch_key("hash");
    if input.tree.has(&key) {
        found.push(Wrong::at(key, "has no effect: this fabric has one path between any two hosts; remove it, or write another [topology]"));
    }
    for transport in input.used() {
        let several = transport.config.parameters().requirements().paths.several;
        if let Some((Setting { key, text }, cure)) = several {
            let text = format!(
                "{text}: this fabric has only one path between any two hosts; write {cure}, or another [topology]"
            );
            found.push(Wrong::at(key.split('.').fold(transport.key, Key::name), text));
        }
    }
}

/// Warns of senders that choose a path for each frame, and switches that choose one for each flow.
fn chosen_path(input: &WarningInput, found: &mut Vec<Wrong>) {
    let Some(switch) = input.switches().find(|switch| {
        switch.balance.about().follows_flows
            || switch.balance.about().hashes && switch.hash == RouteHash::Murmur3
    }) else {
        return;
    };
    let (name, cure) = match switch.hash {
        RouteHash::Murmur3 => ("hash = \"murmur3\"".to_owned(), "another hash"),
        _ => (format!("balance = \"{}\"", switch.balance.name()), "balance = \"ecmp\""),
    };
    for transport in input.used() {
        let hash = transport.config.parameters().requirements().hash;
        if let Hash::PerFrameIfFollowed(Setting { key, text: other }) = hash {
            let text = format!(
                "has no effect: switches with {name} choose paths for flows, not for frames; write {cure} in [switch], or {other}"
            );
            found.push(Wrong::at(key.split('.').fold(transport.key, Key::name), text));
        }
    }
}

/// Warns of priorities if every port has one queue.
fn one_queue(input: &WarningInput, found: &mut Vec<Wrong>) {
    let told_apart = input.switches().any(|switch| {
        switch.scheduling.queues() > 1
            || matches!(switch.buffer, Buffer::Mmu(_))
            || switch.pfc.is_some()
    }) || input.hosts().any(|host| host.scheduling.queues() > 1);
    if told_apart {
        return;
    }
    let of_blocks = (0..input.written.traffic.len()).flat_map(|block| {
        ["priority", "dscp"].map(|name| (Key::from("traffic").index(block).name(name), name))
    });
    let of_transports =
        input.transports.named().map(|(_, key)| (key.name("ack_priority"), "ack_priority"));
    let first = of_blocks
        .chain(of_transports)
        .find(|(key, _)| input.tree.has(key) && !input.tree.is_zero(key));
    if let Some((key, _)) = first {
        let several = SchedulingKind::named(Served::Priorities);
        let text = format!(
            "has no effect: no switch or NIC has more than one queue; write scheduling = \"{several}\" in [switch] and [host], or remove it"
        );
        found.push(Wrong::at(key, text));
    }
}

/// Warns of a transport whose frames carry a hint that no queue reads, and of a queue that reads a
/// hint that no frame carries.
fn hints(input: &WarningInput, found: &mut Vec<Wrong>) {
    let used = input.used();
    let heeded: Vec<_> =
        input.switches().filter_map(|switch| switch.aqm.as_ref()?.about().requires_tag).collect();
    for queue_tag in [QueueTag::Remaining, QueueTag::Trimmable] {
        let reported = used.iter().find_map(|one| {
            one.config
                .parameters()
                .requirements()
                .queue_tag
                .filter(|reported| reported.0 == queue_tag)
                .map(|(_, text)| (one, text))
        });
        match (reported, heeded.iter().find(|heeded| heeded.0 == queue_tag)) {
            (Some((one, text)), None) => found.push(Wrong::at(one.key.clone().name("kind"), text)),
            (None, Some((_, key, text))) if !used.is_empty() => {
                found.push(Wrong::at(input.switch_key(key), *text))
            }
            _ => {}
        }
    }
}

/// Warns of transports that use deadlines if none of their flows has one.
fn missing_deadline(input: &WarningInput, found: &mut Vec<Wrong>) {
    for one in input.used().into_iter().filter(|one| !one.dated) {
        let deadlines = one.config.parameters().requirements().deadlines;
        let Some(Setting { key, text }) = deadlines else { continue };
        found.push(Wrong::at(
            one.key.name(key),
            format!("{text}: no flow has a deadline; write deadline = \"10ms\" in [[traffic]]"),
        ));
    }
}
