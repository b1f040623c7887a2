//! Generator of `[switch]`.

use super::facts::{Family, Pauses};
use super::topology::Fabric;
use crate::choices::{Choices, Keys, int, ints};
use toml::Value;

/// Settings of switches that restrict the choices for hosts and traffic.
#[derive(Debug, Clone, Default)]
pub struct SwitchFacts {
    /// Lossless priorities (PFC).
    pub paused: Vec<u64>,
    pub conweave: bool,
}

pub fn switch(
    c: &mut Choices,
    fabric: &Fabric,
    family: Family,
    pauses: Pauses,
    entropies: bool,
) -> (Keys, SwitchFacts) {
    let mut keys = Keys::default();
    let mut facts = SwitchFacts::default();
    if family == Family::Ndp {
        let mut trimming = Keys::default();
        trimming.may(c, 60, "data", |c| c.size(1, 60_000));
        trimming.may(c, 40, "headers", |c| c.size(500, 30_000));
        trimming.may(c, 30, "header", |c| c.size(20, 200));
        keys.put("trimming", trimming);
        keys.may(c, 15, "latency", |c| c.time(1, 5_000));
        balance(c, &mut keys, &mut facts, fabric, family, entropies, true);
        return (keys, facts);
    }
    if pauses == Pauses::Any && c.chance(4) {
        let preset = c.of(&["trident3", "jericho_plus"]);
        keys.put("preset", preset);
        balance(c, &mut keys, &mut facts, fabric, family, entropies, preset == "trident3");
        return (keys, facts);
    }
    let urgent = family == Family::Pfabric && c.chance(75);
    let sharing = match pauses {
        _ if urgent => c.weighted(&[(4, "static"), (1, "unlimited")]),
        Pauses::Needed => c.weighted(&[(3, "sonic"), (1, "conweave"), (1, "hpcc")]),
        Pauses::Obeyed => {
            c.weighted(&[(3, "dynamic"), (3, "static"), (1, "unlimited"), (1, "sonic")])
        }
        Pauses::Any => c.weighted(&[
            (7, "dynamic"),
            (7, "static"),
            (2, "voq"),
            (1, "unlimited"),
            (3, "sonic"),
            (1, "conweave"),
            (1, "hpcc"),
        ]),
    };
    keys.put("sharing", sharing);
    let managed = matches!(sharing, "sonic" | "conweave" | "hpcc");
    let voq = sharing == "voq";
    let obeys = pauses == Pauses::Obeyed;
    if obeys {
        keys.put("honours_pause", true);
    }
    match sharing {
        "static" => {
            let buffer = if c.chance(50) {
                format!("{}packets", c.scale(2, 60))
            } else {
                c.size(9_200, 200_000)
            };
            keys.put("buffer", buffer);
            if urgent {
                keys.may(c, 30, "drop_when", |_| "at_or_above");
            } else {
                keys.may(c, 20, "drop_when", |c| c.of(&["above", "at_or_above"]));
            }
        }
        "dynamic" => {
            keys.may(c, 90, "buffer", |c| c.size(20_000, 1_000_000));
            keys.may(c, 60, "alpha", |c| c.of(&[0.0625, 0.125, 0.5, 1.0, 2.0, 8.0]));
            keys.may(c, 20, "reserved", |c| c.size(1, 16_000));
        }
        "voq" => deep(c, &mut keys, &mut facts),
        "unlimited" => {}
        _ => memory(c, &mut keys, &mut facts, sharing, fabric, pauses == Pauses::Needed),
    }
    let pauses_here = managed || obeys || !facts.paused.is_empty();
    // Scenarios of older seeds must not change.
    let anywhere = c.1 && (voq || pauses_here);
    let disciplined =
        !urgent && (anywhere || !voq && !pauses_here) && (family == Family::Hull || c.chance(25));
    let aqm = if disciplined { discipline(c, &mut keys, family, entropies) } else { "off" };
    if aqm == "off" && !urgent && c.chance(60) {
        let ecn = marking(c, voq && !c.1);
        keys.put("ecn", ecn);
    }
    let queues = if urgent {
        keys.put("scheduling", "pfabric");
        1
    } else {
        let shares = sharing == "dynamic" || c.1 && sharing == "sonic" && facts.paused.is_empty();
        schedule(c, &mut keys, aqm == "fq_codel", voq, shares, sharing == "static", aqm != "off")
    };
    let _ = queues;
    keys.may(c, 15, "latency", |c| c.time(1, 5_000));
    let mut cuts = false;
    if !voq && c.chance(15) {
        keys.put("forwarding", "cut_through");
        keys.may(c, 50, "cut_through_header", |c| c.size(14, 1_000));
        cuts = true;
    }
    if !voq && !pauses_here && !urgent && c.chance(10) {
        keys.put("device_queue", int(c.scale(1, 8)));
        keys.may(c, 50, "queue_length", |c| c.of(&["before_transmission", "through_start"]));
    } else if !voq && c.chance(15) {
        let lengths: &[&str] = if pauses_here || urgent {
            &["through_transmission", "before_transmission"]
        } else {
            &["through_transmission", "before_transmission", "through_start"]
        };
        keys.put("queue_length", c.of(lengths));
    }
    if !cuts && !managed && facts.paused.is_empty() && c.chance(4) {
        keys.put("processor", processor(c));
    }
    balance(c, &mut keys, &mut facts, fabric, family, entropies, !(cuts || voq));
    overrides(c, &mut keys, fabric, sharing, family);
    (keys, facts)
}

