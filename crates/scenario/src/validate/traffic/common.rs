//! Keys that all blocks share, and conversion of the traffic crate's errors into messages about the
//! scenario file.

use super::context::TrafficContext;
use crate::document::{Common, Deadline, Traffic};
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Or};
use afflux_net::spec::{EngineKind, RunConfig};
use afflux_traffic::{Classes, Deadlines, Draws, Template, TrafficError, names};
use afflux_units::{Span, Time};

/// Values of a block's common keys.
pub struct Shared {
    pub template: Template,
    pub draws: Draws,
    pub start: Time,
}

/// Latest start. A later start is taken for a mistake.
const LATEST: Span = Span::from_s(100 * 86_400);

pub fn shared(
    common: Common,
    transport: Option<&mut Option<String>>,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Shared, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let name = fill(common.name, format!("traffic{index}"));
    named(&name, &at("name"))?;
    let class = fill(common.class, "default".into());
    named(&class, &at("class"))?;
    let class = classes.index(&class).ok_or_else(|| {
        Wrong::at(
            at("class"),
            "at most 65,536 different classes are possible: use a class that exists",
        )
    })?;
    let priority = match *common.dscp {
        None => fill(common.priority, 0),
        Some(_) if common.priority.is_some() => {
            return Err(meaningless(
                at("priority"),
                "dscp, from which [host] dscp_to_priority derives the priority",
            ));
        }
        Some(dscp) => match context.priority_of_dscp.get(usize::from(dscp)) {
            Some(priority) => *priority,
            None => {
                return Err(Wrong::at(
                    at("dscp"),
                    format!("found {dscp}: write a DSCP from 0 to 63"),
                ));
            }
        },
    };
    if priority > 7 {
        return Err(Wrong::at(
            at("priority"),
            format!("found {priority}: write a priority from 0 (lowest) to 7"),
        ));
    }
    let start = fill(common.start, Duration(Span::ZERO)).0;
    if start > LATEST {
        return Err(Wrong::at(at("start"), format!("\"{start}\": write a start up to 2400h")));
    }
    let deadline = match fill(common.deadline, Or::NONE).0 {
        None => None,
        Some(Deadline::Fixed(Duration(span))) => Some(deadline_within(span, at("deadline"))?),
        // Drawn deadlines are assigned once the block's flows are known.
        Some(Deadline::Drawn(_)) => None,
    };
    let named = match transport {
        Some(slot) => {
            Some(context.transports.find(&fill(slot, "default".into()), at("transport"))?)
        }
        None => None,
    };
    context.uses.named = named.map(|index| (index, priority));
    let transport = named.unwrap_or(0);
    let seed = fill(common.seed, 0);
    if seed > i64::MAX as u64 {
        return Err(Wrong::at(
            at("seed"),
            format!("found {seed}: write a whole number up to {}", i64::MAX),
        ));
    }
    let draws = draws(context.seed, common.seed, &name);
    Ok(Shared {
        template: Template { class, transport, priority, deadline },
        draws,
        start: Time(start.0),
    })
}

/// Refuses names that tables and terminals cannot show.
pub fn named(name: &str, key: &Key) -> Result<(), Wrong> {
    match names::wrong(name) {
        Some(expected) => {
            Err(Wrong::at(key.clone(), format!("{}: write {expected}", names::shown(name))))
        }
        None => Ok(()),
    }
}

fn deadline_within(span: Span, key: Key) -> Result<Span, Wrong> {
    if span == Span::ZERO || span > LATEST {
        return Err(Wrong::at(
            key,
            format!("\"{span}\": write a time above 0, up to 2400h, or \"off\""),
        ));
    }
    Ok(span)
}

