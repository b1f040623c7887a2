//! Keys that all blocks share, and conversion of the traffic crate's errors into messages about the
//! scenario file.

use super::context::TrafficContext;
use crate::workload::Deadline;
use crate::workload::keys::{Block, BlockKeys, LATEST};
use afflux_config::Duration;
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{EngineKind, RunConfig};
use afflux_traffic::{Classes, Deadlines, Draws, Template, TrafficError};
use afflux_units::{Span, Time};

/// Values of a block's common keys.
pub struct Shared {
    pub template: Template,
    pub draws: Draws,
    pub start: Time,
    /// True if the scenario gives a class other than the default, or a priority or DSCP.
    pub own_class: bool,
    pub own_priority: bool,
    pub block: Block,
}

/// Checks the keys of every block and fills in their defaults. `transport`: the key of the
/// transport, if the block may name one.
pub fn shared(
    keys: &mut BlockKeys,
    transport: Option<&mut Option<String>>,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Shared, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let own_class = keys.class.as_ref().is_some_and(|class| class != "default");
    let own_priority = keys.priority.is_some() || keys.dscp.is_some();
    if keys.dscp.is_some() && keys.priority.is_some() {
        return Err(meaningless(
            at("priority"),
            "dscp, from which [host] dscp_to_priority derives the priority",
        ));
    }
    let block = keys.resolve(key, index)?;
    let class = classes.index(&block.class).ok_or_else(|| {
        Wrong::at(
            at("class"),
            "at most 65,536 different classes are possible: use a class that exists",
        )
    })?;
    let priority = match block.dscp {
        None => block.priority.unwrap_or(0),
        Some(dscp) => context.priority_of_dscp[usize::from(dscp)],
    };
    let deadline = match block.deadline {
        Some(Deadline::Fixed(Duration(span))) => Some(deadline_within(span, at("deadline"))?),
        // Drawn deadlines are assigned once the block's flows are known.
        None | Some(Deadline::Drawn(_)) => None,
    };
    let named = match transport {
        Some(slot) => {
            Some(context.transports.find(&fill(slot, "default".into()), at("transport"))?)
        }
        None => None,
    };
    context.uses.named = named.map(|index| (index, priority));
    let transport = named.unwrap_or(0);
    let draws = draws(context.seed, block.seed, &block.name);
    let start = Time(block.start.0);
    let template = Template { class, transport, priority, deadline };
    Ok(Shared { template, draws, start, own_class, own_priority, block })
}

fn deadline_within(span: Span, key: Key) -> Result<Span, Wrong> {
    if span == Span::ZERO || span > LATEST {
        return Err(Wrong::at(
            key,
            format!("\"{span}\": write a time above 0, up to 160h, or \"off\""),
        ));
    }
    Ok(span)
}

/// Returns the distribution of the block's deadlines and its random draws; `None` if deadlines are
/// not drawn.
pub fn deadlines(
    keys: &mut BlockKeys,
    block: &Block,
    key: &Key,
    seed: u64,
) -> Result<Option<(Deadlines, Draws)>, Wrong> {
    let key = key.clone().name("deadline");
    let Some(Deadline::Drawn(table)) =
        keys.deadline.as_mut().and_then(|deadline| deadline.0.as_mut())
    else {
        return Ok(None);
    };
    let mean = deadline_within(table.mean.0, key.clone().name("mean"))?;
    let least = fill(&mut table.least, Duration(Span::ZERO)).0;
    if least > mean {
        return Err(Wrong::at(
            key.name("least"),
            format!("\"{least}\" is above mean = \"{mean}\""),
        ));
    }
    Ok(Some((Deadlines { mean, least }, draws(seed, block.seed, &block.name))))
}

fn draws(seed: u64, own: u64, name: &str) -> Draws {
    Draws::new(seed.wrapping_add(own), name)
}

/// Checks the time at which the block's senders end. `with_jobs`: jobs decide when they end.
pub fn stop(
    block: &Block,
    with_jobs: bool,
    key: &Key,
    run: &RunConfig,
) -> Result<Option<Time>, Wrong> {
    let Some(stop) = block.stop else { return Ok(None) };
    let (key, start) = (key.clone().name("stop"), block.start);
    if with_jobs {
        return Err(Wrong::at(key, "jobs decide when their senders end: remove it"));
    }
    if block.persistent {
        return Err(meaningless(key, "persistent = true"));
    }
    if run.engine == EngineKind::Ideal {
        return Err(meaningless(key, "engine = \"ideal\""));
    }
    if stop <= start || stop > LATEST {
        let earliest = if start == Span::ZERO {
            "above 0".to_string()
        } else {
            format!("after start = \"{start}\"")
        };
        return Err(Wrong::at(key, format!("\"{stop}\": write a time {earliest}, up to 160h")));
    }
    Ok(Some(Time(stop.0)))
}

/// Converts an error of the traffic crate into one about a file that the block names, or about one
/// of the block's keys.
pub fn wrong(error: TrafficError, key: &Key) -> Wrong {
    let hint = |nearest: &Option<String>| {
        nearest.as_ref().map_or_else(String::new, |near| format!(" (did you mean \"{near}\"?)"))
    };
    let quoted = |text: String| text.replace('`', "\"");
    match error {
        TrafficError::Unreadable { file, reason } => {
            Wrong::input(key.clone().name("file"), &file, None, format!("cannot be read: {reason}"))
        }
        TrafficError::Input(input) => {
            let place = &input.place;
            let mut place_words = String::new();
            if let (Some(row), true) = (place.line, place.row) {
                place_words += &format!("row {row}: ");
            }
            if let Some(column) = &place.column {
                place_words += &format!("column \"{column}\": ");
            }
            let line = place.line.filter(|_| !place.row).map(|line| line as usize);
            let message = format!(
                "{place_words}found {}, expected {}{}",
                input.found,
                input.expected,
                hint(&input.nearest)
            );
            Wrong::input(key.clone().name("file"), &place.file, line, quoted(message))
        }
        TrafficError::Parameter { key: name, found, allowed, nearest } => {
            let message = quoted(format!("found {found}: allowed is {allowed}{}", hint(&nearest)));
            let key = key.clone();
            let key = match name {
                "stop" | "id" => key,
                "size" => key.name("sizes"),
                "delay" => key.name("request_delay"),
                name => key.name(name),
            };
            Wrong::at(key, message)
        }
    }
}
