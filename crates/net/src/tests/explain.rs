//! Tests the explanation of waits that end in a time-out: they are recovery, whatever was lost. In
//! each case a link is down at the critical time.

use super::determinism::same_everywhere;
use crate::idle::Idle;
use crate::probe::explain::Attribution;
use crate::record::{FlowRecord, Output, Status};
use crate::spec::*;
use crate::testing::*;
use crate::transport::rated;
use crate::transport::rated::allocation::{Header, Scheme, What, d3};
use crate::transport::sending::Sending;
use afflux_units::{Bytes, Rate, Span, Time};

const US: u64 = 1_000_000;
const MS: u64 = 1_000 * US;

fn lose(plan: &mut Plan, link: usize, from: u64, to: u64) {
    plan.topology.links[link].down.push(Down {
        from: Time(from),
        to: Some(Time(to)),
        detect: Span::from_s(1),
        converge: Span::ZERO,
    });
}

/// Runs `plan` with both engines. Checks that all flows finish, and that their parts add up.
fn explained(name: &str, plan: &Plan) -> Output {
    let run = RunConfig { until: Some(Time(200 * MS)), until_done: true, ..plan.run.clone() };
    let output = same_everywhere(name, &Plan { run, ..plan.clone() });
    for record in &output.flows {
        assert_eq!(record.status, Status::Finished, "{name}");
        assert_eq!(waits(record), took(record) - record.ideal.0, "{name}: {:?}", record.split);
    }
    output
}

fn took(record: &FlowRecord) -> u64 {
    (record.finish.unwrap() - record.start.unwrap()).0
}

fn waits(record: &FlowRecord) -> u64 {
    let s = record.split;
    s.recovery + s.reordering + s.paused + s.queueing + s.pacing + s.window + s.application
}

/// Returns a plan with one flow of `segments` segments from host 0 to host 1.
fn one(transport: TransportConfig, segments: u64) -> Plan {
    Plan {
        transports: vec![transport],
        ..plan(star(2), vec![flow(0, 0, 1, segments * 1_460, Time::ZERO)])
    }
}

/// The SYN, its reply, or both once each are lost.
#[test]
fn a_lost_handshake_is_recovery() {
    let rto = Span::from_ms(10);
    let opening = |tcp: TcpConfig| TcpConfig {
        handshake: true,
        initial_rto: rto,
        min_rto: Span::from_ms(1),
        ..tcp
    };
    // A SYN of 52 B and its reply cross two links each.
    let round_trip = 4 * (4_160 + US);
    for (name, tcp) in
        [("linux", linux()), ("plain", tcp()), ("ns-3", TcpConfig { manner: Manner::Ns3, ..tcp() })]
    {
        for (lost, link, from, to, timeouts) in [
            ("syn", 0, 0, US / 2, 1),
            ("answer", 1, 5 * US / 2, 3 * US, 1),
            ("two", 0, 0, rto.0 + US / 2, 2),
        ] {
            let mut plan = one(TransportConfig::Tcp(opening(tcp.clone())), 5);
            lose(&mut plan, link, from, to);
            let record = &explained(&format!("{name}, {lost}"), &plan).flows[0];
            // The second time-out is twice as long.
            let waited = if timeouts == 1 { rto.0 } else { 3 * rto.0 };
            assert_eq!(
                (record.timeouts, record.split.recovery),
                (timeouts, waited),
                "{name}, {lost}: {:?}",
                record.split
            );
            if timeouts == 1 {
                assert_eq!(record.split.window, round_trip, "{name}, {lost}: {:?}", record.split);
            }
        }
    }
}

