//! The scenario file: documents (what is written), validation, topologies, and the plan that the engine runs.

mod document;
mod error;
mod inputs;
mod models;
mod resolve;
mod schema;
mod topology;
mod validate;
mod wire;

pub use document::Parameter;
pub use models::models;
pub use topology::{Links, Tier, tiers};
pub use validate::OwnCongestion;

use afflux_config::{spelling, tree};
use afflux_net::spec::Plan;
pub use afflux_traffic::{FlowColumns, HostColumn, Job, JobKind};
use afflux_units::Span;
use document::Document;
use inputs::Inputs;
use serde::Deserialize;
use std::io::Read;
use std::path::{Path, PathBuf};
use tree::{Key, Origin, Tree, Value, Wrong};

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
    /// What is valid and yet does not do what it seems to say.
    pub warnings: Vec<Warning>,
    /// What the fabric costs, if the scenario has prices.
    pub cost: Option<FabricCost>,
    /// How packets of real hosts become frames.
    pub packets: Packets,
    /// Of each of the plan's settings of switches the keys of `[switch]` as TOML, every default filled in.
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

/// What a fabric costs, by the prices of `[cost]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FabricCost {
    pub currency: String,
    pub total: f64,
    pub switches: u64,
    /// Ports of switches that a link is plugged into.
    pub ports: u64,
}

/// What the command line changes before validation, and where inputs are.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `key.path=value` pairs of `--set`, in order; values are TOML, or bare words taken as strings.
    pub set: Vec<(String, String)>,
    pub seed: Option<u64>,
    pub threads: Option<u32>,
    /// A directory that holds every input of the scenario under its SHA-256, which the scenario states. `None`: inputs are at the paths it names.
    pub store: Option<PathBuf>,
    /// For an estimate: of each random process only so many flows are drawn, about. What is beyond them is in `Plan::undrawn`, and the scenario cannot
    /// be run.
    pub most_flows: Option<u64>,
}

