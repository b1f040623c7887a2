//! Deep buffers with virtual output queues: caps, DRAM, credits.

use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

fn deep() -> Voq {
    Voq {
        ingress: VoqIngress::Core,
        ports_per_core: None,
        credit: Some(2_000),
        grant_latency: Span::from_ns(1_500),
        max_bytes: None,
        max_time: None,
        on_chip: 16_000_000,
        evict_bytes: 200_000,
        evict_packets: 6_000,
        dram: 8_000_000_000,
        dram_bandwidth: Some(Rate::from_gbps(900)),
        write_buffer: 1_000_000,
        reserved: 0.3,
        dynamic: 0.55,
    }
}

fn datagram(gbps: u64) -> TransportConfig {
    TransportConfig::Datagram(Datagram { rate: Some(Rate::from_gbps(gbps)), payload: 1460, ecn_capable: false })
}

/// Hosts around one deep switch, links of 25 Gbps.
fn around(voq: Voq, hosts: u32, flows: Vec<Flow>, transports: Vec<TransportConfig>, ms: f64) -> Plan {
    let mut topology = star(hosts);
    topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(25));
    let mut plan = plan(topology, flows);
    plan.transports = transports;
    plan.switches[0].buffer = Buffer::Voq(voq);
    plan.run.until = Some(Time::from_ns((ms * 1e6) as u64));
    plan
}

/// What host 0 was sent, by time: everything the switch's port to it did.
fn port_to_host_0(plan: &mut Plan, interval: Span) -> Output {
    plan.record.ports = Some(PortSeries { interval, nodes: vec![plan.topology.hosts] });
    run(plan, &Progress::default()).unwrap()
}

/// Spec of deep buffers: one unresponsive source at the port's rate beside TCP, and the queue stands at its cap, so that everything waits
/// cap / rate: 40 ms with 125 MB at 25 Gbps. `cap_ms` scales both.
fn standing_queue(voq: Voq, cap: u64, cap_ms: f64) {
    // A second source fills the queue, while TCP is still small.
    let fills = (25e9 / 8.0 * cap_ms / 1e3 * 1.1) as u64 / 1_500 * 1_460;
    let endless = |id, src| flow(id, src, 0, 1 << 40, Time::ZERO);
    let flows = vec![endless(0, 1), Flow { transport: 1, ..endless(1, 2) }, flow(2, 3, 0, fills, Time::ZERO)];
    let mut plan = around(voq, 4, flows, vec![datagram(25), TransportConfig::Tcp(tcp())], 4.0 * cap_ms);
    let output = port_to_host_0(&mut plan, Span::from_ns((cap_ms * 1e5) as u64));
    let settled: Vec<_> = output.ports.iter().filter(|r| r.port == 0 && r.time.0 as f64 > 2.0 * cap_ms * 1e9).collect();
    assert!(settled.len() >= 19);
    // A frame waits for those ahead of it; its own time is not part of the wait.
    let (full, frame) = (cap / 1_500 * 1_500, 1_500);
    for row in settled {
        assert!(row.queue_bytes <= cap && row.queue_bytes >= full - 2 * frame, "{row:?}");
        let wait_ps = Rate::from_gbps(25).serialize(full - frame).0;
        assert!(row.latency_max <= wait_ps && row.latency_max >= wait_ps - 2 * Rate::from_gbps(25).serialize(frame).0, "{row:?}, expected {wait_ps} ps");
    }
    assert!(output.counters.drops_buffer > 0 && output.counters.drops_dram == 0, "{:?}", output.counters);
}

#[test]
fn a_standing_queue_delays_by_its_cap() {
    standing_queue(Voq { max_bytes: Some(1_250_000), ..deep() }, 1_250_000, 0.4);
}

#[test]
fn the_cap_in_time_counts_if_it_is_smaller() {
    standing_queue(Voq { max_bytes: Some(1_250_000), max_time: Some(Span::from_us(200)), ..deep() }, 625_000, 0.2);
}

#[test]
fn a_queue_of_25g_is_40_ms_deep_by_default() {
    standing_queue(deep(), 125_000_000, 40.0);
}

/// Both parts of the latency are in the ideal time: a lone flow of datagrams has a slowdown of exactly 1.
#[test]
fn a_lone_flow_waits_for_the_grant_only() {
    for ports_per_core in [None, Some(1)] {
        let flows = vec![flow(0, 1, 0, 1_460 * 1_000, Time::ZERO)];
        let transports = vec![TransportConfig::Datagram(Datagram { rate: None, payload: 1460, ecn_capable: false })];
        let mut plan = around(Voq { ports_per_core, ..deep() }, 2, flows, transports, 10.0);
        plan.switches[0].latency = Span::from_ns(2_300);
        let record = &run(&plan, &Progress::default()).unwrap().flows[0];
        // Two links of 1 us, 3.8 us between them, a thousand frames and one more for the store.
        let expected = Span::from_ns(5_800 + 1_001 * 480);
        assert_eq!((record.ideal, record.finish), (expected, Some(Time(expected.0))));
    }
}

