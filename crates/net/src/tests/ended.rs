//! Tests senders that end before all of their flow is acknowledged: at a given time, or after
//! unsuccessful retries.

use super::determinism::same_everywhere;
use crate::checks::failed_checks;
use crate::record::{Output, Status};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

fn stopping(transport: TransportConfig, stop: Time) -> Plan {
    let mut plan = plan(
        leaf_spine(2, 2, 2),
        vec![
            Flow { stop, ..flow(0, 0, 2, 1 << 40, Time::from_ns(1_000)) },
            flow(1, 1, 2, 400_000, Time::ZERO),
        ],
    );
    plan.transports = vec![transport];
    plan.record.explain = true;
    plan
}

fn every_transport(stop: Time) -> Vec<(String, Plan)> {
    let datagram = Datagram { rate: Some(Rate::from_gbps(10)), payload: 1_460, ecn_capable: false };
    let transports = reliable().into_iter().chain([TransportConfig::Datagram(datagram)]);
    let plans = transports.map(|transport| {
        let name = format!("{transport:?}");
        let mut plan = stopping(transport, stop);
        plan.switches[0].aqm =
            if matches!(plan.transports[0], TransportConfig::Ndp(_)) { trimming() } else { None };
        plan.switches[0].buffer = Buffer::Unlimited;
        (name, plan)
    });
    plans.collect()
}

/// Every transport stops, empties its network, and lets the run end.
#[test]
fn every_transport_stops() {
    let stop = Time::from_ns(150_000);
    for (name, plan) in every_transport(stop) {
        let Output { flows, counters, end, .. } = same_everywhere(&name, &plan);
        assert_eq!(
            (flows[0].status, flows[0].given_up, flows[0].finish),
            (Status::Terminated, Some(stop), None),
            "{name}"
        );
        assert!(flows[0].bytes_received > 100_000, "{name}: {} B", flows[0].bytes_received);
        assert_eq!((flows[1].status, counters.in_flight_packets), (Status::Finished, 0), "{name}");
        assert!(end >= stop && end < stop + Span::from_ms(30), "{name}: {end}");
    }
}

/// Data that a sender has handed to its NIC arrive after its stop. They count together with the
/// time that they took, so no flow exceeds the rate of its link. This holds even if an unlimited
/// window has piled up as much in the NIC as was sent before the stop.
#[test]
fn goodput_of_a_stopped_flow_is_below_the_line_rate() {
    let stop = Time::from_ns(3_000_000);
    for (name, mut plan) in every_transport(stop) {
        plan.flows.truncate(1);
        let output = same_everywhere(&name, &plan);
        let record = &output.flows[0];
        let (start, last) = record.active(output.end).unwrap();
        assert_eq!(
            (Some(start), record.given_up, record.status),
            (record.start, Some(stop), Status::Terminated),
            "{name}"
        );
        assert!(
            last >= stop
                && last <= output.end
                && Some(last) == record.last_received.max(Some(stop)),
            "{name}: {last}"
        );
        let rate = plan.topology.links[0].rate.0 as f64;
        let goodput = record.goodput(output.end).unwrap();
        assert!(goodput > 0.0 && goodput < rate, "{name}: {goodput} of {rate}");
        assert_eq!(failed_checks(&plan, &output), [], "{name}");
    }
    // In slow start without losses, the NIC holds data for as long again as the sender was active.
    let plan = Plan {
        flows: vec![Flow { stop, ..flow(0, 0, 1, 1 << 40, Time::ZERO) }],
        ..plan(star(2), Vec::new())
    };
    let output = run(&plan, &Progress::default()).unwrap();
    let record = &output.flows[0];
    let until_stop = record.bytes_received as f64 * 8e12 / stop.0 as f64;
    let rate = plan.topology.links[0].rate.0 as f64;
    assert!(
        until_stop > 1.5 * rate && record.goodput(output.end).unwrap() < rate,
        "{until_stop} {record:?}"
    );
    assert_eq!(failed_checks(&plan, &output), []);
}

/// All data have arrived when the sender stops, but no acknowledgement says so. The flow has
/// finished, and every part of its time is known.
#[test]
fn every_transport_stops_before_the_last_acknowledgement() {
    for (name, mut plan) in every_transport(Time::from_ns(150_000)) {
        plan.run.fct_end = FctEnd::LastByte;
        plan.flows.truncate(1);
        plan.flows[0].bytes = 30_000;
        plan.topology.links[2].delay = Span::from_us(20);
        let finish = run(&plan, &Progress::default()).unwrap().flows[0]
            .finish
            .expect("it finishes long before");
        plan.flows[0].stop = finish + Span::from_ns(50);
        // The call checks the sum of the parts, too.
        let &crate::record::FlowRecord { status, finish: again, given_up, .. } =
            &same_everywhere(&name, &plan).flows[0];
        let has_ended = matches!(plan.transports[0], TransportConfig::Datagram(_));
        assert_eq!(
            (status, again, given_up.is_some()),
            (Status::Finished, Some(finish), !has_ended),
            "{name}"
        );
    }
}

