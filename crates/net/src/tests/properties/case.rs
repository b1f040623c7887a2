//! Random simulations: a plan, and the conditions on which its properties depend.

use super::super::scenarios::{all_nodes, lose, numbered};
use super::memory::{Managed, deep_pauses, managed, set_memory};
use super::switches::{fabric, scheduling, switch_config};
use super::transports::{over_several_paths, rdma_config, tcp_config};
use crate::spec::*;
use crate::testing::*;
use afflux_units::{Rate, Span, Time};
use proptest::prelude::*;

/// A random simulation, and the conditions on which its properties depend.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) plan: Plan,
    pub(super) threads: u32,
    /// True if nothing is lost permanently and the run does not end before everything has arrived.
    pub(super) completes: bool,
    /// True if a flow's frames cannot overtake each other.
    pub(super) in_order: bool,
    /// True if all traffic is lossless and the headroom suffices.
    pub(super) lossless: bool,
}

/// Transports 0 and 1 are TCP, 2 is a datagram source, 3 is RDMA (but see `by_urgency` and
/// `by_granted_rates`).
fn flows(hosts: u32) -> impl Strategy<Value = Vec<Flow>> {
    let one = (
        0..hosts,
        1..hosts,
        1..60_000u64,
        0..20u64,
        0..8u8,
        prop_oneof![4 => Just(0u16), 3 => Just(1), 1 => Just(2), 4 => Just(3)],
    );
    let incast = (0..hosts, 1..40_000u64, 0..20u64, 2..60usize);
    (prop::collection::vec(one, 1..25), prop::option::of(incast)).prop_map(
        move |(random, incast)| {
            let mut flows: Vec<Flow> = random
                .into_iter()
                .map(|(src, step, bytes, at, priority, transport)| {
                    // Few starting times make ties.
                    Flow {
                        priority,
                        transport,
                        ..flow(0, src, (src + step) % hosts, bytes, Time::from_ns(at * 2_000))
                    }
                })
                .collect();
            if let Some((dst, bytes, at, count)) = incast {
                // Several of the flows are between the same two hosts.
                flows.extend((0..count as u32).map(|i| {
                    flow(
                        0,
                        (dst + 1 + i % (hosts - 1)) % hosts,
                        dst,
                        bytes,
                        Time::from_ns(at * 2_000),
                    )
                }));
            }
            numbered(flows)
        },
    )
}

/// Disturbances of links and of the run: (loss, a link that goes down, end, sampling interval,
/// closed loop).
type Disturbance = (Option<f64>, Option<Outage>, Option<u64>, Option<u64>, bool);

/// A link, the start and the length of its outage, and the time to detect it, in ns.
type Outage = (prop::sample::Index, u64, u64, u64);

fn disturbance() -> impl Strategy<Value = Disturbance> {
    (
        prop_oneof![4 => Just(None), 1 => (0.0..0.1f64).prop_map(Some), 1 => Just(Some(0.5))],
        prop::option::weighted(
            0.2,
            (any::<prop::sample::Index>(), 100..50_000u64, 1..100_000u64, 0..20_000u64),
        ),
        prop::option::weighted(0.4, 1..120_000u64),
        prop::option::weighted(0.3, 300..200_000u64),
        any::<bool>(),
    )
}

