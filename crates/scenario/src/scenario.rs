//! A scenario that is ready to run, and the options for loading one.

use crate::error::Warning;
use crate::validate::OwnCongestion;
use afflux_net::spec::Plan;
use afflux_traffic::{FlowColumns, Job};
use afflux_units::Span;
use std::path::{Path, PathBuf};

/// A validated scenario, ready to run.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// `name` of the file, or the file's name without extension.
    pub name: String,
    pub plan: Plan,
    /// Class names, indexed by `Flow::class`; class 0 is `"default"`.
    pub classes: Vec<String>,
    /// Jobs, indexed by `Flow::job`.
    pub jobs: Vec<Job>,
    /// Names of the traffic blocks, indexed by `Job::block`. They are the part before the dot in
    /// the names of their jobs.
    pub blocks: Vec<String>,
    /// Warm-up time: flows that start before it are left out of all statistics.
    pub warmup: Span,
    /// Upper bounds in bytes of the size classes of the summary, ascending. The last class is open.
    pub size_bounds: Vec<u64>,
    /// The resolved scenario as TOML: keys as written, inputs with absolute path and SHA-256,
    /// defaults as comments. Running it gives the same result. Changing one of its keys has the
    /// same effect as changing that key in the scenario.
    pub resolved: String,
    /// SHA-256 in hexadecimal of the scenario with all defaults, without keys that do not change
    /// results (threads, records, paths of inputs, prices, names).
    pub hash: String,
    /// Notes for the user, such as flows that an importer dropped, or the load basis.
    pub notes: Vec<String>,
    /// Warnings about valid keys that do not do what they seem to say.
    pub warnings: Vec<Warning>,
    /// Cost of the fabric, if the scenario has prices.
    pub cost: Option<FabricCost>,
    /// How packets of real hosts become frames (`afflux live`).
    pub packets: Packets,
    /// Keys of `[switch]` as TOML, every default filled in, for each entry of the plan's switch
    /// settings.
    pub switch_settings: Vec<String>,
    /// Python class of `[host.python]`. The plan contains only a placeholder, which the caller that
    /// runs the plan replaces.
    pub own_congestion: Option<OwnCongestion>,
    /// Hosts that are real Linux kernels, ordered by host.
    pub kernels: Vec<KernelHost>,
    /// Estimate of the run with applications; `None` without, and if they are too much to follow.
    pub followed: Option<Followed>,
}

/// Estimate of a run of applications, which start flows as their work proceeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Followed {
    pub flows: u64,
    /// End of the run in seconds.
    pub end_s: f64,
}

/// A host that is a real Linux kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelHost {
    pub host: u32,
    /// Traffic class of the flows that the host sends: an index into the scenario's names.
    pub class: u16,
    /// Version of the kernel.
    pub image: String,
    /// Files of this machine, and their paths in the guest.
    pub files: Vec<(PathBuf, String)>,
    /// Shell commands and the times at which they start, in order of time.
    pub commands: Vec<(Span, String)>,
    /// Kernel parameters and their values.
    pub sysctls: Vec<(String, String)>,
    /// Interval of the samples of TCP's state, in ms.
    pub tcp_info: Option<u64>,
    /// Memory in MiB.
    pub memory: u64,
    /// Real time after which a guest that does not become idle is stopped.
    pub watchdog: Span,
}

/// How IP packets become frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Size in bytes of the largest packet.
    pub mtu: u16,
    /// Bytes of a frame around its packet.
    pub link_header: u16,
    /// Priority of each DSCP, as `host.dscp_to_priority` says.
    pub priority_of_dscp: [u8; 64],
}

/// Cost of a fabric, by the prices of `[cost]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricCost {
    pub currency: String,
    pub total: f64,
    pub switches: u64,
    /// Number of switch ports that have a link.
    pub ports: u64,
}

/// Command-line changes to a scenario before validation, and the place of its inputs.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `key.path=value` pairs of `--set`, in order. Values are TOML, or bare words taken as
    /// strings.
    pub set: Vec<(String, String)>,
    pub seed: Option<u64>,
    pub threads: Option<u32>,
    /// Directory that holds every input of the scenario under the SHA-256 that the scenario states.
    /// `None`: inputs are at the paths that the scenario names.
    pub store: Option<PathBuf>,
    /// Approximate number of flows that are drawn from each random process, for an estimate. The
    /// other flows are summarized in `Plan::undrawn`, and the scenario cannot be run.
    pub most_flows: Option<u64>,
}

/// Reader of flow lists in formats that this crate does not know.
pub trait Reader {
    /// Reads a Parquet flow list. Refuses lists of more than `most` rows before it reads them.
    fn parquet(&self, path: &Path, most: u64) -> Result<FlowColumns, String>;
}
