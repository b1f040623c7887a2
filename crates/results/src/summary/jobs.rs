//! Completion times of jobs.

use super::groups::Named;
use crate::statistics::Distribution;
use crate::tables::{JobTimes, job_times};
use crate::times::int;
use afflux_net::record::Output;
use afflux_scenario::{JobKind, Scenario};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobSummary {
    #[serde(flatten)]
    pub all: JobStatistics,
    /// Statistics of each traffic block that has jobs.
    pub by_block: Named<JobStatistics>,
    /// Statistics of `query`, `coflow` and `job`, if the scenario has them.
    pub by_kind: Named<JobStatistics>,
    /// One entry for each job that an application runs.
    pub each: Vec<JobRow>,
}

/// Statistics of jobs that started after the warm-up. Times are those of finished jobs in ns, null
/// if there are none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobStatistics {
    pub started: u64,
    pub finished: u64,
    pub unfinished: u64,
    /// Jobs that had not started when the run ended. No statistic has them.
    pub not_started: u64,
    /// True if `unfinished > 0`: the times lack the slow jobs.
    pub censored: bool,
    pub mean_ns: Option<f64>,
    pub p50_ns: Option<f64>,
    pub p95_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub p999_ns: Option<f64>,
}

/// A job and its phases. Times are null for events that have not happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobRow {
    pub name: String,
    pub start_ns: Option<i64>,
    pub finish_ns: Option<i64>,
    pub completion_ns: Option<i64>,
    pub phases: Vec<PhaseRow>,
}

/// A phase, from the start of its first task to the end of its last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseRow {
    pub name: &'static str,
    pub start_ns: i64,
    pub finish_ns: Option<i64>,
}

fn each(scenario: &Scenario, output: &Output, times: &[JobTimes]) -> Vec<JobRow> {
    let phases = |job: usize| {
        let mut rows: Vec<PhaseRow> = output
            .tasks
            .iter()
            .filter(|task| task.job as usize == job && task.task.is_none() && task.phase != "job")
            .map(|task| PhaseRow {
                name: task.phase,
                start_ns: int(task.start.round_ns()),
                finish_ns: task.finish.map(|time| int(time.round_ns())),
            })
            .collect();
        rows.sort_by_key(|row| row.start_ns);
        rows
    };
    let jobs = scenario
        .jobs
        .iter()
        .zip(times)
        .enumerate()
        .filter(|(_, (job, _))| job.kind == JobKind::Application);
    jobs.map(|(index, (job, times))| JobRow {
        name: job.name.clone(),
        start_ns: times.start_ns,
        finish_ns: times.finish_ns,
        completion_ns: times.completion_ns(),
        phases: phases(index),
    })
    .collect()
}

pub fn of(scenario: &Scenario, output: &Output) -> Option<JobSummary> {
    if scenario.jobs.is_empty() {
        return None;
    }
    let times = job_times(scenario, output);
    let (warmup_ns, end_ns) = (int(scenario.warmup.round_ns()), int(output.end.round_ns()));
    let mut all = Times::default();
    let (mut by_block, mut by_kind) =
        (BTreeMap::<u32, Times>::new(), BTreeMap::<JobKind, Times>::new());
    for (job, times) in scenario.jobs.iter().zip(&times) {
        let start_ns = times.start_ns.filter(|start| *start <= end_ns);
        for group in
            [&mut all, by_block.entry(job.block).or_default(), by_kind.entry(job.kind).or_default()]
        {
            match start_ns {
                Some(start) if start < warmup_ns => {}
                Some(_) => group.started_ns.push(times.completion_ns()),
                None => group.not_started += 1,
            }
        }
    }
    Some(JobSummary {
        all: statistics(all),
        by_block: Named(
            by_block
                .into_iter()
                .map(|(block, times)| (scenario.blocks[block as usize].clone(), statistics(times)))
                .collect(),
        ),
        by_kind: Named(
            by_kind
                .into_iter()
                .map(|(kind, times)| (kind.word().to_string(), statistics(times)))
                .collect(),
        ),
        each: each(scenario, output, &times),
    })
}

/// The jobs of one group.
#[derive(Default)]
struct Times {
    /// Completion times in ns of jobs that started after the warm-up, `None` for unfinished ones.
    started_ns: Vec<Option<i64>>,
    not_started: u64,
}

fn statistics(jobs: Times) -> JobStatistics {
    let started = jobs.started_ns.len() as u64;
    let completions: Vec<f64> = jobs.started_ns.into_iter().flatten().map(|ns| ns as f64).collect();
    let finished = completions.len() as u64;
    let d = Distribution::of(completions);
    let quantile = |q| d.as_ref().map(|d| d.quantile(q));
    JobStatistics {
        started,
        finished,
        unfinished: started - finished,
        not_started: jobs.not_started,
        censored: finished < started,
        mean_ns: d.as_ref().map(Distribution::mean),
        p50_ns: quantile(0.5),
        p95_ns: quantile(0.95),
        p99_ns: quantile(0.99),
        p999_ns: quantile(0.999),
    }
}
