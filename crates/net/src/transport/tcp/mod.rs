//! One TCP machine with switchable parts. Sequence numbers count segments: every segment is full but a flow's last.
//!
//! `Sender` and `Receiver` are pure state machines: they know no network. The shard hands them what arrives and the time,
//! and asks for what to transmit.

mod loss;
mod ns3;
mod rate;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;
mod timer;

#[cfg(test)]
pub use rate::Around;
pub use rate::{Lost, Sample, Sampler};
pub use receiver::{AckNow, Arrival, Receiver, ReceiverSetup};
pub use sender::{AckIn, Cause, Message, Sender, SenderSetup};
pub use timer::Expired;

use crate::Model;

pub const MODEL: Model = Model {
    kind: "transport",
    name: "tcp",
    source: "RFC 5681, 6582, 6675, 6298, 3168, 8257; details as Linux where the RFCs leave them open",
    faithful: "slow start, congestion avoidance, limited transmit, fast recovery with SACK scoreboard or NewReno, retransmission time-out with back-off and Karn's rule, window validation, delayed acknowledgements, ECN",
    simplified: "connections are already open (no handshake, no close); one direction; segments are whole (a flow's last may be short); no RACK-TLP, no PRR, no HyStart, no pacing, no receive buffer that fills: the receive window is constant; a sender never gives up",
};
