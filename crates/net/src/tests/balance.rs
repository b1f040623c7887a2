//! Tests balancers: equal results from all engines, and the purpose of each balancer.

use super::determinism::{same_everywhere, traffic};
use super::scenarios::*;
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::world::World;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

/// Returns every balancer, with parameters that make it act often.
pub(super) fn balancers() -> Vec<(&'static str, Balance)> {
    let letflow = |ns3| Balance::Letflow(LetflowConfig { gap: Span::from_us(5), ns3 });
    let conga = |ns3| {
        Balance::Conga(CongaConfig {
            gap: Span::from_us(5),
            tdre: Span::from_us(4),
            alpha: 0.2,
            bits: 3,
            aging: Span::from_us(40),
            ns3,
        })
    };
    let drill = |samples, memory, ns3| Balance::Drill(DrillConfig { samples, memory, ns3 });
    let dlb =
        |idle: Option<u64>| DlbConfig { future_load_range: 30_000, ..dlb(idle.map(Span::from_us)) };
    vec![
        ("resilient", Balance::Resilient(ResilientConfig {})),
        ("wcmp", Balance::Wcmp(WcmpConfig { weights: None, entries: None })),
        ("wcmp, small table", Balance::Wcmp(WcmpConfig { weights: None, entries: Some(5) })),
        ("round robin", Balance::RoundRobin(RoundRobinConfig {})),
        ("drill", drill(2, 1, false)),
        ("drill(1,3), ns-3", drill(1, 3, true)),
        ("letflow", letflow(false)),
        ("letflow, ns-3", letflow(true)),
        ("conga", conga(false)),
        ("conga, ns-3", conga(true)),
        ("dlb, flowlets", Balance::Dlb(dlb(Some(5)))),
        ("dlb, frames", Balance::Dlb(dlb(None))),
        ("glb, flowlets", Balance::Glb(dlb(Some(5)))),
        ("glb, frames", Balance::Glb(dlb(None))),
        ("detail", Balance::Detail(DetailConfig { thresholds: [16_000, 64_000] })),
        ("presto", Balance::Presto(PrestoConfig { flowcell: 10_000 })),
    ]
}

/// Returns fabrics and settings that are difficult for balancers.
fn settings() -> Vec<(&'static str, Plan)> {
    let base = |topology: Topology| {
        let hosts = topology.hosts;
        let mut p = plan(topology, traffic(hosts, 80, 100, 200_000, 1));
        p.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(60_000), drop_when: Compare::Above };
        p.record.paths = true;
        p
    };
    let mut s = Scenarios::new(base(fat_tree(4, 2)));
    s.add("fat-tree", |_| {});
    s.add_to(base(leaf_spine(4, 3, 4)), "leaf-spine", |_| {});
    s.add_switch("automata: shared memory, marks at dequeue, priorities", dctcp(), |s| {
        (s.buffer, s.scheduling) = (shared(150_000, 1.0), priorities(3));
        s.marking = step_at(20_000, MarkAt::Dequeue);
    });
    s.add("occupancy through the start of transmission, short run", |p| {
        p.switches[0].queue_length = QueueLength::ThroughStart;
        p.run.until = Some(Time::from_ns(77_777));
    });
    s.add("cut-through, mixed rates and delays", |p| {
        p.switches[0].cut_through = Some(64);
        mix(&mut p.topology, &UNEQUAL_RATES, &UNEQUAL_DELAYS);
    });
    s.add("loss, links down and up again", |p| {
        lose(&mut p.topology.links, 0.01);
        interrupt(p.topology.links[38..].iter_mut().step_by(7));
    });
    s.add("lossless", |p| make_lossless(p, super::lossless::conweave(700_000), pfc(0b111)));
    s.plans
}

/// Tests every eighth balancer in all settings. The eight tests share the cores.
fn balancers_agree(part: usize) {
    for (balancer, balance) in balancers().into_iter().skip(part).step_by(8) {
        for (name, mut plan) in settings() {
            plan.switches[0].balance = balance.clone();
            let output = same_everywhere(&format!("{balancer}: {name}"), &plan);
            eprintln!(
                "{balancer}: {name}: {} hops, {} drops, {:?}",
                output.counters.packet_hops,
                output.counters.dropped_packets,
                output.counters.balance
            );
            assert!(output.counters.packet_hops > 1_000);
        }
    }
}

