//! A scenario that is ready to run, and what callers give to load one.

use crate::error::Warning;
use crate::validate::OwnCongestion;
use afflux_net::spec::Plan;
use afflux_traffic::{FlowColumns, Job};
use afflux_units::Span;
use std::path::{Path, PathBuf};

/// A validated scenario, ready to run.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// `name` of the file, or the file's stem.
    pub name: String,
    pub plan: Plan,
    /// Names that `Flow::class` indexes; class 0 is `"default"`.
    pub classes: Vec<String>,
    /// Names that `Flow::job` indexes.
    pub jobs: Vec<Job>,
    /// Names of the blocks of traffic that `Job::block` indexes: those before the dots in the names of their jobs.
    pub blocks: Vec<String>,
    /// Flows that start before this are left out of all statistics.
    pub warmup: Span,
    /// Upper bounds of the size classes of the summary, bytes, ascending; the last class is open.
    pub size_bounds: Vec<u64>,
    /// The resolved scenario as TOML: keys as written, inputs with absolute path and SHA-256, defaults as comments. Running it gives the same result,
    /// and changing a key of it is like changing that key of the scenario.
    pub resolved: String,
    /// SHA-256 of the scenario with all defaults, without what does not change results (threads, record paths), hexadecimal.
    pub hash: String,
    /// Things the user should know: flows dropped by an importer, the load basis, …
    pub notes: Vec<String>,
    /// Keys that are valid and yet do not do what they seem to say.
    pub warnings: Vec<Warning>,
    /// The cost of the fabric, if the scenario has prices.
    pub cost: Option<FabricCost>,
    /// How packets of real hosts become frames.
    pub packets: Packets,
    /// The keys of `[switch]` as TOML, every default filled in, for each of the plan's settings of switches.
    pub switch_settings: Vec<String>,
    /// The class of `[host.python]`; the plan has only its place, so whoever runs the plan brings it.
    pub own_congestion: Option<OwnCongestion>,
}

/// How IP packets become frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Bytes of the largest packet.
    pub mtu: u16,
    /// Bytes of a frame around its packet.
    pub link_header: u16,
    /// As `host.dscp_to_priority` says.
    pub priority_of_dscp: [u8; 64],
}

/// The cost of a fabric, by the prices of `[cost]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricCost {
    pub currency: String,
    pub total: f64,
    pub switches: u64,
    /// Ports of switches that a link is plugged into.
    pub ports: u64,
}

/// Changes of the command line before validation, and the place of inputs.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `key.path=value` pairs of `--set`, in order; values are TOML, or bare words taken as strings.
    pub set: Vec<(String, String)>,
    pub seed: Option<u64>,
    pub threads: Option<u32>,
    /// A directory that holds every input of the scenario under its SHA-256, which the scenario states. `None`: inputs are at the paths it names.
    pub store: Option<PathBuf>,
    /// For an estimate: of each random process only so many flows are drawn, about. The others are in `Plan::undrawn`, and the scenario cannot
    /// be run.
    pub most_flows: Option<u64>,
}

/// Reads flow lists in formats this crate does not know.
pub trait Reader {
    /// At most so many rows: more are refused before they are read.
    fn parquet(&self, path: &Path, most: u64) -> Result<FlowColumns, String>;
}
