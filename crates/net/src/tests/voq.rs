//! Tests deep buffers with virtual output queues: caps, DRAM, credits.

use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

pub(super) fn deep() -> Voq {
    Voq {
        ingress: VoqIngress::Core,
        ports_per_core: None,
        credit: Some(2_000),
        grant_latency: Span::from_ns(1_500),
        credit_speedup: None,
        max_credits: None,
        fabric_speedup: None,
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
        xoff: None,
        xon: None,
    }
}

fn datagram(gbps: u64) -> TransportConfig {
    TransportConfig::Datagram(Datagram {
        rate: Some(Rate::from_gbps(gbps)),
        payload: 1460,
        ecn_capable: false,
    })
}

/// Hosts around one deep switch, with links of 25 Gbps.
fn context(
    voq: Voq,
    hosts: u32,
    flows: Vec<Flow>,
    transports: Vec<TransportConfig>,
    ms: f64,
) -> Plan {
    let mut topology = star(hosts);
    topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(25));
    let mut plan = plan(topology, flows);
    plan.transports = transports;
    plan.switches[0].buffer = Buffer::Voq(voq);
    plan.run.until = Some(Time::from_ns((ms * 1e6) as u64));
    plan
}

/// Runs the plan with a series of the switch's ports, among them the port to host 0.
fn port_to_host_0(plan: &mut Plan, interval: Span) -> Output {
    plan.record.ports = Some(PortSeries { interval, nodes: vec![plan.topology.hosts] });
    run(plan, &Progress::default()).unwrap()
}

/// Spec of deep buffers: one unresponsive source at the port's rate competes with TCP. The queue
/// stays at its cap, so every frame waits cap / rate: 40 ms with 125 MB at 25 Gbps. `cap_ms` scales
/// both.
fn standing_queue(voq: Voq, cap: u64, cap_ms: f64) {
    // A second source fills the queue while TCP's window is still small.
    let fills = (25e9 / 8.0 * cap_ms / 1e3 * 1.1) as u64 / 1_500 * 1_460;
    let endless = |id, src| flow(id, src, 0, 1 << 40, Time::ZERO);
    let flows = vec![
        endless(0, 1),
        Flow { transport: 1, ..endless(1, 2) },
        flow(2, 3, 0, fills, Time::ZERO),
    ];
    let mut plan =
        context(voq, 4, flows, vec![datagram(25), TransportConfig::Tcp(tcp())], 4.0 * cap_ms);
    let output = port_to_host_0(&mut plan, Span::from_ns((cap_ms * 1e5) as u64));
    let settled: Vec<_> = output
        .ports
        .iter()
        .filter(|r| r.port == 0 && r.time.0 as f64 > 2.0 * cap_ms * 1e9)
        .collect();
    assert!(settled.len() >= 19);
    // A frame waits for the frames ahead of it. Its own time is not part of the wait.
    let (full, frame) = (cap / 1_500 * 1_500, 1_500);
    for row in settled {
        assert!(row.queue_bytes <= cap && row.queue_bytes >= full - 2 * frame, "{row:?}");
        let wait_ps = Rate::from_gbps(25).serialize(full - frame).0;
        assert!(
            row.latency_max <= wait_ps
                && row.latency_max >= wait_ps - 2 * Rate::from_gbps(25).serialize(frame).0,
            "{row:?}, expected {wait_ps} ps"
        );
    }
    assert!(
        output.counters.drops_buffer > 0 && output.counters.drops_dram == 0,
        "{:?}",
        output.counters
    );
}

#[test]
fn a_standing_queue_delays_by_its_cap() {
    standing_queue(Voq { max_bytes: Some(1_250_000), ..deep() }, 1_250_000, 0.4);
}

#[test]
fn the_cap_in_time_counts_if_it_is_smaller() {
    standing_queue(
        Voq { max_bytes: Some(1_250_000), max_time: Some(Span::from_us(200)), ..deep() },
        625_000,
        0.2,
    );
}

