//! The memory of a run: what it will take, and how much of that its records may take while it goes on.
//!
//! Everything here is bytes of the resident set, the interpreter around the simulator included, so that it compares with what the system says of
//! the process (`peak_rss_bytes` of a result). The sizes are those of the structures; what allocators and growing lists add was measured
//! (validation/estimates.py).

use crate::expected::Expected;
use crate::frame::{Extra, Frame};
use crate::paths::Paths;
use crate::port::{Automaton, Port, Queue, Waiting};
use crate::probe::hops::Sent;
use crate::record::*;
use crate::routing::{PortInfo, Ports, Routes};
use crate::shard::{Node, ReceivedRecord, SentRecord};
use crate::spec::{self, EngineKind, NodeKind, Plan, Topology};
use crate::transport::tcp::Segment;
use afflux_engine::scattered;

/// A process that has simulated nothing to speak of: the interpreter, its modules and this library.
pub const PROCESS: u64 = 39 << 20;
/// A process may be larger by so much than `PROCESS`, as when Python finds no compiled modules.
const DOUBT: u64 = 8 << 20;
/// A worker thread beside the first one: its stack and its part of the heap.
const WORKER: u64 = 4 << 20;

/// Largest memory of a record of each kind, from where it is made to where it is written.
pub struct Kept;

impl Kept {
    pub const PORT: u64 = size_of::<PortRecord>() as u64;
    pub const UPLINK: u64 = size_of::<UplinkRecord>() as u64;
    pub const REORDER: u64 = size_of::<ReorderRecord>() as u64;
    pub const SENDER: u64 = size_of::<SenderRecord>() as u64;
    /// Entries of hash tables, which are half empty at worst, and copied when they grow; then a row each.
    pub const GAP: u64 = 3 * size_of::<GapRecord>() as u64;
    pub const WAIT: u64 = 4 * size_of::<WaitRecord>() as u64;
    pub const PATH: u64 = 4 * size_of::<PathRecord>() as u64;
    pub const PAUSED: u64 = 64;
    /// A flow that is over: the records of its two ends, the record of both, and its entry in the list of the plan or of the applications.
    pub const FLOW: u64 = Self::ENDS + size_of::<spec::Flow>() as u64;
    /// Records of both ends are put in the order of flows, those of senders first, and then together.
    const ENDS: u64 = {
        let (sent, received, both) = (size_of::<Option<SentRecord>>(), size_of::<Option<ReceivedRecord>>(), size_of::<FlowRecord>());
        let last = if both > received { both } else { received };
        (sent + received + if sent > last { sent } else { last }) as u64
    };
    /// Memory that is not given back when the records of a flow have been put in order.
    const COPY: u64 = (size_of::<SentRecord>() + size_of::<ReceivedRecord>()) as u64;
    pub const TASK: u64 = 2 * size_of::<TaskRecord>() as u64;
    const CAPTURE: u64 = (size_of::<(u32, CaptureRecord)>() + 8) as u64;
    /// A list on the heap, and the head that the allocator puts before it.
    const OPTIONS: u64 = (size_of::<CaptureOptions>() + 8) as u64;

    pub fn capture(record: &CaptureRecord) -> u64 {
        let blocks = |options: &CaptureOptions| if options.blocks.is_empty() { 0 } else { 16 + 16 * options.blocks.capacity() as u64 };
        Self::CAPTURE + record.options.as_ref().map_or(0, |options| Self::OPTIONS + blocks(options))
    }
}

/// Rows of a table that are being written: they are held as columns, then encoded, at most so many at a time.
const WRITTEN_ROWS: u64 = 1 << 18;
const WRITTEN: u64 = 146;

/// Further memory at the end of a run: flows that are put together, a list that is put in order piece by piece, rows that are written.
pub fn finishing(flows: u64, kept: u64) -> u64 {
    flows * Kept::ENDS / 2 + kept.min(36 << 20) + kept.min(WRITTEN_ROWS * WRITTEN)
}

/// Memory of a run, part by part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// Without records.
    pub fixed: u64,
    /// All.
    pub bytes: u64,
    /// The largest part, by its key in a scenario, with its bytes.
    pub largest: (&'static str, u64),
    /// Rows of `[record]`.
    pub rows: u64,
}

impl Memory {
    /// Memory that records may take while a run goes on, so that the run stays below `bytes` to its end.
    pub fn records(bytes: u64, fixed: u64) -> u64 {
        let room = bytes.saturating_sub(fixed + DOUBT);
        // As in `finishing`.
        let most = (36 << 20) + WRITTEN_ROWS * WRITTEN;
        (room / 3).max(room.saturating_sub(most))
    }

