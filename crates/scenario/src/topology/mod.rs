//! Builds the nodes and links of the fabric from `[topology]`.

mod bcube;
mod builder;
mod changes;
mod connected;
mod custom;
mod dual_homed;
mod dumbbell;
mod facts;
mod fat_tree;
mod hpcc;
mod leaf_spine;
mod names;
mod pattern;
mod star;
mod tiers;
mod vl2;

pub use connected::Reach;
pub use facts::Facts;
pub use names::Names;
pub use tiers::{Links, Tier, tiers};

use crate::document;
use crate::inputs::Inputs;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Topology;

/// Builds the fabric, and writes the defaults that it used into `document`. `frame`: bytes of a
/// frame that do not count towards the MTU, and the smallest packet size.
pub fn build(
    document: &mut document::Topology,
    inputs: &mut Inputs,
    frame: (u16, u16),
) -> Result<Topology, Wrong> {
    use document::Topology as Kind;
    let key = Key::from("topology");
    let mut topology = match document {
        Kind::Star(star) => star::build(star, &key)?,
        Kind::Dumbbell(dumbbell) => dumbbell::build(dumbbell, &key)?,
        Kind::LeafSpine(leaf_spine) => leaf_spine::build(leaf_spine, &key)?,
        Kind::FatTree(fat_tree) => fat_tree::build(fat_tree, &key)?,
        Kind::DualHomed(dual_homed) => dual_homed::build(dual_homed, &key)?,
        Kind::Vl2(vl2) => vl2::build(vl2, &key)?,
        Kind::Bcube(bcube) => bcube::build(bcube, &key)?,
        Kind::Hpcc(hpcc) => hpcc::build(hpcc, &key, inputs)?,
        Kind::Custom(custom) => custom::build(custom, &key, frame)?,
    };
    macro_rules! parts {
        ($d:ident) => {
            ($d.hosts.as_deref(), $d.switches.as_deref(), &mut $d.overrides, &mut $d.faults)
        };
    }
    let (hosts, switches, overrides, faults) = match document {
        Kind::Star(d) => (d.hosts.names(), d.switches.as_deref(), &mut d.overrides, &mut d.faults),
        Kind::Dumbbell(d) => parts!(d),
        Kind::LeafSpine(d) => parts!(d),
        Kind::FatTree(d) => parts!(d),
        Kind::DualHomed(d) => parts!(d),
        Kind::Vl2(d) => parts!(d),
        Kind::Bcube(d) => parts!(d),
        Kind::Hpcc(d) => parts!(d),
        // A custom fabric's nodes already have their names, because its links refer to them.
        Kind::Custom(d) => (None, None, &mut d.overrides, &mut d.faults),
    };
    names::name_hosts(&mut topology, hosts, &key)?;
    names::name_switches(&mut topology, switches, &key)?;
    connected::check(&topology, &key)?;
    if !overrides.is_empty() || !faults.is_empty() {
        changes::apply(&mut topology, overrides, faults, frame, &key)?;
    }
    Ok(topology)
}
