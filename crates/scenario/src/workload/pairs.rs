//! `kind = "pairs"`: fixed pairs of hosts.

use super::block::{Place, Workload};
use super::bulk::RoundKeys;
use super::hosts::{HostItem, Sizes};
use super::keys::FlowKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::TrafficContext;
use crate::validate::traffic::select;
use afflux_config::keys;
use afflux_config::tree::Wrong;
use afflux_net::Model;
use afflux_traffic::Generated;

keys! {
    /// Fixed pairs of hosts.
    pub struct Keys as "Pairs" => Pairs(context: &TrafficContext<'_>) {
        @flow: FlowKeys;
        /// `[[source, destination], …]`. Where a pattern or range means several hosts, each source sends to each destination.
        pairs: Vec<[HostItem; 2]> as Vec<(u32, u32)> = required, check |pairs, key| select::pairs(&pairs, &key, context.facts);
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        sizes: Sizes = required;
        @rounds: RoundKeys;
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let Pairs { pairs, .. } = self.resolve(place.key, context)?;
        self.rounds.generate(pairs, &mut self.sizes, &shared, &place, context)
    }
    fn paths(&mut self) -> Vec<&mut String> {
        Sizes::paths(&mut self.sizes)
    }
}

/// The rows of permutations describe the flows of pairs too.
pub const MODELS: &[Model] = &[];
