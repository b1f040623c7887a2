//! `[cost]`: checks prices, and computes the cost of the fabric.

use super::switch::matching;
use crate::document::Cost;
use crate::scenario::FabricCost;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{NodeKind, Topology};
use afflux_traffic::names;

/// Returns the cost of the fabric, or `None` if there are no prices.
pub fn check(cost: &mut Option<Cost>, topology: &Topology) -> Result<Option<FabricCost>, Wrong> {
    let Some(cost) = cost else { return Ok(None) };
    let at = |name: &str| Key::from("cost").name(name);
    let currency = fill(&mut cost.currency, "USD".into());
    if currency.trim().is_empty() {
        return Err(Wrong::at(
            at("currency"),
            "\"\": write the currency as it is to be printed, for example \"USD\"",
        ));
    }
    if let Some(expected) = names::wrong(&currency) {
        return Err(Wrong::at(
            at("currency"),
            format!("{}: write {expected}, as in \"USD\"", names::shown(&currency)),
        ));
    }
    let usual = (fill(&mut cost.switch, 0.0), fill(&mut cost.port, 0.0));
    price(&at("switch"), usual.0)?;
    price(&at("port"), usual.1)?;
    let mut prices = vec![usual; topology.nodes.len()];
    for (index, change) in cost.overrides.iter().enumerate() {
        let key = at("override").index(index);
        for (name, value) in [("switch", change.switch), ("port", change.port)] {
            price(&key.clone().name(name), value.unwrap_or(0.0))?;
        }
        for node in matching(topology, &change.matching.0, NodeKind::Switch, key)? {
            let (switch, port) = &mut prices[node as usize];
            *switch = change.switch.unwrap_or(usual.0);
            *port = change.port.unwrap_or(usual.1);
        }
    }
    let is_switch = |node: u32| topology.nodes[node as usize].kind == NodeKind::Switch;
    let switches: Vec<usize> =
        (0..topology.nodes.len()).filter(|node| is_switch(*node as u32)).collect();
    let plugged: Vec<u32> = topology
        .links
        .iter()
        .flat_map(|link| [link.a, link.b])
        .filter(|node| is_switch(*node))
        .collect();
    Ok(Some(FabricCost {
        currency,
        total: switches.iter().map(|node| prices[*node].0).sum::<f64>()
            + plugged.iter().map(|node| prices[*node as usize].1).sum::<f64>(),
        switches: switches.len() as u64,
        ports: plugged.len() as u64,
    }))
}

fn price(key: &Key, value: f64) -> Result<(), Wrong> {
    if value >= 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Wrong::at(key.clone(), format!("found {value}: write a price of 0 or more")))
    }
}
