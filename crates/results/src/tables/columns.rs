//! Builder of a record batch, column by column, with name, type and values in one place.

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::sync::Arc;

/// Columns in order. Methods called `…_or_null` add nullable columns.
pub struct Columns {
    rows: usize,
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    pub fn new(rows: usize) -> Self {
        Self { rows, fields: Vec::new(), arrays: Vec::new() }
    }

    fn push(mut self, name: &str, data_type: DataType, nullable: bool, array: ArrayRef) -> Self {
        self.fields.push(Field::new(name, data_type, nullable));
        self.arrays.push(array);
        self
    }

    pub fn i64(self, name: &str, values: impl Iterator<Item = i64>) -> Self {
        self.push(name, DataType::Int64, false, Arc::new(Int64Array::from_iter_values(values)))
    }
    pub fn i64_or_null(self, name: &str, values: impl Iterator<Item = Option<i64>>) -> Self {
        self.push(name, DataType::Int64, true, Arc::new(values.collect::<Int64Array>()))
    }
    pub fn i32(self, name: &str, values: impl Iterator<Item = i32>) -> Self {
        self.push(name, DataType::Int32, false, Arc::new(Int32Array::from_iter_values(values)))
    }
    pub fn i32_or_null(self, name: &str, values: impl Iterator<Item = Option<i32>>) -> Self {
        self.push(name, DataType::Int32, true, Arc::new(values.collect::<Int32Array>()))
    }
    pub fn f64(self, name: &str, values: impl Iterator<Item = f64>) -> Self {
        self.push(name, DataType::Float64, false, Arc::new(Float64Array::from_iter_values(values)))
    }
    pub fn f64_or_null(self, name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        self.push(name, DataType::Float64, true, Arc::new(values.collect::<Float64Array>()))
    }
    pub fn bool(self, name: &str, values: impl Iterator<Item = bool>) -> Self {
        let values: BooleanArray = values.map(Some).collect();
        self.push(name, DataType::Boolean, false, Arc::new(values))
    }
    pub fn bool_or_null(self, name: &str, values: impl Iterator<Item = Option<bool>>) -> Self {
        self.push(name, DataType::Boolean, true, Arc::new(values.collect::<BooleanArray>()))
    }
    pub fn string(self, name: &str, values: impl Iterator<Item = impl AsRef<str>>) -> Self {
        self.push(name, DataType::Utf8, false, Arc::new(StringArray::from_iter_values(values)))
    }
    pub fn string_or_null(
        self,
        name: &str,
        values: impl Iterator<Item = Option<impl AsRef<str>>>,
    ) -> Self {
        self.push(name, DataType::Utf8, true, Arc::new(values.collect::<StringArray>()))
    }

    pub fn batch(self) -> Result<RecordBatch, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(self.fields)), self.arrays, &options)
    }
}
