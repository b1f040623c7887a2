//! Reads flow files of the HPCC and ConWeave ns-3 simulators: the number of flows, then per line
//! `src dst pg size start_s` (ConWeave) or `src dst pg dport size start_s` (HPCC).

use crate::text::{Lines, decimal, shown, whole, words};
use crate::{Generated, LocalFlows, Place, Template, TrafficError};
use afflux_net::spec::Start;
use afflux_units::{Span, Time};
use std::io::BufRead;
use std::path::Path;

/// Options for reading a flow file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HpccOptions {
    /// Number of hosts, which are numbered `0..hosts`.
    pub hosts: u32,
    /// Time in the file that becomes time 0 of the simulation. Both generators begin at 2 s.
    /// Earlier starts are refused.
    pub origin: Span,
    pub local: LocalFlows,
    /// Largest number of flows. A file with more is refused.
    pub most: u64,
    /// Whether all flows have the priority of the template. Otherwise, priority groups that differ
    /// are priorities.
    pub own_priority: bool,
}

impl HpccOptions {
    pub fn new(hosts: u32) -> Self {
        HpccOptions {
            hosts,
            origin: Span::from_s(2),
            local: LocalFlows::Refuse,
            most: u64::MAX,
            own_priority: false,
        }
    }
}

/// Priority group of all data in both simulators.
pub const GROUP: u8 = 3;

const PS_PER_SECOND: u64 = 1_000_000_000_000;
/// Number of columns in HPCC's form, which has a port.
const PORTS: usize = 6;
const FORM: &str = "`src dst pg size start_s` or `src dst pg dport size start_s`";

/// Reads a flow file, plain or gzip. Starts are rounded to nanoseconds. Priority groups are
/// priorities, unless all flows are in [`GROUP`]. Ports are not used.
pub fn read(
    file: &Path,
    options: &HpccOptions,
    template: &Template,
) -> Result<Generated, TrafficError> {
    read_from(crate::text::open(file)?, file, options, template)
}

/// Counts over the rows of a file.
#[derive(Default)]
struct Seen {
    rows: u64,
    /// Flows from a host to itself that were left out.
    dropped: u64,
    /// Number of columns of all rows; 0 before the first one.
    columns: usize,
    /// True if a row has another priority group than [`GROUP`].
    differ: bool,
    /// Rows whose group gave way to the priority of the block.
    overruled: u64,
}

impl Seen {
    fn notes(&self, file: &Path, options: &HpccOptions) -> Vec<String> {
        let Seen { rows, dropped, overruled, .. } = self;
        let mut notes = Vec::new();
        if !self.differ && !options.own_priority {
            notes.push(format!(
                "`pg` of {rows} flows is not used: all are in group {GROUP}, as generators write it by default; write `priority = {GROUP}` for it"
            ));
        }
        if self.columns == PORTS {
            notes.push(format!("`dport` of {rows} flows is left out: flows have no ports"));
        }
        // One priority group for all flows is the generators' default and says nothing about
        // priorities.
        if self.differ && *overruled > 0 {
            notes.push(format!("`pg` of {overruled} flows is not used: the block's own `dscp` or `priority` takes precedence"));
        }
        if *dropped > 0 {
            notes.push(format!("{dropped} flows from a host to itself were left out"));
        }
        notes.into_iter().map(|note| format!("{}: {note}", file.display())).collect()
    }
}

