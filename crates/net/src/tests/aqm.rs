//! Tests queue disciplines in a network against the promises of their papers and RFCs.

use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Probability, Rate, Span, Time};

fn datagrams(rate: Rate) -> TransportConfig {
    TransportConfig::Datagram(Datagram { rate: Some(rate), payload: 1460, ecn_capable: false })
}

fn codel(target: Span, interval: Span) -> CodelConfig {
    CodelConfig { target, interval, ecn: false }
}

fn pie() -> PieConfig {
    PieConfig {
        target: Span::from_ms(15),
        t_update: Span::from_ms(15),
        alpha: 0.125,
        beta: 1.25,
        burst_allowance: Span::from_ms(150),
        ecn: false,
        ecn_threshold: None,
        derandomize: false,
    }
}

fn pi2() -> Pi2Config {
    let (target, t_update) = (Span::from_ms(15), Span::from_ms(16));
    Pi2Config {
        target,
        t_update,
        alpha: 0.16,
        beta: 3.2,
        ecn: false,
        scalable: false,
        coupling: None,
    }
}

/// A star in which hosts 1.. send to host 0 over `rate`. The other links are ten times as fast.
fn bottleneck(senders: u32, rate: Rate, delay: Span) -> Topology {
    let mut topology = star(senders + 1);
    for (i, link) in topology.links.iter_mut().enumerate() {
        link.rate = if i == 0 { rate } else { Rate(10 * rate.0) };
        link.delay = delay;
    }
    topology
}

fn slow_tcp() -> TcpConfig {
    TcpConfig { min_rto: Span::from_ms(200), initial_rto: Span::from_s(1), ..tcp() }
}

