//! Tests that a single flow takes exactly its ideal time if nothing limits the sender.

use crate::spec::*;
use crate::testing::*;
use crate::transport::ndp::NdpConfig;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

/// Name of a case, its fabric, and pairs of hosts.
type Case = (&'static str, Topology, Vec<(u32, u32)>);

fn topologies() -> Vec<Case> {
    let mut mixed = leaf_spine(2, 2, 2);
    // Links have different rates, some of which do not divide evenly, and different delays.
    for (i, link) in mixed.links.iter_mut().enumerate() {
        link.rate =
            [Rate::from_gbps(25), Rate::from_gbps(10), Rate::from_gbps(40), Rate(2_666_666_667)]
                [i % 4];
        link.delay = Span::from_ns(100 + 333 * i as u64);
    }
    vec![
        ("star", star(4), vec![(0, 1), (3, 2)]),
        ("leaf-spine", leaf_spine(3, 4, 2), vec![(0, 1), (0, 2), (5, 0)]),
        ("fat-tree", fat_tree(4, 2), vec![(0, 1), (0, 5), (0, 20), (31, 0)]),
        ("mixed", mixed, vec![(0, 1), (0, 2), (3, 0), (2, 1)]),
    ]
}

fn check(transport: TransportConfig, fct_end: FctEnd, cut_through: Option<u16>, gap: u16) {
    for (name, topology, pairs) in topologies() {
        for &(src, dst) in &pairs {
            for bytes in [1, 1459, 1460, 1461, 14_600, 100_000, 1_000_001] {
                let mut plan =
                    plan(topology.clone(), vec![flow(0, src, dst, bytes, Time::from_ns(1_234))]);
                plan.transports = vec![transport.clone()];
                plan.run.fct_end = fct_end;
                plan.switches[0].buffer = Buffer::Unlimited;
                plan.switches[0].cut_through = cut_through;
                plan.switches[0].latency = Span::from_ns(450);
                plan.hosts[0].delay = Span::from_ns(2_500);
                plan.wire.gap = gap;
                for engine in [EngineKind::WindowLog, EngineKind::Classical] {
                    plan.run.engine = engine;
                    let output = run(&plan, &Progress::default()).unwrap();
                    let record = &output.flows[0];
                    let fct = record.finish.unwrap() - record.start.unwrap();
                    assert_eq!(
                        fct, record.ideal,
                        "{name} {src}->{dst} {bytes} B {engine:?} {cut_through:?}"
                    );
                    assert_eq!(record.split, Default::default());
                }
            }
        }
    }
}

fn wide_open() -> TransportConfig {
    TransportConfig::Tcp(TcpConfig {
        initial_window: 1_000_000,
        initial_rto: Span::from_s(1),
        min_rto: Span::from_s(1),
        ..tcp()
    })
}

#[test]
fn tcp_whose_window_covers_the_path() {
    check(wide_open(), FctEnd::LastAck, None, 20);
    check(wide_open(), FctEnd::LastByte, None, 0);
}

#[test]
fn tcp_through_cut_through_switches() {
    check(wide_open(), FctEnd::LastAck, Some(64), 0);
    check(wide_open(), FctEnd::LastByte, Some(128), 20);
}

#[test]
fn datagrams_at_line_rate() {
    let datagram =
        TransportConfig::Datagram(Datagram { rate: None, payload: 1460, ecn_capable: false });
    check(datagram.clone(), FctEnd::LastAck, None, 20);
    check(datagram, FctEnd::LastByte, Some(64), 0);
}

#[test]
fn datagrams_with_reports_at_line_rate() {
    check(TransportConfig::Nack(nack()), FctEnd::LastAck, None, 20);
    check(TransportConfig::Nack(nack()), FctEnd::LastByte, Some(64), 0);
}

/// The flow uses one path, as the ideal does. The receiver's pulls keep up if no link is slower
/// than the NIC.
#[test]
fn ndp_whose_window_covers_the_path() {
    let config =
        NdpConfig { initial_window: 1_000_000, spread: false, rto: Span::from_s(1), ..ndp() };
    check(TransportConfig::Ndp(config.clone()), FctEnd::LastAck, None, 20);
    check(TransportConfig::Ndp(config), FctEnd::LastByte, Some(64), 0);
}

#[test]
fn rdma_at_line_rate() {
    check(TransportConfig::Rdma(rdma()), FctEnd::LastAck, None, 20);
    check(TransportConfig::Rdma(rdma()), FctEnd::LastByte, None, 0);
    check(
        TransportConfig::Rdma(RdmaConfig { control: RateControl::None, ..rdma() }),
        FctEnd::LastAck,
        Some(64),
        20,
    );
}

/// Slow start on the idle star, calculated explicitly: rounds of w, 2w, 4w … segments, each a round
/// trip after the last, until the window covers the path.
#[test]
fn slow_start_closed_form() {
    let bytes = 200 * 1460;
    let plan = plan(star(2), vec![flow(0, 0, 1, bytes, Time::ZERO)]);
    let output = run(&plan, &Progress::default()).unwrap();
    let record = &output.flows[0];
    // A segment takes 120 ns and an acknowledgement 3.2 ns, over two links of 1 us in each
    // direction.
    let (segment, ack, link) = (120_000u64, 3_200, 1_000_000);
    let round_trip = 2 * segment + 2 * ack + 4 * link;
    // The round trip holds 35.4 segments: windows of 10 and 20 leave gaps, 40 does not. The first
    // segment of the third round leaves after two round trips. From then on segments leave back to
    // back.
    let back_to_back_from = 2 * round_trip;
    let sent_before = 10 + 20;
    let last_leaves = back_to_back_from + (200 - sent_before) * segment;
    let expected = last_leaves - segment + round_trip;
    assert_eq!((record.finish.unwrap() - record.start.unwrap()).0, expected);
    // All of the time is charged to the window: two rounds ended before the next one could start.
    assert_eq!(record.split.window, expected - record.ideal.0);
    assert_eq!(record.split.window, (round_trip - 10 * segment) + (round_trip - 20 * segment));
}
