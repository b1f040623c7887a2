//! Warns of a `buffer` key that sizes no memory, because another key does.

use super::input::WarningInput;
use afflux_config::Size;
use afflux_config::tree::{Key, Origin, Wrong};
use afflux_net::spec::{Buffer, Rules, Sharing, SonicRules, SwitchConfig, SwitchKeys};
use afflux_units::Bytes;

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    lossless_only(input, found);
    let key = input.switch_key("buffer");
    let pools: Vec<(&SwitchConfig, &SonicRules)> =
        input.switches().filter_map(|switch| Some((switch, sonic(switch)?))).collect();
    if !input.tree.has(&key) || pools.is_empty() || pools.len() < input.switches().count() {
        return;
    }
    let Some(pool) = pools.iter().map(|(_, rules)| rules.lossy_pool).min().flatten() else {
        return;
    };
    let lossless = input
        .switches()
        .filter_map(|switch| switch.pfc.as_ref())
        .fold(0, |all, pfc| all | pfc.priorities);
    let variants = || input.priorities().map(|priority| lossless >> priority & 1 != 0);
    let (any_lossless, any_lossy) = (variants().any(|way| way), variants().any(|way| !way));
    let limits = |rules: &SonicRules| {
        rules.lossy_ingress_alpha.is_some()
            || rules.own.groups.iter().any(|own| own.alpha.is_some() || own.limit.is_some())
    };
    let limited = pools.iter().any(|(_, rules)| limits(rules));
    let who = if input.tree.has(&input.switch_key("mmu.lossy_pool")) {
        "mmu.lossy_pool is set"
    } else {
        "the preset sets mmu.lossy_pool"
    };
    let cure = "set mmu.lossy_pool too, or remove it, so that it is derived from the buffer";
    if any_lossy && !any_lossless && !limited {
        found.push(Wrong::at(
            key,
            format!(
                "has no effect: all traffic is lossy and shares {}, because {who}; {cure}",
                Bytes(pool)
            ),
        ));
    } else if any_lossy
        && changed(input, &key)
        && !changed(input, &input.switch_key("mmu.lossy_pool"))
    {
        found.push(Wrong::at(
            key,
            format!(
                "does not change the {} that lossy traffic shares, because {who}; {cure}",
                Bytes(pool)
            ),
        ));
    }
}

/// Warns of limits on lossy queues where every frame is lossless. The memory of real switches does
/// not limit lossless queues at egress. A written default draws no warning, because profiles of
/// devices have all keys.
fn lossless_only(input: &WarningInput, found: &mut Vec<Wrong>) {
    let lossless = input.switches().fold(u8::MAX, |all, switch| {
        all & switch
            .pfc
            .as_ref()
            .filter(|_| sonic(switch).is_some())
            .map_or(0, |pfc| pfc.priorities)
    });
    let is_lossless = |priority: u8| lossless >> priority & 1 != 0;
    let answers = input.uses.transports().into_iter().filter_map(|index| {
        let transport = &input.plan.transports[usize::from(index)];
        transport.parameters().requirements().ack_priority
    });
    let quiet = is_lossless(7) || !input.switches().any(|switch| switch.balance.about().controls);
    if input.idle() || !quiet || !input.priorities().chain(answers).all(is_lossless) {
        return;
    }
    for name in ["alpha", "reserved"] {
        let key = input.switch_key(name);
        let has_default = |keys: &SwitchKeys| {
            let (_, alpha, reserved) = keys.sharing.map_or((None, None, None), Sharing::usual);
            match name {
                "alpha" => keys.alpha == alpha,
                _ => keys.reserved.map(|Size(size)| size.0) == reserved,
            }
        };
        if input.tree.has(&key) && !input.switch_keys.iter().all(has_default) {
            let text = format!(
                "has no effect: {name} limits lossy traffic at egress, and the priorities of all traffic are in pfc.priorities; write mmu.lossless_{name}, or remove it"
            );
            found.push(Wrong::at(key, text));
        }
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

/// True if an option of the command line sets the key.
fn changed(input: &WarningInput, key: &Key) -> bool {
    input.tree.has(key) && matches!(input.tree.origin_of(key), Origin::Option(_))
}