/// Sets virtual output queues and their DRAM.
fn deep(c: &mut Choices, keys: &mut Keys, facts: &mut SwitchFacts) {
    let mut voq = Keys::default();
    let ingress = c.of(&["core", "port"]);
    voq.may(c, 50, "ingress", |_| ingress);
    let ports = !voq.0.contains_key("ingress") || ingress == "core";
    let mut turns = !ports;
    if ports && c.chance(40) {
        voq.put("ports_per_core", int(c.range(1, 4)));
        turns = true;
    }
    if c.1 && c.chance(40) {
        voq.may(c, 50, "credit_speedup", |c| c.real(0.3, 2.0));
        voq.may(c, 50, "max_credits", |c| int(c.scale(1, 40)));
        voq.may(c, 50, "fabric_speedup", |c| c.real(0.3, 2.0));
        turns |= ["credit_speedup", "max_credits", "fabric_speedup"]
            .iter()
            .any(|name| voq.0.contains_key(*name));
    }
    if turns {
        voq.may(c, 50, "credit", |c| c.size(64, 8_000));
    }
    voq.may(c, 60, "max_bytes", |c| c.size(9_200, 200_000));
    voq.may(c, 30, "max_time", |c| c.time(800_000, 20_000_000));
    voq.may(c, 50, "on_chip", |c| c.size(1, 100_000));
    voq.may(c, 40, "evict_bytes", |c| c.size(1, 60_000));
    voq.may(c, 40, "evict_packets", |c| int(c.scale(1, 40)));
    voq.may(c, 50, "dram", |c| c.size(30_000, 1_000_000));
    voq.may(c, 50, "dram_bandwidth", |c| format!("{}Mbps", c.scale(100, 400_000)));
    voq.may(c, 30, "write_buffer", |c| c.size(9_200, 60_000));
    voq.may(c, 30, "grant_latency", |c| c.time(1, 3_000));
    voq.may(c, 20, "reserved", |c| c.of(&[0.0, 0.1, 0.4]));
    voq.may(c, 20, "dynamic", |c| c.of(&[0.1, 0.5, 0.6]));
    if c.1 && c.chance(40) {
        let count = c.weighted(&[(4, 1), (3, 2), (1, 8)]);
        let paused = c.some_below(count, 8);
        // The memory must hold all frames that may wait below `xoff`.
        ["reserved", "dynamic"].iter().for_each(|name| drop(voq.0.remove(*name)));
        voq.put("dram", "500MB");
        let xoff = c.scale(2_000, 100_000);
        voq.put("xoff", format!("{xoff}B"));
        voq.may(c, 60, "xon", |c| format!("{}B", c.range(1, xoff)));
        let headroom = format!("{}B", c.scale(500, 150_000));
        pauses_of(c, keys, &paused, |_, pfc| pfc.put("headroom", headroom));
        keys.may(c, 20, "honours_pause", |_| false);
        facts.paused = paused;
    } else if c.1 {
        keys.may(c, 10, "honours_pause", |_| true);
    }
    keys.put("voq", voq);
}

