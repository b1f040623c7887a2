//! Tests connections over several paths.

use super::determinism::{same_everywhere, traffic};
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Bytes, Probability, Rate, Span, Time};

const COUPLINGS: [Coupling; 5] = [
    Coupling::Lia,
    Coupling::Olia,
    Coupling::Balia,
    Coupling::Wvegas,
    Coupling::QueueAware { segments: 10 },
];

fn coupled(coupling: Coupling) -> MptcpConfig {
    MptcpConfig {
        tcp: TcpConfig { congestion: CongestionControl::Coupled(coupling), ..mptcp().tcp },
        ..mptcp()
    }
}

fn over(topology: Topology, flows: Vec<Flow>, config: MptcpConfig) -> Plan {
    Plan { transports: vec![TransportConfig::Mptcp(config)], ..plan(topology, flows) }
}

fn done(plan: &Plan) -> Output {
    run(plan, &Progress::default()).unwrap()
}

fn seconds(output: &Output, flow: usize) -> f64 {
    let f = &output.flows[flow];
    (f.finish.expect("finished").0 - f.start.unwrap().0) as f64 * 1e-12
}

/// Gives the switches little memory, which causes drops, time-outs and reinjection.
fn scarce(mut plan: Plan) -> Plan {
    plan.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(20_000), drop_when: Compare::Above };
    plan.record.paths = true;
    plan
}

#[test]
fn both_engines_and_any_threads_agree() {
    for (number, coupling) in COUPLINGS.into_iter().enumerate() {
        for scheduler in
            [PathScheduler::LowestRtt, PathScheduler::RoundRobin, PathScheduler::Redundant]
        {
            let config = MptcpConfig {
                scheduler,
                receive: Receive::Window(Bytes(60_000)),
                ..coupled(coupling)
            };
            let plan =
                scarce(over(fat_tree(4, 1), traffic(16, 60, 40, 300_000, number as u64), config));
            let output = same_everywhere(&format!("{coupling:?} {scheduler:?}"), &plan);
            assert!(
                output.counters.dropped_packets > 0
                    && output.flows.iter().all(|f| f.finish.is_some())
            );
        }
    }
}

/// Hosts with Linux's settings: handshakes, delayed acknowledgements, RACK, small queues, and a
/// mesh of NICs.
#[test]
fn a_mesh_of_linux_hosts_agrees() {
    let tcp = TcpConfig { congestion: CongestionControl::Coupled(Coupling::Lia), ..linux() };
    let config = MptcpConfig { tcp, manager: PathManager::FullMesh(8), ..mptcp() };
    let rates = [Rate::from_gbps(10), Rate::from_gbps(5), Rate::from_gbps(1)];
    let flows = (0..20)
        .map(|id| {
            flow(
                id,
                id as u32 % 2,
                1 - id as u32 % 2,
                200_000 + 7_000 * id as u64,
                Time::from_ns(3_000 * id as u64),
            )
        })
        .collect();
    let mut plan = scarce(over(parallel(&rates), flows, config));
    plan.record.captures = [0, 1]
        .into_iter()
        .flat_map(|link| [false, true].map(|reverse| Capture { link, reverse }))
        .collect();
    plan.record.round_trips = true;
    let output = same_everywhere("mesh", &plan);
    assert!(output.captures.iter().all(|records| !records.is_empty()));
    let subflows = output.paths.iter().map(|path| path.subflow).max();
    assert_eq!(subflows, Some(2));
}

fn mbps(output: &Output, flow: usize) -> f64 {
    output.flows[flow].bytes_received as f64 * 8e-6 / output.end.0 as f64 * 1e12
}

/// Returns a plan in which each path is a pipe of 50 us and 10 Gbps, with a buffer for as much
/// again.
fn disjoint(ways: usize, config: MptcpConfig) -> Plan {
    let mut plan = over(
        parallel(&vec![Rate::from_gbps(10); ways]),
        vec![flow(0, 0, 1, 400_000_000, Time(0))],
        config,
    );
    plan.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(100_000), drop_when: Compare::Above };
    plan
}

/// Section 9 no. 8 of spec/transports.md: every coupled control fills two bottlenecks that nobody
/// else uses.
#[test]
fn disjoint_paths_are_filled() {
    for coupling in COUPLINGS {
        let config = MptcpConfig { manager: PathManager::FullMesh(4), ..coupled(coupling) };
        let alone = seconds(&done(&disjoint(1, config.clone())), 0);
        let ratio = alone / seconds(&done(&disjoint(2, config)), 0);
        assert!((1.9..2.1).contains(&ratio), "{coupling:?}: {ratio:.3}");
    }
}

