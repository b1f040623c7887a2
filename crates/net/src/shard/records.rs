//! What a shard hands over: of flows at their two ends, and of packets of real hosts.

use crate::idle::Idle;
use crate::probe::explain::Attribution;
use crate::probe::pieces::Pieces;
use crate::queue::flowcontrol::deadlock::Wait;
use crate::record::{
    CaptureRecord, GapRecord, MemoryFault, PortRecord, ReorderRecord, RoundTripRecord, SenderRecord, StormRecord, Stuck, TaskRecord, UplinkRecord, WaitRecord,
};
use crate::spec::FlowId;

/// What a flow leaves at its source when it is done there (or when the run ends).
#[derive(Debug, Clone)]
pub struct SentRecord {
    pub flow: FlowId,
    pub start: u64,
    /// The last acknowledgement, if it came.
    pub finish: Option<u64>,
    /// When its transport gave it up.
    pub given_up: Option<u64>,
    pub ideal: u64,
    pub propagation: u64,
    pub packets: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub why: Option<Attribution>,
}

impl SentRecord {
    /// Of a flow that has sent nothing yet.
    pub fn new(flow: FlowId, start: u64, idle: Idle) -> SentRecord {
        let Idle { total: ideal, propagation, .. } = idle;
        SentRecord { flow, start, finish: None, given_up: None, ideal, propagation, packets: 0, retransmitted: 0, timeouts: 0, why: None }
    }
}

/// What it leaves at its destination.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedRecord {
    pub flow: FlowId,
    pub finish: Option<u64>,
    pub frames: u64,
    pub has_last: bool,
    pub marked: u64,
    pub reordered: u64,
    /// How long the last frame to arrive stood paused.
    pub paused: u64,
    /// When the newest of `frames` became available to the application, picoseconds; without meaning if there are none.
    pub last: u64,
}

/// What a shard hands over at the end.
#[derive(Default)]
pub struct Harvest {
    pub sent: Pieces<SentRecord>,
    pub received: Pieces<ReceivedRecord>,
    pub ports: Pieces<PortRecord>,
    pub uplinks: Pieces<UplinkRecord>,
    pub captures: Pieces<(u32, CaptureRecord)>,
    pub reordering: Pieces<ReorderRecord>,
    pub senders: Pieces<SenderRecord>,
    pub storms: Vec<StormRecord>,
    pub waits: Vec<Wait>,
    /// Frames that are paused at the end; and links that are paused (by link and priority) for a link out of their far end.
    pub stuck: Vec<Stuck>,
    pub held: Vec<(u32, u8, u32)>,
    /// By flow, subflow and the path's number: frames and bytes.
    pub paths: Vec<(FlowId, u8, u32, u64, u64)>,
    pub tasks: Vec<TaskRecord>,
    pub gaps: Vec<GapRecord>,
    pub waits_behind: Vec<WaitRecord>,
    pub round_trips: Vec<RoundTripRecord>,
    pub memory_faults: Vec<MemoryFault>,
}

impl Harvest {
    /// A flow is over at its source.
    pub fn leave(&mut self, mut record: SentRecord) {
        if let Some(why) = &mut record.why {
            why.settle();
        }
        self.sent.push(record);
    }
}

/// What has become of packets of real hosts.
#[derive(Debug, Default)]
pub struct Outside {
    /// The transport of their flows.
    pub transport: u16,
    pub arrived: Vec<Departure>,
    /// Tokens of those that were dropped.
    pub lost: Vec<u32>,
}

/// A packet leaves the network for its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When it is due, picoseconds.
    pub at: u64,
    /// Which one it is.
    pub token: u32,
    pub host: u32,
    /// The host's port by which it has come.
    pub nic: u32,
    /// It met congestion, here or before.
    pub marked: bool,
}