/// Returns the longest wait at the bottleneck in each interval after `warm`, in ms.
fn waits(output: &Output, warm: Span) -> Vec<f64> {
    output
        .ports
        .iter()
        .filter(|r| r.port == 0 && r.time > Time::ZERO + warm)
        .map(|r| r.latency_max as f64 * 1e-9)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// CoDel with the parameters of RFC 8289.
fn rfc8289() -> CodelConfig {
    codel(Span::from_ms(5), Span::from_ms(100))
}

/// A source that exceeds the rate of 100 Mb/s by a tenth for some seconds, and a capture of the
/// frames that pass.
fn overload(seconds: u64) -> Plan {
    let topology = bottleneck(1, Rate::from_mbps(100), Span::from_us(10));
    let mut plan = plan(topology, vec![flow(0, 1, 0, 1_000_000_000, Time::ZERO)]);
    plan.transports = vec![datagrams(Rate::from_mbps(110))];
    plan.switches[0].buffer = Buffer::Unlimited;
    plan.run.until = Some(Time::from_ns(seconds * 1_000_000_000));
    plan.record.captures = vec![Capture { link: 0, reverse: true }];
    plan
}

/// RFC 8289: under an unresponsive overload, drop k + 1 follows drop k after 100 ms / sqrt(k).
#[test]
fn codel_drops_ever_faster_under_constant_overload() {
    // After four seconds CoDel drops 40 frames per second, too few to have an effect.
    let mut plan = overload(4);
    plan.switches[0].aqm = Some(Aqm::Codel(rfc8289()));
    let output = run(&plan, &Progress::default()).unwrap();
    // A missing frame was dropped just before the frame behind it left.
    let sent = &output.captures[0];
    let drops: Vec<f64> = sent
        .windows(2)
        .filter(|w| w[1].sequence != w[0].sequence + w[0].payload as u64)
        .map(|w| w[1].time.0 as f64 * 1e-9)
        .collect();
    assert_eq!(output.counters.drops_red as usize, drops.len());
    assert!(drops.len() > 100, "{}", drops.len());
    for (k, pair) in drops.windows(2).enumerate() {
        let expected = 100.0 / libm::sqrt((k + 1) as f64);
        // Departures are 0.12 ms apart.
        assert!(
            (pair[1] - pair[0] - expected).abs() < 0.25,
            "k {}: {} ms, expected {expected}",
            k + 1,
            pair[1] - pair[0]
        );
    }
}

/// Memories of every kind that hold everything, and whether they have flow control.
fn large_memories() -> Vec<(Buffer, bool)> {
    const TOTAL: u64 = 1 << 33;
    let sonic = || Rules::Sonic(sonic_rules(8.0));
    let conweave =
        Rules::Conweave(ConweaveRules { ingress_alpha: 8.0, egress_alpha: 8.0, mtu: 1_048 });
    let nic_rate = Rate::from_mbps(100);
    let hpcc = Rules::Hpcc(HpccRules { shift: 0, nic_rate, reserved: 0, resume_offset: 0 });
    let deep = |ports_per_core| {
        Buffer::Voq(Voq {
            ports_per_core,
            grant_latency: Span::ZERO,
            max_bytes: Some(1 << 32),
            on_chip: 1 << 30,
            dram: 1 << 39,
            ..super::voq::deep()
        })
    };
    vec![
        (Buffer::Shared { total: TOTAL, alpha: 8.0, reserved_per_queue: 0 }, false),
        (Buffer::Mmu(mmu(TOTAL, sonic())), false),
        (Buffer::Mmu(mmu(TOTAL, sonic())), true),
        (Buffer::Mmu(mmu(TOTAL, conweave)), true),
        (Buffer::Mmu(mmu(TOTAL, hpcc)), true),
        (deep(None), false),
        // With one sending port, the queues of its core behave like a single queue.
        (deep(Some(1)), false),
    ]
}

/// A memory that holds everything has no influence: a discipline drops the same frames on every
/// kind of memory. All frames are accounted for at the end, which every run checks. Both also hold
/// with priority flow control that never pauses.
#[test]
fn disciplines_do_the_same_on_any_memory() {
    let disciplines = [
        Aqm::Codel(rfc8289()),
        fq_codel(rfc8289(), 1_514, 1_024, 10_240, 64),
        Aqm::Pie(pie()),
        Aqm::Pi2(pi2()),
    ];
    let red = Marking {
        kmax: Limit::Bytes(90_000),
        pmax: Probability::new(0.1).unwrap(),
        average_weight: Some(0.002),
        gentle: true,
        ..step(Limit::Bytes(30_000))
    };
    for (aqm, marking) in
        disciplines.into_iter().map(|aqm| (Some(aqm), None)).chain([(None, Some(red))])
    {
        let sent = |buffer: &Buffer, pauses: bool| {
            let mut plan = overload(2);
            let switch = &mut plan.switches[0];
            (switch.buffer, switch.aqm, switch.marking) =
                (buffer.clone(), aqm.clone(), marking.clone());
            let headroom = Headroom::Bytes(1_000_000);
            (switch.pfc, switch.honours_pause) =
                (pauses.then(|| Pfc { headroom, ..pfc(1) }), pauses);
            let output = run(&plan, &Progress::default()).unwrap();
            let frames = output.captures[0].iter();
            let capture: Vec<_> = frames.map(|frame| (frame.time, frame.sequence)).collect();
            let c = output.counters;
            (c.drops_red, c.pause_frames, c.dropped_packets, capture)
        };
        let expected = sent(&Buffer::Unlimited, false);
        assert!(expected.0 > 0 && expected.0 == expected.2, "{aqm:?}: {} drops", expected.0);
        // Each queue of PI² and of RED draws its own random numbers.
        let cores = !matches!(aqm, Some(Aqm::Pi2(_)) | None);
        for (buffer, pauses) in large_memories().iter().filter(|(buffer, _)| {
            cores || !matches!(buffer, Buffer::Voq(Voq { ports_per_core: Some(_), .. }))
        }) {
            let got = sent(buffer, *pauses);
            assert!(
                got == expected,
                "{aqm:?} on {buffer:?}: {} drops, {} pauses, expected {} drops",
                got.0,
                got.1,
                expected.0
            );
        }
    }
}

/// Drops by CoDel free the memory of a paused group, in its order. No frame is lost for lack of
/// memory, and every flow ends.
#[test]
fn drops_let_paused_groups_go_on() {
    let rate = Rate::from_gbps(10);
    let flows: Vec<Flow> =
        (0..4).map(|i| flow(i, 1 + i as u32, 0, 3_000_000, Time::ZERO)).collect();
    for (name, aqm) in [
        ("codel", Aqm::Codel(codel(Span::from_us(20), Span::from_us(200)))),
        ("fq_codel", fq_codel(codel(Span::from_us(20), Span::from_us(200)), 1_514, 64, 10_240, 64)),
    ] {
        let mut plan = plan(bottleneck(4, rate, Span::from_us(1)), flows.clone());
        plan.transports = tcp_only(tcp());
        let rules = Rules::Sonic(SonicRules {
            reserved: 1_500,
            xon: 1_500,
            xon_offset: 1_500,
            ..sonic_rules(0.25)
        });
        plan.switches[0].buffer = Buffer::Mmu(Mmu { cell: Some(256), ..mmu(2_000_000, rules) });
        let headroom = Headroom::Formula(Formula::WorstCase);
        plan.switches[0].pfc = Some(Pfc { headroom, ..pfc(1) });
        (plan.switches[0].honours_pause, plan.hosts[0].honours_pause) = (true, true);
        plan.switches[0].aqm = Some(aqm);
        let output = run(&plan, &Progress::default()).unwrap();
        let c = output.counters;
        eprintln!(
            "{name}: {} drops, {} pause frames, end {}",
            c.drops_red, c.pause_frames, output.end
        );
        assert!(c.drops_red > 20 && c.pause_frames > 2, "{name}: {c:?}");
        assert_eq!((c.in_discards, c.drops_buffer), (0, 0), "{name}");
        assert!(output.flows.iter().all(|flow| flow.finish.is_some()), "{name}");
    }
}

/// With responsive sources, the wait falls to about the target although the buffer is unlimited,
/// and the link stays busy.
#[test]
fn disciplines_hold_their_target() {
    let rate = Rate::from_mbps(100);
    for (name, aqm, target, from, to) in [
        ("codel", Aqm::Codel(codel(Span::from_ms(5), Span::from_ms(100))), 5.0, 0.3, 1.7),
        ("pie", Aqm::Pie(pie()), 15.0, 0.6, 1.4),
        ("pi2", Aqm::Pi2(pi2()), 15.0, 0.6, 1.4),
        ("pie, derandomised", Aqm::Pie(PieConfig { derandomize: true, ..pie() }), 15.0, 0.6, 1.4),
    ] {
        let flows = (0..4)
            .map(|i| flow(i, 1 + i as u32, 0, 2_000_000_000, Time::from_ns(i as u64 * 1_000_000)))
            .collect();
        // The round trip is 20 ms.
        let mut plan = plan(bottleneck(4, rate, Span::from_ms(5)), flows);
        plan.transports = tcp_only(slow_tcp());
        plan.switches[0].buffer = Buffer::Unlimited;
        plan.switches[0].aqm = Some(aqm);
        plan.run.until = Some(Time::from_ns(30_000_000_000));
        plan.record.ports = Some(PortSeries { interval: Span::from_ms(10), nodes: vec![5] });
        let output = run(&plan, &Progress::default()).unwrap();
        let waits = waits(&output, Span::from_s(5));
        let average = mean(&waits);
        let bytes: u64 = output
            .ports
            .iter()
            .filter(|r| r.port == 0 && r.time > Time::from_ns(5_000_000_000))
            .map(|r| r.tx_bytes)
            .sum();
        let share = bytes as f64 * 8.0 / (rate.0 as f64 * 25.0);
        eprintln!(
            "{name}: mean wait {average:.2} ms, link {:.1} % busy, {} drops",
            100.0 * share,
            output.counters.drops_red
        );
        assert!(average > from * target && average < to * target, "{name}: {average} ms");
        assert!(share > 0.93, "{name}: {share}");
    }
}

/// PI² marks NewReno with p' squared (1.22 / sqrt(p) segments per round trip) and DCTCP with twice
/// p' (2 / p segments), so their windows have the ratio 1.22 : 1.
#[test]
fn pi2_lets_classic_and_scalable_flows_live_together() {
    let rate = Rate::from_mbps(100);
    let flows = (0..4)
        .map(|i| Flow {
            transport: (i % 2) as u16,
            ..flow(i, 1 + i as u32, 0, 2_000_000_000, Time::from_ns(i as u64 * 1_000_000))
        })
        .collect();
    let mut plan = plan(bottleneck(4, rate, Span::from_ms(2)), flows);
    plan.transports = vec![
        TransportConfig::Tcp(slow_tcp()),
        TransportConfig::Tcp(TcpConfig { min_rto: Span::from_ms(200), ..dctcp() }),
    ];
    plan.switches[0].buffer = Buffer::Unlimited;
    plan.switches[0].aqm =
        Some(Aqm::Pi2(Pi2Config { ecn: true, scalable: true, coupling: Some(2.0), ..pi2() }));
    plan.run.until = Some(Time::from_ns(30_000_000_000));
    let output = run(&plan, &Progress::default()).unwrap();
    let share = |which: usize| {
        output
            .flows
            .iter()
            .skip(which)
            .step_by(2)
            .map(|f| f.bytes_received as f64 * 8.0 / (rate.0 as f64 * 30.0))
            .sum::<f64>()
    };
    let (classic, scalable) = (share(0), share(1));
    eprintln!(
        "pi2: classic {classic:.3}, scalable {scalable:.3}, {} drops, {} marks",
        output.counters.drops_red, output.counters.ecn_marks
    );
    assert!(
        classic + scalable > 0.9 && classic / scalable > 0.6 && classic / scalable < 1.7,
        "{classic} {scalable}"
    );
}

/// Elephants behind FQ-CoDel share equally, including an unresponsive one, and a mouse hardly
/// waits.
#[test]
fn fq_codel_isolates() {
    let rate = Rate::from_mbps(100);
    let (ms, end) = (1_000_000u64, 10_000u64);
    let mut flows =
        vec![flow(0, 1, 0, 2_000_000_000, Time::ZERO), flow(1, 2, 0, 2_000_000_000, Time::ZERO)];
    flows.push(Flow { transport: 1, ..flow(2, 3, 0, 2_000_000_000, Time::ZERO) });
    // The mouse sends a frame every 50 ms.
    flows.extend((0..180u64).map(|i| Flow {
        transport: 1,
        ..flow(3 + i as i64, 4, 0, 200, Time::from_ns((1_000 + 50 * i) * ms))
    }));
    let mouse = |aqm: Option<Aqm>| {
        let mut plan = plan(bottleneck(4, rate, Span::from_ms(1)), flows.clone());
        plan.transports = vec![TransportConfig::Tcp(slow_tcp()), datagrams(Rate::from_mbps(90))];
        // FQ-CoDel has its own limit, which drops frames of the longest flow.
        let tail = Buffer::Static { per_queue: Limit::Bytes(2_000_000), drop_when: Compare::Above };
        plan.switches[0].buffer = if aqm.is_some() { Buffer::Unlimited } else { tail };
        plan.switches[0].aqm = aqm;
        plan.run.fct_end = FctEnd::LastByte;
        plan.run.until = Some(Time::from_ns(end * ms));
        let output = run(&plan, &Progress::default()).unwrap();
        let waits: Vec<f64> = output.flows[3..]
            .iter()
            .filter_map(|f| Some((f.finish?.since(f.start?).0 - f.ideal.0) as f64 * 1e-9))
            .collect();
        let shares: Vec<f64> = output.flows[..3]
            .iter()
            .map(|f| f.bytes_received as f64 * 8.0 / (rate.0 as f64 * end as f64 * 1e-3))
            .collect();
        (waits, shares)
    };
    let fq = fq_codel(codel(Span::from_ms(5), Span::from_ms(100)), 1_514, 1_024, 1_024, 64);
    let (waits, shares) = mouse(Some(fq));
    eprintln!("fq_codel: mouse waits {:.3} ms, shares {shares:.3?}", mean(&waits));
    assert_eq!(waits.len(), 180);
    // The mouse waits for the frame in transmission (0.12 ms), and sometimes for another flow that
    // is new at that time. It shares no bucket here.
    assert!(mean(&waits) < 0.121 && waits.iter().all(|&wait| wait <= 0.361), "{waits:?}");
    assert!(shares.iter().all(|&share| (share - 0.973 / 3.0).abs() < 0.02), "{shares:?}");
    let (waits, shares) = mouse(None);
    eprintln!("drop-tail: mouse waits {:.3} ms, shares {shares:.3?}", mean(&waits));
    assert!(mean(&waits) > 50.0 && shares[2] > 0.6);
}

/// As in ns-3's queue, a frame is marked if it finds K frames in the discipline. The device queue
/// and the transmitter hold two more.
#[test]
fn a_step_before_a_device_queue() {
    let largest = |device_queue: u32| {
        let flows = (0..2)
            .map(|s| Flow { transport: 0, ..flow(s, 1 + s as u32, 0, 200_000, Time::ZERO) })
            .collect();
        let mut plan = plan(star(3), flows);
        plan.transports = vec![datagrams(Rate::from_gbps(100))];
        plan.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Packets(10), drop_when: Compare::Above };
        plan.switches[0].queue_length = QueueLength::BeforeTransmission;
        plan.switches[0].device_queue = device_queue;
        plan.record.ports = Some(PortSeries { interval: Span::from_us(5), nodes: vec![3] });
        let output = run(&plan, &Progress::default()).unwrap();
        (
            output.ports.iter().filter(|r| r.port == 0).map(|r| r.queue_bytes_max).max().unwrap(),
            output.counters.drops_buffer,
        )
    };
    assert_eq!(largest(0).0, 11 * 1_500);
    assert_eq!(largest(1).0, 12 * 1_500);
    assert_eq!(largest(5).0, 16 * 1_500);
    assert_eq!(largest(0).1, largest(5).1 + 5);
}