/// A source with a constant rate sends a frame whenever its rate allows, until it stops.
#[test]
fn a_constant_rate_times_its_time() {
    // 1,500 B with headers every 1.2 us, starting at 1 us. A stop at 13 us comes before the
    // eleventh frame.
    for (stop, frames) in [(12_999, 10), (13_000, 10), (13_001, 11)] {
        let transport = TransportConfig::Datagram(Datagram {
            rate: Some(Rate(1_460 * 8 * 1_000_000_000 / 1_200)),
            payload: 1_460,
            ecn_capable: false,
        });
        let plan = stopping(transport, Time::from_ns(stop));
        let output = same_everywhere("datagrams", &plan);
        let &crate::record::FlowRecord { packets_sent, bytes_received, .. } = &output.flows[0];
        assert_eq!((packets_sent, bytes_received), (frames, frames * 1_460), "stop at {stop} ns");
    }
}

/// A flow that stops before its start is not sent.
#[test]
fn a_stop_before_the_start() {
    let mut plan = stopping(TransportConfig::Tcp(tcp()), Time::from_ns(150_000));
    plan.flows[1].group = Some(0);
    let late =
        Flow { start: Start::After { group: 0, delay: Span::from_ms(1) }, ..plan.flows[0].clone() };
    plan.flows.push(Flow { id: 2, ..late });
    let output = same_everywhere("late", &plan);
    let late = &output.flows[2];
    assert_eq!((late.status, late.packets_sent), (Status::Running, 0));
    assert_eq!((late.start, late.given_up), (None, None), "it does not start");
}

/// Runs a flow whose path fails for ever, during the flow or before it begins.
fn cut(transport: TcpConfig, from: Time) -> Output {
    let mut plan = plan(
        star(3),
        vec![
            flow(0, 0, 1, 1 << 30, Time::from_ns(1_000)),
            flow(1, 2, 1, 10_000, Time::from_ns(2_000)),
        ],
    );
    plan.topology.links[1].down =
        vec![Down { from, to: None, detect: Span::from_ms(1), converge: Span::ZERO }];
    plan.transports = tcp_only(transport);
    // There are no series, because minutes pass without events.
    let mut with = |engine, threads| {
        (plan.run.engine, plan.run.threads) = (engine, threads);
        run(&plan, &Progress::default()).unwrap()
    };
    let [oracle, others @ ..] =
        [(EngineKind::Classical, 1), (EngineKind::WindowLog, 1), (EngineKind::WindowLog, 3)]
            .map(|(engine, threads)| with(engine, threads));
    for output in others {
        let digest =
            |output: &Output| format!("{:?}{:?}{}", output.flows, output.counters, output.end);
        assert_eq!(digest(&output), digest(&oracle));
    }
    oracle
}

/// Time-outs of 1, 2, 4 ms … follow the last acknowledgement. After `retries` retransmissions, the
/// next time-out gives up.
#[test]
fn retries_by_number() {
    let config = TcpConfig {
        retries: Some(Retries::Count(3)),
        min_rto: Span::from_ms(1),
        initial_rto: Span::from_ms(1),
        max_rto: Span::from_s(60),
        max_window: Some(10),
        ..tcp()
    };
    let output = cut(config, Time::from_ns(20_000));
    let flow = &output.flows[0];
    assert_eq!((flow.status, flow.timeouts), (Status::Terminated, 3));
    // The last acknowledgement before 20 us restarted the timer. It expires for the fourth time 1 +
    // 2 + 4 + 8 ms later.
    let given_up = flow.given_up.unwrap();
    let after = given_up.since(Time::from_ns(20_000)).0;
    let expected = Span::from_ms(15).0;
    assert!((expected - 20_000_000..expected + 5_000_000).contains(&after), "{given_up}");
    assert_eq!(output.end, given_up);
}

/// Linux: 15 doubled time-outs from 200 ms take 924.6 s. A SYN is retransmitted six times, 1 + 2 +
/// … + 64 s.
#[test]
fn retries_by_time() {
    assert_eq!(Retries::doubled(15), Retries::Time(Span::from_ms(924_600)));
    assert_eq!(Retries::doubled(3), Retries::Time(Span::from_ms(3_000)));
    let config = || TcpConfig {
        retries: Some(Retries::doubled(3)),
        syn_retries: Some(6),
        handshake: true,
        initial_rto: Span::from_s(1),
        max_rto: Span::from_s(120),
        ..linux()
    };
    let output = cut(config(), Time::from_ns(40_000));
    let flow = &output.flows[0];
    assert_eq!(flow.status, Status::Terminated);
    // The flow is given up at the first time-out that is 3 s after the first one.
    let first = flow.given_up.unwrap().since(Time::from_ns(40_000));
    assert!(first > Span::from_s(3) && first < Span::from_s(8), "{first}");
    let output = cut(config(), Time::ZERO);
    for (flow, start) in output.flows.iter().zip([1_000, 2_000]) {
        assert_eq!(
            (flow.status, flow.timeouts, flow.given_up),
            (Status::Terminated, 6, Some(Time::from_ns(start) + Span::from_s(127)))
        );
    }
}