parts! {
    balancers_agree:
    balancers_agree_0_of_8 0
    balancers_agree_1_of_8 1
    balancers_agree_2_of_8 2
    balancers_agree_3_of_8 3
    balancers_agree_4_of_8 4
    balancers_agree_5_of_8 5
    balancers_agree_6_of_8 6
    balancers_agree_7_of_8 7
}

fn outcome(plan: &Plan) -> Output {
    run(plan, &Progress::default()).unwrap()
}

/// Returns a plan with two leaves, `spines` spines, and a datagram flow between the racks with
/// `spacing` between its frames.
fn probe(spines: u32, frames: u64, spacing: Span, balance: Balance) -> Plan {
    let flows = vec![flow(0, 0, 1, 1_460 * frames, Time::ZERO)];
    let mut p = plan(leaf_spine(2, spines, 1), flows);
    // Rate for 1500 bytes per `spacing`.
    let rate = Rate(1_500 * 8 * 1_000_000_000_000 / spacing.0);
    p.transports = vec![TransportConfig::Datagram(Datagram {
        rate: Some(rate),
        payload: 1_460,
        ecn_capable: false,
    })];
    p.switches[0].balance = balance;
    p.record.paths = true;
    p
}

#[test]
fn a_flowlet_ends_with_a_gap_longer_than_the_limit_and_draws_uniformly() {
    let letflow = |us| Balance::Letflow(LetflowConfig { gap: Span::from_us(us), ns3: false });
    let (spines, frames) = (8, 4_000);
    // The gap is not longer than the limit, so there is one flowlet on one path.
    let together = outcome(&probe(spines, frames, Span::from_us(10), letflow(10)));
    assert_eq!(
        (
            together.paths.len(),
            together.counters.balance.flowlets,
            together.counters.balance.reroutes
        ),
        (1, 0, 0)
    );
    let apart = outcome(&probe(spines, frames, Span::from_us(11), letflow(10)));
    assert_eq!(apart.counters.balance.flowlets, frames - 1);
    assert_eq!(apart.paths.len(), spines as usize);
    // Chi-square with 7 degrees of freedom exceeds 24.3 once in a thousand.
    let expected = frames as f64 / spines as f64;
    let chi: f64 = apart
        .paths
        .iter()
        .map(|p| {
            let off = p.frames as f64 - expected;
            off * off / expected
        })
        .sum();
    assert!(chi < 24.3, "{chi}");
    // A draw changes the path in seven of eight cases.
    let reroutes = apart.counters.balance.reroutes as f64 / (frames - 1) as f64;
    assert!((reroutes - 0.875).abs() < 0.02, "{reroutes}");
}

/// A frame every 3 ms is a flowlet of its own, although its flow could be forgotten by then.
/// ConWeave's simulator forgets it.
#[test]
fn a_long_silence_does_not_end_a_flow() {
    let letflow = |ns3| Balance::Letflow(LetflowConfig { gap: Span::from_us(500), ns3 });
    let counts = |balance| {
        let output = outcome(&probe(8, 40, Span::from_us(3_000), balance));
        let counters = output.counters.balance;
        (output.paths.len(), counters.flowlets, counters.reroutes)
    };
    let (paths, flowlets, reroutes) = counts(letflow(false));
    assert_eq!((paths, flowlets), (8, 39));
    assert!((28..=38).contains(&reroutes), "seven of eight draws change the path: {reroutes}");
    assert_eq!(counts(letflow(true)), (8, 0, 0));
    // All paths are equally good, so CONGA and DLB stay.
    for name in ["conga", "dlb, flowlets", "glb, flowlets"] {
        let (_, balance) = balancers().into_iter().find(|(known, _)| *known == name).unwrap();
        assert_eq!(counts(balance), (1, 39, 0), "{name}");
    }
}

