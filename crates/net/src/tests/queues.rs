//! Tests several queues per port: their shares, marks, limits and series.

use crate::record::{Output, PortRecord};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Span, Time};

/// Classes in which queue q has the frames of priority q.
fn classes(service: &[Service]) -> Scheduling {
    let last = service.len() as u8 - 1;
    Scheduling::Classes(Classes {
        of_priority: std::array::from_fn(|p| (p as u8).min(last)),
        service: service.to_vec(),
        quantum: 1_500,
    })
}

/// Hosts 1, 2, … each overload host 0 at line rate for 4 ms, with datagrams of their own priority
/// and size.
fn overload(scheduling: Scheduling, payloads: &[u16]) -> Plan {
    let senders = payloads.len() as u32;
    let flows = (0..senders)
        .map(|s| Flow {
            priority: s as u8,
            transport: s as u16,
            ..flow(s as i64, s + 1, 0, 100_000_000, Time::ZERO)
        })
        .collect();
    let mut plan = plan(star(senders + 1), flows);
    plan.transports = payloads
        .iter()
        .map(|payload| {
            TransportConfig::Datagram(Datagram {
                rate: None,
                payload: *payload,
                ecn_capable: false,
            })
        })
        .collect();
    plan.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(100_000), drop_when: Compare::Above };
    plan.switches[0].scheduling = scheduling;
    plan.run.until = Some(Time::from_ns(4_000_000));
    plan.record.ports = Some(PortSeries { interval: Span::from_ms(2), nodes: vec![senders + 1] });
    plan
}

fn execute(plan: &Plan) -> Output {
    run(plan, &Progress::default()).unwrap()
}

/// Returns the bytes that the queues of the port towards host 0 sent in the second half, in which
/// all queues are full.
fn sent(output: &Output) -> Vec<u64> {
    output
        .ports
        .iter()
        .filter(|r| r.port == 0 && r.time == Time::from_ns(4_000_000) && r.queue >= 0)
        .map(|r| r.tx_bytes)
        .collect()
}

/// The bytes of two backlogged queues differ from the ratio of their weights by at most a turn and
/// a frame of each (Shreedhar and Varghese, theorem 3).
#[test]
fn weighted_shares() {
    for (weights, payloads) in [
        (vec![14, 15], vec![1460, 1460]),
        (vec![14, 15, 14], vec![1460, 60, 700]),
        (vec![1, 3], vec![1460, 1000]),
        (vec![40, 30, 25, 5], vec![1460; 4]),
    ] {
        let service: Vec<_> = weights.iter().map(|w| Service::Weight(*w)).collect();
        let sent = sent(&execute(&overload(classes(&service), &payloads)));
        // The link is never idle.
        assert!(sent.iter().sum::<u64>().abs_diff(25_000_000) <= 1_500, "{sent:?}");
        for (a, b) in sent
            .iter()
            .zip(&weights)
            .zip(sent[1..].iter().zip(&weights[1..]))
            .map(|((a, wa), (b, wb))| (*a as f64 / *wa as f64, *b as f64 / *wb as f64))
        {
            assert!(
                (a - b).abs() <= 1_500.0 + 2.0 * 1_500.0,
                "{weights:?} {payloads:?}: {sent:?}, {a} and {b} per weight"
            );
        }
    }
}

/// 802.1Qaz: a strict class takes the bandwidth that it needs. The others share the rest by their
/// percentages, and bandwidth that one of them leaves goes to the others.
#[test]
fn strict_class_and_percentages() {
    let service = [Service::Bandwidth(25), Service::Bandwidth(75), Service::Strict];
    let mut plan = overload(classes(&service), &[1460; 3]);
    let TransportConfig::Datagram(strict) = &mut plan.transports[2] else { unreachable!() };
    // 20 Gb/s is the payload rate. Frames have 40 B more.
    strict.rate = Some(afflux_units::Rate::from_gbps(20));
    let with_three = sent(&execute(&plan));
    let wire = 1500.0 / 1460.0 * 20e9 * 2e-3 / 8.0;
    assert!((with_three[2] as f64 - wire).abs() <= 3_000.0, "{with_three:?}, {wire}");
    let rest = 25e6 - with_three[2] as f64;
    assert!(
        (with_three[0] as f64 - 0.25 * rest).abs() <= 6_000.0
            && (with_three[1] as f64 - 0.75 * rest).abs() <= 6_000.0,
        "{with_three:?}"
    );
    // Without frames of the second class, the first class gets all of the rest.
    plan.flows.retain(|f| f.priority != 1);
    let with_two = sent(&execute(&plan));
    assert!(
        (with_two[0] + with_two[2]).abs_diff(25_000_000) <= 1_500 && with_two[1] == 0,
        "{with_two:?}"
    );
}