/// Puts pFabric's queues everywhere. Transport 0 becomes pFabric's, or the TCP that it is compared
/// with.
fn by_urgency(plan: &mut Plan, seed: u64) {
    let limit =
        [None, Some(Limit::Bytes(20_000)), Some(Limit::Packets(8))][(seed / 7 % 3) as usize];
    let switch = &mut plan.switches[0];
    (switch.buffer, switch.marking, switch.scheduling, switch.device_queue) =
        (Buffer::Unlimited, None, Scheduling::One, 0);
    switch.aqm = Some(Aqm::Pfabric(limit));
    switch.own.clear();
    if switch.queue_length == QueueLength::ThroughStart {
        switch.queue_length = QueueLength::BeforeTransmission;
    }
    let host = &mut plan.hosts[0];
    host.qdisc = None;
    (host.queue, host.scheduling, host.aqm) =
        (None, Scheduling::One, (seed / 21).is_multiple_of(2).then_some(Aqm::Pfabric(limit)));
    let TransportConfig::Tcp(tcp) = &plan.transports[0] else { unreachable!("transport 0 is TCP") };
    let config = match seed / 42 % 3 {
        0 => ns2_tcp(newreno()),
        1 => ns2_tcp(dctcp_from(0.0)),
        _ => Pfabric { pooled: (seed / 126).is_multiple_of(2), ..pfabric() },
    };
    // The longest paths take milliseconds.
    let tcp = TcpConfig {
        mss: tcp.mss,
        min_rto: Span::from_ms(1),
        initial_rto: Span::from_ms(1),
        max_rto: Span::from_ms(5),
        ..config.tcp
    };
    plan.transports[0] = TransportConfig::Pfabric(Pfabric { tcp, ..config });
    plan.flows
        .iter_mut()
        .filter(|flow| flow.transport == 0)
        .for_each(|flow| flow.connection = None);
}

/// True if a full frame takes longer on the slowest links than many a round trip of faster ones.
fn has_slow_links(plan: &Plan) -> bool {
    plan.topology.links.iter().any(|link| link.rate < Rate::from_gbps(1))
}

/// Makes links grant rates, which transport 3 requests.
fn by_granted_rates(plan: &mut Plan, seed: u64) {
    plan.switches[0].hash = RouteHash::Symmetric;
    let (min_rto, early) = (Span::from_ms(1), (seed / 6).is_multiple_of(2));
    // The interval is not shorter than the time of a full frame. The base rate is not higher than a
    // frame without data in each interval, as by default.
    let (interval, base_rate) = if has_slow_links(plan) {
        (Span::from_ms(1), Rate::from_mbps(1))
    } else {
        (Span::from_us(10), Rate::from_mbps(40))
    };
    plan.transports[3] = match seed / 12 % 2 {
        0 => TransportConfig::Pdq(Pdq {
            min_rto,
            interval,
            early_termination: early,
            dampening: Span::from_us(seed / 24 % 2 * 10),
            ..pdq()
        }),
        _ => TransportConfig::D3(D3 { min_rto, interval, base_rate, quench: early, ..d3() }),
    };
    if (seed / 48).is_multiple_of(2) {
        plan.flows
            .iter_mut()
            .filter(|flow| flow.transport == 3 && flow.id % 3 == 0)
            .for_each(|flow| flow.deadline = Some(Span::from_us(5 + seed % 300)));
    }
}

/// Settings of the hosts (delay, queue of the NIC, scheduling), and of the run (seed, whether flows
/// end with their last byte, threads, gap between frames, RDMA).
type Hosts = (Span, Option<u64>, Scheduling);

type Run = (u64, bool, u32, u16, RdmaConfig);

type Drawn = (
    Topology,
    (SwitchConfig, Option<Managed>),
    TcpConfig,
    TcpConfig,
    Vec<Flow>,
    Disturbance,
    Hosts,
    Run,
);

pub(super) fn case() -> impl Strategy<Value = Case> {
    let drawn = fabric().prop_flat_map(|topology| {
        let hosts = topology.hosts;
        let host = (
            prop_oneof![Just(Span::ZERO), Just(Span::from_ns(700))],
            prop::option::weighted(0.2, 9_100..100_000u64),
            scheduling(),
        );
        let run = (
            any::<u64>(),
            any::<bool>(),
            prop_oneof![4 => Just(2u32), 1 => Just(3)],
            prop_oneof![Just(0u16), Just(20u16)],
            rdma_config(),
        );
        (
            Just(topology),
            (switch_config(), managed()),
            tcp_config(),
            tcp_config(),
            flows(hosts),
            disturbance(),
            host,
            run,
        )
    });
    drawn.prop_map(assembled)
}

