//! `packets`: packets of the flows of kernels, as the NICs of both ends saw them. A value is null
//! if there is nothing that it could be measured on.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::record::{Output, OutsideRecord, RoundTrips};
use afflux_scenario::Scenario;
use afflux_units::Span;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Packets<'a> {
    pub scenario: &'a Scenario,
    pub output: &'a Output,
}

const TCP: u8 = 6;

/// Returns the name of a protocol: its number if it is not a usual one.
fn protocol(record: &OutsideRecord) -> String {
    match record.protocol {
        TCP if record.multipath => "mptcp".into(),
        TCP => "tcp".into(),
        17 => "udp".into(),
        1 => "icmp".into(),
        other => other.to_string(),
    }
}

/// Returns the mean in ns.
fn mean(times: &RoundTrips) -> Option<f64> {
    (times.samples > 0).then(|| times.sum as f64 / times.samples as f64 / 1e3)
}

fn ns(ps: u64) -> i64 {
    int(Span(ps).round_ns())
}

impl Packets<'_> {
    /// Returns the number of the subflow in a row. The rows of a flow's subflows follow each other.
    fn subflow(&self, row: usize) -> i64 {
        let before = self.output.outside[..row].iter().rev();
        let flow = self.output.outside[row].flow;
        int(before.take_while(|record| record.flow == flow).count() as u64)
    }
}

impl Source for Packets<'_> {
    fn rows(&self) -> usize {
        self.output.outside.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let plan = &self.scenario.plan;
        let numbers = rows.clone();
        let rows = || self.output.outside[rows.clone()].iter();
        let least = |times: &RoundTrips| (times.samples > 0).then(|| ns(times.least));
        let most = |times: &RoundTrips| (times.samples > 0).then(|| ns(times.most));
        let tcp = |r: &OutsideRecord, value: u64| (r.protocol == TCP).then(|| int(value));
        Columns::new(rows().len())
            .i64("flow", rows().map(|r| self.output.flow(plan, r.flow).id))
            .i64("subflow", numbers.map(|row| self.subflow(row)))
            .string("protocol", rows().map(protocol))
            .string("src_address", rows().map(|r| r.source.0.to_string()))
            .i32("src_port", rows().map(|r| r.source.1.into()))
            .string("dst_address", rows().map(|r| r.destination.0.to_string()))
            .i32("dst_port", rows().map(|r| r.destination.1.into()))
            .i64("sent_packets", rows().map(|r| int(r.sent_packets)))
            .i64("sent_bytes", rows().map(|r| int(r.sent_bytes)))
            .i64("received_packets", rows().map(|r| int(r.received_packets)))
            .i64("received_bytes", rows().map(|r| int(r.received_bytes)))
            .i64("dropped_packets", rows().map(|r| int(r.dropped_packets)))
            .i64_or_null("retransmitted_bytes", rows().map(|r| tcp(r, r.retransmitted_bytes)))
            .i64_or_null("last_sent_ns", rows().map(|r| r.last_sent.map(|at| int(at.round_ns()))))
            .i64_or_null(
                "last_received_ns",
                rows().map(|r| r.last_received.map(|at| int(at.round_ns()))),
            )
            .i64_or_null("delay_ns_least", rows().map(|r| least(&r.delays)))
            .f64_or_null("delay_ns_mean", rows().map(|r| mean(&r.delays)))
            .i64_or_null("delay_ns_most", rows().map(|r| most(&r.delays)))
            .i64_or_null("round_trips", rows().map(|r| tcp(r, r.round_trips.samples)))
            .i64_or_null("round_trip_ns_least", rows().map(|r| least(&r.round_trips)))
            .f64_or_null("round_trip_ns_mean", rows().map(|r| mean(&r.round_trips)))
            .i64_or_null("round_trip_ns_most", rows().map(|r| most(&r.round_trips)))
            .batch()
            .map_err(arrow("packets"))
    }
}
