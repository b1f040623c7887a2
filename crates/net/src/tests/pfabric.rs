//! Tests pFabric: a single flow against its formula, equal results from both engines, and the loss
//! of everything.

use super::determinism::{same_everywhere, traffic};
use super::rdma::adds_up;
use super::scenarios::*;
use crate::record::{FlowRecord, Output};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

/// Limit of the study's queues: 24 full frames, of which 23 fit.
const LIMIT: Limit = Limit::Bytes(36_000);

/// Builds the study's fabric: hosts at 10 Gbps, 0.2 us per link, 2.5 us per traversal of a host
/// (spec/transports.md §5.1).
fn study(leaves: u32, hosts_per_leaf: u32, uplink_gbps: u64, flows: Vec<Flow>) -> Plan {
    let mut p = plan(leaf_spine(leaves, 4, hosts_per_leaf), flows);
    let hosts = p.topology.hosts as usize;
    for (i, link) in p.topology.links.iter_mut().enumerate() {
        (link.rate, link.delay) =
            (Rate::from_gbps(if i < hosts { 10 } else { uplink_gbps }), Span::from_ns(200));
    }
    p.transports = vec![TransportConfig::Pfabric(pfabric())];
    p.wire.sack_base = 2;
    p.hosts[0].delay = Span::from_ns(2_500);
    p.hosts[0].aqm = Some(Aqm::Pfabric(Some(LIMIT)));
    p.switches[0].aqm = Some(Aqm::Pfabric(Some(LIMIT)));
    p.switches[0].buffer = Buffer::Unlimited;
    p.switches[0].queue_length = QueueLength::BeforeTransmission;
    p.switches[0].balance = Balance::RoundRobin(RoundRobinConfig {});
    p
}

/// Returns flow sizes in packets: all up to 100, then increasing steps up to 20,000.
fn sizes() -> Vec<u64> {
    let mut sizes: Vec<u64> = (1..=100).collect();
    while sizes[sizes.len() - 1] < 20_000 {
        sizes.push((sizes[sizes.len() - 1] * 9 / 8).min(20_000));
    }
    sizes
}

/// Time of a single flow of n packets (spec/transports.md §2.10): the path of the first packet and
/// of its acknowledgement, plus 1.2 us for each further packet. Flows longer than the initial
/// window of 12 also take the time by which the round trip exceeds 12 packets.
#[test]
fn a_flow_alone() {
    for (leaves, per_leaf, uplink, dst, first_ns, longer_ns) in [
        (9, 16, 40, 15, 13_264, 0),
        (9, 16, 40, 16, 14_680, 280),
        (3, 4, 10, 3, 13_264, 0),
        (3, 4, 10, 4, 16_528, 2_128),
    ] {
        let mut start = Time::from_ns(1_000);
        let flows: Vec<Flow> = (sizes().into_iter().enumerate())
            .map(|(id, packets)| {
                let flow = flow(id as i64, 0, dst, packets * 1_460, start);
                start = start + Span::from_ns(100_000 + packets * 1_200);
                flow
            })
            .collect();
        let mut p = study(leaves, per_leaf, uplink, flows);
        for pooled in [false, true] {
            p.transports = vec![TransportConfig::Pfabric(Pfabric { pooled, ..pfabric() })];
            for engine in [EngineKind::WindowLog, EngineKind::Classical] {
                p.run.engine = engine;
                let output = run(&p, &Progress::default()).unwrap();
                assert_eq!(output.flows.len(), sizes().len());
                for (packets, record) in sizes().into_iter().zip(&output.flows) {
                    let expected =
                        first_ns + (packets - 1) * 1_200 + if packets > 12 { longer_ns } else { 0 };
                    let took = record.finish.unwrap().since(record.start.unwrap());
                    assert!(
                        took.0.abs_diff(expected * 1_000) <= 1_000,
                        "{packets} packets to host {dst}, {engine:?}: {took}, expected {expected} ns"
                    );
                    assert_eq!(
                        (record.timeouts, record.packets_retransmitted),
                        (0, 0),
                        "{packets} packets"
                    );
                }
                adds_up(&output);
            }
        }
    }
}

