//! `jobs`: one row per query or coflow, with phase `query` or `coflow`, no task and no node.
//! `bytes_in` is the payload that arrived, `bytes_out` the payload that its flows should send. A
//! job that an application runs has phase `job`, and further rows for its phases and tasks. Their
//! bytes are the input and output of these phases and tasks.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::{FlowTimes, int};
use afflux_net::record::{Output, TaskRecord};
use afflux_net::spec::Flow;
use afflux_scenario::{JobKind, Scenario};
use afflux_units::Time;
use arrow_array::RecordBatch;
use std::ops::Range;

/// Phase name of the row for a whole job that an application runs.
pub(crate) const WHOLE: &str = "job";

/// Totals of a job: times in ns, and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobTimes {
    /// Time in ns of the job's submission, or else of the start of its first flow. `None` if
    /// neither has happened.
    pub start_ns: Option<i64>,
    /// Time in ns at which the last flow finished. `None` unless all flows have finished.
    pub finish_ns: Option<i64>,
    pub bytes_in: i64,
    pub bytes_out: i64,
}

impl JobTimes {
    /// Returns the completion time in ns of a finished job.
    pub fn completion_ns(&self) -> Option<i64> {
        self.finish_ns.zip(self.start_ns).map(|(finish, start)| finish - start)
    }
}

/// Returns the totals of each job, by job number.
pub fn job_times(scenario: &Scenario, output: &Output) -> Vec<JobTimes> {
    struct Sum {
        first: Option<i64>,
        last: Option<i64>,
        unfinished: bool,
        bytes_in: u64,
        bytes_out: u64,
    }
    let mut sums: Vec<Sum> = scenario
        .jobs
        .iter()
        .map(|_| Sum { first: None, last: None, unfinished: false, bytes_in: 0, bytes_out: 0 })
        .collect();
    for (flow, record) in output.all_flows(&scenario.plan) {
        if flow.job == Flow::NO_JOB {
            continue;
        }
        let sum = &mut sums[flow.job as usize];
        let times = FlowTimes::of(flow, record);
        sum.first = [sum.first, times.start_ns].into_iter().flatten().min();
        sum.last = sum.last.max(times.finish_ns);
        sum.unfinished |= times.finish_ns.is_none();
        sum.bytes_in += record.bytes_received;
        sum.bytes_out += flow.bytes;
    }
    let mut ended: Vec<Option<&TaskRecord>> = vec![None; scenario.jobs.len()];
    for task in output.tasks.iter().filter(|task| task.phase == WHOLE) {
        ended[task.job as usize] = Some(task);
    }
    let ran = |job: &afflux_scenario::Job, ended: Option<&TaskRecord>| JobTimes {
        start_ns: job.arrival.filter(|time| *time <= output.end).map(|time| int(time.round_ns())),
        finish_ns: ended.and_then(|task| task.finish).map(|time| int(time.round_ns())),
        bytes_in: ended.map_or(0, |task| int(task.bytes_in)),
        bytes_out: ended.map_or(0, |task| int(task.bytes_out)),
    };
    let moved = |job: &afflux_scenario::Job, sum: &Sum| JobTimes {
        start_ns: job.arrival.map(|time| int(time.round_ns())).or(sum.first),
        finish_ns: match sum.last {
            _ if sum.unfinished => None,
            // No flow crosses the network, so the job is done when submitted.
            None => job.arrival.map(|time| int(time.round_ns())),
            last => last,
        },
        bytes_in: int(sum.bytes_in),
        bytes_out: int(sum.bytes_out),
    };
    let whole = |index: usize| {
        let job = &scenario.jobs[index];
        if job.kind == JobKind::Application {
            ran(job, ended[index])
        } else {
            moved(job, &sums[index])
        }
    };
    (0..scenario.jobs.len()).map(whole).collect()
}

/// Rows of the table: one per job, whose phase names its kind. Jobs of applications are followed by
/// their phases and tasks.
pub struct Jobs<'a> {
    scenario: &'a Scenario,
    rows: Vec<Row>,
}

struct Row {
    job: u32,
    phase: &'static str,
    task: Option<u32>,
    node: Option<i32>,
    times: JobTimes,
}

impl<'a> Jobs<'a> {
    pub fn new(scenario: &'a Scenario, output: &Output) -> Self {
        let mut parts: Vec<Vec<Row>> = scenario.jobs.iter().map(|_| Vec::new()).collect();
        for task in output.tasks.iter().filter(|task| task.phase != WHOLE) {
            let ns = |time: Time| int(time.round_ns());
            let times = JobTimes {
                start_ns: Some(ns(task.start)),
                finish_ns: task.finish.map(ns),
                bytes_in: int(task.bytes_in),
                bytes_out: int(task.bytes_out),
            };
            let node = task.node.map(|node| node as i32);
            parts[task.job as usize].push(Row {
                job: task.job,
                phase: task.phase,
                task: task.task,
                node,
                times,
            });
        }
        let whole = job_times(scenario, output);
        let rows =
            whole.into_iter().zip(parts).enumerate().flat_map(|(job, (times, mut parts))| {
                // Phases in the order of their start, each followed by its tasks.
                let order: Vec<&'static str> = {
                    let mut phases: Vec<&Row> =
                        parts.iter().filter(|row| row.task.is_none()).collect();
                    phases.sort_by_key(|row| row.times.start_ns);
                    phases.iter().map(|row| row.phase).collect()
                };
                parts.sort_by_key(|row| {
                    (
                        order.iter().position(|phase| *phase == row.phase).unwrap_or(order.len()),
                        row.phase,
                        row.task,
                    )
                });
                let phase = scenario.jobs[job].kind.word();
                std::iter::once(Row { job: job as u32, phase, task: None, node: None, times })
                    .chain(parts)
            });
        Jobs { scenario, rows: rows.collect() }
    }
}

impl Source for Jobs<'_> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let rows = || self.rows[rows.clone()].iter();
        Columns::new(rows().len())
            .string("job", rows().map(|row| &self.scenario.jobs[row.job as usize].name))
            .string("phase", rows().map(|row| row.phase))
            .string(
                "task",
                rows().map(|row| row.task.map_or_else(String::new, |task| task.to_string())),
            )
            .i32_or_null("node", rows().map(|row| row.node))
            .i64_or_null("start_ns", rows().map(|row| row.times.start_ns))
            .i64_or_null("finish_ns", rows().map(|row| row.times.finish_ns))
            .i64("bytes_in", rows().map(|row| row.times.bytes_in))
            .i64("bytes_out", rows().map(|row| row.times.bytes_out))
            .string_or_null(
                "node_name",
                rows().map(|row| {
                    row.node.map(|node| &self.scenario.plan.topology.nodes[node as usize].name)
                }),
            )
            .batch()
            .map_err(arrow("jobs"))
    }
}
