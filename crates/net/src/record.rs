//! Defines the results of a run. Times are in ps; they are rounded to nanoseconds when files are
//! written.

pub use crate::app::TaskRecord;
pub use crate::balance::{BalanceCounters, ConweaveCounters, LateCounters};
use crate::congestion::State;
use crate::counters::counters;
pub use crate::frame::Control;
pub use crate::probe::hops::{Behind, Gap, RoundTrips, Wait};
use crate::spec::{Flow, FlowId, LinkId, NodeId, Plan, StormAction};
use afflux_units::{Span, Time};
use std::net::Ipv4Addr;

/// All results of a run. Equal plans give equal results with any packet engine and any number of
/// threads, except for `engine`.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Flows by `FlowId`: first those of the plan, then those in `started`.
    pub flows: Vec<FlowRecord>,
    /// Flows that applications or hosts outside the network started.
    pub started: Vec<Flow>,
    /// Packets of the flows that hosts outside the network made. Sorted by flow.
    pub outside: Vec<OutsideRecord>,
    /// Tasks that applications recorded, in the order of recording.
    pub tasks: Vec<TaskRecord>,
    /// Two records per link: `2 * link` is a→b, `2 * link + 1` is b→a.
    pub links: Vec<LinkRecord>,
    /// Sorted by time, node, port, queue.
    pub ports: Vec<PortRecord>,
    /// Sorted by flow, then path.
    pub paths: Vec<PathRecord>,
    /// Flows that carried packets of hosts outside the network, by number. Their numbers are in
    /// `gaps` and `waits`, and they have no entry in `flows`: the caller of the run replaces them by
    /// the flows that it knows.
    pub carried: Vec<Carried>,
    /// Sorted by time, node, link.
    pub uplinks: Vec<UplinkRecord>,
    /// Sorted by time, node, port.
    pub reordering: Vec<ReorderRecord>,
    /// Sorted by time, flow, subflow.
    pub senders: Vec<SenderRecord>,
    /// Sorted by node, port, flow, subflow.
    pub gaps: Vec<GapRecord>,
    /// Sorted by flow, node, port, and what the flow waited behind.
    pub waits: Vec<WaitRecord>,
    /// Sorted by flow, subflow.
    pub round_trips: Vec<RoundTripRecord>,
    /// One list per `Record::captures`, in order of time.
    pub captures: Vec<Vec<CaptureRecord>>,
    /// Storms that watchdogs have detected, in order of time, node, port and priority.
    pub storms: Vec<StormRecord>,
    /// Each cycle once, in order of time.
    pub deadlocks: Vec<Deadlock>,
    /// Paused ports with waiting frames, by link and priority, if the run ended without progress.
    pub stuck: Vec<Stuck>,
    /// Nodes whose memory in use did not match the contents of their queues at the end; by node.
    /// Always empty, unless the engine has a defect.
    pub memory_faults: Vec<MemoryFault>,
    pub counters: Counters,
    /// Last simulated instant, and the reason for the end.
    pub end: Time,
    pub ended: Ended,
    pub engine: Engine,
}

impl Output {
    /// Returns every flow of `plan`, then every flow that an application started, each with its
    /// record.
    pub fn all_flows<'a>(
        &'a self,
        plan: &'a Plan,
    ) -> impl Iterator<Item = (&'a Flow, &'a FlowRecord)> {
        plan.flows.iter().chain(&self.started).zip(&self.flows)
    }

    pub fn flow<'a>(&'a self, plan: &'a Plan, flow: FlowId) -> &'a Flow {
        plan.flows
            .get(flow as usize)
            .unwrap_or_else(|| &self.started[flow as usize - plan.flows.len()])
    }
}

impl Counters {
    /// Returns the number of frames that have left the network.
    #[inline]
    pub fn absorbed(&self) -> u64 {
        self.delivered_packets + self.dropped_packets
    }
}

