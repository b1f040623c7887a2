//! Context in which traffic blocks become flows: inputs, fabric, transports, and the results of
//! earlier blocks.

use crate::inputs::Inputs;
use crate::scenario::Reader;
use crate::topology::Facts;
use crate::validate::memory::MemoryBudget;
use crate::validate::transport::Transports;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Flow, RunConfig, Undrawn};
use afflux_net::transports;
use afflux_traffic::hadoop::Settings;
use afflux_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// Inputs, settings and fabric from which traffic blocks are made, and the results that the blocks
/// leave for the whole scenario.
pub struct TrafficContext<'a> {
    pub inputs: &'a Inputs,
    pub reader: &'a dyn Reader,
    pub facts: &'a Facts<'a>,
    pub keys: &'a transports::KeyContext<'a>,
    pub seed: u64,
    pub transports: Transports,
    pub run: &'a RunConfig,
    pub clusters: Vec<HadoopCluster>,
    /// The transport of each host, for blocks that name none.
    pub of_hosts: Vec<u16>,
    pub priority_of_dscp: [u8; 64],
    pub budget: MemoryBudget,
    pub uses: TransportUsage,
    pub offers: Vec<Offer>,
    /// Approximate number of flows of a random process that are drawn for an estimate; `None`: all.
    pub most_flows: Option<u64>,
    /// Flows that an estimate leaves out, by block.
    pub undrawn: Vec<(usize, Undrawn)>,
    pub warnings: Vec<Wrong>,
    /// Some hosts are kernels, whose programs make traffic.
    pub kernels: bool,
}

/// Transports that the traffic uses.
#[derive(Default)]
pub struct TransportUsage {
    /// Index of each named transport in use, with the priorities of its flows. The flows of a
    /// derived transport count for the named one.
    pub variants: BTreeSet<(u16, u8)>,
    /// Index of each transport in use that derives from no named one, with the priorities of its
    /// flows.
    pub unnamed: BTreeSet<(u16, u8)>,
    /// Indices of the named transports that have a flow with a deadline.
    pub dated: BTreeSet<u16>,
    /// DCTCP transports of hosts, by index: the number of flows whose receivers agree to ECN, and
    /// the number of flows whose receivers refuse it.
    pub refused: BTreeMap<u16, (u64, u64)>,
    /// Transport and priority of the block that is being read.
    pub(super) named: Option<(u16, u8)>,
    /// Start of each block.
    pub starts: Vec<Time>,
}

impl TransportUsage {
    /// Returns all transports that some traffic uses.
    pub fn transports(&self) -> BTreeSet<u16> {
        self.variants.iter().chain(&self.unnamed).map(|way| way.0).collect()
    }

    /// Adds the transports of a block's flows. A block in which no flow starts with this seed
    /// counts as using the transport that it names, so that the hosts are the same with every seed.
    pub(super) fn note(&mut self, flows: &[Flow], transports: &Transports) {
        if flows.is_empty() {
            self.variants.extend(self.named);
        }
        let mut last = None;
        for flow in flows.iter().filter(|flow| flow.src != flow.dst) {
            let way = (flow.transport, flow.priority, flow.deadline.is_some());
            if last.replace(way) == Some(way) {
                continue;
            }
            match transports.origin(flow.transport) {
                Some(named) => {
                    self.variants.insert((named, flow.priority));
                    if way.2 {
                        self.dated.insert(named);
                    }
                }
                None => {
                    self.unnamed.insert((flow.transport, flow.priority));
                }
            }
        }
    }
}

/// A Hadoop cluster, whose jobs are numbered from 0 in their block.
pub struct HadoopCluster {
    pub block: usize,
    pub settings: Settings,
}

/// Traffic of a given rate, for the check of overloaded links.
pub struct Offer {
    pub block: usize,
    /// Key that sets the rate.
    pub key: Key,
    pub from: Span,
    /// End of the traffic. `None`: the end of the run.
    pub to: Option<Span>,
    /// Hosts that send, with the rate of each in bit/s, headers and gaps included.
    pub sent: Vec<(u32, f64)>,
    /// Hosts that receive, with the mean rate to each in bit/s, headers and gaps included. Empty if
    /// the rate to each follows from congestion control.
    pub received: Vec<(u32, f64)>,
    /// True if a warning already says that this rate is too high.
    pub reported: bool,
}
