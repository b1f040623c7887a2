//! `ports`: one row per port, queue and sampling interval. A sample at time t includes all events
//! at time t.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::record::Output;
use afflux_net::spec::{Node, NodeId, Topology};
use afflux_scenario::Scenario;
use afflux_units::Span;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Ports<'a> {
    nodes: &'a [Node],
    output: &'a Output,
    /// Node at the other end, by node and port.
    peers: Vec<Vec<NodeId>>,
}

impl<'a> Ports<'a> {
    pub fn new(scenario: &'a Scenario, output: &'a Output) -> Self {
        let topology = &scenario.plan.topology;
        Self { nodes: &topology.nodes, output, peers: peers(topology) }
    }
}

/// Returns the peers of each node's ports. Ports are numbered in the order in which the node's
/// links appear in the topology.
pub(super) fn peers(topology: &Topology) -> Vec<Vec<NodeId>> {
    let mut peers = vec![Vec::new(); topology.nodes.len()];
    for link in &topology.links {
        peers[link.a as usize].push(link.b);
        peers[link.b as usize].push(link.a);
    }
    peers
}

impl Source for Ports<'_> {
    fn rows(&self) -> usize {
        self.output.ports.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let rows = || self.output.ports[rows.clone()].iter();
        let name = |node: NodeId| &self.nodes[node as usize].name;
        Columns::new(rows().len())
            .i64("time_ns", rows().map(|r| int(r.time.round_ns())))
            .string("node", rows().map(|r| name(r.node)))
            .i32("port", rows().map(|r| r.port as i32))
            .i32("queue", rows().map(|r| r.queue))
            .string("peer", rows().map(|r| name(self.peers[r.node as usize][r.port as usize])))
            .i64("queue_bytes", rows().map(|r| int(r.queue_bytes)))
            .i64("queue_bytes_max", rows().map(|r| int(r.queue_bytes_max)))
            .i64("tx_bytes", rows().map(|r| int(r.tx_bytes)))
            .i64("rx_bytes", rows().map(|r| int(r.rx_bytes)))
            .i64("drops", rows().map(|r| int(r.drops)))
            .i64("in_discards", rows().map(|r| int(r.in_discards)))
            .i64("ecn_marks", rows().map(|r| int(r.ecn_marks)))
            .i64("pause_frames_tx", rows().map(|r| int(r.pause_frames_tx)))
            .i64("pause_frames_rx", rows().map(|r| int(r.pause_frames_rx)))
            .i64("paused_ns", rows().map(|r| int(Span(r.paused).round_ns())))
            .i64("latency_ns_max", rows().map(|r| int(Span(r.latency_max).round_ns())))
            .i64("cnps", rows().map(|r| int(r.cnps)))
            .batch()
            .map_err(arrow("ports"))
    }
}
