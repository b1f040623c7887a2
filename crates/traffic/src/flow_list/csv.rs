//! Flow lists as CSV, plain or compressed.
//!
//! Columns that are not a flow list's are left out with a note (results of other tools carry their own beside the flows), unless their
//! name looks like one of ours misspelt.

use super::FlowListOptions;
use super::row::{Collector, Refused, Row};
use crate::text::{self, Lines, shown};
use crate::{Classes, Generated, Place, TrafficError};
use std::io::BufRead;
use std::path::Path;

const COLUMNS: [&str; 7] = ["start_ns", "src", "dst", "bytes", "id", "class", "deadline_ns"];
const REQUIRED: usize = 4;
const HEADER: &str = "a header with `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns`";

/// Reads a flow list. Columns may stand in any order; the flows come back sorted by start.
pub fn read_csv(file: &Path, options: &FlowListOptions, classes: &mut Classes) -> Result<Generated, TrafficError> {
    read_csv_from(text::open(file)?, file, options, classes)
}

/// As [`read_csv`], from text that stands in `file`.
pub fn read_csv_from(reader: impl BufRead, file: &Path, options: &FlowListOptions, classes: &mut Classes) -> Result<Generated, TrafficError> {
    let mut lines = Lines::new(reader, file);
    let header = lines.next_filled()?.map(header);
    let header_place = lines.place();
    let order = match header {
        None => return Err(TrafficError::input(Place::whole(file), "an empty file", HEADER)),
        Some(header) => header.map_err(|wrong| wrong.at(header_place))?,
    };
    let has_ids = order.contains(&Column::Known(4));
    let mut collector = Collector::new(options, classes, has_ids);
    let mut rows = 0u64;
    // Where each identifier stands, for those that occur twice.
    let mut at: Vec<(i64, u64)> = Vec::new();
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            continue;
        }
        let outcome = match parse(line, &order) {
            Ok(row) => collector.push(&row).map(|()| row.id).map_err(Wrong::Value),
            Err(wrong) => Err(wrong),
        };
        let id = outcome.map_err(|wrong| wrong.at(lines.place()))?;
        if has_ids {
            at.push((id, lines.number));
        }
        rows += 1;
    }
    if rows == 0 {
        return Err(TrafficError::input(Place::whole(file), "a header without rows", "at least one flow"));
    }
    let others: Vec<&str> = order.iter().filter_map(|column| column.as_other()).collect();
    if !others.is_empty() {
        collector.note(format!("{}: columns {} are not part of a flow list: left out", file.display(), others.join(", ")));
    }
    collector.finish(file, |id| Place::line(file, at.iter().rev().find(|(other, _)| *other == id).map_or(0, |(_, line)| *line)))
}

/// What is wrong with a line.
enum Wrong {
    Value(Refused),
    Line {
        found: String,
        expected: String,
    },
    /// `word` is what was written where a column's name should be.
    Header {
        found: String,
        expected: String,
        word: String,
    },
}

impl Wrong {
    fn at(self, place: Place) -> TrafficError {
        match self {
            Wrong::Value(refused) => refused.at(place),
            Wrong::Line { found, expected } => TrafficError::input(place, found, expected),
            Wrong::Header { found, expected, word } => TrafficError::input(place, found, expected).near(&word, &COLUMNS),
        }
    }
}

/// What a field of a row is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    /// Its index in [`COLUMNS`].
    Known(usize),
    /// Somebody else's.
    Other(String),
}

impl Column {
    fn as_other(&self) -> Option<&str> {
        match self {
            Column::Known(_) => None,
            Column::Other(name) => Some(name),
        }
    }
    fn name(&self) -> &str {
        match self {
            Column::Known(column) => COLUMNS[*column],
            Column::Other(name) => name,
        }
    }
}

