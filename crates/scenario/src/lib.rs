//! The scenario file: its document (the keys as written), validation, topologies, and the plan that
//! the engine runs.

mod blocks;
mod document;
mod error;
mod inputs;
mod models;
mod resolve;
mod scenario;
mod schema;
mod topology;
mod validate;
mod wire;
mod workload;

pub use afflux_config::tree::Key;
pub use afflux_traffic::{FlowColumns, HostColumn, Job, JobKind};
pub use blocks::{Block, blocks};
pub use document::Parameter;
pub use error::{ScenarioError, Warning};
pub use models::models;
pub use scenario::{FabricCost, Followed, KernelHost, Overrides, Packets, Reader, Scenario};
pub use topology::{Links, Tier, tiers};
pub use validate::OwnCongestion;

use afflux_config::keys::fill;
use afflux_config::tree::{Origin, Tree, Value, Wrong};
use document::Document;
use inputs::Inputs;
use serde::Deserialize;
use std::io::Read;
use std::path::Path;

/// Version of the file format.
const FORMAT: i64 = 1;

/// Reads and validates a scenario file.
pub fn load(
    path: &Path,
    overrides: &Overrides,
    reader: &dyn Reader,
) -> Result<Scenario, ScenarioError> {
    let bytes = bytes_of(path).map_err(|error| ScenarioError::unreadable(path, &error))?;
    let text = inputs::text_of(bytes)
        .map_err(|(line, message)| ScenarioError::no_text(path, line, &message))?;
    parse(&text, path, overrides, reader)
}

/// Returns the line of a key of a TOML file, if the file has it.
pub fn line_of(text: &str, key: &Key) -> Option<usize> {
    Tree::read(text).ok()?.line_of(key)
}

