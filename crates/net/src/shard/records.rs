//! Records that a shard hands over: of flows at their two ends, and of packets of real hosts.

use crate::frame::Frame;
use crate::idle::Idle;
use crate::probe::explain::Attribution;
use crate::probe::pieces::Pieces;
use crate::queue::flowcontrol::deadlock::Wait;
use crate::record::{
    CaptureRecord, GapRecord, MemoryFault, PortRecord, ReorderRecord, RoundTripRecord,
    SenderRecord, StormRecord, Stuck, TaskRecord, UplinkRecord, WaitRecord,
};
use crate::spec::FlowId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Record of a flow at its source, made when the flow ends there or when the run ends.
#[derive(Debug, Clone)]
pub struct SentRecord {
    pub flow: FlowId,
    pub start: u64,
    /// Time in ps of the last acknowledgement, if it arrived.
    pub finish: Option<u64>,
    /// Time in ps at which the transport gave the flow up.
    pub given_up: Option<u64>,
    pub ideal: u64,
    pub propagation: u64,
    pub packets: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub why: Option<Attribution>,
}

impl SentRecord {
    /// Creates the record of a flow that has sent nothing yet.
    pub fn new(flow: FlowId, start: u64, idle: Idle) -> SentRecord {
        let Idle { total: ideal, propagation, .. } = idle;
        SentRecord {
            flow,
            start,
            finish: None,
            given_up: None,
            ideal,
            propagation,
            packets: 0,
            retransmitted: 0,
            timeouts: 0,
            why: None,
        }
    }
}

/// Record of a flow at its destination.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedRecord {
    pub flow: FlowId,
    pub finish: Option<u64>,
    pub frames: u64,
    pub has_last: bool,
    pub marked: u64,
    pub reordered: u64,
    /// Time in ps for which the last frame to arrive had been paused.
    pub paused: u64,
    /// Time in ps at which the newest of `frames` became available to the application; without
    /// meaning if `frames` is 0.
    pub last: u64,
}

/// Everything that a shard hands over at the end of the run.
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
    /// Paused ports with waiting frames at the end of the run.
    pub stuck: Vec<Stuck>,
    /// Paused links at the end of the run, as (link, priority, next link): frames that came by the
    /// first link wait for the next one, which is paused too.
    pub held: Vec<(u32, u8, u32)>,
    /// Frames and bytes by path: (flow, subflow, number of the path, frames, bytes).
    pub paths: Vec<(FlowId, u8, u32, u64, u64)>,
    pub tasks: Vec<TaskRecord>,
    pub gaps: Vec<GapRecord>,
    pub waits_behind: Vec<WaitRecord>,
    pub round_trips: Vec<RoundTripRecord>,
    pub memory_faults: Vec<MemoryFault>,
}

impl Harvest {
    /// Adds the record of a flow that has ended at its source.
    pub fn leave(&mut self, mut record: SentRecord) {
        if let Some(why) = &mut record.why {
            why.forget_candidates();
        }
        self.sent.push(record);
    }
}

/// Returns the first bytes of a packet from outside, from its Ethernet header on: token, whether the
/// packet is marked (CE) now, number of bytes.
pub type Contents = Arc<dyn Fn(u32, bool, usize) -> Box<[u8]> + Send + Sync>;

/// Paths so far of the packets from outside, by token. Shared by all workers.
pub type Paths = Arc<Mutex<FxHashMap<u32, u32>>>;

/// PAUSE of the switch port opposite a guest's card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CardPause {
    /// Time in ps at which it takes effect.
    pub at: u64,
    pub host: u32,
    /// Port of the host.
    pub nic: u32,
    /// Bit mask of the priorities.
    pub priorities: u8,
    /// Time in ps up to which these priorities are paused; `at` if they may go on.
    pub until: u64,
}

/// Packets of real hosts that have arrived or been dropped.
#[derive(Default)]
pub struct Outside {
    /// Index of the transport whose flows carry these packets.
    pub transport: u16,
    pub arrived: Vec<Departure>,
    /// Tokens of dropped packets.
    pub lost: Vec<u32>,
    /// PAUSE frames for guests' cards in the current window, in order of time at each host.
    pub paused: Vec<CardPause>,
    /// The contents of packets, if captures may ask for them.
    pub contents: Option<Contents>,
    pub paths: Paths,
    /// By local node: packets of guests that enter the network later in the current window, in
    /// order of time.
    pub entering: FxHashMap<u32, VecDeque<Entering>>,
    /// After the run: carriers that were in use, each with the ends of its flow; `None` if several
    /// flows used it.
    pub carried: Vec<(FlowId, Option<(u64, u64)>)>,
}

/// A packet of a guest that enters the network.
#[derive(Debug, Clone, Copy)]
pub struct Entering {
    /// Time in ps.
    pub at: u64,
    /// Host, and its port.
    pub host: u32,
    pub nic: u32,
    pub flow: FlowId,
    pub frame: Frame,
}

/// Arrival of a packet at its destination host, where it leaves the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Time in ps at which the packet is due.
    pub at: u64,
    /// Token of the packet.
    pub token: u32,
    pub host: u32,
    /// Port of the host by which the packet arrived.
    pub nic: u32,
    /// True if the packet was marked (CE), in this network or before it.
    pub marked: bool,
}
