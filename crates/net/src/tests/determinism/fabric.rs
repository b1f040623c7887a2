//! Scenarios of whole fabrics: how switches forward, links that fail, records.

use crate::spec::*;
use crate::testing::*;
use crate::tests::scenarios::*;
use afflux_units::{Bytes, Rate, Span, Time};

pub fn add_forwarding(s: &mut Scenarios) {
    s.add_switch("occupancy until start of transmission", tcp(), |s| {
        s.queue_length = QueueLength::BeforeTransmission
    });
    s.add_switch("occupancy through start of transmission", tcp(), |s| {
        s.queue_length = QueueLength::ThroughStart
    });
    s.add_switch("cut-through", tcp(), |s| s.cut_through = Some(64));
    s.add_switch("cut-through, shared buffer, priorities", tcp(), |s| {
        (s.cut_through, s.buffer, s.scheduling) = (Some(64), shared(150_000, 0.5), priorities(2))
    });
    let spray = Balance::Spray(SprayConfig {});
    s.add_switch("spray", tcp(), |s| s.balance = spray.clone());
    s.add_switch("murmur3", tcp(), |s| s.hash = RouteHash::Murmur3);
    s.add("spray, paths recorded", |p| {
        p.switches[0].balance = spray;
        p.record.paths = true;
    });
    let delayed_ack = Some(DelayedAck { segments: 2, timeout: Span::from_us(50), quick: 0 });
    s.add_switch("delayed acknowledgements", TcpConfig { delayed_ack, ..tcp() }, |_| {});
    s.add_switch("delayed acknowledgements, dctcp", TcpConfig { delayed_ack, ..dctcp() }, |s| {
        s.marking = step_at(20_000, MarkAt::Enqueue)
    });
}

pub fn add_links(s: &mut Scenarios) {
    s.add("loss and link down", |p| {
        lose(&mut p.topology.links, 0.01);
        // Links between switches.
        interrupt(p.topology.links[38..].iter_mut().step_by(7));
        p.record.paths = true;
    });
    s.add("mixed rates and delays", |p| mix(&mut p.topology, &UNEQUAL_RATES, &UNEQUAL_DELAYS));
}

pub fn add_records(s: &mut Scenarios) {
    s.add("short run", |p| p.run.until = Some(Time::from_ns(77_777)));
    s.add("short run, priorities", |p| {
        p.run.until = Some(Time::from_ns(123_456));
        p.switches[0].scheduling = priorities(3);
    });
    s.add("all records", |p| {
        sample_ports(p);
        p.record.paths = true;
        p.record.imbalance = Some(Span::from_us(20));
        p.record.captures = vec![capture(0, false), capture(40, true)];
        p.record.round_trips = true;
        (p.record.gaps, p.record.waits) = (all_nodes(p), (10..30).collect());
        p.switches[0].marking = step_at(30_000, MarkAt::Enqueue);
        p.switches[0].buffer = shared(150_000, 0.5);
        p.transports = tcp_only(dctcp());
    });
    s.add("small queues, buffers that grow", |p| {
        let receive = Receive::Buffer(ReceiveBuffer {
            initial: Bytes(65_536),
            most: Bytes(4 << 20),
            share: 128,
        });
        // Half of the hosts' links are slower than the traffic sent to them, so their queues get
        // long.
        p.topology.links.iter_mut().take(16).for_each(|link| link.rate = Rate::from_gbps(2));
        p.flows.iter_mut().filter(|f| f.id % 9 == 0).for_each(|f| f.bytes = 3_000_000);
        p.switches[0].buffer = Buffer::Unlimited;
        p.record.paths = true;
        p.transports = tcp_only(TcpConfig { receive, initial_window: 400, ..linux() });
    });
    s.add("last byte, nic queue limit", |p| {
        p.run.fct_end = FctEnd::LastByte;
        p.hosts[0].queue = Some(Limit::Bytes(40_000));
    });
}
