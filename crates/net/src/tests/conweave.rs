//! Tests ConWeave on whole fabrics: equal results from all engines, delivery in order except for
//! counted frames, and memory according to the mode.

use super::determinism::{same_everywhere, traffic};
use super::lossless;
use super::scenarios::*;
use crate::record::{ConweaveCounters, LateCounters, Output};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_units::{Rate, Span, Time};

/// Parameters that make ConWeave act often on these small fabrics.
fn busy(ns3: bool) -> ConweaveConfig {
    ConweaveConfig {
        reply_extra: Span::from_us(1),
        path_busy: Span::from_us(8),
        inactive: Span::from_us(300),
        flush_extra: Span::from_us(16),
        default_wait: Span::from_us(200),
        age: Span::from_us(2_000),
        reorder_queues: 24,
        reorder_memory: if ns3 { ReorderMemory::Unbounded } else { ReorderMemory::Shared },
        ns3,
    }
}

fn datagrams_at(rate: Rate) -> TransportConfig {
    TransportConfig::Datagram(Datagram { rate: Some(rate), payload: 1_460, ecn_capable: true })
}

fn weave(plan: &mut Plan, change: impl FnOnce(&mut ConweaveConfig), ns3: bool) {
    let mut config = busy(ns3);
    change(&mut config);
    plan.switches[0].balance = Balance::Conweave(config);
    plan.record.reordering = Some(Span::from_us(10));
}

/// Returns a plan that marks at 10 kB. It has TCP that reacts to marks, or datagrams at 40 Gb/s
/// that do not.
fn base(topology: Topology, datagrams: bool, ns3: bool) -> Plan {
    let hosts = topology.hosts;
    let mut p = plan(topology, traffic(hosts, 150, 100, 200_000, 1));
    p.switches[0].buffer = Buffer::Unlimited;
    p.switches[0].marking =
        Some(Marking { incapable: Incapable::Pass, ..step(Limit::Bytes(10_000)) });
    p.transports = vec![match datagrams {
        true => datagrams_at(Rate::from_gbps(40)),
        false => TransportConfig::Tcp(dctcp()),
    }];
    weave(&mut p, |_| {}, ns3);
    p
}

fn outcome(plan: &Plan) -> Output {
    run(plan, &Progress::default()).unwrap()
}

/// Checks that each frame that arrives at its host after a later frame has a recorded cause, and
/// that the flows' own counts agree.
fn accounted(name: &str, output: &Output) {
    let late = output.counters.balance.late;
    assert_eq!(late.other, 0, "{name}: {late:?}");
    let LateCounters {
        recovery,
        early_flush,
        no_queue,
        old_epoch,
        inactivity,
        path_lost,
        other: _,
    } = late;
    let by_flow: u64 = output.flows.iter().map(|flow| flow.packets_reordered).sum();
    // The receivers of RDMA count retransmissions, too.
    let repeated = if name.starts_with("rdma") { recovery } else { 0 };
    assert_eq!(
        early_flush + no_queue + old_epoch + inactivity + path_lost + repeated,
        by_flow,
        "{name}: {late:?}"
    );
}

/// Fabrics and settings that are difficult for ConWeave, with TCP that reacts to marks.
fn add_tcp(s: &mut Scenarios, ns3: bool) {
    s.add_to(base(leaf_spine(4, 4, 4), false, ns3), "leaf-spine, tcp", |_| {});
    s.add("fat-tree, tcp", |_| {});
    s.add("small buffers, quick to flush, silent soon, few queues", |p| {
        p.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(60_000), drop_when: Compare::Above };
        weave(
            p,
            |c| {
                (c.inactive, c.flush_extra, c.default_wait, c.age, c.reorder_queues) =
                    (Span::from_us(20), Span::ZERO, Span::from_us(2), Span::from_us(60), 1)
            },
            ns3,
        );
    });
    s.add("slow links, frames padded to more than a reply's own size", |p| {
        p.wire.min_frame = 1_000;
        p.topology.links.iter_mut().for_each(|link| link.rate = Rate::from_gbps(1));
        weave(p, |c| c.age = Span::from_us(200_000), ns3);
    });
    s.add("mixed rates and delays", |p| mix(&mut p.topology, &UNEQUAL_RATES, &UNEQUAL_DELAYS));
    s.add("loss, links down and up again", |p| {
        lose(&mut p.topology.links, 0.01);
        interrupt(&mut p.topology.links[5..6]);
        interrupt(p.topology.links[38..].iter_mut().step_by(7));
    });
    s.add("lossless", lossless_priorities);
}

