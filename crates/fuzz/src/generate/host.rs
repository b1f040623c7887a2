//! Generator of `[host]`.

use super::facts::Family;
use super::switch::queues::{PROCESSOR, marking, queues, rounds};
use super::topology::Fabric;
use crate::choices::{ALWAYS, Choices, Draw, Draw::*, Keys, Row, drawn, int};

/// Lengths on the wire that differ from those of a named profile.
const WIRE: &[Row] = &[
    (30, "gap", Size(1, 20)),
    (30, "ack", Size(30, 100)),
    (30, "min_frame", Size(40, 90)),
    (20, "syn", Size(60, 100)),
    (20, "sack_base", Size(2, 8)),
    (20, "sack_block", Size(4, 16)),
    (20, "name", Text("own")),
];

const PACER: &[Row] = &[
    (60, "interval", Time(1_000, 100_000)),
    (50, "queue_gain", Real(1.0, 4_000.0)),
    (50, "timeout", Time(20_000, 10_000_000)),
    (30, "probability", Real(0.05, 1.0)),
    (30, "eta", Real(0.05, 1.0)),
    (30, "bucket", Size(1_500, 10_000)),
    (30, "min_rate", Text("20Mbps")),
];

/// Timing of real hosts, or none.
const TIMING: Draw = Or(
    40,
    &Text("exact"),
    &Table(&[
        (40, "receive", Time(1, 100_000)),
        (40, "send", Time(1, 10_000)),
        (40, "nic_send", Time(1, 1_000)),
        (40, "gap", Time(1, 200)),
        (40, "clock_ppm", Real(0.0, 1_000.0)),
    ]),
);

const HOST: &[Row] = &[
    (5, "ecn", Flag(false)),
    (10, "honours_pause", Chance(60)),
    (4, "processor", PROCESSOR),
    (50, "timing", TIMING),
];

const STORM: &[Row] = &[
    (ALWAYS, "period", Time(2_000, 200_000)),
    (50, "from", Time(1, 200_000)),
    (60, "pause_time", Time(500, 100_000)),
];

/// Returns the table `[host]`, and whether it contains a storm of PAUSE frames without an end.
/// `pauses`: switches use PFC or have a memory management unit.
pub fn host(
    c: &mut Choices,
    fabric: &Fabric,
    family: Family,
    paused: &[u64],
    pauses: bool,
) -> (Keys, bool) {
    let mut keys = Keys::default();
    wire(c, &mut keys, family);
    let mtus = Texts(&["600B", "1000B", "1500B", "4000B", "9000B"]);
    keys.draw(c, &[(15, "mtu", mtus), (25, "delay", Time(1, 5_000))]);
    // pFabric's priority queue cannot be combined with flow control.
    if family == Family::Pfabric && !pauses && c.chance(70) {
        keys.put("scheduling", "pfabric");
        keys.draw(c, &[(60, "queue", Size(9_200, 100_000))]);
    } else {
        scheduling(c, &mut keys);
    }
    if family == Family::Hull || c.chance(3) {
        let mut pacer = drawn(c, PACER);
        pacer.may(c, 20, "max_rate", |_| format!("{}Mbps", fabric.mbps.max(20)));
        keys.put("pacer", pacer);
    }
    keys.draw(c, HOST);
    let own = ["queue", "scheduling", "nic_queue", "nic_ecn", "pacer"];
    if !own.iter().any(|key| keys.has(key)) && c.chance(50) {
        let kind = c.of(&["fq_codel", "fq", "pfifo", "off"]);
        keys.put("qdisc", kind);
        if kind != "off" {
            keys.draw(c, &[(50, "bql", Size(1, 100_000)), (30, "hardware_queues", Int(1, 5))]);
        }
    }
    let endless = overrides(c, &mut keys, paused);
    if c.chance(10) {
        let mut map = Keys::default();
        map.put(&c.range(0, 63).to_string(), int(c.range(0, 7)));
        keys.put("dscp_to_priority", map);
    }
    (keys, endless)
}

/// Sets the profile of frame lengths, or some lengths of its own.
fn wire(c: &mut Choices, keys: &mut Keys, family: Family) {
    let profile = match family {
        Family::Rdma if c.1 && c.chance(25) => "rocev2",
        Family::Rdma => c.weighted(&[(3, "ns3rdma"), (3, "ethernet"), (1, "linux")]),
        Family::Pfabric => c.weighted(&[(2, "pfabric"), (2, "ethernet")]),
        _ => c.weighted(&[
            (6, "ethernet"),
            (1, "ethernet_timestamps"),
            (1, "linux"),
            (1, "ns3p2p"),
            (1, "pfabric"),
            (1, "htsim"),
        ]),
    };
    if c.chance(10) {
        let mut wire = drawn(c, WIRE);
        wire.put("base", profile);
        keys.put("wire", wire);
    } else {
        keys.draw(c, &[(80, "wire", Text(profile))]);
    }
}

/// Sets the queues of the NIC and their scheduling.
fn scheduling(c: &mut Choices, keys: &mut Keys) {
    keys.draw(c, &[(15, "queue", Or(40, &Unit(2, 100, "packets"), &Size(9_200, 200_000)))]);
    match c.weighted(&[(6, "fifo"), (2, "strict"), (2, "blocks")]) {
        "strict" => {
            keys.put("scheduling", "strict_priority");
            keys.draw(c, &[(50, "priorities", Int(2, 8))]);
        }
        "blocks" => {
            let blocks = queues(c, |_, _| {});
            rounds(c, keys, 30, &blocks);
            keys.put("nic_queue", blocks);
        }
        _ => {}
    }
    keys.may(c, 6, "nic_ecn", |c| marking(c, false));
}

/// Sets an override of some hosts. Returns true if a host sends PAUSE frames without an end.
fn overrides(c: &mut Choices, keys: &mut Keys, paused: &[u64]) -> bool {
    let (mut change, mut endless) = (Keys::default(), false);
    // A host that sends PAUSE frames without cause, if its switch uses flow control.
    if !paused.is_empty() && c.chance(15) {
        let mut storm = Keys::default();
        storm.put("priority", int(c.of(paused)));
        storm.draw(c, STORM);
        endless = !c.chance(60);
        if !endless {
            storm.put("until", c.time(300_000, 2_000_000));
        }
        change.put("match", "host0");
        change.put("storm", storm);
    } else if c.chance(12) {
        change.put("match", c.of(&["host0", "host1", "host*"]));
        let (key, value) = match c.range(0, 3) {
            0 => ("delay", Time(1, 3_000)),
            1 => ("ecn", Chance(50)),
            2 => ("honours_pause", Flag(false)),
            _ if c.chance(50) => ("timing", TIMING),
            _ => ("processor", PROCESSOR),
        };
        change.draw(c, &[(ALWAYS, key, value)]);
    } else {
        return false;
    }
    keys.put("override", vec![change]);
    endless
}