#[test]
fn a_queue_of_25g_is_40_ms_deep_by_default() {
    standing_queue(deep(), 125_000_000, 40.0);
}

/// The ideal time includes both parts of the latency: a single flow of datagrams has a slowdown of
/// exactly 1.
#[test]
fn a_lone_flow_waits_for_the_grant_only() {
    for ports_per_core in [None, Some(1)] {
        let flows = vec![flow(0, 1, 0, 1_460 * 1_000, Time::ZERO)];
        let transports = vec![TransportConfig::Datagram(Datagram {
            rate: None,
            payload: 1460,
            ecn_capable: false,
        })];
        let mut plan = context(Voq { ports_per_core, ..deep() }, 2, flows, transports, 10.0);
        plan.switches[0].latency = Span::from_ns(2_300);
        let record = &run(&plan, &Progress::default()).unwrap().flows[0];
        // Two links of 1 us, 3.8 us between them, a thousand frames, and one more frame for store
        // and forward.
        let expected = Span::from_ns(5_800 + 1_001 * 480);
        assert_eq!((record.ideal, record.finish), (expected, Some(Time(expected.0))));
    }
}

/// Two sources with 25 Gbps each send to one port of 25 Gbps. Once the DRAM is used, it writes 30
/// Gbps and loses the other 20.
#[test]
fn dram_bandwidth_is_a_limit_of_its_own() {
    let voq = Voq { dram_bandwidth: Some(Rate::from_gbps(60)), write_buffer: 15_000, ..deep() };
    let endless = |id, src| flow(id, src, 0, 1 << 40, Time::ZERO);
    let mut plan = context(voq, 3, vec![endless(0, 1), endless(1, 2)], vec![datagram(25)], 2.0);
    let output = port_to_host_0(&mut plan, Span::from_us(100));
    let counters = output.counters;
    assert_eq!(counters.dropped_packets, counters.drops_dram);
    let rows: Vec<_> = output.ports.iter().filter(|r| r.port == 0).collect();
    // The queue reaches 200 kB after 64 us. From then on it grows by 5 Gbps.
    let (early, late) =
        (rows.iter().find(|r| r.time.0 == 200_000_000).unwrap(), rows.last().unwrap());
    let grown =
        (late.queue_bytes - early.queue_bytes) as f64 / (late.time.0 - early.time.0) as f64 * 8e3;
    assert!((grown - 5.0).abs() < 0.05, "{grown} Gbps");
    let lost: u64 = rows.iter().filter(|r| r.time.0 > 200_000_000).map(|r| r.drops).sum();
    let lost = lost as f64 * 1_500.0 / (late.time.0 - early.time.0) as f64 * 8e3;
    assert!((lost - 20.0).abs() < 0.1, "{lost} Gbps");
}

/// A queue below the eviction threshold needs no DRAM.
#[test]
fn short_queues_stay_on_the_chip() {
    let voq = Voq { dram_bandwidth: Some(Rate::from_mbps(1)), write_buffer: 1, ..deep() };
    let bursts =
        |bytes: u64| vec![flow(0, 1, 0, bytes, Time::ZERO), flow(1, 2, 0, bytes, Time::ZERO)];
    let lost = |bytes| {
        run(&context(voq.clone(), 3, bursts(bytes), vec![datagram(25)], 2.0), &Progress::default())
            .unwrap()
            .counters
            .drops_dram
    };
    // Two bursts of n frames at twice the port's rate leave about n of them in the queue.
    assert_eq!(lost(1_460 * 130), 0);
    assert!(lost(1_460 * 200) > 0);
}

