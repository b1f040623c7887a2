//! Tests `[switch.voq]`: the plan that results, and the keys that it excludes.

use crate::common::{VALID, error, parse};
use afflux_net::spec::{Buffer, Limit, MarkAt, Scheduling, Service, Voq};
use afflux_scenario::Scenario;
use afflux_units::{Rate, Span};

fn with_switch(keys: &str) -> Scenario {
    let scenario = parse(&VALID.replacen("buffer = \"9MB\"\nalpha = 1.0\n", keys, 1))
        .unwrap_or_else(|error| panic!("{error}"));
    let again =
        parse(&scenario.resolved).unwrap_or_else(|error| panic!("{error}\n{}", scenario.resolved));
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
    assert_eq!(
        (voq.ports_per_core, voq.max_bytes, voq.max_time, voq.dram),
        (None, None, None, 4_000_000_000)
    );
    assert_eq!(
        (voq.dram_bandwidth, voq.grant_latency),
        (Some(Rate::from_gbps(900)), Span::from_ns(1_500))
    );
    for key in [
        "max_bytes = \"by_speed\"",
        "max_time = \"off\"",
        "evict_packets = 6000",
        "dram_bandwidth = \"900Gbps\"",
    ] {
        assert!(scenario.resolved.contains(key), "{key} in\n{}", scenario.resolved);
    }
}

#[test]
fn the_table_alone_says_which_sharing() {
    let scenario = with_switch(
        "voq = { ingress = \"port\", credit = \"4kB\", max_time = \"5ms\", dram_bandwidth = \"unlimited\" }\n",
    );
    let voq = voq(&scenario, "leaf0");
    assert_eq!(
        (voq.per_core(), voq.credit, voq.max_time, voq.dram_bandwidth),
        (Some(1), Some(4_000), Some(Span::from_ms(5)), None)
    );
}

