//! Jobs and classes of blocks of traffic, before their flows are generated.

use crate::error::ScenarioError;
use crate::validate::traffic::jobs;
use crate::workload::Traffic;
use afflux_config::tree::{Key, Segment, Tree};
use afflux_traffic::JobKind;
use serde::Deserialize;
use std::path::Path;

/// A block of traffic.
pub struct Block {
    /// Name in the names of its jobs.
    pub name: String,
    /// Kind of its jobs; `None`: it has only flows.
    pub jobs: Option<JobKind>,
    /// Classes of its flows; empty if a list of flows may have some of its own.
    pub classes: Vec<String>,
}

/// Reads the blocks of a scenario, of which other parts may be wrong.
pub fn blocks(text: &str, path: &Path) -> Result<Vec<Block>, ScenarioError> {
    let tree = Tree::read(text).map_err(|error| ScenarioError::not_toml(path, error))?;
    let Some(traffic) = tree.at(&Key::from("traffic")) else { return Ok(Vec::new()) };
    let mut blocks = Vec::<Traffic>::deserialize(traffic).map_err(|mut wrong| {
        wrong.key = wrong.key.within(Segment::Name("traffic".into()));
        ScenarioError::wrong(path, &tree, wrong)
    })?;
    let names = jobs::blocks(&mut blocks);
    let described = |(block, name): (&mut Traffic, String)| {
        let class = block.common().0.class.clone().unwrap_or_else(|| "default".into());
        let block = block.workload();
        Block { name, jobs: block.jobs(), classes: block.classes(&class) }
    };
    Ok(blocks.iter_mut().zip(names).map(described).collect())
}
