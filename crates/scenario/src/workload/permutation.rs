//! `kind = "permutation"`: every host sends to one other and receives from one.

use super::block::{Place, Workload, pattern};
use super::bulk::RoundKeys;
use super::hosts::{Hosts, Sizes};
use super::keys::FlowKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::TrafficContext;
use crate::validate::traffic::select;
use afflux_config::keys;
use afflux_config::tree::Wrong;
use afflux_net::Model;
use afflux_traffic::Generated;

keys! {
    /// Every host sends to one other and receives from one: drawn at random, or by a stride.
    pub struct Keys as "Permutation" => Permutation(context: &TrafficContext<'_>) {
        @flow: FlowKeys;
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        sizes: Sizes = required;
        /// Hosts that take part.
        hosts: Hosts as Vec<u32> = "all", check select::of(context);
        /// Instead of drawing: the host at position i sends to the one at i + stride. Default: none: destinations are drawn.
        stride: u32 = none;
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
        let Permutation { hosts, stride, .. } = self.resolve(place.key, context)?;
        let pairs = match stride {
            Some(stride) => afflux_traffic::pairs::stride(&hosts, stride),
            None => afflux_traffic::pairs::permutation(&hosts, &shared.draws),
        };
        let pairs = pairs.map_err(|error| place.wrong(error))?;
        self.rounds.generate(pairs, &mut self.sizes, &shared, &place, context)
    }
    fn paths(&mut self) -> Vec<&mut String> {
        Sizes::paths(&mut self.sizes)
    }
}

pub const MODELS: &[Model] = &[
    pattern(
        "permutation",
        "htsim, MPTCP (SIGCOMM'11)",
        "all permutations without fixed points are equally likely",
        "none",
    ),
    pattern("stride", "Hedera, NSDI'10", "host i to i + stride", "none"),
];
