//! What a run leaves behind. Times are picoseconds; rounding to nanoseconds happens where files are written.

pub use crate::app::TaskRecord;
pub use crate::balance::{BalanceCounters, ConweaveCounters, LateCounters};
use crate::counters::counters;
pub use crate::frame::Control;
pub use crate::probe::hops::{Behind, Gap, RoundTrips, Wait};
use crate::spec::{Flow, FlowId, LinkId, NodeId, Plan, StormAction};
use afflux_units::{Span, Time};

/// Everything a run produced. Equal for equal plans, whatever the engine or the number of threads, but for `Engine`.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// By `FlowId`: those of the plan, then those in `started`.
    pub flows: Vec<FlowRecord>,
    /// What applications started.
    pub started: Vec<Flow>,
    /// What applications wrote down, in that order.
    pub tasks: Vec<TaskRecord>,
    /// Two per link: `2 * link` is a→b, `2 * link + 1` is b→a.
    pub links: Vec<LinkRecord>,
    /// Sorted by time, node, port, queue.
    pub ports: Vec<PortRecord>,
    /// Sorted by flow, then path.
    pub paths: Vec<PathRecord>,
    /// Sorted by time, node, link.
    pub uplinks: Vec<UplinkRecord>,
    /// Sorted by time, node, port.
    pub reordering: Vec<ReorderRecord>,
    /// Sorted by time, flow, subflow.
    pub senders: Vec<SenderRecord>,
    /// Sorted by node, port, flow, subflow.
    pub gaps: Vec<GapRecord>,
    /// Sorted by flow, node, port, whom they waited behind.
    pub waits: Vec<WaitRecord>,
    /// Sorted by flow, subflow.
    pub round_trips: Vec<RoundTripRecord>,
    /// One list per `Record::captures`, in order of time.
    pub captures: Vec<Vec<CaptureRecord>>,
    /// Storms that watchdogs have seen, in order of time, node, port and priority.
    pub storms: Vec<StormRecord>,
    /// Each cycle once, in order of time.
    pub deadlocks: Vec<Deadlock>,
    /// Of a run that ended without progress: the paused ports with waiting frames, by link and priority.
    pub stuck: Vec<Stuck>,
    /// Nodes whose memory in use was not what their queues held at the end; by node. Always empty, unless the engine has a defect.
    pub memory_faults: Vec<MemoryFault>,
    pub counters: Counters,
    /// The last moment simulated, and why it is the last.
    pub end: Time,
    pub ended: Ended,
    pub engine: Engine,
}

impl Output {
    /// Every flow of `plan`, then every one that an application started, with what has become of it.
    pub fn all_flows<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (&'a Flow, &'a FlowRecord)> {
        plan.flows.iter().chain(&self.started).zip(&self.flows)
    }

    pub fn flow<'a>(&'a self, plan: &'a Plan, flow: FlowId) -> &'a Flow {
        plan.flows.get(flow as usize).unwrap_or_else(|| &self.started[flow as usize - plan.flows.len()])
    }
}

impl Counters {
    /// Frames that have left the network.
    #[inline]
    pub fn absorbed(&self) -> u64 {
        self.delivered_packets + self.dropped_packets
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ended {
    /// Nothing was left to happen, or the applications had done what they had to do.
    #[default]
    Done,
    /// At `until`.
    Until,
    /// At [`crate::spec::MaxMemory`]: by what its records take, which is a matter of the plan alone, or by what the process takes.
    Records,
    Process,
    /// Nothing moved any more: [`Output::stuck`].
    Stalled,
}

/// A node whose memory in use, in bytes, was not what its queues held at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryFault {
    pub node: NodeId,
    pub used: u64,
    pub held: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Completed.
    Finished,
    /// Still sending when the run ended, or not yet started.
    Running,
    /// Given up: by its transport, or because it can never complete.
    Terminated,
}

#[derive(Debug, Clone)]
pub struct FlowRecord {
    /// `None` if it had not started when the run ended.
    pub start: Option<Time>,
    pub finish: Option<Time>,
    /// When its transport gave it up.
    pub given_up: Option<Time>,
    pub status: Status,
    /// Completion time of the same frames with the network to themselves and an unlimited sender.
    pub ideal: Span,
    /// The part of `ideal` that is propagation (link, host and pipeline delays), both ways if `last_ack`.
    pub propagation: Span,
    /// Where the time beyond `ideal` went; sums to `finish - start - ideal` when finished and `Record::explain`.
    pub split: Split,
    pub packets_sent: u64,
    pub packets_retransmitted: u64,
    pub timeouts: u64,
    /// Data frames that arrived marked.
    pub ecn_marked: u64,
    /// Data frames that arrived after one with a higher sequence number.
    pub packets_reordered: u64,
    /// Payload bytes that the application can have: what arrived, without duplicates, and with TCP without what waits behind a hole.
    pub bytes_received: u64,
    /// When the last of `bytes_received` became available to the application; `None` if nothing did. It can be later than `given_up`: frames that the
    /// sender had handed to its NIC still arrive.
    pub last_received: Option<Time>,
}

impl FlowRecord {
    /// From when to when a flow was active, in a run that ended at `end`; `None` if it never started. It is active
    /// - until it has finished; otherwise
    /// - until its sender gave up or the last of its payload arrived, whichever was later: `bytes_received` counts what arrives after that, so the time must;
    /// - until the last of its payload arrived, if its sender had nothing left to send (datagrams that were lost);
    /// - until the end of the run, if it still ran then.
    pub fn active(&self, end: Time) -> Option<(Time, Time)> {
        let start = self.start?;
        let last = match (self.finish, self.status) {
            (Some(finish), _) => finish,
            (None, Status::Terminated) => self.given_up.max(self.last_received).unwrap_or(end),
            (None, Status::Running | Status::Finished) => end,
        };
        Some((start, last.max(start)))
    }

