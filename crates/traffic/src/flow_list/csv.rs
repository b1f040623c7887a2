//! Reads flow lists in CSV, plain or compressed.
//!
//! Columns that are not part of a flow list are left out with a note, because results of other
//! tools contain their own columns. A column whose name looks like a misspelt column of a flow list
//! is refused.

use super::row::{Collector, Refused, Row};
use super::{COLUMNS, FlowListOptions, HEADER, NAMES, REQUIRED, left_out};
use crate::text::{self, Lines, shown};
use crate::{Classes, Generated, Place, TrafficError, spelling};
use std::borrow::Cow;
use std::io::BufRead;
use std::path::Path;

/// Reads a flow list. Columns may be in any order. The flows are returned sorted by start.
pub fn read_csv(
    file: &Path,
    options: &FlowListOptions<'_>,
    classes: &mut Classes,
) -> Result<Generated, TrafficError> {
    read_csv_from(text::open(file)?, file, options, classes)
}

/// Reads a flow list from the text of `file`.
pub fn read_csv_from(
    reader: impl BufRead,
    file: &Path,
    options: &FlowListOptions<'_>,
    classes: &mut Classes,
) -> Result<Generated, TrafficError> {
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
    // Line of each identifier, to report identifiers that occur twice.
    let mut at: Vec<(i64, u64)> = Vec::new();
    let mut kept = Vec::new();
    while let Some(line) = lines.next()? {
        if line.is_empty() {
            continue;
        }
        let outcome = match parse(line, &order, &collector, &mut kept) {
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
        return Err(TrafficError::input(
            Place::whole(file),
            "a header without rows",
            "at least one flow",
        ));
    }
    let others: Vec<&str> = order.iter().filter_map(|column| column.as_other()).collect();
    left_out(file, &others).into_iter().for_each(|note| collector.note(note));
    collector.finish(file, |id| {
        Place::line(
            file,
            at.iter().rev().find(|(other, _)| *other == id).map_or(0, |(_, line)| *line),
        )
    })
}

/// An error in a line.
enum Wrong {
    Value(Refused),
    Line {
        found: String,
        expected: String,
    },
    /// An error in the header. `word` was written in place of a column's name.
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
            Wrong::Header { found, expected, word } => {
                TrafficError::input(place, found, expected).near(&word, &COLUMNS)
            }
        }
    }
}

/// Meaning of a field of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    /// Index in [`COLUMNS`].
    Known(usize),
    /// Name of a column that is not part of a flow list.
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
    let wrong = |found: String, expected: String, word: &str| {
        Err(Wrong::Header { found, expected, word: word.to_string() })
    };
    let mut order = Vec::new();
    for field in Fields::of(line) {
        let field = field?;
        let name = String::from_utf8_lossy(&field);
        let Some(column) = COLUMNS.iter().position(|known| *known == name) else {
            if text::number(&field).is_some() {
                return wrong(
                    "a row of numbers in the first line".to_string(),
                    HEADER.to_string(),
                    &name,
                );
            }
            if spelling::nearest(&name, &COLUMNS).is_some() && !NAMES.contains(&&*name) {
                return wrong(
                    format!("unknown column {}", shown(&field)),
                    HEADER.to_string(),
                    &name,
                );
            }
            order.push(Column::Other(shown(&field).trim_matches('`').to_string()));
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

/// The fields of a line. Blanks around a field do not count. A field in quotes may contain commas,
/// and quotes that are doubled (RFC 4180).
struct Fields<'l> {
    rest: Option<&'l [u8]>,
}

impl<'l> Fields<'l> {
    fn of(line: &'l [u8]) -> Self {
        Fields { rest: Some(line) }
    }
}

impl<'l> Iterator for Fields<'l> {
    type Item = Result<Cow<'l, [u8]>, Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        let Some(quoted) = rest.trim_ascii_start().strip_prefix(b"\"") else {
            let end = rest.iter().position(|byte| *byte == b',');
            self.rest = end.map(|end| &rest[end + 1..]);
            return Some(Ok(Cow::Borrowed(rest[..end.unwrap_or(rest.len())].trim_ascii())));
        };
        self.rest = None;
        let wrong = |expected: &str| {
            Some(Err(Wrong::Line { found: shown(rest), expected: expected.to_string() }))
        };
        let mut at = 0;
        let close = loop {
            match quoted[at..].iter().position(|byte| *byte == b'"') {
                None => {
                    return wrong("a field whose quotes end on its line: names have no line ends");
                }
                Some(more) if quoted.get(at + more + 1) == Some(&b'"') => at += more + 2,
                Some(more) => break at + more,
            }
        };
        let after = quoted[close + 1..].trim_ascii_start();
        match after.split_first() {
            None => {}
            Some((b',', rest)) => self.rest = Some(rest),
            Some(_) => return wrong("a comma after the quotes"),
        }
        let inner = &quoted[..close];
        if !inner.contains(&b'"') {
            return Some(Ok(Cow::Borrowed(inner)));
        }
        let mut plain = Vec::with_capacity(inner.len());
        let mut bytes = inner.iter();
        while let Some(byte) = bytes.next() {
            plain.push(*byte);
            if *byte == b'"' {
                bytes.next();
            }
        }
        Some(Ok(Cow::Owned(plain)))
    }
}

