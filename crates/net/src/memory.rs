//! What a run will need, before it is begun.

use crate::port::Port;
use crate::record::{FlowRecord, PortRecord, ReorderRecord, UplinkRecord};
use crate::routing::Routes;
use crate::shard::{Node, ReceivedRecord, SentRecord};
use crate::spec::{Aqm, Buffer, Flow, NodeId, NodeKind, Plan, Start};
use crate::transport::tcp::{Receiver, Sender};

/// Bytes of memory that `plan` needs, roughly: tables, ports and records are counted; flows under way at once, and frames in flight, are
/// taken at their likely most (sixteen flows per host, every buffer full).
pub fn estimate_memory(plan: &Plan) -> u64 {
    let topology = &plan.topology;
    let threads = plan.run.threads.max(1) as u64;
    let (nodes, links, flows, hosts) = (topology.nodes.len() as u64, topology.links.len() as u64, plan.flows.len() as u64, topology.hosts as u64);
    let flows = flows + plan.applications.iter().flat_map(|a| &a.programs).map(|program| program.expected_flows()).sum::<u64>();
    let changes: u64 = topology.links.iter().map(|l| 2 * l.down.len() as u64).sum();
    let routes = Routes::build(topology).racks() as u64 * nodes * 4 * (1 + changes);
    let buckets: u64 = topology.links.iter().flat_map(|l| [l.a, l.b]).map(|node| buckets(plan, node)).sum();
    let fabric = nodes * size_of::<Node>() as u64 + 2 * links * (size_of::<Port>() as u64 + 512) + buckets;
    let per_flow = size_of::<Flow>() + size_of::<SentRecord>() + size_of::<ReceivedRecord>() + size_of::<FlowRecord>() + 64;
    // Columns of the results, and their compression.
    let results = 400;
    let at_once = flows.min(16 * hosts) * (size_of::<Sender>() + size_of::<Receiver>() + 4096) as u64;
    let in_flight: u64 =
        topology.nodes.iter().filter(|n| n.kind == NodeKind::Switch).map(|n| buffer(&plan.switches[n.config as usize].buffer)).sum::<u64>() / 1_000 * 64;
    let last = plan.flows.iter().filter_map(|f| if let Start::At(t) = f.start { Some(t.0) } else { None }).max().unwrap_or(0);
    let duration = plan.run.until.map_or(last, |t| t.0);
    let sampled = plan.record.ports.as_ref().map_or(0, |p| {
        let rows: u64 = p.nodes.iter().map(|&n| topology.links.iter().filter(|l| l.a == n || l.b == n).count() as u64).sum();
        duration / p.interval.0.max(1) * rows * (size_of::<PortRecord>() as u64 + 130)
    });
    let uplinks = plan.record.imbalance.map_or(0, |w| duration / w.0.max(1) * links * size_of::<UplinkRecord>() as u64);
    // Few ports have reorder queues at a time.
    let reordering = plan.record.reordering.map_or(0, |i| duration / i.0.max(1) * nodes * 4 * size_of::<ReorderRecord>() as u64);
    (30 << 20) + routes + fabric + flows * (per_flow as u64 + results + 8 * threads) + at_once + in_flight.min(4 << 30) + sampled + uplinks + reordering
}

/// Of the queue discipline of a port of this node.
fn buckets(plan: &Plan, node: NodeId) -> u64 {
    let node = &plan.topology.nodes[node as usize];
    match (node.kind, plan.switches.get(node.config as usize).and_then(|s| s.aqm.as_ref())) {
        (NodeKind::Switch, Some(Aqm::FqCodel(fq))) => fq.flows as u64 * 4,
        _ => 0,
    }
}

fn buffer(config: &Buffer) -> u64 {
    match config {
        Buffer::Unlimited => 0,
        Buffer::Static { per_queue, .. } => match per_queue {
            crate::spec::Limit::Bytes(bytes) => *bytes,
            crate::spec::Limit::Packets(packets) => *packets as u64 * 1_500,
        },
        Buffer::Shared { total, .. } => *total,
        Buffer::Mmu(mmu) => mmu.total,
        Buffer::Voq(voq) => voq.on_chip + voq.dram,
    }
}
