//! Flow lists in Parquet files, with the columns of the CSV form. Columns of numbers may have any
//! integer type, and hosts may be strings.

mod catch_panic;
mod column;

use crate::columnar::{DAMAGED, Reader, Unreadable};
use afflux_scenario::{FlowColumns, HostColumn};
use afflux_traffic::names::shown;
use afflux_traffic::{most_unpacked, too_much_unpacked};
use arrow_array::RecordBatch;
use column::Column;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

/// Reads Parquet flow lists for [`afflux_scenario::load`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ParquetFlowLists;

const REQUIRED: [&str; 4] = ["start_ns", "src", "dst", "bytes"];
const OPTIONAL: [&str; 5] = ["id", "class", "deadline_ns", "dscp", "priority"];
/// Rows per decoded batch.
const ROWS: usize = 4_096;
/// Longest name in bytes. The number of different names per column is limited by the unpacked size
/// of the file.
const LONGEST_NAME: usize = 255;

impl afflux_scenario::Reader for ParquetFlowLists {
    /// Reads a flow list. Unknown columns are reported by name, not read. A null class means the
    /// class of the block, a null deadline means none.
    fn parquet(&self, path: &Path, most_rows: u64) -> Result<FlowColumns, String> {
        // The decoder panics on some damaged files.
        catch_panic::caught(|| read(path, most_rows)).unwrap_or_else(|| Err(DAMAGED.into()))
    }
}

fn read(path: &Path, most_rows: u64) -> Result<FlowColumns, String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let most = most_unpacked(file.metadata().map_err(|e| e.to_string())?.len());
    let reader = Reader::new(file).map_err(unreadable)?;
    let (rows, names) = (reader.rows(), reader.names());
    if rows > most_rows {
        return Err(format!("{rows} rows: memory has room for at most {most_rows} flows"));
    }
    let has = |name: &str| names.contains(&name);
    let known = |name: &str| REQUIRED.contains(&name) || OPTIONAL.contains(&name);
    if let Some(twice) =
        names.iter().enumerate().find(|(at, name)| known(name) && names[..*at].contains(name))
    {
        return Err(format!("column \"{}\" twice; a flow list has each column once", twice.1));
    }
    if let Some(missing) = REQUIRED.into_iter().find(|name| !has(name)) {
        let found: Vec<String> = names.iter().take(12).map(|name| shown(name)).collect();
        let (required, optional) = (REQUIRED.join(", "), OPTIONAL.join(", "));
        return Err(format!(
            "no column \"{missing}\"; found: {}; a flow list has {required} and perhaps {optional}",
            found.join(", ")
        ));
    }
    let wanted: Vec<&str> = REQUIRED.into_iter().chain(OPTIONAL).filter(|name| has(name)).collect();
    let (_, batches) = reader.batches(&wanted, ROWS, most).map_err(unreadable)?;
    let mut columns = FlowColumns {
        id: has("id").then(Vec::new),
        class: has("class").then(Default::default),
        deadline_ns: has("deadline_ns").then(Vec::new),
        dscp: has("dscp").then(Vec::new),
        priority: has("priority").then(Vec::new),
        others: names.iter().filter(|name| !known(name)).map(|name| (*name).to_owned()).collect(),
        ..Default::default()
    };
    let mut texts = Texts::default();
    for batch in batches {
        append(&mut columns, &mut texts, &batch.map_err(unreadable)?)?;
    }
    Ok(columns)
}

fn unreadable(error: Unreadable) -> String {
    match error {
        Unreadable::TooMuch(most) => too_much_unpacked(most),
        other => other.to_string(),
    }
}

/// Numbers assigned to the distinct texts of each column.
#[derive(Default)]
struct Texts {
    src: HashMap<String, u32>,
    dst: HashMap<String, u32>,
    class: HashMap<String, u32>,
}

fn append(columns: &mut FlowColumns, texts: &mut Texts, batch: &RecordBatch) -> Result<(), String> {
    let column = |name| Column::new(batch, name, columns.bytes.len());
    let (start_ns, bytes) = (column("start_ns"), column("bytes"));
    let (src, dst) = (column("src"), column("dst"));
    let (id, class, deadline_ns, dscp, priority) =
        (column("id"), column("class"), column("deadline_ns"), column("dscp"), column("priority"));
    columns.start_ns.extend(start_ns.numbers::<u64>()?);
    hosts(&mut columns.src, &mut texts.src, &src)?;
    hosts(&mut columns.dst, &mut texts.dst, &dst)?;
    columns.bytes.extend(bytes.numbers::<u64>()?);
    if let Some(ids) = &mut columns.id {
        ids.extend(id.numbers::<i64>()?);
    }
    if let Some((rows, names)) = &mut columns.class {
        for (row, text) in class.strings()?.enumerate() {
            rows.push(
                text.filter(|text| !text.is_empty())
                    .map(|text| numbered(text, names, &mut texts.class))
                    .transpose()
                    .map_err(|e| class.at(row, &e))?,
            );
        }
    }
    if let Some(deadlines) = &mut columns.deadline_ns {
        deadlines.extend(deadline_ns.numbers_or_none::<u64>()?);
    }
    if let Some(values) = &mut columns.dscp {
        values.extend(dscp.numbers_or_none::<u8>()?);
    }
    if let Some(values) = &mut columns.priority {
        values.extend(priority.numbers_or_none::<u8>()?);
    }
    Ok(())
}

/// Appends hosts, given as numbers or as strings (names or addresses).
fn hosts(
    known: &mut HostColumn,
    texts: &mut HashMap<String, u32>,
    column: &Column,
) -> Result<(), String> {
    if !column.is_text() {
        if let HostColumn::Numbers(rows) = known {
            rows.extend(column.numbers::<u32>()?);
        }
        return Ok(());
    }
    if matches!(known, HostColumn::Numbers(rows) if rows.is_empty()) {
        *known = HostColumn::Names(Vec::new(), Vec::new());
    }
    if let HostColumn::Names(rows, names) = known {
        for (row, text) in column.strings()?.enumerate() {
            let text = text.ok_or_else(|| column.at(row, "null"))?;
            rows.push(numbered(text, names, texts).map_err(|found| column.at(row, &found))?);
        }
    }
    Ok(())
}

fn numbered(
    text: &str,
    names: &mut Vec<String>,
    texts: &mut HashMap<String, u32>,
) -> Result<u32, String> {
    if let Some(number) = texts.get(text) {
        return Ok(*number);
    }
    if text.len() > LONGEST_NAME {
        return Err(format!("a text of {} bytes, longer than any name", text.len()));
    }
    let number = names.len() as u32;
    names.push(text.to_owned());
    texts.insert(text.to_owned(), number);
    Ok(number)
}

#[cfg(test)]
mod tests;
