//! Generator of `[topology]`.

use crate::choices::{Choices, Keys, int};
use std::path::Path;
use toml::Value;

/// Properties of the fabric that restrict the choices for the rest of a scenario.
#[derive(Debug, Clone)]
pub struct Fabric {
    pub kind: &'static str,
    pub hosts: u64,
    /// True if there are several racks.
    pub racks: bool,
    /// True if frames can be pinned to paths: each host has one link, and paths are short.
    pub pins: bool,
    /// True if some pairs of hosts have several paths.
    pub several: bool,
    /// True if hosts' links differ in rate, or the load is undefined for another reason.
    pub uneven: bool,
    /// Patterns that match links, switches, or links that can be captured.
    pub links: Vec<String>,
    pub switches: Vec<&'static str>,
    /// Rate of the slowest host in Mbit/s.
    pub mbps: u64,
    /// Approximate number of ports of the largest switch.
    pub ports: u64,
    /// Approximate longest round-trip delay in ns.
    pub round_trip_ns: u64,
    /// True if a link goes down and never comes up again.
    pub cut: bool,
}

const RATES: &[(u64, u64)] =
    &[(2, 1_000), (6, 10_000), (3, 25_000), (2, 40_000), (4, 100_000), (1, 33_333), (1, 100)];
const DELAYS_NS: &[(u64, u64)] =
    &[(2, 25), (2, 100), (3, 500), (6, 1_000), (2, 2_000), (1, 7_777), (2, 10_000), (1, 50_000)];

fn rate(mbps: u64) -> String {
    if mbps == 33_333 { "33333333333bps".into() } else { format!("{mbps}Mbps") }
}

fn delay(ns: u64) -> String {
    format!("{ns}ns")
}

