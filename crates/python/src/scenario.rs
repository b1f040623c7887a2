//! Validated scenarios, and functions to run them.

use crate::congestion;
use crate::errors::{Failure, from_scenario};
use crate::exchange;
use crate::interrupt::{received, run_interruptible, spawned};
use crate::progress::Progress;
use crate::result;
use crate::table::Table;
use afflux_net::Unknowns;
use afflux_net::memory::Memory;
use afflux_net::record::Output;
use afflux_net::spec::{Link, NodeKind, Plan};
use afflux_results::{ParquetFlowLists, ProcessStart, Replace};
use afflux_scenario::{JobKind, Key, Links, Overrides, Tier};
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

/// Estimate of a run, made without running it.
#[pyclass(frozen, get_all, module = "afflux._core")]
pub struct Expected {
    payload_bytes: u64,
    packet_hops: u64,
    least_hops: u64,
    most_hops: u64,
    flows: u64,
    /// End of the run in ns, and whether flows are still in progress then.
    end_ns: u64,
    cut: bool,
    /// Reason why the number of packet-hops is uncertain, and the nodes concerned.
    doubt: Option<(String, Vec<String>)>,
    complete: bool,
    /// Share of the payload whose flows were followed individually. The rest is estimated from its
    /// size.
    followed: f64,
    /// Factor by which flows limited by a link take longer than at the rate of their NIC.
    crowding: f64,
    memory_bytes: u64,
    /// Number of rows that `[record]` requests, in all tables together.
    records: u64,
}

/// Warning about a valid key without effect, or with another effect than its name suggests. `str`
/// returns the whole line.
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

/// Reads and validates a scenario file. `most_flows` limits random traffic to about this many
/// flows. Such a scenario is for estimates only.
#[pyfunction]
#[pyo3(signature = (path, *, set=Vec::new(), seed=None, threads=None, most_flows=None))]
pub fn load(
    py: Python<'_>,
    path: PathBuf,
    set: Vec<(String, String)>,
    seed: Option<u64>,
    threads: Option<u32>,
    most_flows: Option<u64>,
) -> PyResult<Scenario> {
    let overrides = Overrides { set, seed, threads, store: None, most_flows };
    validate(py, move || afflux_scenario::load(&path, &overrides, &ParquetFlowLists))
}

/// Validates scenario text as if it were read from `path`. Input files are relative to `path`, or
/// are in the directory `store` under their SHA-256.
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

/// A name or a number that leads to an item of a TOML file.
#[derive(FromPyObject)]
pub enum Step {
    Index(usize),
    Name(String),
}

/// Returns the line of an item of a TOML file, from 1; `None` if the file lacks the item.
#[pyfunction]
pub fn line_of(text: &str, path: Vec<Step>) -> Option<usize> {
    let key = path.into_iter().fold(Key::default(), |key, step| match step {
        Step::Index(index) => key.index(index),
        Step::Name(name) => key.name(&name),
    });
    afflux_scenario::line_of(text, &key)
}

/// A block of traffic of a scenario, as far as the scenario describes it.
#[pyclass(frozen, get_all, module = "afflux._core")]
pub struct Block {
    /// Name in the names of its jobs.
    name: String,
    /// Kind of its jobs in results; `None`: it has only flows.
    jobs: Option<&'static str>,
    /// Classes of its flows; empty if a list of flows may have some of its own.
    classes: Vec<String>,
}

/// Reads the blocks of traffic of a scenario, of which other parts may be wrong.
#[pyfunction]
pub fn blocks(py: Python<'_>, text: &str, path: PathBuf) -> PyResult<Vec<Block>> {
    let found = afflux_scenario::blocks(text, &path).map_err(|error| from_scenario(py, error))?;
    let block = |afflux_scenario::Block { name, jobs, classes }| Block {
        name,
        jobs: jobs.map(JobKind::word),
        classes,
    };
    Ok(found.into_iter().map(block).collect())
}

