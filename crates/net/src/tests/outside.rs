//! Tests that a network driven from outside behaves like the simulated one: packets that enter when
//! a simulated source would send them fare like the packets of that source.

use crate::outside::{Departure, Packet, drive};
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Probability, Rate, Span, Time};

const FRAMES: u64 = 2_000;
const EVERY: u64 = 11_680_000;

/// Two sources with 1 Gbps of payload each send over leaf and spine links. One of the paths is
/// slow, lossy, and marks.
fn fabric() -> Plan {
    let mut topology = leaf_spine(2, 2, 2);
    topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(10));
    topology.links[2].rate = Rate::from_mbps(900);
    topology.links[4].loss = Probability::new(0.05).unwrap();
    let mut plan = plan(topology, Vec::new());
    plan.switches[0].marking = Some(step(Limit::Bytes(20_000)));
    plan.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(60_000), drop_when: Compare::Above };
    plan.record.ports = Some(PortSeries { interval: Span::from_us(500), nodes: vec![4, 5, 6, 7] });
    plan.run.fct_end = FctEnd::LastByte;
    plan.run.engine = EngineKind::Classical;
    plan.transports = vec![TransportConfig::Datagram(Datagram {
        rate: Some(Rate::from_gbps(1)),
        payload: 1460,
        ecn_capable: true,
    })];
    plan
}

fn driven(plan: &Plan, ends: u64) -> (Output, Vec<Departure>, Vec<u32>) {
    let (output, (arrived, lost)) = drive(plan, |driven| {
        for number in 0..FRAMES {
            driven.advance(Time(number * EVERY));
            for host in [0, 1] {
                let token = 2 * number as u32 + host;
                let ends = (host as u64, ends);
                let packet = Packet {
                    host,
                    nic: 0,
                    dst: 2,
                    dst_nic: 0,
                    size: 1500,
                    capable: true,
                    marked: false,
                    priority: 0,
                    ends,
                    token,
                };
                driven.enter(&packet);
            }
        }
        driven.advance(Time(FRAMES * EVERY + 100_000_000_000));
        (std::mem::take(driven.arrived()), std::mem::take(driven.lost()))
    })
    .unwrap();
    (output, arrived, lost)
}

#[test]
fn packets_from_outside_fare_as_simulated_ones() {
    let plan = fabric();
    let mut simulated = plan.clone();
    simulated.flows = [0, 1]
        .map(|src| Flow { transport: 0, ..flow(src.into(), src, 2, FRAMES * 1460, Time::ZERO) })
        .to_vec();
    let simulated = run(&simulated, &Progress::default()).unwrap();
    // Among the paths to which hashes may send the two flows, at least one combination is that of
    // the simulated flows.
    let same = (0..64).find_map(|ends| {
        let (output, arrived, lost) = driven(&plan, ends);
        assert_eq!(arrived.len() + lost.len(), 2 * FRAMES as usize, "every token comes back");
        assert_eq!(lost.len() as u64, output.counters.dropped_packets);
        assert!(arrived.is_sorted_by_key(|departure| departure.at));
        assert_eq!(output.flows.len(), 0);
        (output.counters == simulated.counters).then_some((output, arrived))
    });
    let (output, arrived) = same.expect("equal to the simulated flows");
    let c = &output.counters;
    assert!(c.drops_loss > 0 && c.drops_buffer > 0 && c.ecn_marks > 0, "{c:?}");
    let until = |output: &Output| {
        output.ports.iter().filter(|row| row.time.0 <= FRAMES * EVERY).copied().collect::<Vec<_>>()
    };
    assert_eq!(until(&output), until(&simulated));
    assert_eq!(
        arrived.iter().filter(|departure| departure.marked).count() as u64,
        simulated.flows.iter().map(|flow| flow.ecn_marked).sum::<u64>()
    );
}

