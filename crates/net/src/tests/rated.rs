//! Tests PDQ and D3.

use super::determinism::{same_everywhere, traffic};
use crate::congestion::d2tcp::WithoutDeadline;
use crate::record::{Output, Status};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_engine::random::Stream;
use afflux_units::{Probability, Rate, Span, Time};

fn both() -> [(&'static str, TransportConfig); 2] {
    [("pdq", TransportConfig::Pdq(pdq())), ("d3", TransportConfig::D3(d3()))]
}

/// A single flow takes the SYN's round trip, and then the time of all data at the rate of the
/// slowest link.
#[test]
fn lone_flow() {
    let mut slow = leaf_spine(2, 1, 2);
    slow.links[4].rate = Rate::from_gbps(25);
    // On these links, a frame takes longer than a probe's round trip.
    let mut slower = star(3);
    slower.links.iter_mut().for_each(|link| link.rate = Rate::from_mbps(100));
    for (name, topology, pair) in [
        ("star", star(3), (0, 1)),
        ("leaf-spine", leaf_spine(3, 1, 2), (0, 5)),
        ("slower inside", slow, (0, 2)),
        ("slow star", slower, (0, 1)),
    ] {
        for (scheme, transport) in both() {
            for bytes in [1, 1_444, 1_445, 100_000, 20_000 * 1_444] {
                let mut plan = plan(
                    topology.clone(),
                    vec![flow(0, pair.0, pair.1, bytes, Time::from_ns(1_234))],
                );
                plan.transports = vec![transport.clone()];
                plan.hosts[0].delay = Span::from_ns(2_500);
                plan.wire.gap = 20;
                let output = run(&plan, &Progress::default()).unwrap();
                let record = &output.flows[0];
                let path: Vec<&Link> = match name {
                    "star" | "slow star" => vec![&topology.links[0], &topology.links[1]],
                    "leaf-spine" => vec![
                        &topology.links[0],
                        &topology.links[6],
                        &topology.links[8],
                        &topology.links[5],
                    ],
                    _ => vec![
                        &topology.links[0],
                        &topology.links[4],
                        &topology.links[5],
                        &topology.links[2],
                    ],
                };
                // A SYN of 52 + 16 B and its reply of 40 + 16 B, both with the gap, and 2.5 us in
                // and out of hosts.
                let way = |size: u64| {
                    path.iter()
                        .map(|link| (link.rate.serialize(size + 20) + link.delay).0)
                        .sum::<u64>()
                        + 5_000_000
                };
                let expected = way(68) + way(56) + record.ideal.0;
                assert_eq!(
                    (record.finish.unwrap() - record.start.unwrap()).0,
                    expected,
                    "{name}, {scheme}, {bytes} B"
                );
                assert_eq!((record.packets_retransmitted, record.status), (0, Status::Finished));
                // All of the time beyond the ideal is the round trip in which the sender waits for
                // a grant.
                assert_eq!(record.split.window, expected - record.ideal.0);
            }
        }
    }
}

fn random_deadlines(flows: &mut [Flow], seed: u64, most_us: u64) {
    let mut stream = Stream::new(seed, 98, 0);
    flows
        .iter_mut()
        .filter(|f| f.id % 3 > 0)
        .for_each(|f| f.deadline = Some(Span::from_us(5 + stream.below(most_us))));
}

fn symmetric(topology: Topology, flows: Vec<Flow>, transport: TransportConfig) -> Plan {
    let mut plan = plan(topology, flows);
    plan.transports = vec![transport];
    plan.switches[0].hash = RouteHash::Symmetric;
    plan
}

#[test]
fn engines_and_threads() {
    for (name, transport) in both() {
        let mut plan =
            symmetric(fat_tree(4, 2), traffic(32, 150, 200, 200_000, 5), transport.clone());
        random_deadlines(&mut plan.flows, 1, 300);
        let output = same_everywhere(name, &plan);
        let ended = output.flows.iter().filter(|f| f.status == Status::Finished).count();
        let given_up = output.flows.iter().filter(|f| f.status == Status::Terminated).count();
        assert_eq!(ended + given_up, 150, "{name}");
        assert!(ended > 75 && given_up > 5, "{name}: {ended} ended, {given_up} were given up");
        // Frames are lost on links, and in short queues.
        plan.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(4_000), drop_when: Compare::Above };
        plan.topology.links.iter_mut().for_each(|link| link.loss = Probability::new(0.01).unwrap());
        plan.record.paths = true;
        plan.run.until = Some(Time::from_ns(20_000_000));
        let output = same_everywhere(name, &plan);
        assert!(
            output.counters.drops_loss > 10
                && output.flows.iter().any(|f| f.packets_retransmitted > 0),
            "{name}"
        );
        // The flows share the fabric with TCP flows, with priorities and cut-through.
        plan.transports.push(TransportConfig::Tcp(tcp()));
        plan.flows.iter_mut().filter(|f| f.id % 4 == 0).for_each(|f| f.transport = 1);
        plan.switches[0].scheduling = Scheduling::Priorities { queues: 2 };
        plan.switches[0].cut_through = Some(64);
        same_everywhere(name, &plan);
    }
}

