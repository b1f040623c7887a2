//! `flows`: one row per flow, in the order of the plan.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::{FlowTimes, SplitNs, completion, int};
use afflux_net::record::{FlowRecord, Output, Status};
use afflux_net::spec::Flow;
use afflux_scenario::Scenario;
use afflux_units::Time;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Flows<'a> {
    pub scenario: &'a Scenario,
    pub output: &'a Output,
}

struct Row<'a> {
    flow: &'a Flow,
    record: &'a FlowRecord,
    times: FlowTimes,
    /// `None` if the split was not recorded, the flow is unfinished, or the parts do not add up.
    split: Option<SplitNs>,
}

impl<'a> Source for Flows<'a> {
    fn rows(&self) -> usize {
        self.output.flows.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let Scenario { plan, classes, jobs, .. } = self.scenario;
        let row = |(flow, record): (&'a Flow, &'a FlowRecord)| {
            let known = plan.record.explain && !flow.is_outside();
            let split = if known { SplitNs::of(record) } else { None };
            Row { flow, record, times: FlowTimes::of(flow, record), split }
        };
        let rows: Vec<Row> = rows
            .map(|id| row((self.output.flow(plan, id as u32), &self.output.flows[id])))
            .collect();
        let rows = || rows.iter();
        let split = |part: fn(&SplitNs) -> i64| rows().map(move |r| r.split.as_ref().map(part));
        let knows = |flow: &Flow| {
            plan.transports
                .get(flow.transport as usize)
                .is_some_and(|transport| transport.parameters().reports_host_queueing())
        };
        Columns::new(rows().len())
            .i64("id", rows().map(|r| r.flow.id))
            .string("class", rows().map(|r| &classes[r.flow.class as usize]))
            .string_or_null(
                "job",
                rows()
                    .map(|r| (r.flow.job != Flow::NO_JOB).then(|| &jobs[r.flow.job as usize].name)),
            )
            .i32("src", rows().map(|r| r.flow.src as i32))
            .i32("dst", rows().map(|r| r.flow.dst as i32))
            .i64("bytes", rows().map(|r| int(r.flow.bytes)))
            .i64_or_null("start_ns", rows().map(|r| r.times.start_ns))
            .i64_or_null("finish_ns", rows().map(|r| r.times.finish_ns))
            .string("status", rows().map(|r| status(r.record.status)))
            .i64_or_null("fct_ns", rows().map(|r| r.times.fct_ns))
            .i64_or_null("ideal_ns", rows().map(|r| r.times.ideal_ns))
            .f64_or_null("slowdown", rows().map(|r| r.times.slowdown))
            .i64_or_null(
                "deadline_ns",
                rows().map(|r| r.flow.deadline.map(|span| int(span.round_ns()))),
            )
            .bool_or_null(
                "deadline_met",
                rows().map(|r| deadline_met(r.flow, r.record, self.output.end)),
            )
            .i64("packets_sent", rows().map(|r| int(r.record.packets_sent)))
            .i64("packets_retransmitted", rows().map(|r| int(r.record.packets_retransmitted)))
            .i64_or_null(
                "timeouts",
                rows().map(|r| (!r.flow.is_outside()).then(|| int(r.record.timeouts))),
            )
            .i64("ecn_marked", rows().map(|r| int(r.record.ecn_marked)))
            .i64("packets_reordered", rows().map(|r| int(r.record.packets_reordered)))
            .i64_or_null("propagation_ns", split(|s| s.propagation))
            .i64_or_null("serialization_ns", split(|s| s.serialization))
            .i64_or_null("recovery_ns", split(|s| s.recovery))
            .i64_or_null("reordering_ns", split(|s| s.reordering))
            .i64_or_null("paused_ns", split(|s| s.paused))
            .i64_or_null("queueing_ns", split(|s| s.queueing))
            .i64_or_null("pacing_ns", split(|s| s.pacing))
            .i64_or_null("window_ns", split(|s| s.window))
            .i64_or_null("application_ns", split(|s| s.application))
            .string("src_name", rows().map(|r| &plan.topology.nodes[r.flow.src as usize].name))
            .string("dst_name", rows().map(|r| &plan.topology.nodes[r.flow.dst as usize].name))
            .i64("delivered_bytes", rows().map(|r| int(r.record.bytes_received)))
            .f64_or_null("goodput_bps", rows().map(|r| r.record.goodput(self.output.end)))
            .i64_or_null(
                "queueing_host_ns",
                rows().map(|r| r.split.as_ref().filter(|_| knows(r.flow)).map(|split| split.host)),
            )
            .bool("kernel", rows().map(|r| r.flow.is_outside()))
            .batch()
            .map_err(arrow("flows"))
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Finished => "finished",
        Status::Running => "running",
        Status::Terminated => "terminated",
    }
}

/// Returns whether the flow met its deadline, compared in ps, in a run that ended at `end`. False
/// for a flow that its sender gave up. `None` without a deadline, and as long as the flow is
/// unfinished and its deadline has not passed: its deadline counts from its start.
pub fn deadline_met(flow: &Flow, record: &FlowRecord, end: Time) -> Option<bool> {
    let deadline = flow.deadline?;
    if let Some(fct) = completion(record) {
        return Some(fct <= deadline);
    }
    let due = record.start?.0.saturating_add(deadline.0);
    (record.status == Status::Terminated || end.0 > due).then_some(false)
}
