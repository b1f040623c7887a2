//! Shared-memory switches and flow control: the same from both engines, over several switches with PAUSE frames in the loop.

use super::determinism::{same_everywhere, traffic};
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use afflux_units::{Probability, Rate, Span, Time};

/// A small memory, so that everything about it matters.
pub fn sonic(total: u64) -> Mmu {
    let rules = SonicRules {
        alpha: 0.25,
        reserved: 3_000,
        lossy_ingress_alpha: Some(2.0),
        lossy_alpha: 0.5,
        queue_reserved: 1_500,
        lossy_pool: Some(total / 2),
        headroom_pool: None,
        xon: 3_000,
        xon_offset: 3_000,
    };
    Mmu { total, cell: None, bypass: 0, rules: Rules::Sonic(rules) }
}

pub fn conweave(total: u64) -> Mmu {
    Mmu { total, cell: None, bypass: 0, rules: Rules::Conweave(ConweaveRules { ingress_alpha: 1.0 / 16.0, egress_alpha: 1.0, mtu: 1_048 }) }
}

pub fn hpcc(total: u64) -> Mmu {
    Mmu { total, cell: None, bypass: 0, rules: Rules::Hpcc(HpccRules { shift: 3, nic_rate: Rate::from_gbps(25), reserved: 4_096, resume_offset: 3_072 }) }
}

/// Generous headroom: 3 round trips and more at 100G.
pub fn pfc(priorities: u8) -> Pfc {
    Pfc {
        priorities,
        headroom: Headroom::Formula { formula: Formula::Sonic, cable: Cable::FromDelay },
        pause: PauseTime::Quanta(u16::MAX),
        refresh: Refresh::AtHalf,
        response: None,
        watchdog: None,
        deadlock_after: None,
    }
}

/// Every host of the first racks sends to one of the last, over and above random pairs; starts at whole microseconds make ties.
fn incast(topology: &Topology, bytes: u64) -> Vec<Flow> {
    let hosts = topology.hosts;
    let mut flows = traffic(hosts, 150, 100, 60_000, 3);
    for src in 0..hosts - 1 {
        flows.push(Flow { priority: (src % 3) as u8, ..flow(0, src, hosts - 1, bytes, Time::from_ns(1_000 * (src as u64 % 4))) });
    }
    flows.sort_by_key(|f| if let Start::At(t) = f.start { t } else { unreachable!() });
    flows.iter_mut().enumerate().for_each(|(id, f)| f.id = id as i64);
    flows
}

fn mixed_rates(topology: &mut Topology) {
    for (i, link) in topology.links.iter_mut().enumerate() {
        link.rate = [Rate::from_gbps(100), Rate::from_gbps(25), Rate::from_gbps(40), Rate::from_gbps(400)][i % 4];
        link.delay = Span::from_ns([300, 1_000, 25][i % 3]);
    }
}

/// Switches in a circle, each with hosts, each way over the next: what goes around waits for itself.
pub fn ring(switches: u32, hosts_per_switch: u32) -> Topology {
    let hosts = switches * hosts_per_switch;
    let (rate, delay) = (Rate::from_gbps(100), Span::from_ns(500));
    let mut nodes: Vec<Node> = (0..hosts).map(|h| node(format!("host{h}"), NodeKind::Host, 0, Some(h / hosts_per_switch))).collect();
    nodes.extend((0..switches).map(|s| node(format!("switch{s}"), NodeKind::Switch, 1, Some(s))));
    let mut links: Vec<Link> = (0..hosts).map(|h| link(h, hosts + h / hosts_per_switch, rate, delay)).collect();
    links.extend((0..switches).map(|s| link(hosts + s, hosts + (s + 1) % switches, rate, delay)));
    Topology { nodes, links, hosts }
}

fn tells(name: &str, output: &Output) {
    let c = output.counters;
    eprintln!(
        "{name}: {} hops, {} pauses, {} discards, {} drops, {} marks, {} timeouts, end {}",
        c.packet_hops, c.pause_frames, c.in_discards, c.dropped_packets, c.ecn_marks, c.timeouts, output.end
    );
}

