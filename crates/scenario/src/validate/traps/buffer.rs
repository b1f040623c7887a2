//! Memory that a key does not size, because another key does.

use super::Ground;
use crate::tree::{Key, Origin, Wrong};
use afflux_net::spec::{Buffer, Rules, SonicRules, SwitchConfig};
use afflux_units::Bytes;

pub fn find(ground: &Ground, found: &mut Vec<Wrong>) {
    let key = ground.switch_key("buffer");
    let pools: Vec<(&SwitchConfig, &SonicRules)> = ground.switches().filter_map(|switch| Some((switch, sonic(switch)?))).collect();
    if !ground.tree.has(&key) || pools.is_empty() || pools.len() < ground.switches().count() {
        return;
    }
    let Some(pool) = pools.iter().map(|(_, rules)| rules.lossy_pool).min().flatten() else { return };
    let lossless = ground.switches().filter_map(|switch| switch.pfc.as_ref()).fold(0, |all, pfc| all | pfc.priorities);
    let ways = || ground.uses.ways.iter().chain(&ground.uses.unnamed).map(|way| lossless >> way.1 & 1 != 0);
    let (any_lossless, any_lossy) = (ways().any(|way| way), ways().any(|way| !way));
    let limits = |rules: &SonicRules| rules.lossy_ingress_alpha.is_some() || rules.own.groups.iter().any(|own| own.alpha.is_some() || own.limit.is_some());
    let limited = pools.iter().any(|(_, rules)| limits(rules));
    let who = if ground.tree.has(&ground.switch_key("mmu.lossy_pool")) { "mmu.lossy_pool is set" } else { "the preset sets mmu.lossy_pool" };
    let cure = "set mmu.lossy_pool too, or remove it, so that it is derived from the buffer";
    if any_lossy && !any_lossless && !limited {
        found.push(Wrong::at(key, format!("has no effect: all traffic is lossy and shares {}, because {who}; {cure}", Bytes(pool))));
    } else if any_lossy && changed(ground, &key) && !changed(ground, &ground.switch_key("mmu.lossy_pool")) {
        found.push(Wrong::at(key, format!("does not change the {} that lossy traffic shares, because {who}; {cure}", Bytes(pool))));
    }
}

fn sonic(switch: &SwitchConfig) -> Option<&SonicRules> {
    match &switch.buffer {
        Buffer::Mmu(mmu) => match &mmu.rules {
            Rules::Sonic(rules) => Some(rules),
            _ => None,
        },
        _ => None,
    }
}

/// By an option of the command line.
fn changed(ground: &Ground, key: &Key) -> bool {
    ground.tree.has(key) && matches!(ground.tree.origin_of(key), Origin::Option(_))
}