/// Section 9 no. 8 of spec/transports.md: two subflows through one bottleneck together get the
/// share of one TCP flow next to them. Without coupling they get twice that.
#[test]
fn a_shared_bottleneck_is_shared_fairly() {
    let share = |coupling: Option<Coupling>| {
        let config = coupling.map_or(MptcpConfig { tcp: tcp(), ..mptcp() }, coupled);
        let mut topology = star(3);
        topology
            .links
            .iter_mut()
            .for_each(|link| (link.rate, link.delay) = (Rate::from_gbps(1), Span::from_us(50)));
        let mut plan = plan(
            topology,
            (0..2)
                .map(|id| Flow {
                    transport: id as u16,
                    ..flow(id, id as u32, 2, 4_000_000_000, Time(0))
                })
                .collect(),
        );
        plan.transports = vec![TransportConfig::Mptcp(config), TransportConfig::Tcp(tcp())];
        // RED makes losses proportional to the share, instead of depending on the phase.
        plan.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(150_000), drop_when: Compare::Above };
        plan.switches[0].marking = super::scenarios::red(MarkAt::Enqueue, Some(0.002));
        plan.run.until = Some(Time::from_ns(4_000_000_000));
        let output = done(&plan);
        mbps(&output, 0) / mbps(&output, 1)
    };
    let lia = share(Some(Coupling::Lia));
    let olia = share(Some(Coupling::Olia));
    let balia = share(Some(Coupling::Balia));
    let uncoupled = share(None);
    for (name, share) in [("lia", lia), ("olia", olia), ("balia", balia)] {
        assert!((0.75..1.35).contains(&share), "{name}: {share:.2}");
    }
    assert!((1.6..2.4).contains(&uncoupled), "uncoupled {uncoupled:.2}");
}

/// Section 9 no. 8 of spec/transports.md: two paths with equal round trips and equal fixed losses.
/// With equal windows α would be one half, and both together would equal one TCP flow. The windows
/// rise and fall independently and α is the larger one's share, so they come out somewhat larger.
#[test]
fn equal_losses_make_one_tcp_of_two_subflows() {
    let rate = |ways: usize, transport: TransportConfig| {
        let rates = vec![Rate::from_gbps(10); ways];
        let mut plan = plan(parallel(&rates), vec![flow(0, 0, 1, 40_000_000_000, Time(0))]);
        plan.transports = vec![transport];
        for link in &mut plan.topology.links {
            link.delay = Span::from_us(500);
            if link.rate == rates[0] {
                link.loss = Probability::new(0.001).unwrap();
            }
        }
        plan.run.until = Some(Time::from_ns(20_000_000_000));
        mbps(&done(&plan), 0)
    };
    let one = rate(1, TransportConfig::Tcp(tcp()));
    let two = rate(
        2,
        TransportConfig::Mptcp(MptcpConfig { manager: PathManager::FullMesh(2), ..mptcp() }),
    );
    assert!((1.0..1.25).contains(&(two / one)), "{:.3}", two / one);
}

/// With a handshake, the second subflow carries data after the first acknowledgement of data and
/// two more round trips (RFC 8684 §3.2). Flows that end before use only the first subflow.
#[test]
fn short_flows_are_over_before_others_join() {
    let used = |bytes: u64| {
        let config = MptcpConfig {
            tcp: TcpConfig { handshake: true, ..mptcp().tcp },
            manager: PathManager::FullMesh(2),
            ..mptcp()
        };
        let mut plan =
            over(parallel(&[Rate::from_gbps(10); 2]), vec![flow(0, 0, 1, bytes, Time(0))], config);
        plan.record.paths = true;
        let output = done(&plan);
        assert_eq!(output.flows[0].bytes_received, bytes);
        output.paths.iter().map(|path| (path.subflow, path.frames)).collect::<Vec<_>>()
    };
    assert_eq!(used(10 * 1460), [(0, 10)]);
    // Windows of 10, 20, 40 and 80 leave before the second subflow is open: 30 us for the
    // handshake, 60 us until the first data are acknowledged, and 120 us more.
    assert_eq!(used(70 * 1460), [(0, 70)]);
    let long = used(2_000 * 1460);
    assert!(long.len() == 2 && long[1].1 > 500, "{long:?}");
}

