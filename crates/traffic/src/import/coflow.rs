//! Reads the coflow trace format of coflow-benchmark (Facebook, 2010): shuffles between racks of a
//! MapReduce cluster.
//!
//! Line 1 is `ports coflows`. Each further line is a coflow:
//! `id arrival_ms mappers location… reducers location:MB…`. Each reducer fetches its megabytes in
//! equal parts from all mappers of its coflow.

use crate::text::{Lines, decimal, number, shown, whole, words};
use crate::{Draws, Generated, Job, JobKind, Place, Racks, Template, TrafficError, purpose};
use afflux_net::spec::Start;
use afflux_units::Time;
use std::io::BufRead;
use std::path::Path;

/// Options for reading a coflow trace.
#[derive(Debug, Clone, PartialEq)]
pub struct CoflowOptions {
    pub placement: Placement,
    /// Factor on the bytes of every flow.
    pub size_scale: f64,
    /// Factor on every arrival time.
    pub time_scale: f64,
    /// Bytes of the trace's megabyte. Default 1,000,000. (CoflowSim takes 1,048,576; the trace
    /// itself does not say.)
    pub megabyte_bytes: u64,
    /// Number of coflows to take from the top of the file; `None`: all.
    pub most_coflows: Option<u64>,
    /// Largest number of flows. A trace with more is refused before its flows are made.
    pub most: u64,
}

/// Mapping of the trace's locations (racks of the original cluster) to hosts or racks of the
/// fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// Location l is host l. This needs at least as many hosts as the trace has ports.
    Host { hosts: u32 },
    /// Location l is host l modulo the number of hosts.
    Modulo { hosts: u32 },
    /// Location l is rack l modulo the number of racks. Each mapper and each reducer runs on a host
    /// of the rack, which is drawn once.
    Rack(Racks),
}

impl CoflowOptions {
    /// Creates options without scaling. Locations are hosts if there are enough hosts, and
    /// otherwise hosts modulo their number.
    pub fn new(hosts: u32, ports: u32) -> Self {
        let placement =
            if hosts >= ports { Placement::Host { hosts } } else { Placement::Modulo { hosts } };
        CoflowOptions {
            placement,
            size_scale: 1.0,
            time_scale: 1.0,
            megabyte_bytes: 1_000_000,
            most_coflows: None,
            most: MOST_FLOWS,
        }
    }
}

/// Default limit on the flows of one trace, because a line of one megabyte could ask for billions.
pub const MOST_FLOWS: u64 = 20_000_000;

const FIRST: &str = "`ports coflows`, two numbers";
const FORM: &str = "`id arrival_ms mappers location… reducers location:MB…`";

/// Returns the number of ports that a trace is for, from its first line.
pub fn ports(file: &Path) -> Result<u32, TrafficError> {
    Ok(first_line(&mut Lines::new(crate::text::open(file)?, file))?.0)
}

/// Reads a trace. Flows with both ends on one host are left out and counted in a note.
pub fn read(
    file: &Path,
    options: &CoflowOptions,
    template: &Template,
    draws: &Draws,
) -> Result<Generated, TrafficError> {
    read_from(crate::text::open(file)?, file, options, template, draws)
}