/// Reason for the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ended {
    /// No event was left, or the applications had finished.
    #[default]
    Done,
    /// `until` was reached.
    Until,
    /// [`crate::spec::MaxMemory`] was reached: by the records (`Records`), which depends on the
    /// plan alone, or by the whole process (`Process`).
    Records,
    Process,
    /// The run made no progress any more: see [`Output::stuck`].
    Stalled,
}

/// A node whose memory in use (`used`, in bytes) did not match the contents of its queues (`held`)
/// at the end.
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
    /// The flow was still sending when the run ended, or had not yet started.
    Running,
    /// The flow was given up by its transport, or can never complete.
    Terminated,
}

#[derive(Debug, Clone)]
pub struct FlowRecord {
    /// Time of the start; `None` if the flow had not started when the run ended.
    pub start: Option<Time>,
    pub finish: Option<Time>,
    /// Time at which the transport gave the flow up.
    pub given_up: Option<Time>,
    pub status: Status,
    /// Completion time in an idle network with an unlimited sender, for the same frames.
    pub ideal: Span,
    /// Part of `ideal` that is propagation (link, host and pipeline delays), in both directions if
    /// `last_ack`.
    pub propagation: Span,
    /// Time beyond `ideal`, by cause. For a finished flow with `Record::explain`, the sum is
    /// `finish - start - ideal`.
    pub split: Split,
    pub packets_sent: u64,
    pub packets_retransmitted: u64,
    pub timeouts: u64,
    /// Number of data frames that arrived marked.
    pub ecn_marked: u64,
    /// Number of data frames that arrived after a frame with a higher sequence number.
    pub packets_reordered: u64,
    /// Payload bytes available to the application: received bytes without duplicates, and with TCP
    /// without bytes that wait behind a hole.
    pub bytes_received: u64,
    /// Time at which the last of `bytes_received` became available to the application; `None` if
    /// none did. It can be later than `given_up`, because frames that the sender had handed to its
    /// NIC still arrive.
    pub last_received: Option<Time>,
}

impl FlowRecord {
    /// Returns the interval in which a flow was active, in a run that ended at `end`; `None` if the
    /// flow never started. The flow is active
    /// - until it has finished; otherwise
    /// - until its sender gave up or the last of its payload arrived, whichever was later
    ///   (`bytes_received` counts payload that arrives after the sender gave up, so the interval
    ///   must include its arrival);
    /// - until the last of its payload arrived, if its sender had nothing left to send (datagrams
    ///   that were lost);
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

    /// Returns `bytes_received` per second of the active interval, in bit/s; `None` if the interval
    /// is empty.
    pub fn goodput(&self, end: Time) -> Option<f64> {
        let (start, last) = self.active(end).filter(|(start, last)| last > start)?;
        Some(
            (u128::from(self.bytes_received) * 8_000_000_000_000) as f64
                / last.since(start).0 as f64,
        )
    }
}

/// Waiting time beyond the ideal by cause, in ps, in the order of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Split {
    pub recovery: u64,
    pub reordering: u64,
    pub paused: u64,
    pub queueing: u64,
    /// Part of `queueing` in the sender's own host, if its transport reports it
    /// ([`crate::transports`]).
    pub host: u64,
    pub pacing: u64,
    pub window: u64,
    pub application: u64,
}

/// Packets of a flow that a host outside the network made, as its sender's and its receiver's NIC
/// saw them. Acknowledgements belong to the flow in whose direction they go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideRecord {
    pub flow: FlowId,
    /// Protocol number of IP.
    pub protocol: u8,
    /// True for a subflow of MPTCP.
    pub multipath: bool,
    /// Addresses and ports of both ends. Ports are 0 for protocols without ports.
    pub source: (Ipv4Addr, u16),
    pub destination: (Ipv4Addr, u16),
    /// Number of packets and their payload bytes, with those sent again, as sent and as received.
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
    /// Number of packets that the network dropped.
    pub dropped_packets: u64,
    /// Payload bytes that had been sent before (TCP).
    pub retransmitted_bytes: u64,
    pub last_sent: Option<Time>,
    pub last_received: Option<Time>,
    /// Time from the hand-over to the sender's NIC until arrival, of all packets that arrived.
    pub delays: RoundTrips,
    /// Time from the hand-over of a segment that was sent once until its acknowledgement arrives
    /// (TCP).
    pub round_trips: RoundTrips,
}

