//! `imbalance`: unevenness of a ToR's uplinks in a window: (max − min) / average of the bytes sent
//! over each uplink, as in the ConWeave paper. Null for a window without traffic.

use super::columns::Columns;
use super::source::{Source, arrow};
use crate::ResultsError;
use crate::times::int;
use afflux_net::record::{Output, UplinkRecord};
use afflux_net::spec::{Node, NodeId, Topology};
use afflux_scenario::Scenario;
use afflux_units::Time;
use arrow_array::RecordBatch;
use std::ops::Range;

const TOR_TIER: u8 = 1;

struct Window {
    time: Time,
    node: NodeId,
    uplinks: u64,
    min: u64,
    max: u64,
    sum: u64,
}

impl Window {
    fn average(&self) -> f64 {
        self.sum as f64 / self.uplinks as f64
    }
    /// Returns the imbalance. `None` for a window without traffic.
    fn imbalance(&self) -> Option<f64> {
        (self.sum > 0).then(|| (self.max - self.min) as f64 / self.average())
    }
}

pub struct Imbalance<'a> {
    nodes: &'a [Node],
    windows: Vec<Window>,
}

impl<'a> Imbalance<'a> {
    pub fn new(scenario: &'a Scenario, output: &Output) -> Self {
        let topology = &scenario.plan.topology;
        let nodes = &topology.nodes;
        let uplinks = uplinks(topology);
        let windows = output.uplinks.chunk_by(|x, y| (x.time, x.node) == (y.time, y.node));
        let windows = windows.filter(|records| nodes[records[0].node as usize].tier == TOR_TIER);
        Self {
            nodes,
            windows: windows
                .map(|records| window(records, uplinks[records[0].node as usize]))
                .collect(),
        }
    }
}

/// Returns start and imbalance of every window with traffic.
pub fn imbalances(scenario: &Scenario, output: &Output) -> Vec<(Time, f64)> {
    Imbalance::new(scenario, output)
        .windows
        .iter()
        .filter_map(|window| Some((window.time, window.imbalance()?)))
        .collect()
}

/// Combines the records of one ToR and window. A link without a record has sent nothing.
fn window(records: &[UplinkRecord], uplinks: u64) -> Window {
    let UplinkRecord { time, node, .. } = records[0];
    let bytes = || records.iter().map(|r| r.bytes);
    let silent = (records.len() as u64) < uplinks;
    let min = if silent { 0 } else { bytes().min().unwrap_or(0) };
    Window {
        time,
        node,
        uplinks: uplinks.max(records.len() as u64),
        min,
        max: bytes().max().unwrap_or(0),
        sum: bytes().sum(),
    }
}

/// Returns the number of links to a higher tier, by node.
fn uplinks(topology: &Topology) -> Vec<u64> {
    let mut uplinks = vec![0; topology.nodes.len()];
    for link in &topology.links {
        let tier = |node: NodeId| topology.nodes[node as usize].tier;
        uplinks[link.a as usize] += u64::from(tier(link.b) > tier(link.a));
        uplinks[link.b as usize] += u64::from(tier(link.a) > tier(link.b));
    }
    uplinks
}

impl Source for Imbalance<'_> {
    fn rows(&self) -> usize {
        self.windows.len()
    }

    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ResultsError> {
        let rows = || self.windows[rows.clone()].iter();
        Columns::new(rows().len())
            .i64("time_ns", rows().map(|w| int(w.time.round_ns())))
            .string("node", rows().map(|w| &self.nodes[w.node as usize].name))
            .i32("uplinks", rows().map(|w| w.uplinks as i32))
            .i64("bytes_min", rows().map(|w| int(w.min)))
            .i64("bytes_max", rows().map(|w| int(w.max)))
            .f64("bytes_avg", rows().map(Window::average))
            .f64_or_null("imbalance", rows().map(Window::imbalance))
            .batch()
            .map_err(arrow("imbalance"))
    }
}
