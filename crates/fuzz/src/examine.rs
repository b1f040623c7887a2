//! Invariants of any scenario: it is refused with a message, or it gives the same results on every
//! engine and passes its own checks.

use crate::coverage;
use afflux_net::checks::failed_checks;
use afflux_net::record::{CaptureRecord, Ended, Output, Status};
use afflux_net::spec::{Down, EngineKind, MaxMemory};
use afflux_net::{Progress, RunError};
use afflux_results::{Kind, ParquetFlowLists, ProcessStart, RecordBatch, Tables};
use afflux_scenario::{Overrides, Scenario, ScenarioError};
use afflux_units::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

/// Result of examining a scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Verdict {
    /// The scenario is invalid, for this reason.
    Refused(String),
    /// The scenario exceeds the expected packet-hops or a run exceeds the time limit. The text
    /// names the limit.
    TooLarge(String),
    Sound(Figures),
    Broken(Broken),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Packet-hops of one run of the scenario, and of all its runs together.
    pub hops: u64,
    pub run_hops: u64,
    pub runs: u64,
    /// Runs that were stopped because they took too long. Their results are not compared.
    pub stopped: u64,
    /// Wall time of each run in seconds.
    pub seconds: BTreeMap<String, f64>,
    /// Coverage words: the scenario's features and the events of its run.
    pub seen: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    /// Kind of the defect. Shrinking keeps it.
    pub what: String,
    pub detail: String,
}

/// Limits of an examination.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Longest wall time of a run.
    pub wall: Duration,
    /// Most packet-hops that a scenario is expected to have.
    pub hops: u64,
    /// Numbers of threads for runs of the window engine. Up to `thorough` expected packet-hops all
    /// of them are tried, above it only the first and one other. Reason: threads that outnumber the
    /// processors take most of the time, and more scenarios find more defects than more runs of one
    /// scenario.
    pub threads: Vec<u32>,
    pub thorough: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            wall: Duration::from_secs(60),
            hops: 12_000_000,
            threads: vec![1, 2, 3, 7],
            thorough: 20_000,
        }
    }
}

/// Runs that end later (2^58 ps, 3.3 days) count as cut off. The engine stops in the seventh day
/// (2^59 ps), because a sender without a limit on retries never gives up.
const LATEST: Time = Time(1 << 58);

/// Keys of the summary that describe the cost of the run and not its result.
const COSTS: [&str; 7] =
    ["threads", "wall_s", "cpu_s", "engine_cpu_s", "engine_wall_s", "peak_rss_bytes", "events"];

/// Message of the latest panic, with its source location.
static PANIC: Mutex<String> = Mutex::new(String::new());
static HOOK: Once = Once::new();

fn broken(what: impl Into<String>, detail: impl Into<String>) -> Verdict {
    Verdict::Broken(Broken { what: what.into(), detail: detail.into() })
}

/// Calls `work`. Turns a panic into an error with its message.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let message =
                info.payload().downcast_ref::<String>().cloned().or_else(|| {
                    info.payload().downcast_ref::<&str>().map(|text| (*text).to_string())
                });
            let place = info
                .location()
                .map(|place| format!("{}:{}", place.file(), place.line()))
                .unwrap_or_default();
            *PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) =
                format!("{place}: {}", message.unwrap_or_default());
        }));
    });
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| PANIC.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone())
}

/// Returns the source location of a panic, which distinguishes defects.
fn place(panic: &str) -> String {
    panic.split(": ").next().unwrap_or_default().to_string()
}

/// Returns the value of guarded work. A panic `when` is a defect, and `fails` says what an error is.
fn caught<T, E>(
    result: Result<Result<T, E>, String>,
    when: &str,
    fails: impl FnOnce(E) -> Verdict,
) -> Result<T, Verdict> {
    match result {
        Err(panic) => Err(broken(format!("panic {when}, {}", place(&panic)), panic)),
        Ok(result) => result.map_err(fails),
    }
}

fn load(text: &str, path: &Path) -> Result<Result<Scenario, ScenarioError>, String> {
    guarded(|| {
        let mut scenario =
            afflux_scenario::parse(text, path, &Overrides::default(), &ParquetFlowLists)?;
        // The free memory of the machine varies from run to run.
        scenario.plan.run.max_memory = None;
        Ok(scenario)
    })
}

/// Examines the scenario `text`. Its file names are relative to `path`.
pub fn examine(text: &str, path: &Path, limits: &Limits) -> Verdict {
    let figures = loaded(text, path).and_then(|[scenario, again]| runs(&scenario, &again, limits));
    figures.map_or_else(|verdict| verdict, Verdict::Sound)
}

