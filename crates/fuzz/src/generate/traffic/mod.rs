//! Generator of `[[traffic]]`.

mod drawn;
mod hadoop;
mod patterns;

use super::facts::{Family, Named, TransportFacts};
use crate::choices::{ALWAYS, Choices, Draw::*, Keys, drawn, int, ints};
pub use drawn::Drawn;
use drawn::sizes;
use toml::Value;

/// Returns traffic blocks that send about `packets` frames in all.
pub fn traffic(c: &mut Choices, around: &Drawn, packets: u64) -> Vec<Value> {
    let count = c.weighted(&[(4, 1), (4, 2), (2, 3)]);
    (0..count).map(|number| block(c, around, number, packets / count).into()).collect()
}

fn block(c: &mut Choices, around: &Drawn, number: u64, packets: u64) -> Keys {
    let mut keys = Keys::default();
    let chosen = c.range(0, around.transports.len() as u64 - 1) as usize;
    let Named { name, family, facts } = &around.transports[if number == 0 { 0 } else { chosen }];
    let tcp = matches!(family, Family::Tcp | Family::Hull | Family::Hadoop);
    let mut kinds = vec![
        (8, "random"),
        (6, "incast"),
        (4, "permutation"),
        (4, "pairs"),
        (3, "all_to_all"),
        (2, "partition_aggregate"),
        (2, "flows"),
        (2, "datagram"),
    ];
    if tcp && around.ends {
        kinds.push((2, "background"));
    }
    if c.1 {
        kinds.push((2, "ring_all_reduce"));
    }
    if around.family == Family::Hadoop && number == 0 {
        kinds = vec![(3, "hadoop"), (1, "hadoop_trace")];
    }
    let kind = c.weighted(&kinds);
    keys.put("kind", kind);
    if kind != "datagram" {
        if let Some(name) = name {
            keys.put("transport", *name);
        } else {
            keys.draw(c, &[(5, "transport", Text("default"))]);
        }
    }
    common(c, &mut keys, around, kind, *family, facts, number);
    let (fabric, bytes) = (around.fabric, packets * 1_200);
    let hosts = fabric.hosts;
    match kind {
        "random" => random(c, &mut keys, around, bytes),
        "incast" => patterns::incast(c, &mut keys, hosts, bytes),
        "permutation" | "pairs" => patterns::permutation(c, &mut keys, around, kind, bytes),
        "all_to_all" => patterns::all_to_all(c, &mut keys, around, bytes),
        "ring_all_reduce" => patterns::ring_all_reduce(c, &mut keys, hosts, bytes),
        "partition_aggregate" => patterns::partition_aggregate(c, &mut keys, hosts, bytes),
        "flows" => patterns::flows(c, &mut keys, around),
        "datagram" => patterns::datagram(c, &mut keys, fabric, bytes),
        "background" => patterns::background(c, &mut keys, fabric),
        _ => hadoop::hadoop(c, &mut keys, around, kind),
    }
    keys
}

fn common(
    c: &mut Choices,
    keys: &mut Keys,
    around: &Drawn,
    kind: &str,
    family: Family,
    facts: &TransportFacts,
    number: u64,
) {
    keys.draw(c, &[(40, "class", Texts(&["default", "query", "bulk"]))]);
    keys.may(c, 20, "name", |_| format!("block {number}"));
    keys.draw(c, &[(10, "seed", Int(0, 1_000)), (30, "start", Time(1, 500_000))]);
    let finite = kind != "background" && !kind.starts_with("hadoop");
    if c.1 && finite {
        // Flows start at 500 us at the latest.
        keys.draw(c, &[(15, "stop", Time(500_001, 3_000_000))]);
    }
    match facts.paused.filter(|_| kind != "datagram") {
        Some(true) => keys.put("priority", int(c.of(around.paused))),
        Some(false) => {
            let free: Vec<u64> =
                (0..8).filter(|priority| !around.paused.contains(priority)).collect();
            keys.put("priority", int(if free.is_empty() { 0 } else { c.of(&free) }));
        }
        None if c.chance(8) => keys.put("dscp", int(c.range(0, 63))),
        None => keys.draw(c, &[(50, "priority", Int(0, 7))]),
    }
    let dated =
        matches!(family, Family::Pdq | Family::D3) || around.family == Family::Tcp && c.chance(25);
    if dated && c.chance(70) {
        if c.chance(50) {
            keys.put("deadline", c.time(5_000, 5_000_000));
        } else {
            let mut deadline = Keys::default();
            let mean = c.scale(20_000, 5_000_000);
            deadline.put("mean", format!("{mean}ns"));
            deadline.may(c, 50, "least", |c| format!("{}ns", c.range(1, mean)));
            keys.put("deadline", deadline);
        }
    }
    if facts.persistent && finite && kind != "datagram" && !keys.has("stop") {
        keys.draw(c, &[(20, "persistent", Flag(true))]);
    }
}

fn random(c: &mut Choices, keys: &mut Keys, around: &Drawn, bytes: u64) {
    let fabric = around.fabric;
    let named = c.chance(25);
    let flows =
        if named { (bytes / 1_000_000).max(1) } else { c.scale(1, (bytes / 2_000).clamp(1, 300)) };
    keys.put("flows", int(flows));
    if named {
        keys.put("sizes", c.of(&["websearch", "alistorage", "solar", "fbhdp-20"]));
    } else {
        sizes(c, keys, around, bytes / flows);
    }
    keys.draw(c, &[(15, "duration", Time(100_000, 20_000_000))]);
    let sources = ["all".into(), "0-1".into(), ints(&[0]), "host*".into()];
    keys.may(c, 20, "sources", |c| c.of(&sources));
    if c.chance(10) {
        keys.put("destinations", "0-1");
        keys.put("sources", "all");
    }
    let some = keys.has("sources");
    if !fabric.uneven && c.chance(70) {
        keys.put("load", c.of(&[0.1, 0.3, 0.5, 0.8, 0.95, 1.2]));
        let mut bases = vec!["host_payload", "host_wire"];
        if matches!(fabric.kind, "star" | "dumbbell" | "leaf_spine" | "fat_tree") && !some {
            bases.extend(["max_link", "bisection", "fabric_oversub"]);
        }
        keys.put("load_basis", c.of(&bases));
    } else {
        keys.put("flows_per_second", c.scale(1_000, 1_000_000) as f64);
    }
    keys.draw(c, &[(40, "arrivals", Word("Arrivals"))]);
    if keys.text("arrivals") == Some("lognormal") {
        keys.draw(c, &[(50, "sigma", Reals(&[1.0, 2.0]))]);
    }
    match c.range(0, 9) {
        0 if fabric.racks && !some => keys.put("inter_rack", true),
        1 if fabric.racks && !some => keys.put("rack_local", c.real(0.1, 0.9)),
        2 if !some => {
            let mut spot = drawn(c, &[(ALWAYS, "share", Real(0.1, 0.9))]);
            spot.put("hosts", ints(&[0]));
            keys.put("hotspot", spot);
        }
        3 if fabric.kind == "dumbbell" && !some => keys.put("matrix", around.file("matrix.json")),
        _ => {}
    }
}
