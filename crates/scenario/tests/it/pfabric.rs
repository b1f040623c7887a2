//! Tests the keys of pFabric: the study's parameters as defaults, differences of its TCP and DCTCP,
//! and refused keys.

use crate::common::parse;
use afflux_net::congestion::newreno::RenoFlavour;
use afflux_net::spec::{
    self, Aqm, Buffer, Compare, CongestionControl, EcnMode, Limit, TransportConfig,
};
use afflux_units::Span;

const STUDY: &str = r#"format = 1

[topology]
kind = "leaf_spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
host_rate = "10Gbps"
delay = "200ns"

[switch]
scheduling = "pfabric"
buffer = "36000B"
balance = "round_robin"

[host]
delay = "2.5us"
scheduling = "pfabric"
queue = "36000B"
wire = "pfabric"

[host.transport]
kind = "pfabric"

[[traffic]]
kind = "incast"
to = 0
senders = 3
bytes = "64kB"
"#;

fn with(keys: &str) -> String {
    STUDY.replace("kind = \"pfabric\"\n", &format!("kind = \"pfabric\"\n{keys}\n"))
}

fn config(text: &str) -> spec::Pfabric {
    let scenario = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let again =
        parse(&scenario.resolved).unwrap_or_else(|error| panic!("{error}\n{}", scenario.resolved));
    assert_eq!(
        (&again.resolved, format!("{:?}", again.plan)),
        (&scenario.resolved, format!("{:?}", scenario.plan))
    );
    match &scenario.plan.transports[0] {
        TransportConfig::Pfabric(config) => config.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_study_without_saying_it() {
    let config = config(STUDY);
    assert!(config.fixed_timeout && config.ranked && !config.pooled);
    assert_eq!(config.probe_after, Some(5));
    let tcp = &config.tcp;
    assert_eq!(
        (tcp.mss, tcp.initial_window, tcp.max_window, tcp.dupack_threshold),
        (1_460, 12, Some(23), None)
    );
    assert_eq!(
        (tcp.min_rto, tcp.initial_rto, tcp.ecn),
        (Span::from_us(45), Span::from_us(45), EcnMode::Off)
    );
    let plan = parse(STUDY).unwrap().plan;
    // The queue discipline itself drops frames, so the buffer is unlimited.
    for aqm in [&plan.switches[0].aqm, &plan.hosts[0].aqm] {
        assert_eq!(*aqm, Some(Aqm::Pfabric(Some(Limit::Bytes(36_000)))));
    }
    assert_eq!((&plan.switches[0].buffer, plan.hosts[0].queue), (&Buffer::Unlimited, None));
    let unlimited = parse(
        &STUDY
            .replace("buffer = \"36000B\"", "sharing = \"unlimited\"")
            .replace("queue = \"36000B\"\n", ""),
    )
    .unwrap()
    .plan;
    assert_eq!(
        (&unlimited.switches[0].aqm, &unlimited.hosts[0].aqm),
        (&Some(Aqm::Pfabric(None)), &Some(Aqm::Pfabric(None)))
    );
}

#[test]
fn its_tcp_and_dctcp() {
    let tcp = config(&with("rto = \"estimated\"\nmax_window = 149\nconnections = \"pooled\""));
    assert!(!tcp.fixed_timeout && !tcp.ranked && tcp.pooled);
    assert_eq!(
        (tcp.probe_after, tcp.tcp.min_rto, tcp.tcp.max_window),
        (None, Span::from_us(200), Some(149))
    );
    assert!(
        matches!(tcp.tcp.congestion, CongestionControl::Newreno(control) if control.flavour == RenoFlavour::Linux)
    );
    let dctcp = config(&with(
        "rto = \"estimated\"\ncongestion = \"dctcp\"\ndctcp = { initial_alpha = 0.0 }\nrank = \"remaining\"\nprobe_after = 3",
    ));
    assert!(
        dctcp.ranked
            && matches!(dctcp.tcp.congestion, CongestionControl::Dctcp(d) if d.initial_alpha == 0.0)
    );
    assert_eq!((dctcp.probe_after, dctcp.tcp.ecn), (Some(3), EcnMode::Dctcp));
    assert_eq!(config(&with("max_window = 4")).tcp.initial_window, 4);
    assert_eq!(config(&with("probe_after = \"off\"")).probe_after, None);
}

/// Tests marks at the host's own queue, as ns-2's RED makes them.
#[test]
fn marks_at_the_host() {
    let fifo = STUDY
        .replace("scheduling = \"pfabric\"\n", "")
        .replace("queue = \"36000B\"", "queue = \"225kB\"\nnic_ecn = { k = \"22500B\", compare = \"at_or_above\", spacing = \"ns2\" }");
    let plan = parse(&fifo).unwrap().plan;
    let marking = plan.hosts[0].marking.as_ref().unwrap();
    assert_eq!(
        (marking.kmin, marking.kmax, marking.compare, marking.spacing),
        (Limit::Bytes(22_500), Limit::Bytes(22_500), Compare::AtOrAbove, spec::Spacing::Ns2)
    );
    assert_eq!(plan.switches[0].marking, None);
}

#[test]
fn refused() {
    for (text, says) in [
        (
            with("initial_window = 24"),
            "fabric.toml:24: key host.transport.initial_window: found 24: write 1 to max_window = 23",
        ),
        (
            with("initial_window = 0"),
            "fabric.toml:24: key host.transport.initial_window: found 0: write 1 to max_window = 23",
        ),
        (
            with("probe_after = 0"),
            "fabric.toml:24: key host.transport.probe_after: found 0: write at least 1, or \"off\"",
        ),
        (
            with("min_rto = \"0s\""),
            "fabric.toml:24: key host.transport.min_rto: \"0s\": write a time above 0 and up to 1s",
        ),
        (
            with("min_rto = \"2s\""),
            "fabric.toml:24: key host.transport.min_rto: \"2s\": write a time above 0 and up to 1s",
        ),
        (
            with("dctcp = { gain = 0.1 }"),
            "fabric.toml:24: key host.transport.dctcp: has no effect with congestion = \"newreno\": remove it",
        ),
        (
            with("congestion = \"cubic\""),
            "fabric.toml:24: key host.transport.congestion: \"cubic\" is not known: write \"newreno\", \"dctcp\" or \"none\"",
        ),
        (
            with("congestion = \"none\"\ndctcp = { gain = 0.1 }"),
            "fabric.toml:25: key host.transport.dctcp: has no effect with congestion = \"none\": remove it",
        ),
        (
            with("rto = \"fix\""),
            "fabric.toml:24: key host.transport.rto: \"fix\" is not known (did you mean \"fixed\"?): write \"fixed\" or \"estimated\"",
        ),
        (
            with("connections = \"shared\""),
            "fabric.toml:24: key host.transport.connections: \"shared\" is not known: write \"own\" or \"pooled\"",
        ),
        (
            with("rank = \"size\""),
            "fabric.toml:24: key host.transport.rank: \"size\" is not known: write \"remaining\" or \"none\"",
        ),
        (
            STUDY.replace("buffer = \"36000B\"\n", "buffer = \"36000B\"\nsharing = \"dynamic\"\n"),
            "fabric.toml:14: key switch.sharing: scheduling = \"pfabric\" drops the least urgent frame of each queue, so queues need their own limits: write sharing = \"static\" (with buffer) or \"unlimited\"",
        ),
        (
            STUDY.replace("buffer = \"36000B\"\n", "buffer = \"36000B\"\ndrop_when = \"above\"\n"),
            "fabric.toml:14: key switch.drop_when: scheduling = \"pfabric\" drops a frame when the queue reaches its limit: write \"at_or_above\"",
        ),
        (
            STUDY.replace("buffer = \"36000B\"\n", "buffer = \"36000B\"\necn = { k = \"15kB\" }\n"),
            "fabric.toml:14: key switch.ecn: has no effect with scheduling = \"pfabric\": remove it",
        ),
        (
            STUDY.replace(
                "queue = \"36000B\"\n",
                "queue = \"36000B\"\nnic_ecn = { k = \"15kB\" }\n",
            ),
            "fabric.toml:20: key host.nic_ecn: has no effect with scheduling = \"pfabric\": remove it",
        ),
    ] {
        match parse(&text) {
            Ok(_) => panic!("no error: {says}"),
            Err(error) => assert_eq!(error.to_string(), says),
        }
    }
}
