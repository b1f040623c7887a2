//! Scenarios with real Linux kernels. Skipped where no image exists (`afflux kernel build`).
#![cfg(target_os = "linux")]

use afflux_live::kernels::{KernelError, KernelRun, directory, run};
use afflux_net::Progress;
use afflux_net::record::{Behind, Status};
use afflux_scenario::{FlowColumns, Overrides, Reader, Scenario};
use std::path::Path;

struct NoParquet;

impl Reader for NoParquet {
    fn parquet(&self, _: &Path, _: u64) -> Result<FlowColumns, String> {
        Err("no Parquet here".into())
    }
}

fn scenario(text: &str, set: &[(&str, &str)]) -> Scenario {
    let set = set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    let text = format!("format = 1\n{text}");
    afflux_scenario::parse(&text, Path::new("/tmp/kernels.toml"), &overrides, &NoParquet)
        .unwrap_or_else(|error| panic!("{}", error.message))
}

fn skipped() -> bool {
    let none = !directory().join("6.12/linux").is_file();
    if none {
        eprintln!("skipped: no kernel 6.12 in {} (afflux kernel build)", directory().display());
    }
    none
}

fn done(scenario: &Scenario) -> KernelRun {
    run(scenario, &directory(), &Progress::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn file(run: &KernelRun, name: &str) -> String {
    let found = run.files.iter().find(|file| file.0 == name);
    let names = || run.files.iter().map(|file| &file.0).collect::<Vec<_>>();
    let (_, content) = found.unwrap_or_else(|| panic!("no {name}: {:?}", names()));
    String::from_utf8_lossy(content).into_owned()
}

const LONG: &str = r#"
[topology]
kind = "star"
hosts = 2
rate = "100Mbps"
delay = "75ms"
[[host.kernel]]
match = "host*"
[host.kernel.at]
"1s" = 'test "$AFFLUX_NUMBER" = 1 || ping -s 18 -c 200 -i 0.02 host1'
[run]
until = "7s"
"#;

/// Serialisation at four ends of links: 84 bytes on each, and 150 ms of cable twice.
#[test]
fn a_ping_measures_the_path() {
    if skipped() {
        return;
    }
    let found = done(&scenario(LONG, &[("topology.rate", "1000Gbps")]));
    assert_eq!(found.report.failure, None);
    let console = file(&found, "host0.console");
    assert!(console.contains("200 packets transmitted, 200 packets received"), "{console}");
    let times: Vec<&str> = console.lines().filter_map(|l| l.split("time=").nth(1)).collect();
    assert_eq!(times.len(), 200);
    for time in times {
        assert!(["300.000 ms", "300.001 ms"].contains(&time), "{time}");
    }
}

const TRANSFER: &str = r#"
[topology]
kind = "leaf_spine"
leaves = 2
spines = 1
hosts_per_leaf = 3
host_rate = "1Gbps"
uplink_rate = "500Mbps"
host_delay = "10us"
uplink_delay = "10us"
[switch]
sharing = "static"
buffer = "60kB"
ecn = { k = "30kB" }
[[host.kernel]]
match = ["host0", "host3"]
run = "bulk server 5001"
at = { "1s" = 'test "$AFFLUX_NUMBER" = 3 || bulk client host3 5001 400000B', "1.001s" = 'test "$AFFLUX_NUMBER" = 0 || bulk client host0 5001 300000B' }
sysctl = { "net.ipv4.tcp_congestion_control" = "dctcp", "net.ipv4.tcp_ecn" = 1 }
tcp_info = "1ms"
[[traffic]]
kind = "pairs"
pairs = [[1, 4], [5, 1]]
sizes = "500kB"
start = "1s"
[record]
ports = { interval = "1ms" }
waits = "all"
gaps = "all"
[run]
until = "1.2s"
"#;

/// Everything that must be equal: tables of the network, and files but real times.
fn bytes(found: &KernelRun) -> String {
    let o = &found.output;
    let tables = (&o.flows, &o.outside, &o.senders, &o.waits, &o.gaps, &o.ports, &o.links);
    format!("{tables:?} {:?} {:?}", o.counters, found.files)
}

#[test]
fn runs_repeat_with_both_engines_and_any_number_of_threads() {
    if skipped() {
        return;
    }
    let first = done(&scenario(TRANSFER, &[]));
    assert_eq!(first.report.failure, None);
    let console = file(&first, "host3.console");
    assert!(console.contains("received 400000 bytes from 10.0.0.1"), "{console}");
    assert!(first.output.counters.ecn_marks > 0, "{:?}", first.output.counters);
    flows_are_those_of_the_commands(&first);
    for set in [
        [("run.threads", "1"), ("run.engine", "window_log")],
        [("run.threads", "2"), ("run.engine", "window_log")],
        [("run.threads", "3"), ("run.engine", "window_log")],
        [("run.threads", "1"), ("run.engine", "classical")],
    ] {
        let again = done(&scenario(TRANSFER, &set));
        assert!(bytes(&again) == bytes(&first), "{set:?} differs");
    }
}

/// Two transfers, and the byte with which each server answers.
fn flows_are_those_of_the_commands(found: &KernelRun) {
    let scenario = scenario(TRANSFER, &[]);
    let output = &found.output;
    let flows: Vec<_> = output.all_flows(&scenario.plan).collect();
    let kernels: Vec<_> = flows.iter().filter(|(flow, _)| flow.is_outside()).collect();
    assert_eq!((flows.len(), kernels.len(), output.outside.len()), (6, 4, 4));
    assert_eq!(kernels.iter().map(|(flow, _)| flow.bytes).sum::<u64>(), 700_002);
    for (flow, record) in &kernels {
        assert_eq!(record.status, Status::Finished, "{record:?}");
        assert_eq!(record.bytes_received, flow.bytes);
        assert_eq!(scenario.classes[usize::from(flow.class)], "kernel");
    }
    let first = &kernels[0];
    // 276 segments of 1448 bytes and a last one, at about a second.
    assert_eq!((first.0.src, first.0.dst, first.0.bytes), (0, 3, 400_000));
    assert!(first.1.packets_sent - first.1.packets_retransmitted == 277, "{:?}", first.1);
    let start = first.1.start.unwrap().0;
    assert!((1_000_000_000_000..1_020_000_000_000).contains(&start), "{start}");
    assert!(kernels.iter().any(|(_, record)| record.ecn_marked > 0));
    let packets = &output.outside[0];
    assert_eq!(packets.destination.1, 5001);
    // Two hops of 10 us to the leaf, two between the leaves, and the frames.
    assert!(packets.delays.least >= 40_000_000, "{packets:?}");
    assert!(
        packets.round_trips.least >= 2 * packets.delays.least && packets.round_trips.samples > 9
    );
    assert_eq!(packets.sent_packets, packets.received_packets + packets.dropped_packets);
    let of_first = output.waits.iter().filter(|wait| wait.flow == packets.flow);
    let others = of_first.filter(|wait| matches!(wait.behind, Behind::Class(0)));
    assert!(others.count() > 0, "it has waited behind simulated flows: {:?}", output.waits);
    assert!(output.gaps.iter().any(|gap| gap.flow == packets.flow));
    let samples: Vec<_> = output.senders.iter().filter(|s| s.flow == packets.flow).collect();
    assert!(samples.len() > 3, "{samples:?}");
    for sample in samples {
        assert!(sample.window % 1_448 == 0 && sample.window >= 2 * 1_448, "{sample:?}");
        assert!(sample.flight <= 400_000 + 1_448 && sample.smoothed > 80_000_000, "{sample:?}");
    }
}

fn failing(command: &str, more: &str) -> KernelRun {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
         [[host.kernel]]\nmatch = \"host0\"\nwatchdog = \"2s\"\nrun = '{command}'\n{more}\n[run]\nuntil = \"2s\"\n"
    );
    done(&scenario(&text, &[]))
}

#[test]
fn failures_name_host_and_command() {
    if skipped() {
        return;
    }
    for (command, more, told) in [
        ("false", "", "host0: the command \"false\" ended with status 1 at 0"),
        ("true", "sysctl = { \"net.nothing\" = 1 }", "host0: sysctl net.nothing=1 failed: unknown"),
        (
            "echo c > /proc/sysrq-trigger; poweroff -f",
            "",
            "host0: its kernel ended before run.until",
        ),
        (
            "while :; do :; done",
            "",
            "host0: did not become idle for 2 s of real time (host.kernel watchdog), after the command 0: while :",
        ),
    ] {
        let found = failing(command, more);
        let failure = found.report.failure.clone().unwrap_or_default();
        assert!(failure.contains(told), "{failure}");
        assert!(file(&found, "host0.console").contains("[afflux]"), "the console is kept");
    }
    let kept = failing("echo hello > /results/a.txt", "");
    assert_eq!(
        (kept.report.failure.as_deref(), file(&kept, "host0.a.txt").as_str()),
        (None, "hello\n")
    );
}

#[test]
fn what_is_missing_is_found_before_the_run() {
    let nowhere = scenario(LONG, &[("host.kernel[0].image", "\"9.9\"")]);
    let error = run(&nowhere, &directory(), &Progress::default()).unwrap_err();
    assert!(matches!(error, KernelError::NoImage { .. }));
    assert!(error.to_string().ends_with("afflux kernel build 9.9"), "{error}");
}
