//! The context in which blocks of traffic become flows: inputs, fabric, transports and what earlier blocks have added.

use crate::inputs::Inputs;
use crate::scenario::Reader;
use crate::topology::Facts;
use crate::validate::memory::Room;
use crate::validate::transport::Transports;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Flow, RunConfig, Undrawn};
use afflux_net::transports;
use afflux_traffic::hadoop::Settings;
use afflux_units::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// The inputs, settings and fabric that blocks of traffic are made from, and the results that they leave for the whole scenario.
pub struct TrafficContext<'a> {
    pub inputs: &'a Inputs,
    pub reader: &'a dyn Reader,
    pub facts: &'a Facts<'a>,
    pub keys: &'a transports::Around<'a>,
    pub seed: u64,
    pub transports: Transports,
    pub run: &'a RunConfig,
    pub clusters: Vec<HadoopCluster>,
    /// The transport of each host, for blocks that name none.
    pub of_hosts: Vec<u16>,
    pub priority_of_dscp: [u8; 64],
    pub room: Room,
    pub uses: TransportUsage,
    pub offers: Vec<Offer>,
    /// Flows of a random process that are drawn for an estimate, about; `None`: all.
    pub most_flows: Option<u64>,
    /// Flows that an estimate leaves out, by block.
    pub undrawn: Vec<(usize, Undrawn)>,
    pub warnings: Vec<Wrong>,
}

/// Transports that the traffic uses.
#[derive(Default)]
pub struct TransportUsage {
    /// Named transports, by index, with the priorities of flows that are sent by them or by one that follows from them.
    pub ways: BTreeSet<(u16, u8)>,
    /// Transports without a name, by index, with the priorities of their flows.
    pub unnamed: BTreeSet<(u16, u8)>,
    /// Named transports with a flow that has a deadline.
    pub dated: BTreeSet<u16>,
    /// DCTCP transports of hosts, by index: the number of flows whose receivers agree to explicit congestion notification, and of those whose receivers
    /// refuse it.
    pub refused: BTreeMap<u16, (u64, u64)>,
    /// The transport and the priority that the block at hand names.
    pub(super) named: Option<(u16, u8)>,
    /// The start of each block.
    pub starts: Vec<Time>,
}

impl TransportUsage {
    /// All transports that something is sent by.
    pub fn transports(&self) -> BTreeSet<u16> {
        self.ways.iter().chain(&self.unnamed).map(|way| way.0).collect()
    }

    /// Adds the transports of a block's flows. A block in which no flow starts with this seed uses the transport that it names, so that hosts are the same
    /// with every seed.
    pub(super) fn note(&mut self, flows: &[Flow], transports: &Transports) {
        if flows.is_empty() {
            self.ways.extend(self.named);
        }
        let mut last = None;
        for flow in flows.iter().filter(|flow| flow.src != flow.dst) {
            let way = (flow.transport, flow.priority, flow.deadline.is_some());
            if last.replace(way) == Some(way) {
                continue;
            }
            match transports.origin(flow.transport) {
                Some(named) => {
                    self.ways.insert((named, flow.priority));
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
    pub message_delay: Span,
    pub settings: Settings,
}

/// Traffic of a given rate.
pub struct Offer {
    pub block: usize,
    /// The key that says the rate.
    pub key: Key,
    pub from: Span,
    /// `None`: as long as the run lasts.
    pub to: Option<Span>,
    pub sources: Vec<u32>,
    /// Bits per second of each source, headers and gaps included.
    pub rate: f64,
    /// A warning says already that this is too much.
    pub told: bool,
}