fn lossless_priorities(p: &mut Plan) {
    make_lossless(p, lossless::conweave(700_000), pfc(0b111));
    p.switches[0].scheduling = priorities(8);
}

/// Fabrics and settings that are difficult for ConWeave, with datagrams at a constant rate.
fn add_datagrams(s: &mut Scenarios, ns3: bool) {
    s.add_to(base(leaf_spine(4, 4, 4), true, ns3), "leaf-spine, datagrams", |_| {});
    s.add("few reorder queues in memory of their own", |p| {
        p.switches[0].buffer = shared(150_000, 1.0);
        weave(
            p,
            |c| {
                (c.reorder_queues, c.flush_extra, c.reorder_memory) =
                    (2, Span::from_us(100), ReorderMemory::Apart)
            },
            ns3,
        );
    });
    s.add("shared memory, priorities, marks at dequeue, all records", |p| {
        let switch = &mut p.switches[0];
        (switch.buffer, switch.scheduling) = (shared(150_000, 1.0), priorities(8));
        switch.marking = step_at(20_000, MarkAt::Dequeue);
        sample_ports(p);
        p.record.paths = true;
        p.record.captures = vec![capture(0, true), capture(40, true)];
    });
    s.add("occupancy through the start of transmission, short run", |p| {
        p.switches[0].queue_length = QueueLength::ThroughStart;
        p.run.until = Some(Time::from_ns(77_777));
    });
    s.add("codel and a device queue", |p| {
        let switch = &mut p.switches[0];
        (switch.marking, switch.aqm) = (None, Some(Aqm::Codel(codel(true))));
        switch.device_queue = 1;
    });
    s.add("lossless, datagrams", lossless_priorities);
    s.add("links down and up again, datagrams", |p| {
        interrupt(p.topology.links[38..].iter_mut().step_by(7));
    });
    s.add("silent between frames", |p| {
        // Every other flow sends a frame in 8 us, between the flows that fill the queues. It may
        // take another path each time.
        p.transports.push(datagrams_at(Rate(1_500_000_000)));
        p.flows
            .iter_mut()
            .step_by(2)
            .for_each(|flow| (flow.transport, flow.bytes) = (1, flow.bytes / 4 + 1));
        weave(p, |c| c.inactive = Span::from_us(5), ns3);
    });
    s.add("lossless, sonic", |p| make_lossless(p, lossless::sonic(4_000_000), pfc(0b111)));
}

/// RDMA over a memory that pauses, or over one without flow control.
fn add_rdma(s: &mut Scenarios, ns3: bool) {
    let over = |transport: RdmaConfig, lossless: bool| {
        let mut p = base(leaf_spine(4, 4, 4), false, ns3);
        p.transports = vec![TransportConfig::Rdma(transport)];
        if lossless {
            lossless_priorities(&mut p);
        } else {
            p.switches[0].buffer = Buffer::Mmu(lossless::conweave(300_000));
            p.switches[0].scheduling = priorities(8);
        }
        let switch = &mut p.switches[0];
        switch.marking = Some(Marking {
            kmax: Limit::Bytes(80_000),
            at: MarkAt::Dequeue,
            incapable: Incapable::Pass,
            ..step(Limit::Bytes(20_000))
        });
        switch.queue_length = QueueLength::BeforeTransmission;
        p
    };
    s.add_to(over(rdma(), true), "rdma, go-back-n, lossless", |_| {});
    s.add_to(over(irn(), false), "rdma, irn", |_| {});
    let hpcc = RdmaConfig { control: RateControl::Hpcc(hpcc()), ..rdma() };
    s.add_to(over(hpcc, true), "rdma, hpcc: telemetry beside the tags", |_| {});
    s.add_to(over(irn(), false), "rdma, irn, whole nanoseconds, quick to flush", |p| {
        p.run.compat = Some(Compat::ConweaveNs3);
        weave(p, |c| (c.flush_extra, c.default_wait) = (Span::ZERO, Span::from_us(1)), ns3);
    });
}