/// A retransmitted SYN does not request ECN, so there is none if the first SYN was lost. If only
/// its reply was lost, the first SYN has requested it (Linux tcp_ecn_fallback, tcp_check_req).
#[test]
fn a_lost_answer_leaves_ecn() {
    let rto = Span::from_ms(10);
    let tcp = TcpConfig {
        handshake: true,
        ecn: EcnMode::Classic,
        initial_rto: rto,
        min_rto: Span::from_ms(1),
        ..linux()
    };
    let marks = |name: &str, lost: Option<(usize, u64, u64)>| {
        let mut plan = one(TransportConfig::Tcp(tcp.clone()), 200);
        plan.switches[0].marking =
            Some(Marking { incapable: Incapable::Pass, ..step(Limit::Bytes(10_000)) });
        // The slow link makes a queue at the switch.
        plan.topology.links[1].rate = Rate::from_gbps(10);
        if let Some((link, from, to)) = lost {
            lose(&mut plan, link, from, to);
        }
        let output = explained(name, &plan);
        assert_eq!(output.flows[0].timeouts, u64::from(lost.is_some()), "{name}");
        output.counters.ecn_marks
    };
    assert!(marks("nothing", None) > 0);
    assert_eq!(marks("syn", Some((0, 0, US / 2))), 0);
    assert!(marks("answer", Some((1, 5 * US / 2, 3 * US))) > 0);
}

/// Hosts with pFabric open another connection if all connections between two hosts are busy.
#[test]
fn a_lost_handshake_of_pooled_connections_is_recovery() {
    let mut plan = one(TransportConfig::Pfabric(Pfabric { pooled: true, ..pfabric() }), 1);
    plan.flows.push(flow(1, 0, 1, 1_460, Time(US)));
    lose(&mut plan, 0, 9 * US / 10, 3 * US / 2);
    let record = &explained("pooled", &plan).flows[1];
    assert_eq!((record.timeouts, record.split.recovery), (1, 45 * US), "{:?}", record.split);
}

/// All five segments arrive, but no acknowledgement does. After five time-outs the sender only
/// probes, and the reply to a probe reports that all data have arrived.
#[test]
fn what_a_probe_finds_done_was_recovery() {
    for segments in [1, 5] {
        let mut plan = one(TransportConfig::Pfabric(pfabric()), segments);
        // The last segment leaves the link at 3.72 us at the latest. The first acknowledgement
        // reaches the link a host's delay later.
        plan.hosts[0].delay = Span::from_us(1);
        lose(&mut plan, 1, 4 * US, 280 * US);
        let record = &explained("probed", &plan).flows[0];
        // Time-outs retransmit the first segment. The sixth and the seventh time-out only probe.
        assert_eq!((record.timeouts, record.packets_retransmitted), (7, 4), "{record:?}");
        assert_eq!((record.split.queueing, record.split.window), (0, 0), "{:?}", record.split);
        assert_eq!(record.split.recovery, took(record) - record.ideal.0);
    }
}

/// Returns a plan with two paths of 10 Gbps and 5 us per link. Path number 0 carries the first
/// subflow.
fn two_paths(mptcp: MptcpConfig, segments: u64) -> Plan {
    let topology = parallel(&[Rate::from_gbps(10), Rate::from_gbps(10)]);
    let config = MptcpConfig { manager: PathManager::FullMesh(2), ..mptcp };
    Plan {
        transports: vec![TransportConfig::Mptcp(config)],
        ..plan(topology, vec![flow(0, 0, 1, segments * 1_460, Time::ZERO)])
    }
}

fn with_handshake(initial_rto: Span, min_rto: Span) -> MptcpConfig {
    MptcpConfig {
        tcp: TcpConfig { handshake: true, initial_rto, min_rto, ..mptcp().tcp },
        ..mptcp()
    }
}

#[test]
fn a_lost_handshake_over_several_paths_is_recovery() {
    let mut plan = two_paths(with_handshake(Span::from_ms(10), Span::from_ms(1)), 5);
    lose(&mut plan, 0, 0, US);
    let record = &explained("mptcp", &plan).flows[0];
    assert_eq!((record.timeouts, record.split.recovery), (1, 10 * MS), "{:?}", record.split);
    assert!(record.split.window < 35 * US, "{:?}", record.split);
}