/// Returns the number of frames of a run through each of two spines.
fn by_spine(p: &Plan, output: &Output) -> [u64; 2] {
    let spine =
        |name: &str| p.topology.nodes.iter().position(|n| n.name == name).unwrap() as NodeId;
    [spine("spine0"), spine("spine1")].map(|spine| {
        output.paths.iter().filter(|path| path.nodes.contains(&spine)).map(|path| path.frames).sum()
    })
}

/// Returns the link between two nodes.
fn link_between<'p>(topology: &'p mut Topology, a: &str, b: &str) -> &'p mut Link {
    let id = |name: &str| topology.nodes.iter().position(|n| n.name == name).unwrap() as NodeId;
    let (a, b) = (id(a), id(b));
    topology.links.iter_mut().find(|l| (l.a, l.b) == (a, b)).unwrap()
}

#[test]
fn in_turn_is_exactly_even() {
    let output =
        outcome(&probe(8, 4_000, Span::from_us(1), Balance::RoundRobin(RoundRobinConfig {})));
    assert_eq!(output.paths.iter().map(|p| p.frames).collect::<Vec<_>>(), [500; 8]);
}

#[test]
fn flowcells_are_exactly_even() {
    // A flowcell of 60 kB has forty frames of 1500 bytes. There are eight paths, and fifty and a
    // half flowcells.
    let output = outcome(&probe(
        8,
        2_020,
        Span::from_us(1),
        Balance::Presto(PrestoConfig { flowcell: 60_000 }),
    ));
    let mut frames: Vec<u64> = output.paths.iter().map(|p| p.frames).collect();
    frames.sort_unstable();
    assert_eq!(frames, [240, 240, 240, 240, 240, 260, 280, 280]);
    assert_eq!(output.counters.balance.reroutes, 50);
}

/// Eight hosts of one leaf send bursts to the other leaf, at twice the rate of the two uplinks.
fn burst(balance: Balance) -> i64 {
    let flows = (0..8).map(|h| flow(h, h as u32, 8 + h as u32, 400_000, Time::ZERO)).collect();
    let mut p = plan(leaf_spine(2, 2, 8), flows);
    p.transports = vec![TransportConfig::Datagram(Datagram {
        rate: Some(Rate::from_gbps(50)),
        payload: 1_460,
        ecn_capable: false,
    })];
    p.switches[0].buffer = Buffer::Unlimited;
    p.switches[0].balance = balance;
    p.record.ports = Some(PortSeries { interval: Span::from_ns(777), nodes: vec![16] });
    let output = outcome(&p);
    let uplinks = output
        .ports
        .chunk_by(|a, b| a.time == b.time)
        .map(|rows| (rows[8].queue_bytes as i64, rows[9].queue_bytes as i64));
    let worst = uplinks.clone().map(|(a, b)| a.max(b)).max().unwrap();
    assert!(worst > 100_000, "queues build up");
    uplinks.map(|(a, b)| (a - b).abs()).max().unwrap()
}

#[test]
fn drill_keeps_queues_even() {
    // With both next hops sampled, DRILL is join-the-shortest-queue. The lengths differ by the
    // frame that has just arrived and the frame that is leaving.
    let difference = burst(Balance::Drill(DrillConfig { samples: 2, memory: 1, ns3: false }));
    assert!(difference <= 2 * 1_500, "{difference}");
    let memory_alone = burst(Balance::Drill(DrillConfig { samples: 1, memory: 1, ns3: true }));
    assert!(memory_alone <= 10 * 1_500, "{memory_alone}");
    let random = burst(Balance::Spray(SprayConfig {}));
    assert!(random > 20_000 && random > 2 * memory_alone, "{random}");
}