fn settings(ns3: bool) -> Vec<(&'static str, Plan)> {
    let mut tcp = Scenarios::new(base(fat_tree(4, 2), false, ns3));
    add_tcp(&mut tcp, ns3);
    add_rdma(&mut tcp, ns3);
    let mut datagrams = Scenarios::new(base(fat_tree(4, 2), true, ns3));
    add_datagrams(&mut datagrams, ns3);
    [tcp.plans, datagrams.plans].concat()
}

#[test]
fn the_same_everywhere_and_all_accounted_for() {
    let mut late = LateCounters::default();
    for ns3 in [false, true] {
        let mut all = ConweaveCounters::default();
        for (name, plan) in settings(ns3) {
            let output = same_everywhere(&format!("ns3 {ns3}: {name}"), &plan);
            let counters = output.counters.balance;
            eprintln!(
                "ns3 {ns3}: {name}: {} drops, {:?}",
                output.counters.dropped_packets, counters
            );
            accounted(name, &output);
            assert!(counters.reroutes > 0 && counters.conweave.out_of_order > 0, "{name}");
            all.add(&counters.conweave);
            late.add(&counters.late);
            assert!(!output.reordering.is_empty());
        }
        assert!(all.tails > 100 && all.clears > 100);
    }
    // Every cause that these settings can produce occurs.
    for (cause, count) in late.list() {
        assert!(
            count > 0 || matches!(cause, "other" | "old_epoch" | "no_queue"),
            "{cause}: {late:?}"
        );
    }
}

#[test]
fn with_time_enough_nothing_is_out_of_order() {
    // Nothing is lost, no flow is silent for theta_inactive, and there is memory for all waiting
    // frames. A hundred microseconds of extra time cover every queue here.
    for ns3 in [false, true] {
        for datagrams in [false, true] {
            let mut p = base(leaf_spine(4, 4, 4), datagrams, ns3);
            weave(
                &mut p,
                |c| (c.inactive, c.flush_extra) = (Span::from_us(1_900), Span::from_us(400)),
                ns3,
            );
            let output = outcome(&p);
            let c = output.counters.balance.conweave;
            assert!(c.out_of_order > if datagrams { 100 } else { 0 } && c.flushes > 0, "{c:?}");
            assert_eq!((c.flushes_by_tail, c.no_queue, c.too_late), (c.flushes, 0, 0), "ns3 {ns3}");
            assert_eq!(output.counters.balance.late, LateCounters::default(), "ns3 {ns3}");
            assert!(output.flows.iter().all(|flow| flow.packets_reordered == 0));
            assert_eq!(output.counters.retransmits, 0);
        }
    }
}

#[test]
fn what_waits_takes_memory_or_not_as_the_mode_says() {
    // Datagrams from many senders. The waiting frames at the destination's ToR exceed its memory.
    let with = |ns3, memory: Option<ReorderMemory>| {
        let mut p = base(leaf_spine(4, 4, 4), true, ns3);
        p.switches[0].buffer =
            Buffer::Static { per_queue: Limit::Bytes(15_000), drop_when: Compare::Above };
        weave(
            &mut p,
            |c| {
                (c.flush_extra, c.reorder_memory) =
                    (Span::from_us(100), memory.unwrap_or(c.reorder_memory))
            },
            ns3,
        );
        // The test counts waiting frames only, because the ports themselves never hold so much
        // before the spines.
        outcome(&p)
    };
    let largest = |output: &Output| {
        output.reordering.iter().filter(|r| r.port >= 0).map(|r| r.bytes / r.queues).max().unwrap()
    };
    let (paper, ns3) = (with(false, None), with(true, None));
    assert!(largest(&paper) <= 15_000, "{}", largest(&paper));
    assert!(largest(&ns3) > 20_000, "{}", largest(&ns3));
    // The two rules are independent: the paper's mode also works with separate memory, and the
    // simulator's mode with the switch's memory.
    assert!(largest(&with(false, Some(ReorderMemory::Apart))) > 20_000);
    assert!(largest(&with(true, Some(ReorderMemory::Shared))) <= 15_000);
}