fn bytes_of(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    std::fs::File::open(path)?.take(inputs::LONGEST_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > inputs::LONGEST_BYTES {
        let most = inputs::LONGEST_BYTES >> 20;
        return Err(std::io::Error::other(format!(
            "a scenario has at most {most} MiB; long lists of flows go into a file of their own"
        )));
    }
    Ok(text)
}

/// Tables and keys of `afflux decide` that a scenario file may contain.
const OF_DECISIONS: [&str; 6] = ["design", "tenant", "goal", "condition", "seeds", "currency"];

/// Removes the tables of a decision from a scenario. Returns a note that this simulation runs none
/// of the decision's designs.
fn leave_to_decide(tree: &mut Tree) -> Option<String> {
    let Value::Table(entries) = &mut tree.value else { return None };
    let names: Vec<String> = entries
        .iter()
        .filter(|entry| OF_DECISIONS.contains(&entry.name.as_str()))
        .map(|entry| entry.name.clone())
        .collect();
    // Without `design`, such a key is more likely a misplaced key than a decision.
    if !names.iter().any(|name| name == "design") {
        return None;
    }
    entries.retain(|entry| !OF_DECISIONS.contains(&entry.name.as_str()));
    Some(format!(
        "{} of this file are for afflux decide; this is the scenario without a design's changes",
        names.join(", ")
    ))
}

/// Validates scenario text as if it were the content of `path`, which relative inputs refer to.
pub fn parse(
    text: &str,
    path: &Path,
    overrides: &Overrides,
    reader: &dyn Reader,
) -> Result<Scenario, ScenarioError> {
    let mut tree = Tree::read(text).map_err(|error| ScenarioError::not_toml(path, error))?;
    change(&mut tree, overrides, path)?;
    let left = leave_to_decide(&mut tree);
    let wrong = |wrong: Wrong| ScenarioError::wrong(path, &tree, wrong);
    check_format(&tree).map_err(wrong)?;
    let mut document = Document::deserialize(&tree).map_err(wrong)?;
    let stem = path
        .file_stem()
        .map_or_else(|| "scenario".to_string(), |stem| stem.to_string_lossy().into_owned());
    let name = fill(&mut document.name, stem);
    if let Some(reason) = wrong_name(&name) {
        return Err(wrong(Wrong::at(
            Key::from("name"),
            format!("{}: {reason}", afflux_traffic::names::shown(&name)),
        )));
    }
    let checked = validate::check(
        &mut document,
        &tree,
        &mut Inputs::of(path, overrides.store.as_deref()),
        reader,
        overrides.most_flows,
    )
    .map_err(wrong)?;
    let unprintable = |message: String| {
        wrong(Wrong::at(Key::default(), format!("cannot be written as TOML: {message}")))
    };
    Ok(Scenario {
        name,
        classes: checked.classes,
        jobs: checked.jobs,
        blocks: checked.blocks,
        warmup: checked.plan.run.warmup,
        size_bounds: checked.plan.run.size_bounds.clone(),
        plan: checked.plan,
        resolved: resolve::text(&document, &tree, checked.default_transport)
            .map_err(unprintable)?,
        hash: resolve::hash(&document).map_err(unprintable)?,
        notes: left.into_iter().chain(checked.notes).collect(),
        warnings: checked
            .warnings
            .into_iter()
            .map(|warning| Warning::new(path, &tree, warning))
            .collect(),
        cost: checked.cost,
        packets: checked.packets,
        followed: checked.followed,
        switch_settings: checked
            .switch_keys
            .iter()
            .map(resolve::of_switch)
            .collect::<Result<_, _>>()
            .map_err(unprintable)?,
        own_congestion: checked.own_congestion,
        kernels: checked.kernels,
    })
}

/// Returns why no directory can have this name, or `None`.
fn wrong_name(name: &str) -> Option<String> {
    const LONGEST: usize = 200;
    let directory = "it becomes the name of a directory";
    if name.is_empty() || name.contains(['/', '\\', '\0']) {
        return Some(format!("a name is not empty and has no slash: {directory}"));
    }
    if name.starts_with(['.', '-']) || name.len() > LONGEST {
        return Some(format!(
            "a name does not begin with \".\" or \"-\" and has at most {LONGEST} bytes: {directory}"
        ));
    }
    afflux_traffic::names::wrong(name).map(|expected| format!("write {expected}"))
}

/// Applies the changes of the command line.
fn change(tree: &mut Tree, overrides: &Overrides, path: &Path) -> Result<(), ScenarioError> {
    for (key, value) in &overrides.set {
        tree.set(key, value).map_err(|message| {
            ScenarioError::option(path, &format!("--set {key}={value}"), key, &message)
        })?;
    }
    for (option, key, value) in [
        ("--seed", "run.seed", overrides.seed),
        ("--threads", "run.threads", overrides.threads.map(u64::from)),
    ] {
        let Some(value) = value else { continue };
        let origin = Origin::Option(format!("{option} {value}"));
        let number = i64::try_from(value).map_err(|_| {
            ScenarioError::option(
                path,
                &format!("{option} {value}"),
                key,
                &format!("write a whole number up to {}", i64::MAX),
            )
        })?;
        tree.put(&Key::from(key), Value::Integer(number), &origin).map_err(|message| {
            ScenarioError::option(path, &format!("{option} {value}"), key, &message)
        })?;
    }
    Ok(())
}

/// Checks the version of the format before all other keys, because another version may have other
/// keys.
fn check_format(tree: &Tree) -> Result<(), Wrong> {
    let Value::Table(entries) = &tree.value else { return Ok(()) };
    match entries.iter().find(|entry| entry.name == "format").map(|entry| &entry.tree.value) {
        Some(Value::Integer(FORMAT)) => Ok(()),
        Some(other) => Err(Wrong::at(
            Key::from("format"),
            format!("found {}: this version of afflux reads format = 1", other.shown()),
        )),
        None => Err(Wrong::at(
            Key::default(),
            "the key \"format\" is missing: write format = 1 at the top of the file",
        )),
    }
}

/// Returns the JSON Schema of scenario files.
pub fn schema() -> String {
    schema::schema()
}
