//! Writer of record batches to a Parquet file. Each batch becomes a row group.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{self as typed, ByteArray};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Rows per encoding step. Only these rows are in memory twice.
const AT_ONCE: usize = 4_096;

/// Writes columns of 32 and 64 bit integers, doubles, booleans and strings, compressed with Snappy.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> Writer<W> {
    /// # Errors
    /// Fails for a column of an unsupported type, or with an output error.
    pub fn new(file: W, schema: &Schema) -> Result<Self> {
        let fields = schema.fields().iter().map(|field| described(field)).collect::<Result<_>>()?;
        let message = Type::group_type_builder("schema").with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        Ok(Self { file: SerializedFileWriter::new(file, Arc::new(message), Arc::new(properties))? })
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for (array, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
            let mut column = group.next_column()?.expect("as many columns as fields");
            for start in (0..array.len()).step_by(AT_ONCE) {
                put(
                    &mut column,
                    &array.slice(start, AT_ONCE.min(array.len() - start)),
                    field.is_nullable(),
                )?;
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    pub fn close(self) -> Result<()> {
        self.file.close().map(drop)
    }
}

fn described(field: &Field) -> Result<Arc<Type>> {
    let (physical, logical) = match field.data_type() {
        DataType::Boolean => (Physical::BOOLEAN, None),
        DataType::Int32 => (Physical::INT32, None),
        DataType::Int64 => (Physical::INT64, None),
        DataType::Float64 => (Physical::DOUBLE, None),
        DataType::Utf8 => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        other => {
            return Err(ParquetError::General(format!(
                "column {}: no Parquet column for {other}",
                field.name()
            )));
        }
    };
    let repetition = if field.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(field.name(), physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
        .map(Arc::new)
}

fn put(column: &mut SerializedColumnWriter, array: &dyn Array, nullable: bool) -> Result<()> {
    match array.data_type() {
        DataType::Int32 => {
            numbers::<Int32Type, typed::Int32Type>(column, array.as_primitive(), nullable)
        }
        DataType::Int64 => {
            numbers::<Int64Type, typed::Int64Type>(column, array.as_primitive(), nullable)
        }
        DataType::Float64 => {
            numbers::<Float64Type, typed::DoubleType>(column, array.as_primitive(), nullable)
        }
        DataType::Boolean => {
            let values: Vec<bool> = array.as_boolean().iter().flatten().collect();
            values_of::<typed::BoolType>(column, &values, levels(array, nullable))
        }
        DataType::Utf8 => {
            let strings = array.as_string::<i32>();
            // All values share one copy of the text.
            let ends = strings.value_offsets();
            let first = ends[0];
            let text = Bytes::copy_from_slice(
                &strings.value_data()[first as usize..ends[strings.len()] as usize],
            );
            let value = |row: usize| {
                ByteArray::from(
                    text.slice((ends[row] - first) as usize..(ends[row + 1] - first) as usize),
                )
            };
            let values: Vec<ByteArray> =
                (0..strings.len()).filter(|row| strings.is_valid(*row)).map(value).collect();
            values_of::<typed::ByteArrayType>(column, &values, levels(array, nullable))
        }
        other => unreachable!("refused before: {other}"),
    }
}

fn numbers<A: ArrowPrimitiveType, P: typed::DataType<T = A::Native>>(
    column: &mut SerializedColumnWriter,
    array: &PrimitiveArray<A>,
    nullable: bool,
) -> Result<()> {
    if array.null_count() == 0 {
        return values_of::<P>(column, array.values(), levels(array, nullable));
    }
    let values: Vec<P::T> = array.iter().flatten().collect();
    values_of::<P>(column, &values, levels(array, nullable))
}

/// Returns 1 for each value and 0 for each null. `None` for a column that is not nullable.
fn levels(array: &dyn Array, nullable: bool) -> Option<Vec<i16>> {
    nullable.then(|| (0..array.len()).map(|row| i16::from(array.is_valid(row))).collect())
}

fn values_of<P: typed::DataType>(
    column: &mut SerializedColumnWriter,
    values: &[P::T],
    levels: Option<Vec<i16>>,
) -> Result<()> {
    column.typed::<P>().write_batch(values, levels.as_deref(), None).map(drop)
}
