//! How to run and what to write down.

use super::{LinkId, NodeId};
use crate::Model;
use afflux_config::words;
pub use afflux_engine::memory::Bound;
use afflux_units::{Span, Time};

words! {
    /// Which engine runs it.
    #[schemars(rename = "Engine")]
    pub enum EngineKind {
        /// Logs of windows as long as the shortest crossing link delay: the fast one.
        WindowLog,
        /// A binary heap of events: the oracle.
        Classical,
        /// No packets: flows on one big switch, the flow with the fewest remaining bytes first (pFabric's Ideal). What transports, switches and links
        /// inside the fabric do has no effect; a completion time includes the idle path's latency.
        Ideal,
    }
    /// When a flow counts as complete.
    pub enum FctEnd {
        /// The last byte is acknowledged at the sender.
        LastAck,
        /// The last byte has been received.
        LastByte,
    }
    /// Simulator whose deviations are copied.
    pub enum Compat {
        /// ConWeave's ns-3 (conweave-project/conweave-ns3 at 236a801): times on links and between frames are cut off to whole nanoseconds, switches
        /// without another hash choose among next hops by MurmurHash3 of addresses and ports as counted there, frames out of order are answered with
        /// a congestion notification, and IRN's sender ends its recovery at any acknowledgement without NACK, repeats everything that it does not
        /// know to be held, and forgets blocks that it has skipped.
        #[serde(rename = "conweave-ns3")]
        ConweaveNs3,
    }
}

/// For `afflux models`: a row for each deviation, so that anybody can see what `compat` does.
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
    /// What is copied, each by a name and what it is.
    pub const fn deviations(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Compat::ConweaveNs3 => &[
                (
                    "whole_nanoseconds",
                    "the time of a frame on a link, and between frames of a queue pair, is cut off to whole nanoseconds (here to one at least); they coincide often: frames that arrive at a node at one instant go by port instead of by a hash, and a frame whose transmission begins at the very moment at which a balancer looks still waits to it",
                ),
                ("ecmp_hash", "MurmurHash3 x86 32 of source and destination address and ports, seeded with the switch's number, modulo the next hops"),
                ("flow_ports", "source ports count from 10000 per source, destination ports from 100 per destination, in the order of the flows"),
                ("drill_memory", "DRILL: the best port is remembered per destination host, and next hops are one group however unlike they are"),
                ("flowlet_key", "LetFlow and CONGA: a flow's key leaves out the source's address, and the priority group is or-ed into the destination's port"),
                ("conga_routed", "CONGA: the rate estimators count data alone, when they are routed, and metrics are not clamped to their bits"),
                ("conga_reports", "CONGA: data alone carry reports, each one drawn at random"),
                ("conga_choice", "CONGA: four paths that follow each other are looked at, from one drawn at random, and the path before is not preferred"),
                ("conga_aging", "CONGA: at multiples of the age what is older is cleared, instead of being forgotten step by step"),
                ("conweave_tags", "ConWeave: what a frame says between the ToRs takes no bytes, so that epochs are numbers without end"),
                ("conweave_queues", "ConWeave: reorder queues without bound, in memory that is not counted until they are released"),
                ("conweave_release", "ConWeave: what waits for a TAIL is released a nanosecond after it has come"),
                ("conweave_age", "ConWeave: both ToRs forget a silent flow after the same time"),
                ("cnp_out_of_order", "a frame out of order is answered with a congestion notification, as one that is marked"),
                ("irn_plain_ack", "IRN: an acknowledgement without NACK ends the recovery"),
                ("irn_repeats", "IRN: everything after the gap that is not known to be held is sent again, not only what lies below something that is held"),
                ("irn_forgets", "IRN: a sender that has skipped a block which the receiver holds forgets that block"),
            ],
        }
    }
}

/// How much memory the process may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxMemory {
    /// Resident, in all.
    pub bytes: u64,
    /// What sets this bound; `None`: the scenario.
    pub by: Option<Bound>,
    /// Of that, what records may take while the run goes on, by [`crate::memory::Record`]. It ends where they take more.
    pub records: u64,
}

#[derive(Debug, Clone)]
pub struct RunConfig {
    pub seed: u64,
    /// Stop after the events of this moment; `None` runs until nothing is left to happen.
    pub until: Option<Time>,
    /// Stop when all applications have done what they had to do, a latency later.
    pub until_done: bool,
    pub fct_end: FctEnd,
    pub engine: EngineKind,
    /// Worker threads of the window-log engine; results do not depend on it.
    pub threads: u32,
    pub compat: Option<Compat>,
    /// The run ends when frames wait in the network and none has left it for so long; `None`: it goes on.
    pub stall: Option<Span>,
    /// The run ends before it takes more; `None`: no bound.
    pub max_memory: Option<MaxMemory>,
}

#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Split every flow's completion time by cause.
    pub explain: bool,
    pub ports: Option<PortSeries>,
    /// Count frames per flow and path.
    pub paths: bool,
    /// Bytes sent per switch uplink in windows of this length.
    pub imbalance: Option<Span>,
    /// Reorder queues of each ToR, at intervals.
    pub reordering: Option<Span>,
    pub captures: Vec<Capture>,
    /// Links both of whose directions are captured, and kept together; ascending.
    pub joined: Vec<LinkId>,
    /// Bytes kept of each captured frame.
    pub snaplen: u32,
    /// Round trips as senders measure them.
    pub round_trips: bool,
    /// What senders know of their flows, at this interval.
    pub senders: Option<Span>,
    /// Nodes whose ports note the gaps between the frames of a flow, and those that note who stood in front of whom; ascending.
    pub gaps: Vec<NodeId>,
    pub waits: Vec<NodeId>,
}

/// A row per port, queue and interval.
#[derive(Debug, Clone)]
pub struct PortSeries {
    pub interval: Span,
    /// Nodes whose ports are sampled.
    pub nodes: Vec<NodeId>,
}

/// Every frame that starts on the wire in one direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    pub link: LinkId,
    /// `false`: from `Link::a` to `Link::b`.
    pub reverse: bool,
}
