//! One column of a batch, whose errors name the row.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

pub struct Column<'a> {
    name: &'static str,
    /// Number of rows of the file before this batch. The first row of the file is row 1.
    before: usize,
    array: Option<&'a ArrayRef>,
}

impl<'a> Column<'a> {
    pub fn new(batch: &'a RecordBatch, name: &'static str, before: usize) -> Self {
        Self { name, before, array: batch.column_by_name(name) }
    }

    /// Returns whole numbers in the range of `T`. A null is an error.
    pub fn numbers<T: TryFrom<i128>>(&self) -> Result<Vec<T>, String> {
        let values = self.numbers_or_none()?;
        values
            .into_iter()
            .enumerate()
            .map(|(row, value)| value.ok_or_else(|| self.at(row, "null")))
            .collect()
    }

    pub fn numbers_or_none<T: TryFrom<i128>>(&self) -> Result<Vec<Option<T>>, String> {
        let array = self.array()?;
        match array.data_type() {
            DataType::Int8 => self.whole::<T, Int8Type>(array),
            DataType::Int16 => self.whole::<T, Int16Type>(array),
            DataType::Int32 => self.whole::<T, Int32Type>(array),
            DataType::Int64 => self.whole::<T, Int64Type>(array),
            DataType::UInt8 => self.whole::<T, UInt8Type>(array),
            DataType::UInt16 => self.whole::<T, UInt16Type>(array),
            DataType::UInt32 => self.whole::<T, UInt32Type>(array),
            DataType::UInt64 => self.whole::<T, UInt64Type>(array),
            DataType::Float32 => self.floats::<T, Float32Type>(array),
            DataType::Float64 => self.floats::<T, Float64Type>(array),
            DataType::Null => Ok(std::iter::repeat_with(|| None).take(array.len()).collect()),
            other => Err(self.wrong_type(other, "whole numbers")),
        }
    }

    pub fn is_text(&self) -> bool {
        self.array.is_some_and(|array| *array.data_type() == DataType::Utf8)
    }

    pub fn strings(&self) -> Result<impl Iterator<Item = Option<&'a str>>, String> {
        let array = self.array()?;
        match array.data_type() {
            DataType::Utf8 => Ok(array.as_string::<i32>().iter()),
            other => Err(self.wrong_type(other, "strings")),
        }
    }

    fn whole<T: TryFrom<i128>, P: ArrowPrimitiveType<Native: Into<i128>>>(
        &self,
        array: &ArrayRef,
    ) -> Result<Vec<Option<T>>, String> {
        let number = |(row, value): (usize, Option<P::Native>)| {
            value.map(|value| self.fits(row, value.into())).transpose()
        };
        array.as_primitive::<P>().iter().enumerate().map(number).collect()
    }

    /// Reads whole numbers from floats, as pandas writes an integer column with missing values. NaN
    /// is null.
    fn floats<T: TryFrom<i128>, P: ArrowPrimitiveType<Native: Into<f64>>>(
        &self,
        array: &ArrayRef,
    ) -> Result<Vec<Option<T>>, String> {
        // Above 2^53 not every whole number has a float, so the value may differ from the intended
        // one.
        let exact = |value: f64| value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0;
        let number = |(row, value): (usize, Option<P::Native>)| match value.map(Into::into) {
            None => Ok(None),
            Some(value) if value.is_nan() => Ok(None),
            Some(value) if exact(value) => self.fits(row, value as i128).map(Some),
            Some(value) => Err(self.at(row, &format!("{value}, not a whole number"))),
        };
        array.as_primitive::<P>().iter().enumerate().map(number).collect()
    }

    fn fits<T: TryFrom<i128>>(&self, row: usize, value: i128) -> Result<T, String> {
        T::try_from(value).map_err(|_| {
            self.at(
                row,
                &format!("{value}, which is {}", if value < 0 { "negative" } else { "too large" }),
            )
        })
    }

    fn array(&self) -> Result<&'a ArrayRef, String> {
        self.array.ok_or_else(|| format!("no column \"{}\"", self.name))
    }

    pub fn at(&self, row: usize, found: &str) -> String {
        format!("row {}: {} is {found}", self.before + row + 1, self.name)
    }

    fn wrong_type(&self, found: &DataType, allowed: &str) -> String {
        format!(
            "column \"{}\" has type {found} (from row {}); allowed are {allowed}",
            self.name,
            self.before + 1
        )
    }
}
