//! Tests HULL: phantom queues and pacers.

use super::determinism::{same_everywhere, traffic};
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

fn phantom() -> Option<Aqm> {
    Some(Aqm::Phantom(PhantomConfig { drain: 0.95, threshold: 6_000 }))
}

pub(super) fn pacer() -> Option<Pacer> {
    Some(Pacer {
        interval: Span::from_us(10),
        eta: 0.125,
        queue_gain: 3_000.0,
        probability: 0.125,
        timeout: Span::from_ms(1),
        min_rate: Rate::from_mbps(10),
        max_rate: None,
        bucket: 3_100,
    })
}

#[test]
fn engines_and_threads() {
    let mut plan = plan(fat_tree(4, 2), traffic(32, 200, 200, 200_000, 3));
    plan.transports = tcp_only(dctcp());
    plan.switches[0].aqm = phantom();
    let output = same_everywhere("phantom queues", &plan);
    assert!(output.counters.ecn_marks > 100, "{}", output.counters.ecn_marks);
    plan.hosts[0].pacer = pacer();
    let paced = same_everywhere("and pacers", &plan);
    assert_ne!(paced.end, output.end);
    plan.run.until = Some(Time::from_ns(150_000));
    let cut = same_everywhere("cut off with frames in pacers", &plan);
    assert!(cut.counters.in_flight_packets > 0);
    plan.record.ports = Some(PortSeries { interval: Span::from_us(20), nodes: (32..52).collect() });
    plan.switches[0].scheduling = Scheduling::Priorities { queues: 3 };
    same_everywhere("by priority, sampled", &plan);
}

/// Tests all engines with the TCP of pFabric's comparison, as in the study.
#[test]
fn with_the_tcp_of_ns2() {
    let mut plan = plan(fat_tree(4, 2), traffic(32, 200, 200, 200_000, 3));
    plan.transports = vec![TransportConfig::Pfabric(ns2_tcp(dctcp().congestion))];
    plan.switches[0].aqm = phantom();
    let unpaced = same_everywhere("phantom queues", &plan);
    plan.hosts[0].pacer = pacer();
    let paced = same_everywhere("and pacers", &plan);
    assert!(paced.counters.ecn_marks > 100, "{}", paced.counters.ecn_marks);
    assert_ne!(paced.end, unpaced.end);
    assert!(paced.flows.iter().all(|flow| flow.finish.is_some()));
}

/// Sends two long flows to one host, whose link is the bottleneck. Returns the maximum of its queue
/// after the start, and the goodput.
fn bottleneck(
    marking: Option<Marking>,
    aqm: Option<Aqm>,
    pacer: Option<Pacer>,
) -> (u64, f64, Output) {
    let mut topology = star(3);
    topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(10));
    let mut plan = plan(
        topology,
        (0..2).map(|src| flow(src as i64, src, 2, 100_000_000, Time::ZERO)).collect(),
    );
    plan.transports =
        tcp_only(TcpConfig { min_rto: Span::from_ms(1), initial_rto: Span::from_ms(1), ..dctcp() });
    (plan.switches[0].marking, plan.switches[0].aqm, plan.hosts[0].pacer) = (marking, aqm, pacer);
    plan.record.ports = Some(PortSeries { interval: Span::from_us(100), nodes: vec![3] });
    plan.run.until = Some(Time::from_ns(20_000_000));
    let output = run(&plan, &Progress::default()).unwrap();
    let late = output
        .ports
        .iter()
        .filter(|row| row.port == 2 && row.queue == -1 && row.time >= Time::from_ns(5_000_000));
    let longest = late.map(|row| row.queue_bytes_max).max().unwrap();
    let goodput =
        output.flows.iter().map(|f| f.bytes_received).sum::<u64>() as f64 * 8.0 / 20e-3 / 1e9;
    (longest, goodput, output)
}

/// spec/transports.md §2.7: HULL gives up a little bandwidth, about 1 - gamma, for almost empty
/// queues.
#[test]
fn bandwidth_for_latency() {
    let (dctcp_queue, dctcp, _) = bottleneck(Some(step(Limit::Packets(20))), None, None);
    let (queue, goodput, output) = bottleneck(None, phantom(), pacer());
    let (unpaced_queue, unpaced, _) = bottleneck(None, phantom(), None);
    eprintln!(
        "dctcp {dctcp_queue} B {dctcp:.3} Gbps; hull {queue} B {goodput:.3}; unpaced {unpaced_queue} B {unpaced:.3}"
    );
    assert_eq!(output.counters.dropped_packets, 0);
    let most = 10.0 * 1460.0 / 1500.0;
    assert!(dctcp > 0.98 * most, "{dctcp}");
    assert!(goodput < 0.96 * most && goodput > 0.75 * most, "{goodput} of {most} Gbps");
    assert!(2 * queue < dctcp_queue, "{queue} B, with DCTCP {dctcp_queue} B");
}