/// Two sources at 25 Gbps for one port of 25 Gbps: DRAM that writes 30 Gbps, once it is used, loses the other 20.
#[test]
fn dram_bandwidth_is_a_limit_of_its_own() {
    let voq = Voq { dram_bandwidth: Some(Rate::from_gbps(60)), write_buffer: 15_000, ..deep() };
    let endless = |id, src| flow(id, src, 0, 1 << 40, Time::ZERO);
    let mut plan = around(voq, 3, vec![endless(0, 1), endless(1, 2)], vec![datagram(25)], 2.0);
    let output = port_to_host_0(&mut plan, Span::from_us(100));
    let counters = output.counters;
    assert_eq!(counters.dropped_packets, counters.drops_dram);
    let rows: Vec<_> = output.ports.iter().filter(|r| r.port == 0).collect();
    // 200 kB are reached after 64 us; from then on the queue grows by 5 Gbps.
    let (early, late) = (rows.iter().find(|r| r.time.0 == 200_000_000).unwrap(), rows.last().unwrap());
    let grown = (late.queue_bytes - early.queue_bytes) as f64 / (late.time.0 - early.time.0) as f64 * 8e3;
    assert!((grown - 5.0).abs() < 0.05, "{grown} Gbps");
    let lost: u64 = rows.iter().filter(|r| r.time.0 > 200_000_000).map(|r| r.drops).sum();
    let lost = lost as f64 * 1_500.0 / (late.time.0 - early.time.0) as f64 * 8e3;
    assert!((lost - 20.0).abs() < 0.1, "{lost} Gbps");
}

/// A queue below the eviction threshold needs no DRAM at all.
#[test]
fn short_queues_stay_on_the_chip() {
    let voq = Voq { dram_bandwidth: Some(Rate::from_mbps(1)), write_buffer: 1, ..deep() };
    let bursts = |bytes: u64| vec![flow(0, 1, 0, bytes, Time::ZERO), flow(1, 2, 0, bytes, Time::ZERO)];
    let lost = |bytes| run(&around(voq.clone(), 3, bursts(bytes), vec![datagram(25)], 2.0), &Progress::default()).unwrap().counters.drops_dram;
    // Two bursts of n frames at twice the port's rate leave about n of them in the queue.
    assert_eq!(lost(1_460 * 130), 0);
    assert!(lost(1_460 * 200) > 0);
}

/// Ports share in proportion to what they bring if one core has one queue for all; with a queue per port each has its turn.
#[test]
fn credits_are_given_in_turn() {
    let shares = |ports_per_core| {
        let endless = |id, src, transport| Flow { transport, ..flow(id, src, 0, 1 << 40, Time::ZERO) };
        // 40 Gbps for a port of 25: 25 from one, 15 in all from two others.
        let flows = vec![endless(0, 1, 0), endless(1, 2, 1), endless(2, 3, 2)];
        let voq = Voq { ports_per_core, max_bytes: Some(300_000), ..deep() };
        let output = run(&around(voq, 4, flows, vec![datagram(25), datagram(10), datagram(5)], 4.0), &Progress::default()).unwrap();
        [0, 1, 2].map(|flow| output.flows[flow].bytes_received as f64 * 8.0 / 4e6 * 1500.0 / 1460.0)
    };
    let near = |got: [f64; 3], expected: [f64; 3]| {
        for (got, expected) in got.iter().zip(expected) {
            // The first 2 % of the run have no standing queue.
            assert!((got - expected).abs() < 0.35, "{got} Gbps, expected {expected}");
        }
    };
    // Max-min: 5 has all it asks for, the others half of the rest each.
    near(shares(Some(1)), [10.0, 10.0, 5.0]);
    let together = shares(None);
    assert!(together[0] > 14.0 && together[1] < 7.5 && together[2] < 4.0, "{together:?}");
}

/// Ports 0 and 1 belong to one core, 2 and 3 to another: the cores share, whatever their ports bring.
#[test]
fn cores_share_not_ports() {
    let endless = |id, src| flow(id, src, 0, 1 << 40, Time::ZERO);
    let flows = vec![endless(0, 1), endless(1, 2), endless(2, 3)];
    let voq = Voq { ports_per_core: Some(2), max_bytes: Some(300_000), ..deep() };
    let output = run(&around(voq, 4, flows, vec![datagram(25)], 4.0), &Progress::default()).unwrap();
    let gbps = |flow: usize| output.flows[flow].bytes_received as f64 * 8.0 / 4e6 * 1500.0 / 1460.0;
    assert!((gbps(0) - 12.5).abs() < 0.3, "{}", gbps(0));
    assert!((gbps(1) + gbps(2) - 12.5).abs() < 0.3, "{} + {}", gbps(1), gbps(2));
}

/// Marks by the length of the queue that a frame joins.
#[test]
fn marks_hold_a_deep_queue_short() {
    let flows = (1..5).map(|src| flow(src as i64, src, 0, 1 << 40, Time::ZERO)).collect();
    let mut plan = around(deep(), 5, flows, vec![TransportConfig::Tcp(dctcp())], 5.0);
    plan.switches[0].marking = Some(step(Limit::Bytes(100_000)));
    let output = port_to_host_0(&mut plan, Span::from_us(50));
    assert!(output.counters.ecn_marks > 0 && output.counters.dropped_packets == 0);
    let settled = output.ports.iter().filter(|r| r.port == 0 && r.time.0 > 2_000_000_000);
    assert!(settled.clone().count() > 50 && settled.clone().all(|r| r.queue_bytes_max < 200_000 && r.queue_bytes_max > 50_000));
}
