//! `kind = "random"`: resolves rate, end and destinations of open-loop traffic.

use super::common::{self, shared};
use super::context::{Offer, TrafficContext};
use super::load;
use super::offered::framing;
use super::patterns::all;
use super::{select, sizes};
use crate::document::{Arrivals, Random};
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Undrawn;
use afflux_traffic::{Classes, Destinations, Generated, SpatialMatrix, Stop};
use afflux_units::{Span, Time};

pub fn generate(
    random: &mut Random,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mut transport = random.transport.take();
    let shared = shared(random.common(), Some(&mut transport), index, key, classes, context)?;
    random.transport = transport;
    let sizes = sizes::distribution(&mut random.sizes, &at("sizes"), context)?;
    let sources = select::hosts(&fill(&mut random.sources, all()), &at("sources"), context.facts)?;
    let destinations =
        select::hosts(&fill(&mut random.destinations, all()), &at("destinations"), context.facts)?;
    let choice = choice(random, key, context)?;
    let weights = match &choice {
        Destinations::Matrix { matrix, racks } => {
            Some(matrix.weights(racks, &sources).map_err(|error| common::wrong(error, key))?)
        }
        _ => None,
    };
    let arrivals = match fill(&mut random.arrivals, Arrivals::Poisson) {
        Arrivals::Lognormal => {
            afflux_traffic::Arrivals::LogNormal { sigma: fill(&mut random.sigma, 1.0) }
        }
        _ if random.sigma.is_some() => {
            return Err(Wrong::at(at("sigma"), "has an effect only with arrivals = \"lognormal\""));
        }
        Arrivals::Poisson => afflux_traffic::Arrivals::Poisson,
        Arrivals::Fixed => afflux_traffic::Arrivals::Fixed { random_phase: true },
    };
    let mut pattern = afflux_traffic::Random {
        sources,
        destinations,
        choice,
        sizes,
        arrivals,
        flows_per_second: 0.0,
        weights,
        start: shared.start,
        stop: Stop { after: random.duration.map(|duration| duration.0), flows: random.flows },
    };
    if pattern.stop.after.is_none() && pattern.stop.flows.is_none() {
        return Err(Wrong::at(
            key.clone(),
            "the end is missing: write duration (time during which flows start) or flows (their number)",
        ));
    }
    let (rate, note) =
        load::flows_per_second(random, &pattern, shared.template.transport, key, context)?;
    pattern.flows_per_second = rate;
    context.budget.reserve(pattern.expected_flows(), || {
        at(if pattern.stop.flows.is_some() { "flows" } else { "duration" })
    })?;
    offer(random, &pattern, shared.template.transport, index, key, context);
    context
        .undrawn
        .extend(shortened(&mut pattern, context.most_flows).map(|undrawn| (index, undrawn)));
    let mut given = pattern
        .generate(&shared.template, &shared.draws)
        .map_err(|error| common::wrong(error, key))?;
    given.notes.extend(note);
    Ok(given)
}

/// Ends the random process after about `most` flows. Returns the later part in closed form: flows
/// at the rate of all sources, of the mean size.
fn shortened(pattern: &mut afflux_traffic::Random, most: Option<u64>) -> Option<Undrawn> {
    let sources = pattern
        .weights
        .as_ref()
        .map_or(pattern.sources.len() as f64, |weights| weights.iter().sum());
    let rate = sources * pattern.flows_per_second;
    let by_number = pattern.stop.flows.map_or(f64::INFINITY, |flows| flows as f64 / rate);
    let lasts = pattern.stop.after.map_or(f64::INFINITY, |span| span.as_seconds()).min(by_number);
    let drawn = most? as f64 / rate;
    if !(drawn < lasts && lasts.is_finite()) {
        return None;
    }
    let after = |seconds: f64| Time(pattern.start.0.saturating_add((seconds * 1e12) as u64));
    let flows = (lasts - drawn) * rate;
    let (drawn, end) = (after(drawn), after(lasts));
    pattern.stop.after = Some(Span(drawn.0 - pattern.start.0));
    Some(Undrawn {
        flows,
        bytes: flows * pattern.sizes.mean_drawn(),
        start: pattern.start,
        drawn,
        end,
        sample: Vec::new(),
    })
}

