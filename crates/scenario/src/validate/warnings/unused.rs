//! Warns of keys that another key overrides, and of tables that nothing uses.

use super::input::WarningInput;
use crate::validate::switch::matching;
use afflux_config::Names;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{NodeId, NodeKind, QueueKeys};
use serde::Serialize;
use std::collections::BTreeSet;

/// Tables in which an override replaces single keys instead of the whole table.
const MERGED: [&str; 3] = ["mmu", "pfc", "voq"];

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    transports(input, found);
    let switch = &input.document.switch;
    // The keys of presets are included here, because they override as written keys do.
    let of_switches: Vec<Override> = switch
        .overrides()
        .iter()
        .filter_map(|change| {
            Some(Override::of(input, change.matching.as_ref()?, change, NodeKind::Switch))
        })
        .collect();
    overrides(input, "switch", NodeKind::Switch, &of_switches, found);
    let of_hosts: Vec<Override> = input
        .document
        .host
        .overrides()
        .iter()
        .filter_map(|change| {
            Some(Override::of(input, change.matching.as_ref()?, change, NodeKind::Host))
        })
        .collect();
    overrides(input, "host", NodeKind::Host, &of_hosts, found);
    queues(input, &of_switches, found);
}

fn transports(input: &WarningInput, found: &mut Vec<Wrong>) {
    if input.idle() {
        return;
    }
    for (index, key) in input.transports.named() {
        let used = input.uses.variants.iter().any(|way| way.0 == index);
        // If no named transport is used, the default one counts as used.
        let stands_by = index == 0 && input.uses.variants.is_empty();
        if !used && !stands_by && input.tree.has(&key) {
            let cure = if index == 0 {
                "remove it, or the transport that a block or an override of a host names"
            } else {
                "remove it, or name it in a [[traffic]] block"
            };
            found.push(Wrong::at(
                key,
                format!("has no effect: no traffic uses this transport; {cure}"),
            ));
        }
    }
    for (index, (with, without)) in &input.uses.refused {
        if *with == 0 && *without > 0 {
            let key = input
                .transports
                .named()
                .find(|(known, _)| known == index)
                .map(|(_, key)| key)
                .unwrap_or_default();
            let text = "works like NewReno without ECN, because all of its flows go to hosts whose own transport is not DCTCP, and such hosts refuse ECN to a DCTCP sender";
            found.push(Wrong::at(
                key.name("congestion"),
                format!("{text}; give those hosts the transport too"),
            ));
        }
    }
}

/// Nodes that an override matches, and keys that it sets.
struct Override {
    nodes: BTreeSet<NodeId>,
    keys: BTreeSet<String>,
}

impl Override {
    fn of(
        input: &WarningInput,
        names: &Names,
        change: &impl Serialize,
        kind: NodeKind,
    ) -> Override {
        let nodes =
            matching(&input.plan.topology, &names.0, kind, Key::default()).unwrap_or_default();
        let keys = match toml::Value::try_from(change) {
            Ok(toml::Value::Table(table)) => {
                table.into_iter().map(|(name, _)| name).filter(|name| name != "match").collect()
            }
            _ => BTreeSet::new(),
        };
        Override { nodes: nodes.into_iter().collect(), keys }
    }
}

fn overrides(
    input: &WarningInput,
    table: &str,
    kind: NodeKind,
    all: &[Override],
    found: &mut Vec<Wrong>,
) {
    let place = |index: usize| Key::from(table).name("override").index(index);
    for (index, change) in all.iter().enumerate() {
        if change.keys.is_empty() {
            found.push(Wrong::at(
                place(index),
                "has no effect: match is its only key; write a key that differs, or remove it",
            ));
        }
        for key in change.keys.iter().filter(|key| {
            !MERGED.contains(&key.as_str()) && input.tree.has(&place(index).name(key))
        }) {
            let later = |node: &NodeId| {
                all[index + 1..]
                    .iter()
                    .any(|other| other.nodes.contains(node) && other.keys.contains(key))
            };
            if change.nodes.iter().all(later) {
                let text = format!(
                    "has no effect: later overrides set {key} for all nodes that this one matches; remove it, or put it last"
                );
                found.push(Wrong::at(place(index).name(key), text));
            }
        }
    }
    let nodes = input
        .plan
        .topology
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.kind == kind)
        .map(|(id, _)| id as NodeId);
    let nodes: Vec<NodeId> = nodes.collect();
    if nodes.is_empty() || all.is_empty() {
        return;
    }
    let said: BTreeSet<&String> = all
        .iter()
        .flat_map(|change| &change.keys)
        .filter(|key| !MERGED.contains(&key.as_str()))
        .collect();
    for name in said {
        let key = Key::from(table).name(name);
        // `transport` of an override names a transport, but is a table in `[host]`. Keys of the
        // preset in `[switch]` that an override's preset lacks stay in effect.
        if name == "transport" || name == "preset" || !input.tree.has(&key) {
            continue;
        }
        if nodes.iter().all(|node| {
            all.iter().any(|change| change.nodes.contains(node) && change.keys.contains(name))
        }) {
            let text = format!(
                "has no effect: overrides set {name} for every {}; remove it, or the key of an override",
                if table == "host" { "host" } else { "switch" }
            );
            found.push(Wrong::at(key, text));
        }
    }
}

/// Warns of keys for all queues of a switch if each queue has its own value at all switches that
/// the key applies to.
fn queues(input: &WarningInput, of_switches: &[Override], found: &mut Vec<Wrong>) {
    let nodes = || {
        let nodes = (0..).zip(&input.plan.topology.nodes);
        nodes.filter(|(_, node)| node.kind == NodeKind::Switch)
    };
    let has = |queue: &QueueKeys, name: &str| match name {
        "ecn" => queue.ecn.is_some(),
        "alpha" => queue.alpha.is_some(),
        _ => queue.reserved.is_some(),
    };
    let is_idle = |config: u32, name: &str| {
        let queues = input.switch_keys[config as usize].queue.as_ref();
        queues.is_some_and(|queues| !queues.is_empty() && queues.iter().all(|q| has(q, name)))
    };
    let overrides = (0..of_switches.len()).map(Some);
    for (place, name) in std::iter::once(None)
        .chain(overrides)
        .flat_map(|place| ["ecn", "alpha", "reserved"].map(|name| (place, name)))
    {
        let table = match place {
            None => Key::from("switch"),
            Some(index) => Key::from("switch").name("override").index(index),
        };
        let key = table.clone().name(name);
        // The last override with the key decides on its value.
        let sets = |change: &Override, id: NodeId| {
            change.nodes.contains(&id) && change.keys.contains(name)
        };
        let mut configs = nodes()
            .filter(|(id, _)| of_switches.iter().rposition(|change| sets(change, *id)) == place)
            .map(|(_, node)| node.config)
            .peekable();
        let applies = configs.peek().is_some();
        if !input.tree.has(&key) || !applies || !configs.all(|config| is_idle(config, name)) {
            continue;
        }
        let text = if input.tree.has(&table.name("queue")) {
            format!("has no effect: every [[switch.queue]] has its own {name}; remove it")
        } else {
            format!(
                "has no effect: each queue of these switches has its own {name}; write it in queue blocks here, or remove it"
            )
        };
        found.push(Wrong::at(key, text));
    }
}
