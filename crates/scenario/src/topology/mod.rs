//! Builds the nodes and links of the fabric from `[topology]`.

mod builder;
mod changes;
mod connected;
pub mod fabric;
mod facts;
mod names;
mod pattern;
mod tiers;
mod written;

pub use connected::Reach;
pub use facts::Facts;
pub use names::Names;
pub use tiers::{Links, Tier, tiers};

use crate::inputs::Inputs;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec;
use fabric::{Site, Topology};

/// Builds the fabric, and writes the defaults that it used into `written`. `frame`: bytes of a
/// frame that do not count towards the MTU, and the smallest packet size.
pub fn build(
    written: &mut Topology,
    inputs: &Inputs,
    frame: (u16, u16),
) -> Result<spec::Topology, Wrong> {
    let key = Key::from("topology");
    let mut topology = written.fabric().build(&key, &Site { inputs, frame })?;
    connected::check(&topology, &key)?;
    let changes = written.changes();
    let overrides = changes.overrides.as_deref_mut().unwrap_or_default();
    let faults = changes.faults.as_deref_mut().unwrap_or_default();
    if !overrides.is_empty() || !faults.is_empty() {
        changes::apply(&mut topology, overrides, faults, frame, &key)?;
    }
    Ok(topology)
}
