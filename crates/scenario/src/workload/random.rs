//! `kind = "random"`: resolves rate, end and destinations of open-loop traffic.

use super::block::{Place, Workload, pattern, rounded};
use super::hosts::{Hosts, Sizes};
use super::keys::FlowKeys;
use super::load::{self, LoadBasis};
use super::receivers;
use crate::validate::traffic::common::{self, Shared};
use crate::validate::traffic::context::{Offer, TrafficContext};
use crate::validate::traffic::offered::framing;
use crate::validate::traffic::{select, sizes};
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, as_written, keys, table, words};
use afflux_net::Model;
use afflux_net::spec::Undrawn;
use afflux_traffic::{Destinations, Generated, SpatialMatrix, Stop};
use afflux_units::{Bytes, Span, Time};

keys! {
    /// Independent sources that start flows at random or regular times. `load` with `load_basis`,
    /// or `flows_per_second`, sets the rate. `duration` or `flows` sets the end.
    pub struct Keys as "Random" => Random(context: &TrafficContext<'_>) {
        @flow: FlowKeys;
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        sizes: Sizes = required;
        /// Gaps between the flows of a source.
        arrivals: Arrivals = "poisson";
        /// Arrivals `"lognormal"`: standard deviation of the logarithm of gaps. Default 1; Parsimon has 1 and 2.
        sigma: f64 = none, in 0.0 to 5.0;
        /// Offered load as a fraction of the capacity that `load_basis` names. Default: required, or `flows_per_second`.
        load: f64 = none;
        /// Capacity that `load` is a fraction of. Default: required with `load`, because studies differ.
        load_basis: LoadBasis = none;
        /// Flows per second of one source, instead of `load`. Default: none: `load` is required
        /// instead.
        flows_per_second: f64 = none;
        /// Time during which flows start. Default: required, or `flows`.
        duration: Duration = none;
        /// Total number of flows. Default: none: `duration` is required instead.
        flows: u64 = none;
        /// Hosts that send.
        sources: Hosts as Vec<u32> = "all", check select::of(context);
        /// Hosts that receive.
        destinations: Hosts as Vec<u32> = "all", check select::of(context);
        /// Whether destinations are in other racks only.
        inter_rack: bool = false from "any host except the source";
        /// Share of flows that stay in the rack; the others leave it. Default: none: racks do not matter.
        rack_local: f64 = none;
        /// Hosts that receive more than others. Default: none: all destinations are equally likely.
        hotspot: Hotspot = none;
        /// File of weights from rack to rack: JSON rows, or Parsimon's
        /// `{"matrix": {"inner": [[…]]}}`. Default: none: racks do not matter.
        matrix: String = none;
        /// SHA-256 of `matrix`: another content is refused. Default: the digest of the file that is found.
        matrix_sha256: String = none;
    }
}

table! {
    /// Hosts that receive more flows than others.
    pub struct Hotspot {
        /// Hosts that receive more flows.
        pub hosts: Hosts,
        /// Share of flows that go to these hosts; the other flows go to any destination.
        pub share: f64,
    }
}

words! {
    /// Gaps between the flows of a source.
    pub enum Arrivals {
        /// Exponentially distributed gaps.
        Poisson,
        /// Log-normally distributed gaps, with heavier bursts (Parsimon).
        Lognormal,
        /// Equal gaps, with a random phase per source.
        Fixed,
    }
}

as_written!(Hotspot);

