//! `waits`: waiting time of a flow's frames at a port, by the class of the frames that were
//! transmitted meanwhile.

use super::columns::Columns;
use super::ports::peers;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::record::{Behind, Output};
use afflux_net::spec::NodeId;
use afflux_scenario::Scenario;
use afflux_units::Span;
use arrow_array::RecordBatch;
use std::ops::Range;

pub struct Waits<'a> {
    scenario: &'a Scenario,
    output: &'a Output,
    peers: Vec<Vec<NodeId>>,
}

impl<'a> Waits<'a> {
    pub fn new(scenario: &'a Scenario, output: &'a Output) -> Self {
        Self { scenario, output, peers: peers(&scenario.plan.topology) }
    }

    /// Returns the class of the transmitted frames: the flow's own class for its own frames, `None`
    /// if nothing was transmitted.
    fn class(&self, flow: u32, behind: Behind) -> Option<&str> {
        let own = self.output.flow(&self.scenario.plan, flow).class;
        let class = match behind {
            Behind::Nobody => return None,
            Behind::Own => own,
            Behind::Class(class) => class,
        };
        Some(&self.scenario.classes[class as usize])
    }
}

impl Source for Waits<'_> {
    fn rows(&self) -> usize {
        self.output.waits.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let plan = &self.scenario.plan;
        let rows = || self.output.waits[rows.clone()].iter();
        let name = |node: NodeId| &plan.topology.nodes[node as usize].name;
        Columns::new(rows().len())
            .i64("flow", rows().map(|r| self.output.flow(plan, r.flow).id))
            .string("node", rows().map(|r| name(r.node)))
            .i32("port", rows().map(|r| r.port as i32))
            .string("peer", rows().map(|r| name(self.peers[r.node as usize][r.port as usize])))
            .string_or_null("behind", rows().map(|r| self.class(r.flow, r.behind)))
            .bool_or_null("own", rows().map(|r| Some(r.behind == Behind::Own)))
            .i64("frames", rows().map(|r| int(r.wait.frames)))
            .i64("wait_ns", rows().map(|r| int(Span(r.wait.time).round_ns())))
            .batch()
            .map_err(arrow("waits"))
    }
}
