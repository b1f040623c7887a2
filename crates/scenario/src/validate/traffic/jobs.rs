//! Names of jobs: the name of their block, then their own.

use super::common;
use crate::document::Traffic;
use afflux_config::tree::{Key, Wrong};
use afflux_traffic::{Generated, JOB_SEPARATOR};

/// The name of each block as its jobs have it. The first block of a kind without a name is called by its kind, further ones by their place. A block's draws
/// depend on another name, which is its place even if it is the first: draws of earlier versions stay.
pub fn blocks(blocks: &mut [Traffic]) -> Vec<String> {
    let written: Vec<Option<String>> = blocks.iter_mut().enumerate().map(|(index, block)| common::own_name(block, index)).collect();
    let mut names: Vec<String> = Vec::new();
    for (index, own) in written.iter().enumerate() {
        let kind = common::kind(&blocks[index]);
        let taken = names.iter().any(|name| name == kind) || written.iter().flatten().any(|name| name == kind);
        names.push(match own {
            Some(name) => name.clone(),
            None if taken => common::name_of(&None, index),
            None => kind.to_string(),
        });
    }
    names
}

/// Refuses a block whose jobs would seem to be those of another block.
pub fn distinct(names: &[String], parts: &[Generated]) -> Result<(), Wrong> {
    let with_jobs = || names.iter().zip(parts).enumerate().filter(|(_, (_, part))| !part.jobs.is_empty()).map(|(index, (name, _))| (index, name));
    for (other, short) in with_jobs() {
        let start = format!("{short}{JOB_SEPARATOR}");
        if let Some((index, name)) = with_jobs().find(|(_, name)| name.starts_with(&start)) {
            let message = format!("\"{name}\" begins as the names of the jobs of traffic[{other}] do, \"{start}…\": write another name");
            return Err(Wrong::at(Key::from("traffic").index(index).name("name"), message.replace('`', "\"")));
        }
    }
    Ok(())
}
