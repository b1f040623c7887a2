//! `round_trips`: one row per TCP connection or subflow with at least one measurement. `flow` is
//! the first flow of the connection.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::record::Output;
use afflux_scenario::Scenario;
use afflux_units::Span;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct RoundTrips<'a> {
    pub scenario: &'a Scenario,
    pub output: &'a Output,
}

impl Source for RoundTrips<'_> {
    fn rows(&self) -> usize {
        self.output.round_trips.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let plan = &self.scenario.plan;
        let rows = || self.output.round_trips[rows.clone()].iter();
        let ns = |time: u64| int(Span(time).round_ns());
        // There are no samples if every segment was retransmitted.
        let of = |samples: u64, time: u64| (samples > 0).then(|| ns(time));
        Columns::new(rows().len())
            .i64("flow", rows().map(|r| self.output.flow(plan, r.flow).id))
            .i64("subflow", rows().map(|r| i64::from(r.subflow)))
            .i64("samples", rows().map(|r| int(r.measured.samples)))
            .i64_or_null("least_ns", rows().map(|r| of(r.measured.samples, r.measured.least)))
            .f64_or_null(
                "mean_ns",
                rows().map(|r| {
                    (r.measured.samples > 0)
                        .then(|| r.measured.sum as f64 / r.measured.samples as f64 / 1e3)
                }),
            )
            .i64_or_null("most_ns", rows().map(|r| of(r.measured.samples, r.measured.most)))
            .i64("smoothed_ns", rows().map(|r| ns(r.smoothed)))
            .batch()
            .map_err(arrow("round_trips"))
    }
}
