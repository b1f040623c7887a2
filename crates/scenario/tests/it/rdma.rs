//! Tests `kind = "rdma"`: parameter sets by name, modes, and their requirements.

use crate::common::parse;
use afflux_net::spec::{
    Cnp, Compat, DcqcnConfig, Entropy, RateControl, RdmaConfig, RdmaRecovery, RdmaWindow, Reps,
    RouteHash, TransportConfig,
};
use afflux_units::Span;

const LOSSLESS: &str = r#"format = 1

[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "100Gbps"
delay = "1us"

[switch]
sharing = "conweave"
buffer = "9MiB"
scheduling = "strict_priority"
mmu = { bypass = [7] }
pfc = { priorities = [3] }
ecn = { kmin = "100kB", kmax = "400kB", pmax = 0.2, at = "dequeue" }

[host]
wire = "ns3rdma"

[host.transport]
kind = "rdma"
ack_priority = 7

[[traffic]]
kind = "incast"
to = 0
senders = 3
bytes = "64kB"
priority = 3
"#;

const PFC: &str = "pfc = { priorities = [3] }\n";

fn with(change: &str) -> String {
    LOSSLESS.replace("ack_priority = 7\n", &format!("ack_priority = 7\n{change}\n"))
}

fn config(text: &str) -> RdmaConfig {
    let scenario = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let TransportConfig::Rdma(config) = scenario.plan.transports[0].clone() else { panic!("RDMA") };
    config
}

fn dcqcn(parameters: &str) -> (DcqcnConfig, Cnp) {
    let config = config(&with(&format!("dcqcn = {{ parameters = \"{parameters}\" }}")));
    let RateControl::Dcqcn(dcqcn) = config.control else { panic!("DCQCN") };
    (dcqcn, config.cnp)
}

fn error(text: &str) -> String {
    let Err(error) = parse(text) else { panic!("not refused") };
    error.to_string()
}

#[test]
fn parameter_sets() {
    let us = Span::from_us;
    let of = |name: &str| {
        let (c, cnp) = dcqcn(name);
        let decrease = c.decrease_period.unwrap_or(Span::ZERO);
        let rates = (c.additive / 1_000_000, c.hyper / 1_000_000, c.min_rate / 1_000_000);
        (
            (c.alpha_period, decrease, c.increase_period),
            c.byte_counter,
            c.fast_recovery,
            rates,
            c.clamp_target,
            cnp,
        )
    };
    let packet = Cnp::Packet { interval: us(50), delay: us(0) };
    // On 100G the two sets have 5/50 and 10/25 Mbit/s per 25 Gbit/s.
    assert_eq!(of("conweave"), ((us(1), us(4), us(300)), None, 1, (40, 100, 100), false, Cnp::Ack));
    assert_eq!(of("hpcc"), ((us(1), us(4), us(300)), None, 1, (20, 200, 1_000), false, Cnp::Ack));
    assert_eq!(
        of("hpcc_paper"),
        ((us(50), us(50), us(55)), None, 1, (20, 200, 1_000), false, Cnp::Ack)
    );
    assert_eq!(
        of("zhu"),
        ((us(55), us(0), us(60)), Some(300_000_000), 4, (40, 200, 100), true, packet)
    );
    assert_eq!(
        of("paper"),
        ((us(55), us(0), us(55)), Some(10_000_000), 5, (40, 200, 100), true, packet)
    );
    assert_eq!(of("nvidia"), ((us(1), us(4), us(300)), Some(32_767), 1, (5, 50, 1), false, packet));
    let RateControl::Dcqcn(default) = config(LOSSLESS).control else { panic!("DCQCN") };
    assert_eq!(default, dcqcn("paper").0);
}

#[test]
fn modes() {
    let without = |change: &str| with(change).replace(PFC, "");
    assert_eq!(config(LOSSLESS).recovery, RdmaRecovery::GoBackN { rto: Span::from_ms(4) });
    assert_eq!(
        config(&without("mode = \"gbn_no_pfc\"")).recovery,
        RdmaRecovery::GoBackN { rto: Span::from_ms(4) }
    );
    let RdmaRecovery::Irn(irn) = config(&without("mode = \"irn\"")).recovery else { panic!("IRN") };
    assert_eq!(
        (irn.bdp, irn.few, irn.rto_low, irn.rto_high, irn.timeouts, irn.ns3),
        (None, 3, Span::from_us(100), Span::from_us(320), true, false)
    );
    let RdmaRecovery::Irn(irn) = config(&with("mode = \"irn_pfc\"\nbdp = \"104kB\"")).recovery
    else {
        panic!("IRN")
    };
    assert_eq!(
        (irn.bdp, irn.timeouts, irn.rto_low, irn.rto_high),
        (Some(104_000), true, Span::from_ms(4), Span::from_ms(4))
    );
    let RdmaRecovery::Irn(irn) = config(&with("mode = \"irn_pfc\"\nrto = \"off\"")).recovery else {
        panic!("IRN")
    };
    assert!(!irn.timeouts);
    config(&without("mode = \"semi_lossless\"").replace("mmu =", "honours_pause = true\nmmu ="));
    assert_eq!(
        config(&with("window = \"scaled\"\nwindow_size = \"104kB\"")).window,
        RdmaWindow::Scaled(Some(104_000))
    );
    // Modes refuse switches and traffic that do not meet their requirements.
    for (text, says) in [
        (without(""), "host.transport.mode: needs switches that pause"),
        (with("mode = \"irn\""), "host.transport.mode: flow 0 has priority 3, for which PFC is on"),
        (without("mode = \"semi_lossless\""), "switch.honours_pause = true"),
        (
            LOSSLESS.replace("priority = 3", "priority = 2"),
            "flow 0 has priority 2, for which PFC is off",
        ),
        (
            with("mode = \"irn_pfc\"\nrto_low = \"1ms\""),
            "host.transport.rto_low: mode = \"irn_pfc\" has one time-out: write rto",
        ),
        (with("rto = \"off\""), "host.transport.rto: \"off\": go-back-N needs a time-out"),
        (with("bdp = \"104kB\""), "host.transport.bdp: has an effect only with IRN"),
        (with("window_size = \"104kB\""), "host.transport.window_size: needs window"),
        (
            with("cnp = \"ack\"\ncnp_interval = \"4us\""),
            "host.transport.cnp_interval: has no effect",
        ),
        (
            with("congestion = \"swift\"\ndcqcn = { g = 0.5 }"),
            "host.transport.dcqcn: has no effect with congestion = \"swift\"",
        ),
        (
            with("congestion = \"timely\"\ntimely = { t_low = \"1ms\" }"),
            "host.transport.timely.t_high",
        ),
        (with("dcqcn = { g = 2 }"), "host.transport.dcqcn.g: found 2: write a number from"),
        (with("mode = \"lossles\""), "lossless"),
    ] {
        let found = error(&text);
        assert!(found.contains(says), "{found}\n does not say {says}");
    }
}

#[test]
fn compat() {
    let scenario = parse(&format!("{LOSSLESS}\n[run]\ncompat = \"conweave-ns3\"\n")).unwrap();
    assert_eq!(scenario.plan.run.compat, Some(Compat::ConweaveNs3));
    assert!(scenario.plan.switches.iter().all(|switch| switch.hash == RouteHash::Murmur3));
    let TransportConfig::Rdma(config) = &scenario.plan.transports[0] else { panic!("RDMA") };
    assert!(config.cnp_out_of_order);
}

/// Periods of timers are at least 100 ns, and no time is so long that the end of a wait would
/// overflow.
#[test]
fn times_out_of_range() {
    let periods = "write a time from \"100ns\" to \"1s\"";
    for (change, key, found, allowed) in [
        ("dcqcn = { alpha_period = \"1ps\" }", "dcqcn.alpha_period", "1ps", periods),
        ("dcqcn = { increase_period = \"2s\" }", "dcqcn.increase_period", "2s", periods),
        ("dcqcn = { decrease_period = \"99ns\" }", "dcqcn.decrease_period", "99ns", periods),
        ("nack_interval = \"5000h\"", "nack_interval", "5000h", "write a time up to 1s"),
        (
            "cnp = \"ack\"\nentropy = { kind = \"reps\", freeze = \"5000h\" }",
            "entropy.freeze",
            "5000h",
            "write a time up to 1s",
        ),
        (
            "congestion = \"swift\"\nswift = { hop = \"5000h\" }",
            "swift.hop",
            "5000h",
            "write a time up to 1s",
        ),
        (
            "congestion = \"swift\"\nswift = { fs_range = \"11s\" }",
            "swift.fs_range",
            "11s",
            "write a time from \"0ps\" to \"10s\"",
        ),
    ] {
        let line = 24 + change.lines().count();
        let expected =
            format!("fabric.toml:{line}: key host.transport.{key}: \"{found}\": {allowed}");
        assert_eq!(error(&with(change)), expected);
    }
    for allowed in [
        "dcqcn = { alpha_period = \"100ns\", increase_period = \"1s\", decrease_period = \"0ns\" }",
        "nack_interval = \"0ns\"",
        "congestion = \"swift\"\nswift = { base = \"1s\" }",
    ] {
        config(&with(allowed));
    }
}

#[test]
fn entropies() {
    assert_eq!(config(&with("")).entropy, Entropy::Flow);
    let ack = |entropy: &str| with(&format!("cnp = \"ack\"\nentropy = {entropy}"));
    assert_eq!(
        config(&ack("\"reps\"")).entropy,
        Entropy::Reps(Reps { cache: 8, freeze: None, explore: 16 })
    );
    let frozen =
        config(&ack("{ kind = \"reps\", cache = 4, freeze = \"10ms\", explore = 0 }")).entropy;
    assert_eq!(
        frozen,
        Entropy::Reps(Reps { cache: 4, freeze: Some(Span::from_ms(10)), explore: 0 })
    );
    let switch = |key: &str| ack("\"reps\"").replace("sharing = ", &format!("{key}\nsharing = "));
    for (text, message) in [
        (
            with("entropy = \"reps\""),
            "fabric.toml:25: key host.transport.entropy: \"reps\" needs marks to be returned in acknowledgements: write cnp = \"ack\"",
        ),
        (
            ack("{ kind = \"reps\", cache = 0 }"),
            "fabric.toml:26: key host.transport.entropy.cache: found 0: write a number from 1 to 255",
        ),
        (
            ack("\"rep\""),
            "fabric.toml:26: key host.transport.entropy: \"rep\" is not known (did you mean \"reps\"?): write \"flow\" or \"reps\"",
        ),
        (
            switch("balance = \"drill\""),
            "fabric.toml:27: key host.transport.entropy: \"reps\" needs switches that choose paths by hash: write switch.balance = \"ecmp\", \"resilient\" or \"wcmp\"",
        ),
        (
            switch("hash = \"murmur3\""),
            "fabric.toml:27: key host.transport.entropy: \"reps\": switch.hash = \"murmur3\" hashes only addresses and ports; write another hash",
        ),
    ] {
        assert_eq!(error(&text), message);
    }
}

/// RoCEv2 on a cable (spec of the InfiniBand Trade Association, annex A17): 1024 B of payload in a
/// frame of 1086 B, and packets of its own kinds.
#[test]
fn frames_of_rocev2() {
    let of = |wire: &str| {
        parse(&LOSSLESS.replace("wire = \"ns3rdma\"", wire))
            .unwrap_or_else(|error| panic!("{error}"))
            .plan
    };
    let plan = of("wire = \"rocev2\"");
    let wire = &plan.wire;
    assert_eq!(
        (plan.transports[0].parameters().frames().payload, plan.largest_frame()),
        (1_024, 1_086)
    );
    assert_eq!((wire.ack, wire.cnp, wire.min_frame, wire.gap), (66, 78, 64, 20));
    assert_eq!(
        of("wire = \"rocev2\"\nmtu = \"4140B\"").transports[0].parameters().frames().payload,
        4_096
    );
    // If an acknowledgement has a written size, a notification has that size too, unless its own is
    // written.
    assert_eq!(of("wire = { base = \"rocev2\", ack = \"70B\" }").wire.cnp, 70);
    assert_eq!(of("wire = { base = \"rocev2\", ack = \"70B\", cnp = \"90B\" }").wire.cnp, 90);
    assert_eq!(of("wire = \"ns3rdma\"").wire.cnp, 60);
}