/// A drop-tail queue of n packets before a device queue of m packets equals a queue of n + m
/// packets.
#[test]
fn a_device_queue_is_part_of_a_fifo() {
    let flows =
        || (0..6).map(|s| flow(s, 1 + s as u32, 0, 300_000, Time::ZERO)).collect::<Vec<_>>();
    let result = |packets: u32, device_queue: u32| {
        let mut plan = plan(star(7), flows());
        plan.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Packets(packets), drop_when: Compare::Above };
        plan.switches[0].queue_length = QueueLength::BeforeTransmission;
        plan.switches[0].device_queue = device_queue;
        let output = run(&plan, &Progress::default()).unwrap();
        assert!(output.counters.drops_buffer > 0);
        format!("{:?} {:?}", output.flows, output.counters)
    };
    assert_eq!(result(20, 0), result(19, 1));
    assert_eq!(result(20, 0), result(13, 7));
}

/// With responsive sources, the average of RED settles between its thresholds, where the curve
/// gives the loss rate that TCP needs.
#[test]
fn red_settles_between_its_thresholds() {
    let rate = Rate::from_mbps(100);
    for spacing in
        [Spacing::Independent, Spacing::Uniform, Spacing::Ns2, Spacing::Ns3, Spacing::Linux]
    {
        let flows = (0..8)
            .map(|i| flow(i, 1 + i as u32, 0, 2_000_000_000, Time::from_ns(i as u64 * 1_000_000)))
            .collect();
        let mut plan = plan(bottleneck(8, rate, Span::from_ms(5)), flows);
        plan.transports = tcp_only(slow_tcp());
        plan.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Packets(1_000), drop_when: Compare::Above };
        plan.switches[0].device_queue = 1;
        plan.switches[0].marking = Some(Marking {
            kmax: Limit::Packets(90),
            pmax: Probability::new(0.02).unwrap(),
            compare: Compare::AtOrAbove,
            average_weight: Some(0.002),
            gentle: true,
            spacing,
            ..step(Limit::Packets(30))
        });
        plan.run.until = Some(Time::from_ns(30_000_000_000));
        plan.record.ports = Some(PortSeries { interval: Span::from_ms(10), nodes: vec![9] });
        let output = run(&plan, &Progress::default()).unwrap();
        let queue: Vec<f64> = output
            .ports
            .iter()
            .filter(|r| r.port == 0 && r.time > Time::from_ns(5_000_000_000))
            .map(|r| r.queue_bytes as f64 / 1500.0)
            .collect();
        eprintln!(
            "{spacing:?}: mean queue {:.1}, {} early drops, {} others",
            mean(&queue),
            output.counters.drops_red,
            output.counters.drops_buffer
        );
        assert!(mean(&queue) > 30.0 && mean(&queue) < 92.0, "{spacing:?}: {}", mean(&queue));
    }
}