/// A path goes down permanently while data are on it. After the subflow's time-out, the data move
/// to the other path.
#[test]
fn what_a_dead_path_holds_is_sent_again_on_another() {
    let config = MptcpConfig { manager: PathManager::FullMesh(2), ..mptcp() };
    let mut plan =
        over(parallel(&[Rate::from_gbps(10); 2]), vec![flow(0, 0, 1, 20_000_000, Time(0))], config);
    plan.topology.links[1].down.push(Down {
        from: Time::from_ns(2_000_000),
        to: None,
        detect: Span::from_s(1_000),
        converge: Span::ZERO,
    });
    let output = same_everywhere("a dead path", &plan);
    let f = &output.flows[0];
    assert!(f.finish.is_some() && f.timeouts > 0 && f.packets_retransmitted > 0, "{f:?}");
    // 20 MB in all: 2 ms over both paths, then 12.5 ms with headers over one.
    assert!((0.0145..0.0165).contains(&seconds(&output, 0)), "{}", seconds(&output, 0));
}

/// Eight subflows share eight spines of a tenth of the NIC's rate. Switches that follow flows take
/// each subflow for a flow of its own.
#[test]
fn each_subflow_is_a_flow_to_switches() {
    let spread = |balance: Balance, hash: RouteHash| {
        let flows = vec![flow(0, 0, 1, 2_000_000, Time(0))];
        let config = MptcpConfig { manager: PathManager::DiffPorts(8), ..mptcp() };
        let mut plan = over(leaf_spine(2, 8, 1), flows, config);
        plan.topology.links[2..].iter_mut().for_each(|link| link.rate = Rate::from_gbps(10));
        (plan.switches[0].balance, plan.switches[0].hash) = (balance, hash);
        seconds(&same_everywhere("subflows", &plan), 0)
    };
    let gap = Span::from_ms(1);
    let own = RouteHash::OwnSeed;
    let plain = spread(Balance::default(), own);
    for (name, time) in [
        ("letflow", spread(Balance::Letflow(LetflowConfig { gap, ns3: false }), own)),
        ("presto", spread(Balance::Presto(PrestoConfig { flowcell: 1 << 30 }), own)),
        ("murmur3", spread(Balance::default(), RouteHash::Murmur3)),
    ] {
        // 2 MB take 1.7 ms over one spine.
        assert!(time < 1.2e-3 && plain < 1.2e-3, "{name}: {time} s, by hash {plain} s");
    }
}

/// The NIC through which the first data arrive loses its link. Later data arrive by the other NIC,
/// and are acknowledged there.
#[test]
fn answers_leave_by_the_nic_at_which_data_arrive() {
    let host = |name: &str| node(name.into(), NodeKind::Host, 0, None);
    let switch = |name: &str, tier| node(name.into(), NodeKind::Switch, tier, None);
    let topology = Topology {
        nodes: vec![
            host("host0"),
            host("host1"),
            switch("fork", 2),
            switch("way0", 1),
            switch("way1", 1),
        ],
        links: [(0, 2), (2, 3), (2, 4), (3, 1), (4, 1)]
            .map(|(a, b)| link(a, b, Rate::from_gbps(10), Span::from_us(5)))
            .into(),
        hosts: 2,
        ..Default::default()
    };
    let config = MptcpConfig { manager: PathManager::DiffPorts(1), ..mptcp() };
    for failing in [3, 4] {
        let flows = vec![flow(0, 0, 1, 20_000_000, Time(0))];
        let mut plan = over(topology.clone(), flows, config.clone());
        plan.topology.links[failing].down.push(Down {
            from: Time::from_ns(2_000_000),
            to: None,
            detect: Span::from_us(10),
            converge: Span::ZERO,
        });
        plan.run.until = Some(Time(2_000_000_000_000));
        let output = same_everywhere("a NIC fails", &plan);
        assert!(output.flows[0].finish.is_some(), "{:?}", output.flows[0]);
    }
}

/// The receive window has twenty segments, one path is ten times as long, and subflows are used in
/// turn. Without opportunistic retransmission, the long path delays the short one.
#[test]
fn opportunism_keeps_a_full_window_moving() {
    let time = |opportunistic: bool| {
        let (scheduler, receive) = (PathScheduler::RoundRobin, Receive::Window(Bytes(20 * 1460)));
        let config = MptcpConfig {
            manager: PathManager::FullMesh(2),
            scheduler,
            receive,
            opportunistic,
            ..mptcp()
        };
        let mut plan = over(
            parallel(&[Rate::from_gbps(10); 2]),
            vec![flow(0, 0, 1, 20_000_000, Time(0))],
            config,
        );
        plan.topology.links[3..].iter_mut().for_each(|link| link.delay = Span::from_us(100));
        seconds(&done(&plan), 0)
    };
    let (with, without) = (time(true), time(false));
    assert!(with < 0.8 * without, "{with} s with, {without} s without");
}

