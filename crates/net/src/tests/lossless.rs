//! Tests shared-memory switches and flow control: equal results from both engines, with PAUSE
//! frames across several switches.

use super::determinism::{codel, fast_pi2, fast_pie, same_everywhere, traffic};
use crate::record::{Ended, Output, Status, StormRecord};
use crate::spec::*;
use crate::testing::*;
use afflux_units::{Probability, Rate, Span, Time};

/// SONiC's rules with a small memory, so that every detail of the memory has an effect.
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
        own: Box::default(),
    };
    Mmu { total, cell: None, bypass: 0, rules: Rules::Sonic(rules) }
}

pub fn conweave(total: u64) -> Mmu {
    Mmu {
        total,
        cell: None,
        bypass: 0,
        rules: Rules::Conweave(ConweaveRules {
            ingress_alpha: 1.0 / 16.0,
            egress_alpha: 1.0,
            mtu: 1_048,
        }),
    }
}

pub fn hpcc(total: u64) -> Mmu {
    Mmu {
        total,
        cell: None,
        bypass: 0,
        rules: Rules::Hpcc(HpccRules {
            shift: 3,
            nic_rate: Rate::from_gbps(25),
            reserved: 4_096,
            resume_offset: 3_072,
        }),
    }
}

/// Every host of the first racks sends to a host of the last rack, in addition to random pairs.
/// Starts at whole microseconds make ties.
fn incast(topology: &Topology, bytes: u64) -> Vec<Flow> {
    let hosts = topology.hosts;
    let mut flows = traffic(hosts, 150, 100, 60_000, 3);
    for src in 0..hosts - 1 {
        flows.push(Flow {
            priority: (src % 3) as u8,
            ..flow(0, src, hosts - 1, bytes, Time::from_ns(1_000 * (src as u64 % 4)))
        });
    }
    flows.sort_by_key(|f| if let Start::At(t) = f.start { t } else { unreachable!() });
    flows.iter_mut().enumerate().for_each(|(id, f)| f.id = id as i64);
    flows
}

fn mixed_rates(topology: &mut Topology) {
    for (i, link) in topology.links.iter_mut().enumerate() {
        link.rate =
            [Rate::from_gbps(100), Rate::from_gbps(25), Rate::from_gbps(40), Rate::from_gbps(400)]
                [i % 4];
        link.delay = Span::from_ns([300, 1_000, 25][i % 3]);
    }
}

/// Switches in a ring, each with hosts. Each switch reaches the others through its neighbours, so
/// traffic around the ring can wait for itself.
pub fn ring(switches: u32, hosts_per_switch: u32) -> Topology {
    let hosts = switches * hosts_per_switch;
    let (rate, delay) = (Rate::from_gbps(100), Span::from_ns(500));
    let mut nodes: Vec<Node> = (0..hosts)
        .map(|h| node(format!("host{h}"), NodeKind::Host, 0, Some(h / hosts_per_switch)))
        .collect();
    nodes.extend((0..switches).map(|s| node(format!("switch{s}"), NodeKind::Switch, 1, Some(s))));
    let mut links: Vec<Link> =
        (0..hosts).map(|h| link(h, hosts + h / hosts_per_switch, rate, delay)).collect();
    links.extend((0..switches).map(|s| link(hosts + s, hosts + (s + 1) % switches, rate, delay)));
    Topology { nodes, links, hosts, ..Default::default() }
}

