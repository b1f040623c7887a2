//! Flow lists as Parquet files: the columns of the CSV form, of any integer type.

mod column;

use afflux_scenario::{FlowColumns, Reader};
use arrow_array::RecordBatch;
use column::Column;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use std::fs::File;
use std::path::Path;

/// Reads Parquet flow lists for [`afflux_scenario::load`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ParquetFlowLists;

const REQUIRED: [&str; 4] = ["start_ns", "src", "dst", "bytes"];
const OPTIONAL: [&str; 3] = ["id", "class", "deadline_ns"];

impl Reader for ParquetFlowLists {
    /// Other columns are ignored. A null class is `default`, a null deadline is none.
    fn parquet(&self, path: &Path) -> Result<FlowColumns, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::open(path).map_err(|e| failed(&e))?;
        // Parquet's own types: what a writer calls a category or a large string is a string.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options).map_err(|e| failed(&readable(e.to_string())))?;
        let schema = builder.schema().clone();
        let has = |name: &str| schema.index_of(name).is_ok();
        if let Some(missing) = REQUIRED.into_iter().find(|name| !has(name)) {
            let found: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let (required, optional) = (REQUIRED.join(", "), OPTIONAL.join(", "));
            return Err(failed(&format!("no column \"{missing}\"; found: {}; a flow list has {required} and perhaps {optional}", found.join(", "))));
        }
        let wanted: Vec<&str> = REQUIRED.into_iter().chain(OPTIONAL).filter(|name| has(name)).collect();
        let mask = ProjectionMask::columns(builder.parquet_schema(), wanted.iter().copied());
        let reader = builder.with_projection(mask).build().map_err(|e| failed(&readable(e.to_string())))?;
        let mut columns = FlowColumns {
            id: has("id").then(Vec::new),
            class: has("class").then(Vec::new),
            deadline_ns: has("deadline_ns").then(Vec::new),
            ..Default::default()
        };
        for batch in reader {
            let batch = batch.map_err(|e| failed(&readable(e.to_string())))?;
            append(&mut columns, &batch).map_err(|e| failed(&e))?;
        }
        Ok(columns)
    }
}

/// Says what to do about compressions that are not built in.
fn readable(error: String) -> String {
    match error.split_once("Disabled feature at compile time: ") {
        Some((_, name)) => format!("compressed with {name}, which is not supported; write the file with snappy compression, or none"),
        None => error,
    }
}

fn append(columns: &mut FlowColumns, batch: &RecordBatch) -> Result<(), String> {
    let column = |name| Column::new(batch, name, columns.bytes.len());
    let (start_ns, src, dst, bytes) = (column("start_ns"), column("src"), column("dst"), column("bytes"));
    let (id, class, deadline_ns) = (column("id"), column("class"), column("deadline_ns"));
    columns.start_ns.extend(start_ns.numbers::<u64>()?);
    columns.src.extend(src.numbers::<u32>()?);
    columns.dst.extend(dst.numbers::<u32>()?);
    columns.bytes.extend(bytes.numbers::<u64>()?);
    if let Some(ids) = &mut columns.id {
        ids.extend(id.numbers::<i64>()?);
    }
    if let Some(classes) = &mut columns.class {
        classes.extend(class.strings()?.map(|class| class.unwrap_or("default").to_owned()));
    }
    if let Some(deadlines) = &mut columns.deadline_ns {
        deadlines.extend(deadline_ns.numbers_or_none::<u64>()?);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
