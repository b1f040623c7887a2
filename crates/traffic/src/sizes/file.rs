//! Reads distribution files.

use super::table::{LARGEST_BYTES, Point, Ranks, Table};
use crate::text::{Lines, number, shown};
use crate::{Place, TrafficError};
use std::io::BufRead;
use std::path::Path;

/// How to interpret the numbers of a distribution file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileOptions {
    /// Bytes per unit of the size column: 1, or a packet's payload (1460 for most ns-2 files).
    pub unit_bytes: u64,
    /// Whether drawn sizes are rounded up to whole units, as ns-2's scripts do with packets.
    pub whole_units: bool,
}

impl Default for FileOptions {
    fn default() -> Self {
        FileOptions { unit_bytes: 1, whole_units: false }
    }
}

const ROW: &str =
    "two numbers, size and cumulative share (`size_bytes,cdf`), or three, `size 1 cumulative`";

/// Relative tolerance of the last cumulative value, because files are written with few digits.
const SLACK: f64 = 1e-6;

pub(super) fn read(
    reader: impl BufRead,
    file: &Path,
    options: &FileOptions,
) -> Result<Table, TrafficError> {
    if options.unit_bytes == 0 {
        return Err(TrafficError::parameter("unit", "0 bytes", "at least one byte"));
    }
    let mut lines = Lines::new(reader, file);
    let mut points: Vec<Point> = Vec::new();
    let mut columns = 0;
    let mut ranks = Ranks::default();
    // Line of the header that announces percentages.
    let mut percent = None;
    let mut header_seen = false;
    while let Some(line) = lines.next_filled()? {
        let fields: Vec<&[u8]> = split(line);
        if points.is_empty() && !header_seen && fields.iter().all(|field| number(field).is_none()) {
            header_seen = true;
            let (found, announced) = (shown(line), header(&fields, options));
            if announced.map_err(|expected| {
                TrafficError::input(lines.place(), format!("the header {found}"), expected)
            })? {
                percent = Some(lines.place());
            }
            continue;
        }
        let text = shown(line);
        let point = row(&fields, &mut columns);
        let is_other = columns == 3 && fields.get(1).is_some_and(|rank| number(rank) != Some(1.0));
        let place = || lines.place();
        let (size, share) = point.ok_or_else(|| TrafficError::input(place(), text, ROW))?;
        check(size, share, points.last(), options, &place())?;
        points.push((size, share));
        if columns == 3 {
            ranks.given = true;
            ranks.other = ranks.other.or(is_other.then_some(lines.number));
        }
    }
    let Some(&(_, last)) = points.last() else {
        return Err(TrafficError::input(Place::whole(file), "no points", ROW));
    };
    if points.iter().all(|&(size, _)| size == 0.0) {
        return Err(TrafficError::input(
            lines.place(),
            "sizes of 0 alone",
            "a size of at least 1 somewhere",
        ));
    }
    let full = [1.0, 100.0].into_iter().find(|full| (last / full - 1.0).abs() <= SLACK);
    let Some(full) = full else {
        return Err(TrafficError::input(
            lines.place(),
            format!("a last cumulative value of {last}"),
            "1 (shares) or 100 (percent) at the end",
        ));
    };
    if let Some(place) = percent.filter(|_| full == 1.0) {
        return Err(TrafficError::input(
            place,
            "percent in the header, and a last value of 1",
            "100 at the end, or `cdf` in the header",
        ));
    }
    for point in &mut points {
        point.1 = (point.1 / full).min(1.0);
    }
    let end = points.len() - 1;
    points[end].1 = 1.0;
    Ok(Table::of_file(points, options.unit_bytes, options.whole_units, ranks))
}

fn split(line: &[u8]) -> Vec<&[u8]> {
    if line.contains(&b',') {
        line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).collect()
    } else {
        crate::text::words(line).collect()
    }
}

/// Units that a header may state for sizes. Without one of these units, sizes are read as bytes.
const UNITS: [&str; 9] = ["kb", "mb", "gb", "kib", "mib", "bit", "packet", "pkt", "segment"];

/// Returns whether the header announces percentages. Refuses other headers.
fn header(fields: &[&[u8]], options: &FileOptions) -> Result<bool, &'static str> {
    let names: Vec<String> =
        fields.iter().map(|field| String::from_utf8_lossy(field).to_ascii_lowercase()).collect();
    let size = names.first().is_some_and(|name| name.contains("size") || name.contains("byte"));
    let share = names.last().is_some_and(|name| {
        name.contains("cdf")
            || name.contains("cum")
            || name.contains("prob")
            || name.contains("percent")
    });
    if fields.len() != 2 || !size || !share {
        return Err("the header `size_bytes,cdf`, or none");
    }
    if options.unit_bytes == 1 && UNITS.iter().any(|unit| names[0].contains(unit)) {
        return Err(
            "sizes in bytes (`size_bytes,cdf`), or `unit` with the bytes of one, as in sizes = { file = \"…\", unit = \"1kB\" }",
        );
    }
    Ok(names[1].contains("percent"))
}

/// Parses a row into size and cumulative share. All rows must have as many fields as the first. The
/// middle field of three is a rank that ns-2 ignores.
fn row(fields: &[&[u8]], columns: &mut usize) -> Option<Point> {
    if *columns == 0 {
        *columns = fields.len();
    }
    if fields.len() != *columns || !(2..=3).contains(&fields.len()) {
        return None;
    }
    if fields.len() == 3 {
        number(fields[1])?;
    }
    Some((number(fields[0])?, number(fields[fields.len() - 1])?))
}

fn check(
    size: f64,
    share: f64,
    last: Option<&Point>,
    options: &FileOptions,
    place: &Place,
) -> Result<(), TrafficError> {
    let wrong =
        |found: String, expected: &str| Err(TrafficError::input(place.clone(), found, expected));
    if size < 0.0 {
        return wrong(format!("a size of {size}"), "sizes that are not negative");
    }
    if size * options.unit_bytes as f64 > LARGEST_BYTES {
        return wrong(format!("a size of {size}"), "sizes of at most a petabyte");
    }
    if !(0.0..=100.0 * (1.0 + SLACK)).contains(&share) {
        return wrong(
            format!("a cumulative value of {share}"),
            "cumulative values from 0 to 1, or to 100 in percent",
        );
    }
    if let Some((before, below)) = last {
        if size < *before {
            return wrong(format!("size {size} after {before}"), "sizes that never decrease");
        }
        if share < *below {
            return wrong(
                format!("cumulative value {share} after {below}"),
                "cumulative values that never decrease",
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
