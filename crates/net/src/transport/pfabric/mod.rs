//! pFabric's minimal transport, and the TCP of ns-2 that it is derived from. Both detect losses by
//! time-outs only.
//!
//! The receiver is TCP's. [`Sender`] is a pure state machine like TCP's.

mod host;
pub mod keys;
mod sender;

pub use sender::{Expired, Kept, Sender, SenderSetup, Transmit};

use crate::Model;
use crate::shard::Slab;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// The transport: see [`crate::transport::door`].
pub struct Pfabric;

/// State of pFabric's transport in a shard. Its receivers are TCP receivers.
#[derive(Default)]
pub struct Halves {
    pub senders: Slab<Sender>,
    /// Idle connections by pair of hosts, longest idle first.
    pools: FxHashMap<(u32, u32), VecDeque<Kept>>,
}

/// Bit in the slot of a sending half that belongs to pFabric, although its acknowledgements have
/// TCP's kind.
pub const PFABRIC: u32 = 1 << 30;

pub const MODEL: Model = Model {
    kind: "transport",
    name: "pfabric",
    source: "Alizadeh et al., SIGCOMM 2013, section 4.2; the authors' ns-2 code (pFabric.patch)",
    faithful: "data frames carry the remaining size of the flow: its bytes that are neither acknowledged nor SACKed when the frame is sent; the window is \
               counted from the first hole; no fast retransmit; a fixed time-out without estimation or back-off, after which the window is one segment \
               and holes are sent first; after `probe_after` time-outs in a row the sender only probes until it hears anything; one connection for each \
               pair of hosts, and further ones if it is busy, which keep their slow start threshold",
    simplified: "a probe carries no data (in ns-2 one byte); SACKed segments are never sent again (ns-2 can repeat some after a time-out); estimated \
                 time-outs follow RFC 6298 in picoseconds instead of ticks",
};