/// Returns a plan with random pairs and an additional incast.
fn busy(transport: Pfabric) -> Plan {
    let mut flows = traffic(12, 200, 600, 150_000, 5);
    flows.extend(
        (0..11).map(|src| flow(0, src, 11, 200_000, Time::from_ns(1_000 * (src as u64 % 4)))),
    );
    let mut p = study(3, 4, 10, numbered(flows));
    p.transports = vec![TransportConfig::Pfabric(transport)];
    p
}

/// Shards that stop in the middle of a window have deferred decisions that can no longer be made. A
/// cancelled run therefore has no output, which is not a defect.
#[test]
fn a_cancelled_run_ends_as_such() {
    for engine in [EngineKind::WindowLog, EngineKind::Classical] {
        let mut p = busy(pfabric());
        // The flows are so long that no worker reaches the end before the cancellation is noticed.
        p.flows.iter_mut().for_each(|flow| flow.bytes *= 1_000);
        p.run.engine = engine;
        let progress = Progress::default();
        let cancelled = std::thread::scope(|scope| {
            let running = scope.spawn(|| run(&p, &progress));
            while progress.packet_hops() == 0 && !running.is_finished() {
                std::thread::yield_now();
            }
            progress.cancel();
            running.join().unwrap()
        });
        assert!(matches!(cancelled, Err(crate::RunError::Cancelled)), "{engine:?}");
    }
}

/// Returns the plan of [`busy`] with the TCP of the study and its FIFO queues.
fn with_fifos(congestion: CongestionControl) -> Plan {
    let mut p = busy(Pfabric { pooled: true, ..ns2_tcp(congestion) });
    p.hosts[0].aqm = None;
    p.hosts[0].queue = Some(Limit::Bytes(225_000));
    p.switches[0].aqm = None;
    p.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(225_000), drop_when: Compare::AtOrAbove };
    p
}

fn with_marks() -> Plan {
    let mut p = with_fifos(dctcp_from(0.0));
    let marking = Marking {
        compare: Compare::AtOrAbove,
        spacing: Spacing::Ns2,
        ..step(Limit::Bytes(22_500))
    };
    p.hosts[0].marking = Some(marking.clone());
    p.switches[0].marking = Some(marking);
    p
}

fn all_finished(name: &str, output: &Output) {
    let c = output.counters;
    eprintln!(
        "{name}: {} hops, {} drops, {} marks, {} retransmits, {} timeouts, end {}",
        c.packet_hops, c.dropped_packets, c.ecn_marks, c.retransmits, c.timeouts, output.end
    );
    assert!(output.flows.iter().all(|f| f.finish.is_some()), "{name}");
}

#[test]
fn engines_agree() {
    let pooled = || Pfabric { pooled: true, ..pfabric() };
    let plans: Vec<(&str, Plan, bool)> = vec![
        ("own connections", busy(pfabric()), true),
        ("pooled connections", busy(pooled()), true),
        (
            "paths recorded, random spray",
            Plan { record: Record { paths: true, ..Record::default() }, ..sprayed() },
            true,
        ),
        ("tcp", with_fifos(newreno()), false),
        ("dctcp", with_marks(), false),
        (
            "dctcp, paths recorded, loss",
            lossy(Plan { record: Record { paths: true, ..Record::default() }, ..with_marks() }),
            true,
        ),
        ("loss", lossy(busy(pooled())), true),
        ("all records, short run", all_records(), true),
    ];
    for (name, plan, drops) in &plans {
        let output = same_everywhere(name, plan);
        adds_up(&output);
        assert!(
            output.counters.timeouts > 10 && (output.counters.dropped_packets > 10 || !drops),
            "{name}: {:?}",
            output.counters
        );
        if plan.run.until.is_none() {
            all_finished(name, &output);
        }
        if name.starts_with("dctcp") {
            assert!(output.counters.ecn_marks > 100, "{name}: {} marks", output.counters.ecn_marks);
        }
    }
}

