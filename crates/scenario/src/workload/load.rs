//! `load` and `load_basis`: converts a load of this fabric into flows per second.

use crate::validate::traffic::common;
use crate::validate::traffic::context::TrafficContext;
use afflux_config::tree::{Key, Wrong};
use afflux_config::words;
use afflux_traffic::LoadBasis as Basis;
use afflux_traffic::{Capacity, Framing, Shares};

/// Keys of the rate, as written.
pub struct Written {
    pub load: Option<f64>,
    pub load_basis: Option<LoadBasis>,
    pub flows_per_second: Option<f64>,
}

words! {
    /// Capacity that a load is a fraction of. C is the rate of a host's link, S the mean size of a
    /// flow, λ the flows per second of a host.
    pub enum LoadBasis {
        /// The host's link, payload only: λ = load·C/(8·S). The HPCC generator.
        HostPayload,
        /// The host's link with all headers: λ = load·C/(8·S·w), w the ratio of wire bytes to payload. The pFabric family.
        HostWire,
        /// The racks' uplinks as if all traffic left the rack: λ = load·C/(oversubscription·8·S). ConWeave's network load; ABM, Reverie.
        FabricOversub,
        /// The bisection bandwidth, as if all traffic crossed the bisection.
        Bisection,
        /// The most loaded link under even spreading over all shortest paths, payload only. Parsimon.
        MaxLink,
    }
}

/// Returns the flows per second of one source, and a note for the user.
pub fn flows_per_second(
    written: Written,
    pattern: &afflux_traffic::Random,
    transport: u16,
    key: &Key,
    context: &mut TrafficContext,
) -> Result<(f64, Option<String>), Wrong> {
    let at = |name: &str| key.clone().name(name);
    let names = Basis::ALL.map(Basis::name);
    match (written.load, written.load_basis, written.flows_per_second) {
        (None, None, Some(rate)) if rate > 0.0 && rate.is_finite() => Ok((rate, None)),
        (None, None, Some(rate)) => {
            Err(Wrong::at(at("flows_per_second"), format!("found {rate}: write a number above 0")))
        }
        (None, Some(_), _) => Err(Wrong::at(at("load_basis"), "has an effect only with load")),
        (None, None, None) => Err(Wrong::at(
            key.clone(),
            "the rate is missing: write load with load_basis, or flows_per_second",
        )),
        (Some(_), _, Some(_)) => {
            Err(Wrong::at(at("flows_per_second"), "load is given too: write only one of the two"))
        }
        (Some(load), None, None) => {
            let what = "the capacity that load is a fraction of";
            Err(Wrong::at(
                at("load"),
                format!(
                    "load = {load} needs load_basis, {what}: write {}",
                    afflux_config::spelling::list(names)
                ),
            ))
        }
        (Some(load), Some(basis), None) => {
            if !(load > 0.0 && load <= 100.0) {
                return Err(Wrong::at(
                    at("load"),
                    format!("found {load}: write a number above 0, as in 0.5 for one half"),
                ));
            }
            let basis = of(basis);
            let capacity = capacity(basis, pattern, transport, context).map_err(|message| {
                Wrong::at(at("load_basis"), format!("\"{}\" {message}", basis.name()))
            })?;
            let rate = basis
                .flows_per_second(load, &capacity, &pattern.sizes)
                .map_err(|error| common::wrong(error, key))?;
            let offered = rate * 8.0 * pattern.sizes.mean_drawn() / capacity.host_rate.0 as f64;
            if load > 1.0 {
                let text = format!(
                    "load = {load} is above 1: the traffic exceeds the capacity \"{}\", and queues grow as long as it lasts; write at most 1",
                    basis.name()
                );
                context.warnings.push(Wrong::at(at("load"), text));
            }
            let mut note = format!(
                "load {load} of \"{}\" is {:.2} % of a source's link in payload",
                basis.name(),
                100.0 * offered
            );
            // With a matrix, sources of some racks send more than others.
            if let Some(weights) = &pattern.weights {
                let most = weights.iter().copied().fold(0.0, f64::max);
                let most = 100.0 * offered * most;
                note += &format!(" on average, and {most:.2} % of that of the busiest source");
            }
            Ok((rate, Some(note)))
        }
    }
}

fn of(basis: LoadBasis) -> Basis {
    match basis {
        LoadBasis::HostPayload => Basis::HostPayload,
        LoadBasis::HostWire => Basis::HostWire,
        LoadBasis::FabricOversub => Basis::FabricOversub,
        LoadBasis::Bisection => Basis::Bisection,
        LoadBasis::MaxLink => Basis::MaxLink,
    }
}

fn capacity(
    basis: Basis,
    pattern: &afflux_traffic::Random,
    transport: u16,
    context: &TrafficContext,
) -> Result<Capacity, String> {
    let facts = context.facts;
    let mut capacity =
        Capacity::new(pattern.sources.len() as u32, facts.host_rate(&pattern.sources)?);
    match basis {
        Basis::HostPayload => {}
        Basis::HostWire => {
            let payload = context.transports.configs[transport as usize].payload();
            let wire = context.keys.wire;
            capacity.framing = Some(Framing {
                payload: payload.into(),
                header: wire.data_header.into(),
                min_frame: wire.min_frame.into(),
                gap: wire.gap.into(),
            });
        }
        Basis::FabricOversub => capacity.oversubscription = facts.oversubscription()?,
        Basis::Bisection => {
            let unknown = "is defined where all links join neighbouring tiers (star, leaf-spine, fat-tree, VL2) and for dumbbells, not for this fabric: write another basis";
            capacity.bisection = Some(facts.bisection().ok_or(unknown)?);
        }
        Basis::MaxLink => {
            let shares = Shares::of(pattern);
            let share = |source, to| shares.share(source, to);
            capacity.busiest = facts.busiest(&pattern.sources, shares.receivers(), share);
        }
    }
    Ok(capacity)
}