impl Workload for Keys {
    fn generate(
        &mut self,
        shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let key = place.key;
        let block = self.resolve(key, context)?;
        if let Some(Duration(lasts)) = self.duration
            && shared.start.0.saturating_add(lasts.0) > Time::LATEST.0
        {
            let text = format!(
                "\"{lasts}\": flows would start after 160 h, the latest time of a run: write less"
            );
            return Err(Wrong::at(place.at("duration"), text));
        }
        let sizes = sizes::required(&mut self.sizes, &place.at("sizes"), context)?;
        let choice = choice(self, &block, key, context)?;
        let weights = match &choice {
            Destinations::Matrix { matrix, racks } => Some(
                matrix.weights(racks, &block.sources).map_err(|error| common::wrong(error, key))?,
            ),
            _ => None,
        };
        let arrivals = match block.arrivals {
            Arrivals::Lognormal => {
                afflux_traffic::Arrivals::LogNormal { sigma: fill(&mut self.sigma, 1.0) }
            }
            _ if block.sigma.is_some() => {
                let what = "has an effect only with arrivals = \"lognormal\"";
                return Err(Wrong::at(place.at("sigma"), what));
            }
            Arrivals::Poisson => afflux_traffic::Arrivals::Poisson,
            Arrivals::Fixed => afflux_traffic::Arrivals::Fixed { random_phase: true },
        };
        let mut pattern = afflux_traffic::Random {
            sources: block.sources,
            destinations: block.destinations,
            choice,
            sizes,
            arrivals,
            flows_per_second: 0.0,
            weights,
            start: shared.start,
            stop: Stop { after: block.duration, flows: block.flows },
        };
        if pattern.stop.after.is_none() && pattern.stop.flows.is_none() {
            return Err(Wrong::at(
                key.clone(),
                "the end is missing: write duration (time during which flows start) or flows (their number)",
            ));
        }
        let written = load::Written {
            load: block.load,
            load_basis: block.load_basis,
            flows_per_second: block.flows_per_second,
        };
        let transport = shared.template.transport;
        let (rate, note) = load::flows_per_second(written, &pattern, transport, key, context)?;
        pattern.flows_per_second = rate;
        warn_of_flows_and_duration(&pattern, key, context);
        context.budget.reserve(pattern.expected_flows(), || {
            place.at(if pattern.stop.flows.is_some() { "flows" } else { "duration" })
        })?;
        offer(block.load, &pattern, transport, place.index, key, context);
        let undrawn = shortened(&mut pattern, context.most_flows);
        let all_drawn = undrawn.is_none();
        context.undrawn.extend(undrawn.map(|undrawn| (place.index, undrawn)));
        let mut given = pattern
            .generate(&shared.template, &shared.draws)
            .map_err(|error| common::wrong(error, key))?;
        if given.flows.is_empty() && all_drawn {
            self.warn_of_no_flows(&pattern, key, context);
        } else {
            given.notes.extend(note);
        }
        Ok(given)
    }
    fn paths(&mut self) -> Vec<&mut String> {
        self.matrix.iter_mut().chain(Sizes::paths(&mut self.sizes)).collect()
    }
}

pub const MODELS: &[Model] = &[
    pattern(
        "random",
        "HPCC and ConWeave generators, pFabric's scripts",
        "every host an independent source; destinations uniform, by rack, hot or by a matrix",
        "open loop: a flow starts whatever became of those before",
    ),
    pattern(
        "spatial",
        "Parsimon's rack-to-rack matrices",
        "racks by weight, hosts uniform within",
        "all hosts of a rack send alike",
    ),
];

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

/// Records the rates that the block offers to the links of its sources and receivers, and warns if it
/// overloads the uplinks of their racks.
fn offer(
    load: Option<f64>,
    pattern: &afflux_traffic::Random,
    transport: u16,
    index: usize,
    key: &Key,
    context: &mut TrafficContext,
) {
    let reported = load.is_some_and(|load| load > 1.0);
    let key = key.clone().name(if load.is_some() { "load" } else { "flows_per_second" });
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
    let weight = |place: usize| pattern.weights.as_ref().map_or(1.0, |weights| weights[place]);
    let sources = pattern.sources.iter().enumerate();
    let sent: Vec<(u32, f64)> =
        sources.map(|(place, host)| (*host, rate * weight(place))).collect();
    let all: f64 = sent.iter().map(|(_, rate)| rate).sum();
    let received =
        receivers::shares(pattern).into_iter().map(|(host, share)| (host, all * share)).collect();
    context.offers.push(Offer { block: index, key, from, to, sent, received, reported });
}

