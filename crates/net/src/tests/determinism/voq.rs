//! Scenarios of virtual output queues.

use crate::spec::*;
use crate::testing::*;
use crate::tests::scenarios::*;
use afflux_units::{Rate, Span, Time};

/// A deep buffer in which every limit can refuse frames: the cap, the memories, and the bandwidth
/// of the DRAM.
pub fn deep(ports_per_core: Option<u32>) -> Buffer {
    scarce(ports_per_core, None, None, None)
}

/// A deep buffer with limits of its credits and of its fabric.
pub fn scarce(
    ports_per_core: Option<u32>,
    credit_speedup: Option<f64>,
    max_credits: Option<u32>,
    fabric_speedup: Option<f64>,
) -> Buffer {
    Buffer::Voq(Voq {
        ports_per_core,
        credit_speedup,
        max_credits,
        fabric_speedup,
        max_bytes: Some(60_000),
        max_time: Some(Span::from_us(4)),
        on_chip: 60_000,
        evict_bytes: 20_000,
        evict_packets: 30,
        dram: 200_000,
        dram_bandwidth: Some(Rate::from_gbps(250)),
        write_buffer: 20_000,
        dynamic: 0.5,
        ..crate::tests::voq::deep()
    })
}

pub fn add_memory(s: &mut Scenarios) {
    s.add_switch("virtual output queues of one core", tcp(), |s| s.buffer = deep(None));
    s.add_switch("virtual output queues of one core, dctcp", dctcp(), |s| {
        (s.buffer, s.marking) = (deep(None), step_at(15_000, MarkAt::Enqueue))
    });
    s.add_switch("virtual output queues of ports", tcp(), |s| s.buffer = deep(Some(1)));
    s.add_switch("virtual output queues of cores and priorities, red, spray", tcp(), |s| {
        (s.buffer, s.scheduling) = (deep(Some(2)), priorities(3));
        s.marking = red(MarkAt::Enqueue, Some(0.02));
        s.balance = Balance::Spray(SprayConfig {});
    });
    s.add("virtual output queues of one core, priorities, all records", |p| {
        (p.switches[0].buffer, p.switches[0].scheduling) = (deep(None), priorities(2));
        sample_ports(p);
        p.record.captures = vec![capture(0, true)];
    });
}

/// Active queue management and limits of credits.
pub fn add_disciplines(s: &mut Scenarios) {
    let codel_of = |ecn| Some(Aqm::Codel(codel(ecn)));
    let fair = || Some(fq_codel(codel(false), 1_514, 1_024, 24, 64));
    let few_buckets = Some(fq_codel(codel(true), 300, 3, 1_000, 64));
    let small_batches = Some(fq_codel(codel(false), 1_514, 64, 24, 8));
    for (name, buffer, queues, aqm, ecn) in [
        ("virtual output queues of one core, codel", deep(None), 1, codel_of(false), false),
        (
            "virtual output queues of cores and priorities, codel marks",
            deep(Some(2)),
            3,
            codel_of(true),
            true,
        ),
        ("virtual output queues of one core, fq-codel", deep(None), 1, fair(), false),
        ("virtual output queues of ports, fq-codel", deep(Some(1)), 1, few_buckets, true),
        (
            "virtual output queues of ports, pie",
            deep(Some(1)),
            2,
            Some(Aqm::Pie(fast_pie(false))),
            false,
        ),
        (
            "virtual output queues of cores, pi2",
            deep(Some(3)),
            1,
            Some(Aqm::Pi2(fast_pi2(None))),
            false,
        ),
        ("one core, slow credits", scarce(None, Some(0.7), None, None), 1, None, false),
        (
            "few credits for cores and priorities",
            scarce(Some(2), None, Some(4), None),
            3,
            None,
            false,
        ),
        ("ports with a slow fabric", scarce(Some(1), Some(1.02), None, Some(0.6)), 2, None, false),
        (
            "one core, few credits, codel",
            scarce(None, None, Some(3), Some(0.9)),
            2,
            codel_of(false),
            false,
        ),
        (
            "ports, few credits, fq-codel",
            scarce(Some(1), Some(0.9), Some(5), Some(0.5)),
            1,
            small_batches,
            false,
        ),
    ] {
        s.add(name, |p| {
            p.transports = tcp_only(tcp_for(ecn));
            (p.switches[0].buffer, p.switches[0].aqm) = (buffer, aqm);
            if queues > 1 {
                p.switches[0].scheduling = priorities(queues);
            }
            sample_ports(p);
        });
    }
}

pub fn add_marking(s: &mut Scenarios) {
    s.add_switch("few credits, red at dequeue", tcp(), |s| {
        s.buffer = scarce(Some(3), None, Some(4), None);
        s.marking = red(MarkAt::Dequeue, None);
    });
    for (name, tcp, cores, marking) in [
        (
            "virtual output queues of one core, dctcp marked at dequeue",
            dctcp(),
            None,
            step_at(15_000, MarkAt::Dequeue),
        ),
        (
            "virtual output queues of cores, red at dequeue",
            tcp(),
            Some(2),
            red(MarkAt::Dequeue, Some(0.02)),
        ),
    ] {
        s.add_switch(name, tcp, |s| {
            (s.buffer, s.marking, s.scheduling) = (deep(cores), marking, priorities(2))
        });
    }
    s.add("virtual output queues of some switches, one of them recorded", |p| {
        p.switches.push(SwitchConfig { buffer: deep(None), ..switch() });
        p.topology.nodes.iter_mut().filter(|n| n.tier == 1).for_each(|n| n.config = 1);
        p.record.ports = samples(7, [p.topology.hosts]);
        p.run.until = Some(Time::from_ns(177_777));
    });
}
