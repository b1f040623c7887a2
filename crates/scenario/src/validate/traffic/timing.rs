//! Rounds, and the delay of requests, which several kinds of traffic have.

use super::context::TrafficContext;
use afflux_config::Duration;
use afflux_config::keys::{at_most_a_day, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_units::Span;

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

/// Checks the time from the end of a flow until a flow that waits for it starts at another host: at
/// least the shortest link delay, and at most a day.
pub fn delay_of_next(delay: Duration, context: &TrafficContext, key: Key) -> Result<Span, Wrong> {
    let least = context.facts.shortest_link();
    if delay.0 < least {
        return Err(Wrong::at(
            key,
            format!(
                "\"{}\" is below the shortest link delay of the fabric: write at least \"{least}\"",
                delay.0
            ),
        ));
    }
    at_most_a_day(delay, key)
}
