//! `reorder`: reorder queues in use and bytes in them, per switch and interval. No balancer here keeps any yet, so there
//! are no rows.

use super::columns::Columns;
use super::{Source, arrow};
use crate::ResultsError;
use afflux_net::record::Output;
use arrow_array::RecordBatch;
use std::iter::empty;
use std::ops::Range;

pub struct Reorder;

pub fn recorded(_: &Output) -> bool {
    false
}

impl Source for Reorder {
    fn rows(&self) -> usize {
        0
    }

    fn batch(&self, _: Range<usize>) -> Result<RecordBatch, ResultsError> {
        Columns::new(0)
            .i64("time_ns", empty())
            .string("node", empty::<&str>())
            .i64("queues", empty())
            .i64("queues_max", empty())
            .i64("bytes", empty())
            .i64("bytes_max", empty())
            .batch()
            .map_err(arrow("reorder"))
    }
}
