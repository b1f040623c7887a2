//! Scenarios of queues in switches: marking, active queue management, shared memory.

use crate::congestion::d2tcp::WithoutDeadline;
use crate::spec::*;
use crate::testing::*;
use crate::tests::scenarios::*;
use afflux_units::{Span, Time};

/// Congestion controls, most of which react to marks.
pub fn add_controls(s: &mut Scenarios) {
    let controlled = |congestion, tcp| TcpConfig { congestion, ..tcp };
    s.add_switch("newreno recovery", TcpConfig { recovery: Recovery::NewReno, ..tcp() }, |_| {});
    s.add_switch("dctcp, step at enqueue", dctcp(), |s| {
        s.marking = step_at(30_000, MarkAt::Enqueue)
    });
    s.add_switch("dctcp, step at dequeue", dctcp(), |s| {
        s.marking = step_at(30_000, MarkAt::Dequeue)
    });
    let d2tcp = D2tcpConfig {
        gain: 0.0625,
        initial_alpha: 1.0,
        least: 0.5,
        most: 2.0,
        without_deadline: WithoutDeadline::Halve,
    };
    s.add("d2tcp, near and far deadlines", |p| {
        p.switches[0].marking = step_at(30_000, MarkAt::Enqueue);
        p.transports = tcp_only(controlled(CongestionControl::D2tcp(d2tcp), dctcp()));
        for f in p.flows.iter_mut().filter(|f| f.id % 4 > 0) {
            f.deadline = Some(Span::from_us(20 * (f.id % 4) as u64));
        }
    });
    let short = LedbatppConfig {
        target: Span::from_us(20),
        base_interval: Span::from_us(200),
        base_history: 3,
        slowdown_interval: 2,
        ..ledbatpp()
    };
    s.add_switch(
        "ledbatpp, with a target of a few frames",
        TcpConfig { initial_window: 2, ..controlled(CongestionControl::Ledbatpp(short), tcp()) },
        |_| {},
    );
}

pub fn add_red(s: &mut Scenarios) {
    s.add_switch("classic ecn, red at enqueue", classic(), |s| {
        s.marking = red(MarkAt::Enqueue, None)
    });
    s.add_switch("classic ecn, averaged red at dequeue", classic(), |s| {
        s.marking = red(MarkAt::Dequeue, Some(0.02))
    });
    s.add_switch("averaged red drops at enqueue", tcp(), |s| {
        s.marking = red(MarkAt::Enqueue, Some(0.02))
    });
    s.add_switch("gentle red with uniform spacing", tcp(), |s| {
        let marking = red(MarkAt::Enqueue, Some(0.02)).unwrap();
        s.marking = Some(Marking { gentle: true, spacing: Spacing::Uniform, ..marking });
        s.device_queue = 1;
    });
    s.add_switch("red as in linux, at dequeue", classic(), |s| {
        let marking = red(MarkAt::Dequeue, Some(0.5)).unwrap();
        s.marking = Some(Marking { spacing: Spacing::Linux, hard_drop: true, ..marking });
        s.device_queue = 2;
    });
}

pub fn add_disciplines(s: &mut Scenarios) {
    s.add_switch("codel", tcp(), |s| s.aqm = Some(Aqm::Codel(codel(false))));
    s.add_switch("codel, marks, device queue, priorities", classic(), |s| {
        s.aqm = Some(Aqm::Codel(codel(true)));
        (s.device_queue, s.scheduling, s.buffer) = (1, priorities(3), shared(300_000, 1.0));
    });
    s.add_switch("fq-codel", tcp(), |s| {
        s.aqm = Some(fq_codel(codel(false), 1_514, 1_024, 24, 64));
        s.buffer = shared(300_000, 1.0);
    });
    s.add_switch("fq-codel, few buckets, marks, cut-through", classic(), |s| {
        s.aqm = Some(fq_codel(codel(true), 300, 3, 1_000, 64));
        s.cut_through = Some(64);
    });
    for (name, ecn) in [("pie", false), ("pie, marks, derandomised, device queue", true)] {
        s.add_switch(name, tcp_for(ecn), |s| {
            s.aqm = Some(Aqm::Pie(PieConfig { derandomize: ecn, ..fast_pie(ecn) }));
            s.device_queue = ecn as u32;
        });
    }
    s.add_switch("ecn#", dctcp(), |s| {
        let [instant, target, interval] = [20, 2, 10].map(Span::from_us);
        s.aqm = Some(Aqm::EcnSharp(EcnSharpConfig { instant, target, interval }));
    });
    for (name, tcp, coupling) in [("pi2", tcp(), None), ("pi2, scalable", dctcp(), Some(2.0))] {
        s.add_switch(name, tcp, |s| s.aqm = Some(Aqm::Pi2(fast_pi2(coupling))));
    }
}

pub fn add_memory(s: &mut Scenarios) {
    s.add("drop-tail before a device queue, short run, all records", |p| {
        p.run.until = Some(Time::from_ns(77_777));
        p.switches[0].device_queue = 3;
        sample_ports(p);
        p.record.imbalance = Some(Span::from_us(20));
        p.record.captures = vec![capture(0, true)];
    });
    s.add_switch("red drops at dequeue", tcp(), |s| s.marking = red(MarkAt::Dequeue, None));
    s.add_switch("shared buffer", tcp(), |s| s.buffer = shared(150_000, 0.5));
    s.add_switch("shared buffer, dctcp", dctcp(), |s| {
        (s.buffer, s.marking) = (shared(200_000, 1.0), step_at(30_000, MarkAt::Enqueue))
    });
    s.add_switch("shared buffer, marks at dequeue", dctcp(), |s| {
        (s.buffer, s.marking) = (shared(150_000, 2.0), step_at(30_000, MarkAt::Dequeue))
    });
}