impl Keys {
    /// Warns that no flow of the block starts, with the keys that decide on the number of flows.
    fn warn_of_no_flows(
        &self,
        pattern: &afflux_traffic::Random,
        key: &Key,
        context: &mut TrafficContext,
    ) {
        let Some(Duration(lasts)) = self.duration.filter(|_| self.flows != Some(0)) else {
            let text = "this traffic generates no flows: write at least 1, or remove the block";
            context.warnings.push(Wrong::at(key.clone().name("flows"), text));
            return;
        };
        let short = |n: f64| if n < 1e-4 { format!("{n:e}") } else { n.to_string() };
        let rate = match (self.load, self.flows_per_second) {
            (Some(load), _) => {
                let mean = Bytes(pattern.sizes.mean_drawn() as u64);
                format!("load = {} and flows of {mean} on average", short(load))
            }
            (None, rate) => format!("flows_per_second = {}", short(rate.unwrap_or_default())),
        };
        let cure = if self.load.is_some() {
            "a longer duration, a higher load or smaller sizes"
        } else {
            "a longer duration or a higher flows_per_second"
        };
        let text = format!(
            "\"{lasts}\": this traffic generates no flows with this seed: with {rate}, {} sources start about {} flows in this time; write {cure}, or remove the block",
            pattern.sources.len(),
            rounded(pattern.expected_flows()),
        );
        context.warnings.push(Wrong::at(key.clone().name("duration"), text));
    }
}

/// Warns of a block with both `flows` and `duration`, of which only one has an effect.
fn warn_of_flows_and_duration(
    pattern: &afflux_traffic::Random,
    key: &Key,
    context: &mut TrafficContext,
) {
    let Stop { after: Some(lasts), flows: Some(flows) } = pattern.stop else { return };
    // The weights of sources are 1 on average.
    let expected = pattern.flows_per_second * pattern.sources.len() as f64 * lasts.as_seconds();
    let (name, end) = if expected < flows as f64 {
        ("flows", format!("duration = \"{lasts}\""))
    } else {
        ("duration", format!("flows = {flows}"))
    };
    let text = format!(
        "has no effect: the traffic ends with {end}, because about {expected:.0} flows would start in \"{lasts}\"; write only one of flows and duration"
    );
    context.warnings.push(Wrong::at(key.clone().name(name), text));
}

/// Warns if the traffic between racks exceeds the uplinks of an oversubscribed fabric. Returns true
/// if it does. A host with several links has no rack, so it draws no warning.
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
        || context.facts.topology.is_multihomed()
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
fn choice(
    keys: &mut Keys,
    random: &Random,
    key: &Key,
    context: &mut TrafficContext,
) -> Result<Destinations, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let rules = [
        ("inter_rack", random.inter_rack),
        ("rack_local", random.rack_local.is_some()),
        ("hotspot", random.hotspot.is_some()),
        ("matrix", random.matrix.is_some()),
    ];
    let mut given = rules.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        return Err(meaningless(at(second), first));
    }
    let facts = context.facts;
    let racks = |name: &str| facts.racks().map_err(|message| Wrong::at(at(name), message));
    let share = |share: f64, key: Key| {
        if (0.0..=1.0).contains(&share) {
            Ok(share)
        } else {
            Err(Wrong::at(key, format!("found {share}: write a number from 0 to 1")))
        }
    };
    if random.inter_rack {
        let racks = racks("inter_rack")?;
        if racks.len() < 2 {
            return Err(Wrong::at(at("inter_rack"), "the fabric has only one rack: remove it"));
        }
        return Ok(Destinations::OtherRacks(racks));
    }
    if let Some(local) = random.rack_local {
        let key = at("rack_local");
        let share = share(local, key.clone())?;
        let racks = racks("rack_local")?;
        if racks.len() < 2 {
            return Err(Wrong::at(key, "the fabric has only one rack: remove it"));
        }
        if racks.len() == context.facts.hosts() && share > 0.0 {
            return Err(Wrong::at(
                key,
                "every rack has a single host, so no flow can stay in its rack: remove it",
            ));
        }
        return Ok(Destinations::RackLocal { racks, share });
    }
    if let Some(hotspot) = &random.hotspot {
        let key = at("hotspot");
        let at_hosts = key.clone().name("hosts");
        let hosts = select::hosts(&hotspot.hosts, &at_hosts, facts)?;
        if let Some(other) =
            hosts.iter().find(|host| random.destinations.binary_search(host).is_err())
        {
            let text = format!(
                "{} is not one of destinations, and receives flows all the same: write it there too, or name other hosts here",
                facts.name(*other)
            );
            context.warnings.push(Wrong::at(at_hosts, text));
        }
        return Ok(Destinations::Hotspot {
            hosts,
            share: share(hotspot.share, key.name("share"))?,
        });
    }
    if let Some(file) = &mut keys.matrix {
        let path = context.inputs.identify(file, &mut keys.matrix_sha256, &at("matrix"))?;
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