fn sprayed() -> Plan {
    let mut p = busy(pfabric());
    p.switches[0].balance = Balance::Spray(SprayConfig {});
    p
}

fn lossy(mut p: Plan) -> Plan {
    lose(&mut p.topology.links, 0.02);
    p
}

fn all_records() -> Plan {
    let mut p = busy(pfabric());
    sample_ports(&mut p);
    p.record.imbalance = Some(Span::from_us(20));
    p.record.captures = vec![capture(0, true), capture(0, false)];
    p.run.until = Some(Time::from_ns(777_777));
    p
}

/// Without rate control the windows of colliding flows stay at their initial size, so more frames
/// are dropped than with it, and the flows still end.
#[test]
fn without_rate_control_the_window_never_changes() {
    let mut with = busy(pfabric());
    with.record.senders = Some(Span::from_us(13));
    let mut without = with.clone();
    without.transports =
        vec![TransportConfig::Pfabric(Pfabric { constant_window: true, ..pfabric() })];
    let name = "without rate control";
    let controlled = run(&with, &Progress::default()).unwrap();
    let output = same_everywhere(name, &without);
    adds_up(&output);
    all_finished(name, &output);
    let windows = |output: &Output| -> Vec<u64> {
        let mut found: Vec<u64> = output.senders.iter().map(|record| record.window).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    assert_eq!(windows(&output), [12 * 1_460]);
    assert!(windows(&controlled).len() > 10, "{:?}", windows(&controlled));
    assert!(
        output.counters.dropped_packets > 2 * controlled.counters.dropped_packets,
        "{} and {}",
        output.counters.dropped_packets,
        controlled.counters.dropped_packets
    );
}

/// If paths are recorded, the remaining size travels in the frame metadata. Nothing else changes.
#[test]
fn recorded_paths_change_nothing() {
    let plain = busy(Pfabric { pooled: true, ..pfabric() });
    let mut recorded = plain.clone();
    recorded.record.paths = true;
    let (plain, recorded) =
        (run(&plain, &Progress::default()).unwrap(), run(&recorded, &Progress::default()).unwrap());
    assert_eq!(format!("{:?}", plain.flows), format!("{:?}", recorded.flows));
    assert_eq!(plain.counters.dropped_packets, recorded.counters.dropped_packets);
    // Frames use all four spines in turn.
    let across: Vec<_> = recorded.paths.iter().filter(|p| p.flow == 0).collect();
    assert!(recorded.paths.len() > plain.flows.len() && across.len() == 4, "{across:?}");
}

/// Short flows among long ones are delayed at each hop by at most the frame in transmission.
#[test]
fn short_flows_pass() {
    let mut flows: Vec<Flow> =
        (1..12).map(|src| flow(src as i64 - 1, src, 0, 2_000_000, Time::ZERO)).collect();
    flows.extend(
        (0..20).map(|i| flow(11 + i, 4, 0, 5 * 1_460, Time::from_ns(500_000 + 130_000 * i as u64))),
    );
    let p = study(3, 4, 10, flows);
    let output = same_everywhere("short flows among long ones", &p);
    all_finished("short flows among long ones", &output);
    let took = |record: &FlowRecord| record.finish.unwrap().since(record.start.unwrap()).0;
    for record in &output.flows[11..] {
        // Four links, each busy with a frame of 1.2 us at most.
        assert!(
            took(record) > record.ideal.0 && took(record) <= record.ideal.0 + 4 * 1_200_000,
            "{record:?}"
        );
        assert_eq!(record.packets_retransmitted, 0);
    }
    // A single FIFO of 150 frames, which the windows of eleven flows fill, makes short flows wait
    // for the frames ahead of them.
    let mut fifo = p.clone();
    fifo.switches[0].aqm = None;
    fifo.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(225_000), drop_when: Compare::AtOrAbove };
    let last: u64 = run(&fifo, &Progress::default()).unwrap().flows[11..].iter().map(took).sum();
    let first: u64 = output.flows[11..].iter().map(took).sum();
    assert!(last > 2 * first, "{last} {first}");
}