/// The first path is down permanently from 60 us on, and the SYN or the third segment of the other
/// path is lost. All data wait for its retransmission, and then use the other path.
#[test]
fn a_lost_join_is_recovery() {
    for (what, from, to) in [("syn", 0, 50 * US + 50 * US), ("third", 85 * US, 100 * US)] {
        // A time-out of the first path would come later.
        let mut plan = two_paths(with_handshake(Span::from_ms(10), Span::from_ms(40)), 400);
        if let TransportConfig::Mptcp(config) = &mut plan.transports[0] {
            config.tcp.max_window = Some(10);
        }
        lose(&mut plan, 3, from, to);
        lose(&mut plan, 0, 75 * US, 30_000 * MS);
        let record = &explained(what, &plan).flows[0];
        let s = record.split;
        assert!(record.timeouts >= 2, "{what}: {record:?}");
        // The recovery consists of the repeated handshake and then the time-out of the first path,
        // whose data move to the other path.
        assert!(s.recovery > 38 * MS && s.window < 2 * MS, "{what}: {s:?}");
        assert!(s.queueing + s.application < MS, "{what}: {s:?}");
    }
}

/// The first path goes down with data on it. The other path had sent all its data long before the
/// time-out moves these data to it.
#[test]
fn what_another_path_repeats_was_recovery() {
    let mut plan = two_paths(
        MptcpConfig {
            tcp: TcpConfig {
                min_rto: Span::from_ms(5),
                initial_rto: Span::from_ms(5),
                ..mptcp().tcp
            },
            ..mptcp()
        },
        20,
    );
    lose(&mut plan, 0, 0, 30_000 * MS);
    let record = &explained("reinjected", &plan).flows[0];
    assert!(record.timeouts >= 1, "{record:?}");
    assert!(
        record.split.recovery > 49 * MS / 10 && record.split.window < 100 * US,
        "{:?}",
        record.split
    );
}

/// PDQ's first frame is lost. The time-out is 500 us.
#[test]
fn a_lost_request_is_recovery() {
    let mut plan = one(TransportConfig::Pdq(pdq()), 5);
    lose(&mut plan, 0, 0, US / 2);
    let record = &explained("pdq", &plan).flows[0];
    assert_eq!((record.timeouts, record.split.recovery), (1, 500 * US), "{:?}", record.split);
    assert!(record.split.window < 5 * US, "{:?}", record.split);
}

/// D3's first frame is lost. D3's links count what they grant to a lost frame, and have nothing
/// left for the next frame. So the test runs a sender alone, with replies made explicitly.
#[test]
fn a_lost_request_to_d3_is_recovery() {
    let (config, idle) = (
        crate::testing::d3(),
        Idle {
            round_trip: 4 * US,
            slowest_full: 120_000,
            slowest_last: 120_000,
            ..Idle::default()
        },
    );
    let half = Sending {
        dst: 1,
        segments: 1,
        idle,
        why: Some(Box::new(Attribution::new(0))),
        ..Sending::default()
    };
    let setup = rated::SenderSetup {
        half,
        full_bits: 12_000,
        last_bits: 12_000,
        line: 100_000_000_000,
        deadline: None,
    };
    let by = rated::Scheduling::D3(&config);
    let mut sender = rated::Sender::new(setup, by);
    let mut asked = Header::default();
    for now in [0, 500 * US] {
        assert_eq!(sender.next_act(now, by), rated::Act::Signal(What::Syn));
        asked = sender.on_sent(now, rated::Act::Signal(What::Syn), by);
    }
    let granted = d3::Header {
        request: true,
        granted: [100_000_000; d3::HOPS],
        hops: 2,
        ..d3::Header::default()
    };
    let header = Header { answer: true, scheme: Scheme::D3(granted), ..asked };
    sender.on_ack(505 * US, &rated::AckIn { cumulative: 0, trigger: None, header, paused: 0 }, by);
    assert_eq!(sender.next_act(505 * US, by), rated::Act::Send(0, false));
    sender.on_sent(505 * US, rated::Act::Send(0, false), by);
    let split = sender.half.why.expect("asked for").close(505 * US);
    assert_eq!((split.recovery, split.window, sender.half.timeouts), (500 * US, 5 * US, 1));
}

