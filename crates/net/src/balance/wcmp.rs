//! Weighted ECMP (Zhou et al., EuroSys 2014): hashing with unequal shares, for fabrics with paths
//! of different capacity.

use super::shares::Shares;
use super::{About, Choice, Holding, PathContext, Policy, Role};
use crate::Model;
use crate::frame::Frame;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Off, Or, keys};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

keys! {
    /// Weighted ECMP: hashing with unequal shares of next hops.
    pub struct Keys as "Wcmp" => WcmpConfig(context: &PathContext<'_>) {
        /// Weight of each next hop, by its name: 1 to 1000000. Next hops without a weight have 1.
        /// `*` and `?` in names work as in `override`. If several names match, the last in
        /// alphabetical order applies.
        weights: BTreeMap<String, u32> as Option<Vec<u32>> = none "the capacity of the shortest paths behind each", check |given, at| by_node(&given, context, &at);
        /// Number of entries, 2 to 65536, of the table in which a next hop has entries in
        /// proportion to its share, or `"off"` for exact shares.
        entries: Or<Off, u32> = "off", check |entries, at| match entries.0 {
            Some(entries) if !(2..=65_536).contains(&entries) => Err(Wrong::at(at, format!("found {entries}: write a number from 2 to 65536, or \"off\""))),
            entries => Ok(entries),
        };
    }
}

/// Returns the weights of all nodes.
fn by_node(
    given: &BTreeMap<String, u32>,
    context: &PathContext<'_>,
    key: &Key,
) -> Result<Vec<u32>, Wrong> {
    let mut weights = vec![1; context.nodes];
    for (pattern, &weight) in given {
        let at = key.clone().name(pattern);
        if !(1..=1_000_000).contains(&weight) {
            return Err(Wrong::at(at, format!("found {weight}: write a weight from 1 to 1000000")));
        }
        for node in (context.switches)(pattern).map_err(|message| Wrong::at(at, message))? {
            weights[node as usize] = weight;
        }
    }
    Ok(weights)
}

pub struct Wcmp {
    config: WcmpConfig,
    /// Shares by epoch of the routes and destination rack.
    tables: FxHashMap<(usize, u32), Shares>,
}

impl Policy for Wcmp {
    type Config = WcmpConfig;
    fn new(config: &WcmpConfig, _: &[Option<u64>]) -> Self {
        Wcmp { config: config.clone(), tables: FxHashMap::default() }
    }
    fn selects_path(&self, _: &Frame) -> bool {
        true
    }
    fn choose(
        &mut self,
        site: &mut impl Holding,
        frame: &mut Frame,
        _: Role,
        hops: &[u16],
    ) -> Choice {
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

pub const ABOUT: About = About { hashes: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "wcmp",
    source: "Zhou et al., EuroSys 2014",
    faithful: "one path per flow by hash, also for acknowledgements; a next hop's weight is the capacity of the shortest paths over it, or the given \
               weight; parallel links share what lies behind their peer, and after failures a link counts in proportion to what is left behind it; \
               with `entries`, weights are rounded to replicated entries of a table of that size",
    simplified: "the table's size is per destination rack, not shared by all groups of a switch; shares are rounded by largest remainders, not by the \
                 paper's bound on oversubscription",
};