#[test]
fn a_preset_and_an_override_key_by_key() {
    let scenario = with_switch(
        "preset = \"jericho_plus\"\nvoq = { max_time = \"5ms\" }\noverride = [{ match = \"leaf1\", voq = { max_bytes = \"1MB\" } }, { match = \"spine0\", preset = \"trident3\" }]\n",
    );
    let (leaf0, leaf1) = (voq(&scenario, "leaf0"), voq(&scenario, "leaf1"));
    assert_eq!(
        (leaf0.dram, leaf0.max_bytes, leaf0.max_time),
        (8_000_000_000, None, Some(Span::from_ms(5)))
    );
    assert_eq!(leaf1, Voq { max_bytes: Some(1_000_000), ..leaf0 });
    let switch = &scenario.plan.switches[0];
    assert_eq!(switch.least_latency(), Span::from_ns(3_800));
    let spine = scenario.plan.topology.nodes.iter().find(|node| node.name == "spine0").unwrap();
    assert!(matches!(
        scenario.plan.switches[spine.config as usize].buffer,
        Buffer::Shared { total: 24_192_256, .. }
    ));
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
    not_with_a_memory_management_unit: "sharing = \"sonic\"\nvoq = { dram = \"4GB\" }",
        "13: key switch.voq: has no effect with sharing = \"sonic\": remove it";
    unknown_key: "voq = { dramm = \"4GB\" }",
        "12: key switch.voq.dramm: unknown key (did you mean \"dram\"?); the keys here are ingress, ports_per_core, credit, grant_latency, credit_speedup, \
         max_credits, fabric_speedup, max_bytes, max_time, on_chip, evict_bytes, evict_packets, dram, dram_bandwidth, write_buffer, reserved, dynamic, xoff, xon";
    no_cut_through: "sharing = \"voq\"\nforwarding = \"cut_through\"",
        "13: key switch.forwarding: sharing = \"voq\" stores frames: write \"store_and_forward\"";
    no_credit_with_one_queue: "voq = { credit = \"1kB\" }",
        "12: key switch.voq.credit: has no effect with one ingress core, because each port then has one queue per priority: remove it, or write ports_per_core, \
         credit_speedup, max_credits or fabric_speedup";
    ports_of_cores_only: "voq = { ingress = \"port\", ports_per_core = 2 }",
        "12: key switch.voq.ports_per_core: has no effect with ingress = \"port\": remove it";
    shares_of_one: "voq = { reserved = 0.5, dynamic = 0.6 }",
        "12: key switch.voq.dynamic: found 0.6: together with reserved = 0.5 it exceeds the DRAM, so write at most the rest of 1";
    a_time_above_0: "voq = { max_time = \"0ms\" }",
        "12: key switch.voq.max_time: \"0ms\": write a time above 0, or \"off\"";
    xoff_without_pauses: "voq = { xoff = \"1MB\" }",
        "12: key switch.voq.xoff: has no effect without PFC: write [switch.pfc], or remove it";
    xon_below_xoff: "voq = { xoff = \"10kB\", xon = \"11kB\" }\npfc = {}",
        "12: key switch.voq.xon: \"11kB\" is above xoff = \"10kB\": write no more than that";
    lossless_traffic_has_to_fit: "voq = { xoff = \"600MB\" }\npfc = {}",
        "12: key switch.voq.xoff: \"600MB\": at leaf0 lossless priorities may hold 7200737280B with their headroom, and on_chip and the dynamic part of dram are \
         2216MB; write less, or fewer priorities";
    a_speedup_above_0: "voq = { credit_speedup = 0 }",
        "12: key switch.voq.credit_speedup: found 0: write a number from 0.001 to 1000, or \"unlimited\"";
    a_fabric_above_0: "voq = { fabric_speedup = -1.5 }",
        "12: key switch.voq.fabric_speedup: found -1.5: write a number from 0.001 to 1000, or \"unlimited\"";
    a_credit_at_least: "voq = { max_credits = 0 }",
        "12: key switch.voq.max_credits: write a number of credits from 1 to 1000000, or \"unlimited\"";
    credits_in_no_time: "voq = { max_credits = 4, grant_latency = \"0ns\" }",
        "12: key switch.voq.max_credits: has no effect with grant_latency = \"0ps\": remove it";
    no_processor_beside_pauses: "sharing = \"voq\"\npfc = {}\nprocessor = { packet_time = \"1us\" }",
        "14: key switch.processor: has no effect with PFC, which counts frames at ingress: remove it";
    no_alpha_of_a_class: "sharing = \"voq\"\nqueue = [{ weight = 1, alpha = 2 }, { weight = 2 }]",
        "13: key switch.queue[0].alpha: has no effect with sharing = \"voq\": remove it";
    a_size_above_0: "voq = { max_bytes = \"0B\" }",
        "12: key switch.voq.max_bytes: \"0B\": write a size above 0";
}

#[test]
fn pauses_credits_and_their_overrides() {
    let scenario = with_switch(
        "voq = { max_credits = 64, fabric_speedup = 1.5, xoff = \"200kB\" }\npfc = { priorities = [3] }\noverride = [{ match = \"leaf1\", pfc = \"off\", voq = { \
         max_credits = \"unlimited\", fabric_speedup = \"unlimited\" } }, { match = \"spine0\", voq = { xoff = \"50kB\" } }]\n",
    );
    let (leaf0, leaf1, spine0) =
        (voq(&scenario, "leaf0"), voq(&scenario, "leaf1"), voq(&scenario, "spine0"));
    assert_eq!(
        (leaf0.max_credits, leaf0.fabric_speedup, leaf0.credit, leaf0.xoff, leaf0.xon),
        (Some(64), Some(1.5), Some(2_000), Some(200_000), Some(100_000))
    );
    assert_eq!(
        (leaf1.max_credits, leaf1.fabric_speedup, leaf1.credit, leaf1.xoff, leaf1.xon),
        (None, None, None, None, None)
    );
    assert_eq!((spine0.xoff, spine0.xon), (Some(50_000), Some(25_000)));
    let config = |name: &str| {
        &scenario.plan.switches[scenario
            .plan
            .topology
            .nodes
            .iter()
            .find(|node| node.name == name)
            .unwrap()
            .config as usize]
    };
    assert!(
        config("leaf0").honours_pause
            && config("leaf0").pfc.is_some()
            && config("leaf1").pfc.is_none()
    );
    let obeys = with_switch("sharing = \"voq\"\nhonours_pause = true\n");
    assert!(obeys.plan.switches[0].honours_pause && obeys.plan.switches[0].pfc.is_none());
}

