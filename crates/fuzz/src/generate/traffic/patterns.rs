//! Generators of traffic patterns.

use super::drawn::{Drawn, sizes};
use crate::choices::{ALWAYS, Choices, Draw::*, Keys, Row, int, ints};
use crate::generate::topology::Fabric;

const JITTER: Row = (40, "jitter", Time(1, 50_000));
const REQUEST_DELAY: Row = (20, "request_delay", Time(60_000, 300_000));

const BACKGROUND: &[Row] =
    &[(40, "per", Word("Per")), (50, "pairing", Word("Pairing")), (30, "connections", Int(1, 3))];

const COFLOWS: &[Row] = &[
    (ALWAYS, "placement", Text("modulo")),
    (ALWAYS, "local", Text("drop")),
    (ALWAYS, "size_scale", Number(0.01)),
    (50, "time_scale", Number(0.01)),
    (40, "coflows", Int(1, 4)),
    (30, "megabyte", Text("1MiB")),
];

/// Sets rounds that follow each other at intervals.
fn periodic(c: &mut Choices, keys: &mut Keys, rounds: u64) {
    if rounds > 1 {
        keys.put("rounds", int(rounds));
        keys.put("period", c.time(1_000, 2_000_000));
    }
}

/// Sets some pairs of hosts, and returns their number.
fn some_pairs(c: &mut Choices, keys: &mut Keys, hosts: u64, most: u64) -> u64 {
    let count = c.range(1, most);
    let pair = |_| {
        let from = c.range(0, hosts - 1);
        ints(&[from, (from + c.range(1, hosts - 1)) % hosts])
    };
    keys.put("pairs", (0..count).map(pair).collect::<Vec<_>>());
    count
}

/// Sets the first few hosts, and returns their number.
fn first_hosts(c: &mut Choices, keys: &mut Keys, hosts: u64) -> u64 {
    let count = c.range(2, hosts.min(8));
    keys.put("hosts", format!("0-{}", count - 1));
    count
}

pub fn incast(c: &mut Choices, keys: &mut Keys, hosts: u64, bytes: u64) {
    let rounds = c.weighted(&[(3, 1), (2, 2), (1, 5)]);
    let senders = c.range(1, hosts - 1);
    let each = (bytes / rounds / senders).max(1);
    if c.chance(60) {
        keys.put("bytes", c.size(each.div_ceil(4), each));
    } else {
        keys.put("total", c.size(senders * each.div_ceil(4), senders * each));
    }
    keys.put("senders", int(senders));
    let random = c.chance(30);
    if c.chance(30) {
        keys.put("to", "random");
    } else {
        let to = c.range(0, hosts - 1);
        keys.put("to", if c.chance(20) { format!("host{to}").into() } else { int(to) });
        if !random && !c.chance(60) {
            let others = (0..hosts).filter(|host| *host != to);
            keys.put("senders", ints(&others.take(senders as usize).collect::<Vec<_>>()));
        }
    }
    if random {
        keys.put("random_senders", true);
    }
    if c.chance(30) {
        keys.put("closed_loop", true);
        keys.put("rounds", int(rounds));
        keys.draw(c, &[REQUEST_DELAY]);
        if rounds == 1 {
            keys.0.retain(|key, _| key != "closed_loop" && key != "request_delay");
        }
    } else {
        periodic(c, keys, rounds);
    }
    keys.draw(c, &[JITTER]);
}

/// Sets a permutation, or some pairs.
pub fn permutation(c: &mut Choices, keys: &mut Keys, around: &Drawn, kind: &str, bytes: u64) {
    let hosts = around.fabric.hosts;
    let rounds = c.weighted(&[(4, 1), (1, 2), (1, 4)]);
    let flows = if kind == "pairs" {
        some_pairs(c, keys, hosts, 12.min(hosts * (hosts - 1)))
    } else {
        keys.draw(c, &[(30, "stride", Int(1, hosts - 1))]);
        hosts
    };
    sizes(c, keys, around, bytes / rounds / flows);
    periodic(c, keys, rounds);
    keys.draw(c, &[JITTER]);
}