/// Removes the apostrophe that keeps spreadsheets from treating the text as a formula.
fn plain(field: &[u8]) -> &[u8] {
    let text = &field[field.iter().take_while(|byte| **byte == b'\'').count()..];
    let formula = text.len() < field.len()
        && matches!(text.first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r'));
    if formula { &field[1..] } else { field }
}

/// Parses a row. Its texts borrow from the line, or from `kept` if quotes had to be removed from
/// them.
fn parse<'l>(
    line: &'l [u8],
    order: &[Column],
    collector: &Collector,
    kept: &'l mut Vec<u8>,
) -> Result<Row<'l>, Wrong> {
    let mut row = Row::default();
    let mut count = 0;
    let mut class: Option<Cow<'l, [u8]>> = None;
    for field in Fields::of(line) {
        let field = field?;
        match order.get(count) {
            Some(Column::Known(CLASS)) => class = Some(field),
            Some(Column::Known(column)) => {
                value(&mut row, *column, &field, collector).map_err(Wrong::Value)?
            }
            Some(Column::Other(_)) | None => {}
        }
        count += 1;
    }
    if count != order.len() {
        let names: Vec<&str> = order.iter().map(Column::name).collect();
        return Err(Wrong::Line {
            found: format!("{count} fields in {}", shown(line)),
            expected: format!("{} as in the header: {}", order.len(), names.join(",")),
        });
    }
    row.class = match class {
        None => None,
        Some(Cow::Borrowed(field)) => self::class(plain(field)).map_err(Wrong::Value)?,
        Some(Cow::Owned(field)) => {
            *kept = field;
            self::class(plain(kept)).map_err(Wrong::Value)?
        }
    };
    Ok(row)
}

const CLASS: usize = 5;

/// Stores one field in the row.
fn value(row: &mut Row, column: usize, field: &[u8], collector: &Collector) -> Result<(), Refused> {
    match column {
        0 => row.start_ns = whole(0, field, "nanoseconds from the start of the simulation")?,
        1 => row.src = host(1, field, collector)?,
        2 => row.dst = host(2, field, collector)?,
        3 => row.bytes = whole(3, field, "bytes, at least one")?,
        4 => {
            row.id = identifier(field)
                .ok_or_else(|| Refused::new(COLUMNS[4], shown(field), "a whole number"))?
        }
        6 => {
            row.deadline_ns = if field.is_empty() {
                None
            } else {
                Some(whole(6, field, "nanoseconds from the flow's start, or empty for none")?)
            }
        }
        7 => row.dscp = small(7, field, "a DSCP from 0 to 63, or empty for none")?,
        _ => row.priority = small(8, field, "a priority from 0 (lowest) to 7, or empty for none")?,
    }
    Ok(())
}

fn whole(column: usize, field: &[u8], of: &str) -> Result<u64, Refused> {
    text::whole(field).ok_or_else(|| {
        Refused::new(COLUMNS[column], shown(field), format!("a whole number of {of}"))
    })
}

fn small(column: usize, field: &[u8], expected: &str) -> Result<Option<u8>, Refused> {
    if field.is_empty() {
        return Ok(None);
    }
    let number = text::whole(field).and_then(|number| u8::try_from(number).ok());
    number.map(Some).ok_or_else(|| Refused::new(COLUMNS[column], shown(field), expected))
}

fn host(column: usize, field: &[u8], collector: &Collector) -> Result<u32, Refused> {
    if let Some(host) = text::whole(field).and_then(|host| u32::try_from(host).ok()) {
        return Ok(host);
    }
    match std::str::from_utf8(plain(field)) {
        Ok(name) => collector.find(name).ok_or_else(|| collector.unknown(COLUMNS[column], name)),
        Err(_) => {
            Err(Refused::new(COLUMNS[column], shown(field), "a host's number or name, in UTF-8"))
        }
    }
}

fn identifier(field: &[u8]) -> Option<i64> {
    match field.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(text::whole(digits)?),
        None => i64::try_from(text::whole(field)?).ok(),
    }
}

/// Parses a class. Returns `None` for an empty field, for which the template's class applies.
fn class(field: &[u8]) -> Result<Option<&str>, Refused> {
    match std::str::from_utf8(field) {
        Ok("") => Ok(None),
        Ok(name) => Ok(Some(name)),
        Err(_) => Err(Refused::new(COLUMNS[5], shown(field), "a name in UTF-8")),
    }
}

#[cfg(test)]
mod tests;
