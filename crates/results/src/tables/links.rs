//! `links`: one row per directed link for the whole run. Row `2 * l` is link `l` of the topology
//! from its first node to its second, row `2 * l + 1` is the opposite direction.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::record::Output;
use afflux_net::spec::{Link, NodeId};
use afflux_scenario::Scenario;
use afflux_units::Span;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Links<'a> {
    pub scenario: &'a Scenario,
    pub output: &'a Output,
}

impl Source for Links<'_> {
    fn rows(&self) -> usize {
        self.output.links.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let topology = &self.scenario.plan.topology;
        let end = self.output.end.0;
        let name = |node: NodeId| &topology.nodes[node as usize].name;
        let ends = |row: usize| {
            let Link { a, b, .. } = topology.links[row / 2];
            if row.is_multiple_of(2) { (a, b) } else { (b, a) }
        };
        let records = || self.output.links[rows.clone()].iter();
        Columns::new(rows.len())
            .i32("link", rows.clone().map(|row| row as i32))
            .string("from", rows.clone().map(|row| name(ends(row).0)))
            .string("to", rows.clone().map(|row| name(ends(row).1)))
            .i64(
                "rate_bps",
                rows.clone().map(|row| int(topology.links[row / 2].rate_of(row % 2 == 1).0)),
            )
            .i64("frames", records().map(|r| int(r.frames)))
            .i64("bytes", records().map(|r| int(r.bytes)))
            // Share of the simulated time in which the link transmitted, including inter-frame
            // gaps.
            .f64(
                "utilisation",
                records().map(|r| if end == 0 { 0.0 } else { r.busy as f64 / end as f64 }),
            )
            .i64("busy_ns", records().map(|r| int(Span(r.busy).round_ns())))
            .batch()
            .map_err(arrow("links"))
    }
}