/// A flow that carried packets of hosts outside the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    pub flow: FlowId,
    pub src: u32,
    pub dst: u32,
    /// Hashes of the two ends of all its packets; `None` if the packets have different ends.
    pub ends: Option<(u64, u64)>,
}

/// Totals of one direction of a link over the whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkRecord {
    /// Number and bytes (without gap) of frames whose transmission ended.
    pub frames: u64,
    pub bytes: u64,
    /// Time spent transmitting in ps, gaps included.
    pub busy: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRecord {
    pub time: Time,
    pub node: NodeId,
    pub port: u32,
    /// Number of the queue; -1 for the whole port.
    pub queue: i32,
    pub queue_bytes: u64,
    pub queue_bytes_max: u64,
    pub tx_bytes: u64,
    pub rx_bytes: u64,
    pub drops: u64,
    pub in_discards: u64,
    pub ecn_marks: u64,
    /// Number of RDMA congestion notifications whose transmission began.
    pub cnps: u64,
    pub pause_frames_tx: u64,
    pub pause_frames_rx: u64,
    pub paused: u64,
    /// Longest wait in the interval, from the end of arrival to the start of transmission.
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

/// A queue that was paused for too long, as detected by a watchdog.
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
    /// Time of detection. Each link had been paused without interruption for `Pfc::deadlock_after`.
    pub time: Time,
    pub priority: u8,
    /// Links of the cycle: `2 * link` is a→b, `2 * link + 1` is b→a. Each ends where the next one
    /// begins.
    pub links: Vec<u32>,
}

/// Frames that wait for ever, because the far end of their link has paused the link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stuck {
    /// Direction of a link: `2 * link` is a→b, `2 * link + 1` is b→a.
    pub link: u32,
    pub priority: u8,
    pub frames: u64,
    /// Directions of links out of the far end of `link`. Frames that arrived over `link` wait for
    /// them. Empty if the far end pauses for a reason of its own.
    pub waits_for: Vec<u32>,
}

/// Gaps between the data frames of a flow (or subflow) at a port, from start to start of
/// transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GapRecord {
    pub node: NodeId,
    pub port: u32,
    pub flow: FlowId,
    pub subflow: u8,
    pub gap: Gap,
}

/// Waiting time of a flow's frames at a port, acknowledgements included, by the transmissions that
/// they waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRecord {
    pub flow: FlowId,
    pub node: NodeId,
    pub port: u32,
    pub behind: Behind,
    pub wait: Wait,
}

/// Round trips of a connection (or subflow), as measured by its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTripRecord {
    /// First flow of the connection.
    pub flow: FlowId,
    pub subflow: u8,
    pub measured: RoundTrips,
    /// Smoothed round trip at the end, in ps.
    pub smoothed: u64,
}

/// State of the sender of a connection (or subflow) at an instant, if it has data to send or
/// outstanding. [`SenderRecord::NONE`] marks a value that the transport or its congestion control
/// does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderRecord {
    pub time: Time,
    /// First flow of the connection.
    pub flow: FlowId,
    pub subflow: u8,
    /// Congestion window and slow start threshold, in bytes.
    pub window: u64,
    pub threshold: u64,
    /// Smoothed round trip in ps.
    pub smoothed: u64,
    /// Bytes that the sender assumes to be in the network.
    pub flight: u64,
    /// Pacing rate in bit/s.
    pub rate: u64,
    /// State of congestion control; `None`: the transport has none.
    pub state: Option<State>,
}

impl SenderRecord {
    pub const NONE: u64 = u64::MAX;