/// Reads flow lists in formats this crate does not know.
pub trait Reader {
    /// At most so many rows: more are refused before they are read.
    fn parquet(&self, path: &Path, most: u64) -> Result<FlowColumns, String>;
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

/// A key that is valid and yet has no effect, or not the one that its name says. `Display` gives the whole line for a person, as an error's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub message: String,
    pub file: PathBuf,
    /// `None` for what an option of the command line says.
    pub line: Option<usize>,
    pub key: String,
    /// What it is about, without place and key.
    pub text: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// The version of the file format.
const FORMAT: i64 = 1;

/// Reads and validates a scenario file.
pub fn load(path: &Path, overrides: &Overrides, reader: &dyn Reader) -> Result<Scenario, ScenarioError> {
    let bytes = bytes_of(path).map_err(|error| ScenarioError::unreadable(path, &error))?;
    let text = inputs::text_of(bytes).map_err(|(line, message)| ScenarioError::no_text(path, line, &message))?;
    parse(&text, path, overrides, reader)
}

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(inputs::LONGEST_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > inputs::LONGEST_BYTES {
        let most = inputs::LONGEST_BYTES >> 20;
        return Err(std::io::Error::other(format!("a scenario has at most {most} MiB; long lists of flows go into a file of their own")));
    }
    Ok(text)
}

/// Tables and keys of `afflux decide` that may stand in a scenario file.
const OF_DECISIONS: [&str; 6] = ["design", "tenant", "goal", "condition", "seeds", "currency"];

/// Takes the tables of a decision out of a scenario, with a note that this simulation is of none of its designs.
fn leave_to_decide(tree: &mut Tree) -> Option<String> {
    let Value::Table(entries) = &mut tree.value else { return None };
    let names: Vec<String> = entries.iter().filter(|entry| OF_DECISIONS.contains(&entry.name.as_str())).map(|entry| entry.name.clone()).collect();
    // A lone key is more likely a key in the wrong place than a decision.
    if !names.iter().any(|name| name == "design") {
        return None;
    }
    entries.retain(|entry| !OF_DECISIONS.contains(&entry.name.as_str()));
    Some(format!("{} of this file are for afflux decide; this is the scenario without a design's changes", names.join(", ")))
}

/// Validates scenario text as if it stood in `path` (relative inputs are relative to it).
pub fn parse(text: &str, path: &Path, overrides: &Overrides, reader: &dyn Reader) -> Result<Scenario, ScenarioError> {
    let mut tree = Tree::read(text).map_err(|error| ScenarioError::not_toml(path, error))?;
    change(&mut tree, overrides, path)?;
    let left = leave_to_decide(&mut tree);
    let wrong = |wrong: Wrong| ScenarioError::wrong(path, &tree, wrong);
    check_format(&tree).map_err(wrong)?;
    let mut document = Document::deserialize(&tree).map_err(wrong)?;
    let stem = path.file_stem().map_or_else(|| "scenario".to_string(), |stem| stem.to_string_lossy().into_owned());
    let name = validate::fill(&mut document.name, stem);
    if let Some(reason) = wrong_name(&name) {
        return Err(wrong(Wrong::at(Key::from("name"), format!("{}: {reason}", afflux_traffic::names::shown(&name)))));
    }
    let checked = validate::check(&mut document, &tree, &mut Inputs::of(path, overrides.store.as_deref()), reader, overrides.most_flows).map_err(wrong)?;
    let unprintable = |message: String| wrong(Wrong::at(Key::default(), format!("cannot be written as TOML: {message}")));
    Ok(Scenario {
        name,
        plan: checked.plan,
        classes: checked.classes,
        jobs: checked.jobs,
        blocks: checked.blocks,
        warmup: checked.warmup,
        size_bounds: checked.size_bounds,
        resolved: resolve::text(&document, &tree, checked.default_transport).map_err(unprintable)?,
        hash: resolve::hash(&document).map_err(unprintable)?,
        notes: left.into_iter().chain(checked.notes).collect(),
        warnings: checked.warnings.into_iter().map(|warning| Warning::new(path, &tree, warning)).collect(),
        cost: checked.cost,
        packets: checked.packets,
        switch_settings: checked.switch_keys.iter().map(resolve::of_switch).collect::<Result<_, _>>().map_err(unprintable)?,
        own_congestion: checked.own_congestion,
    })
}

/// Why no directory can have this name.
fn wrong_name(name: &str) -> Option<String> {
    const LONGEST: usize = 200;
    let directory = "it becomes the name of a directory";
    if name.is_empty() || name.contains(['/', '\\', '\0']) {
        return Some(format!("a name is not empty and has no slash: {directory}"));
    }
    if name.starts_with(['.', '-']) || name.len() > LONGEST {
        return Some(format!("a name does not begin with \".\" or \"-\" and has at most {LONGEST} bytes: {directory}"));
    }
    afflux_traffic::names::wrong(name).map(|expected| format!("write {expected}"))
}

/// Applies what the command line changes.
fn change(tree: &mut Tree, overrides: &Overrides, path: &Path) -> Result<(), ScenarioError> {
    for (key, value) in &overrides.set {
        tree.set(key, value).map_err(|message| ScenarioError::option(path, &format!("--set {key}={value}"), key, &message))?;
    }
    for (option, key, value) in [("--seed", "run.seed", overrides.seed), ("--threads", "run.threads", overrides.threads.map(u64::from))] {
        let Some(value) = value else { continue };
        let origin = Origin::Option(format!("{option} {value}"));
        let number = i64::try_from(value)
            .map_err(|_| ScenarioError::option(path, &format!("{option} {value}"), key, &format!("write a whole number up to {}", i64::MAX)))?;
        tree.put(&Key::from(key), Value::Integer(number), &origin)
            .map_err(|message| ScenarioError::option(path, &format!("{option} {value}"), key, &message))?;
    }
    Ok(())
}

/// The format comes before all else: another version may have other keys.
fn check_format(tree: &Tree) -> Result<(), Wrong> {
    let Value::Table(entries) = &tree.value else { return Ok(()) };
    match entries.iter().find(|entry| entry.name == "format").map(|entry| &entry.tree.value) {
        Some(Value::Integer(FORMAT)) => Ok(()),
        Some(other) => Err(Wrong::at(Key::from("format"), format!("found {}: this version of afflux reads format = 1", other.shown()))),
        None => Err(Wrong::at(Key::default(), "the key \"format\" is missing: write format = 1 at the top of the file")),
    }
}

/// The JSON Schema of scenario files.
pub fn schema() -> String {
    schema::schema()
}
