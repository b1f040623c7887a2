//! Transports whose rate is granted by the links on the path: PDQ and D3. They share a sender,
//! which paces frames and repairs losses, and a receiver, which returns every header. They differ
//! in the requests and their timing.

pub mod allocation;
mod host;
pub mod keys;
mod sender;

pub use sender::{AckIn, Act, Scheduling, Sender, SenderSetup};

use crate::Model;
use crate::shard::Slab;
use crate::transport::receiving::Receiving;
use allocation::Link;

/// Both transports, PDQ and D3: see [`crate::transport::door`].
pub struct Rated;

/// State of rated transports in a shard.
#[derive(Default)]
pub struct Halves {
    pub senders: Slab<Sender>,
    pub receivers: Slab<Receiving>,
    /// Rate allocation of the links, by port; empty if no flow asks for rates.
    links: Vec<Link>,
}

pub const PDQ: Model = Model {
    kind: "transport",
    name: "pdq",
    source: "Hong, Caesar and Godfrey, SIGCOMM 2012; arXiv 1206.2057",
    faithful: "SYN first; each link keeps the most critical flows (deadline, then remaining time, then number) up to twice those that send; early start \
               (K = 2 round trips), early termination, suppressed probing (X = 0.2), dampening, capacity less the queue over two round trips; frames \
               carry the header in both directions, and its bytes count",
    simplified: "the sender's own link has a list like those of switches; one setting is the round trip of all links, and a link updates its capacity \
                 when a frame arrives; a rate counts from the time at which it is granted, not from the time at which the answer passes; if no flow in \
                 the list waits, flows outside the list share the remaining capacity equally; the dampening time is Aequitas' 10 us (the paper gives \
                 none); an entry without frames is removed after ten probe intervals; the receiver never reduces the rate; a rate below one frame per \
                 round trip is a pause, and the sender tells no shorter round trip than two frames take on its slowest link; a segment is lost when three later \
                 ones have arrived, or at a time-out",
};

pub const D3: Model = Model {
    kind: "transport",
    name: "d3",
    source: "Wilson, Ballani, Karagiannis and Rowstron, SIGCOMM 2011",
    faithful: "one request per round trip, the first on the SYN, with the desired rate and the last grants; routers keep three sums and grant first come, \
               first served; base rate with requests without data; capacity corrected by use and queue; quenching",
    simplified: "a link also knows what each flow adds to the sums, and forgets flows that are silent (`forget`; with \"off\" lost SYNs, requests and FINs \
                 leave the sums wrong, as in the paper); the sender's own link grants as routers do; the FIN is a separate frame after the first transmission of the last segment, and lost \
                 segments are sent again at the last rate; capacity never exceeds the link's; a segment is lost when three later ones have arrived, or at \
                 a time-out",
};
