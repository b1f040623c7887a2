//! One connection over several paths (RFC 8684): each subflow is a TCP of its own, and data have numbers of their own above them.
//!
//! Data are counted in segments, as a subflow's are: segment `n` of the connection is full unless it is the last.

mod host;
pub mod keys;
mod receiver;
mod scheduler;
mod sender;
mod settings;

pub use receiver::Joint;
pub use sender::{Connection, ConnectionSetup, Sending, Stage, Subflow};

pub use crate::spec::MptcpConfig as Config;

use crate::Model;
use crate::frame::Decisive;
use crate::shard::Slab;
use crate::spec::FlowId;
use rustc_hash::FxHashMap;

/// The transport: see [`crate::transport::door`].
pub struct Mptcp;

/// What a shard keeps of connections over several paths.
#[derive(Default)]
pub struct Halves {
    connections: Slab<Connection>,
    joints: Slab<Joint>,
    /// Of flows whose senders have ended before: where their connections are.
    abandoned: FxHashMap<FlowId, u32>,
    /// Of flows that are complete here: what completed them.
    pub decisive: FxHashMap<FlowId, Decisive>,
}

/// In the slot of either half, whose frames are TCP's: it is of a connection over several paths.
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
