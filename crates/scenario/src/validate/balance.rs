//! `[switch] balance`: resolves the balancer, and checks it against the fabric.

use crate::topology::Names;
use afflux_config::spelling;
use afflux_config::tree::{Key, Wrong};
use afflux_net::balance::{self, BalanceKeys};
use afflux_net::paths::Paths;
use afflux_net::routing::{Ports, Routes};
use afflux_net::spec::{Balance, Buffer, NodeKind, SwitchConfig, Topology};
use std::cell::OnceCell;

/// Resolves the balancer of a switch. `ns3`: with the deviations of ConWeave's ns-3 simulator.
pub fn balance(
    keys: &mut BalanceKeys,
    fabric: &Topology,
    ns3: bool,
    key: &Key,
) -> Result<Balance, Wrong> {
    let names = OnceCell::new();
    let switches = |pattern: &str| {
        names.get_or_init(|| Names::of(fabric)).matching(pattern, Some(NodeKind::Switch))
    };
    keys.resolve(key, &balance::PathContext { nodes: fabric.nodes.len(), switches: &switches, ns3 })
}

/// Refuses switch settings that a balancer excludes, and fabrics in which frames cannot be pinned
/// to paths.
pub fn fits(topology: &Topology, configs: &[SwitchConfig]) -> Result<(), Wrong> {
    let key = || Key::from("switch").name("balance");
    let of_switches = || {
        topology
            .nodes
            .iter()
            .filter(|node| node.kind == NodeKind::Switch)
            .map(|node| &configs[node.config as usize])
    };
    for (config, why) in
        of_switches().filter_map(|config| Some((config, config.balance.about().alike?)))
    {
        if of_switches().any(|other| other.balance != config.balance) {
            return Err(Wrong::at(key(), format!("{why}: write the same for all switches")));
        }
    }
    let pins = of_switches().any(|config| config.balance.about().pins);
    if let Some(config) = of_switches().find(|config| config.balance.about().controls)
        && !pins
        && topology.is_multihomed()
    {
        let name = config.balance.name();
        let what = format!(
            "\"{name}\": next hops report to the ToR of a host, and here hosts have several links: write another balancer"
        );
        return Err(Wrong::at(key(), what));
    }
    if !pins {
        return Ok(());
    }
    for config in of_switches().filter(|config| config.balance.about().reorders) {
        let (at, name) = (|name: &str| Key::from("switch").name(name), config.balance.name());
        if config.cut_through.is_some() {
            let what = format!(
                "\"cut_through\" with balance = \"{name}\": reorder queues store whole frames; write \"store_and_forward\""
            );
            return Err(Wrong::at(at("forwarding"), what));
        }
        if matches!(config.buffer, Buffer::Voq(_)) {
            let what = format!(
                "\"voq\" with balance = \"{name}\": virtual output queues do not support reorder queues; write another value"
            );
            return Err(Wrong::at(at("sharing"), what));
        }
    }
    if let Some(about) = of_switches()
        .filter_map(|config| Some(config.aqm.as_ref()?.about()))
        .find(|about| about.alone)
    {
        let (what, name) = ("frames that are pinned to paths carry no hash", about.model.name);
        return Err(Wrong::at(
            key(),
            format!(
                "{what} by which {name} could distinguish flows: write another aqm, or another balance"
            ),
        ));
    }
    let named = |node: u32| &topology.nodes[node as usize].name;
    let routes = Routes::build(topology);
    Paths::new(topology, &Ports::new(topology), &routes, &routes).map(drop).map_err(|why| {
        use afflux_net::paths::NoPaths;
        let why = match why {
            NoPaths::Ports(node) => format!("{} has more than 256 ports, and a path can name at most 256", named(node)),
            NoPaths::Hops(from, to) => {
                format!("from {} to {} there are more than 4 switches before the last one, and a path can name at most 4", named(from), named(to))
            }
            NoPaths::Host(host) => format!("{} is not connected to a switch by exactly one link", named(host)),
        };
        let others = spelling::list(Balance::ALL.iter().filter(|about| !about.pins).map(|about| about.model.name));
        Wrong::at(key(), format!("frames cannot be pinned to paths in this fabric: {why}; write {others}"))
    })
}
