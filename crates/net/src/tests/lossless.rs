//! Tests shared-memory switches and flow control: equal results from both engines, with PAUSE
//! frames across several switches.

use super::determinism::{same_everywhere, traffic};
use super::scenarios::*;
use crate::record::{Ended, Output, Status, StormRecord};
use crate::spec::*;
use crate::testing::*;
use afflux_units::{Probability, Rate, Span, Time};

/// SONiC's rules with a small memory, so that every detail of the memory has an effect.
pub fn sonic(total: u64) -> Mmu {
    let rules = SonicRules {
        reserved: 3_000,
        lossy_ingress_alpha: Some(2.0),
        lossy_alpha: 0.5,
        queue_reserved: 1_500,
        lossy_pool: Some(total / 2),
        xon: 3_000,
        xon_offset: 3_000,
        ..sonic_rules(0.25)
    };
    mmu(total, Rules::Sonic(rules))
}

pub fn conweave(total: u64) -> Mmu {
    let rules = ConweaveRules { ingress_alpha: 1.0 / 16.0, egress_alpha: 1.0, mtu: 1_048 };
    mmu(total, Rules::Conweave(rules))
}

pub fn hpcc(total: u64) -> Mmu {
    let nic_rate = Rate::from_gbps(25);
    let rules = HpccRules { shift: 3, nic_rate, reserved: 4_096, resume_offset: 3_072 };
    mmu(total, Rules::Hpcc(rules))
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
    numbered(flows)
}

