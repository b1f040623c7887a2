//! `[cost]`: computes the cost of the fabric.

use super::switch::matching;
use crate::document::{Cost, Prices};
use crate::scenario::FabricCost;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{NodeKind, Topology};

/// Returns the cost of the fabric, or `None` if there are no prices.
pub fn check(cost: &mut Option<Cost>, topology: &Topology) -> Result<Option<FabricCost>, Wrong> {
    let Some(cost) = cost else { return Ok(None) };
    let key = Key::from("cost");
    let Prices { currency, switch, port } = cost.resolve(&key)?;
    let mut prices = vec![(switch, port); topology.nodes.len()];
    for (index, change) in cost.overrides.iter_mut().flatten().enumerate() {
        let key = key.clone().name("override").index(index);
        let own = change.resolve(&key)?;
        for node in matching(topology, &own.matching.0, NodeKind::Switch, key)? {
            prices[node as usize] = (own.switch.unwrap_or(switch), own.port.unwrap_or(port));
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
