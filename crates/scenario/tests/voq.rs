//! `[switch.voq]`: what it becomes, and what does not go with it.

mod common;

use afflux_net::spec::{Buffer, Voq};
use afflux_scenario::Scenario;
use afflux_units::{Rate, Span};
use common::{VALID, error, parse};

fn with_switch(keys: &str) -> Scenario {
    let scenario = parse(&VALID.replacen("buffer = \"9MB\"\nalpha = 1.0\n", keys, 1)).unwrap_or_else(|error| panic!("{error}"));
    let again = parse(&scenario.resolved).unwrap_or_else(|error| panic!("{error}\n{}", scenario.resolved));
    assert_eq!(again.resolved, scenario.resolved);
    scenario
}

fn voq(scenario: &Scenario, name: &str) -> Voq {
    let node = scenario.plan.topology.nodes.iter().find(|node| node.name == name).unwrap();
    match &scenario.plan.switches[node.config as usize].buffer {
        Buffer::Voq(voq) => voq.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_are_written_down() {
    let scenario = with_switch("sharing = \"voq\"\n");
    let voq = voq(&scenario, "leaf0");
    assert_eq!((voq.ports_per_core, voq.max_bytes, voq.max_time, voq.dram), (None, None, None, 4_000_000_000));
    assert_eq!((voq.dram_bandwidth, voq.grant_latency), (Some(Rate::from_gbps(900)), Span::from_ns(1_500)));
    for key in ["max_bytes = \"by_speed\"", "max_time = \"off\"", "evict_packets = 6000", "dram_bandwidth = \"900Gbps\""] {
        assert!(scenario.resolved.contains(key), "{key} in\n{}", scenario.resolved);
    }
}

#[test]
fn the_table_alone_says_which_sharing() {
    let scenario = with_switch("voq = { ingress = \"port\", credit = \"4kB\", max_time = \"5ms\", dram_bandwidth = \"unlimited\" }\n");
    let voq = voq(&scenario, "leaf0");
    assert_eq!((voq.per_core(), voq.credit, voq.max_time, voq.dram_bandwidth), (Some(1), Some(4_000), Some(Span::from_ms(5)), None));
}

#[test]
fn a_preset_and_an_override_key_by_key() {
    let scenario = with_switch(
        "preset = \"jericho_plus\"\nvoq = { max_time = \"5ms\" }\noverride = [{ match = \"leaf1\", voq = { max_bytes = \"1MB\" } }, { match = \"spine0\", preset = \"trident3\" }]\n",
    );
    let (leaf0, leaf1) = (voq(&scenario, "leaf0"), voq(&scenario, "leaf1"));
    assert_eq!((leaf0.dram, leaf0.max_bytes, leaf0.max_time), (8_000_000_000, None, Some(Span::from_ms(5))));
    assert_eq!(leaf1, Voq { max_bytes: Some(1_000_000), ..leaf0 });
    let switch = &scenario.plan.switches[0];
    assert_eq!(switch.least_latency(), Span::from_ns(3_800));
    let spine = scenario.plan.topology.nodes.iter().find(|node| node.name == "spine0").unwrap();
    assert!(matches!(scenario.plan.switches[spine.config as usize].buffer, Buffer::Shared { total: 24_192_256, .. }));
}

macro_rules! says {
    ($($name:ident: $keys:literal, $message:literal;)+) => {$(
        #[test]
        fn $name() {
            let message = error("buffer = \"9MB\"\nalpha = 1.0\n", concat!($keys, "\n"));
            assert_eq!(message, concat!("fabric.toml:", $message));
        }
    )+};
}

says! {
    no_buffer_beside_it: "sharing = \"voq\"\nbuffer = \"9MB\"",
        "13: key switch.buffer: has no effect with sharing = \"voq\": remove it";
    not_without_it: "sharing = \"dynamic\"\nvoq = { dram = \"4GB\" }",
        "13: key switch.voq: has no effect with sharing = \"dynamic\": remove it";
    unknown_key: "voq = { dramm = \"4GB\" }",
        "12: key switch.voq.dramm: unknown key (did you mean \"dram\"?); the keys here are ingress, ports_per_core, credit, grant_latency, max_bytes, max_time, on_chip, \
         evict_bytes, evict_packets, dram, dram_bandwidth, write_buffer, reserved, dynamic";
    no_cut_through: "sharing = \"voq\"\nforwarding = \"cut_through\"",
        "13: key switch.forwarding: sharing = \"voq\" stores frames: write \"store_and_forward\"";
    no_credit_with_one_queue: "voq = { credit = \"1kB\" }",
        "12: key switch.voq.credit: has no effect with one ingress core, because each port then has one queue per priority: remove it, or write ports_per_core";
    ports_of_cores_only: "voq = { ingress = \"port\", ports_per_core = 2 }",
        "12: key switch.voq.ports_per_core: has no effect with ingress = \"port\": remove it";
    shares_of_one: "voq = { reserved = 0.5, dynamic = 0.6 }",
        "12: key switch.voq.dynamic: found 0.6: together with reserved = 0.5 it exceeds the DRAM, so write at most the rest of 1";
    a_time_above_0: "voq = { max_time = \"0ms\" }",
        "12: key switch.voq.max_time: \"0ps\": write a time above 0, or \"off\"";
    a_size_above_0: "voq = { max_bytes = \"0B\" }",
        "12: key switch.voq.max_bytes: \"0B\": write a size above 0";
}

#[test]
fn no_discipline_beside_it() {
    let ecn = "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2\n";
    let text = VALID.replacen("buffer = \"9MB\"\nalpha = 1.0\n", "sharing = \"voq\"\naqm = { kind = \"pie\" }\n", 1).replacen(ecn, "", 1);
    let message = parse(&text).err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(message, "fabric.toml:13: key switch.aqm: sharing = \"voq\" supports WRED only: write ecn");
}

#[test]
fn queues_have_a_number_below_256() {
    let keys = "voq = { ingress = \"port\" }\nscheduling = \"strict_priority\"\n";
    let text = VALID.replacen("buffer = \"9MB\"\nalpha = 1.0\n", keys, 1).replacen("hosts_per_leaf = 4", "hosts_per_leaf = 40", 1);
    let message = parse(&text).err().map(|error| error.to_string()).unwrap_or_default();
    let expected = "fabric.toml:12: key switch.voq: leaf0 has 42 ports, so each port has 336 queues, more than 255: write ingress = \"core\" with a larger \
                    ports_per_core";
    assert_eq!(message, expected);
}