/// Gives the links rates of 25 to 400 Gbps and short delays.
fn mix_fast(p: &mut Plan) {
    let rates = [100, 25, 40, 400].map(Rate::from_gbps);
    mix(&mut p.topology, &rates, &[300, 1_000, 25]);
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

/// A plan with SONiC's rules that pauses.
fn pausing(topology: Topology) -> Plan {
    let flows = incast(&topology, 400_000);
    let mut p = plan(topology, flows);
    make_lossless(&mut p, sonic(1_500_000), pfc(0b111));
    p
}

/// Serves three weighted classes in switches and hosts, and samples all ports.
fn weighted(p: &mut Plan) {
    let classes = Scheduling::Classes(Classes {
        of_priority: [0, 1, 2, 2, 0, 0, 0, 0],
        service: vec![Service::Weight(3), Service::Weight(1), Service::Strict],
        quantum: 1_500,
    });
    (p.switches[0].scheduling, p.hosts[0].scheduling) = (classes.clone(), classes);
    sample_ports(p);
}

/// Pauses two priorities for 5 us at a time, in a run of 2 ms.
fn expiring(p: &mut Plan) {
    p.switches[0].pfc = Some(Pfc { refresh: Refresh::AtHalf, ..short_pauses(0b011) });
    p.run.until = Some(Time::from_ns(2_000_000));
}

fn fair(ecn: bool) -> Aqm {
    fq_codel(codel(ecn), 1_514, 64, 400, 16)
}

fn add_classes(s: &mut Scenarios) {
    s.add("sonic, lossless", |_| {});
    s.add("sonic, lossless, priorities", strict);
    s.add("sonic, lossless, weighted queues", weighted);
    let ring = || pausing(ring(5, 3));
    s.add_to(ring(), "sonic, weighted queues, marks and limits of their own", |p| {
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
        p.transports = tcp_only(TcpConfig { ack_priority: Some(2), ..dctcp() });
        p.run.until = Some(Time::from_ns(2_000_000));
    });
    s.add_to(ring(), "sonic, weighted queues, pauses that expire", |p| {
        weighted(p);
        expiring(p);
    });
}

/// Disciplines work in addition to the memory: their drops let paused groups continue, and paused
/// frames wait in them.
fn add_disciplines(s: &mut Scenarios) {
    for (name, aqm, ecn) in [
        ("sonic, codel drops", Aqm::Codel(codel(false)), false),
        ("sonic, codel marks", Aqm::Codel(codel(true)), true),
        ("sonic, fq-codel drops", fair(false), false),
        ("sonic, pie", Aqm::Pie(fast_pie(false)), false),
        ("sonic, pi2", Aqm::Pi2(fast_pi2(None)), false),
    ] {
        let set = |p: &mut Plan| {
            p.switches[0].aqm = Some(aqm.clone());
            p.transports = tcp_only(tcp_for(ecn));
        };
        s.add(name, set);
        let ring = pausing(ring(5, 3));
        s.add_to(ring, "sonic, a discipline, weighted queues, until start", |p| {
            if !aqm.about().alone {
                weighted(p);
            }
            p.switches[0].queue_length = QueueLength::BeforeTransmission;
            set(p);
            expiring(p);
        });
    }
}

/// Virtual output queues with memory that suffices. They pause and obey pauses.
fn deep(ports_per_core: Option<u32>) -> Voq {
    Voq {
        ports_per_core,
        max_bytes: Some(60_000),
        on_chip: 60_000,
        dram: 40_000_000,
        xoff: Some(20_000),
        xon: Some(9_000),
        ..super::voq::deep()
    }
}

fn add_deep(s: &mut Scenarios) {
    s.add("virtual output queues of one core, lossless", |p| {
        p.switches[0].buffer = Buffer::Voq(deep(None))
    });
    s.add("virtual output queues of cores, lossless, priorities", |p| {
        strict(p);
        p.switches[0].buffer = Buffer::Voq(deep(Some(2)));
        p.switches[0].pfc = Some(pfc(0b110));
        sample_ports(p);
    });
    let name = "virtual output queues of ports, headroom too small, marks at dequeue";
    s.add_switch(name, dctcp(), |s| {
        s.buffer = Buffer::Voq(deep(Some(1)));
        s.pfc = Some(Pfc { headroom: Headroom::Bytes(6_000), ..pfc(0b111) });
        s.marking = step_at(30_000, MarkAt::Dequeue);
    });
    for (name, cores, aqm) in [
        ("virtual output queues, lossless, codel drops", Some(2), Aqm::Codel(codel(false))),
        ("virtual output queues, lossless, fq-codel", None, fair(false)),
        ("virtual output queues of ports, lossless, fq-codel", Some(1), fair(true)),
    ] {
        s.add(name, |p| {
            (p.switches[0].buffer, p.switches[0].aqm) = (Buffer::Voq(deep(cores)), Some(aqm))
        });
    }
    let ring = pausing(ring(5, 3));
    s.add_to(ring, "virtual output queues that obey, short pauses that expire", |p| {
        p.switches[0].buffer = Buffer::Voq(deep(Some(3)));
        expiring(p);
    });
    s.add("deep spines that obey shared-memory leaves", |p| {
        p.switches.push(SwitchConfig {
            buffer: Buffer::Voq(deep(Some(2))),
            pfc: None,
            honours_pause: true,
            ..p.switches[0].clone()
        });
        p.topology.nodes.iter_mut().filter(|node| node.tier == 2).for_each(|node| node.config = 1);
    });
    s.add("virtual output queues, lossless, weighted classes", |p| {
        weighted(p);
        p.switches[0].buffer = Buffer::Voq(deep(Some(2)));
    });
}

/// Virtual output queues that seldom grant.
fn add_scarce_credits(s: &mut Scenarios) {
    let scarce = |p: &mut Plan, voq| {
        p.switches[0].buffer = Buffer::Voq(voq);
        p.switches[0].pfc = Some(short_pauses(0b011));
        p.run.until = Some(Time::from_ns(2_000_000));
    };
    for (name, cores, aqm) in [
        ("virtual output queues, lossless, scarce credits", Some(2), None),
        ("virtual output queues, lossless, scarce credits, fq-codel", Some(1), Some(fair(false))),
    ] {
        s.add(name, |p| {
            let (credit_speedup, fabric_speedup) = (Some(0.8), Some(0.9));
            let voq = Voq { credit_speedup, max_credits: Some(6), fabric_speedup, ..deep(cores) };
            scarce(p, voq);
            p.switches[0].aqm = aqm;
        });
    }
    s.add("virtual output queues, lossless, weighted classes, scarce credits", |p| {
        weighted(p);
        scarce(p, Voq { credit_speedup: Some(0.9), max_credits: Some(8), ..deep(Some(1)) });
    });
}

/// Gives single groups and queues shares of their own.
fn own_shares(p: &mut Plan) {
    let rules = rules_of(p);
    let group = |alpha, limit, reserved| GroupShare { alpha, limit, reserved };
    rules.own.groups[0] = group(Some(0.5), None, Some(2_000));
    rules.own.groups[1] = group(Some(0.0625), None, Some(9_000));
    rules.own.groups[2] = group(None, Some(25_000), None);
    rules.own.queues[0] = QueueShare { alpha: Some(0.25), reserved: Some(4_000) };
    rules.own.queues[2] = QueueShare { alpha: Some(2.0), reserved: None };
}

fn rules_of(p: &mut Plan) -> &mut SonicRules {
    let Buffer::Mmu(Mmu { rules: Rules::Sonic(rules), .. }) = &mut p.switches[0].buffer else {
        unreachable!()
    };
    rules
}

/// Memories in which few groups are lossless, share unequally, or have too little headroom.
fn add_memories(s: &mut Scenarios) {
    let memory = |p: &mut Plan, total, pfc| {
        (p.switches[0].buffer, p.switches[0].pfc) = (Buffer::Mmu(sonic(total)), pfc)
    };
    s.add("sonic, two of three lossless, priorities", |p| {
        strict(p);
        memory(p, 900_000, Some(pfc(0b110)));
    });
    s.add("sonic, shares of single groups, lossless", own_shares);
    let name = "sonic, shares of single groups and queues, one of three lossless, weighted queues";
    s.add(name, |p| {
        weighted(p);
        memory(p, 900_000, Some(pfc(0b010)));
        own_shares(p);
    });
    s.add("sonic, shares of single groups and queues, lossy only", |p| {
        strict(p);
        memory(p, 400_000, None);
        own_shares(p);
    });
    s.add("sonic, lossy only", |p| memory(p, 250_000, None));
    s.add("sonic, headroom too small", |p| {
        memory(p, 400_000, Some(Pfc { headroom: Headroom::Bytes(6_000), ..pfc(0b111) }))
    });
    s.add("sonic, shared headroom too small, dctcp", |p| {
        rules_of(p).headroom_pool = Some(30_000);
        let Buffer::Mmu(mmu) = &mut p.switches[0].buffer else { unreachable!() };
        mmu.total = 200_000;
        p.switches[0].marking = Some(step(Limit::Bytes(30_000)));
        p.transports = tcp_only(dctcp());
    });
    let cells = |total| Buffer::Mmu(Mmu { cell: Some(256), ..sonic(total) });
    s.add("sonic, cells, mixed rates", |p| {
        mix_fast(p);
        strict(p);
        p.switches[0].buffer = cells(3_600_000);
    });
    // These cases alternate between eager mode and pauses: the memory allows most windows to pass
    // in eager mode, but not all of them.
    for (name, total) in [
        ("sonic, cells, dctcp, paused now and then", 3_600_000),
        ("sonic, cells, dctcp, hardly ever paused", 6_000_000),
    ] {
        s.add_switch(name, dctcp(), |s| {
            (s.buffer, s.marking) = (cells(total), Some(step(Limit::Bytes(60_000))))
        });
    }
    s.add("conweave", |p| {
        let pfc = Pfc {
            headroom: Headroom::Formula(Formula::Conweave),
            refresh: Refresh::OnArrival,
            ..short_pauses(0b111)
        };
        make_lossless(p, conweave(700_000), pfc);
    });
    s.add("conweave, no flow control", |p| {
        p.switches[0].buffer = Buffer::Mmu(Mmu { bypass: 0b1, ..conweave(200_000) });
        p.switches[0].pfc = None;
        strict(p);
    });
    s.add("hpcc", |p| {
        mix_fast(p);
        let headroom = Headroom::Formula(Formula::Hpcc);
        make_lossless(p, hpcc(700_000), Pfc { headroom, ..pfc(0b111) });
        strict(p);
    });
}

/// Pauses that expire, hosts that ignore them or send too many, faults, and records.
fn add_pauses(s: &mut Scenarios) {
    let ring = || pausing(ring(5, 3));
    s.add_to(ring(), "sonic, short pauses that expire, until start", |p| {
        p.switches[0].queue_length = QueueLength::BeforeTransmission;
        p.switches[0].pfc =
            Some(Pfc { pause: PauseTime::Quanta(300), refresh: Refresh::OnArrival, ..pfc(0b111) });
    });
    s.add_to(ring(), "sonic, ring, all records", |p| {
        strict(p);
        p.run.until = Some(Time::from_ns(400_000));
        sample_ports(p);
        p.record.paths = true;
        p.record.captures = vec![capture(0, true)];
        p.record.imbalance = Some(Span::from_us(20));
    });
    s.add("sonic, hosts that go on", |p| {
        p.hosts[0].honours_pause = false;
        p.switches[0].buffer = Buffer::Mmu(sonic(1_200_000));
    });
    s.add("sonic, storm", |p| {
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
    s.add("sonic, cut-through, spray, red", |p| {
        let switch = &mut p.switches[0];
        switch.cut_through = Some(64);
        switch.balance = Balance::Spray(SprayConfig {});
        switch.marking = Some(Marking {
            kmax: Limit::Bytes(500_000),
            pmax: Probability::new(0.01).unwrap(),
            at: MarkAt::Dequeue,
            ..step(Limit::Bytes(200_000))
        });
    });
    s.add("sonic, loss and link down", |p| {
        lose(&mut p.topology.links, 0.01);
        interrupt(&mut p.topology.links[14..15]);
    });
}

#[test]
fn engines_agree() {
    let mut s = Scenarios::new(pausing(leaf_spine(3, 2, 4)));
    for add in
        [add_classes, add_disciplines, add_deep, add_scarce_credits, add_memories, add_pauses]
    {
        add(&mut s);
    }
    let (mut paused, mut discards, mut drops) = (0, 0, 0);
    for (name, plan) in &s.plans {
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
    p.transports =
        tcp_only(TcpConfig { max_window: Some(100), min_rto: Span::from_ms(10), ..tcp() });
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
