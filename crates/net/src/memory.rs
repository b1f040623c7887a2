//! Estimates the memory of a run, and the part of it that records may take during the run.
//!
//! All numbers are bytes of the resident set, including the Python interpreter around the
//! simulator, so that they compare with the operating system's number for the process
//! (`peak_rss_bytes` of a result). The sizes are those of the data structures. The overhead of
//! allocators and growing lists was measured (validation/estimates.py).

use crate::expected::Expected;
use crate::features::Features;
use crate::frame::{Extra, Frame};
use crate::paths::Paths;
use crate::port::Port;
use crate::probe::hops::Sent;
use crate::queue::class::Queue;
use crate::queue::waiting::Waiting;
use crate::record::*;
use crate::routing::{PortInfo, Ports, Routes};
use crate::shard::{Node, ReceivedRecord, SentRecord};
use crate::spec::{self, EngineKind, NodeKind, Plan, Topology};
use crate::transport::tcp::Segment;
use afflux_engine::scattered;

/// Memory of a process that has simulated almost nothing: the interpreter, its modules and this
/// library.
pub const PROCESS: u64 = 39 << 20;
/// Margin by which a process can exceed `PROCESS`, for example if Python finds no compiled modules.
const PROCESS_MARGIN: u64 = 8 << 20;
/// Memory of each worker thread after the first one: its stack and its part of the heap.
const WORKER: u64 = 4 << 20;

/// Maximum memory of a record of each kind, between its creation and its writing.
pub struct Kept;

impl Kept {
    pub const PORT: u64 = size_of::<PortRecord>() as u64;
    pub const UPLINK: u64 = size_of::<UplinkRecord>() as u64;
    pub const REORDER: u64 = size_of::<ReorderRecord>() as u64;
    pub const SENDER: u64 = size_of::<SenderRecord>() as u64;
    /// Entry of a hash table, which is half empty at worst and is copied when it grows, and finally
    /// a row.
    pub const GAP: u64 = 3 * size_of::<GapRecord>() as u64;
    pub const WAIT: u64 = 4 * size_of::<WaitRecord>() as u64;
    pub const PATH: u64 = 4 * size_of::<PathRecord>() as u64;
    pub const PAUSED: u64 = 64;
    /// Memory of a flow that has ended: the records of its two ends, the merged record, and its
    /// entry in the list of flows.
    pub const FLOW: u64 = Self::ENDS + size_of::<spec::Flow>() as u64;
    /// Memory for merging the records of both ends. First the records of senders are put in the
    /// order of flows, then both are merged.
    const ENDS: u64 = {
        let (sent, received, both) = (
            size_of::<Option<SentRecord>>(),
            size_of::<Option<ReceivedRecord>>(),
            size_of::<FlowRecord>(),
        );
        let last = if both > received { both } else { received };
        (sent + received + if sent > last { sent } else { last }) as u64
    };
    /// Memory that is not returned to the system after the records of a flow have been put in
    /// order.
    const COPY: u64 = (size_of::<SentRecord>() + size_of::<ReceivedRecord>()) as u64;
    pub const TASK: u64 = 2 * size_of::<TaskRecord>() as u64;
    const CAPTURE: u64 = (size_of::<(u32, CaptureRecord)>() + 8) as u64;
    /// A block on the heap, with the header that the allocator puts before it.
    const OPTIONS: u64 = (size_of::<CaptureOptions>() + 8) as u64;

    pub fn capture(record: &CaptureRecord) -> u64 {
        let blocks = |options: &CaptureOptions| {
            if options.blocks.is_empty() { 0 } else { 16 + 16 * options.blocks.capacity() as u64 }
        };
        let packet = record.packet.as_ref().map_or(0, |packet| 16 + packet.len() as u64);
        let options = record.options.as_ref().map_or(0, |options| Self::OPTIONS + blocks(options));
        Self::CAPTURE + options + packet
    }
}

/// Maximum number of rows of a table that are held as columns and encoded at the same time.
const WRITTEN_ROWS: u64 = 1 << 18;
const WRITTEN: u64 = 146;