    /// `bytes_received` per second of the time in which the flow was active, in bits per second; `None` if there is no such time.
    pub fn goodput(&self, end: Time) -> Option<f64> {
        let (start, last) = self.active(end).filter(|(start, last)| last > start)?;
        Some((u128::from(self.bytes_received) * 8_000_000_000_000) as f64 / last.since(start).0 as f64)
    }
}

/// Waits beyond the ideal, by cause, in picoseconds, in the contract's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    pub recovery: u64,
    pub reordering: u64,
    pub paused: u64,
    pub queueing: u64,
    /// Of the queueing: in the sender's own host, where its transport tells ([`crate::transports`]).
    pub host: u64,
    pub pacing: u64,
    pub window: u64,
    pub application: u64,
}

/// One direction of a link, whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkRecord {
    /// Frames and bytes (without gap) whose transmission ended.
    pub frames: u64,
    pub bytes: u64,
    /// Time spent transmitting, gaps included.
    pub busy: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRecord {
    pub time: Time,
    pub node: NodeId,
    pub port: u32,
    /// -1 for the whole port.
    pub queue: i32,
    pub queue_bytes: u64,
    pub queue_bytes_max: u64,
    pub tx_bytes: u64,
    pub rx_bytes: u64,
    pub drops: u64,
    pub in_discards: u64,
    pub ecn_marks: u64,
    /// Congestion notifications of RDMA whose transmission began.
    pub cnps: u64,
    pub pause_frames_tx: u64,
    pub pause_frames_rx: u64,
    pub paused: u64,
    /// Longest wait from end of arrival to start of transmission in the interval.
    pub latency_max: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathRecord {
    pub flow: FlowId,
    pub subflow: u32,
    /// Nodes from source to destination.
    pub nodes: Vec<NodeId>,
    pub frames: u64,
    pub bytes: u64,
}

/// A queue that was paused for too long, as a watchdog sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StormRecord {
    pub detected: Time,
    pub restored: Option<Time>,
    pub node: NodeId,
    pub port: u32,
    pub priority: u8,
    pub action: StormAction,
}

/// A cycle of links, each paused because the next one is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// When it was seen; each link had been paused since `Pfc::deadlock_after` before that, without interruption.
    pub time: Time,
    pub priority: u8,
    /// `2 * link` is a→b, `2 * link + 1` is b→a; each ends where the next one begins.
    pub links: Vec<u32>,
}

/// Frames that wait for ever, because the far end of their link has paused it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stuck {
    /// `2 * link` is a→b, `2 * link + 1` is b→a.
    pub link: u32,
    pub priority: u8,
    pub frames: u64,
    /// Links, likewise, out of its far end: frames that came over this one wait for them. None where the far end pauses for a reason of its own.
    pub waits_for: Vec<u32>,
}

/// Gaps between the data frames of a flow (or subflow) where they leave a port, start to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GapRecord {
    pub node: NodeId,
    pub port: u32,
    pub flow: FlowId,
    pub subflow: u8,
    pub gap: Gap,
}

/// How long frames of a flow waited at a port, acknowledgements included, and for whose transmissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRecord {
    pub flow: FlowId,
    pub node: NodeId,
    pub port: u32,
    pub behind: Behind,
    pub wait: Wait,
}

/// Round trips of a connection, or subflow, as its sender measures them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTripRecord {
    /// The connection's first flow.
    pub flow: FlowId,
    pub subflow: u8,
    pub measured: RoundTrips,
    /// The smoothed one at the end.
    pub smoothed: u64,
}