pub fn topology(c: &mut Choices, data: &Path, packets: u64) -> (Keys, Fabric) {
    let mut keys = Keys::default();
    let mut kinds = vec![
        (5, "star"),
        (4, "dumbbell"),
        (8, "leaf_spine"),
        (6, "fat_tree"),
        (2, "dual_homed_fat_tree"),
        (2, "vl2"),
        (2, "bcube"),
        (1, "hpcc"),
        (3, "custom"),
    ];
    if c.1 {
        kinds.push((2, "dragonfly"));
    }
    let kind = c.weighted(&kinds);
    keys.put("kind", kind);
    let (mbps, ns) = (c.weighted(RATES), c.weighted(DELAYS_NS));
    // The number of hosts is limited by the number of packets.
    let most = packets.ilog2().clamp(6, 12) as u64;
    let mut fabric = Fabric {
        kind,
        hosts: 0,
        racks: false,
        pins: false,
        several: false,
        uneven: false,
        links: vec!["host0-*".into()],
        switches: Vec::new(),
        mbps,
        ports: 12,
        round_trip_ns: 8 * ns + 1_000_000 * 12_000 / mbps.max(1) / 100,
        cut: false,
    };
    match kind {
        "star" => {
            fabric.hosts = c.range(2, most);
            keys.put("hosts", int(fabric.hosts));
            keys.put("rate", rate(mbps));
            keys.put("delay", delay(ns));
            (fabric.pins, fabric.ports) = (true, fabric.hosts);
            fabric.switches = vec!["switch0"];
        }
        "dumbbell" => {
            let pairs = c.range(1, most / 2 + 2);
            fabric.hosts = 2 * pairs;
            keys.put("pairs", int(pairs));
            keys.put("rate", rate(c.weighted(RATES)));
            keys.put("delay", delay(c.weighted(DELAYS_NS)));
            keys.put("access_rate", rate(mbps));
            keys.put("access_delay", delay(ns));
            (fabric.racks, fabric.pins) = (true, true);
            fabric.switches = vec!["left", "right"];
            fabric.links.push("left-right".into());
        }
        "leaf_spine" => {
            let (leaves, spines, hosts) = (c.range(1, 4), c.range(1, 4), c.range(1, most / 2));
            fabric.hosts = (leaves * hosts).max(2);
            keys.put("leaves", int(if leaves * hosts < 2 { 2 } else { leaves }));
            keys.put("spines", int(spines));
            keys.put("hosts_per_leaf", int(hosts));
            let parallel = c.weighted(&[(4, 1), (1, 2)]);
            keys.may(c, 30, "parallel", |_| int(parallel));
            keys.put("host_rate", rate(mbps));
            keys.may(c, 50, "uplink_rate", |c| rate(c.weighted(RATES)));
            keys.put("delay", delay(ns));
            keys.may(c, 20, "host_delay", |c| delay(c.weighted(DELAYS_NS)));
            keys.may(c, 20, "uplink_delay", |c| delay(c.weighted(DELAYS_NS)));
            (fabric.racks, fabric.pins) = (leaves > 1 || hosts == 1, true);
            fabric.several = spines > 1 || parallel > 1;
            fabric.ports = (hosts + spines * parallel).max(leaves * parallel);
            fabric.switches = vec!["leaf*", "leaf0", "spine*", "spine0"];
            fabric.links.extend([
                "leaf0-spine*".into(),
                "leaf*-spine0".into(),
                "leaf0-spine0".into(),
            ]);
        }
        "fat_tree" => {
            let k = c.weighted(&[(1, 2), (8, 4), (1, 6)]);
            let over = c.weighted(&[(4, 1), (1, 2)]);
            fabric.hosts = k * k / 2 * (k / 2) * over;
            keys.put("k", int(k));
            keys.may(c, 30, "oversubscription", |_| int(over));
            if !keys.0.contains_key("oversubscription") {
                fabric.hosts /= over;
            }
            keys.put("rate", rate(mbps));
            keys.put("delay", delay(ns));
            (fabric.racks, fabric.pins, fabric.several) = (true, true, k > 2);
            fabric.switches = vec!["edge*", "edge0", "agg*", "core*", "core0"];
            fabric.links.extend(["edge0-agg*".into(), "agg0-core*".into(), "edge0-agg0".into()]);
        }
        "dual_homed_fat_tree" => {
            let hosts = c.range(1, 3);
            keys.put("k", int(4));
            keys.put("hosts_per_pair", int(hosts));
            keys.put("rate", rate(mbps));
            keys.put("delay", delay(ns));
            // Four pods with two edge switches each.
            fabric.hosts = 8 * hosts;
            fabric.several = true;
            fabric.switches = vec!["edge*", "agg0", "core*"];
            fabric.links.extend(["edge0-agg*".into()]);
        }
        "vl2" => {
            let (aggregation, intermediate, hosts) = (c.of(&[2, 4]), c.of(&[2, 4]), c.range(1, 4));
            let (aggregation, hosts) = if aggregation * intermediate / 4 * hosts < 2 {
                (4, 2)
            } else {
                (aggregation, hosts)
            };
            fabric.hosts = aggregation * intermediate / 4 * hosts;
            keys.put("aggregation_ports", int(aggregation));
            keys.put("intermediate_ports", int(intermediate));
            keys.put("hosts_per_tor", int(hosts));
            keys.put("host_rate", rate(mbps));
            keys.may(c, 60, "uplink_rate", |c| rate(c.weighted(RATES)));
            keys.put("delay", delay(ns));
            (fabric.racks, fabric.several) = (aggregation * intermediate / 4 > 1, true);
            fabric.switches = vec!["tor*", "agg*", "int0"];
            fabric.links.extend(["tor0-agg*".into()]);
        }
        "bcube" => {
            let (ports, levels) = c.weighted(&[(3, (2, 2)), (2, (3, 2)), (1, (4, 2)), (1, (2, 3))]);
            fabric.hosts = u64::pow(ports, levels as u32);
            keys.put("ports", int(ports));
            keys.put("levels", int(levels));
            keys.put("rate", rate(mbps));
            keys.put("delay", delay(ns));
            fabric.several = true;
            fabric.uneven = true;
            fabric.switches = vec!["level0_*", "level1_0"];
        }
        "dragonfly" => {
            let (routers, hosts, groups) = (c.range(1, 3), c.range(1, 2), c.range(2, 3));
            fabric.hosts = routers * hosts * groups;
            keys.put("routers", int(routers));
            keys.put("hosts_per_router", int(hosts));
            keys.put("global_links", int(2));
            keys.put("groups", int(groups));
            keys.put("host_rate", rate(mbps));
            keys.may(c, 40, "local_rate", |c| rate(c.weighted(RATES)));
            keys.may(c, 40, "global_rate", |c| rate(c.weighted(RATES)));
            keys.put("delay", delay(ns));
            keys.may(c, 40, "global_delay", |c| delay(c.weighted(DELAYS_NS)));
            (fabric.racks, fabric.several, fabric.uneven) = (true, true, true);
            fabric.switches = vec!["router*", "router0"];
            fabric.links.extend(["router0-router*".into()]);
        }
        "hpcc" => {
            // The file `data/fabric.txt` has two leaves with four hosts each, and two spines.
            fabric.hosts = 8;
            keys.put("file", data.join("fabric.txt").display().to_string());
            (fabric.pins, fabric.several, fabric.mbps) = (true, true, 25_000);
            fabric.switches = vec!["switch*", "switch0"];
            fabric.links.extend(["switch0-switch2".into()]);
        }
        _ => custom(c, &mut keys, &mut fabric, mbps, ns),
    }
    changes(c, &mut keys, &mut fabric);
    (keys, fabric)
}

