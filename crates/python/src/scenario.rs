//! Validated scenarios, and running them.

use crate::congestion;
use crate::errors::{Failure, from_scenario};
use crate::exchange;
use crate::interrupt::{received, run_interruptible, spawned};
use crate::progress::Progress;
use crate::result;
use crate::table::Table;
use afflux_net::Unknowns;
use afflux_net::memory::Memory;
use afflux_net::spec::{Link, NodeKind, Plan};
use afflux_results::{ParquetFlowLists, ProcessStart, Replace};
use afflux_scenario::{Links, Overrides, Tier};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A validated scenario, ready to run.
#[pyclass(frozen, module = "afflux._core")]
pub struct Scenario {
    pub inner: Arc<afflux_scenario::Scenario>,
}

/// What a run will come to.
#[pyclass(frozen, get_all, module = "afflux._core")]
pub struct Expected {
    payload_bytes: u64,
    packet_hops: u64,
    least_hops: u64,
    most_hops: u64,
    flows: u64,
    /// When it ends, and whether flows are then under way.
    end_ns: u64,
    cut: bool,
    /// Why packet-hops are not known more closely, and at which nodes.
    doubt: Option<(String, Vec<String>)>,
    complete: bool,
    /// Part of the payload that was followed flow by flow; the rest is counted by its size.
    followed: f64,
    /// How many times longer flows that a link limits take than at the rate of their NIC.
    crowding: f64,
    memory_bytes: u64,
    /// Rows that `[record]` asks for, all tables together.
    records: u64,
}

/// A key that is valid and yet has no effect, or not the one that its name says; `str` gives the whole line.
#[pyclass(frozen, eq, module = "afflux._core")]
#[derive(PartialEq)]
pub struct Warning(afflux_scenario::Warning);

#[pymethods]
impl Warning {
    #[getter]
    fn file(&self) -> &Path {
        &self.0.file
    }

    #[getter]
    fn line(&self) -> Option<usize> {
        self.0.line
    }

    #[getter]
    fn key(&self) -> &str {
        &self.0.key
    }

    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    fn __str__(&self) -> &str {
        &self.0.message
    }

    fn __repr__(&self) -> String {
        format!("<Warning {:?}>", self.0.message)
    }
}

/// Reads and validates a scenario file. With `most_flows` a random process is drawn up to about so many flows: such a scenario is for estimates.
#[pyfunction]
#[pyo3(signature = (path, *, set=Vec::new(), seed=None, threads=None, most_flows=None))]
pub fn load(py: Python<'_>, path: PathBuf, set: Vec<(String, String)>, seed: Option<u64>, threads: Option<u32>, most_flows: Option<u64>) -> PyResult<Scenario> {
    let overrides = Overrides { set, seed, threads, store: None, most_flows };
    validate(py, move || afflux_scenario::load(&path, &overrides, &ParquetFlowLists))
}

/// Validates scenario text as if it stood in `path` (inputs are relative to it, or in the directory `store` under their SHA-256).
#[pyfunction]
#[pyo3(signature = (text, path, *, set=Vec::new(), seed=None, threads=None, store=None))]
pub fn parse(
    py: Python<'_>,
    text: String,
    path: PathBuf,
    set: Vec<(String, String)>,
    seed: Option<u64>,
    threads: Option<u32>,
    store: Option<PathBuf>,
) -> PyResult<Scenario> {
    let overrides = Overrides { set, seed, threads, store, most_flows: None };
    validate(py, move || afflux_scenario::parse(&text, &path, &overrides, &ParquetFlowLists))
}

