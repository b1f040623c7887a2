//! `[switch] balance = { kind = "conweave" }`.

use super::fill;
use crate::document::{self, Duration};
use crate::tree::{Key, Wrong};
use afflux_net::spec::{Balance, Buffer, Conweave, ConweaveManner, Forwarding, SwitchConfig};
use afflux_units::Span;

const LONGEST: Span = Span::from_s(1);

pub fn conweave(keys: &mut document::Conweave, key: &Key) -> Result<Conweave, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let time = |slot: &mut Option<Duration>, name: &str, default: u64| {
        let time = fill(slot, Duration(Span::from_us(default))).0;
        if time > LONGEST { Err(Wrong::at(at(name), format!("\"{time}\": write a time up to 1s"))) } else { Ok(time) }
    };
    let reply_extra = time(&mut keys.reply_extra, "reply_extra", 4)?;
    let path_busy = time(&mut keys.path_busy, "path_busy", 16)?;
    let inactive = time(&mut keys.inactive, "inactive", 300)?;
    let flush_extra = time(&mut keys.flush_extra, "flush_extra", 16)?;
    let default_wait = time(&mut keys.default_wait, "default_wait", 200)?;
    let age = time(&mut keys.age, "age", 2_000)?;
    if age < inactive {
        return Err(Wrong::at(at("age"), format!("\"{age}\" is below inactive = \"{inactive}\": a flow that is not yet silent would be forgotten")));
    }
    let reorder_queues = fill(&mut keys.reorder_queues, 24);
    if reorder_queues > 4_096 {
        return Err(Wrong::at(at("reorder_queues"), format!("found {reorder_queues}: write a number of queues per port from 0 to 4096")));
    }
    Ok(Conweave { reply_extra, path_busy, inactive, flush_extra, default_wait, age, reorder_queues, manner: ConweaveManner::Paper })
}

/// What does not go with it.
pub fn fits<'a>(configs: impl Iterator<Item = &'a SwitchConfig>) -> Result<(), Wrong> {
    let at = |name: &str| Key::from("switch").name(name);
    for config in configs.filter(|config| matches!(config.balance, Balance::Conweave(_))) {
        if matches!(config.forwarding, Forwarding::CutThrough { .. }) {
            return Err(Wrong::at(
                at("forwarding"),
                "\"cut_through\" with balance = \"conweave\": what waits to be reordered is stored; write \"store_and_forward\"",
            ));
        }
        if matches!(config.buffer, Buffer::Voq(_)) {
            return Err(Wrong::at(at("sharing"), "\"voq\" with balance = \"conweave\": reorder queues of virtual output queues are not built; write another"));
        }
    }
    Ok(())
}
