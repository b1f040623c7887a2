//! Reader of Parquet files as record batches. It supports flat columns of integers, floats,
//! booleans and strings.

use arrow_array::builder::StringBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{self as typed, ByteArray};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::sync::Arc;

/// Reason why a file, or one of its columns, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("{}", in_words(.0))]
    Parquet(#[from] ParquetError),
    #[error("more than {} MB come out of it, the limit for this file", .0.div_ceil(1_000_000))]
    TooMuch(u64),
    #[error(
        "column \"{name}\" has type {found}; allowed are integers, floats, booleans and strings"
    )]
    Type { name: String, found: String },
    #[error("{0}")]
    End(String),
    #[error("column \"{0}\" has a text that is not UTF-8")]
    Text(String),
    #[error("the columns have different numbers of rows")]
    Ragged,
}

pub const DAMAGED: &str = "the file is damaged: its pages contradict its header";

/// Describes a decoder error for users. The decoder's own messages about damage mention its
/// internal variables.
fn in_words(error: &ParquetError) -> String {
    let said = error.to_string();
    match (said.split_once("Disabled feature at compile time: "), error) {
        (Some((_, codec)), _) => format!(
            "compressed with {codec}, which is not supported; write the file with snappy compression, or none"
        ),
        (None, ParquetError::External(source)) => source.to_string(),
        (None, _) => DAMAGED.to_owned(),
    }
}

/// Error text for a file without columns: it is truncated or not a Parquet file.
const NOT_PARQUET: &str = "it is no Parquet file, or breaks off: its end is not that of one";

pub struct Reader {
    file: SerializedFileReader<File>,
}

impl Reader {
    pub fn new(file: File) -> Result<Self, Unreadable> {
        let found = SerializedFileReader::new(file).map_err(|error| match error {
            ParquetError::External(source) => Unreadable::End(source.to_string()),
            _ => Unreadable::End(NOT_PARQUET.to_owned()),
        });
        Ok(Self { file: found? })
    }

    pub fn rows(&self) -> u64 {
        self.file.metadata().file_metadata().num_rows().max(0) as u64
    }

    /// Returns the names of all columns. A nested column has the name of its outermost field.
    pub fn names(&self) -> Vec<&str> {
        let fields = self.file.metadata().file_metadata().schema().get_fields();
        fields.iter().map(|field| field.name()).collect()
    }

    /// Returns the schema and all rows of some columns, with at most `rows` rows per batch (memory
    /// is reserved for as many). Fails if more than `most` bytes are decoded.
    pub fn batches<'a>(
        &'a self,
        names: &[&str],
        rows: usize,
        most: u64,
    ) -> Result<
        (SchemaRef, impl Iterator<Item = Result<RecordBatch, Unreadable>> + use<'a>),
        Unreadable,
    > {
        let descriptor = self.file.metadata().file_metadata().schema_descr_ptr();
        let find = |name: &str| {
            descriptor.columns().iter().position(|column| column.path().parts()[0] == *name)
        };
        let mut places = Vec::new();
        let mut fields = Vec::new();
        for &name in names {
            let place = find(name).expect("one of the file's names");
            let column = &descriptor.columns()[place];
            let data_type = type_of(column)
                .ok_or_else(|| Unreadable::Type { name: name.to_owned(), found: shown(column) })?;
            fields.push(Field::new(name, data_type, column.max_def_level() > 0));
            places.push(place);
        }
        // Uses the sizes that the file states, before anything is decoded.
        let sizes = self.file.metadata().row_groups().iter().flat_map(|group| {
            places.iter().map(|place| group.column(*place).uncompressed_size().max(0) as u64)
        });
        if sizes.fold(0, u64::saturating_add) > most {
            return Err(Unreadable::TooMuch(most));
        }
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let groups = Groups {
            file: &self.file,
            schema: schema.clone(),
            places,
            rows,
            next: 0,
            open: Vec::new(),
            left: most,
            most,
        };
        Ok((schema, groups))
    }
}