    /// Memory of a run of `plan` with the `expected` traffic.
    pub fn of(plan: &Plan, expected: &Expected) -> Memory {
        let links = plan.topology.links.len() as u64;
        let fabric = fabric(plan);
        // Each window of the event log with an entry has a chunk of its own.
        let log = if plan.run.engine == EngineKind::Classical { 0 } else { scattered(expected.outstanding, size_of::<Frame>() as u64) };
        // Frames in a port's queue or on a link, and the sender's record of each.
        let under_way = log + expected.halves + expected.outstanding * frame(plan) + expected.rings * size_of::<Segment>() as u64;
        let flows = expected.flows * Kept::FLOW
            + expected.flows.min(SHORT) * Kept::COPY
            + expected.flows * if plan.record.round_trips { 2 * size_of::<RoundTripRecord>() as u64 } else { 0 };
        let written = expected.flows.min(WRITTEN_ROWS).max(2 * links.min(WRITTEN_ROWS)) * WRITTEN;
        let fixed = PROCESS + u64::from(plan.run.threads.saturating_sub(1)) * WORKER + fabric + flows + under_way + written;
        let records = records(plan, expected);
        let tables = records.iter().filter(|record| record.key != CAPTURE);
        let longest = tables.map(|record| record.rows).max().unwrap_or(0).min(WRITTEN_ROWS) * WRITTEN;
        let bytes = fixed + records.iter().map(|record| record.bytes).sum::<u64>() + longest.saturating_sub(written);
        let rows = records.iter().map(|record| record.rows).sum();
        let parts = [("topology", fabric), ("traffic", flows + under_way)].into_iter().chain(records.iter().map(|record| (record.key, record.bytes)));
        Memory { fixed, bytes, largest: parts.max_by_key(|part| part.1).unwrap_or_default(), rows }
    }
}

/// Number of flows whose records are not given back to the system when they have been put in order, as measured.
const SHORT: u64 = 1 << 14;

/// A frame in a log or a queue, which grow by doubling.
const FRAME: u64 = 3 * size_of::<Waiting>() as u64 / 2;

/// The record beside a frame that carries more than fits into the frame.
const BESIDE: u64 = 3 * size_of::<Extra>() as u64 / 2;

/// A frame that is outstanding, with what ports remember of it.
fn frame(plan: &Plan) -> u64 {
    // An event for each of its ends, in a heap.
    let events = if plan.run.engine == EngineKind::Classical { FRAME } else { 0 };
    // Ports have their longest queues at different times, and keep up to twice what waits, in lists that double: as measured.
    let waits = if plan.record.waits.is_empty() { 0 } else { 16 * size_of::<Sent>() as u64 };
    let more = plan.transports.iter().any(|transport| transport.parameters().carries_more());
    // Where `aux` is the path's number, the timestamp that data echo to a receiver that tunes its buffer stands beside the frame.
    let echoes = |transport: &spec::TransportConfig| matches!(transport.parameters().segments(), Some((_, spec::Receive::Buffer(_))));
    let beside = if more || plan.record.paths && plan.transports.iter().any(echoes) { BESIDE } else { 0 };
    FRAME + events + waits + beside
}

const CAPTURE: &str = "record.capture";

/// Records of one kind.
struct Records {
    key: &'static str,
    rows: u64,
    bytes: u64,
}

fn records(plan: &Plan, expected: &Expected) -> Vec<Records> {
    let (record, topology) = (&plan.record, &plan.topology);
    let made = |key, rows: u64, each: u64| Records { key, rows, bytes: rows.saturating_mul(each) };
    let samples = |interval: u64| (expected.end * 1e12 / interval.max(1) as f64) as u64;
    let all = Ports::new(topology);
    let ports_of = |nodes: &[spec::NodeId]| nodes.iter().map(|node| all.of(*node).len() as u64).sum::<u64>();
    let mut found = Vec::new();
    if let Some(series) = &record.ports {
        let rows: u64 = series.nodes.iter().map(|&node| all.of(node).len() as u64 * rows_per_port(plan, node, all.of(node).len())).sum();
        found.push(made("record.ports.interval", samples(series.interval.0).saturating_mul(rows), Kept::PORT));
    }
    if let Some(window) = record.imbalance {
        let tier = |node: spec::NodeId| topology.nodes[node as usize].tier;
        let up = topology.links.iter().filter(|link| tier(link.a).min(tier(link.b)) > 0 && tier(link.a) != tier(link.b)).count() as u64;
        found.push(made("record.imbalance", samples(window.0).saturating_mul(up), Kept::UPLINK));
    }
    if let Some(interval) = record.reordering {
        let tors = topology.nodes.iter().filter(|node| node.kind == NodeKind::Switch && node.tier == 1).count() as u64;
        found.push(made("record.reorder", samples(interval.0).saturating_mul(tors), Kept::REORDER));
    }
    if let Some(interval) = record.senders {
        found.push(made("record.senders", (expected.sending * 1e12 / interval.0.max(1) as f64) as u64, Kept::SENDER));
    }
    // Of the links that flows pass, and their acknowledgements in the other direction, those that start at such a node.
    let part = |nodes: &[spec::NodeId]| ports_of(nodes) as f64 / (2 * topology.links.len()).max(1) as f64;
    if !record.gaps.is_empty() {
        found.push(made("record.gaps", (expected.visits as f64 * part(&record.gaps)) as u64, Kept::GAP));
    }
    if !record.waits.is_empty() {
        found.push(made("record.waits", (2.0 * expected.visits as f64 * part(&record.waits)) as u64, Kept::WAIT));
    }
    if record.paths {
        found.push(made("record.paths", expected.paths, Kept::PATH));
    }
    if !record.captures.is_empty() {
        let options = plan.transports.iter().map(|transport| transport.parameters().with_options()).max().unwrap_or(0);
        found.push(made(CAPTURE, expected.captured, Kept::CAPTURE + options * Kept::OPTIONS / 2));
    }
    found
}