/// With one queue for all ports of a core, ports share in proportion to their load. With a queue
/// per port, each has its turn.
#[test]
fn credits_are_given_in_turn() {
    let shares = |ports_per_core| {
        let endless =
            |id, src, transport| Flow { transport, ..flow(id, src, 0, 1 << 40, Time::ZERO) };
        // The sources send 40 Gbps to a port of 25 Gbps: 25 from one, and 15 from two others.
        let flows = vec![endless(0, 1, 0), endless(1, 2, 1), endless(2, 3, 2)];
        let voq = Voq { ports_per_core, max_bytes: Some(300_000), ..deep() };
        let output = run(
            &context(voq, 4, flows, vec![datagram(25), datagram(10), datagram(5)], 4.0),
            &Progress::default(),
        )
        .unwrap();
        [0, 1, 2].map(|flow| output.flows[flow].bytes_received as f64 * 8.0 / 4e6 * 1500.0 / 1460.0)
    };
    let near = |got: [f64; 3], expected: [f64; 3]| {
        for (got, expected) in got.iter().zip(expected) {
            // The first 2 % of the run have no standing queue.
            assert!((got - expected).abs() < 0.35, "{got} Gbps, expected {expected}");
        }
    };
    // Max-min shares: the source of 5 Gbps gets all it needs, and the others get half of the rest
    // each.
    near(shares(Some(1)), [10.0, 10.0, 5.0]);
    let together = shares(None);
    assert!(together[0] > 14.0 && together[1] < 7.5 && together[2] < 4.0, "{together:?}");
}

/// Ports 0 and 1 belong to one core, 2 and 3 to another. The cores share equally, whatever the load
/// of their ports.
#[test]
fn cores_share_not_ports() {
    let endless = |id, src| flow(id, src, 0, 1 << 40, Time::ZERO);
    let flows = vec![endless(0, 1), endless(1, 2), endless(2, 3)];
    let voq = Voq { ports_per_core: Some(2), max_bytes: Some(300_000), ..deep() };
    let output =
        run(&context(voq, 4, flows, vec![datagram(25)], 4.0), &Progress::default()).unwrap();
    let gbps = |flow: usize| output.flows[flow].bytes_received as f64 * 8.0 / 4e6 * 1500.0 / 1460.0;
    assert!((gbps(0) - 12.5).abs() < 0.3, "{}", gbps(0));
    assert!((gbps(1) + gbps(2) - 12.5).abs() < 0.3, "{} + {}", gbps(1), gbps(2));
}

/// The length of the queue that a frame joins, or leaves behind, decides about marks.
#[test]
fn marks_hold_a_deep_queue_short() {
    for (at, ports_per_core) in
        [(MarkAt::Enqueue, None), (MarkAt::Dequeue, None), (MarkAt::Dequeue, Some(8))]
    {
        let flows = (1..5).map(|src| flow(src as i64, src, 0, 1 << 40, Time::ZERO)).collect();
        let mut plan = context(Voq { ports_per_core, ..deep() }, 5, flows, tcp_only(dctcp()), 5.0);
        plan.switches[0].marking = Some(Marking { at, ..step(Limit::Bytes(100_000)) });
        let output = port_to_host_0(&mut plan, Span::from_us(50));
        assert!(output.counters.ecn_marks > 0 && output.counters.dropped_packets == 0);
        let settled = output.ports.iter().filter(|r| r.port == 0 && r.time.0 > 2_000_000_000);
        assert!(
            settled.clone().count() > 50
                && settled
                    .clone()
                    .all(|r| r.queue_bytes_max < 200_000 && r.queue_bytes_max > 50_000)
        );
    }
}

/// Marking at dequeue: each frame that leaves more than the threshold behind is marked.
#[test]
fn marks_at_dequeue_look_at_what_is_left_behind() {
    // 200 frames are there when the first of them leaves after 0.48 us. No more frames arrive, so
    // frame i leaves 199 - i behind.
    let flows = vec![flow(0, 1, 0, 1_460 * 200, Time::ZERO)];
    let mut plan = context(
        deep(),
        2,
        flows,
        vec![TransportConfig::Datagram(Datagram { rate: None, payload: 1460, ecn_capable: true })],
        2.0,
    );
    // The input has 25 Gbps and the output 25 Mbps, so almost all of the burst has arrived before
    // the second frame leaves.
    plan.topology.links[0].rate = Rate::from_mbps(25);
    plan.switches[0].marking = Some(Marking { at: MarkAt::Dequeue, ..step(Limit::Packets(50)) });
    plan.run.until = None;
    let output = run(&plan, &Progress::default()).unwrap();
    // The first frame leaves none behind. Among the others, those with 51 to 198 frames behind
    // them are marked.
    assert_eq!(output.counters.ecn_marks, 148);
}

