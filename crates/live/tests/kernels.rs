//! Scenarios with real Linux kernels. Skipped where no image exists (`afflux kernel build`).
#![cfg(target_os = "linux")]

use afflux_live::kernels::{KernelError, KernelRun, directory, run};
use afflux_net::Progress;
use afflux_net::record::{Behind, CaptureRecord, Status};
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
paths = true
capture = "host0-leaf0"
snaplen = "64kB"
[run]
until = "1.2s"
"#;

/// Everything that must be equal: tables of the network, and files but real times.
fn bytes(found: &KernelRun) -> String {
    let o = &found.output;
    let tables = (&o.flows, &o.outside, &o.senders, &o.waits, &o.gaps, &o.ports, &o.links);
    format!("{tables:?} {:?} {:?} {:?} {:?}", o.counters, o.captures, o.paths, found.files)
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
    links_and_paths_are_recorded(&first);
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

/// The link of the first host shows the bytes of its packets, and the path of each data packet that
/// arrived is known.
fn links_and_paths_are_recorded(found: &KernelRun) {
    let output = &found.output;
    let packets = &output.outside[0];
    let [sent, received] = &output.captures[..] else { panic!("both directions") };
    let of_flow = |record: &&CaptureRecord| {
        let bytes = record.packet.as_ref().expect("kernels alone use this link");
        bytes[26..30] == packets.source.0.octets() && bytes[36..38] == 5001u16.to_be_bytes()
    };
    assert_eq!(sent.iter().filter(of_flow).count() as u64, packets.sent_packets);
    let largest = sent.iter().filter_map(|record| record.packet.as_ref()).map(|bytes| bytes.len());
    assert_eq!(largest.max(), Some(1_514), "whole packets");
    let marked = |record: &&CaptureRecord| record.packet.as_ref().unwrap()[15] & 3 == 3;
    assert!(received.iter().filter(marked).count() > 0, "marks of switches are in the bytes");
    let paths: Vec<_> = output.paths.iter().filter(|path| path.flow == packets.flow).collect();
    assert_eq!(paths.iter().map(|path| path.frames).sum::<u64>(), packets.received_packets);
    assert!(paths.iter().all(|path| path.nodes.len() == 5), "over a spine: {paths:?}");
}

const PAUSED: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "100Mbps"
delay = "10us"
[switch]
sharing = "sonic"
buffer = "100kB"
mmu = { cell = "256B", headroom_pool = "40kB", lossless_alpha = 0.25 }
pfc = { priorities = [3], headroom = "20kB" }
[host]
dscp_to_priority = { 0 = 3 }
[[host.kernel]]
match = "host*"
run = "bulk server 5001"
at = { "1s" = 'test "$AFFLUX_NUMBER" = 2 || bulk client host2 5001 1000000B' }
[host.kernel.sysctl]
"net.ipv4.tcp_tso_rtt_log" = 0
"net.ipv4.tcp_pacing_ss_ratio" = 1
"net.ipv4.tcp_pacing_ca_ratio" = 1
[record]
ports = { interval = "1ms", nodes = ["host*"] }
[run]
until = "1.3s"
"#;

/// Frames of the longest queue that Linux leaves in a card with the parameters of `PAUSED`.
///
/// `tcp_small_queue_check` (net/ipv4/tcp_output.c) lets a socket send while the memory of its
/// packets, from the socket to the completion of their transmission, is at most
/// max(2 × that of the packet to be sent, a millisecond at the pacing rate). A packet has the
/// segments of a millisecond at the pacing rate, and at least two (`tcp_tso_autosize`; with
/// `tcp_tso_rtt_log` = 0 a round trip of over 31 us adds nothing). At 1 % of the window per round
/// trip (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`) the first window of 10 segments in 71 us
/// makes 2 kB of a millisecond, and later windows less: packets have two segments, and three of
/// them fit. Byte queue limits and the ring (256) are larger. Completions that come late, and
/// frames that have left when the PAUSE arrives, only shorten the queue.
const SMALL_QUEUE: u64 = 3 * 2;

/// Two hosts whose switch pauses them, and 1,518 B a frame. Transmissions complete when the
/// simulated card has sent, so that small queues keep the card's queue short. If completions
/// ignored PAUSE, the socket could send at the line rate, and the card's queue would be as long as
/// the window allows.
#[test]
fn completions_wait_for_pauses() {
    if skipped() {
        return;
    }
    let found = done(&scenario(PAUSED, &[]));
    assert_eq!(found.report.failure, None);
    let output = &found.output;
    assert_eq!(output.counters.dropped_packets, 0);
    let senders = output.ports.iter().filter(|port| port.node < 2);
    let paused: u64 = senders.clone().map(|port| port.paused).sum();
    assert!(paused > 50_000_000_000, "{paused} ps");
    let longest = senders.map(|port| port.queue_bytes_max).max();
    assert!(longest.is_some_and(|bytes| bytes <= SMALL_QUEUE * 1_518), "{longest:?} B");
    let again = done(&scenario(PAUSED, &[("run.engine", "classical")]));
    assert!(bytes(&again) == bytes(&found), "the classical engine differs");
}

const TWO_LINKS: &str = r#"
[topology]
kind = "custom"
hosts = 2
switches = 1
link = [
  { a = "host0", b = "switch0", rate = "100Mbps", delay = "10us" },
  { a = "host0", b = "switch0", rate = "100Mbps", delay = "10us" },
  { a = "host1", b = "switch0", rate = "100Mbps", delay = "10us" },
  { a = "host1", b = "switch0", rate = "100Mbps", delay = "10us" },
]
[[host.kernel]]
match = "host*"
[host.kernel.at]
"0.9s" = "for port in 1 2 3 4 5 6; do bulk server $port & done; sleep 1"
"1s" = 'test "$AFFLUX_NUMBER" = 1 || for port in 1 2 3 4 5 6; do bulk client 10.1.0.2 $port 20000B; done'
[run]
until = "2s"
"#;

/// Six connections to the address of the second NIC, whose link to the switch has a neighbour, use
/// that link only, in both directions; with spraying the switch chooses either link, and Linux has
/// the frames at the NIC of their address all the same.
#[test]
fn frames_take_the_link_of_their_address() {
    if skipped() {
        return;
    }
    let found = done(&scenario(TWO_LINKS, &[]));
    assert_eq!(found.report.failure, None);
    let bytes = |link: usize| [2 * link, 2 * link + 1].map(|way| found.output.links[way].bytes);
    assert!(bytes(1).iter().chain(&bytes(3)).all(|&bytes| bytes > 1_000), "{:?}", bytes(1));
    assert_eq!([bytes(0), bytes(2)], [[0; 2]; 2]);
    assert_eq!(file(&found, "host0.console").matches("sent 20000 bytes").count(), 6);
    let sprayed = done(&scenario(TWO_LINKS, &[("switch.balance", "spray")]));
    assert!(sprayed.output.links[4..6].iter().any(|way| way.bytes > 0));
    let (_, pcap) = sprayed.files.iter().find(|file| file.0 == "host1.pcap").unwrap();
    let mac = [2, 0, 1, 0, 0, 2];
    assert!(pcap.windows(6).filter(|bytes| *bytes == mac).count() > 100, "the second NIC");
    assert_eq!(pcap.windows(6).filter(|bytes| *bytes == [2, 0, 0, 0, 0, 2]).count(), 0);
}

fn failing(command: &str, more: &str) -> KernelRun {
    let text = format!(
        "[topology]\nkind = \"star\"\nhosts = 2\nrate = \"1Gbps\"\ndelay = \"1ms\"\n\
         [[host.kernel]]\nmatch = \"host0\"\nwatchdog = \"2s\"\nrun = '{command}'\n{more}\n[run]\nuntil = \"2s\"\n"
    );
    done(&scenario(&text, &[]))
}

#[test]
fn the_queueing_discipline_is_the_one_that_a_sysctl_names() {
    if skipped() {
        return;
    }
    let more = "sysctl = { \"net.core.default_qdisc\" = \"fq\" }";
    let found = failing("ip link show dev eth0 > /results/link", more);
    let (_, link) = found.files.iter().find(|(name, _)| name.ends_with("link")).expect("the file");
    let link = String::from_utf8_lossy(link);
    assert!(link.contains("qdisc fq "), "{link}");
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
