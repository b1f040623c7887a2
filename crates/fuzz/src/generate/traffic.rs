//! Generator of `[[traffic]]`.

use super::facts::{Family, Named, TransportFacts};
use super::topology::Fabric;
use crate::choices::{Choices, Keys, int, ints};
use crate::schema::words;
use std::path::Path;
use toml::Value;

pub struct Drawn<'a> {
    pub fabric: &'a Fabric,
    pub data: &'a Path,
    pub family: Family,
    /// The default transport, followed by the named ones.
    pub transports: &'a [Named],
    pub paused: &'a [u64],
    /// True if `run.until` is set, so that traffic may be endless.
    pub ends: bool,
}

/// Returns traffic blocks that send about `packets` frames in all.
pub fn traffic(c: &mut Choices, around: &Drawn, packets: u64) -> Vec<Value> {
    let count = c.weighted(&[(4, 1), (4, 2), (2, 3)]);
    let mut blocks = Vec::new();
    for number in 0..count {
        blocks.push(block(c, around, number, packets / count).into());
    }
    blocks
}

fn block(c: &mut Choices, around: &Drawn, number: u64, packets: u64) -> Keys {
    let fabric = around.fabric;
    let hosts = fabric.hosts;
    let bytes = packets * 1_200;
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
            keys.put("transport", name.as_str());
        } else if c.chance(5) {
            keys.put("transport", "default");
        }
    }
    common(c, &mut keys, around, kind, *family, facts, number);
    match kind {
        "random" => random(c, &mut keys, around, bytes),
        "incast" => {
            let rounds = c.weighted(&[(3, 1), (2, 2), (1, 5)]);
            let senders = c.range(1, hosts - 1);
            let each = (bytes / rounds / senders).max(1);
            if c.chance(60) {
                keys.put("bytes", c.size(each.div_ceil(4), each));
            } else {
                keys.put("total", c.size(senders * each.div_ceil(4), senders * each));
            }
            let random = c.chance(30);
            if c.chance(30) {
                keys.put("to", "random");
                keys.put("senders", int(senders));
            } else {
                let to = c.range(0, hosts - 1);
                keys.put(
                    "to",
                    if c.chance(20) { Value::from(format!("host{to}")) } else { int(to) },
                );
                if random || c.chance(60) {
                    keys.put("senders", int(senders));
                } else {
                    let these: Vec<u64> =
                        (0..hosts).filter(|host| *host != to).take(senders as usize).collect();
                    keys.put("senders", ints(&these));
                }
            }
            if random && keys.0["senders"].is_integer() {
                keys.put("random_senders", true);
            }
            if c.chance(30) {
                keys.put("closed_loop", true);
                keys.put("rounds", int(rounds));
                keys.may(c, 20, "request_delay", |c| c.time(60_000, 300_000));
            } else if rounds > 1 {
                keys.put("rounds", int(rounds));
                keys.put("period", c.time(1_000, 2_000_000));
            }
            keys.may(c, 40, "jitter", |c| c.time(1, 50_000));
        }
        "permutation" | "pairs" => {
            let rounds = c.weighted(&[(4, 1), (1, 2), (1, 4)]);
            if kind == "pairs" {
                let count = c.range(1, 12.min(hosts * (hosts - 1)));
                let pairs: Vec<Value> = (0..count).map(|_| pair(c, hosts)).collect();
                keys.put("pairs", Value::Array(pairs));
                sizes(c, &mut keys, around, bytes / rounds / count);
            } else {
                keys.may(c, 30, "stride", |c| int(c.range(1, hosts - 1)));
                sizes(c, &mut keys, around, bytes / rounds / hosts);
            }
            if rounds > 1 {
                keys.put("rounds", int(rounds));
                keys.put("period", c.time(1_000, 2_000_000));
            }
            keys.may(c, 40, "jitter", |c| c.time(1, 50_000));
        }
        "all_to_all" => {
            let most = c.range(2, hosts.min(8));
            keys.put("hosts", format!("0-{}", most - 1));
            sizes(c, &mut keys, around, bytes / most / most);
            if c.chance(40) {
                keys.put("parallel", int(c.range(1, most)));
                keys.may(c, 20, "request_delay", |c| c.time(60_000, 300_000));
            } else {
                keys.may(c, 40, "stagger", |c| c.time(1, 100_000));
            }
        }
        "ring_all_reduce" => {
            let (most, iterations) = (c.range(2, hosts.min(8)), c.weighted(&[(3, 1), (1, 3)]));
            keys.put("hosts", format!("0-{}", most - 1));
            keys.put("bytes", c.size(most, (bytes / iterations / most).max(2 * most)));
            keys.may(c, 60, "iterations", |_| int(iterations));
            keys.may(c, 40, "compute", |c| c.time(1, 200_000));
            keys.may(c, 20, "step_delay", |c| c.time(60_000, 300_000));
            if c.chance(40) {
                keys.put("stragglers", int(c.range(0, most - 1)));
                keys.put("straggler_delay", c.time(1, 100_000));
            }
        }
        "partition_aggregate" => {
            // About twenty queries in all, for any number of hosts.
            let (ms, queries) = (c.scale(1, 20), c.scale(1, 20));
            keys.put("duration", format!("{ms}ms"));
            keys.put("queries_per_second", (queries * 1_000 / ms) as f64 / hosts as f64);
            keys.put("query", format!("{}B", (bytes / queries / 8).clamp(1, 20_000)));
            keys.may(c, 40, "workers", |c| int(c.range(1, hosts - 1)));
            keys.may(c, 40, "jitter", |c| c.time(1, 100_000));
            keys.put("message", format!("{}B", (bytes / 10).clamp(1, 200_000)));
            keys.put("background", format!("{}B", (bytes / 4).clamp(1, 400_000)));
            keys.may(c, 50, "messages_per_second", |_| 2_000.0 / ms as f64 / hosts as f64);
            keys.may(c, 50, "background_per_second", |_| 1_000.0 / ms as f64 / hosts as f64);
        }
        "flows" => {
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
            keys.put("file", around.data.join(file).display().to_string());
            if let Some(format) = format {
                keys.put("format", format);
            }
            match format {
                Some("hpcc") => keys.may(c, 50, "origin", |_| "2s"),
                Some("coflow") => {
                    keys.put("placement", c.of(&["modulo", "modulo", "host"]));
                    if hosts < 6 || keys.0["placement"].as_str() == Some("host") {
                        keys.put("placement", "modulo");
                    }
                    keys.put("local", "drop");
                    keys.put("size_scale", 0.01);
                    keys.may(c, 50, "time_scale", |_| 0.01);
                    keys.may(c, 40, "coflows", |c| int(c.range(1, 4)));
                    keys.may(c, 30, "megabyte", |_| "1MiB");
                }
                _ => keys.may(c, 20, "local", |c| c.of(&["refuse", "instant"])),
            }
        }
        "datagram" => {
            let count = c.range(1, 6.min(hosts));
            let pairs: Vec<Value> = (0..count).map(|_| pair(c, hosts)).collect();
            keys.put("pairs", Value::Array(pairs));
            let mbps = (fabric.mbps * c.range(1, 10) / 10).max(1);
            keys.put("rate", format!("{mbps}Mbps"));
            let each = (bytes / count / 2).max(1);
            if c.chance(50) {
                keys.put("bytes", format!("{each}B"));
            } else {
                keys.put("duration", format!("{}ns", (each * 8_000 / mbps).max(1)));
            }
            keys.may(c, 40, "ecn_capable", |_| true);
            keys.may(c, 20, "payload", |c| c.size(100, 480));
        }
        "background" => {
            keys.put("rate", format!("{}Mbps", (fabric.mbps * c.range(1, 5) / 10).max(1)));
            keys.may(c, 40, "per", |c| c.of(&words("Per")));
            keys.may(c, 50, "pairing", |c| c.of(&words("Pairing")));
            keys.may(c, 30, "connections", |c| int(c.range(1, 3)));
            if !keys.0.contains_key("transport") {
                keys.may(c, 30, "protocol", |c| c.of(&words("Protocol")));
            }
            keys.may(c, 30, "jitter", |c| c.time(1, 100_000));
        }
        _ => hadoop(c, &mut keys, around, kind),
    }
    keys
}

