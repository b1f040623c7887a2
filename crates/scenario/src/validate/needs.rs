//! Requirements of transports on switches.

use super::transport::Transports;
use afflux_config::spelling;
use afflux_config::tree::{Key, Wrong};
use afflux_net::congestion::rate::RdmaCongestion;
use afflux_net::spec::{Balance, NodeKind, Plan, RouteHash};
use afflux_net::transports::Hash;

/// Refuses links of two rates next to nodes that send PAUSE. PAUSE is counted in bit times, and
/// headroom in the bytes that arrive meanwhile, so both need links of one rate.
fn one_rate(plan: &Plan) -> Result<(), Wrong> {
    let nodes = &plan.topology.nodes;
    let pauses = |id: u32| match nodes[id as usize].kind {
        NodeKind::Switch => plan.switches[nodes[id as usize].config as usize].pfc.is_some(),
        NodeKind::Host => plan.hosts[nodes[id as usize].config as usize].storm.is_some(),
    };
    let two = plan
        .topology
        .links
        .iter()
        .find(|link| link.rates().count() > 1 && (pauses(link.a) || pauses(link.b)));
    two.map_or(Ok(()), |link| {
        let name = |id: u32| nodes[id as usize].name.as_str();
        let found = format!("\"{}-{}\" has two rates, and PFC needs links of one rate: write the same rate for both directions", name(link.a), name(link.b));
        Err(Wrong::at(Key::from("topology.override"), found))
    })
}

/// Refuses switch settings that do not meet the requirements of the transports in use.
pub fn fits(plan: &Plan, transports: &Transports) -> Result<(), Wrong> {
    one_rate(plan)?;
    let rates: std::collections::BTreeSet<u64> =
        plan.topology.links.iter().flat_map(|link| link.rates()).map(|rate| rate.0).collect();
    if plan.has_telemetry() && rates.len() > 16 {
        let control = RdmaCongestion::ALL
            .iter()
            .find(|control| control.about().is_some_and(|about| about.telemetry));
        let name = control.map_or("", |control| control.name());
        let found = format!(
            "\"{name}\": its telemetry can distinguish 16 link rates, and this fabric has {}",
            rates.len()
        );
        return Err(Wrong::at(Key::from("host.transport").name("congestion"), found));
    }
    for (index, key) in transports.named() {
        let requirements = plan.transports[usize::from(index)].parameters().requirements();
        let of_it =
            || plan.flows.iter().filter(|flow| flow.transport == index && flow.src != flow.dst);
        if of_it().next().is_none() {
            continue;
        }
        if let Hash::PerFrame(setting) = requirements.hash {
            hashes(plan, key.clone().name(setting.key), setting.text)?;
        }
        let Some(pauses) = requirements.pauses else { continue };
        let refused = |text: String| Err(Wrong::at(key.clone().name(pauses.key), text));
        let paused =
            || plan.switches.iter().map(|switch| switch.pfc.as_ref().map(|pfc| pfc.priorities));
        let mask = if pauses.needed {
            paused().flatten().fold(0xff, |all, of_it| all & of_it)
        } else {
            paused().flatten().fold(0, |any, of_it| any | of_it)
        };
        let wrong = of_it().find(|flow| (mask >> flow.priority & 1 != 0) != pauses.needed);
        match wrong {
            _ if pauses.needed && paused().any(|of_it| of_it.is_none()) => {
                return refused(format!(
                    "needs switches that pause: write [switch.pfc], or {}",
                    pauses.instead
                ));
            }
            Some(flow) if pauses.needed => {
                let found = format!(
                    "flow {} has priority {}, for which PFC is off",
                    flow.id, flow.priority
                );
                return refused(format!(
                    "{found}: give its traffic a priority of switch.pfc.priorities"
                ));
            }
            Some(flow) => {
                let found =
                    format!("flow {} has priority {}, for which PFC is on", flow.id, flow.priority);
                return refused(format!(
                    "{found}: write {}, or give its traffic a lossy priority",
                    pauses.instead
                ));
            }
            None if pauses.obeyed && !plan.switches.iter().all(|switch| switch.honours_pause) => {
                return refused(
                    "needs switches that obey pauses: write switch.honours_pause = true".into(),
                );
            }
            None => {}
        }
    }
    Ok(())
}

/// Refuses switches that ignore the hash that a sender chooses for each frame, and disciplines that
/// would take each such frame for a separate flow.
fn hashes(plan: &Plan, key: Key, word: &str) -> Result<(), Wrong> {
    for switch in &plan.switches {
        if !switch.balance.about().hashes {
            let others = spelling::list(
                Balance::ALL.iter().filter(|about| about.hashes).map(|about| about.model.name),
            );
            return Err(Wrong::at(
                key,
                format!(
                    "\"{word}\" needs switches that choose paths by hash: write switch.balance = {others}"
                ),
            ));
        }
        if switch.hash == RouteHash::Murmur3 {
            return Err(Wrong::at(
                key,
                format!(
                    "\"{word}\": switch.hash = \"murmur3\" hashes only addresses and ports; write another hash"
                ),
            ));
        }
        if let Some(about) = switch.aqm.as_ref().map(|aqm| aqm.about()).filter(|about| about.alone)
        {
            let name = about.model.name;
            return Err(Wrong::at(
                key,
                format!(
                    "\"{word}\" gives each frame its own entropy value, so {name} would treat each frame as a separate flow: write another aqm"
                ),
            ));
        }
    }
    Ok(())
}
