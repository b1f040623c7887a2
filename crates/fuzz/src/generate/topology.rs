//! Generator of `[topology]`.

use crate::choices::{Choices, Draw::*, Keys, int};
use std::path::Path;

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
    pub links: Vec<&'static str>,
    pub switches: &'static [&'static str],
    /// Rate of the slowest host in Mbit/s.
    pub mbps: u64,
    /// Approximate number of ports of the largest switch.
    pub ports: u64,
    /// Approximate longest round-trip delay in ns.
    pub round_trip_ns: u64,
    /// True if a link goes down and never comes up again.
    pub cut: bool,
}

impl Fabric {
    /// Returns a rate in Mbit/s: up to `most` tenths of the slowest host's.
    pub fn part(&self, c: &mut Choices, most: u64) -> u64 {
        (self.mbps * c.range(1, most) / 10).max(1)
    }
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

/// Returns the text of a random rate.
fn any_rate(c: &mut Choices) -> String {
    rate(c.weighted(RATES))
}

fn any_delay(c: &mut Choices) -> String {
    delay(c.weighted(DELAYS_NS))
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
    let (switches, links) = names(kind);
    let mut fabric = Fabric {
        kind,
        hosts: 0,
        racks: false,
        pins: false,
        several: !matches!(kind, "star" | "dumbbell"),
        uneven: matches!(kind, "bcube" | "dragonfly" | "custom"),
        links: [&["host0-*"], links].concat(),
        switches,
        mbps,
        ports: 12,
        round_trip_ns: 8 * ns + 1_000_000 * 12_000 / mbps.max(1) / 100,
        cut: false,
    };
    let (rate_key, delay_key) = match kind {
        "dumbbell" => ("access_rate", "access_delay"),
        "leaf_spine" | "vl2" | "dragonfly" => ("host_rate", "delay"),
        _ => ("rate", "delay"),
    };
    match kind {
        "hpcc" => {
            // The file `data/fabric.txt` has two leaves with four hosts each, and two spines.
            keys.put("file", data.join("fabric.txt").display().to_string());
            (fabric.hosts, fabric.pins, fabric.mbps) = (8, true, 25_000);
        }
        "custom" => custom(c, &mut keys, &mut fabric, ns),
        _ => {
            keys.put(rate_key, rate(mbps));
            keys.put(delay_key, delay(ns));
            // The number of hosts is limited by the number of packets.
            shape(c, &mut keys, &mut fabric, packets.ilog2().clamp(6, 12).into());
        }
    }
    changes(c, &mut keys, &mut fabric);
    (keys, fabric)
}

/// Returns patterns that match switches, and links between switches.
fn names(kind: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match kind {
        "star" => (&["switch0"], &[]),
        "dumbbell" => (&["left", "right"], &["left-right"]),
        "leaf_spine" => (
            &["leaf*", "leaf0", "spine*", "spine0"],
            &["leaf0-spine*", "leaf*-spine0", "leaf0-spine0"],
        ),
        "fat_tree" => (
            &["edge*", "edge0", "agg*", "core*", "core0"],
            &["edge0-agg*", "agg0-core*", "edge0-agg0"],
        ),
        "dual_homed_fat_tree" => (&["edge*", "agg0", "core*"], &["edge0-agg*"]),
        "vl2" => (&["tor*", "agg*", "int0"], &["tor0-agg*"]),
        "bcube" => (&["level0_*", "level1_0"], &[]),
        "dragonfly" => (&["router*", "router0"], &["router0-router*"]),
        "hpcc" => (&["switch*", "switch0"], &["switch0-switch2"]),
        _ => (&["switch*", "switch0"], &[]),
    }
}

/// Sets the numbers of switches and hosts. `most`: hosts that a rack may have.
fn shape(c: &mut Choices, keys: &mut Keys, fabric: &mut Fabric, most: u64) {
    match fabric.kind {
        "star" => {
            fabric.hosts = c.range(2, most);
            keys.put("hosts", int(fabric.hosts));
            (fabric.pins, fabric.ports) = (true, fabric.hosts);
        }
        "dumbbell" => {
            let pairs = c.range(1, most / 2 + 2);
            keys.put("pairs", int(pairs));
            keys.put("rate", any_rate(c));
            keys.put("delay", any_delay(c));
            (fabric.hosts, fabric.racks, fabric.pins) = (2 * pairs, true, true);
        }
        "leaf_spine" => {
            let (leaves, spines, hosts) = (c.range(1, 4), c.range(1, 4), c.range(1, most / 2));
            fabric.hosts = (leaves * hosts).max(2);
            keys.put("leaves", int(fabric.hosts / hosts));
            keys.put("spines", int(spines));
            keys.put("hosts_per_leaf", int(hosts));
            let parallel = c.weighted(&[(4, 1), (1, 2)]);
            keys.may(c, 30, "parallel", |_| int(parallel));
            keys.may(c, 50, "uplink_rate", any_rate);
            keys.may(c, 20, "host_delay", any_delay);
            keys.may(c, 20, "uplink_delay", any_delay);
            (fabric.racks, fabric.pins) = (leaves > 1 || hosts == 1, true);
            fabric.several = spines > 1 || parallel > 1;
            fabric.ports = (hosts + spines * parallel).max(leaves * parallel);
        }
        "fat_tree" => {
            let k = c.weighted(&[(1, 2), (8, 4), (1, 6)]);
            let mut over = c.weighted(&[(4, 1), (1, 2)]);
            if c.chance(30) {
                keys.put("oversubscription", int(over));
            } else {
                over = 1;
            }
            keys.put("k", int(k));
            fabric.hosts = k * k / 2 * (k / 2) * over;
            (fabric.racks, fabric.pins, fabric.several) = (true, true, k > 2);
        }
        "dual_homed_fat_tree" => {
            let hosts = c.range(1, 3);
            keys.put("k", int(4));
            keys.put("hosts_per_pair", int(hosts));
            // Four pods with two edge switches each.
            fabric.hosts = 8 * hosts;
        }
        "vl2" => {
            let (mut aggregation, intermediate) = (c.of(&[2, 4]), c.of(&[2, 4]));
            let mut hosts = c.range(1, 4);
            if aggregation * intermediate / 4 * hosts < 2 {
                (aggregation, hosts) = (4, 2);
            }
            let racks = aggregation * intermediate / 4;
            keys.put("aggregation_ports", int(aggregation));
            keys.put("intermediate_ports", int(intermediate));
            keys.put("hosts_per_tor", int(hosts));
            keys.may(c, 60, "uplink_rate", any_rate);
            (fabric.hosts, fabric.racks) = (racks * hosts, racks > 1);
        }
        "bcube" => {
            let (ports, levels) = c.weighted(&[(3, (2, 2)), (2, (3, 2)), (1, (4, 2)), (1, (2, 3))]);
            fabric.hosts = u64::pow(ports, levels as u32);
            keys.put("ports", int(ports));
            keys.put("levels", int(levels));
        }
        _ => {
            let (routers, hosts, groups) = (c.range(1, 3), c.range(1, 2), c.range(2, 3));
            keys.put("routers", int(routers));
            keys.put("hosts_per_router", int(hosts));
            keys.put("global_links", int(2));
            keys.put("groups", int(groups));
            keys.may(c, 40, "local_rate", any_rate);
            keys.may(c, 40, "global_rate", any_rate);
            keys.may(c, 40, "global_delay", any_delay);
            (fabric.hosts, fabric.racks) = (routers * hosts * groups, true);
        }
    }
}

/// Generates switches in a ring or a full mesh, with hosts at random switches.
fn custom(c: &mut Choices, keys: &mut Keys, fabric: &mut Fabric, ns: u64) {
    let (mbps, switches) = (fabric.mbps, c.range(1, 4));
    fabric.hosts = c.range(2, 10);
    keys.put("hosts", int(fabric.hosts));
    if c.chance(50) {
        keys.put("switches", int(switches));
    } else {
        let names: Vec<_> = (0..switches).map(|number| format!("switch{number}")).collect();
        keys.put("switches", names);
    }
    let link = |c: &mut Choices, a: String, b: String| {
        let mut link = Keys::default();
        link.put("a", a);
        link.put("b", b);
        link.put("rate", rate(if c.chance(80) { mbps } else { c.weighted(RATES) }));
        link.put("delay", delay(if c.chance(70) { ns } else { c.weighted(DELAYS_NS) }));
        link.draw(c, &[(15, "count", Int(1, 2))]);
        link
    };
    let mut links = Vec::new();
    for host in 0..fabric.hosts {
        let to = c.range(0, switches - 1);
        links.push(link(c, format!("host{host}"), format!("switch{to}")));
    }
    let mesh = c.chance(30);
    for from in 0..switches {
        for to in from + 1..if mesh { switches } else { switches.min(from + 2) } {
            links.push(link(c, format!("switch{from}"), format!("switch{to}")));
        }
    }
    keys.put("link", links);
    if switches > 1 {
        fabric.links.push("switch0-switch1");
    }
}

/// Adds changes of links: other rates and delays, loss, and down times.
fn changes(c: &mut Choices, keys: &mut Keys, fabric: &mut Fabric) {
    if c.chance(20) {
        let mut change = Keys::default();
        let link = c.of(&fabric.links);
        fabric.uneven |= link.starts_with("host");
        change.put("link", link);
        change.may(c, 60, "rate", any_rate);
        if c.chance(60) || !change.has("rate") {
            change.put("delay", any_delay(c));
        }
        if c.1 {
            change.draw(c, &[(25, "mtu", Texts(&["600B", "1500B", "4000B"]))]);
        }
        keys.put("override", vec![change]);
    }
    if c.chance(30) {
        let mut fault = Keys::default();
        fault.put("link", c.of(&fabric.links));
        let losses = [(3, 0.001), (3, 0.01), (1, 0.1), (1, 0.3)];
        fault.may(c, 60, "loss", |c| c.weighted(&losses));
        if c.chance(50) || !fault.has("loss") {
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
                down.draw(c, &[(50, "detect", Time(1, 200_000))]);
                if c.1 {
                    down.draw(c, &[(50, "converge", Time(1, 500_000))]);
                }
                outages.push(down);
                if c.chance(70) {
                    break;
                }
            }
            fault.put("down", outages);
        }
        keys.put("fault", vec![fault]);
    }
}
