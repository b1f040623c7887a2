//! What the modes of `kind = "rdma"` ask of switches.

use crate::document::{Host, Transport};
use crate::spelling;
use crate::tree::{Key, Wrong};
use afflux_net::congestion::rate::RdmaCongestion;
use afflux_net::spec::{Balance, Plan, RouteHash};
use afflux_net::transports::{Entropy, RdmaMode};

/// Switches do what the modes of the transports in use expect of them.
pub fn fits(plan: &Plan, host: &Host) -> Result<(), Wrong> {
    let rates: std::collections::BTreeSet<u64> = plan.topology.links.iter().map(|link| link.rate.0).collect();
    if plan.has_telemetry() && rates.len() > 16 {
        let control = RdmaCongestion::ALL.iter().find(|control| control.about().is_some_and(|about| about.telemetry));
        let name = control.map_or("", |control| control.name());
        let found = format!("\"{name}\": its telemetry tells at most 16 rates of links apart, this fabric has {}", rates.len());
        return Err(Wrong::at(Key::from("host.transport").name("congestion"), found));
    }
    let named = std::iter::once((Key::from("host.transport"), host.transport.as_ref()))
        .chain(host.transports.iter().map(|(name, transport)| (Key::from("host.transports").name(name), Some(transport))));
    for (index, (key, transport)) in named.enumerate() {
        let Some(Transport::Rdma(rdma)) = transport else { continue };
        let of_it = || plan.flows.iter().filter(|flow| usize::from(flow.transport) == index && flow.src != flow.dst);
        if of_it().next().is_none() {
            continue;
        }
        if matches!(rdma.entropy, Some(Entropy::Reps(_))) {
            recycles(plan, &key)?;
        }
        let pausing = plan.switches.iter().filter(|switch| switch.pfc.is_some()).count();
        let key = key.name("mode");
        match rdma.mode.expect("filled in") {
            RdmaMode::Lossless | RdmaMode::IrnPfc if pausing < plan.switches.len() => {
                return Err(Wrong::at(key, "needs switches that pause: write [switch.pfc], or mode = \"irn\" or \"gbn_no_pfc\""));
            }
            RdmaMode::Lossless | RdmaMode::IrnPfc => {
                let paused = plan.switches.iter().filter_map(|switch| switch.pfc.as_ref()).fold(0xff, |all, pfc| all & pfc.priorities);
                if let Some(flow) = of_it().find(|flow| paused >> flow.priority & 1 == 0) {
                    let found =
                        format!("flow {} has priority {}, which is not among switch.pfc.priorities: give its traffic one that is", flow.id, flow.priority);
                    return Err(Wrong::at(key, found));
                }
            }
            mode => {
                let paused = plan.switches.iter().filter_map(|switch| switch.pfc.as_ref()).fold(0, |any, pfc| any | pfc.priorities);
                if let Some(flow) = of_it().find(|flow| paused >> flow.priority & 1 != 0) {
                    let found = format!("switches pause the priority {} of flow {}: write mode = \"lossless\" or \"irn_pfc\"", flow.priority, flow.id);
                    return Err(Wrong::at(key, found));
                }
                if mode == RdmaMode::SemiLossless && !plan.switches.iter().all(|switch| switch.honours_pause) {
                    return Err(Wrong::at(key, "needs switches that obey pauses: write switch.honours_pause = true"));
                }
            }
        }
    }
    Ok(())
}

/// Entropies mean something where switches hash frames, and nothing takes them for flows.
fn recycles(plan: &Plan, key: &Key) -> Result<(), Wrong> {
    let at = || key.clone().name("entropy");
    for switch in &plan.switches {
        if !switch.balance.about().hashes {
            let others = spelling::list(Balance::ALL.iter().filter(|about| about.hashes).map(|about| about.model.name));
            return Err(Wrong::at(at(), format!("\"reps\" is for switches that choose by hash: write switch.balance = {others}")));
        }
        if switch.hash == RouteHash::Murmur3 {
            return Err(Wrong::at(at(), "\"reps\": switch.hash = \"murmur3\" is of addresses and ports alone; write another"));
        }
        if let Some(about) = switch.aqm.as_ref().map(|aqm| aqm.about()).filter(|about| about.alone) {
            let name = about.model.name;
            return Err(Wrong::at(at(), format!("\"reps\": {name} would take every frame for a flow of its own; write another aqm")));
        }
    }
    Ok(())
}