/// Reads a trace from the text of `file`.
pub fn read_from(
    reader: impl BufRead,
    file: &Path,
    options: &CoflowOptions,
    template: &Template,
    draws: &Draws,
) -> Result<Generated, TrafficError> {
    check(options)?;
    let mut lines = Lines::new(reader, file);
    let (ports, coflows) = first_line(&mut lines)?;
    let placement = Placing { options, draws, ports };
    placement.check()?;
    let most = options.most_coflows.unwrap_or(u64::MAX);
    let mut given = Generated::default();
    let (mut dropped, mut read) = (0u64, 0u64);
    while read < most {
        let Some(line) = lines.next_filled()? else { break };
        let coflow = Coflow::parse(line, ports);
        let place = lines.place();
        let coflow = coflow
            .map_err(|(found, expected)| TrafficError::input(place.clone(), found, expected))?;
        read += 1;
        if read > coflows {
            return Err(TrafficError::input(
                place,
                format!("coflow {read}"),
                format!("{coflows} coflows, as line 1 says"),
            ));
        }
        let arrival = coflow.arrival_ms * options.time_scale * 1e6;
        if arrival > (Time::LATEST.0 / 1_000) as f64 {
            return Err(TrafficError::input(
                place,
                format!("an arrival at {} ms", coflow.arrival_ms),
                "arrivals within 160 h, the latest time of a run",
            ));
        }
        let arrival = Time::from_ns((arrival + 0.5) as u64);
        let flows =
            given.flows.len() as u64 + coflow.mappers.len() as u64 * coflow.reducers.len() as u64;
        if flows > options.most {
            let found = format!(
                "{} mappers and {} reducers, which make {flows} flows so far",
                coflow.mappers.len(),
                coflow.reducers.len()
            );
            return Err(TrafficError::input(
                place,
                found,
                format!(
                    "at most {} (`coflows` takes so many from the top of the file)",
                    options.most
                ),
            ));
        }
        let job = given.jobs.len() as u32;
        given.jobs.push(Job::new(
            JobKind::Coflow,
            format_args!("coflow{}", coflow.id),
            Some(arrival),
        ));
        dropped += coflow.flows(&placement, |src, dst, bytes| {
            let mut flow = template.flow(0, src, dst, bytes, Start::At(arrival));
            flow.job = job;
            given.flows.push(flow);
        });
    }
    if read < coflows.min(most) {
        return Err(TrafficError::input(
            Place::whole(file),
            format!("{read} coflows"),
            format!("{coflows}, as line 1 says"),
        ));
    }
    if coflows == 0 {
        return Err(TrafficError::input(
            Place::whole(file),
            "a file without coflows",
            "at least one coflow",
        ));
    }
    let of = if read < coflows {
        format!("the first {read} of {coflows} coflows")
    } else {
        format!("{read} coflows")
    };
    given.notes.push(format!(
        "{}: {} flows of {of} among {ports} locations",
        file.display(),
        given.flows.len()
    ));
    if dropped > 0 {
        given.notes.push(format!(
            "{}: {dropped} flows whose mapper and reducer share a host were left out",
            file.display()
        ));
    }
    Ok(given.finish())
}

fn check(options: &CoflowOptions) -> Result<(), TrafficError> {
    for (key, scale) in [("size_scale", options.size_scale), ("time_scale", options.time_scale)] {
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(TrafficError::parameter(key, scale, "a number above 0"));
        }
    }
    Ok(())
}

fn first_line<R: BufRead>(lines: &mut Lines<R>) -> Result<(u32, u64), TrafficError> {
    lines.heading(FIRST, |line| {
        let numbers: Vec<Option<u64>> = words(line).map(whole).collect();
        match numbers[..] {
            [Some(ports), Some(coflows)] => Some((u32::try_from(ports).ok()?, coflows)),
            _ => None,
        }
    })
}

/// Mapping of locations to hosts, with its random draws.
struct Placing<'a> {
    options: &'a CoflowOptions,
    draws: &'a Draws,
    ports: u32,
}

impl Placing<'_> {
    fn check(&self) -> Result<(), TrafficError> {
        match &self.options.placement {
            Placement::Host { hosts } if *hosts < self.ports => Err(TrafficError::parameter(
                "placement",
                format!("{hosts} hosts"),
                format!("at least the trace's {} ports, or another placement", self.ports),
            )),
            Placement::Modulo { hosts: 0 } => {
                Err(TrafficError::parameter("placement", "no hosts", "at least one host"))
            }
            Placement::Rack(racks) if racks.is_empty() => {
                Err(TrafficError::parameter("placement", "no racks", "at least one rack"))
            }
            _ => Ok(()),
        }
    }
    /// Returns the host of a location. `task` distinguishes the mappers and reducers of all
    /// coflows.
    fn host(&self, location: u32, task: u64) -> u32 {
        match &self.options.placement {
            Placement::Host { .. } => location,
            Placement::Modulo { hosts } => location % hosts,
            Placement::Rack(racks) => {
                let rack = racks.of(location % racks.len());
                rack.start
                    + self.draws.stream(purpose::PLACEMENT, task).below(rack.len() as u64) as u32
            }
        }
    }
}