/// Sets a memory management unit, with or without flow control.
fn memory(
    c: &mut Choices,
    keys: &mut Keys,
    facts: &mut SwitchFacts,
    sharing: &str,
    fabric: &Fabric,
    needed: bool,
) {
    let mut mmu = Keys::default();
    let with = needed || c.chance(60);
    let paused = if with {
        let count = c.weighted(&[(4, 1), (3, 2), (1, 8)]);
        c.some_below(count, 8)
    } else {
        Vec::new()
    };
    let (reserved, group) = (c.scale(1, 4_000), c.scale(1, 5_000));
    let formula = with && c.chance(25);
    let headroom = c.scale(500, 60_000);
    let of_port = 8 * reserved.max(4_096) + paused.len() as u64 * (headroom + group.max(4_608));
    let shared = c.scale(16_000, 600_000);
    let total = if formula { 32_000_000 } else { fabric.ports.max(4) * of_port + shared };
    keys.put("buffer", format!("{total}B"));
    match sharing {
        "sonic" => {
            keys.put("reserved", format!("{reserved}B"));
            keys.may(c, 50, "alpha", |c| c.of(&[0.125, 1.0, 8.0]));
            mmu.put("lossless_reserved", format!("{group}B"));
            mmu.may(c, 50, "lossless_alpha", |c| c.of(&[0.0625, 0.25, 1.0, 4.0]));
            mmu.may(c, 40, "lossy_ingress_alpha", |c| c.of(&[1.0, 2.0]));
            mmu.may(c, 40, "lossy_pool", |c| format!("{}B", c.range(10_000.min(total), total)));
            mmu.may(c, 30, "headroom_pool", |c| c.size(1_000, 60_000));
            mmu.may(c, 30, "xon", |c| c.size(1, 6_000));
            mmu.may(c, 30, "xon_offset", |c| c.size(1, 6_000));
        }
        "conweave" => {
            keys.may(c, 50, "alpha", |c| c.of(&[0.5, 1.0, 4.0]));
            mmu.may(c, 60, "ingress_alpha", |c| c.of(&[0.0625, 0.25, 1.0]));
            mmu.may(c, 30, "mtu", |c| c.size(64, 4_000));
        }
        _ => {
            keys.put("reserved", format!("{reserved}B"));
            mmu.may(c, 60, "shift", |c| int(c.range(0, 4)));
            mmu.may(c, 30, "nic_rate", |_| "25Gbps");
            mmu.may(c, 30, "xon_offset", |c| c.size(1, 6_000));
        }
    }
    mmu.may(c, 25, "cell", |c| c.of(&["208B", "256B", "65B"]));
    if c.chance(10) {
        let bypass: Vec<u64> =
            (0..8).filter(|priority| !paused.contains(priority)).take(1).collect();
        mmu.put("bypass", ints(&bypass));
    }
    if c.1 && sharing == "sonic" {
        let bypass: Vec<u64> =
            mmu.0.get("bypass").and_then(Value::as_array).map_or(Vec::new(), |list| {
                list.iter().filter_map(Value::as_integer).map(|p| p as u64).collect()
            });
        let mut free: Vec<u64> = (0..8).filter(|priority| !bypass.contains(priority)).collect();
        let mut groups = Vec::new();
        while !free.is_empty() && groups.len() < 3 && c.chance(40) {
            let mut block = Keys::default();
            let own: Vec<u64> = free.drain(..c.range(1, free.len() as u64) as usize).collect();
            block.put("priorities", ints(&own));
            let fixed = c.chance(30);
            if fixed {
                block.put("limit", c.size(1_000, 100_000));
            } else {
                block.put("alpha", c.of(&[0.0625, 0.5, 2.0, 8.0]));
            }
            block.may(c, 40, "reserved", |c| c.size(1, 4_000));
            groups.push(Value::from(block));
        }
        if !groups.is_empty() {
            mmu.put("group", Value::Array(groups));
        }
    }
    keys.put("mmu", mmu);
    if !with {
        return;
    }
    pauses_of(c, keys, &paused, |c, pfc| {
        if formula {
            pfc.may(c, 80, "headroom", |c| {
                c.of(&["sonic", "mellanox", "conweave", "hpcc", "tub", "worst_case"])
            });
            pfc.may(c, 40, "cable", |c| format!("{}m", c.scale(1, 500)));
        } else {
            pfc.put("headroom", format!("{headroom}B"));
        }
    });
    facts.paused = paused;
}

