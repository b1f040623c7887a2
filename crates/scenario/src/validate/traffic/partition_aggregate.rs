//! `kind = "partition_aggregate"`: queries with their answers, messages and background flows.

use super::common::{self, shared};
use super::context::TrafficContext;
use super::patterns::all;
use super::{select, sizes};
use crate::document::{PartitionAggregate, SizeTable, Sizes};
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Size};
use afflux_traffic::{BackgroundFlows, Classes, Generated, SizeDistribution};
use afflux_units::{Bytes, Span};

/// Largest default number of workers of a query, as in the studies of DCTCP.
const WORKERS: usize = 40;

pub fn generate(
    service: &mut PartitionAggregate,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mut transport = service.transport.take();
    let shared = shared(service.common(), Some(&mut transport), index, key, classes, context)?;
    service.transport = transport;
    let hosts = select::hosts(&fill(&mut service.hosts, all()), &at("hosts"), context.facts)?;
    let workers = fill(&mut service.workers, hosts.len().saturating_sub(1).min(WORKERS) as u32);
    let duration = service.duration.0;
    if duration == Span::ZERO {
        return Err(Wrong::at(at("duration"), "\"0s\": write a time above 0"));
    }
    let mut class = |name: &str| {
        classes
            .index(name)
            .ok_or_else(|| Wrong::at(key.clone(), "there are more than 65,536 classes"))
    };
    let (message_class, background_class) = (class("message")?, class("background")?);
    let rate = |rate: f64, name: &str| match rate {
        rate if rate.is_finite() && rate >= 0.0 => Ok(rate),
        rate => Err(Wrong::at(
            at(name),
            format!("found {rate}: write a number of flows per second, 0 for none"),
        )),
    };
    let messages = BackgroundFlows {
        sizes: range(&mut service.message, (50_000, 1_000_000), at("message"), context)?,
        per_second: rate(fill(&mut service.messages_per_second, 1.0), "messages_per_second")?,
        class: message_class,
    };
    let background = BackgroundFlows {
        sizes: range(&mut service.background, (1_000_000, 50_000_000), at("background"), context)?,
        per_second: rate(fill(&mut service.background_per_second, 0.1), "background_per_second")?,
        class: background_class,
    };
    let pattern = afflux_traffic::PartitionAggregate {
        hosts,
        workers,
        query: range(&mut service.query, (2_000, 20_000), at("query"), context)?,
        queries_per_second: rate(service.queries_per_second, "queries_per_second")?,
        jitter: fill(&mut service.jitter, Duration(Span::ZERO)).0,
        messages,
        background,
        start: shared.start,
        duration,
    };
    context.budget.reserve(pattern.expected_flows(), || at("duration"))?;
    pattern.generate(&shared.template, &shared.draws).map_err(|error| common::wrong(error, key))
}

/// Resolves a size distribution, by default uniform from `min` to `max`.
fn range(
    slot: &mut Option<Sizes>,
    (min, max): (u64, u64),
    key: Key,
    context: &mut TrafficContext,
) -> Result<SizeDistribution, Wrong> {
    let size = |bytes| Some(Size(Bytes(bytes)));
    let sizes = slot.get_or_insert_with(|| {
        Sizes::Table(SizeTable { min: size(min), max: size(max), ..SizeTable::default() })
    });
    sizes::distribution(sizes, &key, context)
}