/// Returns the scenario, and the one that its resolved text says, which must be equal.
fn loaded(text: &str, path: &Path) -> Result<[Scenario; 2], Verdict> {
    let scenario =
        caught(load(text, path), "while checking", |refused| Verdict::Refused(refused.message))?;
    let again = load(&scenario.resolved, path);
    let again = caught(again, "while checking the resolved scenario", |refused| {
        broken("resolved scenario refused", refused.message)
    })?;
    if again.hash != scenario.hash || again.resolved != scenario.resolved {
        return Err(broken(
            "resolved scenario differs",
            first_difference(&scenario.resolved, &again.resolved),
        ));
    }
    let [ours, theirs] = [&scenario, &again].map(|scenario| format!("{:#?}", scenario.plan));
    if ours != theirs {
        return Err(broken(
            "plan of the resolved scenario differs",
            first_difference(&ours, &theirs),
        ));
    }
    Ok([scenario, again])
}

/// Runs the scenario on every engine and compares the results.
fn runs(scenario: &Scenario, again: &Scenario, limits: &Limits) -> Result<Figures, Verdict> {
    let expected =
        caught(guarded(|| afflux_net::expected(&scenario.plan)), "while estimating", |error| {
            broken("the estimate fails", error.to_string())
        })?;
    if expected.packet_hops > limits.hops {
        return Err(Verdict::TooLarge(format!("{} packet-hops expected", expected.packet_hops)));
    }
    let mut threads = limits.threads.clone();
    if expected.packet_hops > limits.thorough && threads.len() > 2 {
        let other = threads[1 + scenario.plan.run.seed as usize % (threads.len() - 1)];
        threads = vec![threads[0], other];
    }
    let engines = std::iter::once((EngineKind::Classical, 1))
        .chain(threads.iter().map(|threads| (EngineKind::WindowLog, *threads)));
    let mut figures = Figures::default();
    let mut reference: Option<Shown> = None;
    for (engine, count) in engines {
        let name = if engine == EngineKind::Classical {
            "classical engine".to_string()
        } else {
            format!("window engine, {count} threads")
        };
        // The last run uses the resolved scenario, as it is written into the result directory.
        let is_last = (engine, Some(&count)) == (EngineKind::WindowLog, threads.last());
        let which = if is_last { again } else { scenario };
        let began = Instant::now();
        let output =
            caught(run(which, engine, count, limits), &format!("in the {name}"), |error| {
                broken(format!("{name} fails"), error)
            })?;
        figures.seconds.insert(name.clone(), began.elapsed().as_secs_f64());
        let Some(output) = output else {
            if reference.is_none() {
                return Err(Verdict::TooLarge(format!("{name} was stopped")));
            }
            figures.stopped += 1;
            continue;
        };
        figures.runs += 1;
        figures.run_hops += output.counters.packet_hops;
        let shown = caught(guarded(|| Shown::of(which, &output)), "while writing", |error| {
            broken("writing fails", error)
        })?;
        let Some(first) = &reference else {
            if let Some(found) = invariants(scenario, &output) {
                return Err(Verdict::Broken(found));
            }
            figures.hops = output.counters.packet_hops;
            figures.seen = coverage::of(scenario, &output);
            reference = Some(shown);
            continue;
        };
        if let Some((what, detail)) = first.difference(&shown) {
            return Err(broken(format!("{what} of the {name} differs"), detail));
        }
    }
    Ok(figures)
}

/// Runs the scenario on `engine`. Returns `None` if the run is stopped because it takes too long.
fn run(
    scenario: &Scenario,
    engine: EngineKind,
    threads: u32,
    limits: &Limits,
) -> Result<Result<Option<Output>, String>, String> {
    let mut plan = scenario.plan.clone();
    (plan.run.engine, plan.run.threads) = (engine, threads);
    // Bounds the memory of runs that take samples during days of simulated waiting.
    plan.run.max_memory =
        Some(MaxMemory { bytes: 4_000_000_000, by: None, records: 1_000_000_000 });
    let progress = Progress::default();
    std::thread::scope(|scope| {
        let (send, receive) = channel::<()>();
        let watched = &progress;
        let began = Instant::now();
        scope.spawn(move || {
            while receive.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout)
            {
                if began.elapsed() > limits.wall || watched.packet_hops() > 2 * limits.hops {
                    watched.cancel();
                }
            }
        });
        let output = guarded(|| match afflux_net::run(&plan, &progress) {
            // The run reached its limit of records or of process memory, so there is nothing to
            // compare.
            Ok(output) if matches!(output.ended, Ended::Records | Ended::Process) => Ok(None),
            Ok(output) => Ok(Some(output)),
            Err(RunError::Cancelled) => Ok(None),
            Err(error) => Err(error.to_string()),
        });
        drop(send);
        output
    })
}

/// All results of a run that a user can see.
struct Shown {
    summary: BTreeMap<String, serde_json::Value>,
    tables: Vec<(Kind, Vec<RecordBatch>)>,
    captures: Vec<Vec<CaptureRecord>>,
}