/// Lets links lose frames, and one of them go down.
fn disturb(topology: &mut Topology, loss: Option<f64>, down: Option<Outage>) {
    // Heavy loss occurs only at the hosts. On every link of a long path, it would let nothing
    // through.
    let lossy = if is_heavy(loss) { topology.hosts as usize } else { topology.links.len() };
    lose(&mut topology.links[..lossy], loss.unwrap_or(0.0));
    if let Some((which, from, length, detect)) = down {
        let from = Time::from_ns(from);
        let which = which.index(topology.links.len());
        topology.links[which].down = vec![Down {
            from,
            to: Some(from + Span::from_ns(length)),
            detect: Span::from_ns(detect),
            converge: Span::from_ns(detect % 3 * 7_000),
        }];
    }
}

fn is_heavy(loss: Option<f64>) -> bool {
    loss.is_some_and(|p| p > 0.1)
}

/// Starts another round from a host once all TCP flows to it have ended.
fn close_loop(flows: &mut Vec<Flow>, topology: &Topology) {
    let Some(dst) = flows.iter().find(|f| f.transport != 2).map(|f| f.dst) else { return };
    flows.iter_mut().filter(|f| f.dst == dst && f.transport != 2).for_each(|f| f.group = Some(0));
    let delay = topology.links.iter().map(|l| l.delay).min().expect("links");
    let start = Start::After { group: 0, delay };
    let (id, next) = (flows.len() as i64, (dst + 1) % topology.hosts);
    flows.push(Flow { start, ..flow(id, dst, next, 5_000, Time::ZERO) });
}

/// Lets flows of the first transports between the same two hosts share a connection.
fn share_connections(flows: &mut [Flow], hosts: u32, transports: u16) {
    for flow in flows.iter_mut().filter(|f| {
        f.transport < transports
            && f.src != f.dst
            && f.group.is_none()
            && matches!(f.start, Start::At(_))
    }) {
        flow.connection = Some((flow.src * hosts + flow.dst) * 2 + flow.transport as u32);
        flow.priority = 0;
    }
}

/// Lets some senders stop early.
fn stop_some(flows: &mut [Flow]) {
    for flow in
        flows.iter_mut().filter(|f| f.bytes % 7 == 3 && f.connection.is_none() && f.group.is_none())
    {
        if let Start::At(start) = flow.start {
            flow.stop = start + Span::from_ns(1 + flow.bytes % 40_000);
        }
    }
}

fn host_config((delay, queue, scheduling): Hosts, seed: u64) -> HostConfig {
    let held = scheduling == Scheduling::One && queue.is_none() && seed % 5 < 3;
    let rings = if seed.is_multiple_of(7) { 2 } else { 1 };
    let ring = (!seed.is_multiple_of(4)).then_some(1 + seed % 20_000);
    let kind = ["fq_codel", "fq", "pfifo"][(seed % 3) as usize];
    HostConfig {
        delay,
        queue: queue.map(Limit::Bytes),
        scheduling,
        timing: (seed % 3 == 1).then(timing).flatten(),
        qdisc: held.then(|| qdisc(kind, ring, rings)),
        ..host()
    }
}

fn record(plan: &mut Plan, interval: Option<Span>, seed: u64) {
    let nodes = all_nodes(plan);
    let record = &mut plan.record;
    record.ports = interval.map(|interval| PortSeries { interval, nodes });
    record.paths = seed.is_multiple_of(3);
    record.senders = interval.filter(|_| seed.is_multiple_of(3));
    record.imbalance =
        interval.filter(|_| seed.is_multiple_of(2)).map(|interval| Span(2 * interval.0));
}

