//! Scenarios of priorities and of weighted classes.

use super::voq::{deep, scarce};
use crate::spec::*;
use crate::testing::*;
use crate::tests::scenarios::*;
use afflux_units::Time;

fn weighted(service: &[Service]) -> Scheduling {
    Scheduling::Classes(Classes {
        of_priority: [0, 2, 1, 0, 0, 0, 0, 0],
        service: service.to_vec(),
        quantum: 1_500,
    })
}

fn dwrr() -> Scheduling {
    weighted(&[Service::Weight(14), Service::Weight(15), Service::Weight(3)])
}

fn ets() -> Scheduling {
    weighted(&[Service::Bandwidth(70), Service::Bandwidth(30), Service::Strict])
}

/// DCTCP whose acknowledgements have a priority of their own.
fn acknowledgements_first() -> Vec<TransportConfig> {
    tcp_only(TcpConfig { ack_priority: Some(1), ..dctcp() })
}

pub fn add(s: &mut Scenarios) {
    s.add("three priorities", |p| {
        (p.switches[0].scheduling, p.hosts[0].scheduling) = (priorities(3), priorities(3))
    });
    s.add_switch("three priorities, shared buffer, marks at dequeue", dctcp(), |s| {
        (s.scheduling, s.buffer) = (priorities(3), shared(150_000, 1.0));
        s.marking = step_at(20_000, MarkAt::Dequeue);
    });
    s.add("weighted queues in switches and hosts", |p| {
        (p.switches[0].scheduling, p.hosts[0].scheduling) = (dwrr(), ets())
    });
    s.add("bandwidth shares, own marking and limits, shared buffer, acknowledgements first", |p| {
        let own =
            |alpha, limit, marking| QueueConfig { buffer: shared(200_000, alpha), limit, marking };
        let switch = &mut p.switches[0];
        switch.scheduling = ets();
        switch.own = vec![
            own(1.0, None, step_at(20_000, MarkAt::Enqueue)),
            own(0.5, Some(Limit::Packets(30)), red(MarkAt::Dequeue, Some(0.02))),
            own(4.0, Some(Limit::Bytes(70_000)), None),
        ];
        switch.buffer = shared(200_000, 1.0);
        p.hosts[0].scheduling = dwrr();
        p.transports = acknowledgements_first();
        sample_ports(p);
    });
}

pub fn add_deep(s: &mut Scenarios) {
    let few = |cores| scarce(cores, Some(1.02), Some(6), Some(0.9));
    for (name, buffer, scheduling, aqm) in [
        ("virtual output queues of one core, weighted classes", deep(None), dwrr(), None),
        ("virtual output queues of ports, weighted classes", deep(Some(1)), dwrr(), None),
        (
            "virtual output queues of cores, bandwidth shares, own marking and limits",
            deep(Some(2)),
            ets(),
            None,
        ),
        ("few credits for cores, weighted classes", few(Some(2)), dwrr(), None),
        (
            "few credits for one core, bandwidth shares, own marking and limits",
            few(None),
            ets(),
            None,
        ),
        (
            "few credits for ports, weighted classes, codel",
            few(Some(1)),
            dwrr(),
            Some(Aqm::Codel(codel(true))),
        ),
    ] {
        s.add(name, |p| {
            let switch = &mut p.switches[0];
            if scheduling == ets() {
                let own = |limit, marking| QueueConfig { buffer: buffer.clone(), limit, marking };
                switch.own = vec![
                    own(None, step_at(20_000, MarkAt::Enqueue)),
                    own(Some(Limit::Packets(12)), red(MarkAt::Dequeue, Some(0.02))),
                    own(Some(Limit::Bytes(30_000)), None),
                ];
            }
            (switch.buffer, switch.scheduling, switch.aqm) = (buffer, scheduling, aqm);
            p.transports = acknowledgements_first();
            take_turns(p);
            sample_ports(p);
        });
    }
}

pub fn add_queues(s: &mut Scenarios) {
    s.add("weighted queues, codel, device queue, cut-through", |p| {
        let switch = &mut p.switches[0];
        (switch.scheduling, switch.aqm) = (dwrr(), Some(Aqm::Codel(codel(true))));
        (switch.device_queue, switch.cut_through) = (1, Some(64));
        p.record.waits = all_nodes(p);
        p.transports = tcp_only(classic());
    });
    s.add("weighted queues, red drops at dequeue, short run", |p| {
        p.run.until = Some(Time::from_ns(123_456));
        let switch = &mut p.switches[0];
        (switch.scheduling, switch.marking) = (dwrr(), red(MarkAt::Dequeue, None));
        switch.queue_length = QueueLength::ThroughStart;
    });
}