/// A flow that PDQ has paused sends probes. Its host cannot be heard when its turn comes.
#[test]
fn lost_probes_are_recovery() {
    let mut plan = plan(
        star(3),
        vec![flow(0, 1, 0, 1_000_000, Time::ZERO), flow(1, 2, 0, 2_000_000, Time(10 * US))],
    );
    plan.transports = vec![TransportConfig::Pdq(pdq())];
    let heard = explained("paused", &plan).flows[1].split;
    assert_eq!(heard.recovery, 0, "{heard:?}");
    // The first flow takes about 81 us.
    lose(&mut plan, 2, 40 * US, 400 * US);
    let lost = explained("not heard", &plan).flows[1].split;
    assert!((330 * US..370 * US).contains(&lost.recovery), "{lost:?}");
    assert!(lost.window < heard.window, "{lost:?}, and where nothing is lost {heard:?}");
}

/// The receiver stops reading at 20 us and resumes after 5 ms. Its window update is lost. The
/// sender probes when its timer expires.
#[test]
fn a_lost_window_update_is_recovery() {
    let receive = Receive::Buffer(ReceiveBuffer {
        initial: Bytes(20 * 1_460),
        most: Bytes(20 * 1_460),
        share: 256,
    });
    let reader = Some(Reader::Turns { read: Span::from_us(20), sleep: Span::from_ms(5) });
    let tcp = TcpConfig {
        receive,
        reader,
        initial_window: 60,
        min_rto: Span::from_ms(12),
        initial_rto: Span::from_ms(12),
        ..tcp()
    };
    let mut plan = one(TransportConfig::Tcp(tcp), 400);
    let heard = explained("heard", &plan).flows[0].clone();
    assert_eq!(heard.split.recovery, 0, "{heard:?}");
    assert!(heard.split.window > 4 * MS, "{heard:?}");
    lose(&mut plan, 1, 5_000 * US, 5_100 * US);
    let lost = explained("not heard", &plan).flows[0].clone();
    assert_eq!((lost.packets_retransmitted, lost.timeouts), (0, 0));
    // The window closes soon after 20 us, and the sender probes 12 ms later.
    assert!((6_990 * US..7_020 * US).contains(&lost.split.recovery), "{lost:?}");
}

/// The handshake takes longer than the application reads. The turns of the application begin when
/// the connection is open, not with the SYN.
#[test]
fn an_application_takes_turns_once_the_connection_is_open() {
    let receive = Receive::Buffer(ReceiveBuffer {
        initial: Bytes(20 * 1_460),
        most: Bytes(20 * 1_460),
        share: 256,
    });
    let reader = Some(Reader::Turns { read: Span::from_us(20), sleep: Span::from_ms(5) });
    let rto = Span::from_ms(50);
    let tcp = TcpConfig {
        receive,
        reader,
        handshake: true,
        initial_window: 10,
        initial_rto: rto,
        min_rto: rto,
        ..tcp()
    };
    let mut plan = one(TransportConfig::Tcp(tcp), 8);
    let delay = Span::from_ms(1);
    plan.topology.links.iter_mut().for_each(|link| link.delay = delay);
    let record = &explained("turns", &plan).flows[0];
    // The time is four times the path of two links, without any wait for the application.
    assert!((8 * MS..8 * MS + 40 * US).contains(&took(record)), "{record:?}");
}

/// Datagrams with negative acknowledgements: the last datagram is lost, which no report can show.
#[test]
fn a_lost_tail_of_datagrams_is_recovery() {
    let nack = Nack {
        rate: Some(Rate::from_gbps(1)),
        report: Span::from_ms(10),
        timeout: Span::from_ms(30),
        ..nack()
    };
    let mut plan = one(TransportConfig::Nack(nack), 100);
    lose(&mut plan, 0, 99 * 11_680_000 - US / 2, 99 * 11_680_000 + US);
    let record = &explained("tail", &plan).flows[0];
    assert_eq!(
        (record.timeouts, record.split.queueing, record.split.window),
        (1, 0, 0),
        "{:?}",
        record.split
    );
    assert!(record.split.recovery > 38 * MS, "{:?}", record.split);
}