/// Sets flow control of these priorities. `headroom` adds further keys.
fn pauses_of(
    c: &mut Choices,
    keys: &mut Keys,
    paused: &[u64],
    headroom: impl FnOnce(&mut Choices, &mut Keys),
) {
    let mut pfc = Keys::default();
    pfc.put("priorities", ints(paused));
    headroom(c, &mut pfc);
    if c.chance(30) {
        pfc.put("quanta", int(c.scale(1, 65_535)));
    } else {
        pfc.may(c, 30, "pause_time", |c| c.time(100, 500_000));
    }
    pfc.may(c, 30, "refresh", |c| c.of(&["half", "arrival"]));
    pfc.may(
        c,
        30,
        "response",
        |c| if c.chance(30) { "standard".into() } else { c.time(1, 20_000) },
    );
    pfc.may(c, 40, "deadlock_after", |c| c.time(10_000, 500_000));
    pfc.may(c, 25, "watchdog", |c| {
        let mut watchdog = Keys::default();
        watchdog.put("detection", c.time(10_000, 500_000));
        watchdog.put("poll", c.time(5_000, 200_000));
        watchdog.may(c, 50, "restoration", |c| c.time(10_000, 500_000));
        watchdog.may(c, 80, "action", |c| c.of(&["drop", "forward", "alert"]));
        watchdog
    });
    keys.put("pfc", pfc);
}

pub fn marking(c: &mut Choices, deep: bool) -> Keys {
    let mut ecn = Keys::default();
    let packets = c.chance(30);
    let length = |c: &mut Choices, most: u64| {
        if packets { c.range(1, (most / 1_500).max(1)) } else { c.range(1, most) }
    };
    let unit = if packets { "packets" } else { "B" };
    if c.chance(40) {
        ecn.put("k", format!("{}{unit}", length(c, 60_000)));
    } else {
        let low = length(c, 30_000);
        let high = low + 1 + length(c, 60_000);
        ecn.put("kmin", format!("{low}{unit}"));
        ecn.put("kmax", format!("{high}{unit}"));
        ecn.may(c, 70, "pmax", |c| c.of(&[0.01, 0.1, 0.5, 1.0]));
    }
    if !deep {
        ecn.may(c, 30, "at", |c| c.of(&["enqueue", "dequeue"]));
    }
    ecn.may(c, 20, "compare", |c| c.of(&["above", "at_or_above"]));
    if c.chance(25) {
        ecn.put("average_weight", c.of(&[0.002, 0.05, 0.5, 1.0]));
        ecn.may(c, 40, "idle_frame", |c| {
            if c.chance(30) { "off".into() } else { c.time(100, 100_000) }
        });
    }
    ecn.may(c, 15, "gentle", |_| true);
    ecn.may(c, 15, "hard_drop", |_| true);
    ecn.may(c, 40, "incapable", |c| c.of(&["drop", "pass"]));
    ecn.may(c, 25, "spacing", |c| c.of(&["independent", "uniform", "ns3", "ns2", "linux"]));
    ecn
}