fn header(line: &[u8]) -> Result<Vec<Column>, Wrong> {
    let wrong = |found: String, expected: String, word: &str| Err(Wrong::Header { found, expected, word: word.to_string() });
    let mut order = Vec::new();
    for field in line.split(|byte| *byte == b',').map(unquote) {
        let name = String::from_utf8_lossy(field);
        let Some(column) = COLUMNS.iter().position(|known| *known == name) else {
            if text::number(field).is_some() {
                return wrong("a row of numbers in the first line".to_string(), HEADER.to_string(), &name);
            }
            if text::nearest(&name, &COLUMNS).is_some() {
                return wrong(format!("unknown column {}", shown(field)), HEADER.to_string(), &name);
            }
            order.push(Column::Other(name.into_owned()));
            continue;
        };
        let column = Column::Known(column);
        if order.contains(&column) {
            return wrong(format!("column `{name}` twice"), "each column once".to_string(), "");
        }
        order.push(column);
    }
    if let Some(missing) = (0..REQUIRED).find(|column| !order.contains(&Column::Known(*column))) {
        return wrong(format!("no column `{}`", COLUMNS[missing]), HEADER.to_string(), "");
    }
    Ok(order)
}

fn unquote(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    field.strip_prefix(b"\"").and_then(|inner| inner.strip_suffix(b"\"")).unwrap_or(field)
}

fn parse<'l>(line: &'l [u8], order: &[Column]) -> Result<Row<'l>, Wrong> {
    let mut row = Row::default();
    let mut fields = line.split(|byte| *byte == b',');
    let mut count = 0;
    for (column, field) in order.iter().zip(&mut fields) {
        count += 1;
        if let Column::Known(column) = column {
            value(&mut row, *column, unquote(field)).map_err(Wrong::Value)?;
        }
    }
    let more = fields.count();
    if count + more != order.len() {
        let names: Vec<&str> = order.iter().map(Column::name).collect();
        return Err(Wrong::Line {
            found: format!("{} fields in {}", count + more, shown(line)),
            expected: format!("{} as in the header: {}", order.len(), names.join(",")),
        });
    }
    Ok(row)
}

/// Stores one field in its place in the row.
fn value<'l>(row: &mut Row<'l>, column: usize, field: &'l [u8]) -> Result<(), Refused> {
    match column {
        0 => row.start_ns = whole(0, field, "nanoseconds from the start of the simulation")?,
        1 => row.src = host(1, field)?,
        2 => row.dst = host(2, field)?,
        3 => row.bytes = whole(3, field, "bytes, at least one")?,
        4 => row.id = identifier(field).ok_or_else(|| Refused::new(COLUMNS[4], shown(field), "a whole number"))?,
        5 => row.class = class(field)?,
        _ => row.deadline_ns = if field.is_empty() { None } else { Some(whole(6, field, "nanoseconds from the flow's start, or empty for none")?) },
    }
    Ok(())
}

fn whole(column: usize, field: &[u8], of: &str) -> Result<u64, Refused> {
    text::whole(field).ok_or_else(|| Refused::new(COLUMNS[column], shown(field), format!("a whole number of {of}")))
}

fn host(column: usize, field: &[u8]) -> Result<u32, Refused> {
    text::whole(field)
        .and_then(|host| u32::try_from(host).ok())
        .ok_or_else(|| Refused::new(COLUMNS[column], shown(field), "a host's number, from 0 in rack order"))
}

fn identifier(field: &[u8]) -> Option<i64> {
    match field.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(text::whole(digits)?),
        None => i64::try_from(text::whole(field)?).ok(),
    }
}

/// The template's class where the field is empty.
fn class(field: &[u8]) -> Result<Option<&str>, Refused> {
    match std::str::from_utf8(field) {
        Ok("") => Ok(None),
        Ok(name) => Ok(Some(name)),
        Err(_) => Err(Refused::new(COLUMNS[5], shown(field), "a name in UTF-8")),
    }
}

#[cfg(test)]
#[path = "csv_tests.rs"]
mod tests;