/// Generates switches in a ring or a full mesh, with hosts at random switches.
fn custom(c: &mut Choices, keys: &mut Keys, fabric: &mut Fabric, mbps: u64, ns: u64) {
    let switches = c.range(1, 4);
    fabric.hosts = c.range(2, 10);
    keys.put("hosts", int(fabric.hosts));
    if c.chance(50) {
        keys.put("switches", int(switches));
    } else {
        keys.put(
            "switches",
            Value::Array((0..switches).map(|number| format!("switch{number}").into()).collect()),
        );
    }
    let link = |c: &mut Choices, a: String, b: String| {
        let mut link = Keys::default();
        link.put("a", a);
        link.put("b", b);
        link.put("rate", rate(if c.chance(80) { mbps } else { c.weighted(RATES) }));
        link.put("delay", delay(if c.chance(70) { ns } else { c.weighted(DELAYS_NS) }));
        link.may(c, 15, "count", |c| int(c.range(1, 2)));
        Value::from(link)
    };
    let mut links = Vec::new();
    for host in 0..fabric.hosts {
        let to = c.range(0, switches - 1);
        links.push(link(c, format!("host{host}"), format!("switch{to}")));
    }
    let mesh = c.chance(30);
    for from in 0..switches {
        let peers: Vec<u64> = if mesh {
            (from + 1..switches).collect()
        } else {
            (from + 1..switches.min(from + 2)).collect()
        };
        for to in peers {
            links.push(link(c, format!("switch{from}"), format!("switch{to}")));
        }
    }
    keys.put("link", Value::Array(links));
    (fabric.uneven, fabric.several) = (true, true);
    fabric.switches = vec!["switch*", "switch0"];
    if switches > 1 {
        fabric.links.push("switch0-switch1".into());
    }
}

/// Adds changes of links: other rates and delays, loss, and down times.
fn changes(c: &mut Choices, keys: &mut Keys, fabric: &mut Fabric) {
    if c.chance(20) {
        let mut change = Keys::default();
        let link = c.of(&fabric.links);
        fabric.uneven |= link.starts_with("host");
        change.put("link", link);
        if c.chance(60) {
            change.put("rate", rate(c.weighted(RATES)));
        }
        if c.chance(60) || !change.0.contains_key("rate") {
            change.put("delay", delay(c.weighted(DELAYS_NS)));
        }
        if c.1 && c.chance(25) {
            change.put("mtu", c.of(&["600B", "1500B", "4000B"]));
        }
        keys.put("override", Value::Array(vec![change.into()]));
    }
    if c.chance(30) {
        let mut fault = Keys::default();
        fault.put("link", c.of(&fabric.links));
        if c.chance(60) {
            let loss = c.weighted(&[(3, 0.001), (3, 0.01), (1, 0.1), (1, 0.3)]);
            fault.put("loss", loss);
        }
        if c.chance(50) || !fault.0.contains_key("loss") {
            let mut from = c.scale(100, 2_000_000);
            let mut outages = Vec::new();
            for last in [false, true] {
                let mut down = Keys::default();
                down.put("from", delay(from));
                if last && c.chance(10) {
                    fabric.cut = true;
                } else {
                    let to = from + c.scale(1, 1_000_000);
                    down.put("to", delay(to));
                    from = to + c.scale(1, 100_000);
                }
                down.may(c, 50, "detect", |c| c.time(1, 200_000));
                if c.1 {
                    down.may(c, 50, "converge", |c| c.time(1, 500_000));
                }
                outages.push(Value::from(down));
                if c.chance(70) {
                    break;
                }
            }
            fault.put("down", Value::Array(outages));
        }
        keys.put("fault", Value::Array(vec![fault.into()]));
    }
}
