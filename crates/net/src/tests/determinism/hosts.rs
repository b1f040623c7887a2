//! Scenarios of hosts: timing of real ones, and queueing disciplines of their NICs.

use crate::spec::*;
use crate::testing::*;
use crate::tests::scenarios::*;
use crate::tests::{lossless, voq};

pub fn add(s: &mut Scenarios) {
    let small_queues = || tcp_only(TcpConfig { small_queues: true, ..dctcp() });
    s.add("timing of real hosts", |p| p.hosts[0].timing = timing());
    s.add("timing of real hosts, priorities, a short NIC queue, small queues", |p| {
        p.hosts[0] = HostConfig {
            timing: timing(),
            scheduling: priorities(3),
            queue: Some(Limit::Bytes(50_000)),
            ..host()
        };
        p.transports = small_queues();
        take_turns(p);
    });
    s.add("timing of real hosts, lossless, all records", |p| {
        make_lossless(p, lossless::conweave(700_000), pfc(0b111));
        p.hosts[0].timing = timing();
        p.record.paths = true;
        p.record.waits = all_nodes(p);
    });
    s.add("timing of real hosts on some, lossy links", |p| {
        p.hosts.push(HostConfig { timing: timing(), ..p.hosts[0].clone() });
        let hosts = p.topology.nodes.iter_mut().filter(|n| n.kind == NodeKind::Host);
        hosts.enumerate().for_each(|(i, n)| n.config = (i % 2) as u32);
        lose(p.topology.links.iter_mut().step_by(3), 0.01);
    });
    for (name, kind, rings) in [
        ("fq_codel", "fq_codel", 1),
        ("fq", "fq", 1),
        ("pfifo", "pfifo", 1),
        ("fq_codel behind three rings", "fq_codel", 3),
    ] {
        s.add(name, |p| {
            let qdisc = Some(qdisc(kind, Some(4_000), rings));
            p.hosts[0] = HostConfig { timing: timing(), qdisc, ..host() };
            p.transports = small_queues();
            p.record.waits = all_nodes(p);
        });
    }
    s.add("fq_codel at exact hosts that are paused", |p| {
        make_lossless(p, lossless::conweave(700_000), pfc(0b111));
        p.hosts[0].qdisc = Some(qdisc("fq_codel", None, 1));
        take_turns(p);
    });
    s.add("timing of real hosts behind virtual output queues", |p| {
        p.switches[0].buffer = Buffer::Voq(voq::deep());
        p.hosts[0].timing = timing();
    });
}