/// Figure 2 of the CONGA paper: two paths of 80 Gbps, except that the second spine's link to the
/// destination has 40 Gbps. Flows of 100 kB offer 85 Gbps. Returns the second path's share and the
/// mean completion time in microseconds.
fn conga_paper(balance: Balance) -> (f64, f64) {
    let mut topology = leaf_spine(2, 2, 10);
    topology.links.iter_mut().skip(20).for_each(|link| link.rate = Rate::from_gbps(80));
    link_between(&mut topology, "leaf1", "spine1").rate = Rate::from_gbps(40);
    let count = 1_000;
    let forth = (0..count).map(|id| {
        flow(
            id,
            id as u32 % 10,
            10 + id as u32 / 10 % 10,
            100_000,
            Time::from_ns(id as u64 * 9_400),
        )
    });
    let flows =
        forth.chain([flow(count, 19, 0, 1_000_000, Time::from_ns(1_000 * 9_400))]).collect();
    let mut p = plan(topology, flows);
    // A slow reverse flow brings reports where acknowledgements do not.
    p.transports = vec![
        TransportConfig::Tcp(dctcp()),
        TransportConfig::Datagram(Datagram {
            rate: Some(Rate::from_gbps(1)),
            payload: 1_460,
            ecn_capable: false,
        }),
    ];
    p.flows[count as usize].transport = 1;
    p.flows[count as usize].start = Start::At(Time::ZERO);
    p.flows.rotate_right(1);
    p.switches[0].marking = Some(step(Limit::Bytes(100_000)));
    p.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(1_000_000), drop_when: Compare::Above };
    p.switches[0].balance = balance;
    p.record.paths = true;
    let output = outcome(&p);
    let sent = by_spine(&p, &output);
    let times =
        output.flows.iter().skip(1).map(|flow| flow.finish.unwrap().0 - flow.start.unwrap().0);
    (sent[1] as f64 / (sent[0] + sent[1]) as f64, times.sum::<u64>() as f64 / count as f64 / 1e6)
}

#[test]
fn conga_avoids_the_slow_path() {
    let conga = |ns3| {
        Balance::Conga(CongaConfig {
            gap: Span::from_us(100),
            tdre: Span::from_us(32),
            alpha: 0.2,
            bits: 3,
            aging: Span::from_us(500),
            ns3,
        })
    };
    // Even shares offer 42.5 Gbps to a link of 40 Gbps.
    let (even, slow) = conga_paper(Balance::default());
    // With equal utilisation of both paths, a third uses the slow link (28.3 Gbps).
    for ns3 in [false, true] {
        let (share, time) = conga_paper(conga(ns3));
        eprintln!(
            "conga, ns-3 {ns3}: {share:.3} over the slow path, {time:.1} us; ecmp {even:.3}, {slow:.1} us"
        );
        assert!((0.25..0.42).contains(&share), "{share}");
        assert!(time < 0.8 * slow, "{time} us, ecmp {slow} us");
    }
    assert!((even - 0.5).abs() < 0.06, "{even}");
}

#[test]
fn dlb_avoids_a_slow_uplink() {
    // With even utilisation, a fifth uses the slow uplink.
    for idle in [None, Some(Span::from_ns(300))] {
        let share = slow_share("leaf0", Balance::Dlb(dlb(idle)));
        assert!((0.1..0.27).contains(&share), "{idle:?}: {share}");
    }
}

fn dlb(idle: Option<Span>) -> DlbConfig {
    let sampling_interval = Span::from_us(4);
    DlbConfig {
        idle,
        sampling_interval,
        past_load_weight: 16,
        future_load_weight: 16,
        future_load_range: 64_000,
        bands: 8,
    }
}

/// Sends 80 Gbps from leaf0 to leaf1 over two spines. The second spine's link to `leaf` has 25
/// Gbps, all other links 100 Gbps. Returns the second spine's share.
fn slow_share(leaf: &str, balance: Balance) -> f64 {
    let mut topology = leaf_spine(2, 2, 4);
    link_between(&mut topology, leaf, "spine1").rate = Rate::from_gbps(25);
    let flows = (0..4).map(|h| flow(h, h as u32, 4 + h as u32, 2_000_000, Time::ZERO)).collect();
    let mut p = plan(topology, flows);
    p.transports = vec![TransportConfig::Datagram(Datagram {
        rate: Some(Rate::from_gbps(20)),
        payload: 1_460,
        ecn_capable: false,
    })];
    p.switches[0].balance = balance;
    p.switches[0].buffer = Buffer::Unlimited;
    p.record.paths = true;
    let output = outcome(&p);
    let [fast, slow] = by_spine(&p, &output);
    slow as f64 / (fast + slow) as f64
}