/// Returns the distribution of the block's deadlines and its random draws; `None` if deadlines are
/// not drawn.
pub fn deadlines(
    block: &mut Traffic,
    index: usize,
    key: &Key,
    seed: u64,
) -> Result<Option<(Deadlines, Draws)>, Wrong> {
    let common = keys(block);
    let key = key.clone().name("deadline");
    let Some(Deadline::Drawn(table)) =
        common.deadline.as_mut().and_then(|deadline| deadline.0.as_mut())
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
    let draws = draws(seed, common.seed, &fill(common.name, format!("traffic{index}")));
    Ok(Some((Deadlines { mean, least }, draws)))
}

fn draws(seed: u64, own: &Option<u64>, name: &str) -> Draws {
    Draws::new(seed.wrapping_add(own.unwrap_or(0)), name)
}

/// Returns a block's name, or the name that follows from its position.
pub fn name_of(name: &Option<String>, index: usize) -> String {
    name.clone().unwrap_or_else(|| format!("traffic{index}"))
}

/// Returns the block's name, once its common keys have been read.
pub fn name(block: &mut Traffic, index: usize) -> String {
    fill(keys(block).name, format!("traffic{index}"))
}

/// Returns the block's name if the scenario gives one. The name that follows from the block's
/// position does not count, because a resolved scenario may contain it.
pub fn own_name(block: &mut Traffic, index: usize) -> Option<String> {
    keys(block).name.clone().filter(|name| *name != name_of(&None, index))
}

/// Returns the start of the block, once its common keys have been read.
pub fn start(block: &mut Traffic) -> Time {
    Time(fill(keys(block).start, Duration(Span::ZERO)).0.0)
}

/// Returns the time at which the block's senders end, if the block has one.
pub fn stop(block: &mut Traffic, key: &Key, run: &RunConfig) -> Result<Option<Time>, Wrong> {
    let applies =
        !matches!(block, Traffic::Hadoop(_) | Traffic::HadoopTrace(_) | Traffic::Background(_));
    let common = keys(block);
    let Some(Duration(stop)) = *common.stop else { return Ok(None) };
    let key = key.clone().name("stop");
    let start = fill(common.start, Duration(Span::ZERO)).0;
    if !applies {
        return Err(Wrong::at(key, "jobs decide when their senders end: remove it"));
    }
    if fill(common.persistent, false) {
        return Err(meaningless(key, "persistent = true"));
    }
    if run.engine == EngineKind::Ideal {
        return Err(meaningless(key, "engine = \"ideal\""));
    }
    if stop <= start || stop > LATEST {
        return Err(Wrong::at(
            key,
            format!("\"{stop}\": write a time after start = \"{start}\", up to 2400h"),
        ));
    }
    Ok(Some(Time(stop.0)))
}

/// True if the block's flows between two hosts share a connection.
pub fn persistent(block: &mut Traffic) -> bool {
    fill(keys(block).persistent, false)
}

/// Returns the block's `kind`.
pub fn kind(block: &Traffic) -> &'static str {
    match block {
        Traffic::Flows(_) => "flows",
        Traffic::Random(_) => "random",
        Traffic::Incast(_) => "incast",
        Traffic::PartitionAggregate(_) => "partition_aggregate",
        Traffic::Permutation(_) => "permutation",
        Traffic::Pairs(_) => "pairs",
        Traffic::AllToAll(_) => "all_to_all",
        Traffic::DatagramSource(_) => "datagram",
        Traffic::Hadoop(_) => "hadoop",
        Traffic::HadoopTrace(_) => "hadoop_trace",
        Traffic::Background(_) => "background",
    }
}

fn keys(block: &mut Traffic) -> Common<'_> {
    match block {
        Traffic::Flows(block) => block.common(),
        Traffic::Random(block) => block.common(),
        Traffic::Incast(block) => block.common(),
        Traffic::PartitionAggregate(block) => block.common(),
        Traffic::Permutation(block) => block.common(),
        Traffic::Pairs(block) => block.common(),
        Traffic::AllToAll(block) => block.common(),
        Traffic::DatagramSource(block) => block.common(),
        Traffic::Hadoop(block) => block.common(),
        Traffic::HadoopTrace(block) => block.common(),
        Traffic::Background(block) => block.common(),
    }
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
