//! `gaps`: times between the starts of consecutive data frames, per port, flow and subflow.

use super::columns::Columns;
use super::ports::peers;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::record::{Gap, Output};
use afflux_net::spec::NodeId;
use afflux_scenario::Scenario;
use afflux_units::Span;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Gaps<'a> {
    scenario: &'a Scenario,
    output: &'a Output,
    peers: Vec<Vec<NodeId>>,
}

impl<'a> Gaps<'a> {
    pub fn new(scenario: &'a Scenario, output: &'a Output) -> Self {
        Self { scenario, output, peers: peers(&scenario.plan.topology) }
    }
}

/// Returns the mean and the standard deviation in ps.
fn moments(gap: &Gap) -> Option<(f64, f64)> {
    let count = gap.frames.checked_sub(1).filter(|count| *count > 0)? as f64;
    let mean = gap.sum as f64 / count;
    Some((mean, (gap.squares as f64 / count - mean * mean).max(0.0).sqrt()))
}

impl Source for Gaps<'_> {
    fn rows(&self) -> usize {
        self.output.gaps.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let plan = &self.scenario.plan;
        let rows = || self.output.gaps[rows.clone()].iter();
        let name = |node: NodeId| &plan.topology.nodes[node as usize].name;
        let of = |gap: &Gap, time: u64| (gap.frames > 1).then(|| int(Span(time).round_ns()));
        Columns::new(rows().len())
            .string("node", rows().map(|r| name(r.node)))
            .i32("port", rows().map(|r| r.port as i32))
            .string("peer", rows().map(|r| name(self.peers[r.node as usize][r.port as usize])))
            .i64("flow", rows().map(|r| self.output.flow(plan, r.flow).id))
            .i64("subflow", rows().map(|r| i64::from(r.subflow)))
            .i64("frames", rows().map(|r| int(r.gap.frames)))
            .i64("bytes", rows().map(|r| int(r.gap.bytes)))
            .i64_or_null("gap_ns_least", rows().map(|r| of(&r.gap, r.gap.least)))
            .f64_or_null("gap_ns_mean", rows().map(|r| moments(&r.gap).map(|(mean, _)| mean / 1e3)))
            .f64_or_null(
                "gap_ns_deviation",
                rows().map(|r| moments(&r.gap).map(|(_, deviation)| deviation / 1e3)),
            )
            .i64_or_null("gap_ns_most", rows().map(|r| of(&r.gap, r.gap.most)))
            .batch()
            .map_err(arrow("gaps"))
    }
}