/// Returns the additional memory at the end of a run: for merging flows, for sorting a list piece
/// by piece, and for writing rows.
pub fn finishing(flows: u64, kept: u64) -> u64 {
    flows * Kept::ENDS / 2 + kept.min(36 << 20) + kept.min(WRITTEN_ROWS * WRITTEN)
}

/// Memory of a run, by part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    /// Bytes without records.
    pub fixed: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Largest part: its key in a scenario, and its bytes.
    pub largest: (&'static str, u64),
    /// Number of rows of `[record]`.
    pub rows: u64,
}

impl Memory {
    /// Returns the memory that records may take during a run, so that the run stays below `bytes`
    /// until its end.
    pub fn records(bytes: u64, fixed: u64) -> u64 {
        let room = bytes.saturating_sub(fixed + PROCESS_MARGIN);
        // This is the maximum of [`finishing`].
        let most = (36 << 20) + WRITTEN_ROWS * WRITTEN;
        (room / 3).max(room.saturating_sub(most))
    }

    /// Returns the memory of a run of `plan` with the `expected` traffic.
    pub fn of(plan: &Plan, expected: &Expected) -> Memory {
        let links = plan.topology.links.len() as u64;
        let fabric = fabric(plan);
        // Each window of the event log that has an entry uses a separate chunk.
        let log = if plan.run.engine == EngineKind::Classical {
            0
        } else {
            scattered(occupied_windows(plan, expected.outstanding), size_of::<Frame>() as u64)
        };
        // Frames in a port's queue or on a link, and the sender's record of each frame.
        let under_way = log
            + expected.halves
            + expected.outstanding * frame(plan)
            + expected.rings * size_of::<Segment>() as u64;
        let flows = expected.flows * Kept::FLOW
            + expected.flows.min(SHORT) * Kept::COPY
            + expected.flows
                * if plan.record.round_trips { 2 * size_of::<RoundTripRecord>() as u64 } else { 0 };
        let written = expected.flows.min(WRITTEN_ROWS).max(2 * links.min(WRITTEN_ROWS)) * WRITTEN;
        let fixed = PROCESS
            + u64::from(plan.run.threads.saturating_sub(1)) * WORKER
            + fabric
            + flows
            + under_way
            + written;
        let records = records(plan, expected);
        let tables = records.iter().filter(|record| record.key != CAPTURE);
        let longest =
            tables.map(|record| record.rows).max().unwrap_or(0).min(WRITTEN_ROWS) * WRITTEN;
        let bytes = fixed
            + records.iter().map(|record| record.bytes).sum::<u64>()
            + longest.saturating_sub(written);
        let rows = records.iter().map(|record| record.rows).sum();
        let parts = [("topology", fabric), ("traffic", flows + under_way)]
            .into_iter()
            .chain(records.iter().map(|record| (record.key, record.bytes)));
        Memory { fixed, bytes, largest: parts.max_by_key(|part| part.1).unwrap_or_default(), rows }
    }
}

/// Returns the number of windows of the event log that have an entry. Ports of networks with queue
/// pairs hold their frames until transmission starts, so the log has only the frames on the links,
/// which arrive within the longest delay, and the timers of hosts. Other ports know the end of each
/// transmission when the frame arrives, so each outstanding frame may be in a window of its own.
fn occupied_windows(plan: &Plan, outstanding: u64) -> u64 {
    if !plan.has_queue_pairs() {
        return outstanding;
    }
    let delays = || plan.topology.links.iter().map(|link| link.delay.0);
    let ahead = delays().max().unwrap_or(1) / delays().min().unwrap_or(1).max(1) + 2;
    let hosts = plan.topology.nodes.iter().filter(|node| node.kind == NodeKind::Host).count();
    outstanding.min(ahead + hosts as u64)
}

/// Number of flows whose records are not returned to the system after they have been put in order
/// (measured).
const SHORT: u64 = 1 << 14;

/// Memory of a frame in a log or a queue, which grow by doubling.
const FRAME: u64 = 3 * size_of::<Waiting>() as u64 / 2;

