//! Tests queueing disciplines of hosts.

use crate::spec::*;
use crate::testing::*;
use crate::tests::determinism::traffic;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

/// Sends bulk flows from one host to another, and next to them 50 requests of 20 kB, one after the
/// other, to a third host. Returns the median time of the requests, and the goodput of the bulk
/// flows in bit/s.
fn requests(qdisc: Option<Qdisc>, bulk: u32, small_queues: bool) -> (Span, f64) {
    let mut topology = star(3);
    topology
        .links
        .iter_mut()
        .for_each(|link| (link.rate, link.delay) = (Rate::from_mbps(100), Span::from_us(20)));
    let mut flows: Vec<Flow> =
        (0..bulk).map(|id| flow(id.into(), 0, 1, 1 << 40, Time::ZERO)).collect();
    flows.extend((0..50).map(|i| {
        flow(
            (bulk + i).into(),
            0,
            2,
            20_000,
            Time::from_ns(1_000_000_000 + 50_000_000 * u64::from(i)),
        )
    }));
    let mut plan = plan(topology, flows);
    plan.switches[0].buffer = Buffer::Unlimited;
    plan.hosts[0].qdisc = qdisc;
    plan.transports = tcp_only(TcpConfig { small_queues, ..linux() });
    plan.run.until = Some(Time::from_ns(4_000_000_000));
    let output = run(&plan, &Progress::default()).unwrap();
    let (first, later) = output.flows.split_at(bulk as usize);
    let mut times: Vec<u64> =
        later.iter().map(|flow| flow.finish.unwrap().0 - flow.start.unwrap().0).collect();
    times.sort();
    (Span(times[25]), first.iter().map(|flow| flow.bytes_received as f64 * 8.0 / 4.0).sum())
}

/// With a fair queue, a request passes the waiting frames and has its share of the line. With a
/// FIFO, it waits for all of them. The line is full in both cases.
#[test]
fn requests_pass_bulk_in_a_fair_queue() {
    let alone = 20_000.0 * 8.0 / 100e6;
    for small_queues in [true, false] {
        let of = |kind: &str, bulk| requests(Some(qdisc(kind, None, 1)), bulk, small_queues);
        for bulk in [1, 4] {
            let fifo = of("pfifo", bulk);
            assert!(fifo.0.as_seconds() > 10.0 * alone && fifo.1 > 92e6, "{fifo:?}");
            if small_queues {
                // Without a limit that takes effect, a FIFO behaves like a NIC without a
                // discipline.
                let unheld = requests(None, bulk, small_queues);
                assert!(
                    (fifo.0.as_seconds() / unheld.0.as_seconds() - 1.0).abs() < 0.05,
                    "{fifo:?} {unheld:?}"
                );
            }
            for kind in ["fq_codel", "fq"] {
                let (median, goodput) = of(kind, bulk);
                assert!(
                    median.as_seconds() < (bulk as f64 + 2.0) * alone && goodput > 90e6,
                    "{kind} {bulk}: {median:?} {goodput}"
                );
            }
        }
    }
}

/// Frames that arrive while the card has free space go straight to it, so the discipline makes no
/// difference.
#[test]
fn a_ring_with_room_is_a_queue_without_a_discipline() {
    let plain = plan(fat_tree(4, 2), traffic(32, 300, 200, 200_000, 1));
    let expected = run(&plain, &Progress::default()).unwrap();
    for kind in ["fq_codel", "fq", "pfifo"] {
        let mut held = plain.clone();
        held.hosts[0].qdisc = Some(qdisc(kind, Some(100_000_000), 1));
        let output = run(&held, &Progress::default()).unwrap();
        let finishes = |output: &crate::record::Output| {
            output.flows.iter().map(|flow| flow.finish).collect::<Vec<_>>()
        };
        assert_eq!(finishes(&output), finishes(&expected));
    }
}

/// A flow below its share keeps its rate next to three flows that would fill the line. These flows
/// share the rest.
#[test]
fn a_flow_below_its_share_keeps_its_rate() {
    for kind in ["fq_codel", "fq"] {
        let mut topology = star(2);
        topology
            .links
            .iter_mut()
            .for_each(|link| (link.rate, link.delay) = (Rate::from_mbps(100), Span::from_us(20)));
        let mut flows: Vec<Flow> = (0..4).map(|id| flow(id, 0, 1, 1 << 40, Time::ZERO)).collect();
        flows[0].transport = 1;
        let mut plan = plan(topology, flows);
        plan.switches[0].buffer = Buffer::Unlimited;
        plan.hosts[0].qdisc = Some(qdisc(kind, None, 1));
        let datagrams = |mbps| {
            TransportConfig::Datagram(Datagram {
                rate: Some(Rate::from_mbps(mbps)),
                payload: 1460,
                ecn_capable: false,
            })
        };
        plan.transports = vec![datagrams(97), datagrams(10)];
        plan.run.until = Some(Time::from_ns(1_000_000_000));
        let output = run(&plan, &Progress::default()).unwrap();
        let mbps: Vec<f64> =
            output.flows.iter().map(|flow| flow.bytes_received as f64 * 8e-6).collect();
        assert!((mbps[0] - 10.0).abs() < 0.5, "{kind}: {mbps:?}");
        assert!(
            mbps[1..].iter().all(|one| (one / mbps[1] - 1.0).abs() < 0.05)
                && mbps.iter().sum::<f64>() > 94.0,
            "{kind}: {mbps:?}"
        );
    }
}