#[test]
fn a_lone_packet_takes_what_the_path_takes() {
    let mut plan = fabric();
    plan.topology.links.iter_mut().for_each(|link| link.loss = Probability::ZERO);
    let (_, departures) = drive(&plan, |driven| {
        driven.advance(Time(5_000));
        let packet = Packet {
            host: 0,
            nic: 0,
            dst: 3,
            dst_nic: 0,
            size: 1500,
            capable: false,
            marked: false,
            priority: 0,
            ends: (1, 2),
            token: 9,
        };
        driven.enter(&packet);
        assert_eq!(
            driven.due(),
            Some(Time(5_000 + 1_200_000)),
            "the first link is busy until then"
        );
        driven.advance(Time(1_000_000_000));
        (std::mem::take(driven.arrived()), driven.propagation(0, 3), driven.propagation(0, 0))
    })
    .unwrap();
    // The path has four links of 10 Gbps and 1 us.
    let at = 5_000 + 4 * (1_200_000 + 1_000_000);
    assert_eq!(
        departures,
        (
            vec![Departure { at, token: 9, host: 3, nic: 0, marked: false }],
            Some(Span::from_us(4)),
            None
        )
    );
}

#[test]
fn simulated_flows_share_links_with_packets_from_outside() {
    let mut plan = fabric();
    plan.flows = vec![flow(0, 1, 3, 1_000_000, Time::ZERO)];
    plan.transports = tcp_only(tcp());
    let (output, arrived, _) = driven(&plan, 0);
    assert_eq!((output.flows.len(), output.flows[0].bytes_received), (1, 1_000_000));
    assert!(!arrived.is_empty());
}

#[test]
fn no_host_forwards() {
    let topology = Topology {
        nodes: (0..3).map(|h| node(format!("host{h}"), NodeKind::Host, 0, None)).collect(),
        links: vec![
            link(0, 1, Rate::from_gbps(1), Span::from_us(1)),
            link(1, 2, Rate::from_gbps(1), Span::from_us(1)),
        ],
        hosts: 3,
        ..Default::default()
    };
    let (output, (arrived, lost)) = drive(&plan(topology, Vec::new()), |driven| {
        for (token, dst) in [(0, 1), (1, 2)] {
            driven.enter(&Packet {
                host: 0,
                nic: 0,
                dst,
                dst_nic: 0,
                size: 100,
                capable: false,
                marked: false,
                priority: 0,
                ends: (0, 0),
                token,
            });
        }
        driven.advance(Time(1_000_000_000));
        (std::mem::take(driven.arrived()).len(), std::mem::take(driven.lost()))
    })
    .unwrap();
    assert_eq!((arrived, lost, output.counters.drops_down), (1, vec![1], 1));
}

/// Two hosts: host 0 has two links to one leaf, host 1 has two links to another leaf and one to a
/// third; a spine connects the leaves. Packets of many flows arrive at the NIC of their address,
/// by whichever NIC they leave, also where frames carry hashes instead of routes.
#[test]
fn packets_arrive_at_the_nic_of_their_address() {
    let kind = |id| if id < 3 { NodeKind::Host } else { NodeKind::Switch };
    let ends = [(2, 4), (0, 3), (0, 3), (1, 4), (1, 4), (1, 5), (3, 6), (4, 6), (5, 6)];
    let topology = Topology {
        nodes: (0..7)
            .map(|id| node(format!("node{id}"), kind(id), u8::from(id > 2), None))
            .collect(),
        links: ends.map(|(a, b)| link(a, b, Rate::from_gbps(10), Span::from_us(1))).to_vec(),
        hosts: 3,
        ..Default::default()
    };
    let mut carrying = plan(topology, Vec::new());
    carrying.run.engine = EngineKind::Classical;
    let mut hashing = carrying.clone();
    hashing.switches[0].aqm = Some(fq_codel(super::scenarios::codel(false), 1_514, 64, 10_240, 64));
    for plan in [carrying, hashing] {
        let (_, arrived) = drive(&plan, |driven| {
            for token in 0..240 {
                let (nic, dst_nic) = (token / 3 % 2, token % 3);
                driven.advance(Time(u64::from(token) * 100_000_000));
                driven.enter(&Packet {
                    host: 0,
                    nic,
                    dst: 1,
                    dst_nic,
                    size: 100,
                    capable: false,
                    marked: false,
                    priority: 0,
                    ends: (u64::from(token), u64::from(dst_nic)),
                    token,
                });
            }
            driven.advance(Time(1_000_000_000_000));
            std::mem::take(driven.arrived())
        })
        .unwrap();
        assert_eq!(arrived.len(), 240);
        assert!(arrived.iter().all(|one| one.nic == one.token % 3), "{arrived:?}");
    }
}