/// Strict classes of 802.1Q: a lower queue gets nothing while a higher one has frames.
#[test]
fn strict_classes_starve_the_others() {
    let mut plan =
        overload(classes(&[Service::Weight(1), Service::Strict, Service::Strict]), &[1460; 3]);
    assert_eq!(sent(&execute(&plan))[..2], [0, 0]);
    // Strict classes give the same run as `StrictPriority`.
    let with = |scheduling: Scheduling, plan: &mut Plan| {
        plan.switches[0].scheduling = scheduling;
        let output = execute(plan);
        format!("{:?} {:?} {:?}", output.flows, output.ports, output.counters)
    };
    let strict = with(Scheduling::Priorities { queues: 3 }, &mut plan);
    assert_eq!(strict, with(classes(&[Service::Strict; 3]), &mut plan));
}

/// The NIC of a host serves its queues by the same rules as a switch.
#[test]
fn weighted_nic() {
    let flows = (0..2)
        .map(|s| Flow {
            priority: s,
            transport: 0,
            ..flow(s as i64, 0, 1, 100_000_000, Time::ZERO)
        })
        .collect();
    let mut plan = plan(star(2), flows);
    plan.transports =
        vec![TransportConfig::Datagram(Datagram { rate: None, payload: 1460, ecn_capable: false })];
    plan.hosts[0].scheduling = classes(&[Service::Weight(1), Service::Weight(4)]);
    plan.run.until = Some(Time::from_ns(4_000_000));
    plan.record.ports = Some(PortSeries { interval: Span::from_ms(2), nodes: vec![0] });
    let sent = sent(&execute(&plan));
    assert!(
        sent[0].abs_diff(5_000_000) <= 6_000 && sent[1].abs_diff(20_000_000) <= 6_000,
        "{sent:?}"
    );
}

fn rows(output: &Output, queue: i32) -> impl Iterator<Item = &PortRecord> {
    output.ports.iter().filter(move |r| r.port == 0 && r.queue == queue)
}

/// Three classes of DCTCP at one port: the first has no marking, the second a low step, the third a
/// higher one. Each queue settles at the length set by its own rule.
#[test]
fn marking_per_queue() {
    let flows = (0..9)
        .map(|s| Flow {
            priority: s % 3,
            ..flow(s as i64, s as u32 + 1, 0, 100_000_000, Time::ZERO)
        })
        .collect();
    let mut plan = plan(star(10), flows);
    plan.transports = tcp_only(dctcp());
    plan.switches[0].scheduling = classes(&[Service::Weight(1); 3]);
    plan.switches[0].buffer = Buffer::Unlimited;
    let own = |limit, marking| QueueConfig { buffer: Buffer::Unlimited, limit, marking };
    plan.switches[0].own = vec![
        own(Some(Limit::Bytes(300_000)), None),
        own(None, Some(step(Limit::Bytes(50_000)))),
        own(None, Some(step(Limit::Bytes(150_000)))),
    ];
    plan.run.until = Some(Time::from_ns(8_000_000));
    plan.record.ports = Some(PortSeries { interval: Span::from_us(500), nodes: vec![10] });
    let output = execute(&plan);
    let late = |queue: i32| rows(&output, queue).filter(|r| r.time > Time::from_ns(4_000_000));
    let most = |queue: i32| late(queue).map(|r| r.queue_bytes_max).max().unwrap();
    let (marks, drops) = (
        |queue| rows(&output, queue).map(|r| r.ecn_marks).sum::<u64>(),
        |queue| rows(&output, queue).map(|r| r.drops).sum::<u64>(),
    );
    assert_eq!((marks(0), drops(1), drops(2)), (0, 0, 0));
    assert!(drops(0) > 0 && marks(1) > 0 && marks(2) > 0);
    // A queue without marks fills up to its limit. With marks, it has the threshold plus the
    // segments that three senders add in the round trip of a mark.
    assert!(most(0) <= 300_000 && most(0) > 250_000, "{}", most(0));
    assert!((50_000..100_000).contains(&most(1)), "{}", most(1));
    assert!((150_000..200_000).contains(&most(2)), "{}", most(2));
    assert_eq!(marks(-1), marks(1) + marks(2));
}

