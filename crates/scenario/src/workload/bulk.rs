//! Rounds of flows between fixed pairs of hosts: the common part of permutations and pairs.

use super::block::Place;
use super::hosts::Sizes;
use crate::validate::traffic::common::{self, Shared};
use crate::validate::traffic::context::TrafficContext;
use crate::validate::traffic::sizes;
use crate::validate::traffic::timing::period;
use afflux_config::keys::at_most_a_day;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, keys};
use afflux_traffic::{Bulk, Generated};

keys! {
    /// Flows of each pair.
    pub struct RoundKeys as "Rounds" => Rounds {
        /// Flows per pair.
        rounds: u32 = 1, in 1 to 4_294_967_295 as "at least 1";
        /// Time between the starts of rounds. Default: required with several rounds.
        period: Duration = none;
        /// Each flow is delayed by a uniform time up to this.
        jitter: Duration = "0s", check at_most_a_day;
    }
}

impl RoundKeys {
    pub fn generate(
        &mut self,
        pairs: Vec<(u32, u32)>,
        sizes: &mut Option<Sizes>,
        shared: &Shared,
        place: &Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let sizes = sizes::required(sizes, &place.at("sizes"), context)?;
        let Rounds { rounds, period: written, jitter } = self.resolve(place.key)?;
        let period = period(written, rounds, place.key, "")?;
        let pattern = Bulk { pairs, sizes, start: shared.start, jitter, rounds, period };
        context.budget.reserve(pattern.expected_flows(), || place.at("rounds"))?;
        pattern
            .generate(&shared.template, &shared.draws)
            .map_err(|error| common::wrong(error, place.key))
    }
}
