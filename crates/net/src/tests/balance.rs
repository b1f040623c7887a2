//! Balancers: the same result everywhere, and what each of them is for.

use super::determinism::{same_everywhere, traffic};
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Probability, Rate, Span, Time};

/// Every balancer, with parameters that make it busy.
fn balancers() -> Vec<(&'static str, Balance)> {
    let letflow = |us, ns3| Balance::LetFlow(LetFlow { gap: Span::from_us(us), ns3 });
    vec![("letflow", letflow(5, false)), ("letflow, ns-3", letflow(5, true))]
}

/// Fabrics and settings in which they may go wrong.
fn settings() -> Vec<(&'static str, Plan)> {
    let base = |topology: Topology| {
        let hosts = topology.hosts;
        let mut p = plan(topology, traffic(hosts, 300, 200, 200_000, 1));
        p.switches[0].buffer = Buffer::Static { per_queue: Limit::Bytes(60_000), drop_when: Compare::Above };
        p.record.paths = true;
        p
    };
    let mut plans = vec![("fat-tree", base(fat_tree(4, 2))), ("leaf-spine", base(leaf_spine(4, 3, 4)))];
    let mut add = |name, change: &dyn Fn(&mut Plan)| {
        let mut p = base(fat_tree(4, 2));
        change(&mut p);
        plans.push((name, p));
    };
    add("automata: shared memory, marks at dequeue, priorities", &|p| {
        p.switches[0].buffer = Buffer::Shared { total: 150_000, alpha: 1.0, reserved_per_queue: 0 };
        p.switches[0].scheduling = Scheduling::StrictPriority { queues: 3 };
        p.switches[0].marking = Some(Marking { at: MarkAt::Dequeue, ..step(Limit::Bytes(20_000)) });
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    add("occupancy through the start of transmission, short run", &|p| {
        p.switches[0].queue_length = QueueLength::ThroughStart;
        p.run.until = Some(Time::from_ns(77_777));
    });
    add("cut-through, mixed rates and delays", &|p| {
        p.switches[0].forwarding = Forwarding::CutThrough { header: 64 };
        for (i, link) in p.topology.links.iter_mut().enumerate() {
            link.rate = [Rate::from_gbps(100), Rate::from_gbps(25), Rate::from_gbps(40), Rate(33_333_333_333)][i % 4];
            link.delay = Span::from_ns([25, 300, 1_000, 50_000][i % 4]);
        }
    });
    add("loss, links down and up again", &|p| {
        for (i, link) in p.topology.links.iter_mut().enumerate() {
            link.loss = Probability::new(0.01).unwrap();
            if i % 7 == 3 && i >= 32 {
                link.down = vec![Down { from: Time::from_ns(50_000), to: Some(Time::from_ns(150_000)), detect: Span::from_us(10) }];
            }
        }
    });
    add("lossless", &|p| {
        p.switches[0].buffer = Buffer::Mmu(super::lossless::conweave(700_000));
        p.switches[0].pfc = Some(super::lossless::pfc(0b111));
        p.switches[0].honours_pause = true;
    });
    plans
}

#[test]
fn the_same_everywhere() {
    for (balancer, balance) in balancers() {
        for (name, mut plan) in settings() {
            plan.switches[0].balance = balance.clone();
            let output = same_everywhere(&format!("{balancer}: {name}"), &plan);
            eprintln!("{balancer}: {name}: {} hops, {} drops, {:?}", output.counters.packet_hops, output.counters.dropped_packets, output.counters.balance);
            assert!(output.counters.packet_hops > 1_000);
        }
    }
}

fn outcome(plan: &Plan) -> Output {
    run(plan, &Progress::default()).unwrap()
}

/// Two leaves, `spines` spines; a datagram flow from rack to rack whose frames are `spacing` apart.
fn probe(spines: u32, frames: u64, spacing: Span, balance: Balance) -> Plan {
    let flows = vec![flow(0, 0, 1, 1_460 * frames, Time::ZERO)];
    let mut p = plan(leaf_spine(2, spines, 1), flows);
    // 1500 bytes in `spacing`.
    let rate = Rate(1_500 * 8 * 1_000_000_000_000 / spacing.0);
    p.transports = vec![TransportConfig::Datagram(Datagram { rate: Some(rate), payload: 1_460, ecn_capable: false })];
    p.switches[0].balance = balance;
    p.record.paths = true;
    p
}

#[test]
fn a_flowlet_ends_with_a_gap_longer_than_the_limit_and_draws_uniformly() {
    let letflow = |us| Balance::LetFlow(LetFlow { gap: Span::from_us(us), ns3: false });
    let (spines, frames) = (8, 4_000);
    // Not longer: one flowlet, one path.
    let together = outcome(&probe(spines, frames, Span::from_us(10), letflow(10)));
    assert_eq!((together.paths.len(), together.counters.balance.flowlets, together.counters.balance.reroutes), (1, 0, 0));
    let apart = outcome(&probe(spines, frames, Span::from_us(11), letflow(10)));
    assert_eq!(apart.counters.balance.flowlets, frames - 1);
    assert_eq!(apart.paths.len(), spines as usize);
    // Chi-square with 7 degrees of freedom: above 24.3 once in a thousand.
    let expected = frames as f64 / spines as f64;
    let chi: f64 = apart.paths.iter().map(|p| (p.frames as f64 - expected).powi(2) / expected).sum();
    assert!(chi < 24.3, "{chi}");
    // A draw meets another path seven times of eight.
    let reroutes = apart.counters.balance.reroutes as f64 / (frames - 1) as f64;
    assert!((reroutes - 0.875).abs() < 0.02, "{reroutes}");
}