fn reports(name: &str, output: &Output) {
    let c = output.counters;
    eprintln!(
        "{name}: {} hops, {} pauses, {} discards, {} drops, {} marks, {} timeouts, end {}",
        c.packet_hops,
        c.pause_frames,
        c.in_discards,
        c.dropped_packets,
        c.ecn_marks,
        c.timeouts,
        output.end
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
        p.switches[0].scheduling = Scheduling::Priorities { queues: 8 };
        p.hosts[0].scheduling = Scheduling::Priorities { queues: 8 };
    };
    let fabric = || leaf_spine(3, 2, 4);
    add("sonic, lossless", fabric(), &|_| {});
    add("sonic, lossless, priorities", fabric(), &|p| strict(p));
    let classes = Classes {
        of_priority: [0, 1, 2, 2, 0, 0, 0, 0],
        service: vec![Service::Weight(3), Service::Weight(1), Service::Strict],
        quantum: 1_500,
    };
    let weighted = |p: &mut Plan| {
        p.switches[0].scheduling = Scheduling::Classes(classes.clone());
        p.hosts[0].scheduling = Scheduling::Classes(classes.clone());
        p.record.ports = Some(PortSeries {
            interval: Span::from_us(7),
            nodes: (0..p.topology.nodes.len() as u32).collect(),
        });
    };
    add("sonic, lossless, weighted queues", fabric(), &|p| weighted(p));
    add("sonic, weighted queues, marks and limits of their own", ring(5, 3), &|p| {
        weighted(p);
        p.switches[0].pfc = Some(pfc(0b010));
        let own =
            |limit, marking| QueueConfig { buffer: p.switches[0].buffer.clone(), limit, marking };
        let red = Marking {
            at: MarkAt::Dequeue,
            kmax: Limit::Bytes(90_000),
            pmax: Probability::new(0.5).unwrap(),
            ..step(Limit::Bytes(20_000))
        };
        p.switches[0].own = vec![
            own(Some(Limit::Packets(60)), Some(red)),
            own(None, Some(step(Limit::Bytes(30_000)))),
            own(None, None),
        ];
        p.transports = vec![TransportConfig::Tcp(TcpConfig { ack_priority: Some(2), ..dctcp() })];
        p.run.until = Some(Time::from_ns(2_000_000));
    });
    add("sonic, weighted queues, pauses that expire", ring(5, 3), &|p| {
        weighted(p);
        p.switches[0].pfc = Some(Pfc {
            pause: PauseTime::Time(Span::from_us(5)),
            refresh: Refresh::AtHalf,
            ..pfc(0b011)
        });
        p.run.until = Some(Time::from_ns(2_000_000));
    });
    // Disciplines work in addition to the memory: their drops let paused groups continue, and
    // paused frames wait in them.
    let fair = |ecn| fq_codel(codel(ecn), 1_514, 64, 400, 16);
    for (name, aqm, ecn) in [
        ("sonic, codel drops", Aqm::Codel(codel(false)), false),
        ("sonic, codel marks", Aqm::Codel(codel(true)), true),
        ("sonic, fq-codel drops", fair(false), false),
        ("sonic, pie", Aqm::Pie(fast_pie(false)), false),
        ("sonic, pi2", Aqm::Pi2(fast_pi2(None)), false),
    ] {
        add(name, fabric(), &|p| {
            p.switches[0].aqm = Some(aqm.clone());
            p.transports = vec![TransportConfig::Tcp(TcpConfig {
                ecn: if ecn { EcnMode::Classic } else { EcnMode::Off },
                ..tcp()
            })];
        });
        add("sonic, a discipline, weighted queues, until start", ring(5, 3), &|p| {
            if !aqm.about().alone {
                weighted(p);
            }
            p.switches[0].queue_length = QueueLength::BeforeTransmission;
            p.switches[0].aqm = Some(aqm.clone());
            p.switches[0].pfc = Some(Pfc {
                pause: PauseTime::Time(Span::from_us(5)),
                refresh: Refresh::AtHalf,
                ..pfc(0b011)
            });
            p.transports = vec![TransportConfig::Tcp(TcpConfig {
                ecn: if ecn { EcnMode::Classic } else { EcnMode::Off },
                ..tcp()
            })];
            p.run.until = Some(Time::from_ns(2_000_000));
        });
    }
    // Deep buffers that pause and obey pauses, with sufficient memory.
    let deep = |ports_per_core| {
        let voq = Voq {
            ports_per_core,
            max_bytes: Some(60_000),
            on_chip: 60_000,
            dram: 40_000_000,
            ..super::voq::deep()
        };
        Buffer::Voq(Voq { xoff: Some(20_000), xon: Some(9_000), ..voq })
    };
    add("virtual output queues of one core, lossless", fabric(), &|p| {
        p.switches[0].buffer = deep(None)
    });
    add("virtual output queues of cores, lossless, priorities", fabric(), &|p| {
        strict(p);
        p.switches[0].buffer = deep(Some(2));
        p.switches[0].pfc = Some(pfc(0b110));
        p.record.ports = Some(PortSeries {
            interval: Span::from_us(7),
            nodes: (0..p.topology.nodes.len() as u32).collect(),
        });
    });
    add("virtual output queues of ports, headroom too small, marks at dequeue", fabric(), &|p| {
        p.switches[0].buffer = deep(Some(1));
        p.switches[0].pfc = Some(Pfc { headroom: Headroom::Bytes(6_000), ..pfc(0b111) });
        p.switches[0].marking = Some(Marking { at: MarkAt::Dequeue, ..step(Limit::Bytes(30_000)) });
        p.transports = vec![TransportConfig::Tcp(dctcp())];
    });
    for (name, cores, aqm) in [
        ("virtual output queues, lossless, codel drops", Some(2), Aqm::Codel(codel(false))),
        ("virtual output queues, lossless, fq-codel", None, fair(false)),
        ("virtual output queues of ports, lossless, fq-codel", Some(1), fair(true)),
    ] {
        add(name, fabric(), &|p| {
            p.switches[0].buffer = deep(cores);
            p.switches[0].aqm = Some(aqm.clone());
        });
    }
    add("virtual output queues that obey, short pauses that expire", ring(5, 3), &|p| {
        p.switches[0].buffer = deep(Some(3));
        p.switches[0].pfc = Some(Pfc {
            pause: PauseTime::Time(Span::from_us(5)),
            refresh: Refresh::AtHalf,
            ..pfc(0b011)
        });
        p.run.until = Some(Time::from_ns(2_000_000));
    });
    for (name, cores, aqm) in [
        ("virtual output queues, lossless, scarce credits", Some(2), None),
        ("virtual output queues, lossless, scarce credits, fq-codel", Some(1), Some(fair(false))),
    ] {
        add(name, fabric(), &|p| {
            let Buffer::Voq(voq) = deep(cores) else { unreachable!() };
            p.switches[0].buffer = Buffer::Voq(Voq {
                credit_speedup: Some(0.8),
                max_credits: Some(6),
                fabric_speedup: Some(0.9),
                ..voq
            });
            p.switches[0].pfc =
                Some(Pfc { pause: PauseTime::Time(Span::from_us(5)), ..pfc(0b011) });
            p.switches[0].aqm = aqm.clone();
            p.run.until = Some(Time::from_ns(2_000_000));
        });
    }
    add("deep spines that obey shared-memory leaves", fabric(), &|p| {
        p.switches.push(SwitchConfig {
            buffer: deep(Some(2)),
            pfc: None,
            honours_pause: true,
            ..p.switches[0].clone()
        });
        p.topology.nodes.iter_mut().filter(|node| node.tier == 2).for_each(|node| node.config = 1);
    });
    add("sonic, two of three lossless, priorities", fabric(), &|p| {
        strict(p);
        p.switches[0].pfc = Some(pfc(0b110));
        p.switches[0].buffer = Buffer::Mmu(sonic(900_000));
    });
    let shares = |p: &mut Plan| {
        let Buffer::Mmu(mmu) = &mut p.switches[0].buffer else { unreachable!() };
        let Rules::Sonic(rules) = &mut mmu.rules else { unreachable!() };
        rules.own.groups[0] = GroupShare { alpha: Some(0.5), limit: None, reserved: Some(2_000) };
        rules.own.groups[1] =
            GroupShare { alpha: Some(0.0625), limit: None, reserved: Some(9_000) };
        rules.own.groups[2] = GroupShare { alpha: None, limit: Some(25_000), reserved: None };
        rules.own.queues[0] = QueueShare { alpha: Some(0.25), reserved: Some(4_000) };
        rules.own.queues[2] = QueueShare { alpha: Some(2.0), reserved: None };
    };
    add("sonic, shares of single groups, lossless", fabric(), &|p| shares(p));
    add(
        "sonic, shares of single groups and queues, one of three lossless, weighted queues",
        fabric(),
        &|p| {
            weighted(p);
            p.switches[0].pfc = Some(pfc(0b010));
            p.switches[0].buffer = Buffer::Mmu(sonic(900_000));
            shares(p);
        },
    );
    add("sonic, shares of single groups and queues, lossy only", fabric(), &|p| {
        strict(p);
        p.switches[0].pfc = None;
        p.switches[0].buffer = Buffer::Mmu(sonic(400_000));
        shares(p);
    });
    add("virtual output queues, lossless, weighted classes", fabric(), &|p| {
        weighted(p);
        p.switches[0].buffer = deep(Some(2));
    });
    add("virtual output queues, lossless, weighted classes, scarce credits", fabric(), &|p| {
        weighted(p);
        let Buffer::Voq(voq) = deep(Some(1)) else { unreachable!() };
        p.switches[0].buffer =
            Buffer::Voq(Voq { credit_speedup: Some(0.9), max_credits: Some(8), ..voq });
        p.switches[0].pfc = Some(Pfc { pause: PauseTime::Time(Span::from_us(5)), ..pfc(0b011) });
        p.run.until = Some(Time::from_ns(2_000_000));
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
    // These cases alternate between eager mode and pauses: the memory allows most windows to pass
    // in eager mode, but not all of them.
    for (name, total) in [
        ("sonic, cells, dctcp, paused now and then", 3_600_000),
        ("sonic, cells, dctcp, hardly ever paused", 6_000_000),
    ] {
        add(name, fabric(), &move |p| {
            p.switches[0].buffer = Buffer::Mmu(Mmu { cell: Some(256), ..sonic(total) });
            p.switches[0].marking = Some(step(Limit::Bytes(60_000)));
            p.transports = vec![TransportConfig::Tcp(dctcp())];
        });
    }
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
        p.switches[0].pfc =
            Some(Pfc { pause: PauseTime::Quanta(300), refresh: Refresh::OnArrival, ..pfc(0b111) });
    });
    add("sonic, ring, all records", ring(5, 3), &|p| {
        strict(p);
        p.run.until = Some(Time::from_ns(400_000));
        p.record.ports = Some(PortSeries {
            interval: Span::from_us(7),
            nodes: (0..p.topology.nodes.len() as u32).collect(),
        });
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
            pause_time: None,
            pause: PauseTime::Time(Span::from_us(10)),
        };
        p.hosts.push(HostConfig { storm: Some(storm), ..p.hosts[0].clone() });
        p.topology.nodes[5].config = 1;
    });
    add("sonic, cut-through, spray, red", fabric(), &|p| {
        p.switches[0].cut_through = Some(64);
        p.switches[0].balance = Balance::Spray(SprayConfig {});
        p.switches[0].marking = Some(Marking {
            kmax: Limit::Bytes(500_000),
            pmax: Probability::new(0.01).unwrap(),
            at: MarkAt::Dequeue,
            ..step(Limit::Bytes(200_000))
        });
    });
    add("sonic, loss and link down", fabric(), &|p| {
        for (i, link) in p.topology.links.iter_mut().enumerate() {
            link.loss = Probability::new(0.01).unwrap();
            if i == 14 {
                link.down = vec![Down {
                    from: Time::from_ns(50_000),
                    to: Some(Time::from_ns(150_000)),
                    detect: Span::from_us(10),
                    converge: Span::ZERO,
                }];
            }
        }
    });
    add("conweave", fabric(), &|p| {
        p.switches[0].buffer = Buffer::Mmu(conweave(700_000));
        p.switches[0].pfc = Some(Pfc {
            headroom: Headroom::Formula(Formula::Conweave),
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
        p.switches[0].pfc = Some(Pfc { headroom: Headroom::Formula(Formula::Hpcc), ..pfc(0b111) });
        strict(p);
    });
    let (mut paused, mut discards, mut drops) = (0, 0, 0);
    for (name, plan) in &plans {
        let output = same_everywhere(name, plan);
        reports(name, &output);
        paused += (output.counters.pause_frames > 10) as u32;
        discards += (output.counters.in_discards > 0) as u32;
        drops += (output.counters.drops_buffer > 0) as u32;
    }
    assert!(
        paused >= 12 && discards >= 3 && drops >= 2,
        "{paused} with pauses, {discards} with discards, {drops} with drops"
    );
}

/// Each host of a ring sends to the host two switches further on, in the same direction. Every link
/// waits for the next one.
fn round_the_ring() -> Plan {
    let mut flows: Vec<Flow> = Vec::new();
    for switch in 0..4u32 {
        for host in 0..3 {
            flows.push(flow(
                0,
                3 * switch + host,
                3 * ((switch + 2) % 4) + host,
                2_000_000,
                Time::ZERO,
            ));
        }
    }
    flows.iter_mut().enumerate().for_each(|(id, f)| f.id = id as i64);
    let mut p = plan(ring(4, 3), flows);
    p.transports =
        vec![TransportConfig::Datagram(Datagram { rate: None, payload: 1460, ecn_capable: false })];
    // All flows take the same one of the two paths of equal length.
    p.switches[0].hash = RouteHash::SameSeed;
    p.switches[0].buffer = Buffer::Mmu(sonic(700_000));
    p.switches[0].pfc = Some(Pfc { deadlock_after: Some(Span::from_us(100)), ..pfc(0b1) });
    p.switches[0].honours_pause = true;
    p.run.until = Some(Time::from_ns(3_000_000));
    p
}

/// Removes the flows that would go around in the other direction.
fn clockwise() -> Plan {
    let mut p = round_the_ring();
    let hash = |world: &crate::world::World, f: &Flow| world.flow_hash(f, false);
    let goes: Vec<bool> = {
        let world = crate::world::World::new(&p, 1).unwrap();
        p.flows
            .iter()
            .map(|f| {
                world.path(0, hash(&world, f), f.src, f.dst)[1].1 == if f.src < 3 { 3 } else { 4 }
            })
            .collect()
    };
    let mut keep = goes.iter();
    p.flows.retain(|_| *keep.next().unwrap());
    p
}

/// A deadlock ends its run, some time after the last frame has left the network. The result lists
/// the waits: each link of the ring waits for the next one.
#[test]
fn a_run_without_progress_ends() {
    let mut p = clockwise();
    p.run.until = Some(Time::from_ns(1_000_000_000));
    p.run.stall = Some(Span::from_ms(4));
    let output = same_everywhere("stalled", &p);
    assert_eq!(output.ended, Ended::Stalled);
    assert!(
        output.end > Time::from_ns(4_000_000) && output.end < Time::from_ns(7_000_000),
        "{}",
        output.end
    );
    // The last four links form the ring.
    let context: Vec<(u32, &[u32])> = output
        .stuck
        .iter()
        .filter(|stuck| stuck.link >= 24)
        .map(|stuck| (stuck.link, &stuck.waits_for[..]))
        .collect();
    assert_eq!(context, [(24, &[26][..]), (26, &[28]), (28, &[30]), (30, &[24])]);
    assert_eq!(
        output.stuck.iter().map(|stuck| stuck.frames).sum::<u64>(),
        output.counters.in_flight_packets
    );

    // A host pauses its switch for ever, and frames wait for it. As long as other frames get
    // through, nothing is stuck.
    let mut p = storm_plan(StormAction::Alert);
    p.switches[0].pfc = Some(pfc(0b1));
    p.hosts[0].storm = p.hosts[0].storm.map(|storm| Storm { until: None, ..storm });
    p.hosts
        .iter_mut()
        .for_each(|host| host.storm = host.storm.map(|storm| Storm { until: None, ..storm }));
    (p.run.until, p.run.stall) = (Some(Time::from_ns(1_000_000_000)), Some(Span::from_ms(2)));
    let output = same_everywhere("paused by a host", &p);
    assert_eq!((output.ended, output.flows[1].status), (Ended::Stalled, Status::Finished));
    let waits: Vec<(u32, &[u32])> =
        output.stuck.iter().map(|stuck| (stuck.link, &stuck.waits_for[..])).collect();
    assert_eq!(waits, [(1, &[][..]), (2, &[1])]);
}

#[test]
fn a_deadlock_is_found() {
    let mut p = clockwise();
    let output = same_everywhere("deadlock", &p);
    reports("deadlock", &output);
    let per_switch = |s: u32| p.flows.iter().filter(|f| f.src / 3 == s).count();
    eprintln!(
        "{:?} flows per switch, {:?}",
        (0..4).map(per_switch).collect::<Vec<_>>(),
        output.deadlocks
    );
    assert!((0..4).all(|s| per_switch(s) > 0), "every switch has a flow that goes clockwise");
    assert_eq!(output.deadlocks.len(), 1);
    let mut links = output.deadlocks[0].links.clone();
    links.sort_unstable();
    // The last four links form the ring.
    assert_eq!(links, [24, 26, 28, 30]);
    assert_eq!(output.counters.drops_buffer + output.counters.in_discards, 0);

    // There is no deadlock with sufficient memory.
    p.switches[0].buffer = Buffer::Mmu(sonic(40_000_000));
    let output = same_everywhere("no deadlock", &p);
    assert_eq!(output.deadlocks, []);
}

fn storm_plan(action: StormAction) -> Plan {
    let us = |us: u64| Time::from_ns(1_000 * us);
    // host1 sends to host0, which pauses its switch from 50 us to 350 us. host2 sends to host3
    // through the same switch.
    let mut p = plan(
        star(4),
        vec![flow(0, 1, 0, 3_000_000, Time::ZERO), flow(1, 2, 3, 3_000_000, Time::ZERO)],
    );
    p.transports = vec![TransportConfig::Datagram(Datagram {
        rate: Some(Rate::from_gbps(40)),
        payload: 1460,
        ecn_capable: false,
    })];
    p.switches[0].buffer = Buffer::Mmu(sonic(900_000));
    let watchdog = Watchdog {
        detection: Span::from_us(100),
        restoration: Span::from_us(60),
        poll: Span::from_us(20),
        action,
        priorities: u8::MAX,
    };
    p.switches[0].pfc = Some(Pfc { watchdog: Some(watchdog), ..pfc(0b1) });
    p.switches[0].honours_pause = true;
    let storm = Storm {
        priority: 0,
        from: us(50),
        until: Some(us(350)),
        period: Span::from_us(4),
        pause_time: None,
        pause: PauseTime::Time(Span::from_us(10)),
    };
    p.hosts.push(HostConfig { storm: Some(storm), ..host() });
    p.topology.nodes[0].config = 1;
    p.run.until = Some(us(2_000));
    p
}

#[test]
fn a_storm_spreads_until_a_watchdog_sees_it() {
    // The port has been paused since 50 us plus the travel of the first PAUSE frame, which exceeds
    // 100 us at the poll of 160 us. The last PAUSE frame is sent at 346 us and takes effect within
    // 6 us. A poll 60 us later finds no pause.
    let expected = |action| StormRecord {
        detected: Time::from_ns(160_000),
        restored: Some(Time::from_ns(420_000)),
        node: 4,
        port: 0,
        priority: 0,
        action,
    };
    for action in [StormAction::Drop, StormAction::Forward, StormAction::Alert] {
        let output = same_everywhere("storm", &storm_plan(action));
        reports(&format!("storm, {action:?}"), &output);
        assert_eq!(output.storms, [expected(action)]);
        let c = output.counters;
        assert_eq!((c.in_discards, c.drops_buffer), (0, 0));
        assert_eq!(c.drops_watchdog > 0, action == StormAction::Drop);
        // 3 MB take 617 us at 40 Gbps of payload. The storm adds 300 us if no watchdog acts on it.
        let finish = output.flows[0].finish.map(|at| at.0 / 1_000_000);
        eprintln!("{action:?}: flow of the stormy host {finish:?} us");
    }
    // A watchdog of another priority sees nothing.
    let mut p = storm_plan(StormAction::Drop);
    p.switches[0].pfc = Some(Pfc {
        watchdog: p.switches[0]
            .pfc
            .as_ref()
            .unwrap()
            .watchdog
            .clone()
            .map(|watchdog| Watchdog { priorities: 0b10, ..watchdog }),
        ..pfc(0b11)
    });
    let output = same_everywhere("storm, another priority is watched", &p);
    assert_eq!((output.storms.len(), output.counters.drops_watchdog), (0, 0));

    // Without a watchdog the victim waits, and its split shows the cause.
    let mut p = storm_plan(StormAction::Alert);
    p.switches[0].pfc.as_mut().unwrap().watchdog = None;
    p.transports = vec![TransportConfig::Tcp(TcpConfig {
        max_window: Some(100),
        min_rto: Span::from_ms(10),
        ..tcp()
    })];
    let output = same_everywhere("storm without watchdog", &p);
    assert_eq!(
        (output.storms.len(), output.counters.dropped_packets, output.counters.timeouts),
        (0, 0, 0)
    );
    let split = output.flows[0].split;
    // The pause consists of the 300 us and the 10 us of the last PAUSE frame, minus the time that
    // the window would have taken anyway.
    assert!((Span::from_us(280).0..Span::from_us(312).0).contains(&split.paused), "{split:?}");
    assert!(output.flows[1].split.paused < Span::from_us(20).0, "{:?}", output.flows[1].split);
}

/// Only devices that obey PAUSE respect the headroom: a host that ignores PAUSE overruns it, a host
/// that obeys never does.
#[test]
fn in_discards_are_of_those_who_do_not_listen() {
    let mut p = plan(
        star(6),
        (1..6).map(|src| flow(src as i64 - 1, src, 0, 1_000_000, Time::ZERO)).collect(),
    );
    p.transports =
        vec![TransportConfig::Datagram(Datagram { rate: None, payload: 1460, ecn_capable: false })];
    p.switches[0].buffer = Buffer::Mmu(sonic(900_000));
    p.switches[0].pfc = Some(pfc(0b1));
    p.switches[0].honours_pause = true;
    p.record.ports = Some(PortSeries { interval: Span::from_us(100), nodes: vec![6] });
    let output = same_everywhere("all listen", &p);
    assert_eq!((output.counters.dropped_packets, output.counters.in_discards), (0, 0));
    assert!(output.counters.pause_frames > 0 && output.ports.iter().any(|r| r.pause_frames_tx > 0));

    p.hosts.push(HostConfig { honours_pause: false, ..host() });
    p.topology.nodes[3].config = 1;
    let output = same_everywhere("one does not", &p);
    assert!(output.counters.in_discards > 0);
    assert_eq!(
        (output.counters.drops_buffer, output.counters.dropped_packets),
        (0, output.counters.in_discards)
    );
    for r in output.ports.iter().filter(|r| r.in_discards > 0) {
        assert_eq!(r.port, 3, "at the port of the host that goes on");
    }
}
