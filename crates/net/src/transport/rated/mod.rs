//! Transports whose rate is granted by the links on the path: PDQ and D3. They share a sender (paced, with its losses), a receiver that sends every
//! header back, and differ in what they ask for and when.

pub mod allocation;
mod host;
pub mod keys;
mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::{AckIn, Act, Scheduling, Sender, SenderSetup};

use crate::Model;
use crate::shard::Slab;
use allocation::Link;

/// Both transports: see [`crate::transport::door`].
pub struct Rated;

/// What a shard keeps of transports that are granted rates.
#[derive(Default)]
pub struct Halves {
    senders: Slab<Sender>,
    receivers: Slab<Receiver>,
    /// What links grant, by port; none where no flow asks.
    links: Vec<Link>,
}

pub const PDQ: Model = Model {
    kind: "transport",
    name: "pdq",
    source: "Hong, Caesar and Godfrey, SIGCOMM 2012; arXiv 1206.2057",
    faithful: "SYN first; each link keeps the most critical flows (deadline, then remaining time, then number) up to twice those that send; early start (K = 2 round trips), early termination, suppressed probing (X = 0.2), dampening, capacity less the queue over two round trips; frames carry and pay for the header both ways",
    simplified: "the sender's own link has a list as switches do; a link's round trip is one setting, and its capacity is taken anew when something comes; a rate counts from when it is granted, not only from when its answer comes by; flows outside the list share equally what is left where none in it waits; the dampening time is Aequitas' 10 us (the paper gives none); entries that fall silent are forgotten after ten probes; the receiver never reduces the rate; rates below a frame per round trip are pauses; lost segments by three sent later or by time-out",
};

pub const D3: Model = Model {
    kind: "transport",
    name: "d3",
    source: "Wilson, Ballani, Karagiannis and Rowstron, SIGCOMM 2011",
    faithful: "a request per round trip with the desired rate and the last grants, on the SYN first; routers keep three sums and grant first come, first served; base rate with requests without data; capacity corrected by use and queue; quenching; lost SYNs, requests and FINs leave the sums wrong, so that a link may grant the base rate for ever: give such runs buffers that lose nothing, or an end",
    simplified: "the sender's own link grants as routers do; the FIN is a frame of its own behind the last segment sent for the first time, and what is lost is sent again at the last rate; capacity is never above the link's; lost segments by three sent later or by time-out",
};
