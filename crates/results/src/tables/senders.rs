//! `senders`: state of each sender with data to send, at regular intervals. A value is null if the
//! sender does not have it.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::State;
use afflux_net::record::{Output, SenderRecord};
use afflux_scenario::Scenario;
use afflux_units::Span;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Senders<'a> {
    pub scenario: &'a Scenario,
    pub output: &'a Output,
}

impl Source for Senders<'_> {
    fn rows(&self) -> usize {
        self.output.senders.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let plan = &self.scenario.plan;
        let rows = || self.output.senders[rows.clone()].iter();
        let known = |value: u64| (value != SenderRecord::NONE).then_some(value);
        Columns::new(rows().len())
            .i64("time_ns", rows().map(|r| int(r.time.round_ns())))
            .i64("flow", rows().map(|r| self.output.flow(plan, r.flow).id))
            .i64("subflow", rows().map(|r| i64::from(r.subflow)))
            .i64_or_null("window_bytes", rows().map(|r| known(r.window).map(int)))
            .i64_or_null("threshold_bytes", rows().map(|r| known(r.threshold).map(int)))
            .i64("in_flight_bytes", rows().map(|r| int(r.flight)))
            .i64_or_null(
                "smoothed_rtt_ns",
                rows().map(|r| known(r.smoothed).map(|ps| int(Span(ps).round_ns()))),
            )
            .i64_or_null("pacing_bps", rows().map(|r| known(r.rate).map(int)))
            .string_or_null("state", rows().map(|r| r.state.map(State::word)))
            .batch()
            .map_err(arrow("senders"))
    }
}
