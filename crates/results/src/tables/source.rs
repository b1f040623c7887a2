//! The source of a table's rows.

use crate::ResultsError;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use std::ops::Range;

/// The source of a table's rows, which gives them in batches.
pub trait Source {
    /// The number of rows.
    fn rows(&self) -> usize;
    /// Some of the rows; no rows have the same schema.
    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError>;
}

/// Adds the name of the table to an error of Arrow, for `map_err`.
pub fn arrow(table: &'static str) -> impl FnOnce(ArrowError) -> ResultsError {
    move |source| ResultsError::Arrow { table, source }
}