impl Shown {
    fn of(scenario: &Scenario, output: &Output) -> Result<Shown, String> {
        let summary = afflux_results::summary(scenario, output, &ProcessStart::now()).to_json();
        let mut summary: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&summary).map_err(|error| format!("summary.json: {error}"))?;
        COSTS.iter().for_each(|key| {
            summary.remove(*key);
        });
        let tables = Tables::new(scenario, output);
        let tables = tables
            .recorded()
            .into_iter()
            .map(|kind| Ok((kind, tables.get(kind).map_err(|error| error.to_string())?.batches)));
        Ok(Shown {
            summary,
            tables: tables.collect::<Result<_, String>>()?,
            captures: output.captures.clone(),
        })
    }

    /// Returns the first difference between two runs: where it is, and its text.
    fn difference(&self, other: &Shown) -> Option<(String, String)> {
        // Captures come first, because the earliest differing frame tells most about the cause.
        // Tables come second.
        if let Some(detail) = earliest(&self.captures, &other.captures) {
            return Some(("capture".into(), detail));
        }
        for ((kind, ours), (_, theirs)) in self.tables.iter().zip(&other.tables) {
            if ours != theirs {
                let print = |batches: &[RecordBatch]| format!("{batches:#?}");
                return Some((
                    format!("table {}", kind.name()),
                    first_difference(&print(ours), &print(theirs)),
                ));
            }
        }
        let differs =
            |(key, value): &(&String, &serde_json::Value)| other.summary.get(*key) != Some(*value);
        self.summary.iter().find(differs).map(|(key, value)| {
            (format!("summary key {key}"), format!("{value}\n{:?}", other.summary.get(key)))
        })
    }
}

/// Returns the earliest differing frame of all captures.
fn earliest(ours: &[Vec<CaptureRecord>], theirs: &[Vec<CaptureRecord>]) -> Option<String> {
    let differing = ours.iter().zip(theirs).enumerate().filter_map(|(number, (a, b))| {
        let at = (0..a.len().max(b.len())).find(|at| a.get(*at) != b.get(*at))?;
        let time = [a.get(at), b.get(at)].into_iter().flatten().map(|record| record.time).min()?;
        Some((
            time,
            format!("capture {number}, frame {at}:\n{:?}\n-- and --\n{:?}", a.get(at), b.get(at)),
        ))
    });
    differing.min_by_key(|(time, _)| *time).map(|(_, text)| text)
}

/// Returns the first differing line with the lines around it.
fn first_difference(ours: &str, theirs: &str) -> String {
    let at = ours
        .lines()
        .zip(theirs.lines())
        .position(|(a, b)| a != b)
        .unwrap_or(ours.lines().count().min(theirs.lines().count()));
    let around =
        |text: &str| text.lines().skip(at.saturating_sub(2)).take(6).collect::<Vec<_>>().join("\n");
    format!("line {}:\n{}\n-- and --\n{}", at + 1, around(ours), around(theirs))
}

/// Checks the invariants of a single run.
fn invariants(scenario: &Scenario, output: &Output) -> Option<Broken> {
    let plan = &scenario.plan;
    let found = |what: &str, detail: String| Some(Broken { what: what.into(), detail });
    if let Some(failed) = failed_checks(plan, output).first() {
        let flow = failed.flow.map_or("whole run".into(), |flow| {
            format!("flow {} {:?}", output.flow(plan, flow).id, output.flows[flow as usize])
        });
        return found(&format!("check {}", failed.check), format!("{flow}: {}", failed.detail));
    }
    for (flow, record) in output.all_flows(plan) {
        if let (Some(start), Some(finish)) = (record.start, record.finish)
            && finish < start
        {
            return found("a flow ends before it starts", format!("flow {}: {record:?}", flow.id));
        }
    }
    // Skip runs that ended at a time limit or with their jobs: frames may still be in flight.
    if output.end >= plan.run.until.unwrap_or(LATEST) || plan.run.until_done {
        return None;
    }
    // Frames are in flight as well in a run that ended because nothing moved.
    if output.ended == Ended::Stalled {
        return None;
    }
    let c = &output.counters;
    if (c.in_flight_packets, c.in_flight_bytes) != (0, 0) {
        return found(
            "frames left when nothing is left to happen",
            format!("{} frames, {} B", c.in_flight_packets, c.in_flight_bytes),
        );
    }
    // Flows with a reliable transport must have completed, unless a link stays down for ever.
    let forever = |down: &Down| down.to.is_none();
    if plan.topology.links.iter().any(|link| link.down.iter().any(forever)) {
        return None;
    }
    for (flow, record) in output.all_flows(plan) {
        let transport = &plan.transports[flow.transport as usize];
        if transport.parameters().repairs()
            && record.start.is_some()
            && record.status == Status::Running
        {
            return found(
                "a flow waits for ever",
                format!("flow {} of {}: {record:?}", flow.id, transport.name()),
            );
        }
    }
    None
}