/// The last datagram but one is lost, and so is the report of the gap. The next periodic report
/// arrives on time.
#[test]
fn a_lost_report_is_recovery() {
    let nack = Nack {
        rate: Some(Rate::from_gbps(1)),
        report: Span::from_ms(10),
        timeout: Span::from_ms(30),
        ..nack()
    };
    let mut plan = one(TransportConfig::Nack(nack), 100);
    lose(&mut plan, 0, 98 * 11_680_000 - US / 2, 98 * 11_680_000 + US);
    lose(&mut plan, 1, 99 * 11_680_000 + 5 * US / 2, 99 * 11_680_000 + 6 * US);
    let record = &explained("report", &plan).flows[0];
    assert_eq!((record.timeouts, record.packets_retransmitted), (0, 1), "{record:?}");
    assert_eq!((record.split.queueing, record.split.window), (0, 0), "{:?}", record.split);
    assert!(record.split.recovery > 8 * MS, "{:?}", record.split);
}

/// Three flows on one connection. The first flow's segment is lost. The second flow has arrived,
/// but cannot be delivered before the time-out of the first one. The third flow starts long
/// afterwards.
#[test]
fn flows_behind_a_loss_on_their_connection_wait_for_recovery() {
    let mut plan = one(TransportConfig::Tcp(tcp()), 1);
    plan.flows
        .extend([(1, 10 * US), (2, 5 * MS)].map(|(id, start)| flow(id, 0, 1, 1_460, Time(start))));
    plan.flows.iter_mut().for_each(|flow| flow.connection = Some(0));
    lose(&mut plan, 0, 0, US / 2);
    let output = explained("behind", &plan);
    let [first, second, third] = [0, 1, 2].map(|flow| &output.flows[flow]);
    // The retransmission waits behind the second flow's frame of 120 ns.
    assert_eq!(
        (first.timeouts, first.split.recovery, first.split.queueing),
        (1, MS - 120_000, 120_000),
        "{:?}",
        first.split
    );
    assert_eq!(
        (second.split.recovery, second.split.application),
        (took(second) - second.ideal.0, 0),
        "{:?}",
        second.split
    );
    assert_eq!(waits(third), 0);
}

/// A flow behind a long one, without losses, waits for the frames of the long flow and its waits
/// for the window.
#[test]
fn flows_behind_others_wait_for_their_frames() {
    let mut plan = one(TransportConfig::Tcp(TcpConfig { max_window: Some(10), ..tcp() }), 40);
    plan.flows.push(flow(1, 0, 1, 1_460, Time(100_000)));
    plan.flows.iter_mut().for_each(|flow| flow.connection = Some(0));
    let output = explained("behind", &plan);
    let (first, second) = (output.flows[0].split, output.flows[1].split);
    // The waits are three times a window of ten segments, minus the time to send it. The flow
    // behind begins within the first window.
    assert_eq!(first.window, 3 * (output.flows[1].ideal.0 - 10 * 120_000), "{first:?}");
    assert!(second.window > first.window && second.application > 39 * 119_000, "{second:?}");
    assert_eq!((second.recovery, second.queueing), (0, 0), "{second:?}");
}

/// A request waits only for frames of its own host's bulk flow. All of its queueing, including that
/// of its SYN, is in its own host.
#[test]
fn waits_for_the_own_host_are_told_apart() {
    let mut topology = star(3);
    topology
        .links
        .iter_mut()
        .for_each(|link| (link.rate, link.delay) = (Rate::from_mbps(100), Span::from_us(20)));
    let bulk = flow(0, 0, 1, 1 << 40, Time::ZERO);
    let request = flow(1, 0, 2, 1_000, Time::from_ns(500_000_000));
    let mut plan = plan(topology, vec![bulk, request]);
    plan.switches[0].buffer = Buffer::Unlimited;
    plan.hosts[0].qdisc = Some(qdisc("pfifo", None, 1));
    plan.transports = tcp_only(TcpConfig { initial_rto: Span::from_s(1), ..linux() });
    plan.run.until = Some(Time::from_ns(1_000_000_000));
    let output = crate::run(&plan, &crate::Progress::default()).unwrap();
    let split = output.flows[1].split;
    // The SYN takes ten milliseconds, and so do the data. The bulk flow's next acknowledgement
    // delays the reply a little.
    assert!(split.queueing > 15 * MS && split.queueing - split.host < MS / 2, "{split:?}");
}