/// Returns the rate in Gbps of frames at which the port to host 0 sends, while sources 1.. send at
/// 25 Gbps each.
fn sent_to_host_0(voq: Voq, sources: u32) -> f64 {
    sent_by(&mut sending_to_host_0(voq, sources))
}

fn sending_to_host_0(voq: Voq, sources: u32) -> Plan {
    let flows = (1..=sources).map(|src| flow(src as i64, src, 0, 1 << 40, Time::ZERO)).collect();
    let voq = Voq { credit: Some(1_500), max_bytes: Some(300_000), ..voq };
    context(voq, sources + 1, flows, vec![datagram(25)], 4.0)
}

fn sent_by(plan: &mut Plan) -> f64 {
    let output = port_to_host_0(plan, Span::from_us(50));
    let rows: Vec<_> = output
        .ports
        .iter()
        .filter(|r| r.port == 0 && r.queue == -1 && r.time.0 > 500_000_000)
        .collect();
    rows.iter().map(|r| r.tx_bytes).sum::<u64>() as f64 * 8.0 / (rows.len() as f64 * 50e3)
}

/// A port sends at the minimum of four rates: its own rate, the rate of its credits, the credits in
/// flight times their size per round trip of a grant, and the fabric's rate from each core that
/// feeds it.
#[test]
fn a_port_without_credits_starves() {
    let rate = 25.0;
    for (credit_speedup, max_credits, fabric_speedup) in [
        (None, None, None),
        (Some(1.02), Some(100), Some(1.5)),
        (Some(0.5), None, None),
        (None, Some(2), None),
        (None, Some(1), None),
        (None, None, Some(0.8)),
        (Some(0.9), Some(3), Some(0.7)),
        (Some(0.6), Some(2), Some(0.9)),
    ] {
        let voq = Voq { credit_speedup, max_credits, fabric_speedup, ..deep() };
        // Each credit allows 1500 B per 1.5 us.
        let expected = [
            credit_speedup.unwrap_or(1.0) * rate,
            f64::from(max_credits.unwrap_or(100)) * 8.0,
            fabric_speedup.unwrap_or(1.0) * rate,
        ];
        let expected = expected.into_iter().fold(rate, f64::min);
        let sent = sent_to_host_0(voq.clone(), 1);
        // The tolerance is two frames in 3.5 ms.
        assert!(
            (sent - expected).abs() < 2.0 * 12e3 / 3.5e6,
            "{credit_speedup:?} {max_credits:?} {fabric_speedup:?}: {sent} Gbps, expected {expected}"
        );
        // Two cores share the scheduler, and have a fabric each.
        let expected = [
            credit_speedup.unwrap_or(1.0) * rate,
            f64::from(max_credits.unwrap_or(100)) * 8.0,
            2.0 * fabric_speedup.unwrap_or(1.0) * rate,
        ];
        let expected = expected.into_iter().fold(rate, f64::min);
        let sent = sent_to_host_0(Voq { ports_per_core: Some(2), ..voq }, 2);
        assert!(
            (sent - expected).abs() < 2.0 * 12e3 / 3.5e6,
            "two cores, {credit_speedup:?} {max_credits:?} {fabric_speedup:?}: {sent} Gbps, expected {expected}"
        );
    }
}

/// The rate of credits is that of the port's direction: host 0 sends at 10 Gbps and receives at 25.
#[test]
fn credits_follow_the_rate_of_their_direction() {
    let mut plan = sending_to_host_0(Voq { credit_speedup: Some(0.9), ..deep() }, 1);
    let link = &mut plan.topology.links[0];
    (link.rate_back, link.rate) = (Some(link.rate), Rate::from_gbps(10));
    let sent = sent_by(&mut plan);
    assert!((sent - 22.5).abs() < 2.0 * 12e3 / 3.5e6, "{sent} Gbps");
}