/// Frames that are not ECN-capable are dropped by the curve of their queue.
#[test]
fn wred_per_queue() {
    let mut plan = overload(classes(&[Service::Weight(1), Service::Weight(1)]), &[1460; 2]);
    let buffer = plan.switches[0].buffer.clone();
    let own = |marking| QueueConfig { buffer: buffer.clone(), limit: None, marking };
    plan.switches[0].own = vec![own(Some(step(Limit::Bytes(40_000)))), own(None)];
    let output = execute(&plan);
    let most = |queue| rows(&output, queue).map(|r| r.queue_bytes_max).max().unwrap();
    // A frame that finds more than the step is dropped, so the maximum is one frame above the step.
    assert_eq!((most(0), most(1)), (40_500, 99_000));
    assert!(
        output.counters.drops_red > 0
            && output.counters.drops_buffer > 0
            && output.counters.ecn_marks == 0
    );
    let drops = |queue| rows(&output, queue).map(|r| r.drops).sum::<u64>();
    assert_eq!((drops(0), drops(1)), (output.counters.drops_red, output.counters.drops_buffer));
}

/// The series of a port is the sum of those of its queues, and no queue is ever longer than the
/// port.
#[test]
fn series_of_queues() {
    let mut plan = overload(
        classes(&[Service::Weight(2), Service::Weight(1), Service::Weight(1)]),
        &[1460, 700, 300],
    );
    plan.record.ports = Some(PortSeries { interval: Span::from_us(50), nodes: vec![4] });
    let output = execute(&plan);
    let frame = 1_500.0 * 8.0 / 100e9;
    for whole in rows(&output, -1) {
        let queues: Vec<_> = (0..3)
            .map(|queue| rows(&output, queue).find(|r| r.time == whole.time).unwrap())
            .collect();
        let sum = |of: fn(&PortRecord) -> u64| queues.iter().map(|r| of(r)).sum::<u64>();
        assert_eq!(whole.queue_bytes, sum(|r| r.queue_bytes));
        assert_eq!(whole.tx_bytes, sum(|r| r.tx_bytes));
        assert_eq!(whole.drops, sum(|r| r.drops));
        assert_eq!(whole.latency_max, queues.iter().map(|r| r.latency_max).max().unwrap());
        assert!(
            whole.queue_bytes_max <= sum(|r| r.queue_bytes_max)
                && queues.iter().all(|r| r.queue_bytes_max <= whole.queue_bytes_max)
        );
    }
    // A frame at the end of a full queue of 100 kB waits for the time that the queue's share of the
    // link needs for it: half, or a quarter.
    for (queue, share) in [(0, 0.5), (1, 0.25), (2, 0.25)] {
        let last = rows(&output, queue).last().unwrap();
        let expected = 100_000.0 * 8.0 / (share * 100e9);
        let waited = last.latency_max as f64 * 1e-12;
        // The tolerance is a round of turns (6 kB) in both directions.
        assert!(
            (waited - expected).abs() <= 5.0 * frame,
            "queue {queue}: {waited} s, expected {expected}"
        );
    }
}

