//! Names of jobs: the name of the block, then the job's own name.

use crate::workload::Traffic;
use crate::workload::keys::name_at;
use afflux_config::tree::{Key, Wrong};
use afflux_traffic::{Generated, JOB_SEPARATOR};

/// Returns the name of each block for the names of its jobs. The first block of a kind without a
/// name is named after its kind, further ones after their position. The block's random draws always
/// depend on the written name or the position, so that they are those of earlier versions.
pub fn blocks(blocks: &mut [Traffic]) -> Vec<String> {
    let written: Vec<Option<String>> =
        blocks.iter_mut().enumerate().map(|(index, block)| own_name(block, index)).collect();
    let mut names: Vec<String> = Vec::new();
    for (index, own) in written.iter().enumerate() {
        let kind = blocks[index].kind();
        let taken = names.iter().any(|name| name == kind)
            || written.iter().flatten().any(|name| name == kind);
        names.push(match own {
            Some(name) => name.clone(),
            None if taken => name_at(index),
            None => kind.to_string(),
        });
    }
    names
}

/// Returns the block's name if the scenario gives one. The name that follows from the block's
/// position does not count, because a resolved scenario may contain it.
fn own_name(block: &mut Traffic, index: usize) -> Option<String> {
    let (keys, _) = block.common();
    keys.name.clone().filter(|name| *name != name_at(index))
}

/// Refuses a block whose jobs would seem to belong to another block.
pub fn distinct(names: &[String], parts: &[Generated]) -> Result<(), Wrong> {
    let with_jobs = || {
        names
            .iter()
            .zip(parts)
            .enumerate()
            .filter(|(_, (_, part))| !part.jobs.is_empty())
            .map(|(index, (name, _))| (index, name))
    };
    for (other, short) in with_jobs() {
        let start = format!("{short}{JOB_SEPARATOR}");
        if let Some((index, name)) = with_jobs().find(|(_, name)| name.starts_with(&start)) {
            let message = format!(
                "\"{name}\" begins as the names of the jobs of traffic[{other}] do, \"{start}…\": write another name"
            );
            return Err(Wrong::at(
                Key::from("traffic").index(index).name("name"),
                message.replace('`', "\""),
            ));
        }
    }
    Ok(())
}
