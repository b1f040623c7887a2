//! TCP: one state machine with optional parts. Sequence numbers count segments, and all segments
//! are full except the last one of a flow.
//!
//! `Sender` and `Receiver` are pure state machines that know no network. The shard passes them the
//! arrivals and the time, and asks them for segments to transmit.

mod acknowledgement;
mod arrivals;
mod clock;
mod connection;
mod host;
pub mod keys;
mod loss;
mod message;
mod ns3;
mod ns3_state;
mod pacing;
mod parameters;
mod rack;
mod receive_memory;
mod receiver;
mod reduction;
mod rtt;
mod scoreboard;
mod send_memory;
mod sender;
mod small_queue;
mod subflow;
mod timer;
mod transmission;

pub use acknowledgement::AckIn;
pub use host::segment;
pub use message::Message;
pub use parameters::USES_ECN;
pub use receive_memory::{ReceiveMemory, stamp};
pub use receiver::{AckNow, Arrival, Receiver, ReceiverSetup};
pub use rtt::Rtt;
pub use scoreboard::{Scoreboard, Segment};
pub use sender::{Cause, Sender, SenderSetup, first_edge};
pub use timer::Expired;
pub use transmission::Transmit;

pub use crate::spec::TcpConfig as Config;

use crate::Model;
use crate::shard::Slab;
use rustc_hash::FxHashMap;

/// The transport: see [`crate::transport::door`].
pub struct Tcp;

/// Bits in the slot of a sending half that belongs to another transport, although its frames have
/// TCP's kinds.
pub const OTHERS: u32 = 0b11 << 29;

/// TCP state of a shard.
#[derive(Default)]
pub struct Halves {
    pub senders: Slab<Sender>,
    pub receivers: Slab<Receiver>,
    /// Slow start thresholds that ended connections left, by source (in this shard) and
    /// destination.
    thresholds: FxHashMap<(u32, u32), u32>,
}

pub const MODEL: Model = Model {
    kind: "transport",
    name: "tcp",
    source: "RFC 5681, 6582, 6675, 6298, 6937, 8985, 5682, 3522, 3168, 8257; details as Linux 6.12 where the RFCs leave them open. `stack = \"linux\"` \
             (the default, with CUBIC) has Linux's parts and settings, `\"basic\"` the fewest parts, for comparison with closed forms, `\"ns3\"` those of \
             ns-3",
    faithful: "slow start, congestion avoidance, limited transmit, SACK scoreboard, RACK and tail loss probes, proportional rate reduction, F-RTO and \
               undo by timestamps, time-out with back-off on kernel ticks, window validation and idle restart, quick, delayed and compressed \
               acknowledgements, ECN with its negotiation and fallback, handshake, persistent connections, receive buffers with auto-tuning by \
               timestamps' round trips, send buffers that wake their writer when a third is free, readers that stall, pacing, bursts of segmentation offload, small queues at the sender's own transmitter, \
               cached thresholds, connections that are given up after retries in vain",
    simplified: "one direction of data; all segments are full except the last of a flow; the FIN is part of the last segment; duplicate SACKs neither \
                 undo a reduction nor widen the reordering window; timestamps are the only option that takes bytes; the handshake's round trip sets the \
                 compression of acknowledgements; small queues assume a transmitter that sends in the order of arrival and is not paused; zero-window \
                 probes are sent for ever; the time-outs of SYNs double from the first on, as before Linux 6.5; `recovery = \"sack\"` has the first two \
                 NextSeg rules of RFC 6675 only, except with `stack = \"ns3\"`: where an earlier segment and the tail of a flow are lost, the tail waits \
                 for the time-out; with `recovery = \"newreno\"` and `stack = \"linux\"` the window stands still in a recovery, because duplicates do not \
                 count as delivered (Linux tcp_add_reno_sack)",
};