/// Linux tcp_dctcp.c: DCTCP without ECN is Reno. If either end does not use ECN, the run equals
/// Reno's, frame for frame.
#[test]
fn dctcp_without_willing_ends_is_reno() {
    let with = |config: TcpConfig, unwilling: &[usize]| {
        let flows =
            (0..8).map(|s| flow(s as i64, s as u32 + 1, 0, 3_000_000, Time::ZERO)).collect();
        let mut plan = plan(star(9), flows);
        plan.transports = tcp_only(config);
        plan.hosts.push(HostConfig { ecn: false, ..host() });
        for node in unwilling {
            plan.topology.nodes[*node].config = 1;
        }
        plan.switches[0].marking = Some(step(Limit::Bytes(60_000)));
        let output = execute(&plan);
        (output.counters.ecn_marks, output.counters.dropped_packets, format!("{:?}", output.flows))
    };
    let senders: Vec<usize> = (1..9).collect();
    // A handshake detects the lack of ECN with the same result.
    for handshake in [false, true] {
        let shake = |config: TcpConfig| TcpConfig { handshake, ..config };
        let reno = with(shake(tcp()), &[]);
        for unwilling in [&[0][..], &senders] {
            let refused = with(shake(dctcp()), unwilling);
            assert!(
                refused.0 == 0 && refused.1 > 0,
                "the data are not ECN-capable: {} marks, {} drops",
                refused.0,
                refused.1
            );
            assert_eq!(refused, reno);
        }
        assert!(with(shake(dctcp()), &[]).0 > 0);
        // Each pair negotiates for itself: the other seven are marked.
        let (marks, _, flows) = with(shake(dctcp()), &senders[..1]);
        assert!(marks > 0 && flows != reno.2);
    }
}

/// Transports that build on TCP do not send ECN-capable frames from or to a host without ECN
/// either.
#[test]
fn hosts_without_ecn_are_never_marked() {
    let marks = |transport: TransportConfig, unwilling: Option<usize>| {
        let flows = (0..8).map(|s| flow(s as i64, s as u32 + 1, 0, 300_000, Time::ZERO)).collect();
        let mut plan = plan(star(9), flows);
        plan.transports = vec![transport];
        plan.hosts.push(HostConfig { ecn: false, ..host() });
        match unwilling {
            Some(0) => plan.topology.nodes[0].config = 1,
            Some(_) => (1..9).for_each(|node| plan.topology.nodes[node].config = 1),
            None => {}
        }
        plan.switches[0].marking = Some(step(Limit::Bytes(30_000)));
        execute(&plan).counters.ecn_marks
    };
    for handshake in [false, true] {
        let several = TransportConfig::Mptcp(MptcpConfig {
            tcp: TcpConfig { handshake, ..dctcp() },
            ..mptcp()
        });
        let marked = [None, Some(0), Some(1)].map(|unwilling| marks(several.clone(), unwilling));
        assert!(marked[0] > 0 && marked[1..] == [0, 0], "{marked:?}");
    }
    let ns2 = TransportConfig::Pfabric(ns2_tcp(dctcp_from(1.0)));
    let marked = [None, Some(0), Some(1)].map(|unwilling| marks(ns2.clone(), unwilling));
    assert!(marked[0] > 0 && marked[1..] == [0, 0], "{marked:?}");
}

/// Acknowledgements in a separate class overtake data on a busy reverse path.
#[test]
fn acknowledgements_first() {
    let time = |ack_priority| {
        // Datagrams overload the reverse path at the lowest priority. Its queue is full when the
        // flow starts.
        let datagrams = |id, src| Flow { transport: 1, ..flow(id, src, 1, 10_000_000, Time::ZERO) };
        let start = Time::from_ns(100_000);
        let mut plan =
            plan(star(3), vec![datagrams(1, 0), datagrams(2, 2), flow(0, 1, 0, 100_000, start)]);
        plan.transports = vec![
            TransportConfig::Tcp(TcpConfig { ack_priority, ..tcp() }),
            TransportConfig::Datagram(Datagram { rate: None, payload: 1460, ecn_capable: false }),
        ];
        plan.switches[0].scheduling = Scheduling::Priorities { queues: 2 };
        plan.hosts[0].scheduling = Scheduling::Priorities { queues: 2 };
        (execute(&plan).flows[2].finish.expect("it ends") - start).0
    };
    let (behind, first) = (time(None), time(Some(7)));
    // Three windows (10, 20 and 39 segments) take 4 us each, plus 120 ns per segment. An
    // acknowledgement waits for at most one frame in the host and the switch, or for a queue of 225
    // kB, 18 us.
    assert!(
        first < 30_000_000 && behind > 54_000_000,
        "{behind} ps behind the data, {first} ps first"
    );
}
