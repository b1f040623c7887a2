//! Generators of a switch's memory: virtual output queues, memory management units and flow control.

use crate::choices::{ALWAYS, Choices, Draw::*, Keys, Row, drawn, ints};
use crate::generate::facts::SwitchFacts;
use crate::generate::topology::Fabric;
use toml::Value;

/// Credits between the schedulers of virtual output queues. Any of them needs turns.
const CREDITS: &[Row] = &[
    (50, "credit_speedup", Real(0.3, 2.0)),
    (50, "max_credits", Scale(1, 40)),
    (50, "fabric_speedup", Real(0.3, 2.0)),
];

const VOQ: &[Row] = &[
    (60, "max_bytes", Size(9_200, 200_000)),
    (30, "max_time", Time(800_000, 20_000_000)),
    (50, "on_chip", Size(1, 100_000)),
    (40, "evict_bytes", Size(1, 60_000)),
    (40, "evict_packets", Scale(1, 40)),
    (50, "dram", Size(30_000, 1_000_000)),
    (50, "dram_bandwidth", Unit(100, 400_000, "Mbps")),
    (30, "write_buffer", Size(9_200, 60_000)),
    (30, "grant_latency", Time(1, 3_000)),
    (20, "reserved", Reals(&[0.0, 0.1, 0.4])),
    (20, "dynamic", Reals(&[0.1, 0.5, 0.6])),
];

const PFC: &[Row] = &[
    (30, "refresh", Texts(&["half", "arrival"])),
    (30, "response", Or(30, &Text("standard"), &Time(1, 20_000))),
    (40, "deadlock_after", Time(10_000, 500_000)),
    (
        25,
        "watchdog",
        Table(&[
            (ALWAYS, "detection", Time(10_000, 500_000)),
            (ALWAYS, "poll", Time(5_000, 200_000)),
            (50, "restoration", Time(10_000, 500_000)),
            (80, "action", Texts(&["drop", "forward", "alert"])),
        ]),
    ),
];

/// Headroom by a formula instead of a size.
const HEADROOM: &[Row] = &[
    (80, "headroom", Texts(&["sonic", "mellanox", "conweave", "hpcc", "tub", "worst_case"])),
    (40, "cable", Unit(1, 500, "m")),
];

/// Sets virtual output queues and their DRAM.
pub fn deep(c: &mut Choices, keys: &mut Keys, facts: &mut SwitchFacts) {
    let mut voq = Keys::default();
    let ingress = c.of(&["core", "port"]);
    voq.may(c, 50, "ingress", |_| ingress);
    let ports = !voq.has("ingress") || ingress == "core";
    let mut turns = !ports;
    if ports && c.chance(40) {
        voq.draw(c, &[(ALWAYS, "ports_per_core", Int(1, 4))]);
        turns = true;
    }
    if c.1 && c.chance(40) {
        voq.draw(c, CREDITS);
        turns |= CREDITS.iter().any(|(_, key, _)| voq.has(key));
    }
    if turns {
        voq.draw(c, &[(50, "credit", Size(64, 8_000))]);
    }
    voq.draw(c, VOQ);
    if c.1 && c.chance(40) {
        let paused = lossless(c);
        // The memory must hold all frames that may wait below `xoff`.
        ["reserved", "dynamic"].iter().for_each(|name| drop(voq.0.remove(*name)));
        voq.put("dram", "500MB");
        let xoff = c.scale(2_000, 100_000);
        voq.put("xoff", format!("{xoff}B"));
        voq.may(c, 60, "xon", |c| format!("{}B", c.range(1, xoff)));
        let headroom = format!("{}B", c.scale(500, 150_000));
        pauses(c, keys, &paused, |_, pfc| pfc.put("headroom", headroom));
        keys.draw(c, &[(20, "honours_pause", Flag(false))]);
        facts.paused = paused;
    } else if c.1 {
        keys.draw(c, &[(10, "honours_pause", Flag(true))]);
    }
    keys.put("voq", voq);
}

/// Returns lossless priorities.
fn lossless(c: &mut Choices) -> Vec<u64> {
    let count = c.weighted(&[(4, 1), (3, 2), (1, 8)]);
    c.some_below(count, 8)
}

