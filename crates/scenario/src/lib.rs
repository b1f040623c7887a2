//! The scenario file: documents (what is written), validation, topologies, and the plan that the engine runs.

use afflux_net::spec::Plan;
use afflux_units::{Span, Time};
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
    /// Flows that start before this are left out of all statistics.
    pub warmup: Span,
    /// Upper bounds of the size classes of the summary, bytes, ascending; the last class is open.
    pub size_bounds: Vec<u64>,
    /// The fully resolved scenario as TOML: defaults written out, inputs with absolute path and SHA-256. Running it gives the same result.
    pub resolved: String,
    /// SHA-256 of `resolved` without what does not change results (threads, record paths), hexadecimal.
    pub hash: String,
    /// Things the user should know: flows dropped by an importer, the load basis, …
    pub notes: Vec<String>,
    /// Refuse to run when the estimate exceeds this many bytes.
    pub max_memory: Option<u64>,
}

/// A set of flows that together are one piece of work (a coflow, an incast query).
#[derive(Debug, Clone)]
pub struct Job {
    pub name: String,
    /// When the job was submitted; `None` if it starts when another ends.
    pub arrival: Option<Time>,
}

/// What the command line changes before validation.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `key.path=value` pairs of `--set`, in order; values are TOML, or bare words taken as strings.
    pub set: Vec<(String, String)>,
    pub seed: Option<u64>,
    pub threads: Option<u32>,
}

/// Columns of a flow list that was read by somebody else (Parquet): see [`Reader`].
#[derive(Debug, Clone, Default)]
pub struct FlowColumns {
    pub start_ns: Vec<u64>,
    pub src: Vec<u32>,
    pub dst: Vec<u32>,
    pub bytes: Vec<u64>,
    pub id: Option<Vec<i64>>,
    pub class: Option<Vec<String>>,
    pub deadline_ns: Option<Vec<Option<u64>>>,
}

/// Reads flow lists in formats this crate does not know.
pub trait Reader {
    fn parquet(&self, path: &Path) -> Result<FlowColumns, String>;
}

/// A wrong scenario. `Display` gives the whole message for a person: file, line, key, what was found, what is allowed, nearest spelling.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ScenarioError {
    pub message: String,
    pub file: Option<PathBuf>,
    pub line: Option<usize>,
    pub key: Option<String>,
}

/// Reads and validates a scenario file.
pub fn load(path: &Path, overrides: &Overrides, reader: &dyn Reader) -> Result<Scenario, ScenarioError> {
    let _ = (path, overrides, reader);
    todo!()
}

/// Validates scenario text as if it stood in `path` (relative inputs are relative to it).
pub fn parse(text: &str, path: &Path, overrides: &Overrides, reader: &dyn Reader) -> Result<Scenario, ScenarioError> {
    let _ = (text, path, overrides, reader);
    todo!()
}

/// The JSON Schema of scenario files.
pub fn schema() -> String {
    todo!()
}
