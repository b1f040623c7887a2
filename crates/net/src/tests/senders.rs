//! Tests the series of senders.

use crate::record::SenderRecord;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

/// Runs one flow over a path whose round trip is 8 ms plus some transmission times, sampled every 4
/// ms.
fn alone(transport: TransportConfig, bytes: u64) -> Vec<SenderRecord> {
    let mut topology = star(2);
    topology.links.iter_mut().for_each(|link| link.delay = Span::from_ms(2));
    let mut plan = plan(topology, vec![flow(0, 0, 1, bytes, Time::ZERO)]);
    plan.transports = vec![transport];
    plan.switches[0].buffer = Buffer::Unlimited;
    plan.record.senders = Some(Span::from_ms(4));
    let plain = run(
        &Plan { record: Record { senders: None, ..plan.record.clone() }, ..plan.clone() },
        &Progress::default(),
    )
    .unwrap();
    let output = run(&plan, &Progress::default()).unwrap();
    assert_eq!(
        format!("{:?}{:?}", plain.flows, plain.counters),
        format!("{:?}{:?}", output.flows, output.counters),
        "to look changes nothing"
    );
    let end = output.flows[0].finish.unwrap();
    assert!(output.senders.iter().all(|record| record.flow == 0 && record.time <= end));
    output.senders
}

#[test]
fn a_window_doubles_with_every_round_trip() {
    let found = alone(
        TransportConfig::Tcp(TcpConfig {
            min_rto: Span::from_s(1),
            initial_rto: Span::from_s(1),
            ..tcp()
        }),
        1_460 * 2_000,
    );
    let round_trip = Span::from_ms(8).0;
    // The first sample is at half a round trip. Then there is a sample in the middle of each round
    // trip.
    for (number, record) in found.iter().step_by(2).enumerate().take(6) {
        let window = 14_600 << number;
        assert_eq!(
            (record.time, record.window, record.flight),
            (Time::from_ns(4_000_000 + 8_000_000 * number as u64), window, window)
        );
        assert_eq!((record.threshold, record.rate), (SenderRecord::NONE, SenderRecord::NONE));
        if number == 0 {
            assert_eq!(record.smoothed, SenderRecord::NONE);
        } else {
            assert!(
                (round_trip..round_trip + round_trip / 50).contains(&record.smoothed),
                "{record:?}"
            );
        }
    }
}

#[test]
fn a_queue_pair_has_a_rate_and_no_threshold() {
    let control = RateControl::None;
    let found = alone(TransportConfig::Rdma(RdmaConfig { control, ..rdma() }), 1 << 24);
    assert!(!found.is_empty());
    for record in found {
        assert_eq!(
            (record.rate, record.threshold, record.smoothed),
            (Rate::from_gbps(100).0, SenderRecord::NONE, SenderRecord::NONE)
        );
    }
}

/// No rate control depends on when its rate is read.
#[test]
fn to_look_changes_no_rate() {
    let by_bytes = DcqcnConfig { byte_counter: Some(32_767), ..dcqcn() };
    let at_once = DcqcnConfig { decrease_period: None, ..by_bytes.clone() };
    for control in [
        RateControl::Dcqcn(dcqcn()),
        RateControl::Dcqcn(by_bytes),
        RateControl::Dcqcn(at_once),
        RateControl::Timely(timely()),
        RateControl::Swift(swift()),
        RateControl::Hpcc(hpcc()),
    ] {
        let flows = (0..4).map(|src| flow(src.into(), src + 1, 0, 3 << 20, Time::ZERO)).collect();
        let mut plan = plan(star(5), flows);
        plan.topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(10));
        plan.transports = vec![TransportConfig::Rdma(RdmaConfig { control, ..rdma() })];
        plan.switches[0].buffer = Buffer::Unlimited;
        plan.switches[0].marking = Some(step(Limit::Bytes(10_000)));
        let plain = run(&plan, &Progress::default()).unwrap();
        plan.record.senders = Some(Span::from_us(1));
        let output = run(&plan, &Progress::default()).unwrap();
        assert_eq!(
            format!("{:?}{:?}", plain.flows, plain.counters),
            format!("{:?}{:?}", output.flows, output.counters),
            "{:?}",
            plan.transports
        );
        let config = RdmaConfig { control: RateControl::None, ..rdma() };
        plan.transports = vec![TransportConfig::Rdma(config)];
        let without = run(&plan, &Progress::default()).unwrap();
        assert_ne!(format!("{:?}", without.flows), format!("{:?}", plain.flows));
    }
}

/// Subflows have their numbers. An open connection without data has no samples.
#[test]
fn subflows_and_idle_connections() {
    let mut plan = plan(star(2), vec![flow(0, 0, 1, 3 << 20, Time::ZERO)]);
    plan.transports = vec![TransportConfig::Mptcp(mptcp())];
    plan.record.senders = Some(Span::from_us(20));
    let output = run(&plan, &Progress::default()).unwrap();
    let of = |subflow| output.senders.iter().filter(|record| record.subflow == subflow).count();
    assert!(of(0) > 2 && of(1) > 2);

    let second = Flow { connection: Some(7), ..flow(1, 0, 1, 1_460, Time::from_ns(5_000_000)) };
    plan.flows = vec![Flow { connection: Some(7), ..flow(0, 0, 1, 1 << 20, Time::ZERO) }, second];
    plan.transports = tcp_only(tcp());
    let output = run(&plan, &Progress::default()).unwrap();
    let first_over = output.flows[0].finish.unwrap();
    let idle = output
        .senders
        .iter()
        .filter(|record| record.time > first_over && record.time < Time::from_ns(5_000_000));
    assert_eq!(idle.count(), 0);
    assert!(
        output.senders.iter().all(|record| record.flow == 0),
        "a connection is named by its first flow"
    );
}