pub fn all_to_all(c: &mut Choices, keys: &mut Keys, around: &Drawn, bytes: u64) {
    let hosts = first_hosts(c, keys, around.fabric.hosts);
    sizes(c, keys, around, bytes / hosts / hosts);
    if c.chance(40) {
        keys.draw(c, &[(ALWAYS, "parallel", Int(1, hosts)), REQUEST_DELAY]);
    } else {
        keys.draw(c, &[(40, "stagger", Time(1, 100_000))]);
    }
}

pub fn ring_all_reduce(c: &mut Choices, keys: &mut Keys, hosts: u64, bytes: u64) {
    let hosts = first_hosts(c, keys, hosts);
    let iterations = c.weighted(&[(3, 1), (1, 3)]);
    keys.put("bytes", c.size(hosts, (bytes / iterations / hosts).max(2 * hosts)));
    keys.may(c, 60, "iterations", |_| int(iterations));
    keys.draw(c, &[(40, "compute", Time(1, 200_000)), (20, "step_delay", Time(60_000, 300_000))]);
    if iterations == 1 || !keys.has("iterations") {
        keys.0.remove("compute");
    }
    if c.chance(40) {
        keys.put("stragglers", int(c.range(0, hosts - 1)));
        keys.put("straggler_delay", c.time(1, 100_000));
    }
}

/// Sets about twenty queries in all, for any number of hosts.
pub fn partition_aggregate(c: &mut Choices, keys: &mut Keys, hosts: u64, bytes: u64) {
    let (ms, queries) = (c.scale(1, 20), c.scale(1, 20));
    keys.put("duration", format!("{ms}ms"));
    keys.put("queries_per_second", (queries * 1_000 / ms) as f64 / hosts as f64);
    keys.draw(c, &[(40, "workers", Int(1, hosts - 1)), (40, "jitter", Time(1, 100_000))]);
    for (key, share, most) in
        [("query", queries * 8, 20_000), ("message", 10, 200_000), ("background", 4, 400_000)]
    {
        keys.put(key, format!("{}B", (bytes / share).clamp(1, most)));
    }
    for (key, flows) in [("messages_per_second", 2_000.0), ("background_per_second", 1_000.0)] {
        keys.may(c, 50, key, |_| flows / ms as f64 / hosts as f64);
    }
}

/// Sets a list of flows in one of the files.
pub fn flows(c: &mut Choices, keys: &mut Keys, around: &Drawn) {
    let (file, format) = c.of(&[
        ("flows.csv", None),
        ("flows.csv.gz", None),
        ("flows.csv.xz", Some("csv")),
        ("flows.parquet", None),
        ("flows.parquet", Some("parquet")),
        ("flows.hpcc.txt", Some("hpcc")),
        ("flows.htsim.cm", Some("htsim")),
        ("coflows.txt", Some("coflow")),
    ]);
    keys.put("file", around.file(file));
    if let Some(format) = format {
        keys.put("format", format);
    }
    match format {
        Some("hpcc") => keys.draw(c, &[(50, "origin", Text("2s"))]),
        Some("coflow") => {
            // This draw has no effect, but without it scenarios of known seeds would change.
            c.range(0, 2);
            keys.draw(c, COFLOWS);
        }
        _ => keys.draw(c, &[(20, "local", Texts(&["refuse", "instant"]))]),
    }
}

pub fn datagram(c: &mut Choices, keys: &mut Keys, fabric: &Fabric, bytes: u64) {
    let count = some_pairs(c, keys, fabric.hosts, 6.min(fabric.hosts));
    let mbps = fabric.part(c, 10);
    keys.put("rate", format!("{mbps}Mbps"));
    let each = (bytes / count / 2).max(1);
    if c.chance(50) {
        keys.put("bytes", format!("{each}B"));
    } else {
        keys.put("duration", format!("{}ns", (each * 8_000 / mbps).max(1)));
    }
    keys.draw(c, &[(40, "ecn_capable", Flag(true)), (20, "payload", Size(100, 480))]);
}

pub fn background(c: &mut Choices, keys: &mut Keys, fabric: &Fabric) {
    keys.put("rate", format!("{}Mbps", fabric.part(c, 5)));
    keys.draw(c, BACKGROUND);
    if !keys.has("transport") {
        keys.draw(c, &[(30, "protocol", Word("Protocol"))]);
    }
    keys.draw(c, &[(30, "jitter", Time(1, 100_000))]);
}
