//! Datagrams at a fixed rate, with retransmission of the segments that the receiver reports
//! missing: the common part of Tsunami, RBUDP and UDT. The rate does not depend on losses.

mod host;
mod keys;
mod receiver;
mod sender;

pub use keys::{Keys, Nack as Config};
pub use receiver::{Reaction, Receiver};
pub use sender::{Act, Report, Sender};

use crate::Model;
use crate::shard::Slab;

/// The transport: see [`crate::transport::door`].
pub struct Nack;

/// State of nack flows in a shard.
#[derive(Default)]
pub struct Halves {
    pub senders: Slab<Sender>,
    pub receivers: Slab<Receiver>,
}

pub const MODEL: Model = Model {
    kind: "transport",
    name: "nack",
    source: "rate-based transfer with negative acknowledgements, as in Tsunami UDP (Meiss 2004), RBUDP (He et al. 2002) and UDT (draft-gg-udt-03): \
             segments that the receiver reports missing are sent again, at a fixed rate",
    faithful: "segments leave at exact multiples of payload/rate; retransmissions keep the same pace and take precedence over new segments; a gap is \
               reported at once; at intervals the receiver reports all missing segments and the next expected one; a segment is sent again if it is \
               reported missing and a later one has arrived; the report that nothing is missing ends the flow; a lost tail or last report is found by a \
               time-out with back-off",
    simplified: "no set-up over another connection; no adaptation of the rate (UDT's and Tsunami's are not there); a report holds three ranges, and more \
                 ranges take several frames; headers are those of the host's wire profile; frames are not ECN-capable; if frames overtake each other, the \
                 receiver reports a gap that would have filled without a retransmission, and the sender retransmits",
};
