//! Rules for a row of a flow list, which are the same for every file format.

use super::{FlowListOptions, LocalFlows};
use crate::{Classes, Generated, Place, TrafficError, names};
use afflux_net::spec::{Flow, Start};
use afflux_units::{Span, Time};
use std::path::Path;

/// Latest start and longest deadline in ns: the latest time of a run.
pub(super) const LATEST_NS: u64 = Time::LATEST.0 / 1_000;

/// Values of one row.
#[derive(Debug, Default)]
pub(super) struct Row<'a> {
    pub start_ns: u64,
    pub src: u32,
    pub dst: u32,
    pub bytes: u64,
    pub id: i64,
    pub class: Option<&'a str>,
    pub deadline_ns: Option<u64>,
    pub dscp: Option<u8>,
    pub priority: Option<u8>,
}

/// Checks rows one by one and collects their flows.
pub(super) struct Collector<'a> {
    options: &'a FlowListOptions<'a>,
    classes: &'a mut Classes,
    given: Generated,
    dropped: u64,
    /// Number of rows whose own class gave way to the template's, of rows whose own DSCP or
    /// priority gave way to the template's, and of rows whose DSCP gave way to a priority of their
    /// own.
    overruled: [u64; 3],
}

/// A value that is not allowed: its column, what was found, and what is allowed.
pub(super) struct Refused {
    pub column: &'static str,
    found: String,
    expected: String,
    nearest: Option<String>,
}

impl Refused {
    pub fn new(
        column: &'static str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Refused { column, found: found.into(), expected: expected.into(), nearest: None }
    }
    pub fn near(mut self, nearest: Option<String>) -> Self {
        self.nearest = nearest;
        self
    }
    pub fn at(self, place: Place) -> TrafficError {
        TrafficError::input(place.column(self.column), self.found, self.expected)
            .nearest(self.nearest)
    }
}

impl<'a> Collector<'a> {
    pub fn new(options: &'a FlowListOptions<'a>, classes: &'a mut Classes, own_ids: bool) -> Self {
        Collector {
            options,
            classes,
            given: Generated { own_ids, ..Generated::default() },
            dropped: 0,
            overruled: [0; 3],
        }
    }

    /// Returns the host with this name or address. The caller handles host numbers.
    pub fn find(&self, text: &str) -> Option<u32> {
        self.options.names.find(text)
    }

    /// Returns the error about a host that [`Collector::find`] does not know.
    pub fn unknown(&self, column: &'static str, text: &str) -> Refused {
        let expected =
            "a host's number, from 0 in rack order, or its name or address in the topology";
        Refused::new(column, crate::text::shown(text.as_bytes()), expected)
            .near(self.options.names.nearest(text))
    }

    pub fn push(&mut self, row: &Row) -> Result<(), Refused> {
        let most = self.options.most;
        let rows = (self.given.flows.len() + self.given.local.len()) as u64;
        if rows >= most {
            return Err(Refused::new(
                "start_ns",
                format!("flow {}", rows + 1),
                format!("at most {most} flows: memory has no room for more"),
            ));
        }
        let mut flow = self.flow(row)?;
        self.set_class(&mut flow, row.class)?;
        self.set_priority(&mut flow, row)?;
        match self.options.local {
            _ if row.src != row.dst => self.given.flows.push(flow),
            LocalFlows::Instant => self.given.local.push(flow),
            LocalFlows::Drop => self.dropped += 1,
            LocalFlows::Refuse => {
                return Err(Refused::new(
                    "dst",
                    format!("host {}, the source itself", row.dst),
                    "another host than `src` (or `local = \"instant\"` to let such flows finish at once)",
                ));
            }
        }
        Ok(())
    }

