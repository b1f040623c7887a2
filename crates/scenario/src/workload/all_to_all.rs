//! `kind = "all_to_all"`: every host sends to every other.

use super::block::{Place, Workload, pattern};
use super::hosts::{Hosts, Sizes};
use super::keys::FlowKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::TrafficContext;
use crate::validate::traffic::timing::delay_of_next;
use crate::validate::traffic::{select, sizes};
use afflux_config::keys::meaningless;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, keys};
use afflux_net::Model;
use afflux_traffic::{Generated, JobKind, Stagger};
use afflux_units::Span;

keys! {
    /// One flow per ordered pair of hosts. All flows together are one job.
    pub struct Keys as "AllToAll" => AllToAll(context: &TrafficContext<'_>) of written {
        @flow: FlowKeys;
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        sizes: Sizes = required;
        /// Hosts that take part.
        hosts: Hosts as Vec<u32> = "all", check select::of(context);
        /// Time between two steps of the shuffle: step s starts s−1 times this later, whether or
        /// not earlier steps are complete.
        stagger: Duration = {written.parallel.is_none().then_some(Duration(Span::ZERO))} "`\"0s\"`: all at once";
        /// Number of simultaneous flows of each receiver. The receiver asks for the next flow when
        /// one has ended, as Hadoop's reducers do. Default: all.
        parallel: u32 = none;
        /// With `parallel`: time that a request takes.
        request_delay: Duration = {parallel.map(|_| Duration(context.facts.longest(0)))} "the longest delay between two hosts",
            check |delay, key| delay_of_next(delay, context, key);
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let block = self.resolve(place.key, context)?;
        let sizes = sizes::required(&mut self.sizes, &place.at("sizes"), context)?;
        let stagger = match (block.parallel, block.request_delay) {
            (Some(_), _) if block.stagger.is_some() => {
                return Err(meaningless(place.at("stagger"), "parallel"));
            }
            (Some(parallel), Some(delay)) => Stagger::Parallel { parallel, delay },
            (_, Some(_)) => {
                let what = "has an effect only with parallel";
                return Err(Wrong::at(place.at("request_delay"), what));
            }
            (_, None) => match block.stagger {
                None | Some(Span::ZERO) => Stagger::None,
                Some(interval) => Stagger::Interval(interval),
            },
        };
        let pattern =
            afflux_traffic::AllToAll { hosts: block.hosts, sizes, start: shared.start, stagger };
        context.budget.reserve(pattern.expected_flows(), || place.at("hosts"))?;
        pattern.generate(&shared.template, &shared.draws).map_err(|error| place.wrong(error))
    }
    fn jobs(&self) -> Option<JobKind> {
        Some(JobKind::Coflow)
    }
    fn paths(&mut self) -> Vec<&mut String> {
        Sizes::paths(&mut self.sizes)
    }
}

pub const MODELS: &[Model] = &[pattern(
    "all_to_all",
    "shuffles; pairwise exchange",
    "all at once, in timed steps, or so many at a time per receiver",
    "requests are a fixed delay, not frames",
)];
