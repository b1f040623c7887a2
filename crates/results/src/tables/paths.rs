//! `paths`: frames and bytes per flow, subflow and path. `fct_ns` is the completion time of the flow,
//! as in `flows`.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::{FlowTimes, int};
use afflux_net::record::{Output, PathRecord};
use afflux_scenario::Scenario;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Paths<'a> {
    pub scenario: &'a Scenario,
    pub output: &'a Output,
}

impl Source for Paths<'_> {
    fn rows(&self) -> usize {
        self.output.paths.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let plan = &self.scenario.plan;
        let rows = || self.output.paths[rows.clone()].iter();
        let fct = |r: &PathRecord| {
            FlowTimes::of(self.output.flow(plan, r.flow), &self.output.flows[r.flow as usize])
                .fct_ns
        };
        let path = |r: &PathRecord| {
            let names: Vec<&str> = r
                .nodes
                .iter()
                .map(|&node| plan.topology.nodes[node as usize].name.as_str())
                .collect();
            names.join(">")
        };
        Columns::new(rows().len())
            .i64("flow", rows().map(|r| self.output.flow(plan, r.flow).id))
            .i64("subflow", rows().map(|r| i64::from(r.subflow)))
            .string("path", rows().map(path))
            .i64("frames", rows().map(|r| int(r.frames)))
            .i64("bytes", rows().map(|r| int(r.bytes)))
            .i64_or_null("fct_ns", rows().map(fct))
            .batch()
            .map_err(arrow("paths"))
    }
}
