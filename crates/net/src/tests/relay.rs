//! Tests hosts that forward frames for other hosts.

use super::determinism::{same_everywhere, traffic};
use crate::routing::{Ports, Routes};
use crate::spec::*;
use crate::testing::*;
use afflux_units::{Span, Time};

fn over(transport: TransportConfig) -> Plan {
    let mut plan = plan(bcube(4, 2), traffic(16, 60, 40, 300_000, 5));
    plan.transports = vec![transport];
    plan.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(30_000), drop_when: Compare::Above };
    plan.record.paths = true;
    plan
}

fn mesh() -> TransportConfig {
    TransportConfig::Mptcp(MptcpConfig { manager: PathManager::FullMesh(8), ..mptcp() })
}

#[test]
fn both_engines_agree() {
    for (name, transport) in [
        ("tcp", TransportConfig::Tcp(tcp())),
        ("linux", TransportConfig::Tcp(linux())),
        ("mesh", mesh()),
    ] {
        let output = same_everywhere(name, &over(transport.clone()));
        assert!(
            output.counters.dropped_packets > 0 && output.flows.iter().all(|f| f.finish.is_some())
        );
        assert!(output.paths.iter().any(|path| path.nodes.len() == 5), "some host forwards");
        assert!(output.paths.iter().all(|path| path.nodes.len() == 3 || path.nodes.len() == 5));
        let mut recorded = over(transport);
        let all: Vec<u32> = (0..recorded.topology.nodes.len() as u32).collect();
        (recorded.record.gaps, recorded.record.waits, recorded.record.round_trips) =
            (all.clone(), all, true);
        let watched = same_everywhere(name, &recorded);
        assert_eq!(
            format!("{:?}", watched.flows),
            format!("{:?}", output.flows),
            "looking changes nothing"
        );
        assert!(
            !watched.gaps.is_empty()
                && !watched.waits.is_empty()
                && !watched.round_trips.is_empty()
        );
    }
}

/// Two NICs at each end: two subflows share no link if both digits differ. If one digit differs,
/// there is one subflow.
#[test]
fn subflows_correct_digits_in_different_orders() {
    let mut plan = plan(
        bcube(4, 2),
        vec![flow(0, 0, 5, 3_000_000, Time(0)), flow(1, 2, 3, 3_000_000, Time(0))],
    );
    plan.transports = vec![mesh()];
    plan.record.paths = true;
    let output = same_everywhere("two orders", &plan);
    let of =
        |flow: u32| output.paths.iter().filter(move |path| path.flow == flow).collect::<Vec<_>>();
    let [one, two] = of(0)[..] else { panic!("{:?}", of(0)) };
    assert_eq!((one.nodes.len(), two.nodes.len()), (5, 5));
    assert!(one.nodes[1..4].iter().all(|node| !two.nodes[1..4].contains(node)));
    assert_eq!(of(1).len(), 1);
}

/// A switch has failed. Its hosts are reached through other hosts, on longer paths.
#[test]
fn a_failed_switch_is_avoided() {
    let mut plan = over(TransportConfig::Tcp(tcp()));
    let failed = plan.topology.hosts;
    for link in plan.topology.links.iter_mut().filter(|link| link.b == failed) {
        link.down =
            vec![Down { from: Time::ZERO, to: None, detect: Span::ZERO, converge: Span::ZERO }];
    }
    // Flows are listed in the order in which they start.
    let Start::At(last) = plan.flows.last().expect("flows").start else {
        panic!("they start by time")
    };
    plan.flows.push(flow(1_000, 0, 1, 100_000, last));
    let output = same_everywhere("failed switch", &plan);
    assert!(output.flows.iter().all(|f| f.finish.is_some()));
    assert!(output.paths.iter().all(|path| !path.nodes.contains(&failed)));
    // Both hosts had only that switch in common. Now digit 1 changes and changes back.
    let detour =
        output.paths.iter().find(|path| path.flow as usize == plan.flows.len() - 1).unwrap();
    assert_eq!(detour.nodes.len(), 7, "{:?}", detour.nodes);
}

/// Counts the shortest paths, one for each order of the digits that differ.
#[test]
fn path_counts() {
    fn count(routes: &Routes, ports: &Ports, node: u32, host: u32) -> u32 {
        if node == host {
            return 1;
        }
        routes
            .next_hops(node, host)
            .as_slice()
            .iter()
            .map(|&port| count(routes, ports, ports.of(node)[port as usize].peer, host))
            .sum()
    }
    let topology = bcube(3, 3);
    let (routes, ports) = (Routes::build(&topology), Ports::new(&topology));
    assert_eq!((topology.hosts, topology.nodes.len()), (27, 54));
    for (host, ways) in [(1, 1), (9, 1), (4, 2), (12, 2), (13, 6), (26, 6)] {
        assert_eq!(count(&routes, &ports, 0, host), ways, "to {host}");
    }
}
