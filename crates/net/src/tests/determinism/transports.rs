//! Scenarios of transports other than TCP, of processors, and of flows that start others.

use crate::spec::*;
use crate::testing::*;
use crate::tests::hull;
use crate::tests::scenarios::*;
use crate::transport::ndp::NdpConfig;
use afflux_units::{Rate, Span, Time};

pub fn add_datagrams(s: &mut Scenarios) {
    s.add("datagrams among tcp", |p| {
        p.transports.push(TransportConfig::Datagram(Datagram {
            rate: Some(Rate::from_gbps(30)),
            payload: 1460,
            ecn_capable: false,
        }));
        p.flows.iter_mut().filter(|f| f.id % 5 == 0).for_each(|f| f.transport = 1);
    });
    s.add("datagrams with reports among tcp", |p| {
        p.transports.extend([
            TransportConfig::Nack(Nack { rate: Some(Rate::from_gbps(40)), ..nack() }),
            TransportConfig::Nack(nack()),
        ]);
        p.flows.iter_mut().for_each(|f| f.transport = (f.id % 3) as u16);
        lose(&mut p.topology.links, 0.01);
        p.record.paths = true;
    });
    s.add("pulls and headers", |p| {
        (p.switches[0].buffer, p.switches[0].aqm) = (Buffer::Unlimited, trimming());
        p.transports = vec![
            TransportConfig::Ndp(ndp()),
            TransportConfig::Ndp(NdpConfig { pull_rate: 0.9, spread: false, ..ndp() }),
        ];
        p.flows.iter_mut().filter(|f| f.id % 3 == 0).for_each(|f| f.transport = 1);
        lose(&mut p.topology.links, 0.002);
        p.record.paths = true;
    });
    s.add("pulls among tcp, header queues that overflow", |p| {
        let aqm = Some(Aqm::Trim(TrimConfig { data: 9_000, headers: 640, header: 64 }));
        let switch = &mut p.switches[0];
        (switch.buffer, switch.aqm, switch.scheduling) = (Buffer::Unlimited, aqm, priorities(2));
        p.transports.push(TransportConfig::Ndp(ndp()));
        p.flows.iter_mut().filter(|f| f.id % 3 > 0).for_each(|f| f.transport = 1);
        p.record.ports = samples(20, 30..42);
    });
}

pub fn add_processors(s: &mut Scenarios) {
    s.add("processors", |p| {
        let processor = |packet, queue| Processor {
            packet_time: Span::from_ns(packet),
            interrupt_time: Span::from_ns(packet / 3),
            queue,
            stall: None,
        };
        p.switches
            .push(SwitchConfig { processor: Some(processor(60, 40)), ..p.switches[0].clone() });
        let stall = Some(Stall { work: Span::from_us(30), pause: Span::from_us(20) });
        p.hosts.push(HostConfig {
            processor: Some(Processor { stall, ..processor(0, 5) }),
            pacer: hull::pacer(),
            ..p.hosts[0].clone()
        });
        // Some of the hosts, and the racks of some.
        (0..8).chain(32..40).for_each(|node| p.topology.nodes[node].config = 1);
        p.record.ports = samples(20, 30..42);
    });
}

pub fn add_closed_loop(s: &mut Scenarios) {
    s.add("closed loop", |p| {
        // Three rounds of queries to each of four hosts. A round starts when the last reply of the
        // previous round has arrived.
        let mut flows = Vec::new();
        for receiver in 0..4u32 {
            for round in 0..3u32 {
                let group = receiver * 3 + round;
                let start = if round == 0 {
                    Start::At(Time::ZERO)
                } else {
                    Start::After { group: group - 1, delay: Span::from_us(3) }
                };
                flows.extend((4..24).map(|sender| Flow {
                    start,
                    group: Some(group),
                    ..flow(0, sender, receiver, 30_000, Time::ZERO)
                }));
            }
        }
        p.flows = numbered(flows);
    });
}