/// A coflow, which is one line of the trace.
struct Coflow {
    id: u64,
    arrival_ms: f64,
    mappers: Vec<u32>,
    /// Location and megabytes of each reducer.
    reducers: Vec<(u32, f64)>,
}

type Wrong = (String, String);

impl Coflow {
    fn parse(line: &[u8], ports: u32) -> Result<Self, Wrong> {
        let mut fields = words(line);
        let mut next = |what: &str| {
            fields
                .next()
                .ok_or_else(|| ("the end of the line".to_string(), format!("{what}: {FORM}")))
        };
        let wrong = |field: &[u8], what: String| (shown(field), what);
        let location = |field: &[u8]| match whole(field) {
            Some(location) if location < u64::from(ports) => Ok(location as u32),
            _ => Err(wrong(field, format!("a location from 0 to {}", i64::from(ports) - 1))),
        };
        let field = next("a coflow's id")?;
        let id = whole(field)
            .filter(|id| *id < 1 << 40)
            .ok_or_else(|| wrong(field, "a coflow's id, a whole number".to_string()))?;
        let field = next("an arrival")?;
        // `decimal` refuses arrivals that are negative or absurdly late.
        let arrival_ms = decimal(field, 1)
            .and_then(|_| number(field))
            .ok_or_else(|| wrong(field, "an arrival in milliseconds, not negative".to_string()))?;
        let count = |field: &[u8], what: &str| {
            whole(field)
                .filter(|count| *count <= u64::from(u32::MAX))
                .ok_or_else(|| wrong(field, format!("the number of {what}")))
        };
        let mappers = count(next("the number of mappers")?, "mappers")?;
        let mappers: Vec<u32> = (0..mappers)
            .map(|_| location(next("a mapper's location")?))
            .collect::<Result<_, Wrong>>()?;
        let reducers = count(next("the number of reducers")?, "reducers")?;
        let reducer = |field: &[u8]| {
            let colon = field
                .iter()
                .position(|byte| *byte == b':')
                .ok_or_else(|| wrong(field, "a reducer as `location:MB`".to_string()))?;
            let megabytes =
                number(&field[colon + 1..]).filter(|megabytes| (0.0..=1e12).contains(megabytes));
            Ok((
                location(&field[..colon])?,
                megabytes.ok_or_else(|| {
                    wrong(field, "megabytes after the colon, not negative".to_string())
                })?,
            ))
        };
        let reducers: Vec<(u32, f64)> = (0..reducers)
            .map(|_| reducer(next("a reducer as `location:MB`")?))
            .collect::<Result<_, Wrong>>()?;
        match fields.next() {
            None => Ok(Coflow { id, arrival_ms, mappers, reducers }),
            Some(more) => Err(wrong(more, format!("the end of the line: {FORM}"))),
        }
    }

    /// Calls `flow(src, dst, bytes)` for every mapper and reducer on different hosts. Returns the
    /// number of pairs on one host.
    fn flows(&self, placing: &Placing, mut flow: impl FnMut(u32, u32, u64)) -> u64 {
        let task =
            |role: u64, position: usize| self.id << 24 | role << 23 | (position as u64 & 0x7f_ffff);
        let sources: Vec<u32> = self
            .mappers
            .iter()
            .enumerate()
            .map(|(i, location)| placing.host(*location, task(0, i)))
            .collect();
        let mut dropped = 0;
        for (i, (location, megabytes)) in self.reducers.iter().enumerate() {
            let dst = placing.host(*location, task(1, i));
            let bytes =
                megabytes * placing.options.megabyte_bytes as f64 * placing.options.size_scale
                    / sources.len() as f64;
            // Sizes are rounded to whole bytes, at least one.
            let bytes = ((bytes + 0.5) as u64).max(1);
            for src in &sources {
                if *src == dst { dropped += 1 } else { flow(*src, dst, bytes) }
            }
        }
        dropped
    }
}

#[cfg(test)]
mod tests;