fn discipline(c: &mut Choices, keys: &mut Keys, family: Family, entropies: bool) -> &'static str {
    let mut aqm = Keys::default();
    let kind = if family == Family::Hull {
        "phantom"
    } else {
        c.weighted(&[
            (3, "codel"),
            (if entropies { 0 } else { 3 }, "fq_codel"),
            (3, "pie"),
            (1, "phantom"),
        ])
    };
    let kind = match kind {
        "pie" if c.1 && c.chance(50) => "pi2",
        "codel" if c.1 && c.chance(30) => "ecn_sharp",
        kind => kind,
    };
    aqm.put("kind", kind);
    match kind {
        "codel" | "fq_codel" => {
            let target = c.scale(500, 200_000);
            aqm.put("target", format!("{target}ns"));
            aqm.put("interval", format!("{}ns", target * c.range(1, 30)));
            aqm.may(c, 50, "ecn", |c| c.chance(50));
            if kind == "fq_codel" {
                aqm.may(c, 50, "quantum", |c| c.size(64, 10_000));
                aqm.may(c, 50, "flows", |c| int(c.of(&[1, 2, 16, 1_024])));
                aqm.may(c, 60, "limit", |c| int(c.scale(2, 300)));
                aqm.may(c, 30, "drop_batch", |c| int(c.scale(1, 64)));
            }
        }
        "pie" => {
            aqm.put("target", c.time(500, 200_000));
            aqm.put("t_update", c.time(500, 200_000));
            aqm.may(c, 50, "alpha", |c| c.real(0.1, 500.0));
            aqm.may(c, 50, "beta", |c| c.real(1.0, 5_000.0));
            aqm.may(c, 70, "burst_allowance", |c| c.time(1, 500_000));
            aqm.may(c, 30, "derandomize", |_| true);
            if c.chance(50) {
                aqm.put("ecn", true);
                aqm.may(c, 40, "ecn_threshold", |c| c.real(0.0, 1.0));
            }
        }
        "ecn_sharp" => {
            aqm.put("instant", c.time(500, 200_000));
            aqm.put("target", c.time(500, 100_000));
            aqm.put("interval", c.time(500, 300_000));
        }
        "pi2" => {
            aqm.put("target", c.time(500, 200_000));
            aqm.put("t_update", c.time(500, 200_000));
            aqm.may(c, 60, "alpha", |c| c.real(0.1, 500.0));
            aqm.may(c, 60, "beta", |c| c.real(1.0, 5_000.0));
            if c.chance(60) {
                aqm.put("ecn", true);
                aqm.may(c, 50, "scalable", |_| true);
            }
        }
        _ => {
            aqm.may(c, 60, "drain", |c| c.real(0.5, 1.0));
            aqm.may(c, 60, "threshold", |c| c.size(100, 20_000));
        }
    }
    keys.put("aqm", aqm);
    kind
}

/// Sets the scheduling. Returns the number of queues.
fn schedule(
    c: &mut Choices,
    keys: &mut Keys,
    fair: bool,
    voq: bool,
    shares: bool,
    limits: bool,
    disciplined: bool,
) -> u64 {
    match c.weighted(&[(9, "fifo"), (5, "strict"), (6, "blocks")]) {
        "strict" if !fair => {
            keys.put("scheduling", "strict_priority");
            let queues = c.range(2, 8);
            keys.may(c, 60, "priorities", |_| int(queues));
            queues
        }
        "blocks" if !fair && (!voq || c.1) => {
            let blocks = queues(c, |c, queue| {
                if shares {
                    queue.may(c, 40, "alpha", |c| c.of(&[0.125, 1.0, 8.0]));
                    queue.may(c, 20, "reserved", |c| c.size(1, 8_000));
                }
                if limits || c.chance(15) {
                    queue.may(c, 40, "buffer", |c| c.size(9_200, 100_000));
                }
                if !disciplined && c.chance(30) {
                    let ecn =
                        if c.chance(20) { Value::from("off") } else { marking(c, false).into() };
                    queue.put("ecn", ecn);
                }
            });
            let count = blocks.len() as u64;
            turns(c, keys, &blocks);
            keys.put("queue", Value::Array(blocks));
            count
        }
        _ => 1,
    }
}