#[test]
fn engines_agree() {
    let base = |topology: Topology| {
        let flows = incast(&topology, 400_000);
        let mut p = plan(topology, flows);
        p.switches[0].buffer = Buffer::Mmu(sonic(1_500_000));
        p.switches[0].pfc = Some(pfc(0b111));
        p.switches[0].honours_pause = true;
        p
    };
    let mut plans: Vec<(&str, Plan)> = Vec::new();
    let mut add = |name: &'static str, topology: Topology, change: &dyn Fn(&mut Plan)| {
        let mut p = base(topology);
        change(&mut p);
        plans.push((name, p));
    };
    let strict = |p: &mut Plan| {
        p.switches[0].scheduling = Scheduling::StrictPriority { queues: 8 };
        p.hosts[0].scheduling = Scheduling::StrictPriority { queues: 8 };
    };
    let fabric = || leaf_spine(3, 2, 4);
    add("sonic, lossless", fabric(), &|_| {});
    add("sonic, lossless, priorities", fabric(), &|p| strict(p));
    add("sonic, two of three lossless, priorities", fabric(), &|p| {
        strict(p);
        p.switches[0].pfc = Some(pfc(0b110));
        p.switches[0].buffer = Buffer::Mmu(sonic(900_000));
    });
    add("sonic, lossy only", fabric(), &|p| {
        p.switches[0].pfc = None;
        p.switches[0].buffer = Buffer::Mmu(sonic(250_000));
    });
    add("sonic, cells, mixed rates", fabric(), &|p| {
        mixed_rates(&mut p.topology);
        strict(p);
        p.switches[0].buffer = Buffer::Mmu(Mmu { cell: Some(256), ..sonic(3_600_000) });
    });
    add("sonic, headroom too small", fabric(), &|p| {
        p.switches[0].pfc = Some(Pfc { headroom: Headroom::Bytes(6_000), ..pfc(0b111) });
        p.switches[0].buffer = Buffer::Mmu(sonic(400_000));
    });
    add("sonic, shared headroom too small, dctcp", fabric(), &|p| {
        let Buffer::Mmu(mut mmu) = p.switches[0].buffer.clone() else { unreachable!() };
        let Rules::Sonic(rules) = &mut mmu.rules else { unreachable!() };
        rules.headroom_pool = Some(30_000);
        p.switches[0].buffer = Buffer::Mmu(Mmu { total: 200_000, ..mmu });
        p.switches[0].marking = Some(step(Limit::Bytes(30_000)));
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    add("sonic, short pauses that expire, until start", ring(5, 3), &|p| {
        p.switches[0].queue_length = QueueLength::BeforeTransmission;
        p.switches[0].pfc = Some(Pfc { pause: PauseTime::Quanta(300), refresh: Refresh::OnArrival, ..pfc(0b111) });
    });
    add("sonic, ring, all records", ring(5, 3), &|p| {
        strict(p);
        p.run.until = Some(Time::from_ns(400_000));
        p.record.ports = Some(PortSeries { interval: Span::from_us(7), nodes: (0..p.topology.nodes.len() as u32).collect() });
        p.record.paths = true;
        p.record.captures = vec![Capture { link: 0, reverse: true }];
        p.record.imbalance = Some(Span::from_us(20));
    });
    add("sonic, hosts that go on", fabric(), &|p| {
        p.hosts[0].honours_pause = false;
        p.switches[0].buffer = Buffer::Mmu(sonic(1_200_000));
    });
    add("sonic, storm", fabric(), &|p| {
        strict(p);
        p.run.until = Some(Time::from_ns(700_000));
        let storm = Storm {
            priority: 1,
            from: Time::from_ns(20_000),
            until: Some(Time::from_ns(300_000)),
            period: Span::from_us(3),
            pause: PauseTime::Time(Span::from_us(10)),
        };
        p.hosts.push(HostConfig { storm: Some(storm), ..p.hosts[0].clone() });
        p.topology.nodes[5].config = 1;
    });
    add("sonic, cut-through, spray, red", fabric(), &|p| {
        p.switches[0].forwarding = Forwarding::CutThrough { header: 64 };
        p.switches[0].balance = Balance::Spray;
        p.switches[0].marking =
            Some(Marking { kmax: Limit::Bytes(500_000), pmax: Probability::new(0.01).unwrap(), at: MarkAt::Dequeue, ..step(Limit::Bytes(200_000)) });
    });
    add("sonic, loss and link down", fabric(), &|p| {
        for (i, link) in p.topology.links.iter_mut().enumerate() {
            link.loss = Probability::new(0.01).unwrap();
            if i == 14 {
                link.down = vec![Down { from: Time::from_ns(50_000), to: Some(Time::from_ns(150_000)), detect: Span::from_us(10) }];
            }
        }
    });
    add("conweave", fabric(), &|p| {
        p.switches[0].buffer = Buffer::Mmu(conweave(700_000));
        p.switches[0].pfc = Some(Pfc {
            headroom: Headroom::Formula { formula: Formula::Conweave, cable: Cable::FromDelay },
            pause: PauseTime::Time(Span::from_us(5)),
            refresh: Refresh::OnArrival,
            ..pfc(0b111)
        });
    });
    add("conweave, no flow control", fabric(), &|p| {
        p.switches[0].buffer = Buffer::Mmu(Mmu { bypass: 0b1, ..conweave(200_000) });
        p.switches[0].pfc = None;
        strict(p);
    });
    add("hpcc", fabric(), &|p| {
        mixed_rates(&mut p.topology);
        p.switches[0].buffer = Buffer::Mmu(hpcc(700_000));
        p.switches[0].pfc = Some(Pfc { headroom: Headroom::Formula { formula: Formula::Hpcc, cable: Cable::FromDelay }, ..pfc(0b111) });
        strict(p);
    });
    let (mut paused, mut discards, mut drops) = (0, 0, 0);
    for (name, plan) in &plans {
        let output = same_everywhere(name, plan);
        tells(name, &output);
        paused += (output.counters.pause_frames > 10) as u32;
        discards += (output.counters.in_discards > 0) as u32;
        drops += (output.counters.drops_buffer > 0) as u32;
    }
    assert!(paused >= 12 && discards >= 3 && drops >= 2, "{paused} with pauses, {discards} with discards, {drops} with drops");
}