/// Links that grant rates read the queue length. This includes pFabric's queue, on which the window
/// engine decides late.
#[test]
fn behind_the_queue_of_pfabric() {
    for (name, transport) in both() {
        let mut plan = symmetric(star(4), traffic(4, 80, 40, 60_000, 5), transport);
        let pfabric_order = Some(Aqm::Pfabric(Some(Limit::Packets(8))));
        (plan.hosts[0].aqm, plan.switches[0].aqm) = (pfabric_order.clone(), pfabric_order);
        plan.run.until = Some(Time::from_ns(20_000_000));
        same_everywhere(name, &plan);
    }
}

/// Pairs of hosts over one link of 10 Gbps. All other links have 40 Gbps.
fn dumbbell(pairs: u32) -> Topology {
    let mut nodes: Vec<Node> = (0..2 * pairs)
        .map(|h| node(format!("host{h}"), NodeKind::Host, 0, Some(h / pairs)))
        .collect();
    nodes.extend((0..2).map(|s| node(format!("switch{s}"), NodeKind::Switch, 1, Some(s))));
    let at = |h: u32| 2 * pairs + h / pairs;
    let mut links: Vec<Link> =
        (0..2 * pairs).map(|h| link(h, at(h), Rate::from_gbps(40), Span::from_ns(500))).collect();
    links.push(link(2 * pairs, 2 * pairs + 1, Rate::from_gbps(10), Span::from_us(1)));
    Topology { nodes, links, hosts: 2 * pairs, ..Default::default() }
}

fn mean_fct(output: &Output) -> f64 {
    let times: Vec<f64> =
        output.flows.iter().filter_map(|f| Some((f.finish? - f.start?).0 as f64 / 1e6)).collect();
    times.iter().sum::<f64>() / times.len() as f64
}

/// spec/transports.md §9.10: n equal flows that are sent one after the other take half of the mean
/// time of flows that share, and keep the link busy.
#[test]
fn pdq_equal_flows_one_after_the_other() {
    let (pairs, bytes) = (10, 100 * 1_444);
    let flows = (0..pairs).map(|i| flow(i as i64, i, pairs + i, bytes, Time::ZERO)).collect();
    let mut plan = plan(dumbbell(pairs), flows);
    plan.transports = vec![TransportConfig::Pdq(pdq())];
    let output = run(&plan, &Progress::default()).unwrap();
    // A flow of 100 frames of 1500 B takes 120 us.
    let (mean, last) = (
        mean_fct(&output),
        output.flows.iter().map(|f| f.finish.unwrap().0).max().unwrap() as f64 / 1e6,
    );
    eprintln!("mean {mean}, last {last}");
    assert!(last < 1_200.0 * 1.1, "the link is busy: {last} us");
    // One after the other, the mean is (1 + ... + 10) / 10 * 120 us = 660 us. All at once, it is
    // about 1,200 us.
    assert!((600.0..760.0).contains(&mean), "{mean} us");
}

/// Flows with deadlines over the bottleneck: sizes of 2 to 198 KB, exponential deadlines with a
/// minimum, Poisson arrivals.
fn deadline_flows(pairs: u32, count: u32, load: f64, mean_us: f64, seed: u64) -> Vec<Flow> {
    let mut stream = Stream::new(seed, 97, 0);
    let exponential = |stream: &mut Stream, mean: f64| -libm::log(1.0 - stream.next_f64()) * mean;
    // 100 KB at 10 Gbps take 80 us.
    let gap = 80.0 / load;
    let mut at = 0.0;
    (0..count)
        .map(|id| {
            at += exponential(&mut stream, gap);
            let pair = stream.below(pairs as u64) as u32;
            let bytes = 2_000 + stream.below(196_000);
            let deadline = exponential(&mut stream, mean_us).max(mean_us * 0.15);
            Flow {
                deadline: Some(Span::from_ns((deadline * 1e3) as u64)),
                ..flow(id as i64, pair, pairs + pair, bytes, Time::from_ns((at * 1e3) as u64))
            }
        })
        .collect()
}

/// Returns the share of flows that end after their deadline, or never.
fn missed(plan: &Plan, output: &Output) -> f64 {
    let met = |(flow, record): (&Flow, &crate::record::FlowRecord)| {
        record.finish.is_some_and(|finish| {
            flow.deadline.is_none_or(|deadline| finish - record.start.unwrap() <= deadline)
        })
    };
    1.0 - output.all_flows(plan).filter(|&pair| met(pair)).count() as f64
        / output.flows.len() as f64
}