struct Groups<'a> {
    file: &'a SerializedFileReader<File>,
    schema: SchemaRef,
    places: Vec<usize>,
    rows: usize,
    /// Index of the row group that follows the open one.
    next: usize,
    open: Vec<ColumnReader>,
    /// Bytes that may still be decoded, out of `most`.
    left: u64,
    most: u64,
}

impl Groups<'_> {
    fn batch(&mut self) -> Result<Option<RecordBatch>, Unreadable> {
        loop {
            if self.open.is_empty() {
                if self.next == self.file.num_row_groups() || self.places.is_empty() {
                    return Ok(None);
                }
                let group = self.file.get_row_group(self.next)?;
                self.open = self
                    .places
                    .iter()
                    .map(|place| group.get_column_reader(*place))
                    .collect::<Result<_, _>>()?;
                self.next += 1;
            }
            let fields = self.schema.fields().iter();
            let (left, most) = (self.left, self.most);
            let read = |(column, field): (&mut ColumnReader, &Arc<Field>)| {
                array(column, field, self.rows, left)
                    .and_then(|array| array.ok_or(Unreadable::TooMuch(most)))
            };
            let arrays: Vec<ArrayRef> =
                self.open.iter_mut().zip(fields).map(read).collect::<Result<_, _>>()?;
            let bytes: u64 = arrays.iter().map(|array| array.get_array_memory_size() as u64).sum();
            self.left = left.checked_sub(bytes).ok_or(Unreadable::TooMuch(most))?;
            if arrays.iter().any(|array| array.len() != arrays[0].len()) {
                return Err(Unreadable::Ragged);
            }
            if arrays[0].is_empty() {
                self.open.clear();
                continue;
            }
            return RecordBatch::try_new(self.schema.clone(), arrays)
                .map(Some)
                .map_err(|error| Unreadable::Parquet(ParquetError::General(error.to_string())));
        }
    }
}

impl Iterator for Groups<'_> {
    type Item = Result<RecordBatch, Unreadable>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batch();
        if batch.is_err() {
            (self.open, self.next) = (Vec::new(), self.file.num_row_groups());
        }
        batch.transpose()
    }
}

/// Returns the Arrow type of a column. `None` for unsupported types and nested columns.
fn type_of(column: &ColumnDescriptor) -> Option<DataType> {
    if column.max_rep_level() > 0 || column.max_def_level() > 1 || column.path().parts().len() > 1 {
        return None;
    }
    let whole = || match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(integer)), _) => Some(integer.is_signed),
        // A column that holds only nulls.
        (Some(LogicalType::Unknown), _) => Some(true),
        (Some(_), _) => None,
        (
            None,
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64,
        ) => Some(true),
        (
            None,
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64,
        ) => Some(false),
        _ => None,
    };
    match column.physical_type() {
        Physical::BOOLEAN => Some(DataType::Boolean),
        Physical::INT32 => {
            whole().map(|signed| if signed { DataType::Int32 } else { DataType::UInt32 })
        }
        Physical::INT64 => {
            whole().map(|signed| if signed { DataType::Int64 } else { DataType::UInt64 })
        }
        Physical::FLOAT => Some(DataType::Float32),
        Physical::DOUBLE => Some(DataType::Float64),
        Physical::BYTE_ARRAY => match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::String | LogicalType::Enum), _)
            | (None, ConvertedType::UTF8 | ConvertedType::ENUM) => Some(DataType::Utf8),
            _ => None,
        },
        Physical::INT96 | Physical::FIXED_LEN_BYTE_ARRAY => None,
    }
}

fn shown(column: &ColumnDescriptor) -> String {
    if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
        return "nested".to_owned();
    }
    match column.logical_type_ref() {
        Some(logical) => format!("{logical:?}"),
        None => column.physical_type().to_string(),
    }
}