#[test]
fn glb_knows_of_a_slow_downlink() {
    for idle in [None, Some(Span::from_ns(300))] {
        let (local, global) = (
            slow_share("leaf1", Balance::Dlb(dlb(idle))),
            slow_share("leaf1", Balance::Glb(dlb(idle))),
        );
        assert!((0.4..0.6).contains(&local), "{idle:?}: its own ports look alike: {local}");
        assert!((0.05..0.3).contains(&global), "{idle:?}: {global}");
    }
}

#[test]
fn glb_reports_the_whole_load_of_a_link_that_always_sends() {
    // With two bands the spines differ only if the link that always sends counts as fully loaded.
    let coarse = DlbConfig { future_load_weight: 0, bands: 2, ..dlb(None) };
    let share = slow_share("leaf1", Balance::Glb(coarse));
    assert!(share < 0.4, "{share}");
}

/// Hosts may have two links to their switch, or links to two switches. The last switch then chooses
/// a link, too.
#[test]
fn hosts_may_have_several_links() {
    let mut twice = leaf_spine(2, 2, 3);
    let again: Vec<Link> = twice
        .links
        .iter()
        .filter(|link| link.a < twice.hosts || link.b < twice.hosts)
        .cloned()
        .collect();
    twice.links.extend(again);
    let mut both = leaf_spine(2, 2, 3);
    let leaves: Vec<NodeId> = (0..both.nodes.len() as NodeId)
        .filter(|id| both.nodes[*id as usize].name.starts_with("leaf"))
        .collect();
    let to_others = both.links.iter().filter(|link| link.a < both.hosts).map(|link| Link {
        b: *leaves.iter().find(|leaf| **leaf != link.b).unwrap(),
        ..link.clone()
    });
    let to_others: Vec<Link> = to_others.collect();
    assert_eq!(to_others.len(), 6);
    both.links.extend(to_others);
    // One host has two links, and its neighbours have one.
    let mut one = leaf_spine(2, 2, 3);
    let first = one.links[0].clone();
    one.links.push(first);
    for (fabric, topology) in [
        ("two links to the leaf", twice),
        ("links to both leaves", both),
        ("two links of one host", one),
    ] {
        for (name, balance) in balancers() {
            let mut p = plan(topology.clone(), traffic(topology.hosts, 80, 60, 100_000, 1));
            if balance.about().pins {
                continue;
            }
            p.switches[0].balance = balance;
            same_everywhere(&format!("{name}, {fabric}"), &p);
        }
    }
}

#[test]
fn detail_leaves_a_port_alone_where_much_waits() {
    // The share equals what the slow link carries, 25 of 80 Gbps, plus the frames that wait there
    // at the end.
    let share = slow_share("leaf0", Balance::Detail(DetailConfig { thresholds: [16_000, 64_000] }));
    assert!((0.29..0.34).contains(&share), "{share}");
    let never = slow_share("leaf0", Balance::Detail(DetailConfig { thresholds: [u64::MAX; 2] }));
    assert!((0.48..0.52).contains(&never), "all are favoured: {never}");
}

/// Frames that wait in lower classes do not count, whatever the numbers of the queues.
#[test]
fn detail_counts_what_goes_before() {
    let classes = |of_priority, service: [Service; 2]| {
        let service = service.to_vec();
        Scheduling::Classes(Classes { of_priority, service, quantum: 1_500 })
    };
    for scheduling in [
        Scheduling::Priorities { queues: 2 },
        classes([0, 1, 0, 0, 0, 0, 0, 0], [Service::Weight(1), Service::Strict]),
        classes([1, 0, 0, 0, 0, 0, 0, 0], [Service::Strict, Service::Weight(1)]),
    ] {
        let [low, high] = [0, 1].map(|priority| share_of_fourth(priority, &scheduling));
        assert!(low < 0.25, "{scheduling:?}: {low}");
        assert!((0.46..0.54).contains(&high), "{scheduling:?}: {high}");
    }
}

