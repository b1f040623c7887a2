//! Source of a table's rows.

use crate::ResultsError;
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use std::ops::Range;

/// Source of a table's rows, which provides them in batches.
pub trait Source {
    /// Returns the number of rows.
    fn rows(&self) -> usize;
    /// Returns a range of rows. An empty range has the same schema.
    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError>;
}

/// Returns a function for `map_err` that adds the name of the table to an Arrow error.
pub fn arrow(table: &'static str) -> impl FnOnce(ArrowError) -> ResultsError {
    move |source| ResultsError::Arrow { table, source }
}