/// Returns a column of the next batch, or `None` if its texts exceed `most` bytes. This limit is
/// needed because a small file may repeat one long text in every row.
fn array(
    column: &mut ColumnReader,
    field: &Field,
    rows: usize,
    most: u64,
) -> Result<Option<ArrayRef>, Unreadable> {
    let nullable = field.is_nullable();
    Ok(Some(match column {
        ColumnReader::BoolColumnReader(column) => {
            let found = Found::of(column, nullable, rows)?;
            Arc::new(found.optional().collect::<BooleanArray>())
        }
        ColumnReader::Int32ColumnReader(column) => match field.data_type() {
            DataType::UInt32 => {
                Found::of(column, nullable, rows)?.numbers::<UInt32Type>(|value| value as u32)
            }
            _ => Found::of(column, nullable, rows)?.numbers::<Int32Type>(|value| value),
        },
        ColumnReader::Int64ColumnReader(column) => match field.data_type() {
            DataType::UInt64 => {
                Found::of(column, nullable, rows)?.numbers::<UInt64Type>(|value| value as u64)
            }
            _ => Found::of(column, nullable, rows)?.numbers::<Int64Type>(|value| value),
        },
        ColumnReader::FloatColumnReader(column) => {
            Found::of(column, nullable, rows)?.numbers::<Float32Type>(|value| value)
        }
        ColumnReader::DoubleColumnReader(column) => {
            Found::of(column, nullable, rows)?.numbers::<Float64Type>(|value| value)
        }
        ColumnReader::ByteArrayColumnReader(column) => {
            let found = Found::of(column, nullable, rows)?;
            let bytes: usize = found.values.iter().map(ByteArray::len).sum();
            if bytes as u64 > most.min(i32::MAX as u64) {
                return Ok(None);
            }
            let mut texts = StringBuilder::with_capacity(found.rows(), bytes);
            for value in found.optional() {
                let text =
                    value.as_ref().map(|value| std::str::from_utf8(value.data())).transpose();
                texts.append_option(text.map_err(|_| Unreadable::Text(field.name().clone()))?);
            }
            Arc::new(texts.finish())
        }
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            unreachable!("refused before")
        }
    }))
}

/// Decoded values of a column without its nulls, and the positions of the nulls.
struct Found<T> {
    values: Vec<T>,
    /// 1 for a value, 0 for null. `None` if there are no nulls.
    levels: Option<Vec<i16>>,
}

impl<T: Clone> Found<T> {
    fn of<P: typed::DataType<T = T>>(
        column: &mut ColumnReaderImpl<P>,
        nullable: bool,
        rows: usize,
    ) -> Result<Self, Unreadable> {
        let mut values = Vec::with_capacity(rows);
        let mut levels = Vec::new();
        let mut read = 0;
        while read < rows {
            let (records, _, _) = column.read_records(
                rows - read,
                nullable.then_some(&mut levels),
                None,
                &mut values,
            )?;
            if records == 0 {
                break;
            }
            read += records;
        }
        let levels = Some(levels).filter(|levels| nullable && values.len() < levels.len());
        Ok(Self { values, levels })
    }

    fn rows(&self) -> usize {
        self.levels.as_ref().map_or(self.values.len(), Vec::len)
    }

    fn optional(self) -> impl Iterator<Item = Option<T>> {
        let levels = self.levels.unwrap_or_else(|| vec![1; self.values.len()]);
        let mut values = self.values.into_iter();
        levels.into_iter().map(move |level| if level == 0 { None } else { values.next() })
    }

    fn numbers<A: ArrowPrimitiveType>(self, native: impl Fn(T) -> A::Native) -> ArrayRef {
        if self.levels.is_none() {
            // The conversion reuses the memory of the values: `map` between types of the same size
            // works in place.
            let values: Vec<A::Native> = self.values.into_iter().map(native).collect();
            return Arc::new(PrimitiveArray::<A>::new(values.into(), None));
        }
        Arc::new(self.optional().map(|value| value.map(&native)).collect::<PrimitiveArray<A>>())
    }
}
