//! Validated scenarios, and running them.

use crate::errors::{Failure, from_scenario};
use crate::progress::Progress;
use crate::result;
use afflux_net::spec::NodeKind;
use afflux_results::{ParquetFlowLists, ProcessStart};
use afflux_scenario::Overrides;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often a run looks for signals.
pub const POLL: Duration = Duration::from_millis(50);

/// A validated scenario, ready to run.
#[pyclass(frozen, module = "afflux._core")]
pub struct Scenario {
    pub inner: Arc<afflux_scenario::Scenario>,
}

/// Reads and validates a scenario file.
#[pyfunction]
#[pyo3(signature = (path, *, set=Vec::new(), seed=None, threads=None))]
pub fn load(py: Python<'_>, path: PathBuf, set: Vec<(String, String)>, seed: Option<u64>, threads: Option<u32>) -> PyResult<Scenario> {
    let overrides = Overrides { set, seed, threads };
    validate(py, || afflux_scenario::load(&path, &overrides, &ParquetFlowLists))
}

/// Validates scenario text as if it stood in `path` (inputs are relative to it).
#[pyfunction]
#[pyo3(signature = (text, path, *, set=Vec::new(), seed=None, threads=None))]
pub fn parse(py: Python<'_>, text: &str, path: PathBuf, set: Vec<(String, String)>, seed: Option<u64>, threads: Option<u32>) -> PyResult<Scenario> {
    let overrides = Overrides { set, seed, threads };
    validate(py, || afflux_scenario::parse(text, &path, &overrides, &ParquetFlowLists))
}

fn validate(
    py: Python<'_>,
    load: impl FnOnce() -> std::result::Result<afflux_scenario::Scenario, afflux_scenario::ScenarioError> + Send,
) -> PyResult<Scenario> {
    let scenario = py.detach(load).map_err(|error| from_scenario(py, error))?;
    py.check_signals()?;
    Ok(Scenario { inner: Arc::new(scenario) })
}

#[pymethods]
impl Scenario {
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// SHA-256 of all that determines the result.
    #[getter]
    fn hash(&self) -> &str {
        &self.inner.hash
    }

    /// The fully resolved scenario as TOML.
    #[getter]
    fn resolved(&self) -> &str {
        &self.inner.resolved
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes.clone()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.inner.plan.run.seed
    }

    #[getter]
    fn threads(&self) -> u32 {
        self.inner.plan.run.threads
    }

    /// When the simulation stops; `None`: when nothing is left to happen.
    #[getter]
    fn until_ns(&self) -> Option<u64> {
        self.inner.plan.run.until.map(|time| time.round_ns())
    }

    #[getter]
    fn flows(&self) -> usize {
        let plan = &self.inner.plan;
        let expected: u64 = plan.applications.iter().flat_map(|a| &a.programs).map(|program| program.expected_flows()).sum();
        plan.flows.len() + expected as usize
    }

    #[getter]
    fn hosts(&self) -> u32 {
        self.inner.plan.topology.hosts
    }

    #[getter]
    fn switches(&self) -> usize {
        self.inner.plan.topology.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count()
    }

    #[getter]
    fn links(&self) -> usize {
        self.inner.plan.topology.links.len()
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {:?} seed {}>", self.inner.name, self.seed())
    }

    /// Simulates on a thread of its own, with the GIL released, and writes the result directory `out` if one is given.
    /// `on_progress` is called about every `interval` seconds; an exception in it, or Ctrl-C, stops the run and leaves
    /// nothing behind. `whole_process` counts the time since the process began.
    #[pyo3(signature = (out=None, *, force=false, on_progress=None, interval=0.1, whole_process=false))]
    fn run(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        force: bool,
        on_progress: Option<Py<PyAny>>,
        interval: f64,
        whole_process: bool,
    ) -> PyResult<result::Result> {
        let started = if whole_process { ProcessStart::of_process() } else { ProcessStart::now() };
        let progress = Arc::new(afflux_net::Progress::default());
        let watched = Py::new(py, Progress { shared: progress.clone() })?;
        let interval = Duration::try_from_secs_f64(interval).unwrap_or_default();
        let (send, mut receive) = channel();
        let scenario = self.inner.clone();
        thread::Builder::new().name("afflux".into()).spawn(move || {
            // The receiver waits for the answer whatever happens.
            let _ = send.send(guarded(|| simulate(scenario, out.as_deref(), force, started, &progress)));
        })?;
        let mut shown = Instant::now();
        let mut interrupted = None;
        loop {
            let receive = &mut receive;
            match py.detach(move || receive.recv_timeout(POLL)) {
                Ok(answer) => return interrupted.map_or_else(|| answer.map_err(|failure| failure.into_py(py)), Err),
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::Panic("the simulation thread is gone".into()).into_py(py)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if interrupted.is_none() {
                interrupted = py.check_signals().err();
            }
            if let Some(callback) = on_progress.as_ref().filter(|_| interrupted.is_none() && shown.elapsed() >= interval) {
                interrupted = callback.call1(py, (&watched,)).err();
                shown = Instant::now();
            }
            if interrupted.is_some() {
                watched.get().shared.cancel();
            }
        }
    }
}

fn simulate(
    scenario: Arc<afflux_scenario::Scenario>,
    out: Option<&Path>,
    force: bool,
    started: ProcessStart,
    progress: &afflux_net::Progress,
) -> std::result::Result<result::Result, Failure> {
    let claim = out.map(|dir| afflux_results::claim(dir, force)).transpose().map_err(Failure::Results)?;
    let dir = claim.as_ref().map(|claim| claim.dir().to_path_buf());
    let output = afflux_net::run(&scenario.plan, progress).map_err(Failure::Run)?;
    if output.cancelled {
        return Err(Failure::Results(afflux_results::ResultsError::Cancelled));
    }
    let summary = match claim {
        Some(claim) => afflux_results::write(claim, &scenario, &output, started, progress).map_err(Failure::Results)?,
        None => afflux_results::summary(&scenario, &output, &started),
    };
    Ok(result::Result { scenario, output, dir, summary: summary.to_json() })
}

/// A panic is a defect of ours; it must not take the interpreter with it.
pub fn guarded<T>(work: impl FnOnce() -> std::result::Result<T, Failure>) -> std::result::Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Failure::Panic(message.unwrap_or("panic").into()))
    })
}