/// Sends four flows over two spines with DeTail, and the fourth has this priority. Returns the share
/// of its frames over the slow spine.
fn share_of_fourth(priority: u8, scheduling: &Scheduling) -> f64 {
    let mut topology = leaf_spine(2, 2, 4);
    link_between(&mut topology, "leaf0", "spine1").rate = Rate::from_gbps(25);
    let mut flows: Vec<Flow> =
        (0..4).map(|h| flow(h, h as u32, 4 + h as u32, 2_000_000, Time(h as u64))).collect();
    // The host's own frames are served last.
    flows[3].priority = priority;
    let mut p = plan(topology, flows);
    p.transports = vec![TransportConfig::Datagram(Datagram {
        rate: Some(Rate::from_gbps(20)),
        payload: 1_460,
        ecn_capable: false,
    })];
    p.switches[0].balance = Balance::Detail(DetailConfig { thresholds: [16_000, 64_000] });
    p.switches[0].scheduling = scheduling.clone();
    p.switches[0].buffer = Buffer::Unlimited;
    p.record.paths = true;
    let output = outcome(&p);
    let over = |spine: &str| {
        let through = |path: &&crate::record::PathRecord| {
            path.nodes.iter().any(|&node| p.topology.nodes[node as usize].name == spine)
        };
        output
            .paths
            .iter()
            .filter(|path| path.flow == 3)
            .filter(through)
            .map(|path| path.frames)
            .sum::<u64>() as f64
    };
    over("spine1") / (over("spine0") + over("spine1"))
}

/// Sends many small flows over two spines, one of which has 40 Gbps instead of 100. Returns the
/// share of that spine.
fn many_flows(balance: Balance) -> f64 {
    let mut topology = leaf_spine(2, 2, 4);
    link_between(&mut topology, "leaf1", "spine1").rate = Rate::from_gbps(40);
    let flows = (0..4_000)
        .map(|id| {
            flow(id, id as u32 % 4, 4 + id as u32 / 4 % 4, 1_000, Time::from_ns(id as u64 * 500))
        })
        .collect();
    let mut p = plan(topology, flows);
    p.switches[0].balance = balance;
    p.record.paths = true;
    let output = outcome(&p);
    let [fast, slow] = by_spine(&p, &output);
    assert_eq!(fast + slow, 4_000);
    slow as f64 / 4_000.0
}

#[test]
fn wcmp_shares() {
    // Four standard deviations of a share of 4000 flows are below 0.032.
    let near = |share: f64, expected: f64| {
        assert!((share - expected).abs() < 0.032, "{share}, expected {expected}")
    };
    near(many_flows(Balance::default()), 0.5);
    near(many_flows(Balance::Wcmp(WcmpConfig { weights: None, entries: None })), 40.0 / 140.0);
    near(many_flows(Balance::Wcmp(WcmpConfig { weights: None, entries: Some(4) })), 0.25);
    let mut weights = vec![1; 12];
    weights[11] = 9;
    near(many_flows(Balance::Wcmp(WcmpConfig { weights: Some(weights), entries: None })), 0.9);
    // DRILL hashes flows to components in proportion to their capacity.
    near(
        many_flows(Balance::Drill(DrillConfig { samples: 2, memory: 1, ns3: false })),
        40.0 / 140.0,
    );
}