    /// Returns a record with the flow and the bytes in flight only.
    pub fn new(flow: FlowId, flight: u64) -> Self {
        SenderRecord {
            time: Time::ZERO,
            flow,
            subflow: 0,
            window: Self::NONE,
            threshold: Self::NONE,
            smoothed: Self::NONE,
            flight,
            rate: Self::NONE,
            state: None,
        }
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

/// State of the reorder queues of a ToR, or of one of its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReorderRecord {
    pub time: Time,
    pub node: NodeId,
    /// Number of the port; -1 for the whole switch. Ports without reorder queues in use are left
    /// out.
    pub port: i32,
    /// Number of queues in use.
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
    /// Data: number of the first payload byte. Acknowledgement: cumulative acknowledgement in
    /// bytes. Frame that opens or closes a connection: number of bytes before it.
    pub sequence: u64,
    pub payload: u16,
    /// Size on the wire in bytes, without gap.
    pub size: u16,
    /// ECN field of the IP header: 0 not capable, 1 or 2 capable, 3 marked.
    pub ecn: u8,
    /// TCP flags ECE (ECN echo) and CWR (window reduced).
    pub ece: bool,
    pub cwr: bool,
    /// True for the last segment of a connection with a handshake, and for the acknowledgement of
    /// that segment.
    pub last: bool,
    /// True for the acknowledgement of data that had been acknowledged before.
    pub again: bool,
    /// True if the frame goes from the flow's destination to its source.
    pub answer: bool,
    pub priority: u8,
    pub options: Option<Box<CaptureOptions>>,
    /// First bytes of a real host's packet, from its Ethernet header on. The fields of the
    /// protocols above then have no meaning.
    pub packet: Option<Box<[u8]>>,
}

/// Options of a TCP frame. All positions are in bytes of the payload of the connection (or
/// subflow).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureOptions {
    /// First byte beyond the receive window, if a window is announced. With several paths, the
    /// position counts the bytes of the connection, not of the subflow.
    pub edge: Option<u64>,
    /// Selective acknowledgements, in the order in which the frame has them.
    pub blocks: Vec<(u64, u64)>,
    pub multipath: Option<CaptureMultipath>,
}

/// MPTCP option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureMultipath {
    /// Number of the subflow, from 0.
    pub subflow: u8,
    /// Data: first byte of the connection's data in the frame. Acknowledgement: next byte expected.
    pub data: u64,
    /// True for the last frame on this subflow.
    pub closes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureKind {
    TcpData,
    TcpAck,
    /// A segment without data that opens or closes a connection.
    TcpControl(Control),
    Datagram,
    /// Frame from a switch to a switch.
    Switch,
}

counters! {
    /// Whole-run totals.
    pub struct Counters {
        /// Frames of any kind that links delivered.
        packet_hops,
        sent_packets,
        sent_bytes,
        delivered_packets,
        delivered_bytes,
        /// Counted one by one where frames are buffered at the end, not derived from other
        /// counters.
        in_flight_packets,
        in_flight_bytes,
        dropped_packets,
        dropped_bytes,
        /// Frames dropped because the buffer was full.
        drops_buffer,
        /// Frames dropped because the DRAM of a deep buffer could not keep up.
        drops_dram,
        /// Frames dropped early by RED or another queue discipline.
        drops_red,
        /// Frames lost on the wire.
        drops_loss,
        /// Frames lost because the link was down or no path was left.
        drops_down,
        /// Frames longer than the port at the end of a link accepts.
        drops_mtu,
        /// Frames dropped because a watchdog had detected a storm on the queue.
        drops_watchdog,
        /// Frames discarded at ingress because the switch's memory was full (for lossless traffic:
        /// because the headroom was full).
        in_discards,
        ecn_marks,
        /// RDMA congestion notifications that receivers sent, as frames of their own or as a bit in
        /// an acknowledgement.
        cnps,
        pause_frames,
        retransmits,
        timeouts,
        [balance: BalanceCounters]
    }
}

/// Performance of the run. It is not part of the result.
#[derive(Debug, Clone, Default)]
pub struct Engine {
    pub events: u64,
    /// Processor time of each worker thread in seconds.
    pub thread_cpu_s: Vec<f64>,
    pub wall_s: f64,
    /// Window length of the engine (its lookahead) in ps.
    pub window_ps: u64,
    /// Number of windows that the window engine has visited. It skips windows without events.
    pub windows: u64,
}