/// At low load, only the round trip of request and grant is added, whatever limits the credits.
#[test]
fn at_low_load_a_credit_takes_its_round_trip_only() {
    for grant in [1_500, 8_000] {
        let flows =
            (0..20).map(|i| flow(i, 1, 0, 1_460, Time::from_ns(i as u64 * 50_000))).collect();
        let voq = Voq {
            credit_speedup: Some(0.5),
            max_credits: Some(1),
            fabric_speedup: Some(0.5),
            grant_latency: Span::from_ns(grant),
            ..deep()
        };
        let output =
            run(&context(voq, 2, flows, vec![datagram(25)], 10.0), &Progress::default()).unwrap();
        for record in &output.flows {
            // Two links of 1 us and 480 ns each.
            let took = record.finish.unwrap().since(record.start.unwrap());
            assert_eq!(
                (took, record.ideal),
                (Span::from_ns(2_960 + grant), Span::from_ns(2_960 + grant))
            );
        }
    }
}

fn pausing(voq: Voq, headroom: Headroom) -> (Voq, Pfc) {
    (Voq { xoff: Some(60_000), xon: Some(30_000), ..voq }, Pfc { headroom, ..pfc(1) })
}

/// Two sources of 25 Gbps send to one port of 25 Gbps, through a deep switch that pauses. Each
/// holds at most xoff and its headroom, and the port never idles. Nothing is lost, although the
/// queue's cap is far below. With too little headroom, frames are lost at ingress, and only there.
#[test]
fn a_deep_switch_pauses_whoever_holds_too_much() {
    for ports_per_core in [None, Some(1)] {
        let run_with = |headroom| {
            let endless = |id, src| flow(id, src, 0, 1 << 40, Time::ZERO);
            let (voq, pfc) =
                pausing(Voq { ports_per_core, max_bytes: Some(20_000), ..deep() }, headroom);
            let mut plan =
                context(voq, 3, vec![endless(0, 1), endless(1, 2)], vec![datagram(25)], 4.0);
            plan.switches[0].pfc = Some(pfc);
            plan.hosts[0].honours_pause = true;
            let needed = crate::headrooms(&plan)[0].bytes();
            (port_to_host_0(&mut plan, Span::from_us(50)), needed)
        };
        let (output, headroom) = run_with(Headroom::Formula(Formula::WorstCase));
        let c = output.counters;
        assert!(c.pause_frames > 10 && c.dropped_packets == 0, "{c:?}");
        let rows: Vec<_> = output
            .ports
            .iter()
            .filter(|r| r.port == 0 && r.queue == -1 && r.time.0 > 500_000_000)
            .collect();
        assert!(rows.iter().all(|r| r.queue_bytes_max <= 2 * (60_000 + headroom)), "{rows:?}");
        assert!(rows.iter().any(|r| r.queue_bytes_max > 60_000));
        let sent: u64 = rows.iter().map(|r| r.tx_bytes).sum();
        let line = 25e9 / 8.0 * 50e-6 * rows.len() as f64;
        assert!((sent as f64 - line).abs() <= 1_500.0, "{sent} of {line} B");
        let (output, _) = run_with(Headroom::Bytes(3_000));
        let c = output.counters;
        assert!(c.in_discards > 0 && c.in_discards == c.dropped_packets, "{c:?}");
    }
}