fn scheme(name: &str) -> TransportConfig {
    let dctcp = TcpConfig { min_rto: Span::from_ms(1), initial_rto: Span::from_ms(1), ..dctcp() };
    let d2tcp = D2tcpConfig {
        gain: 0.0625,
        initial_alpha: 1.0,
        least: 0.5,
        most: 2.0,
        without_deadline: WithoutDeadline::Dctcp,
    };
    match name {
        "pdq" => TransportConfig::Pdq(Pdq { interval: Span::from_us(12), ..pdq() }),
        "d3 of three sums" => {
            TransportConfig::D3(D3 { interval: Span::from_us(12), forget: None, ..d3() })
        }
        "d3" => TransportConfig::D3(D3 { interval: Span::from_us(12), ..d3() }),
        "d2tcp" => {
            TransportConfig::Tcp(TcpConfig { congestion: CongestionControl::D2tcp(d2tcp), ..dctcp })
        }
        _ => TransportConfig::Tcp(dctcp),
    }
}

/// Runs the same flows with each scheme. Returns the share of missed deadlines, and the mean
/// completion time in microseconds of the flows that end.
fn compare(schemes: &[&str], flows: &[Flow], topology: &Topology, k: u32) -> Vec<(f64, f64)> {
    let outcome = |name: &&str| {
        let mut plan = plan(topology.clone(), flows.to_vec());
        plan.transports = vec![scheme(name)];
        plan.switches[0].buffer = Buffer::Unlimited;
        plan.switches[0].marking =
            Some(Marking { incapable: Incapable::Pass, ..step(Limit::Packets(k)) });
        plan.record.explain = false;
        let output = run(&plan, &Progress::default()).unwrap();
        assert_eq!(output.counters.dropped_packets, 0);
        let result = (missed(&plan, &output), mean_fct(&output));
        eprintln!("{name}: {:.2} % missed, mean {:.1} us", 100.0 * result.0, result.1);
        result
    };
    schemes.iter().map(outcome).collect()
}

/// Bursts of replies to one query: `pairs` flows each, whose deadlines lie between two bounds.
fn bursts(
    pairs: u32,
    rounds: u32,
    every_us: u64,
    bytes: (u64, u64),
    deadline_us: (u64, u64),
    seed: u64,
) -> Vec<Flow> {
    let mut stream = Stream::new(seed, 96, 0);
    let mut between = |(least, most): (u64, u64)| least + stream.below(most - least + 1);
    let mut flows: Vec<Flow> = (0..rounds * pairs)
        .map(|id| {
            let at = Time::from_ns((id / pairs) as u64 * every_us * 1_000 + between((0, 20_000)));
            let deadline = Some(Span::from_us(between(deadline_us)));
            Flow { deadline, ..flow(id as i64, id % pairs, pairs + id % pairs, between(bytes), at) }
        })
        .collect();
    flows.sort_by_key(
        |f| if let Start::At(at) = f.start { at } else { unreachable!("by the clock") },
    );
    flows
}

/// §5.5: PDQ meets more deadlines than D3. Without deadlines, its mean completion time is about
/// 30 % below D3's.
#[test]
fn pdq_against_d3() {
    let flows = deadline_flows(20, 1_000, 0.5, 500.0, 1);
    let [pdq, d3] = compare(&["pdq", "d3"], &flows, &dumbbell(20), 20)[..] else {
        unreachable!("two")
    };
    assert!(pdq.0 < 0.75 * d3.0, "{pdq:?} {d3:?}");
    let without: Vec<Flow> = flows.into_iter().map(|f| Flow { deadline: None, ..f }).collect();
    let [pdq, d3] = compare(&["pdq", "d3"], &without, &dumbbell(20), 20)[..] else {
        unreachable!("two")
    };
    assert!(pdq.1 < 0.85 * d3.1, "{pdq:?} {d3:?}");
}

/// §5.5: D2TCP misses fewer deadlines than D3, if flows take a few round trips and arrive one by
/// one.
#[test]
fn d2tcp_against_d3() {
    // The paper's router keeps for ever the last requests of flows that were quenched before its
    // reply. A router that knows its flows does not, and then misses no more deadlines than D2TCP.
    let schemes = ["d2tcp", "d3 of three sums", "d3"];
    let [d2tcp, published, d3] =
        compare(&schemes, &deadline_flows(20, 1_000, 0.5, 500.0, 1), &dumbbell(20), 20)[..]
    else {
        unreachable!("three")
    };
    assert!(d2tcp.0 < 0.85 * published.0, "{d2tcp:?} {published:?}");
    assert!(d3.0 < 0.9 * published.0, "{d3:?} {published:?}");
}

/// §5.5: D2TCP also misses fewer deadlines than DCTCP, if near and far deadlines meet and windows
/// have more than a few segments. Only the direction is reproduced: 29.3 % against 32.7 % here,
/// where the paper has 75 % fewer.
#[test]
fn d2tcp_against_dctcp() {
    let mut long = dumbbell(5);
    long.links[10].delay = Span::from_us(20);
    let flows = bursts(5, 30, 20_000, (1_000_000, 2_000_000), (3_000, 12_000), 1);
    let [d2tcp, dctcp] = compare(&["d2tcp", "dctcp"], &flows, &long, 65)[..] else {
        unreachable!("two")
    };
    assert!(d2tcp.0 < 0.95 * dctcp.0, "{d2tcp:?} {dctcp:?}");
}