/// Reads a flow file from the text of `file`.
pub fn read_from(
    reader: impl BufRead,
    file: &Path,
    options: &HpccOptions,
    template: &Template,
) -> Result<Generated, TrafficError> {
    let mut lines = Lines::new(reader, file);
    let announced = lines.heading("the number of flows", whole)?;
    let mut given = Generated::default();
    let mut seen = Seen::default();
    while let Some(line) = lines.next_filled()? {
        let row = parse(line, options, &mut seen.columns);
        let place = || lines.place();
        let Row { src, dst, group, bytes, start } =
            row.map_err(|(found, expected)| TrafficError::input(place(), found, expected))?;
        seen.rows += 1;
        if seen.rows > announced {
            return Err(TrafficError::input(
                place(),
                format!("flow {}", seen.rows),
                format!("{announced} flows, as line 1 says"),
            ));
        }
        if seen.rows > options.most {
            return Err(TrafficError::input(
                place(),
                format!("flow {}", seen.rows),
                format!("at most {} flows: memory has no room for more", options.most),
            ));
        }
        let mut flow = template.flow(0, src, dst, bytes, Start::At(start));
        if !options.own_priority {
            flow.priority = group;
        }
        seen.differ |= group != GROUP;
        seen.overruled +=
            u64::from(options.own_priority && u64::from(template.priority) != u64::from(group));
        match options.local {
            _ if src != dst => given.flows.push(flow),
            LocalFlows::Instant => given.local.push(flow),
            LocalFlows::Drop => seen.dropped += 1,
            LocalFlows::Refuse => {
                return Err(TrafficError::input(
                    place(),
                    format!("a flow from host {src} to itself"),
                    "two different hosts",
                ));
            }
        }
    }
    if seen.rows < announced {
        return Err(TrafficError::input(
            Place::whole(file),
            format!("{} flows", seen.rows),
            format!("{announced}, as line 1 says"),
        ));
    }
    if seen.rows == 0 {
        return Err(TrafficError::input(
            Place::whole(file),
            "a file without flows",
            "at least one flow",
        ));
    }
    if !seen.differ && !options.own_priority {
        given
            .flows
            .iter_mut()
            .chain(&mut given.local)
            .for_each(|flow| flow.priority = template.priority);
    }
    given.notes.extend(seen.notes(file, options));
    Ok(given.finish())
}

struct Row {
    src: u32,
    dst: u32,
    group: u8,
    bytes: u64,
    start: Time,
}