/// A switch with virtual output queues obeys PAUSE. Its port sends while its peer does not pause
/// it, minus at most the frame in transmission when a pause arrives. A switch that does not obey
/// continues at the port's rate.
#[test]
fn virtual_output_queues_obey_pause() {
    for (ports_per_core, honours, aqm) in [
        (None, true, None),
        (Some(1), true, None),
        (
            None,
            true,
            Some(fq_codel(
                CodelConfig { target: Span::from_ms(5), interval: Span::from_ms(100), ecn: true },
                1_514,
                64,
                10_240,
                64,
            )),
        ),
        (Some(1), false, None),
    ] {
        let mut plan = context(
            Voq { ports_per_core, ..deep() },
            2,
            vec![flow(0, 1, 0, 1 << 40, Time::ZERO)],
            vec![datagram(25)],
            4.0,
        );
        let pause = PauseTime::Time(Span::from_us(40));
        let storm = Storm {
            priority: 0,
            from: Time::ZERO,
            until: None,
            period: Span::from_us(100),
            pause_time: None,
            pause,
        };
        plan.hosts.push(HostConfig { storm: Some(storm), ..plan.hosts[0].clone() });
        plan.topology.nodes[0].config = 1;
        (plan.switches[0].honours_pause, plan.switches[0].aqm) = (honours, aqm);
        let output = port_to_host_0(&mut plan, Span::from_us(100));
        let rows: Vec<_> = output
            .ports
            .iter()
            .filter(|r| r.port == 0 && r.queue == -1 && r.time.0 > 500_000_000)
            .collect();
        // Quanta are rounded up.
        let quanta: f64 = 512.0 / 25e9;
        let part = if honours { 1.0 - (40e-6 / quanta).ceil() * quanta / 100e-6 } else { 1.0 };
        let line = 25e9 / 8.0 * 100e-6 * rows.len() as f64;
        let sent = rows.iter().map(|r| r.tx_bytes).sum::<u64>() as f64;
        assert!(
            sent >= part * line - 1_500.0 && sent <= part * line + 1_500.0 * rows.len() as f64,
            "{ports_per_core:?}, {honours}: {sent} of {line}, {part}"
        );
        assert!(
            rows.iter().all(|r| if honours { r.paused > 39_000_000 } else { r.paused == 0 }),
            "{:?}",
            rows[0]
        );
    }
}

/// Two to eight queues with these service rules. Priority p goes to queue p, and higher priorities
/// go to the last queue.
fn classes(service: &[Service]) -> Scheduling {
    let last = service.len() as u8 - 1;
    Scheduling::Classes(Classes {
        of_priority: std::array::from_fn(|priority| (priority as u8).min(last)),
        service: service.to_vec(),
        quantum: 1_500,
    })
}

/// Returns the share of each of three classes in the bytes to host 0, while one source per class
/// sends at the port's rate.
fn shares_of_classes(voq: Voq, scheduling: Scheduling) -> [f64; 3] {
    let flows = (0..3)
        .map(|class| Flow {
            priority: class as u8,
            ..flow(class, class as u32 + 1, 0, 1 << 40, Time::ZERO)
        })
        .collect();
    let mut plan =
        context(Voq { max_bytes: Some(300_000), ..voq }, 4, flows, vec![datagram(25)], 5.0);
    plan.switches[0].scheduling = scheduling;
    let output = run(&plan, &Progress::default()).unwrap();
    let bytes = [0, 1, 2].map(|flow| output.flows[flow].bytes_received as f64);
    bytes.map(|of_class| of_class / bytes.iter().sum::<f64>())
}

/// Returns every combination of feeding and granting: one core, a queue per ingress port, and
/// credits that run out because of their rate, their number or the fabric.
fn feeds() -> Vec<Voq> {
    let mut feeds = Vec::new();
    for ports_per_core in [None, Some(1), Some(2)] {
        let limits = [
            (None, None, None),
            (Some(1.02), None, None),
            (Some(0.8), None, None),
            (None, Some(2), None),
            (Some(1.02), Some(64), Some(1.5)),
        ];
        feeds.extend(limits.map(|(credit_speedup, max_credits, fabric_speedup)| Voq {
            ports_per_core,
            credit_speedup,
            max_credits,
            fabric_speedup,
            ..deep()
        }));
    }
    feeds
}