fn validate(
    py: Python<'_>,
    load: impl FnOnce()
        -> std::result::Result<afflux_scenario::Scenario, afflux_scenario::ScenarioError>
    + Send
    + 'static,
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

    /// SHA-256 of everything that determines the result.
    #[getter]
    fn hash(&self) -> &str {
        &self.inner.hash
    }

    /// The resolved scenario as TOML: the keys as written, and all defaults as comments.
    #[getter]
    fn resolved(&self) -> &str {
        &self.inner.resolved
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.notes.clone()
    }

    /// Warnings about valid settings that do not do what they seem to say.
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

    /// Time in ns at which the simulation stops. `None`: when no events are left.
    #[getter]
    fn until_ns(&self) -> Option<u64> {
        self.inner.plan.run.until.map(|time| time.round_ns())
    }

    #[getter]
    fn flows(&self) -> usize {
        let plan = &self.inner.plan;
        if let Some(followed) = self.inner.followed {
            return followed.flows as usize;
        }
        let expected: u64 = plan
            .applications
            .iter()
            .flat_map(|a| &a.programs)
            .map(|program| program.expected_flows())
            .sum();
        plan.flows.len() + expected as usize
    }

    #[getter]
    fn expected_end_ns(&self) -> Option<u64> {
        self.inner.followed.map(|followed| (followed.end_s * 1e9).round() as u64)
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

    /// Name, `"host"` or `"switch"`, tier above the hosts, and rack or pod of every node.
    #[getter]
    fn nodes(&self) -> Vec<(&str, &'static str, u8, Option<u32>)> {
        let kind = |kind| if kind == NodeKind::Host { "host" } else { "switch" };
        self.inner
            .plan
            .topology
            .nodes
            .iter()
            .map(|node| (node.name.as_str(), kind(node.kind), node.tier, node.group))
            .collect()
    }

    /// Returns the keys of `[switch]` that apply to the switch `name` as TOML, including overrides
    /// and all defaults. `None`: there is no such switch.
    fn switch_settings(&self, name: &str) -> Option<&str> {
        let mut switches =
            self.inner.plan.topology.nodes.iter().filter(|node| node.kind == NodeKind::Switch);
        switches
            .find(|node| node.name == name)
            .and_then(|node| self.inner.switch_settings.get(node.config as usize))
            .map(String::as_str)
    }

    /// True if the scenario uses a congestion control written in Python (`[host.python]`).
    #[getter]
    fn has_own_congestion(&self) -> bool {
        self.inner.own_congestion.is_some()
    }

    /// Priority of each DSCP, from `[host] dscp_to_priority`.
    #[getter]
    fn priority_of_dscp(&self) -> Vec<u8> {
        self.inner.packets.priority_of_dscp.to_vec()
    }

    /// Addresses that the scenario assigns to hosts, with the hosts' numbers.
    #[getter]
    fn addresses(&self) -> Vec<(String, u32)> {
        self.inner
            .plan
            .topology
            .addresses
            .iter()
            .map(|(address, host)| (address.to_string(), *host))
            .collect()
    }

    /// Returns the tiers of the fabric from the top down. Each has: height, name, number of nodes,
    /// hosts of each rack, links to the tier below and links within the tier (count, rates in
    /// bit/s, delays in ns), minimum and maximum oversubscription, and named hosts of each rack.
    #[allow(clippy::type_complexity)]
    fn tiers(
        &self,
    ) -> Vec<(
        u8,
        String,
        usize,
        Vec<usize>,
        (usize, Vec<u64>, Vec<f64>),
        (usize, Vec<u64>, Vec<f64>),
        Option<(f64, f64)>,
        Vec<(String, Vec<String>)>,
    )> {
        let links = |links: Links| {
            (
                links.count,
                links.rates.into_iter().collect(),
                links.delays.into_iter().map(|ps| ps as f64 / 1e3).collect(),
            )
        };
        let tier = |tier: Tier| {
            (
                tier.height,
                tier.name,
                tier.count,
                tier.racks,
                links(tier.down),
                links(tier.within),
                tier.oversubscription,
                tier.named,
            )
        };
        afflux_scenario::tiers(&self.inner.plan.topology).into_iter().map(tier).collect()
    }

    /// Both ends of every link as indices of `nodes`, its rate in bit/s and its delay in ns.
    #[getter]
    fn edges(&self) -> Vec<(u32, u32, u64, f64)> {
        self.inner
            .plan
            .topology
            .links
            .iter()
            .map(|link| (link.a, link.b, link.rate.0, link.delay.0 as f64 / 1e3))
            .collect()
    }

    /// Headroom in bytes of every switch port with flow control: both ends as indices of `nodes`,
    /// the configured value, the value of SONiC's formula, and the least value that guarantees no
    /// loss.
    #[getter]
    fn headrooms(&self) -> Vec<(u32, u32, u64, u64, u64)> {
        afflux_net::headrooms(&self.inner.plan)
            .into_iter()
            .map(|port| (port.node, port.peer, port.bytes(), port.sonic(), port.worst_case()))
            .collect()
    }

    /// Returns an estimate of the run.
    fn expected(&self, py: Python<'_>) -> PyResult<Expected> {
        let (plan, scenario) = (&self.inner.plan, self.inner.clone());
        let found = run_interruptible(py, move || {
            afflux_net::expected(&scenario.plan)
                .map(|found| (Memory::of(&scenario.plan, &found), found))
        })?;
        let (memory, found) = found.map_err(|error| Failure::Run(error).into_py(py))?;
        let name = |node: u32| plan.topology.nodes[node as usize].name.clone();
        let doubt = found.unknowns.map(|doubt| match doubt {
            Unknowns::Losses { from, to } => ("losses", vec![name(from), name(to)]),
            Unknowns::Faults => ("faults", Vec::new()),
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

    /// True if any switch uses flow control.
    #[getter]
    fn has_flow_control(&self) -> bool {
        self.inner.plan.switches.iter().any(|switch| switch.pfc.is_some())
    }

    /// Returns for every link the share of frames that it loses, how many times it goes down, and
    /// whether its directions differ.
    fn link_faults(&self) -> Vec<(f64, usize, bool)> {
        let differs =
            |link: &Link| link.rate_of(true) != link.rate || link.loss_of(true) != link.loss;
        self.inner
            .plan
            .topology
            .links
            .iter()
            .map(|link| (link.loss.get(), link.down.len(), differs(link)))
            .collect()
    }

    /// Returns the flows that are known before the run
    /// (`id,start_ns,src,dst,bytes,class,deadline_ns`), and the number of flows that start after
    /// others end. Flows of applications are in neither.
    fn flow_list(&self) -> PyResult<(Table, usize)> {
        exchange::planned(&self.inner)
    }

    fn __repr__(&self) -> String {
        format!("<Scenario {:?} seed {}>", self.inner.name, self.seed())
    }

    /// Simulates on a separate thread with the GIL released, and writes the result directory `out`
    /// if one is given. `on_progress` is called about every `interval` seconds. An exception in it,
    /// or Ctrl-C, stops the run and leaves nothing behind. `force` replaces a result whose files
    /// are as afflux wrote them, `repair` also replaces a damaged result. `whole_process` counts
    /// the time since the start of the process. `congestion` creates the congestion control of each
    /// TCP connection, and `paced` says that it sets a pacing rate. Then no directory is written.
    /// `[host.python]` of the scenario does the same and writes a directory.
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
            return Err(PyValueError::new_err(
                "this scenario was loaded with `most_flows`, for an estimate: load it again to run it",
            ));
        }
        let started = if whole_process { ProcessStart::of_process() } else { ProcessStart::now() };
        let progress = Arc::new(afflux_net::Progress::default());
        let watched =
            Py::new(py, Progress { shared: progress.clone(), scenario: self.inner.clone() })?;
        let mut plan = None;
        let mut raised = None;
        if congestion.is_some() && out.is_some() {
            let text = "a run with `congestion` writes no result directory, because its scenario does not name the class: write file and class in [host.python]";
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
            // A thread that Python knows keeps its thread state between calls of a Python class.
            // Otherwise each call would create and destroy one.
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
            if let Some(callback) = on_progress
                .as_ref()
                .filter(|_| interrupted.is_none() && shown.elapsed() >= interval)
            {
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
    let claim =
        out.map(|dir| afflux_results::claim(dir, replace)).transpose().map_err(Failure::Results)?;
    let dir = claim.as_ref().map(afflux_results::Claim::dir);
    let (output, kernels) = if scenario.kernels.is_empty() {
        let plan = plan.as_ref().unwrap_or(&scenario.plan);
        (afflux_net::run(plan, progress).map_err(Failure::Run)?, None)
    } else {
        let (output, kernels) = with_kernels(&scenario, progress)?;
        (output, Some(kernels))
    };
    let report = kernels.iter().map(|kernels| ("kernels.json", kernels.json.as_bytes()));
    let files = kernels.iter().flat_map(|kernels| &kernels.files);
    let further: Vec<(&str, &[u8])> =
        report.chain(files.map(|(name, content)| (name.as_str(), content.as_slice()))).collect();
    let summary = match claim {
        Some(claim) => {
            afflux_results::write_with(claim, &scenario, &output, started, progress, &further)
                .map_err(Failure::Results)?
        }
        None => afflux_results::summary(&scenario, &output, &started),
    };
    Ok(result::Result { scenario, output, dir, summary: summary.to_json(), kernels })
}

#[cfg(target_os = "linux")]
fn with_kernels(
    scenario: &afflux_scenario::Scenario,
    progress: &afflux_net::Progress,
) -> std::result::Result<(Output, result::Kernels), Failure> {
    use afflux_live::kernels::{KernelError, directory, run};
    let done = run(scenario, &directory(), progress).map_err(|error| match error {
        KernelError::Run(error) => Failure::Run(error),
        KernelError::Cancelled => Failure::Run(afflux_net::RunError::Cancelled),
        KernelError::NoImage { .. } | KernelError::File { .. } => {
            Failure::Missing(error.to_string())
        }
        other => Failure::Kernel(other.to_string()),
    })?;
    let (json, failure) = (done.report.to_json(), done.report.failure);
    Ok((done.output, result::Kernels { json, failure, files: done.files }))
}

#[cfg(not(target_os = "linux"))]
fn with_kernels(
    _: &afflux_scenario::Scenario,
    _: &afflux_net::Progress,
) -> std::result::Result<(Output, result::Kernels), Failure> {
    Err(Failure::Kernel("kernels as hosts need Linux".into()))
}