/// Memory of the metadata of a frame.
const META: u64 = 3 * size_of::<Extra>() as u64 / 2;

/// Returns the memory of an outstanding frame, including the records that ports keep of it.
fn frame(plan: &Plan) -> u64 {
    // The classical engine has an event for each end of the frame in a heap.
    let events = if plan.run.engine == EngineKind::Classical { FRAME } else { 0 };
    // Ports have their longest queues at different times, and keep records of up to twice the
    // frames that wait, in lists that double (measured).
    let waits = if plan.record.waits.is_empty() { 0 } else { 16 * size_of::<Sent>() as u64 };
    let more = plan.transports.iter().any(|transport| transport.parameters().frames().carry_more);
    // If `aux` is the number of the path, the timestamp that data echo to a receiver with an
    // auto-tuned buffer is stored in the metadata of the frame.
    let echoes = |transport: &spec::TransportConfig| {
        matches!(transport.parameters().segments(), Some((_, spec::Receive::Buffer(_))))
    };
    let beside =
        if more || plan.record.paths && plan.transports.iter().any(echoes) { META } else { 0 };
    FRAME + events + waits + beside
}

const CAPTURE: &str = "record.capture";

/// Number and memory of the records of one kind.
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
    let ports_of =
        |nodes: &[spec::NodeId]| nodes.iter().map(|node| all.of(*node).len() as u64).sum::<u64>();
    let mut found = Vec::new();
    if let Some(series) = &record.ports {
        let rows: u64 = series
            .nodes
            .iter()
            .map(|&node| all.of(node).len() as u64 * rows_per_port(plan, node, all.of(node).len()))
            .sum();
        found.push(made(
            "record.ports.interval",
            samples(series.interval.0).saturating_mul(rows),
            Kept::PORT,
        ));
    }
    if let Some(window) = record.imbalance {
        let up = topology.uplinks().count() as u64;
        found.push(made("record.imbalance", samples(window.0).saturating_mul(up), Kept::UPLINK));
    }
    if let Some(interval) = record.reordering {
        let tors = topology
            .nodes
            .iter()
            .filter(|node| node.kind == NodeKind::Switch && node.tier == 1)
            .count() as u64;
        found.push(made("record.reorder", samples(interval.0).saturating_mul(tors), Kept::REORDER));
    }
    if let Some(interval) = record.senders {
        found.push(made(
            "record.senders",
            (expected.sending * 1e12 / interval.0.max(1) as f64) as u64,
            Kept::SENDER,
        ));
    }
    // Fraction of the link directions that start at one of these nodes. It also is the fraction of
    // the links that flows and their acknowledgements use.
    let part =
        |nodes: &[spec::NodeId]| ports_of(nodes) as f64 / (2 * topology.links.len()).max(1) as f64;
    if !record.gaps.is_empty() {
        found.push(made(
            "record.gaps",
            (expected.visits as f64 * part(&record.gaps)) as u64,
            Kept::GAP,
        ));
    }
    if !record.waits.is_empty() {
        found.push(made(
            "record.waits",
            (2.0 * expected.visits as f64 * part(&record.waits)) as u64,
            Kept::WAIT,
        ));
    }
    if record.paths {
        found.push(made("record.paths", expected.paths, Kept::PATH));
    }
    if !record.captures.is_empty() {
        let options = plan
            .transports
            .iter()
            .map(|transport| transport.parameters().frames().with_options)
            .max()
            .unwrap_or(0);
        found.push(made(CAPTURE, expected.captured, Kept::CAPTURE + options * Kept::OPTIONS / 2));
    }
    found
}

/// Returns the number of rows for one sample of a port: one for the whole port, and one for each of
/// its queues if there are several.
fn rows_per_port(plan: &Plan, node: spec::NodeId, ports: usize) -> u64 {
    let spec = &plan.topology.nodes[node as usize];
    let queues = match spec.kind {
        NodeKind::Host => plan.hosts[spec.config as usize].scheduling.queues() as u64,
        NodeKind::Switch => plan.switches[spec.config as usize].queues(ports) as u64,
    };
    if queues > 1 { 1 + queues } else { 1 }
}