fn pair(c: &mut Choices, hosts: u64) -> Value {
    let from = c.range(0, hosts - 1);
    ints(&[from, (from + c.range(1, hosts - 1)) % hosts])
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
    keys.may(c, 40, "class", |c| c.of(&["default", "query", "bulk"]));
    keys.may(c, 20, "name", |_| format!("block {number}"));
    keys.may(c, 10, "seed", |c| int(c.range(0, 1_000)));
    keys.may(c, 30, "start", |c| c.time(1, 500_000));
    if c.1 && !kind.starts_with("hadoop") && kind != "background" && c.chance(15) {
        // Flows start at 500 us at the latest.
        keys.put("stop", c.time(500_001, 3_000_000));
    }
    let paused = if kind == "datagram" { None } else { facts.paused };
    match paused {
        Some(true) => keys.put("priority", int(c.of(around.paused))),
        Some(false) => {
            let free: Vec<u64> =
                (0..8).filter(|priority| !around.paused.contains(priority)).collect();
            keys.put("priority", int(if free.is_empty() { 0 } else { c.of(&free) }));
        }
        None if c.chance(8) => keys.put("dscp", int(c.range(0, 63))),
        None => keys.may(c, 50, "priority", |c| int(c.range(0, 7))),
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
    if facts.persistent
        && kind != "datagram"
        && !kind.starts_with("hadoop")
        && kind != "background"
        && !keys.0.contains_key("stop")
    {
        keys.may(c, 20, "persistent", |_| true);
    }
}

fn random(c: &mut Choices, keys: &mut Keys, around: &Drawn, bytes: u64) {
    let fabric = around.fabric;
    let named = c.chance(25);
    let flows =
        if named { (bytes / 1_000_000).max(1) } else { c.scale(1, (bytes / 2_000).clamp(1, 300)) };
    keys.put("flows", int(flows));
    if named {
        let name = c.of(&["websearch", "alistorage", "solar", "fbhdp-20"]);
        keys.put("sizes", name);
    } else {
        sizes(c, keys, around, bytes / flows);
    }
    keys.may(c, 15, "duration", |c| c.time(100_000, 20_000_000));
    let mut some = false;
    if c.chance(20) {
        keys.put("sources", c.of(&[Value::from("all"), "0-1".into(), ints(&[0]), "host*".into()]));
        some = true;
    }
    if c.chance(10) {
        keys.put("destinations", "0-1");
        some = true;
        keys.put("sources", "all");
    }
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
    keys.may(c, 40, "arrivals", |c| c.of(&words("Arrivals")));
    if keys.0.get("arrivals").is_some_and(|arrivals| arrivals.as_str() == Some("lognormal")) {
        keys.may(c, 50, "sigma", |c| c.of(&[1.0, 2.0]));
    }
    match c.range(0, 9) {
        0 if fabric.racks && !some => keys.put("inter_rack", true),
        1 if fabric.racks && !some => keys.put("rack_local", c.real(0.1, 0.9)),
        2 if !some => {
            let mut spot = Keys::default();
            spot.put("hosts", Value::Array(vec![int(0)]));
            spot.put("share", c.real(0.1, 0.9));
            keys.put("hotspot", spot);
        }
        3 if fabric.kind == "dumbbell" && !some => {
            keys.put("matrix", around.data.join("matrix.json").display().to_string())
        }
        _ => {}
    }
}

/// Sets flow sizes with about this mean.
fn sizes(c: &mut Choices, keys: &mut Keys, around: &Drawn, mean: u64) {
    let mean = mean.clamp(1, 4_000_000);
    match c.range(0, 9) {
        0..=4 => keys.put("sizes", c.size(mean.div_ceil(3), mean)),
        5..=6 => {
            let mut table = Keys::default();
            let least = c.range(1, mean);
            table.put("min", format!("{least}B"));
            table.put("max", format!("{}B", least.max(2 * mean - least.min(2 * mean))));
            keys.put("sizes", table);
        }
        7..=8 => {
            let mut table = Keys::default();
            table.put("mean", format!("{mean}B"));
            keys.put("sizes", table);
        }
        _ => {
            let mut table = Keys::default();
            if mean > 4_000 {
                table.put("file", around.data.join("sizes.txt").display().to_string());
                table.may(c, 40, "whole_units", |_| true);
            } else {
                table.put("fixed", format!("{mean}B"));
            }
            keys.put("sizes", table);
        }
    }
}

/// Sets Hadoop jobs on machines so fast that jobs end within simulated milliseconds.
fn hadoop(c: &mut Choices, keys: &mut Keys, around: &Drawn, kind: &str) {
    keys.may(c, 60, "framework", |c| c.of(&words("Framework")));
    if kind == "hadoop" {
        keys.put("size", c.size(200_000, 4_000_000));
        keys.may(c, 40, "files", |c| int(c.range(1, 3)));
        keys.may(c, 60, "reducers", |c| int(c.range(1, 6)));
    } else {
        keys.put("file", around.data.join("jobs.tsv").display().to_string());
        keys.put("size_scale", 0.02);
        keys.put("time_scale", 0.001);
        keys.may(c, 50, "jobs", |c| int(c.range(1, 3)));
        keys.put("bytes_per_reducer", "100kB");
    }
    let mut cluster = Keys::default();
    for name in ["client_start", "container_start", "jvm_start", "master_init"] {
        let least = c.scale(1_000, 200_000);
        let time = format!("{least}ns");
        cluster.put(
            name,
            if c.chance(50) {
                Value::from(time)
            } else {
                Value::Array(vec![time.into(), format!("{}ns", 2 * least).into()])
            },
        );
    }
    for name in ["client_poll", "event_poll", "master_heartbeat", "node_heartbeat"] {
        cluster.put(name, c.time(50_000, 2_000_000));
    }
    cluster.put("block_size", c.size(100_000, 1_000_000));
    cluster.put("map_cpu_per_mb", "100us");
    cluster.put("reduce_cpu_per_mb", "100us");
    cluster.may(c, 50, "output_replication", |c| int(c.range(1, 2)));
    cluster.may(c, 30, "log_size", |c| c.size(1_000, 100_000));
    cluster.may(c, 30, "cpu_share", |_| 0.5);
    cluster.may(c, 30, "parallel_copies", |c| int(c.range(1, 8)));
    cluster.may(c, 40, "containers_per_heartbeat", |c| int(c.range(1, 4)));
    for (name, most) in [
        ("launch_rpcs", 6),
        ("master_rpcs", 30),
        ("submit_rpcs", 80),
        ("task_reads", 4),
        ("block_rpcs", 6),
        ("commit_rpcs", 10),
        ("history_rpcs", 10),
    ] {
        cluster.may(c, 30, name, |c| int(c.range(0, most)));
    }
    for (name, most) in [("localized_files", 6), ("task_rpcs", 12), ("umbilical_rpcs", 10)] {
        cluster
            .may(c, 30, name, |c| Value::Array(vec![int(c.range(0, most)), int(c.range(0, most))]));
    }
    if c.1 {
        cluster.may(c, 30, "committer", |c| c.of(&words("Committer")));
    }
    if c.1 && keys.0.get("framework").and_then(Value::as_str) != Some("tez") {
        // Short time-outs make some fetches fail. The penalty of the host after a failure is
        // limited to less than the run. Tez has no key for this limit, so it gets no short
        // time-outs.
        let mut fails = false;
        for name in ["fetch_connect_timeout", "fetch_read_timeout"] {
            if c.chance(20) {
                cluster.put(name, c.time(20_000, 5_000_000));
                fails = true;
            }
        }
        if fails {
            cluster.put("fetch_retry_delay_max", "100us");
        }
        for name in ["map_speculative", "reduce_speculative"] {
            cluster.may(c, 20, name, |_| true);
        }
    }
    // Without this, tasks of milliseconds would wait a second for the resource manager.
    cluster.put("unregister", if c.chance(50) { "0s" } else { "300us" });
    cluster.may(c, 40, "message_delay", |_| "100us");
    let mut disks = Keys::default();
    disks.put("seek", "10us");
    disks.may(c, 40, "count", |c| int(c.range(1, 4)));
    cluster.put("disks", disks);
    keys.put("cluster", cluster);
}
