//! `kind = "random"`.

use super::Around;
use super::common::{self, shared};
use super::load;
use super::patterns::all;
use super::{select, sizes};
use crate::document::{Arrivals, Random};
use crate::tree::{Key, Wrong};
use crate::validate::{fill, meaningless};
use afflux_traffic::{Classes, Destinations, Generated, SpatialMatrix, Stop};

pub fn generate(random: &mut Random, index: usize, key: &Key, classes: &mut Classes, around: &mut Around) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let mut transport = random.transport.take();
    let shared = shared(random.common(), Some(&mut transport), index, key, classes, around)?;
    random.transport = transport;
    let sizes = sizes::distribution(&mut random.sizes, &at("sizes"), around.inputs)?;
    let sources = select::hosts(&fill(&mut random.sources, all()), &at("sources"), around.facts)?;
    let destinations = select::hosts(&fill(&mut random.destinations, all()), &at("destinations"), around.facts)?;
    let choice = choice(random, key, around)?;
    let weights = match &choice {
        Destinations::Matrix { matrix, racks } => Some(matrix.weights(racks, &sources).map_err(|error| common::wrong(error, key))?),
        _ => None,
    };
    let arrivals = match fill(&mut random.arrivals, Arrivals::Poisson) {
        Arrivals::Lognormal => afflux_traffic::Arrivals::LogNormal { sigma: fill(&mut random.sigma, 1.0) },
        _ if random.sigma.is_some() => return Err(Wrong::at(at("sigma"), "has a meaning with arrivals = \"lognormal\" only")),
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
        return Err(Wrong::at(key.clone(), "the end is missing: write duration (flows start for so long) or flows (so many in all)"));
    }
    let (rate, note) = load::flows_per_second(random, &pattern, shared.template.transport, key, around)?;
    pattern.flows_per_second = rate;
    around.room.reserve(pattern.expected_flows(), || at(if pattern.stop.flows.is_some() { "flows" } else { "duration" }))?;
    let mut given = pattern.generate(&shared.template, &shared.draws).map_err(|error| common::wrong(error, key))?;
    given.notes.extend(note);
    Ok(given)
}

/// Where flows go.
fn choice(random: &mut Random, key: &Key, around: &Around) -> Result<Destinations, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let inter_rack = fill(&mut random.inter_rack, false);
    let rules =
        [("inter_rack", inter_rack), ("rack_local", random.rack_local.is_some()), ("hotspot", random.hotspot.is_some()), ("matrix", random.matrix.is_some())];
    let mut given = rules.iter().filter(|(_, given)| *given).map(|(name, _)| *name);
    if let (Some(first), Some(second)) = (given.next(), given.next()) {
        return Err(meaningless(at(second), first));
    }
    let racks = |name: &str| around.facts.racks().map_err(|message| Wrong::at(at(name), message));
    let share = |share: f64, key: Key| {
        if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(Wrong::at(key, format!("found {share}: write a number from 0 to 1"))) }
    };
    if inter_rack {
        let racks = racks("inter_rack")?;
        if racks.len() < 2 {
            return Err(Wrong::at(at("inter_rack"), "the fabric has only one rack"));
        }
        return Ok(Destinations::OtherRacks(racks));
    }
    if let Some(local) = random.rack_local {
        return Ok(Destinations::RackLocal { racks: racks("rack_local")?, share: share(local, at("rack_local"))? });
    }
    if let Some(hotspot) = &random.hotspot {
        let key = at("hotspot");
        let hosts = select::hosts(&hotspot.hosts, &key.clone().name("hosts"), around.facts)?;
        return Ok(Destinations::Hotspot { hosts, share: share(hotspot.share, key.name("share"))? });
    }
    if let Some(file) = &mut random.matrix {
        let path = around.inputs.identify(file, &mut random.matrix_sha256, &at("matrix"))?;
        let matrix = SpatialMatrix::read(&path).map_err(|error| {
            let mut wrong = common::wrong(error, key);
            wrong.key = at("matrix");
            wrong
        })?;
        return Ok(Destinations::Matrix { matrix, racks: racks("matrix")? });
    }
    if random.matrix_sha256.is_some() {
        return Err(Wrong::at(at("matrix_sha256"), "has a meaning with matrix only"));
    }
    Ok(Destinations::Uniform)
}