/// Sets the quantum of queues that share bandwidth in rounds.
fn turns(c: &mut Choices, keys: &mut Keys, blocks: &[Value]) {
    let shares = |block: &Value| block.get("weight").is_some() || block.get("bandwidth").is_some();
    if blocks.iter().any(shares) {
        keys.may(c, 40, "quantum", |c| c.size(64, 20_000));
    }
}

/// Returns a table for each class queue. `more` adds further keys to each.
pub fn queues(c: &mut Choices, mut more: impl FnMut(&mut Choices, &mut Keys)) -> Vec<Value> {
    let count = c.range(2, 8);
    let service = c.of(&["strict", "weight", "bandwidth"]);
    // At least one queue shares bandwidth.
    let shares = c.range(1, count);
    let mut left = 100;
    let explicit = c.chance(40);
    let mut owners: Vec<u64> = (0..8).map(|_| c.range(0, count - 1)).collect();
    owners[0] = 0;
    (0..count)
        .map(|number| {
            let mut queue = Keys::default();
            queue.may(c, 20, "name", |_| format!("class{number}"));
            queue.may(c, 20, "index", |_| int(number));
            if explicit {
                let own: Vec<u64> =
                    (0..8).filter(|priority| owners[*priority as usize] == number).collect();
                queue.put("priorities", ints(&own));
            }
            match service {
                "weight" if number < shares => queue.put("weight", int(c.scale(1, 40))),
                "bandwidth" if number < shares => {
                    let part = if number + 1 == shares {
                        left
                    } else {
                        c.range(1, left - (shares - number - 1))
                    };
                    left -= part;
                    queue.put("bandwidth", format!("{part}%"));
                }
                _ => queue.put("strict", true),
            }
            more(c, &mut queue);
            Value::from(queue)
        })
        .collect()
}

pub fn processor(c: &mut Choices) -> Keys {
    let mut processor = Keys::default();
    processor.put("packet_time", c.time(50, 20_000));
    processor.may(c, 40, "interrupt_time", |c| c.time(10, 5_000));
    processor.may(c, 60, "queue", |c| int(c.scale(1, 300)));
    processor.may(c, 20, "stall", |c| {
        let mut stall = Keys::default();
        stall.put("work", c.time(10_000, 2_000_000));
        stall.put("pause", c.time(1_000, 200_000));
        stall
    });
    processor
}