/// What the sender of a connection, or subflow, that has something to send or outstanding knows at a moment. [`SenderRecord::NONE`]: its transport, or
/// its congestion control, has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderRecord {
    pub time: Time,
    /// A connection's first flow.
    pub flow: FlowId,
    pub subflow: u8,
    /// Congestion window and slow start threshold, in bytes.
    pub window: u64,
    pub threshold: u64,
    /// Smoothed round trip, picoseconds.
    pub smoothed: u64,
    /// Bytes taken to be in the network.
    pub flight: u64,
    /// Rate that its frames are spaced by, in bits per second.
    pub rate: u64,
}

impl SenderRecord {
    pub const NONE: u64 = u64::MAX;

    /// Of a sender of which nothing else is known.
    pub fn new(flow: FlowId, flight: u64) -> Self {
        SenderRecord { time: Time::ZERO, flow, subflow: 0, window: Self::NONE, threshold: Self::NONE, smoothed: Self::NONE, flight, rate: Self::NONE }
    }
}

/// Bytes that a switch sent to a higher tier over one link in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UplinkRecord {
    /// Start of the window.
    pub time: Time,
    pub node: NodeId,
    pub link: LinkId,
    pub bytes: u64,
}

/// The reorder queues of a ToR, or of one of its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReorderRecord {
    pub time: Time,
    pub node: NodeId,
    /// -1 for the whole switch. A port without any is left out.
    pub port: i32,
    /// In use.
    pub queues: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureRecord {
    /// Start of transmission.
    pub time: Time,
    pub flow: FlowId,
    pub src: u32,
    pub dst: u32,
    pub kind: CaptureKind,
    /// First payload byte for data, cumulative acknowledgement in bytes for acknowledgements; of what opens or closes a connection, the bytes before it.
    pub sequence: u64,
    pub payload: u16,
    /// Bytes on the wire without gap.
    pub size: u16,
    /// ECN field of the IP header: 0 not capable, 1 or 2 capable, 3 marked.
    pub ecn: u8,
    /// Echo and window-reduced flags of TCP.
    pub ece: bool,
    pub cwr: bool,
    /// The last segment of a connection with a handshake; of an acknowledgement: of that segment.
    pub last: bool,
    /// An acknowledgement of something that had been acknowledged before.
    pub again: bool,
    /// From the flow's destination to its source.
    pub answer: bool,
    pub priority: u8,
    pub options: Option<Box<CaptureOptions>>,
}

/// What a frame of TCP carries beside its header. All in bytes of the connection's (or subflow's) payload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureOptions {
    /// The first byte that the receive window does not allow, if it is announced: of the subflow's or, over several paths, of the connection's.
    pub edge: Option<u64>,
    /// Selective acknowledgements, in the order in which they stand there.
    pub blocks: Vec<(u64, u64)>,
    pub multipath: Option<CaptureMultipath>,
}

/// Of a connection over several paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureMultipath {
    /// From 0.
    pub subflow: u8,
    /// The first byte of the connection's data that is carried; of an acknowledgement, the next one expected.
    pub data: u64,
    /// The last that is said on this subflow.
    pub closes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureKind {
    TcpData,
    TcpAck,
    /// A segment without data that opens or closes a connection.
    TcpControl(Control),
    Datagram,
    /// From a switch to a switch.
    Switch,
}

counters! {
    /// Whole-run totals.
    pub struct Counters {
        /// Frames of any kind delivered by a link.
        packet_hops,
        sent_packets,
        sent_bytes,
        delivered_packets,
        delivered_bytes,
        /// Counted one by one where frames are held at the end, not derived.
        in_flight_packets,
        in_flight_bytes,
        dropped_packets,
        dropped_bytes,
        /// Of those: the buffer had no room.
        drops_buffer,
        /// Of those: the DRAM of a deep buffer could not keep up.
        drops_dram,
        /// RED or another queue discipline dropped it early.
        drops_red,
        /// Lost on the wire.
        drops_loss,
        /// The link was down, or no path was left.
        drops_down,
        /// Longer than the port at the end of a link accepts.
        drops_mtu,
        /// A watchdog had found the queue in a storm.
        drops_watchdog,
        /// The switch's memory had no room at ingress (for lossless traffic: the headroom was full).
        in_discards,
        ecn_marks,
        /// Congestion notifications of RDMA that receivers sent, in frames of their own or as a bit in an acknowledgement.
        cnps,
        pause_frames,
        retransmits,
        timeouts,
        [balance: BalanceCounters]
    }
}

/// How the run went: not part of the result.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    pub events: u64,
    /// Processor time of each worker thread, seconds.
    pub thread_cpu_s: Vec<f64>,
    pub wall_s: f64,
    /// The engine's own lookahead, picoseconds.
    pub window_ps: u64,
}
