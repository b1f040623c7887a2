//! Tables of a result directory, one module each. Each module lists its columns once, in order,
//! where it fills them.

mod columns;
mod flows;
mod gaps;
mod imbalance;
mod jobs;
mod links;
mod packets;
mod paths;
mod ports;
mod reorder;
mod round_trips;
mod senders;
mod source;
mod waits;
mod write;

pub(crate) use flows::deadline_met;
pub(crate) use jobs::{JobTimes, job_times};

pub use imbalance::imbalances;

use crate::ResultsError;
use afflux_net::record::Output;
use afflux_scenario::Scenario;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use source::Source;
use std::ops::Range;

/// Rows per batch. A batch of strings stays far below Arrow's 2 GiB, and memory use stays moderate.
const BATCH_ROWS: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Flows,
    Ports,
    Links,
    Jobs,
    Paths,
    Imbalance,
    Reorder,
    RoundTrips,
    Senders,
    Gaps,
    Waits,
    Packets,
}

impl Kind {
    pub const ALL: [Kind; 12] = [
        Self::Flows,
        Self::Ports,
        Self::Links,
        Self::Jobs,
        Self::Paths,
        Self::Imbalance,
        Self::Reorder,
        Self::RoundTrips,
        Self::Senders,
        Self::Gaps,
        Self::Waits,
        Self::Packets,
    ];

    /// Returns the table's name, which is also its file name `<name>.parquet`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Ports => "ports",
            Self::Links => "links",
            Self::Jobs => "jobs",
            Self::Paths => "paths",
            Self::Imbalance => "imbalance",
            Self::Reorder => "reorder",
            Self::RoundTrips => "round_trips",
            Self::Senders => "senders",
            Self::Gaps => "gaps",
            Self::Waits => "waits",
            Self::Packets => "packets",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A whole table in memory. There may be no batches, but there is always a schema.
#[derive(Debug, Clone)]
pub struct Table {
    pub schema: SchemaRef,
    pub batches: Vec<RecordBatch>,
}

impl Table {
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

/// Tables of one run, built on request.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    scenario: &'a Scenario,
    output: &'a Output,
}

impl<'a> Tables<'a> {
    pub fn new(scenario: &'a Scenario, output: &'a Output) -> Self {
        Self { scenario, output }
    }

    /// Returns the tables that this run has files of: flows, links and jobs in every run (perhaps
    /// without rows), the others if recorded.
    pub fn recorded(&self) -> Vec<Kind> {
        let record = &self.scenario.plan.record;
        let has = |kind: &Kind| match kind {
            Kind::Flows | Kind::Links | Kind::Jobs => true,
            Kind::Ports => record.ports.is_some(),
            Kind::Paths => record.paths,
            Kind::Imbalance => record.imbalance.is_some(),
            Kind::Reorder => record.reordering.is_some(),
            Kind::RoundTrips => record.round_trips,
            Kind::Senders => {
                let kernels = &self.scenario.kernels;
                record.senders.is_some() || kernels.iter().any(|kernel| kernel.tcp_info.is_some())
            }
            Kind::Gaps => !record.gaps.is_empty(),
            Kind::Waits => !record.waits.is_empty(),
            Kind::Packets => !self.scenario.kernels.is_empty(),
        };
        Kind::ALL.into_iter().filter(has).collect()
    }

    /// Returns a whole table. It has no rows if it was not recorded.
    ///
    /// # Errors
    /// Errors of Arrow.
    pub fn get(&self, kind: Kind) -> Result<Table, ResultsError> {
        let source = self.source(kind);
        let batches =
            ranges(source.rows()).map(|rows| source.batch(rows)).collect::<Result<_, _>>()?;
        Ok(Table { schema: source.batch(0..0)?.schema(), batches })
    }

    fn source(&self, kind: Kind) -> Box<dyn Source + 'a> {
        let Self { scenario, output } = *self;
        match kind {
            Kind::Flows => Box::new(flows::Flows { scenario, output }),
            Kind::Ports => Box::new(ports::Ports::new(scenario, output)),
            Kind::Links => Box::new(links::Links { scenario, output }),
            Kind::Jobs => Box::new(jobs::Jobs::new(scenario, output)),
            Kind::Paths => Box::new(paths::Paths { scenario, output }),
            Kind::Imbalance => Box::new(imbalance::Imbalance::new(scenario, output)),
            Kind::Reorder => Box::new(reorder::Reorder { scenario, output }),
            Kind::RoundTrips => Box::new(round_trips::RoundTrips { scenario, output }),
            Kind::Senders => Box::new(senders::Senders { scenario, output }),
            Kind::Gaps => Box::new(gaps::Gaps::new(scenario, output)),
            Kind::Waits => Box::new(waits::Waits::new(scenario, output)),
            Kind::Packets => Box::new(packets::Packets { scenario, output }),
        }
    }
}

fn ranges(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(BATCH_ROWS).map(move |start| start..rows.min(start + BATCH_ROWS))
}

#[cfg(test)]
mod tests;