/// The host's link is down for a while. Five time-outs, always 45 us apart, retransmit the first
/// segment. Then the sender only probes until a probe is answered, and then sends the segment.
#[test]
fn probes_until_anything_is_heard() {
    let mut p = plan(star(2), vec![flow(0, 0, 1, 1_460, Time::ZERO)]);
    p.transports = vec![TransportConfig::Pfabric(pfabric())];
    p.topology.links[0].down = vec![Down {
        from: Time::ZERO,
        to: Some(Time::from_ns(280_000)),
        detect: Span::from_ms(1),
        converge: Span::ZERO,
    }];
    let output = same_everywhere("probes", &p);
    let record = &output.flows[0];
    // The probe of the seventh time-out is the first one that passes. 40 B take 3.2 ns of a link,
    // and a full frame 120 ns.
    let (probe, data) = (4_000_000 + 4 * 3_200, 4_000_000 + 2 * 120_000 + 2 * 3_200);
    assert_eq!(record.finish.unwrap().0, 7 * 45_000_000 + probe + data);
    assert_eq!(
        (record.timeouts, record.packets_retransmitted),
        (7, 5),
        "the first four time-outs and the answer to the probe repeat it"
    );
    adds_up(&output);
    assert_eq!(record.split.recovery, record.finish.unwrap().0 - record.ideal.0);

    // Without probes, every time-out retransmits the segment.
    p.transports = vec![TransportConfig::Pfabric(Pfabric { probe_after: None, ..pfabric() })];
    let record = &same_everywhere("no probes", &p).flows[0];
    assert_eq!(
        (record.finish.unwrap().0, record.timeouts, record.packets_retransmitted),
        (7 * 45_000_000 + data, 7, 7)
    );
}

/// Estimated time-outs double: 200, 400, 800 us.
#[test]
fn estimated_timeouts_back_off() {
    let mut p = plan(star(2), vec![flow(0, 0, 1, 1_460, Time::ZERO)]);
    p.transports = vec![TransportConfig::Pfabric(ns2_tcp(newreno()))];
    p.topology.links[0].down = vec![Down {
        from: Time::ZERO,
        to: Some(Time::from_ns(650_000)),
        detect: Span::from_ms(100),
        converge: Span::ZERO,
    }];
    let record = &same_everywhere("back-off", &p).flows[0];
    let data = 4_000_000 + 2 * 120_000 + 2 * 3_200;
    assert_eq!((record.finish.unwrap().0, record.timeouts), (1_400_000_000 + data, 3));
}

/// A flow that finds the connection of its pair busy opens another one, which takes a round trip of
/// 40 B frames and 52 B SYNs more. The next flow finds both connections idle.
#[test]
fn connections_are_opened_on_demand() {
    let late = Time::from_ns(1_000_000);
    let flows = vec![
        flow(0, 0, 1, 1_460_000, Time::ZERO),
        flow(1, 0, 1, 1_460, Time::from_ns(10_000)),
        flow(2, 0, 1, 1_460, late),
        flow(3, 0, 1, 1_460, late),
    ];
    let mut p = plan(star(2), flows);
    p.transports = vec![TransportConfig::Pfabric(Pfabric { pooled: true, ..pfabric() })];
    let sent = |p: &Plan| {
        let output = same_everywhere("connections", p);
        (output.flows.iter().map(|f| f.packets_sent).collect::<Vec<_>>(), output)
    };
    let (packets, output) = sent(&p);
    assert_eq!(packets, [1_000, 2, 1, 1], "the second flow's SYN is counted");
    adds_up(&output);
    let took =
        |flow: usize| output.flows[flow].finish.unwrap().since(output.flows[flow].start.unwrap()).0;
    assert!(took(1) > output.flows[1].ideal.0 + 4_000_000, "a round trip at least");
    assert_eq!(took(2), output.flows[2].ideal.0);
    p.transports = vec![TransportConfig::Pfabric(pfabric())];
    assert_eq!(sent(&p).0, [1_000, 1, 1, 1]);
}