/// Records the rate that the block offers to the links of its sources, and warns if it overloads
/// the uplinks of their racks.
fn offer(
    random: &Random,
    pattern: &afflux_traffic::Random,
    transport: u16,
    index: usize,
    key: &Key,
    context: &mut TrafficContext,
) {
    let reported = random.load.is_some_and(|load| load > 1.0);
    let key = key.clone().name(if random.load.is_some() { "load" } else { "flows_per_second" });
    let rate =
        pattern.flows_per_second * 8.0 * pattern.sizes.mean_drawn() * framing(transport, context);
    let each = pattern.flows_per_second * pattern.sources.len() as f64;
    let lasts = pattern
        .stop
        .after
        .or_else(|| pattern.stop.flows.map(|flows| Span((flows as f64 / each * 1e12) as u64)));
    let from = Span(pattern.start.0);
    let to = lasts.map(|lasts| Span(from.0.saturating_add(lasts.0)));
    let reported = reported || beyond_the_rack(pattern, rate, &key, context);
    // With a matrix some sources send more than others, so there is no common rate to record.
    if pattern.weights.is_none() {
        context.offers.push(Offer {
            block: index,
            key,
            from,
            to,
            sources: pattern.sources.clone(),
            rate,
            reported,
        });
    }
}

/// Warns if the traffic between racks exceeds the uplinks of an oversubscribed fabric. Returns true
/// if it does.
fn beyond_the_rack(
    pattern: &afflux_traffic::Random,
    rate: f64,
    key: &Key,
    context: &mut TrafficContext,
) -> bool {
    let hosts = context.facts.hosts() as usize;
    let (Ok(over), Ok(racks)) = (context.facts.oversubscription(), context.facts.racks()) else {
        return false;
    };
    if over <= 1.0
        || pattern.sources.len() != hosts
        || pattern.destinations.len() != hosts
        || racks.len() < 2
    {
        return false;
    }
    let leaves = match &pattern.choice {
        Destinations::OtherRacks(_) => 1.0,
        Destinations::Uniform => (hosts - hosts / racks.len() as usize) as f64 / (hosts - 1) as f64,
        _ => return false,
    };
    let Ok(link) = context.facts.host_rate(&pattern.sources) else { return false };
    let offered = rate * leaves * over / link.0 as f64;
    if offered > 1.000_1 && rate <= 1.000_1 * link.0 as f64 {
        let digits = if offered < 1.01 { 4 } else { 2 };
        let text = format!(
            "offers the uplinks of each rack {offered:.digits$} times what they carry (headers included), because the fabric is oversubscribed {over}:1: queues grow as \
             long as this lasts; write less, or load_basis = \"fabric_oversub\""
        );
        context.warnings.push(Wrong::at(key.clone(), text));
        return true;
    }
    false
}

/// Returns the rule by which sources choose destinations.
fn choice(random: &mut Random, key: &Key, context: &TrafficContext) -> Result<Destinations, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let inter_rack = fill(&mut random.inter_rack, false);
    let rules = [
        ("inter_rack", inter_rack),
        ("rack_local", random.rack_local.is_some()),
        ("hotspot", random.hotspot.is_some()),
        ("matrix", random.matrix.is_some()),
    ];
    let mut given = rules.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        return Err(meaningless(at(second), first));
    }
    let racks = |name: &str| context.facts.racks().map_err(|message| Wrong::at(at(name), message));
    let share = |share: f64, key: Key| {
        if (0.0..=1.0).contains(&share) {
            Ok(share)
        } else {
            Err(Wrong::at(key, format!("found {share}: write a number from 0 to 1")))
        }
    };
    if inter_rack {
        let racks = racks("inter_rack")?;
        if racks.len() < 2 {
            return Err(Wrong::at(at("inter_rack"), "the fabric has only one rack: remove it"));
        }
        return Ok(Destinations::OtherRacks(racks));
    }
    if let Some(local) = random.rack_local {
        return Ok(Destinations::RackLocal {
            racks: racks("rack_local")?,
            share: share(local, at("rack_local"))?,
        });
    }
    if let Some(hotspot) = &random.hotspot {
        let key = at("hotspot");
        let hosts = select::hosts(&hotspot.hosts, &key.clone().name("hosts"), context.facts)?;
        return Ok(Destinations::Hotspot {
            hosts,
            share: share(hotspot.share, key.name("share"))?,
        });
    }
    if let Some(file) = &mut random.matrix {
        let path = context.inputs.identify(file, &mut random.matrix_sha256, &at("matrix"))?;
        let matrix = SpatialMatrix::read(&path).map_err(|error| {
            let mut wrong = common::wrong(error, key);
            wrong.key = at("matrix");
            wrong
        })?;
        return Ok(Destinations::Matrix { matrix, racks: racks("matrix")? });
    }
    if random.matrix_sha256.is_some() {
        return Err(Wrong::at(at("matrix_sha256"), "has an effect only with matrix"));
    }
    Ok(Destinations::Uniform)
}
