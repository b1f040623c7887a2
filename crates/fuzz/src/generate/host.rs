//! Generator of `[host]`.

use super::facts::Family;
use super::switch::{marking, processor, queues};
use super::topology::Fabric;
use crate::choices::{Choices, Keys, int};
use toml::Value;

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
        let mut wire = Keys::default();
        wire.put("base", profile);
        wire.may(c, 30, "gap", |c| c.size(1, 20));
        wire.may(c, 30, "ack", |c| c.size(30, 100));
        wire.may(c, 30, "min_frame", |c| c.size(40, 90));
        wire.may(c, 20, "syn", |c| c.size(60, 100));
        wire.may(c, 20, "sack_base", |c| c.size(2, 8));
        wire.may(c, 20, "sack_block", |c| c.size(4, 16));
        wire.may(c, 20, "name", |_| "own");
        keys.put("wire", wire);
    } else {
        keys.may(c, 80, "wire", |_| profile);
    }
    keys.may(c, 15, "mtu", |c| c.of(&["600B", "1000B", "1500B", "4000B", "9000B"]));
    keys.may(c, 25, "delay", |c| c.time(1, 5_000));
    // pFabric's priority queue cannot be combined with flow control.
    let urgent = family == Family::Pfabric && !pauses && c.chance(70);
    if urgent {
        keys.put("scheduling", "pfabric");
        keys.may(c, 60, "queue", |c| c.size(9_200, 100_000));
    } else {
        keys.may(c, 15, "queue", |c| {
            if c.chance(40) {
                format!("{}packets", c.scale(2, 100))
            } else {
                c.size(9_200, 200_000)
            }
        });
        match c.weighted(&[(6, "fifo"), (2, "strict"), (2, "blocks")]) {
            "strict" => {
                keys.put("scheduling", "strict_priority");
                keys.may(c, 50, "priorities", |c| int(c.range(2, 8)));
            }
            "blocks" => {
                let blocks = queues(c, |_, _| {});
                let shares = blocks
                    .iter()
                    .any(|block| block.get("weight").is_some() || block.get("bandwidth").is_some());
                if shares {
                    keys.may(c, 30, "quantum", |c| c.size(64, 20_000));
                }
                keys.put("nic_queue", Value::Array(blocks));
            }
            _ => {}
        }
        keys.may(c, 6, "nic_ecn", |c| marking(c, false));
    }
    if family == Family::Hull || c.chance(3) {
        let mut pacer = Keys::default();
        pacer.may(c, 60, "interval", |c| c.time(1_000, 100_000));
        pacer.may(c, 50, "queue_gain", |c| c.real(1.0, 4_000.0));
        pacer.may(c, 50, "timeout", |c| c.time(20_000, 10_000_000));
        pacer.may(c, 30, "probability", |c| c.real(0.05, 1.0));
        pacer.may(c, 30, "eta", |c| c.real(0.05, 1.0));
        pacer.may(c, 30, "bucket", |c| c.size(1_500, 10_000));
        pacer.may(c, 30, "min_rate", |_| "20Mbps");
        pacer.may(c, 20, "max_rate", |_| format!("{}Mbps", fabric.mbps.max(20)));
        keys.put("pacer", pacer);
    }
    keys.may(c, 5, "ecn", |_| false);
    keys.may(c, 10, "honours_pause", |c| c.chance(60));
    keys.may(c, 4, "processor", processor);
    keys.may(c, 50, "timing", timing);
    let own_queue = ["queue", "scheduling", "nic_queue", "nic_ecn", "pacer"]
        .iter()
        .any(|key| keys.0.contains_key(*key));
    if !own_queue && c.chance(50) {
        let kind = c.of(&["fq_codel", "fq", "pfifo", "off"]);
        keys.put("qdisc", kind);
        if kind != "off" {
            keys.may(c, 50, "bql", |c| c.size(1, 100_000));
            keys.may(c, 30, "hardware_queues", |c| int(c.range(1, 5)));
        }
    }
    let mut endless = false;
    // A host that sends PAUSE frames without cause, if its switch uses flow control.
    if !paused.is_empty() && c.chance(15) {
        let mut storm = Keys::default();
        storm.put("priority", int(c.of(paused)));
        storm.put("period", c.time(2_000, 200_000));
        storm.may(c, 50, "from", |c| c.time(1, 200_000));
        storm.may(c, 60, "pause_time", |c| c.time(500, 100_000));
        if c.chance(60) {
            storm.put("until", c.time(300_000, 2_000_000));
        } else {
            endless = true;
        }
        let mut change = Keys::default();
        change.put("match", "host0");
        change.put("storm", storm);
        keys.put("override", Value::Array(vec![change.into()]));
    } else if c.chance(12) {
        let mut change = Keys::default();
        change.put("match", c.of(&["host0", "host1", "host*"]));
        match c.range(0, 3) {
            0 => change.put("delay", c.time(1, 3_000)),
            1 => change.put("ecn", c.chance(50)),
            2 => change.put("honours_pause", false),
            _ if c.chance(50) => change.put("timing", timing(c)),
            _ => change.put("processor", processor(c)),
        }
        keys.put("override", Value::Array(vec![change.into()]));
    }
    if c.chance(10) {
        let mut map = Keys::default();
        map.put(&c.range(0, 63).to_string(), int(c.range(0, 7)));
        keys.put("dscp_to_priority", map);
    }
    (keys, endless)
}

/// Returns the timing of real hosts, or none.
fn timing(c: &mut Choices) -> Value {
    if c.chance(40) {
        return "exact".into();
    }
    let mut timing = Keys::default();
    timing.may(c, 40, "receive", |c| c.time(1, 100_000));
    timing.may(c, 40, "send", |c| c.time(1, 10_000));
    timing.may(c, 40, "nic_send", |c| c.time(1, 1_000));
    timing.may(c, 40, "gap", |c| c.time(1, 200));
    timing.may(c, 40, "clock_ppm", |c| c.real(0.0, 1_000.0));
    timing.into()
}