/// A connection is given up with all of its flows. Flows that would use it later end when they
/// start.
#[test]
fn connections_are_given_up_whole() {
    let config = TcpConfig {
        retries: Some(Retries::Count(2)),
        min_rto: Span::from_ms(1),
        initial_rto: Span::from_ms(1),
        ..tcp()
    };
    let on =
        |id, start| Flow { connection: Some(0), ..flow(id, 0, 1, 1 << 20, Time::from_ns(start)) };
    let mut plan = plan(star(3), vec![on(0, 1_000), on(1, 2_000), on(2, 50_000_000)]);
    plan.topology.links[1].down = vec![Down {
        from: Time::from_ns(40_000),
        to: None,
        detect: Span::from_ms(1),
        converge: Span::ZERO,
    }];
    plan.transports = tcp_only(config);
    let output = same_everywhere("connection", &plan);
    let ends: Vec<Time> =
        output.flows.iter().map(|flow| flow.given_up.expect("given up")).collect();
    assert_eq!((ends[0], ends[2]), (ends[1], Time::from_ns(50_000_000)));
    assert!(ends[0] < Time::from_ns(10_000_000));
}

/// `irn_pfc`: a single long time-out after the last frame or acknowledgement repairs a tail that
/// the link has lost.
#[test]
fn a_lost_tail_is_repaired() {
    let config = RdmaConfig {
        recovery: RdmaRecovery::Irn(Irn {
            bdp: None,
            few: 0,
            rto_low: Span::from_ms(4),
            rto_high: Span::from_ms(4),
            timeouts: true,
            ns3: false,
        }),
        ..irn()
    };
    let finish = |down: Vec<Down>| {
        let mut plan = plan(star(2), vec![flow(0, 0, 1, 100_000, Time::ZERO)]);
        plan.topology.links[1].down = down;
        plan.transports = vec![TransportConfig::Rdma(config.clone())];
        let output = same_everywhere("a lost tail", &plan);
        (output.flows[0].finish.unwrap(), output.flows[0].timeouts, output.flows[0].start.unwrap())
    };
    let (whole, timeouts, start) = finish(Vec::new());
    assert_eq!(timeouts, 0);
    // The last one or two frames are on the wire in the last 3 us before the end.
    let cut = Down {
        from: Time(whole.0 - 3_000_000),
        to: Some(whole),
        detect: Span::from_s(1),
        converge: Span::ZERO,
    };
    let (later, timeouts, _) = finish(vec![cut]);
    assert_eq!(timeouts, 1);
    let waited = later.since(start);
    assert!(waited > Span::from_ms(4) && waited < Span::from_ms(4) + Span::from_us(40), "{waited}");
}

/// A receiving host paces the pulls of all its flows with one timer, which expires in the name of
/// one flow. The sender of that flow may have stopped.
#[test]
fn a_flow_that_stops_leaves_the_others_their_pulls() {
    for stop in [140_000, 150_000, 160_000].map(Time::from_ns) {
        let wide = crate::transport::ndp::NdpConfig { initial_window: 200, ..ndp() };
        let mut plan = stopping(TransportConfig::Ndp(wide), stop);
        plan.flows[1].bytes = 4_000_000;
        plan.switches[0].aqm = trimming();
        plan.switches[0].buffer = Buffer::Unlimited;
        let output = same_everywhere("ndp", &plan);
        // 4 MB take 329 us at 100 Gbps. Half of the time until the stop went to the other flow, and
        // so did its 200 pulls that were waiting then.
        let took = output.flows[1].finish.unwrap().since(Time::ZERO);
        assert!(
            output.flows[1].timeouts == 0 && took < Span::from_us(440),
            "{took}, {} time-outs",
            output.flows[1].timeouts
        );
    }
}

/// Datagrams of which a full queue drops some: the flow is over when all of its frames have arrived
/// or are lost, also if the run goes on, or ends, with other flows.
#[test]
fn datagrams_that_were_lost_are_over_before_the_run() {
    let state = |until: u64| {
        let flows = vec![
            flow(0, 0, 1, 146_000, Time::ZERO),
            flow(1, 2, 1, 146_000, Time::ZERO),
            flow(2, 0, 3, 100_000_000, Time::ZERO),
        ];
        let mut plan = plan(star(4), flows);
        plan.transports = vec![
            TransportConfig::Datagram(Datagram { rate: None, payload: 1_460, ecn_capable: false }),
            TransportConfig::Tcp(tcp()),
        ];
        plan.flows[2].transport = 1;
        plan.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(20_000), drop_when: Compare::Above };
        plan.run.until = Some(Time::from_ns(until));
        let output = super::determinism::same_everywhere("lost datagrams", &plan);
        output.flows.iter().map(|flow| flow.status).collect::<Vec<_>>()
    };
    // 100 frames at 100 Gbps take 12 us.
    assert_eq!(state(10_000), [Status::Running; 3]);
    let over = state(100_000);
    assert!(over[..2].contains(&Status::Terminated) && !over[..2].contains(&Status::Running));
    assert_eq!(over[2], Status::Running);
}