/// Returns the memory of nodes, links, ports and tables.
pub fn fabric(plan: &Plan) -> u64 {
    let topology = &plan.topology;
    let (nodes, links) = (topology.nodes.len() as u64, topology.links.len() as u64);
    let ports = Ports::new(topology);
    let named = nodes * NAMED
        + links * (2 * size_of::<spec::Link>() + 2 * size_of::<LinkRecord>() * 2) as u64;
    let of_ports: u64 = (0..nodes as spec::NodeId)
        .map(|node| ports.of(node).len() as u64 * port(plan, node, ports.of(node).len()))
        .sum();
    let epochs = 1 + topology
        .links
        .iter()
        .flat_map(|link| &link.down)
        .map(|down| 2 + u64::from(down.converge.0 > 0))
        .sum::<u64>();
    let tables = epochs * (table(topology, &ports) + pinned(plan, &ports));
    named + nodes * (size_of::<Node>() as u64 + 64) + of_ports + tables
}

/// Memory of a node in two copies of the topology, including its name.
const NAMED: u64 = 2 * (size_of::<spec::Node>() as u64 + 32);

/// Returns the memory of a port, depending on its kind.
fn port(plan: &Plan, node: spec::NodeId, ports: usize) -> u64 {
    let spec = &plan.topology.nodes[node as usize];
    let plain = (size_of::<Port>() + 3 * size_of::<PortInfo>()) as u64 + 64;
    let (queues, aqm) = match spec.kind {
        NodeKind::Host => (
            usize::from(plan.hosts[spec.config as usize].scheduling.queues()),
            plan.hosts[spec.config as usize].aqm.as_ref(),
        ),
        NodeKind::Switch => (
            plan.switches[spec.config as usize].queues(ports),
            plan.switches[spec.config as usize].aqm.as_ref(),
        ),
    };
    let (timed, qdisc) = match spec.kind {
        NodeKind::Host => (
            plan.hosts[spec.config as usize].timing.is_some(),
            plan.hosts[spec.config as usize].qdisc.as_ref(),
        ),
        NodeKind::Switch => (false, None),
    };
    let sampled =
        plan.record.ports.as_ref().is_some_and(|series| series.nodes.binary_search(&node).is_ok());
    let stateful = queues > 1
        || aqm.is_some()
        || qdisc.is_some()
        || timed
        || sampled
        || plan.has_queue_pairs();
    plain
        + aqm.map_or(0, |aqm| aqm.about().memory)
        + qdisc.map_or(0, |qdisc| qdisc.memory())
        + if stateful {
            (size_of::<Features>() + queues * (size_of::<Queue>() + 4 * size_of::<Waiting>()))
                as u64
        } else {
            0
        }
}

/// Returns the memory of the next hops for one set of links.
fn table(topology: &Topology, ports: &Ports) -> u64 {
    let is_switch = |node: spec::NodeId| topology.nodes[node as usize].kind == NodeKind::Switch;
    let hangs = |host: spec::NodeId| matches!(ports.of(host), [only] if is_switch(only.peer));
    let hosts = u64::from(topology.hosts);
    let switches = topology.nodes.len() as u64 - hosts;
    if (0..topology.hosts).all(hangs) {
        let mut tors: Vec<spec::NodeId> =
            (0..topology.hosts).map(|host| ports.of(host)[0].peer).collect();
        tors.dedup();
        return switches * tors.len() as u64 * 4 + 16 * hosts;
    }
    topology.nodes.len() as u64 * hosts * 4
}

/// Returns the memory of the paths to which sources pin frames.
fn pinned(plan: &Plan, ports: &Ports) -> u64 {
    if !plan.switches.iter().any(|switch| switch.balance.about().pins) {
        return 0;
    }
    4 * Paths::count(&plan.topology, ports, &Routes::build_with(&plan.topology, ports, |_| true))
}
