//! Specifies the run: engine, end conditions and records.

use super::{LinkId, NodeId};
use crate::Model;
use afflux_config::words;
pub use afflux_engine::memory::Bound;
use afflux_units::{Span, Time};

words! {
    /// Engine that runs the simulation.
    #[schemars(rename = "Engine")]
    pub enum EngineKind {
        /// Fast engine: logs events in windows as long as the shortest crossing link delay.
        WindowLog,
        /// Reference engine: keeps events in a binary heap. It serves as oracle for the fast
        /// engine.
        Classical,
        /// Flow-level model without packets: flows share one big switch, and the flow with the
        /// fewest remaining bytes goes first (pFabric's Ideal). Transports, switches and links
        /// inside the fabric have no effect. A completion time includes the latency of the idle
        /// path.
        Ideal,
    }
    /// Event at which a flow counts as complete.
    pub enum FctEnd {
        /// The last byte is acknowledged at the sender.
        LastAck,
        /// The last byte has been received.
        LastByte,
    }
    /// Simulator whose deviations are reproduced.
    pub enum Compat {
        /// ConWeave's ns-3 (conweave-project/conweave-ns3 at 236a801). Times on links and between
        /// frames are rounded down to whole nanoseconds. Switches without another hash choose among
        /// next hops by MurmurHash3 of addresses and ports, which are numbered as in that
        /// simulator. Frames out of order are answered with a congestion notification. The sender
        /// of IRN ends its recovery at any acknowledgement without NACK, retransmits everything
        /// that it does not know to be held, and forgets blocks that it has skipped.
        #[serde(rename = "conweave-ns3")]
        ConweaveNs3,
    }
}

/// Returns the rows of `afflux models` for `compat`, one for each deviation.
pub(crate) fn models() -> Vec<Model> {
    let row = |&(name, faithful): &(&'static str, &'static str)| Model {
        kind: "compat",
        name,
        source: "`[run] compat = \"conweave-ns3\"`: conweave-project/conweave-ns3 at 236a801",
        faithful,
        simplified: "a deviation of that simulator, copied",
    };
    Compat::ConweaveNs3.deviations().iter().map(row).collect()
}

impl Compat {
    /// Returns the deviations that are reproduced, each with its name and a description.
    pub const fn deviations(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Compat::ConweaveNs3 => &[
                (
                    "whole_nanoseconds",
                    "the time of a frame on a link, and between frames of a queue pair, is cut off to whole nanoseconds (here to one at least); they coincide often: frames that arrive at a node at one instant go by port instead of by a hash, and a frame whose transmission begins at the very moment at which a balancer looks still waits to it",
                ),
                (
                    "ecmp_hash",
                    "MurmurHash3 x86 32 of source and destination address and ports, seeded with the switch's number, modulo the next hops",
                ),
                (
                    "flow_ports",
                    "source ports count from 10000 per source, destination ports from 100 per destination, in the order of the flows",
                ),
                (
                    "drill_memory",
                    "DRILL: the best port is remembered per destination host, and next hops are one group however unlike they are",
                ),
                (
                    "flowlet_key",
                    "LetFlow and CONGA: a flow's key leaves out the source's address, and the priority group is or-ed into the destination's port",
                ),
                (
                    "conga_routed",
                    "CONGA: the rate estimators count data alone, when they are routed, and metrics are not clamped to their bits",
                ),
                ("conga_reports", "CONGA: data alone carry reports, each one drawn at random"),
                (
                    "conga_choice",
                    "CONGA: four paths that follow each other are looked at, from one drawn at random, and the path before is not preferred",
                ),
                (
                    "conga_aging",
                    "CONGA: at multiples of the age what is older is cleared, instead of being forgotten step by step",
                ),
                (
                    "conweave_tags",
                    "ConWeave: what a frame says between the ToRs takes no bytes, so that epochs are numbers without end",
                ),
                (
                    "conweave_queues",
                    "ConWeave: reorder queues without bound, in memory that is not counted until they are released",
                ),
                (
                    "conweave_release",
                    "ConWeave: what waits for a TAIL is released a nanosecond after it has come",
                ),
                ("conweave_age", "ConWeave: both ToRs forget a silent flow after the same time"),
                (
                    "cnp_out_of_order",
                    "a frame out of order is answered with a congestion notification, as one that is marked",
                ),
                ("irn_plain_ack", "IRN: an acknowledgement without NACK ends the recovery"),
                (
                    "irn_repeats",
                    "IRN: everything after the gap that is not known to be held is sent again, not only what lies below something that is held",
                ),
                (
                    "irn_forgets",
                    "IRN: a sender that has skipped a block which the receiver holds forgets that block",
                ),
            ],
        }
    }
}

/// Limit of the memory that the process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxMemory {
    /// Total resident memory in bytes.
    pub bytes: u64,
    /// Source of this limit; `None`: the scenario.
    pub by: Option<Bound>,
    /// Part of `bytes` for records during the run, counted by [`crate::memory::Record`]. The run
    /// ends if they need more.
    pub records: u64,
}

#[derive(Debug, Clone)]
pub struct RunConfig {
    pub seed: u64,
    /// Time after whose events the run ends; `None`: the run ends when no event is left.
    pub until: Option<Time>,
    /// Ends the run when all applications have finished, plus their latency.
    pub until_done: bool,
    pub fct_end: FctEnd,
    pub engine: EngineKind,
    /// Worker threads of the window-log engine; results do not depend on it.
    pub threads: u32,
    pub compat: Option<Compat>,
    /// Ends the run if frames wait in the network and none has left it for this long; `None`:
    /// never.
    pub stall: Option<Span>,
    /// Ends the run before the process uses more memory; `None`: no limit.
    pub max_memory: Option<MaxMemory>,
}

#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Splits the completion time of every flow by cause.
    pub explain: bool,
    pub ports: Option<PortSeries>,
    /// Counts frames per flow and path.
    pub paths: bool,
    /// Records the bytes sent per switch uplink, in windows of this length.
    pub imbalance: Option<Span>,
    /// Records the reorder queues of each ToR, at this interval.
    pub reordering: Option<Span>,
    pub captures: Vec<Capture>,
    /// Links of which both directions are captured into one list; ascending.
    pub joined: Vec<LinkId>,
    /// Bytes kept of each captured frame.
    pub snaplen: u32,
    /// Records the round trips that senders measure.
    pub round_trips: bool,
    /// Records the state of senders, at this interval.
    pub senders: Option<Span>,
    /// Nodes whose ports record the gaps between the frames of a flow (`gaps`), and nodes whose
    /// ports record which flows were ahead of a frame in the queue (`waits`); ascending.
    pub gaps: Vec<NodeId>,
    pub waits: Vec<NodeId>,
}

/// Records a row per port, queue and interval.
#[derive(Debug, Clone)]
pub struct PortSeries {
    pub interval: Span,
    /// Nodes whose ports are sampled.
    pub nodes: Vec<NodeId>,
}

/// Records every frame that starts on the wire in one direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    pub link: LinkId,
    /// `false`: from `Link::a` to `Link::b`. `true`: from `Link::b` to `Link::a`.
    pub reverse: bool,
}
