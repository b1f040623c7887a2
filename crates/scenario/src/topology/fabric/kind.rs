//! Interface of a kind of fabric.

use crate::inputs::Inputs;
use afflux_config::tree::{Key, Wrong};
use afflux_net::{Model, spec};

/// A kind of fabric, as written.
pub trait Fabric {
    /// Builds the nodes and links, and fills in the defaults. `key` is the key of the table.
    fn build(&mut self, key: &Key, site: &Site) -> Result<spec::Topology, Wrong>;
    /// Returns the path of the file that describes the fabric, if there is one.
    fn file(&mut self) -> Option<&mut String> {
        None
    }
}

/// Input files and frame sizes of the scenario.
pub struct Site<'a> {
    pub inputs: &'a Inputs,
    /// Bytes of a frame that do not count towards the MTU, and the smallest packet size.
    pub frame: (u16, u16),
}

/// Returns a row of `afflux models`.
pub const fn fabric(
    name: &'static str,
    source: &'static str,
    faithful: &'static str,
    simplified: &'static str,
) -> Model {
    Model { kind: "topology", name, source, faithful, simplified }
}
