//! Datagrams at a rate of the sender's own, repeated where the receiver reports that they are missing: what Tsunami, RBUDP and UDT have in common. The
//! rate does not depend on what is lost.

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

/// What a shard keeps of such transfers.
#[derive(Default)]
pub struct Halves {
    senders: Slab<Sender>,
    receivers: Slab<Receiver>,
}

pub const MODEL: Model = Model {
    kind: "transport",
    name: "nack",
    source: "rate-based transfer with negative acknowledgements, as in Tsunami UDP (Meiss 2004), RBUDP (He et al. 2002) and UDT (draft-gg-udt-03): repetition of what is reported missing, at a fixed rate",
    faithful: "segments leave at exact multiples of payload/rate, repetitions in the same pace and before new ones; a gap is reported at once, everything missing and the next segment expected at intervals; a segment is sent again if it is reported missing and one sent after it has arrived; the report that nothing is missing any more ends the flow; a lost tail or last report is found by a time-out with back-off",
    simplified: "no set-up over another connection; no adaptation of the rate (UDT's and Tsunami's are not there); a report has room for three ranges, more take several frames; headers are those of the host's wire profile; frames are not ECN-capable; where frames overtake each other, a gap is reported that fills by itself, and is repeated",
};