#[test]
fn disciplines_and_marks_at_dequeue_beside_it() {
    let ecn = "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2\n";
    for kind in ["codel", "fq_codel", "pie", "pi2", "ecn_sharp", "phantom"] {
        let aqm = format!("sharing = \"voq\"\naqm = {{ kind = \"{kind}\" }}\n");
        let scenario =
            parse(&VALID.replacen("buffer = \"9MB\"\nalpha = 1.0\n", &aqm, 1).replacen(ecn, "", 1))
                .unwrap();
        assert_eq!(scenario.plan.switches[0].aqm.as_ref().unwrap().about().model.name, kind);
    }
    let marks = VALID
        .replacen("buffer = \"9MB\"\nalpha = 1.0\n", "sharing = \"voq\"\n", 1)
        .replacen(ecn, "ecn = { k = \"100kB\", at = \"dequeue\" }\n", 1);
    let scenario = parse(&marks).unwrap();
    assert_eq!(scenario.plan.switches[0].marking.as_ref().unwrap().at, MarkAt::Dequeue);
}

/// Tests deep and shallow switches with the same classes.
#[test]
fn classes_with_it() {
    let ecn = "[switch.ecn]\nkmin = \"100kB\"\nkmax = \"400kB\"\npmax = 0.2\n";
    let queues = "[[switch.queue]]\nbandwidth = \"20%\"\nbuffer = \"1MB\"\n[[switch.queue]]\nbandwidth = \"80%\"\necn = { k = \"50kB\" }\n[[switch.queue]]\nstrict = true\n";
    for memory in [
        "sharing = \"voq\"\n",
        "voq = { ports_per_core = 2, max_credits = 8 }\n",
        "sharing = \"dynamic\"\n",
    ] {
        let scenario = parse(
            &VALID.replacen("buffer = \"9MB\"\nalpha = 1.0\n", memory, 1).replacen(ecn, queues, 1),
        )
        .unwrap_or_else(|error| panic!("{error}"));
        let switch = &scenario.plan.switches[0];
        let Scheduling::Classes(classes) = &switch.scheduling else {
            panic!("{:?}", switch.scheduling)
        };
        assert_eq!(
            classes.service,
            [Service::Bandwidth(20), Service::Bandwidth(80), Service::Strict]
        );
        assert_eq!(
            (switch.own[0].limit, switch.own[1].marking.as_ref().map(|ecn| ecn.kmin)),
            (Some(Limit::Bytes(1_000_000)), Some(Limit::Bytes(50_000)))
        );
        let again = parse(&scenario.resolved)
            .unwrap_or_else(|error| panic!("{error}\n{}", scenario.resolved));
        assert_eq!(
            (&again.resolved, &again.plan.switches),
            (&scenario.resolved, &scenario.plan.switches)
        );
    }
}

#[test]
fn queues_have_a_number_below_256() {
    let keys = "voq = { ingress = \"port\" }\nscheduling = \"strict_priority\"\n";
    let text = VALID.replacen("buffer = \"9MB\"\nalpha = 1.0\n", keys, 1).replacen(
        "hosts_per_leaf = 4",
        "hosts_per_leaf = 40",
        1,
    );
    let message = parse(&text).err().map(|error| error.to_string()).unwrap_or_default();
    let expected = "fabric.toml:12: key switch.voq: leaf0 has 42 ports, so each port has 336 queues, more than 255: write ingress = \"core\" with a larger \
                    ports_per_core";
    assert_eq!(message, expected);
}
