//! Weighted ECMP (Zhou et al., EuroSys 2014): hashing with shares, for fabrics whose paths are not alike.

use super::shares::Shares;
use super::{Choice, Site};
use crate::Model;
use crate::frame::Frame;
use crate::spec;
use rustc_hash::FxHashMap;

pub struct Wcmp {
    config: spec::Wcmp,
    /// By epoch of the routes and destination rack.
    tables: FxHashMap<(usize, u32), Shares>,
}

impl Wcmp {
    pub fn new(config: &spec::Wcmp) -> Self {
        Wcmp { config: config.clone(), tables: FxHashMap::default() }
    }

    pub fn choose(&mut self, site: &mut impl Site, frame: &Frame, hops: &[u16]) -> Choice {
        if let [only] = hops {
            return Choice::Port(*only);
        }
        let hash = site.hash(frame);
        let place = (site.epoch(), site.rack_of(frame.dst));
        let config = &self.config;
        let table = self.tables.entry(place).or_insert_with(|| {
            let weight = |port: u16| match &config.weights {
                None => site.capacity(port, frame.dst),
                Some(weights) => weights[site.peer(port) as usize] as u64,
            };
            let weights: Vec<(u16, u64)> = hops.iter().map(|&port| (port, weight(port))).collect();
            match config.entries {
                None => Shares::new(weights),
                Some(entries) => Shares::in_table(&weights, entries as u64),
            }
        });
        Choice::Port(table.of(hash))
    }
}

pub const MODEL: Model = Model {
    kind: "balance",
    name: "wcmp",
    source: "Zhou et al., EuroSys 2014",
    faithful: "one path per flow by hash, acknowledgements too; a next hop's share is the capacity of the shortest paths behind it, or as given; with `entries` rounded \
               to replicated entries of a table of that size",
    simplified: "the table's size is per destination rack, not shared by all groups of a switch; shares are rounded by largest remainders, not by the paper's bound on \
                 oversubscription",
};
