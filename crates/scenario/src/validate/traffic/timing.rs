//! Rounds, and the delay of requests, which several kinds of traffic have.

use super::context::TrafficContext;
use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_units::Span;

pub fn at_least_one(rounds: u32, key: Key) -> Result<u32, Wrong> {
    match rounds {
        0 => Err(Wrong::at(key, "found 0: write at least 1")),
        rounds => Ok(rounds),
    }
}

/// Returns the time between the starts of rounds. `or`: what several rounds can have instead.
pub fn period(written: Option<Span>, rounds: u32, key: &Key, or: &str) -> Result<Span, Wrong> {
    match written {
        None if rounds > 1 => Err(Wrong::at(
            key.clone(),
            format!("{rounds} rounds need period, the time between their starts{or}"),
        )),
        None => Ok(Span::ZERO),
        Some(_) if rounds == 1 => Err(meaningless(key.clone().name("period"), "rounds = 1")),
        Some(period) => Ok(period),
    }
}

/// Checks the time that a request takes from one host to another, the key `request_delay` of the
/// block `key`.
pub fn request_delay(delay: Span, key: &Key, context: &TrafficContext) -> Result<Span, Wrong> {
    let least = context.facts.shortest_link();
    if delay < least {
        return Err(Wrong::at(
            key.clone().name("request_delay"),
            format!(
                "\"{delay}\" is below the shortest link delay of the fabric: write at least \"{least}\""
            ),
        ));
    }
    Ok(delay)
}