#[test]
fn resilient_hashing_moves_the_flows_of_a_failed_link_alone() {
    let paths = |balance: Balance, fails: bool| {
        let mut topology = leaf_spine(2, 5, 4);
        if fails {
            // The second spine's link fails and is known at once. Flows start after that.
            link_between(&mut topology, "leaf0", "spine2").down = vec![Down {
                from: Time::from_ns(1),
                to: None,
                detect: Span::ZERO,
                converge: Span::ZERO,
            }];
        }
        let flows = (0..500)
            .map(|id| {
                flow(
                    id,
                    id as u32 % 4,
                    4 + id as u32 / 4 % 4,
                    1_000,
                    Time::from_ns(1_000 + id as u64 * 500),
                )
            })
            .collect();
        let mut p = plan(topology, flows);
        p.switches[0].balance = balance;
        p.record.paths = true;
        outcome(&p).paths.iter().map(|p| p.nodes[2]).collect::<Vec<_>>()
    };
    let spine2 = 8 + 2 + 2;
    let moved = |balance: Balance| {
        let (before, after) = (paths(balance.clone(), false), paths(balance, true));
        assert_eq!((before.len(), after.len()), (500, 500));
        assert!(after.iter().all(|spine| *spine != spine2));
        let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        (moved, before.iter().filter(|spine| **spine == spine2).count(), after)
    };
    let (all, of_failed, after) = moved(Balance::Resilient(ResilientConfig {}));
    assert_eq!(all, of_failed);
    // Each of the four spines gets a quarter of the flows.
    for spine in [10, 11, 13, 14] {
        let flows = after.iter().filter(|s| **s == spine).count();
        assert!((90..160).contains(&flows), "{flows}");
    }
    let (all, of_failed, _) = moved(Balance::default());
    assert!(10 * all > 13 * of_failed, "{all} of all, {of_failed} of the failed link");
}

#[test]
fn both_directions_take_the_same_way_with_symmetric_hashing() {
    let flows: Vec<Flow> = (0..200)
        .map(|id| flow(id, id as u32 % 16, 16 + id as u32 * 7 % 112, 1_000, Time::ZERO))
        .collect();
    let same = |hash: RouteHash| {
        let mut p = plan(fat_tree(8, 1), flows.clone());
        p.switches[0].hash = hash;
        let world = World::new(&p, 1).unwrap();
        let nodes = |flow: &Flow, reverse: bool| {
            let (src, dst) = if reverse { (flow.dst, flow.src) } else { (flow.src, flow.dst) };
            world
                .path(0, world.flow_hash(flow, reverse), src, dst)
                .iter()
                .skip(1)
                .map(|(node, _)| *node)
                .collect::<Vec<_>>()
        };
        let cores: std::collections::HashSet<_> =
            flows.iter().map(|flow| nodes(flow, false)[2]).collect();
        let same = flows
            .iter()
            .filter(|flow| nodes(flow, false).into_iter().eq(nodes(flow, true).into_iter().rev()))
            .count();
        (same, cores.len())
    };
    assert_eq!(same(RouteHash::Symmetric), (200, 16));
    assert!(same(RouteHash::OwnSeed).0 < 40);
}

#[test]
fn a_known_failure_is_avoided_by_all() {
    for (name, balance) in balancers()
        .into_iter()
        .chain([("spray", Balance::Spray(SprayConfig {})), ("ecmp", Balance::default())])
    {
        // One link is slow, and another one fails while flows are active. Both are on the second
        // tier, too.
        let mut topology = leaf_spine(3, 4, 4);
        link_between(&mut topology, "leaf1", "spine0").rate = Rate::from_gbps(25);
        link_between(&mut topology, "leaf2", "spine3").down = vec![Down {
            from: Time::from_ns(60_000),
            to: None,
            detect: Span::from_us(10),
            converge: Span::ZERO,
        }];
        let mut p = plan(topology, traffic(12, 300, 200, 100_000, 5));
        p.switches[0].balance = balance;
        p.record.paths = true;
        let output = same_everywhere(name, &p);
        assert!(output.flows.iter().all(|flow| flow.finish.is_some()), "{name}");
        assert!(output.counters.drops_down > 0, "{name}: something was under way");
        let (leaf, spine) = (12 + 2, 12 + 3 + 3);
        let over = |path: &crate::record::PathRecord| {
            path.nodes.windows(2).any(|hop| hop == [leaf, spine] || hop == [spine, leaf])
        };
        let late = |flow: FlowId| matches!(p.flows[flow as usize].start, Start::At(at) if at >= Time::from_ns(70_000));
        assert!(
            output.paths.iter().any(|path| over(path) && !late(path.flow)),
            "{name}: it was used"
        );
        assert!(
            !output.paths.iter().any(|path| over(path) && late(path.flow)),
            "{name}: it is avoided"
        );
    }
}
