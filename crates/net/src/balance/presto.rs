//! Presto (He et al., SIGCOMM 2015): cuts flows into pieces of equal size (flowcells) that take all
//! paths in turn.

use super::flowlets::{draw_path, path_is_open};
use super::{About, Choice, Holding, PathContext, Policy, Role};
use crate::Model;
use crate::frame::Frame;
use afflux_config::tree::Wrong;
use afflux_config::{Size, keys};
use afflux_units::Bytes;
use rustc_hash::FxHashMap;

keys! {
    /// Presto: flowcells on all paths in turn.
    pub struct Keys as "Presto" => PrestoConfig(_context: &PathContext<'_>) {
        /// Bytes of a flowcell, as the sum of its frames.
        flowcell: Size as u64 = "64KiB" from "the paper's flowcell", check |Size(Bytes(bytes)), at| match bytes {
            0 => Err(Wrong::at(at, "\"0B\": write a size above 0, as in \"64KiB\"")),
            bytes => Ok(bytes),
        };
    }
}

pub struct Presto {
    cell: u64,
    flows: FxHashMap<u64, Cell>,
}

struct Cell {
    bytes: u64,
    path: u32,
}

impl Policy for Presto {
    type Config = PrestoConfig;
    fn new(config: &PrestoConfig, _: &[Option<u64>]) -> Self {
        Presto { cell: config.flowcell, flows: FxHashMap::default() }
    }

    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        role: Role,
        _: &[u16],
    ) -> Choice {
        if role == Role::Source {
            let rack = site.rack_of(frame.dst);
            let cell = self
                .flows
                .entry(site.connection(frame))
                .or_insert_with(|| Cell { bytes: 0, path: draw_path(site, rack) });
            if cell.bytes + frame.size as u64 > self.cell || !path_is_open(site, rack, cell.path) {
                let next = next_path(site.paths(rack), cell.path);
                site.counters().reroutes += (next != cell.path) as u64;
                *cell = Cell { bytes: 0, path: next };
            }
            cell.bytes += frame.size as u64;
            frame.pin(cell.path);
        }
        Choice::Follow
    }
}

/// Returns the path after `path` in the list, or the first path after the last.
fn next_path(paths: &[u32], path: u32) -> u32 {
    let after = paths.partition_point(|&other| other <= path);
    paths[if after == paths.len() { 0 } else { after }]
}

pub const ABOUT: About = About { overtakes: true, ..About::pinning(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "presto",
    source: "He et al., SIGCOMM 2015",
    faithful: "flowcells of 64 KB of a flow take all shortest paths in turn, from one drawn at random",
    simplified: "the source's ToR cuts the flowcells instead of the host, by bytes of frames; the receiver's reassembly (GRO) is not modelled, so the \
                 transport sees frames out of order",
};