#[test]
fn reorder_queues_are_bounded_per_port() {
    let with = |queues, ns3, memory| {
        let mut p = base(leaf_spine(4, 4, 4), true, ns3);
        p.flows = traffic(16, 600, 100, 200_000, 2);
        weave(
            &mut p,
            |c| {
                (c.reorder_queues, c.flush_extra, c.reorder_memory) =
                    (queues, Span::from_us(400), memory)
            },
            ns3,
        );
        outcome(&p)
    };
    let most = |output: &Output| {
        output.reordering.iter().filter(|r| r.port >= 0).map(|r| r.queues).max().unwrap()
    };
    let (bounded, free) =
        (with(1, false, ReorderMemory::Shared), with(1, true, ReorderMemory::Unbounded));
    assert_eq!(most(&bounded), 1);
    assert_eq!(most(&with(1, false, ReorderMemory::Apart)), 1);
    assert!(most(&free) > 1, "{}", most(&free));
    assert!(
        bounded.counters.balance.conweave.no_queue > 0
            && bounded.counters.balance.late.no_queue > 0
    );
    assert_eq!(free.counters.balance.conweave.no_queue, 0);
    accounted("bounded", &bounded);
    // The rows of the whole switch are the sums of the rows of its ports.
    for whole in bounded.reordering.iter().filter(|r| r.port < 0) {
        let ports = bounded
            .reordering
            .iter()
            .filter(|r| r.port >= 0 && (r.time, r.node) == (whole.time, whole.node));
        assert_eq!(
            ports.fold((0, 0), |(queues, bytes), r| (queues + r.queues, bytes + r.bytes)),
            (whole.queues, whole.bytes)
        );
    }
}

/// Returns a plan with two leaves, four spines, and one datagram flow at 10 Gb/s.
fn lone(ns3: bool, frames: u64) -> Plan {
    let mut p = plan(leaf_spine(2, 4, 1), vec![flow(0, 0, 1, 1_460 * frames, Time::ZERO)]);
    p.transports = vec![TransportConfig::Datagram(Datagram {
        rate: Some(Rate::from_gbps(10)),
        payload: 1_460,
        ecn_capable: true,
    })];
    weave(&mut p, |c| c.reply_extra = Span::from_us(4), ns3);
    p.record.paths = true;
    p
}

#[test]
fn an_idle_path_is_kept() {
    // A reply takes 4 us and three transmissions, and a frame leaves every 1.2 us. So an epoch
    // lasts 4.8 us, and every reply is in time.
    let output = outcome(&lone(true, 1_000));
    let c = output.counters.balance.conweave;
    assert_eq!(
        (output.counters.balance.reroutes, c.tails, c.replies_late, output.paths.len()),
        (0, 0, 0, 1)
    );
    assert_eq!(c.requests, 250);
    assert_eq!(
        (c.replies, c.replies_in_time, output.counters.balance.switch_frames),
        (250, 250, 250)
    );
}

#[test]
fn the_header_is_on_the_wire_between_the_tors_only() {
    for (ns3, header) in [(false, 4), (true, 0)] {
        let p = lone(ns3, 100);
        let output = outcome(&p);
        // Links 0 and 1 belong to the hosts, the others lead to spines.
        let bytes = |link: u32, reverse: u32| output.links[(2 * link + reverse) as usize].bytes;
        assert_eq!((bytes(0, 0), bytes(1, 1)), (150_000, 150_000));
        assert_eq!((2..6).map(|link| bytes(link, 0)).sum::<u64>(), 100 * (1_500 + header));
    }
}

#[test]
fn a_slow_path_is_left_and_the_order_kept() {
    // Three of four spines are far away, so their round trips are longer. The ToR waits for a reply
    // according to the length of the path. A reply that returns by a longer path is late.
    for ns3 in [false, true] {
        let mut p = lone(ns3, 2_000);
        for spine in 0..3 {
            p.topology.links[2 + spine].delay = Span::from_us(15 + 10 * spine as u64);
        }
        let output = outcome(&p);
        let c = output.counters.balance.conweave;
        assert!(c.tails > 0 && c.clears > 0, "{c:?}");
        assert_eq!(
            (output.flows[0].packets_reordered, output.counters.balance.late),
            (0, LateCounters::default())
        );
        assert!(output.paths.len() > 1);
    }
}
