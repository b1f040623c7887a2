//! `processor` of `[switch]` and `[host]`: resolves and checks it.

use crate::document::Processor;
use afflux_config::keys::fill;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Off, Or};
use afflux_net::spec;
use afflux_units::Span;

pub fn processor(
    keys: &mut Option<Or<Off, Processor>>,
    key: &Key,
) -> Result<Option<spec::Processor>, Wrong> {
    let Some(mut table) = fill(keys, Or::NONE).0 else { return Ok(None) };
    let config = config(&mut table, key)?;
    *keys = Some(Or::some(table));
    Ok(Some(config))
}

fn config(keys: &mut Processor, key: &Key) -> Result<spec::Processor, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let cost = |slot: &mut Option<Duration>, name: &str| match fill(slot, Duration(Span::ZERO)).0 {
        span if span <= Span::from_s(1) => Ok(span),
        span => Err(Wrong::at(at(name), format!("\"{span}\": write a time up to 1s"))),
    };
    let (packet, interrupt) = (
        cost(&mut keys.packet_time, "packet_time")?,
        cost(&mut keys.interrupt_time, "interrupt_time")?,
    );
    let queue = fill(&mut keys.queue, 300);
    if !(1..=1_000_000).contains(&queue) {
        return Err(Wrong::at(
            at("queue"),
            format!("found {queue}: write a number of frames from 1 to 1000000"),
        ));
    }
    let stall = match &keys.stall {
        None => None,
        Some(stall) => {
            for (name, Duration(span)) in [("work", stall.work), ("pause", stall.pause)] {
                if span < Span::from_us(1) || span > Span::from_s(3_600) {
                    return Err(Wrong::at(
                        at("stall").name(name),
                        format!("\"{span}\": write a time from 1us to 3600s"),
                    ));
                }
            }
            Some(spec::Stall { work: stall.work.0, pause: stall.pause.0 })
        }
    };
    if packet == Span::ZERO && interrupt == Span::ZERO && stall.is_none() {
        return Err(Wrong::at(
            key.clone(),
            "a processor without any cost has no effect: write packet_time, interrupt_time or stall, or \"off\"",
        ));
    }
    Ok(spec::Processor { packet, interrupt, queue, stall })
}