    /// Returns the flow of a row, with the class and the priority of the template.
    fn flow(&self, row: &Row) -> Result<Flow, Refused> {
        let FlowListOptions { hosts, most_bytes, template, .. } = *self.options;
        let time = |column, ns: u64| {
            if ns <= LATEST_NS {
                return Ok(ns);
            }
            let expected = format!("at most {LATEST_NS} ns (160 h)");
            Err(Refused::new(column, ns.to_string(), expected))
        };
        let start = Time::from_ns(time("start_ns", row.start_ns)?);
        for (column, host) in [("src", row.src), ("dst", row.dst)] {
            if host >= hosts {
                let expected = format!("a host from 0 to {}", hosts.saturating_sub(1));
                return Err(Refused::new(column, format!("host {host}"), expected));
            }
        }
        if row.bytes == 0 {
            return Err(Refused::new("bytes", "0", "at least one byte"));
        }
        if row.bytes > most_bytes {
            let expected =
                format!("at most {most_bytes}: segments of a flow are numbered with 32 bits");
            return Err(Refused::new("bytes", row.bytes.to_string(), expected));
        }
        let mut flow = template.flow(row.id, row.src, row.dst, row.bytes, Start::At(start));
        if let Some(deadline_ns) = row.deadline_ns {
            if deadline_ns == 0 {
                return Err(Refused::new(
                    "deadline_ns",
                    "0",
                    "nanoseconds from the flow's start, more than 0; empty for none",
                ));
            }
            flow.deadline = Some(Span::from_ns(time("deadline_ns", deadline_ns)?));
        }
        Ok(flow)
    }

    fn set_class(&mut self, flow: &mut Flow, class: Option<&str>) -> Result<(), Refused> {
        let Some(class) = class else { return Ok(()) };
        if self.options.own_class {
            self.overruled[0] += 1;
            return Ok(());
        }
        if let Some(expected) = names::wrong(class) {
            return Err(Refused::new("class", crate::text::shown(class.as_bytes()), expected));
        }
        flow.class = self.classes.index(class).ok_or_else(|| {
            Refused::new("class", names::shown(class), "at most 65,536 different classes")
        })?;
        Ok(())
    }

    fn set_priority(&mut self, flow: &mut Flow, row: &Row) -> Result<(), Refused> {
        let priority_of = |dscp: u8| {
            self.options.priority_of_dscp.get(usize::from(dscp)).copied().ok_or_else(|| {
                Refused::new("dscp", dscp.to_string(), "a DSCP from 0 to 63, or empty for none")
            })
        };
        let by_dscp = row.dscp.map(priority_of).transpose()?;
        if let (Some(own), Some(by_dscp)) = (row.priority, by_dscp) {
            self.overruled[2] += u64::from(own != by_dscp);
        }
        match row.priority.or(by_dscp) {
            Some(priority) if priority > 7 => {
                return Err(Refused::new(
                    "priority",
                    priority.to_string(),
                    "a priority from 0 (lowest) to 7, or empty for none",
                ));
            }
            Some(priority) if self.options.own_priority => {
                self.overruled[1] += u64::from(priority != flow.priority)
            }
            Some(priority) => flow.priority = priority,
            None => {}
        }
        Ok(())
    }

    pub fn note(&mut self, note: String) {
        self.given.notes.push(note);
    }

    /// Returns all flows, sorted by start. `place_of` returns the place of an identifier that
    /// occurs twice.
    pub fn finish(
        mut self,
        file: &Path,
        place_of: impl Fn(i64) -> Place,
    ) -> Result<Generated, TrafficError> {
        if self.given.own_ids {
            self.given.distinct(place_of)?;
        }
        for (count, columns, keys) in [
            (self.overruled[0], "`class`", "`class`"),
            (self.overruled[1], "`dscp` or `priority`", "`dscp` or `priority`"),
        ] {
            if count > 0 {
                self.given.notes.push(format!("{}: {columns} of {count} flows is not used: the block's own {keys} takes precedence", file.display()));
            }
        }
        if self.overruled[2] > 0 && !self.options.own_priority {
            self.given.notes.push(format!(
                "{}: `dscp` of {} flows is not used: their `priority` takes precedence",
                file.display(),
                self.overruled[2]
            ));
        }
        if self.dropped > 0 {
            self.given.notes.push(format!(
                "{}: {} flows from a host to itself were left out",
                file.display(),
                self.dropped
            ));
        }
        Ok(self.given.finish())
    }
}