/// Sets a memory management unit, with or without flow control.
pub fn managed(
    c: &mut Choices,
    keys: &mut Keys,
    facts: &mut SwitchFacts,
    sharing: &str,
    fabric: &Fabric,
    needed: bool,
) {
    let mut mmu = Keys::default();
    let with = needed || c.chance(60);
    let paused = if with { lossless(c) } else { Vec::new() };
    let (reserved, group) = (c.scale(1, 4_000), c.scale(1, 5_000));
    let formula = with && c.chance(25);
    let headroom = c.scale(500, 60_000);
    let of_port = 8 * reserved.max(4_096) + paused.len() as u64 * (headroom + group.max(4_608));
    let shared = c.scale(16_000, 600_000);
    let total = if formula { 32_000_000 } else { fabric.ports.max(4) * of_port + shared };
    keys.put("buffer", format!("{total}B"));
    if sharing != "conweave" {
        keys.put("reserved", format!("{reserved}B"));
    }
    match sharing {
        "sonic" => {
            keys.draw(c, &[(50, "alpha", Reals(&[0.125, 1.0, 8.0]))]);
            mmu.put("lossless_reserved", format!("{group}B"));
            mmu.draw(c, SONIC_ALPHAS);
            mmu.may(c, 40, "lossy_pool", |c| format!("{}B", c.range(10_000.min(total), total)));
        }
        "conweave" => keys.draw(c, &[(50, "alpha", Reals(&[0.5, 1.0, 4.0]))]),
        _ => {}
    }
    mmu.draw(c, parameters(sharing));
    mmu.draw(c, &[(25, "cell", Texts(&["208B", "256B", "65B"]))]);
    let mut bypass = None;
    if c.chance(10) {
        bypass = (0..8).find(|priority| !paused.contains(priority));
        mmu.put("bypass", ints(bypass.as_slice()));
    }
    if c.1 && sharing == "sonic" {
        let groups = groups(c, (0..8).filter(|priority| Some(*priority) != bypass).collect());
        if !groups.is_empty() {
            mmu.put("group", groups);
        }
    }
    keys.put("mmu", mmu);
    if with {
        pauses(c, keys, &paused, |c, pfc| {
            if formula {
                pfc.draw(c, HEADROOM);
            } else {
                pfc.put("headroom", format!("{headroom}B"));
            }
        });
        facts.paused = paused;
    }
}

const SONIC_ALPHAS: &[Row] = &[
    (50, "lossless_alpha", Reals(&[0.0625, 0.25, 1.0, 4.0])),
    (40, "lossy_ingress_alpha", Reals(&[1.0, 2.0])),
];

/// Returns the keys of `[switch.mmu]` with this sharing.
fn parameters(sharing: &str) -> &'static [Row] {
    match sharing {
        "sonic" => &[
            (30, "headroom_pool", Size(1_000, 60_000)),
            (30, "xon", Size(1, 6_000)),
            (30, "xon_offset", Size(1, 6_000)),
        ],
        "conweave" => {
            &[(60, "ingress_alpha", Reals(&[0.0625, 0.25, 1.0])), (30, "mtu", Size(64, 4_000))]
        }
        _ => &[
            (60, "shift", Int(0, 4)),
            (30, "nic_rate", Text("25Gbps")),
            (30, "xon_offset", Size(1, 6_000)),
        ],
    }
}

/// Returns priority groups with limits of their own, each of some of the `free` priorities.
fn groups(c: &mut Choices, mut free: Vec<u64>) -> Vec<Value> {
    let mut groups = Vec::new();
    while !free.is_empty() && groups.len() < 3 && c.chance(40) {
        let own: Vec<u64> = free.drain(..c.range(1, free.len() as u64) as usize).collect();
        let limit = if c.chance(30) {
            (ALWAYS, "limit", Size(1_000, 100_000))
        } else {
            (ALWAYS, "alpha", Reals(&[0.0625, 0.5, 2.0, 8.0]))
        };
        let mut group = drawn(c, &[limit, (40, "reserved", Size(1, 4_000))]);
        group.put("priorities", ints(&own));
        groups.push(group.into());
    }
    groups
}

/// Sets flow control of these priorities. `headroom` adds further keys.
fn pauses(
    c: &mut Choices,
    keys: &mut Keys,
    paused: &[u64],
    headroom: impl FnOnce(&mut Choices, &mut Keys),
) {
    let mut pfc = Keys::default();
    pfc.put("priorities", ints(paused));
    headroom(c, &mut pfc);
    if c.chance(30) {
        pfc.draw(c, &[(ALWAYS, "quanta", Scale(1, 65_535))]);
    } else {
        pfc.draw(c, &[(30, "pause_time", Time(100, 500_000))]);
    }
    pfc.draw(c, PFC);
    keys.put("pfc", pfc);
}