/// Rows of a sample of a port: the whole port, and each of its queues if there are several.
fn rows_per_port(plan: &Plan, node: spec::NodeId, ports: usize) -> u64 {
    let spec = &plan.topology.nodes[node as usize];
    let queues = match spec.kind {
        NodeKind::Host => plan.hosts[spec.config as usize].scheduling.queues() as u64,
        NodeKind::Switch => plan.switches[spec.config as usize].queues(ports) as u64,
    };
    if queues > 1 { 1 + queues } else { 1 }
}

/// Nodes, links, ports, tables.
pub fn fabric(plan: &Plan) -> u64 {
    let topology = &plan.topology;
    let (nodes, links) = (topology.nodes.len() as u64, topology.links.len() as u64);
    let ports = Ports::new(topology);
    let named = nodes * NAMED + links * (2 * size_of::<spec::Link>() + 2 * size_of::<LinkRecord>() * 2) as u64;
    let of_ports: u64 = (0..nodes as spec::NodeId).map(|node| ports.of(node).len() as u64 * port(plan, node, ports.of(node).len())).sum();
    let epochs = 1 + topology.links.iter().flat_map(|link| &link.down).map(|down| 2 + u64::from(down.converge.0 > 0)).sum::<u64>();
    let tables = epochs * (table(topology, &ports) + pinned(plan, &ports));
    named + nodes * (size_of::<Node>() as u64 + 64) + of_ports + tables
}

/// A node of a topology, twice, with its name.
const NAMED: u64 = 2 * (size_of::<spec::Node>() as u64 + 32);

/// A port with what its kind takes.
fn port(plan: &Plan, node: spec::NodeId, ports: usize) -> u64 {
    let spec = &plan.topology.nodes[node as usize];
    let plain = (size_of::<Port>() + 3 * size_of::<PortInfo>()) as u64 + 64;
    let (queues, aqm) = match spec.kind {
        NodeKind::Host => (usize::from(plan.hosts[spec.config as usize].scheduling.queues()), plan.hosts[spec.config as usize].aqm.as_ref()),
        NodeKind::Switch => (plan.switches[spec.config as usize].queues(ports), plan.switches[spec.config as usize].aqm.as_ref()),
    };
    let (timed, qdisc) = match spec.kind {
        NodeKind::Host => (plan.hosts[spec.config as usize].timing.is_some(), plan.hosts[spec.config as usize].qdisc.as_ref()),
        NodeKind::Switch => (false, None),
    };
    let sampled = plan.record.ports.as_ref().is_some_and(|series| series.nodes.binary_search(&node).is_ok());
    let stateful = queues > 1 || aqm.is_some() || qdisc.is_some() || timed || sampled || plan.has_queue_pairs();
    plain
        + aqm.map_or(0, |aqm| aqm.about().memory)
        + qdisc.map_or(0, |qdisc| qdisc.memory())
        + if stateful { (size_of::<Automaton>() + queues * (size_of::<Queue>() + 4 * size_of::<Waiting>())) as u64 } else { 0 }
}

/// Next hops of one set of links.
fn table(topology: &Topology, ports: &Ports) -> u64 {
    let is_switch = |node: spec::NodeId| topology.nodes[node as usize].kind == NodeKind::Switch;
    let hangs = |host: spec::NodeId| matches!(ports.of(host), [only] if is_switch(only.peer));
    let hosts = u64::from(topology.hosts);
    let switches = topology.nodes.len() as u64 - hosts;
    if (0..topology.hosts).all(hangs) {
        let mut tors: Vec<spec::NodeId> = (0..topology.hosts).map(|host| ports.of(host)[0].peer).collect();
        tors.dedup();
        return switches * tors.len() as u64 * 4 + 16 * hosts;
    }
    topology.nodes.len() as u64 * hosts * 4
}

/// Paths that sources pin frames to.
fn pinned(plan: &Plan, ports: &Ports) -> u64 {
    if !plan.switches.iter().any(|switch| switch.balance.about().pins) {
        return 0;
    }
    4 * Paths::count(&plan.topology, ports, &Routes::build_with(&plan.topology, ports, |_| true))
}
