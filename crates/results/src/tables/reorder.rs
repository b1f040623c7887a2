//! `reorder`: number of reorder queues in use and their bytes at regular intervals, per ToR and
//! port. A port without any has no row.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::record::Output;
use afflux_scenario::Scenario;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Reorder<'a> {
    pub scenario: &'a Scenario,
    pub output: &'a Output,
}

impl Source for Reorder<'_> {
    fn rows(&self) -> usize {
        self.output.reordering.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let rows = || self.output.reordering[rows.clone()].iter();
        Columns::new(rows().len())
            .i64("time_ns", rows().map(|r| int(r.time.round_ns())))
            .string(
                "node",
                rows().map(|r| &self.scenario.plan.topology.nodes[r.node as usize].name),
            )
            .i32("port", rows().map(|r| r.port))
            .i64("queues", rows().map(|r| int(r.queues)))
            .i64("bytes", rows().map(|r| int(r.bytes)))
            .batch()
            .map_err(arrow("reorder"))
    }
}