fn balance(
    c: &mut Choices,
    keys: &mut Keys,
    facts: &mut SwitchFacts,
    fabric: &Fabric,
    family: Family,
    entropies: bool,
    reorders: bool,
) {
    let fair = keys.0.get("aqm").and_then(|aqm| aqm.get("kind")).and_then(Value::as_str)
        == Some("fq_codel");
    let rated = matches!(family, Family::Pdq | Family::D3);
    let mut kinds = vec![(4, "ecmp")];
    if !rated {
        kinds.extend([(1, "resilient"), (2, "wcmp")]);
        if !entropies {
            kinds.extend([
                (2, "spray"),
                (2, "round_robin"),
                (2, "drill"),
                (2, "dlb"),
                (1, "glb"),
                (1, "detail"),
            ]);
            if fabric.pins && !fair {
                kinds.extend([(2, "letflow"), (2, "conga"), (1, "presto")]);
                kinds.extend(reorders.then_some((3, "conweave")));
            }
        }
    }
    let kind = c.weighted(&kinds);
    let mut balance = Keys::default();
    balance.put("kind", kind);
    match kind {
        "wcmp" => {
            balance.may(c, 50, "entries", |c| int(c.scale(2, 256)));
            balance.may(c, 50, "weights", |c| {
                let mut weights = Keys::default();
                for name in &fabric.switches {
                    weights.may(c, 60, name, |c| int(c.scale(1, 20)));
                }
                weights
            });
        }
        "drill" => {
            balance.may(c, 50, "samples", |c| int(c.range(1, 4)));
            balance.may(c, 50, "memory", |c| int(c.range(0, 3)));
        }
        "letflow" => balance.may(c, 80, "gap", |c| c.time(100, 500_000)),
        "conga" => {
            balance.may(c, 80, "gap", |c| c.time(100, 500_000));
            balance.may(c, 50, "tdre", |c| c.time(1_000, 100_000));
            balance.may(c, 50, "alpha", |c| c.real(0.05, 0.95));
            balance.may(c, 50, "bits", |c| int(c.range(1, 8)));
            balance.may(c, 50, "aging", |c| c.time(10_000, 10_000_000));
        }
        "dlb" | "glb" => {
            balance.may(c, 60, "idle", |c| {
                if c.chance(25) { "off".into() } else { c.time(100, 500_000) }
            });
            balance.may(c, 40, "bands", |c| int(c.scale(1, 256)));
            balance.may(c, 40, "sampling_interval", |c| c.time(1_000, 100_000));
            balance.may(c, 40, "future_load_range", |c| c.size(1_000, 300_000));
            balance.may(c, 30, "past_load_weight", |c| int(c.range(0, 255)));
            balance.may(c, 30, "future_load_weight", |c| int(c.range(1, 255)));
        }
        "detail" => balance.may(c, 60, "thresholds", |c| {
            let low = c.scale(500, 20_000);
            Value::Array(vec![
                format!("{low}B").into(),
                format!("{}B", low + c.scale(1, 60_000)).into(),
            ])
        }),
        "presto" => balance.may(c, 80, "flowcell", |c| c.size(1_000, 100_000)),
        "conweave" => {
            facts.conweave = true;
            balance.may(c, 50, "reply_extra", |c| c.time(10, 50_000));
            balance.may(c, 50, "path_busy", |c| c.time(100, 100_000));
            let inactive = c.scale(1_000, 500_000);
            balance.may(c, 60, "inactive", |_| format!("{inactive}ns"));
            balance.may(c, 50, "flush_extra", |c| c.time(10, 100_000));
            balance.may(c, 50, "default_wait", |c| c.time(1_000, 500_000));
            balance.may(c, 40, "reorder_queues", |c| int(c.range(0, 30)));
            balance.may(c, 40, "reorder_memory", |c| {
                c.of(&["shared", "apart", "unbounded"]).to_string()
            });
        }
        _ => {}
    }
    if balance.0.len() > 1 || c.chance(10) {
        keys.put("balance", balance);
    } else {
        keys.put("balance", kind);
    }
    if family == Family::Pdq {
        keys.put("hash", "symmetric");
    } else {
        let hashes: &[&str] = if entropies {
            &["own_seed", "same_seed", "symmetric"]
        } else {
            &["own_seed", "same_seed", "symmetric", "murmur3"]
        };
        keys.may(c, 40, "hash", |c| c.of(hashes));
    }
}

/// Sets an override with a change of a key or two for some switches.
fn overrides(c: &mut Choices, keys: &mut Keys, fabric: &Fabric, sharing: &str, family: Family) {
    if !c.chance(15) {
        return;
    }
    let mut change = Keys::default();
    change.put("match", c.of(&fabric.switches));
    match c.range(0, 3) {
        0 if sharing == "static" => change.put("buffer", format!("{}packets", c.scale(2, 40))),
        1 if sharing == "dynamic" => change.put("alpha", c.of(&[0.25, 4.0])),
        2 if family != Family::Pfabric && !keys.0.contains_key("aqm") && sharing != "voq" => {
            let ecn = marking(c, false);
            change.put("ecn", ecn);
        }
        _ => change.put("latency", c.time(1, 2_000)),
    }
    keys.put("override", Value::Array(vec![change.into()]));
}
