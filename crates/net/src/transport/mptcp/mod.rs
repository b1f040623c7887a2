//! MPTCP: one connection over several paths (RFC 8684). Each subflow is a TCP with its own sequence
//! numbers, and data have a second numbering across the subflows.
//!
//! Data are counted in segments, as on a subflow: segment `n` of the connection is full unless it
//! is the last.

mod arrivals;
mod host;
pub mod keys;
mod parameters;
mod receiver;
mod scheduler;
mod sender;
mod settings;

pub use receiver::MptcpReceiver;
pub use sender::{Connection, ConnectionSetup, Sending, Stage, Subflow};

pub use crate::spec::MptcpConfig as Config;

use crate::Model;
use crate::frame::Decisive;
use crate::shard::Slab;
use crate::spec::FlowId;
use rustc_hash::FxHashMap;

/// The transport: see [`crate::transport::door`].
pub struct Mptcp;

/// MPTCP state of a shard.
#[derive(Default)]
pub struct Halves {
    pub connections: Slab<Connection>,
    pub receivers: Slab<MptcpReceiver>,
    /// Connections whose senders have ended early: slots in `connections`, by flow.
    abandoned: FxHashMap<FlowId, u32>,
    /// Flows that are complete at their receiver in this shard: the segment that completed each of
    /// them.
    pub decisive: FxHashMap<FlowId, Decisive>,
}

/// Bit in the slot of a sending or receiving half that belongs to an MPTCP connection, although its
/// frames have TCP's kinds.
pub const MPTCP: u32 = 1 << 29;

pub const MODEL: Model = Model {
    kind: "transport",
    name: "mptcp",
    source: "RFC 8684; scheduler, opportunistic retransmission and penalisation as in the Linux implementation of MPTCP (mptcp_sched.c, v0.8x)",
    faithful: "each subflow is a complete TCP, with any congestion control or a coupled one; MP_CAPABLE, then MP_JOIN with its fourth segment after the \
               first acknowledgement of data; ndiffports and fullmesh; mapping of data on subflows, acknowledgements of data, one receive window for the \
               connection; lowest round trip, round robin and redundant scheduling; reinjection after a subflow's time-out; options' bytes on the wire",
    simplified: "the hash of a subflow chooses the destination's NIC, as it would choose among ports; acknowledgements leave through the NIC at which the \
                 data arrived; no ADD_ADDR, priorities or backup subflows, no checksum, no fallback to TCP; closing a subflow takes one segment; no fast \
                 close; one flow per connection",
};