/// Sets the memory of the switches, and the queues and transports that need particular ones.
/// Returns whether nothing can be lost at ingress, and whether retransmissions may go on for ever.
fn set_queues(plan: &mut Plan, managed: Option<Managed>, seed: u64) -> (bool, bool) {
    let pfabric =
        seed % 7 == 3 && managed.is_none() && !matches!(plan.switches[0].buffer, Buffer::Voq(_));
    let lossless = managed.is_some_and(|managed| set_memory(plan, managed));
    if pfabric {
        by_urgency(plan, seed);
    }
    if let Buffer::Voq(voq) = &mut plan.switches[0].buffer
        && seed % 3 == 1
    {
        (voq.dram, voq.xoff, voq.xon) = (200_000_000, Some(9_100 + seed % 60_000), Some(5_000));
        deep_pauses(plan, seed);
    }
    if seed % 6 == 5 && plan.switches[0].balance == Balance::default() {
        by_granted_rates(plan, seed);
    }
    // Go-back-N retransmits from the gap on at once, and may lose the same frame of a short queue
    // for ever.
    let repeats = pfabric
        && matches!(&plan.transports[3], TransportConfig::Rdma(rdma) if matches!(rdma.recovery, RdmaRecovery::GoBackN { .. }));
    (lossless, repeats)
}

fn assembled(
    (
        mut topology,
        (switch, managed),
        first,
        second,
        mut flows,
        (loss, down, until, sampling, closed),
        hosts,
        (seed, last_byte, threads, gap, rdma),
    ): Drawn,
) -> Case {
    disturb(&mut topology, loss, down);
    if closed {
        close_loop(&mut flows, &topology);
    }
    let several = seed % 5 == 2 && second.manner == Manner::Linux;
    if seed % 4 == 1 {
        share_connections(&mut flows, topology.hosts, if several { 1 } else { 2 });
    }
    stop_some(&mut flows);
    let heavy = is_heavy(loss);
    let most = match (first.mss.min(second.mss), heavy) {
        (1, _) => 150,
        (_, true) => 6_000,
        _ => 60_000,
    };
    flows.iter_mut().filter(|f| f.transport != 2).for_each(|f| f.bytes = 1 + f.bytes % most);
    let mut plan = plan(topology, flows);
    let in_order = !several
        && switch.balance == Balance::default()
        && plan.topology.links.iter().all(|l| l.down.is_empty());
    plan.switches = vec![switch];
    let slow = has_slow_links(&plan);
    if let Balance::Glb(glb) = &mut plan.switches[0].balance
        && slow
    {
        // Reports every 4 us would use all capacity of such links.
        glb.sampling_interval = Span::from_us(100);
    }
    plan.hosts = vec![host_config(hosts, seed)];
    let (rate, ecn_capable) = (Some(Rate::from_gbps(20)), seed.is_multiple_of(2));
    plan.transports = vec![
        TransportConfig::Tcp(first),
        if several { over_several_paths(second, seed) } else { TransportConfig::Tcp(second) },
        TransportConfig::Datagram(Datagram { rate, payload: 1460, ecn_capable }),
        TransportConfig::Rdma(rdma),
    ];
    plan.wire.gap = gap;
    plan.run.seed = seed;
    plan.run.fct_end = if last_byte { FctEnd::LastByte } else { FctEnd::LastAck };
    // Without an end, there may be long intervals between time-outs.
    let interval = sampling
        .filter(|_| until.is_some() || !heavy)
        .map(|ns| Span::from_ns(if until.is_some() { ns } else { 500_000 + ns }));
    record(&mut plan, interval, seed);
    let (lossless, repeats) = set_queues(&mut plan, managed, seed);
    // The end ensures that data that wait for ever show as an unfinished flow, not as a test that
    // hangs.
    let latest = if repeats { Time::from_ns(20_000_000) } else { Time(Span::from_s(10_000).0) };
    plan.run.until = Some(until.map_or(latest, Time::from_ns));
    Case { plan, threads, completes: until.is_none() && !repeats, in_order, lossless }
}