fn validate(
    py: Python<'_>,
    load: impl FnOnce() -> std::result::Result<afflux_scenario::Scenario, afflux_scenario::ScenarioError> + Send + 'static,
) -> PyResult<Scenario> {
    let scenario = run_interruptible(py, load)?.map_err(|error| from_scenario(py, error))?;
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

    /// The resolved scenario as TOML: what was written, and all defaults as comments.
    #[getter]
    fn resolved(&self) -> &str {
        &self.inner.resolved
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes.clone()
    }

    /// What is valid and yet does not do what it seems to say.
    #[getter]
    fn warnings(&self) -> Vec<Warning> {
        self.inner.warnings.iter().cloned().map(Warning).collect()
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

    /// Name, `"host"` or `"switch"`, height above the hosts, and rack or pod of every node.
    #[getter]
    fn nodes(&self) -> Vec<(&str, &'static str, u8, Option<u32>)> {
        let kind = |kind| if kind == NodeKind::Host { "host" } else { "switch" };
        self.inner.plan.topology.nodes.iter().map(|node| (node.name.as_str(), kind(node.kind), node.tier, node.group)).collect()
    }

    /// The keys of `[switch]` that hold for a switch of this name, overrides and every default included, as TOML. `None`: there is no such switch.
    fn switch_settings(&self, name: &str) -> Option<&str> {
        let mut switches = self.inner.plan.topology.nodes.iter().filter(|node| node.kind == NodeKind::Switch);
        switches.find(|node| node.name == name).and_then(|node| self.inner.switch_settings.get(node.config as usize)).map(String::as_str)
    }

    /// Is a congestion control written in Python, as `[host.python]` says?
    #[getter]
    fn has_own_congestion(&self) -> bool {
        self.inner.own_congestion.is_some()
    }

    /// The priority of each DSCP, as `[host] dscp_to_priority` says.
    #[getter]
    fn priority_of_dscp(&self) -> Vec<u8> {
        self.inner.packets.priority_of_dscp.to_vec()
    }

    /// Addresses that the scenario gives to hosts, and their numbers.
    #[getter]
    fn addresses(&self) -> Vec<(String, u32)> {
        self.inner.plan.topology.addresses.iter().map(|(address, host)| (address.to_string(), *host)).collect()
    }

    /// The fabric tier by tier, from the top down: height, name, count, hosts of each rack, links to the tier below and within (count, rates in
    /// bits per second, delays in nanoseconds), least and most oversubscription, and named hosts of each rack.
    #[allow(clippy::type_complexity)]
    fn tiers(
        &self,
    ) -> Vec<(u8, String, usize, Vec<usize>, (usize, Vec<u64>, Vec<f64>), (usize, Vec<u64>, Vec<f64>), Option<(f64, f64)>, Vec<(String, Vec<String>)>)> {
        let links = |links: Links| (links.count, links.rates.into_iter().collect(), links.delays.into_iter().map(|ps| ps as f64 / 1e3).collect());
        let tier = |tier: Tier| (tier.height, tier.name, tier.count, tier.racks, links(tier.down), links(tier.within), tier.oversubscription, tier.named);
        afflux_scenario::tiers(&self.inner.plan.topology).into_iter().map(tier).collect()
    }

    /// Both ends of every link as indices of `nodes`, its rate in bits per second and its delay in nanoseconds.
    #[getter]
    fn edges(&self) -> Vec<(u32, u32, u64, f64)> {
        self.inner.plan.topology.links.iter().map(|link| (link.a, link.b, link.rate.0, link.delay.0 as f64 / 1e3)).collect()
    }

    /// Headroom of every port of a switch with flow control: both ends as indices of `nodes`, what it has, what SONiC's formula gives, and the least
    /// with which nothing is ever lost, in bytes.
    #[getter]
    fn headrooms(&self) -> Vec<(u32, u32, u64, u64, u64)> {
        afflux_net::headrooms(&self.inner.plan).into_iter().map(|port| (port.node, port.peer, port.bytes(), port.sonic(), port.worst_case())).collect()
    }

    /// What a run will come to.
    fn expected(&self, py: Python<'_>) -> PyResult<Expected> {
        let (plan, scenario) = (&self.inner.plan, self.inner.clone());
        let found = run_interruptible(py, move || afflux_net::expected(&scenario.plan).map(|found| (Memory::of(&scenario.plan, &found), found)))?;
        let (memory, found) = found.map_err(|error| Failure::Run(error).into_py(py))?;
        let name = |node: u32| plan.topology.nodes[node as usize].name.clone();
        let doubt = found.unknowns.map(|doubt| match doubt {
            Unknowns::Losses { from, to } => ("losses", vec![name(from), name(to)]),
            Unknowns::Overtaking => ("overtaking", Vec::new()),
            Unknowns::Queues => ("queues", Vec::new()),
            Unknowns::Copies => ("copies", Vec::new()),
            Unknowns::Rates => ("rates", Vec::new()),
        });
        Ok(Expected {
            payload_bytes: found.bytes,
            packet_hops: found.packet_hops,
            least_hops: found.least_hops,
            most_hops: found.most_hops,
            flows: found.flows,
            end_ns: (found.end * 1e9).round() as u64,
            cut: found.cut,
            doubt: doubt.map(|(name, nodes)| (name.into(), nodes)),
            complete: found.complete,
            followed: found.followed,
            crowding: found.crowding,
            memory_bytes: memory.bytes,
            records: memory.rows,
        })
    }

    /// Are there switches with flow control?
    #[getter]
    fn has_flow_control(&self) -> bool {
        self.inner.plan.switches.iter().any(|switch| switch.pfc.is_some())
    }

    /// Of every link the share of frames that it loses, how often it is down, and whether its directions differ.
    fn link_faults(&self) -> Vec<(f64, usize, bool)> {
        let differs = |link: &Link| link.rate_of(true) != link.rate || link.loss_of(true) != link.loss;
        self.inner.plan.topology.links.iter().map(|link| (link.loss.get(), link.down.len(), differs(link))).collect()
    }

    /// The flows that are known beforehand (`id,start_ns,src,dst,bytes,class,deadline_ns`), and how many start only when others end. Applications'
    /// are in neither.
    fn flow_list(&self) -> PyResult<(Table, usize)> {
        exchange::planned(&self.inner)
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {:?} seed {}>", self.inner.name, self.seed())
    }

    /// Simulates on a thread of its own, with the GIL released, and writes the result directory `out` if one is given.
    /// `on_progress` is called about every `interval` seconds; an exception in it, or Ctrl-C, stops the run and leaves
    /// nothing behind. `force` replaces a result whose files are as afflux wrote them, `repair` a damaged one too. `whole_process` counts the time since the process began. `congestion` makes the congestion control of each TCP connection,
    /// `paced` says that it has a rate; then no directory is written. `[host.python]` of the scenario is the same, with a directory.
    #[pyo3(signature = (out=None, *, force=false, repair=false, on_progress=None, interval=0.1, whole_process=false, congestion=None, paced=false))]
    #[allow(clippy::too_many_arguments)]
    fn run(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        force: bool,
        repair: bool,
        on_progress: Option<Py<PyAny>>,
        interval: f64,
        whole_process: bool,
        congestion: Option<Py<PyAny>>,
        paced: bool,
    ) -> PyResult<result::Result> {
        if !self.inner.plan.undrawn.is_empty() {
            return Err(PyValueError::new_err("this scenario was loaded with `most_flows`, for an estimate: load it again to run it"));
        }
        let started = if whole_process { ProcessStart::of_process() } else { ProcessStart::now() };
        let progress = Arc::new(afflux_net::Progress::default());
        let watched = Py::new(py, Progress { shared: progress.clone(), scenario: self.inner.clone() })?;
        let mut plan = None;
        let mut raised = None;
        if congestion.is_some() && out.is_some() {
            let text =
                "a run with `congestion` writes no result directory, because its scenario does not name the class: write file and class in [host.python]";
            return Err(PyValueError::new_err(text));
        }
        let named = congestion.is_none() && self.inner.own_congestion.is_some();
        let made = match (congestion, &self.inner.own_congestion) {
            (Some(make), _) => Some((make, paced)),
            (None, Some(own)) => Some(congestion::named(py, own)?),
            (None, None) => None,
        };
        if let Some((make, paced)) = made {
            let with = congestion::with(&self.inner.plan, make, named, paced, &progress);
            let (changed, errors) = with.ok_or_else(|| {
                PyValueError::new_err("a congestion control in Python needs TCP, or Multipath TCP without coupling: this scenario has neither")
            })?;
            (plan, raised) = (Some(changed), Some(errors));
        }
        let interval = Duration::try_from_secs_f64(interval).unwrap_or_default();
        let replace = if repair { Replace::Damaged } else { Replace::forced(force) };
        let scenario = self.inner.clone();
        let calls = raised.is_some();
        let mut receive = spawned(move || {
            let run = move || simulate(scenario, plan, out.as_deref(), replace, started, &progress);
            // A thread that Python knows keeps its state from call to call of a class; else each call would make one and throw it away.
            if calls { Python::attach(|py| py.detach(run)) } else { run() }
        })?;
        let mut shown = Instant::now();
        let mut interrupted = None;
        loop {
            if let Some(answer) = received(py, &mut receive) {
                let own = self.inner.own_congestion.as_ref().filter(|_| named);
                let raised = raised.and_then(|raised| raised.take()).map(|error| match own {
                    Some(own) => congestion::located(py, own, error),
                    None => error,
                });
                let error = interrupted.or(raised);
                return error.map_or_else(|| answer.map_err(|failure| failure.into_py(py)), Err);
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
    plan: Option<Plan>,
    out: Option<&Path>,
    replace: Replace,
    started: ProcessStart,
    progress: &afflux_net::Progress,
) -> std::result::Result<result::Result, Failure> {
    let claim = out.map(|dir| afflux_results::claim(dir, replace)).transpose().map_err(Failure::Results)?;
    let dir = claim.as_ref().map(afflux_results::Claim::dir);
    let output = afflux_net::run(plan.as_ref().unwrap_or(&scenario.plan), progress).map_err(Failure::Run)?;
    let summary = match claim {
        Some(claim) => afflux_results::write(claim, &scenario, &output, started, progress).map_err(Failure::Results)?,
        None => afflux_results::summary(&scenario, &output, &started),
    };
    Ok(result::Result { scenario, output, dir, summary: summary.to_json() })
}