/// Saturated classes have their shares within 1 %, by percent (ETS) and by weight (DWRR). A strict
/// class has the whole port. All feeds give the same result.
#[test]
fn classes_have_their_shares() {
    let ets = [20, 30, 50].map(Service::Bandwidth);
    let dwrr = [14, 15, 1].map(Service::Weight);
    for voq in feeds() {
        for (service, expected) in [(ets, [0.2, 0.3, 0.5]), (dwrr, [14.0 / 30.0, 0.5, 1.0 / 30.0])]
        {
            let shares = shares_of_classes(voq.clone(), classes(&service));
            let near = shares.iter().zip(expected).all(|(share, expected): (&f64, f64)| {
                (share - expected).abs() < 0.01 * expected.max(0.1)
            });
            assert!(
                near,
                "{shares:?} for {service:?}, {:?} {:?} {:?} {:?}",
                voq.ports_per_core, voq.credit_speedup, voq.max_credits, voq.fabric_speedup
            );
        }
        let shares = shares_of_classes(
            voq.clone(),
            classes(&[Service::Weight(1), Service::Weight(2), Service::Strict]),
        );
        assert!(
            shares[2] > 0.99,
            "{shares:?}, {:?} {:?} {:?} {:?}",
            voq.ports_per_core,
            voq.credit_speedup,
            voq.max_credits,
            voq.fabric_speedup
        );
    }
}

/// Queues with separate blocks that are all strict are served like those of a plain number of
/// priorities.
#[test]
fn strict_classes_are_priorities() {
    for voq in feeds() {
        let of = |scheduling| shares_of_classes(voq.clone(), scheduling);
        let [blocks, plain] =
            [of(classes(&[Service::Strict; 3])), of(Scheduling::Priorities { queues: 3 })];
        // A frame that finds the port idle leaves at once with priorities, and waits for its turn
        // with classes.
        assert!(
            blocks.iter().zip(plain).all(|(a, b)| (a - b).abs() < 1e-3),
            "{blocks:?} {plain:?}"
        );
    }
}

/// Each class marks at its own threshold, and is cut off at its own limit, in each of its virtual
/// output queues.
#[test]
fn classes_have_their_own_marks_and_limits() {
    for ports_per_core in [None, Some(1)] {
        let flows = (0..3)
            .map(|class| Flow {
                priority: class as u8,
                ..flow(class, class as u32 + 1, 0, 1 << 40, Time::ZERO)
            })
            .collect();
        let mut plan = context(Voq { ports_per_core, ..deep() }, 4, flows, tcp_only(dctcp()), 8.0);
        let switch = &mut plan.switches[0];
        switch.scheduling = classes(&[Service::Weight(1), Service::Weight(1), Service::Weight(1)]);
        let own = |limit, k| QueueConfig { buffer: switch.buffer.clone(), limit, marking: k };
        switch.own = vec![
            own(None, Some(step(Limit::Bytes(30_000)))),
            own(None, Some(step(Limit::Bytes(60_000)))),
            own(Some(Limit::Bytes(45_000)), None),
        ];
        let output = port_to_host_0(&mut plan, Span::from_us(50));
        let cores = if ports_per_core.is_some() { 4 } else { 1 };
        let most = |class: i32| {
            let rows = output.ports.iter().filter(|r| {
                r.port == 0 && r.queue >= 0 && r.queue / cores == class && r.time.0 > 3_000_000_000
            });
            rows.map(|r| r.queue_bytes_max).max().unwrap()
        };
        let (first, second, third) = (most(0), most(1), most(2));
        assert!(
            (30_000..70_000).contains(&first) && (60_000..110_000).contains(&second),
            "{first} {second}, {ports_per_core:?}"
        );
        assert!((40_000..=45_000).contains(&third), "{third}, {ports_per_core:?}");
        let (drops, marks) = (output.counters.drops_buffer, output.counters.ecn_marks);
        assert!(drops > 0 && marks > 0 && output.flows[2].bytes_received > 0);
    }
}