/// Parses a row. All rows must have as many columns as the first.
fn parse(line: &[u8], options: &HpccOptions, columns: &mut usize) -> Result<Row, (String, String)> {
    let fields: Vec<&[u8]> = words(line).collect();
    if *columns == 0 {
        *columns = fields.len();
    }
    if fields.len() != *columns || !(5..=6).contains(&fields.len()) {
        return Err((
            format!("{} columns in {}", fields.len(), shown(line)),
            format!("{FORM}, the same in every line"),
        ));
    }
    let host = |column: usize, what: &str| match whole(fields[column]) {
        Some(host) if host < u64::from(options.hosts) => Ok(host as u32),
        _ => Err((
            format!("{what} {}", shown(fields[column])),
            format!("a host from 0 to {}", i64::from(options.hosts) - 1),
        )),
    };
    let (src, dst) = (host(0, "source")?, host(1, "destination")?);
    if fields[2..fields.len() - 2].iter().any(|field| whole(field).is_none()) {
        return Err((shown(line), format!("{FORM}: whole numbers for `pg` and `dport`")));
    }
    let group = whole(fields[2]).filter(|group| *group < 8 || options.own_priority && *group < 256);
    let group = group.ok_or_else(|| {
        (format!("priority group {}", shown(fields[2])), "a priority from 0 to 7".to_string())
    })? as u8;
    let (size, start) = (fields[fields.len() - 2], fields[fields.len() - 1]);
    let bytes = whole(size).filter(|bytes| *bytes > 0).ok_or_else(|| {
        (format!("size {}", shown(size)), "a whole number of bytes, at least one".to_string())
    })?;
    let moment = decimal(start, PS_PER_SECOND)
        .ok_or_else(|| (format!("start {}", shown(start)), "seconds, not negative".to_string()))?;
    let since = moment.checked_sub(options.origin.0);
    let since = since.ok_or_else(|| {
        (format!("start {}", shown(start)), format!("{} or later (`origin`)", options.origin))
    })?;
    if since > Time::LATEST.0 {
        let expected = "at most 160 h after `origin`, the latest time of a run".to_string();
        return Err((format!("start {}", shown(start)), expected));
    }
    Ok(Row { src, dst, group, bytes, start: Time::from_ns(Time(since).round_ns()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse_all(text: &[u8]) -> Result<Generated, TrafficError> {
        read_from(text, Path::new("flow.txt"), &HpccOptions::new(128), &Template::default())
    }

    #[test]
    fn both_forms() {
        let at = |ns| Start::At(Time::from_ns(ns));
        for text in [
            &b"2 \n\n13 47 3 4995 2.000000027\n91 40 3 4223 2.000000074\n"[..],
            b"2\n13 47 3 100 4995 2.000000027\n91 40 3 200 4223 2.000000074",
        ] {
            let given = parse_all(text).unwrap();
            assert_eq!(
                given
                    .flows
                    .iter()
                    .map(|flow| (flow.id, flow.src, flow.dst, flow.bytes, flow.start))
                    .collect::<Vec<_>>(),
                [(0, 13, 47, 4_995, at(27)), (1, 91, 40, 4_223, at(74))]
            );
        }
    }

    #[test]
    fn priority_groups_that_differ_are_priorities() {
        let priorities = |text: &str, own_priority: bool| -> Vec<u8> {
            let (options, template) = (
                HpccOptions { own_priority, ..HpccOptions::new(9) },
                Template { priority: 6, ..Template::default() },
            );
            read_from(text.as_bytes(), Path::new("flow.txt"), &options, &template)
                .unwrap()
                .flows
                .iter()
                .map(|flow| flow.priority)
                .collect()
        };
        assert_eq!(priorities("3\n0 8 1 5 2\n1 8 3 5 2\n2 8 5 5 2\n", false), [1, 3, 5]);
        assert_eq!(priorities("3\n0 8 1 5 2\n1 8 3 5 2\n2 8 5 5 2\n", true), [6, 6, 6]);
        assert_eq!(priorities("2\n0 8 3 5 2\n1 8 3 5 2\n", false), [6, 6]);
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, says) in [
            ("", Some(1), "flow.txt:1: found an empty file, expected the number of flows"),
            ("\n# flows\n", Some(2), "found only blank lines and comments, expected"),
            ("{\n", Some(1), "found `{`, expected the number of flows"),
            ("[]\n", Some(1), "found `[]`, expected the number of flows"),
            ("\u{7f}ELF\0\n", Some(1), "found `\\u{7f}ELF\\0`, expected the number of flows"),
            ("1 2 3\n", Some(1), "found `1 2 3`, expected the number of flows"),
            ("0\n", None, "found a file without flows, expected at least one flow"),
            ("2\n1 2 3 5 2.0\n", None, "found 1 flows, expected 2"),
            ("1\n1 2 3 5 2.0\n1 2 3 5 2.0\n", Some(3), "1 flows, as line 1 says"),
            ("2\n1 2 3 5 2.0\n1 2 3 4 5 2.0\n", Some(3), "6 columns"),
            ("1\n1 128 3 5 2.0\n", Some(2), "destination `128`, expected a host from 0 to 127"),
            ("1\n1 1 3 5 2.0\n", Some(2), "to itself"),
            ("1\n1 2 3 0 2.0\n", Some(2), "at least one"),
            ("1\n1 2 3 5 1.9\n", Some(2), "2s or later"),
            ("1\n1 2 3 5 -1\n", Some(2), "seconds"),
            ("1\n1 2 x 5 2\n", Some(2), "whole numbers for `pg`"),
            ("1\n1 2 8 5 2\n", Some(2), "priority group `8`, expected a priority from 0 to 7"),
        ] {
            let error = parse_all(text.as_bytes()).unwrap_err();
            assert_eq!(error.line(), line, "{text}: {error}");
            assert!(error.to_string().contains(says), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in "[0-9]{1,2}\n[0-9 .e\n-]{0,80}") {
            let _ = parse_all(text.as_bytes());
        }
    }
}