/// The estimate counts segments that are sent on two paths because the receive window is full.
#[test]
fn estimates_allow_for_opportunistic_retransmissions() {
    for (scheduler, segments, slow) in [
        (PathScheduler::RoundRobin, 20, 100),
        (PathScheduler::LowestRtt, 20, 100),
        (PathScheduler::RoundRobin, 200, 40),
    ] {
        let receive = Receive::Window(Bytes(segments * 1460));
        let config =
            MptcpConfig { manager: PathManager::FullMesh(2), scheduler, receive, ..mptcp() };
        let mut plan = over(
            parallel(&[Rate::from_gbps(10); 2]),
            vec![flow(0, 0, 1, 2_000_000, Time(0))],
            config,
        );
        plan.topology.links[3..].iter_mut().for_each(|link| link.delay = Span::from_us(slow));
        let (hops, found) = (done(&plan).counters.packet_hops, crate::expected(&plan).unwrap());
        assert_eq!(found.unknowns, Some(crate::Unknowns::Copies));
        assert!(
            (found.least_hops..=found.most_hops).contains(&hops),
            "{scheduler:?} {segments} {slow}: {hops} {found:?}"
        );
    }
}

/// With a redundant scheduler, a lossy path costs no more time than the lossless path alone takes.
#[test]
fn redundance_hides_losses() {
    let config = MptcpConfig {
        manager: PathManager::FullMesh(2),
        scheduler: PathScheduler::Redundant,
        ..mptcp()
    };
    let time = |loss: f64| {
        let mut plan = over(
            parallel(&[Rate::from_gbps(10); 2]),
            vec![flow(0, 0, 1, 3_000_000, Time(0))],
            config.clone(),
        );
        plan.topology.links[1].loss = Probability::new(loss).unwrap();
        seconds(&done(&plan), 0)
    };
    let (clean, lossy) = (time(0.0), time(0.05));
    assert!(lossy <= 1.05 * clean, "{lossy} s, {clean} s without losses");
}

/// Without SACK, a sender stays in the loss state after a time-out until new data are acknowledged,
/// so it must be given new data.
#[test]
fn goes_on_after_a_time_out_without_sack() {
    let tcp = TcpConfig {
        congestion: newreno(),
        recovery: Recovery::NewReno,
        handshake: true,
        // The time-out is far below the round trip of 20 us, so the first segment is retransmitted
        // needlessly.
        min_rto: Span::from_ns(900),
        initial_rto: Span::from_us(2),
        max_rto: Span::from_ms(5),
        ..tcp()
    };
    let config =
        MptcpConfig { tcp, manager: PathManager::DiffPorts(1), opportunistic: false, ..mptcp() };
    let output = done(&over(leaf_spine(2, 1, 1), vec![flow(0, 0, 1, 7_461, Time::ZERO)], config));
    assert!(output.counters.timeouts > 1);
    assert!(output.flows[0].finish.is_some());
}

/// The run ends after the arrival of a flow's last byte, and before its sender is notified. The
/// time is split as in the whole run.
#[test]
fn a_flow_is_accounted_for_by_the_subflow_that_delivered_its_last_byte() {
    for scheduler in [PathScheduler::LowestRtt, PathScheduler::RoundRobin, PathScheduler::Redundant]
    {
        let config =
            MptcpConfig { scheduler, manager: PathManager::DiffPorts(4), ..coupled(Coupling::Lia) };
        let mut plan = scarce(over(fat_tree(4, 1), traffic(16, 30, 40, 100_000, 3), config));
        plan.run.fct_end = FctEnd::LastByte;
        let whole = done(&plan);
        assert!(whole.flows.iter().any(|flow| flow.split.recovery > 0 && flow.split.window > 0));
        for (id, flow) in whole.flows.iter().enumerate() {
            plan.run.until = flow.finish;
            let cut = &done(&plan).flows[id];
            assert_eq!(
                (cut.finish, cut.split),
                (flow.finish, flow.split),
                "{scheduler:?}, flow {id}"
            );
        }
    }
}
