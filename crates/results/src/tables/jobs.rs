//! `jobs`: one row per coflow or incast query: phase `coflow`, no task, no node. `bytes_in` is the payload that arrived,
//! `bytes_out` what its flows were to send.

use super::columns::Columns;
use super::{Source, arrow};
use crate::ResultsError;
use crate::times::{FlowTimes, int};
use afflux_net::record::Output;
use afflux_net::spec::Flow;
use afflux_scenario::Scenario;
use arrow_array::RecordBatch;
use std::ops::Range;

/// A job as a whole; nanoseconds and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobTimes {
    /// When it was submitted, or else when its first flow starts; `None` if neither has happened.
    pub start_ns: Option<i64>,
    /// When its last flow finished; `None` unless all have.
    pub finish_ns: Option<i64>,
    pub bytes_in: i64,
    pub bytes_out: i64,
}

impl JobTimes {
    /// Completion time of a finished job.
    pub fn completion_ns(&self) -> Option<i64> {
        self.finish_ns.zip(self.start_ns).map(|(finish, start)| finish - start)
    }
}

/// By job number.
pub fn job_times(scenario: &Scenario, output: &Output) -> Vec<JobTimes> {
    struct Sum {
        first: Option<i64>,
        last: Option<i64>,
        unfinished: bool,
        bytes_in: u64,
        bytes_out: u64,
    }
    let mut sums: Vec<Sum> = scenario.jobs.iter().map(|_| Sum { first: None, last: None, unfinished: false, bytes_in: 0, bytes_out: 0 }).collect();
    for (flow, record) in scenario.plan.flows.iter().zip(&output.flows) {
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
    let whole = |(job, sum): (&afflux_scenario::Job, &Sum)| JobTimes {
        start_ns: job.arrival.map(|time| int(time.round_ns())).or(sum.first),
        finish_ns: match sum.last {
            _ if sum.unfinished => None,
            // Nothing of it crosses the network: done when submitted.
            None => job.arrival.map(|time| int(time.round_ns())),
            last => last,
        },
        bytes_in: int(sum.bytes_in),
        bytes_out: int(sum.bytes_out),
    };
    scenario.jobs.iter().zip(&sums).map(whole).collect()
}

pub struct Jobs<'a> {
    pub scenario: &'a Scenario,
    pub times: Vec<JobTimes>,
}

impl Source for Jobs<'_> {
    fn rows(&self) -> usize {
        self.times.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let times = || self.times[rows.clone()].iter();
        Columns::new(rows.len())
            .string("job", self.scenario.jobs[rows.clone()].iter().map(|job| &job.name))
            .string("phase", times().map(|_| "coflow"))
            .string("task", times().map(|_| ""))
            .i32_or_null("node", times().map(|_| None))
            .i64_or_null("start_ns", times().map(|t| t.start_ns))
            .i64_or_null("finish_ns", times().map(|t| t.finish_ns))
            .i64("bytes_in", times().map(|t| t.bytes_in))
            .i64("bytes_out", times().map(|t| t.bytes_out))
            .batch()
            .map_err(arrow("jobs"))
    }
}
