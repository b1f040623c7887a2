//! RDMA over converged Ethernet: one queue pair per flow. The NIC makes a frame when its
//! transmitter is free.

mod host;
pub mod keys;
mod nic;
mod paced;
mod queue_pair;
pub mod reps;
mod responder;

pub use nic::Nic;
pub use queue_pair::{AckIn, QueuePair, Setup};
pub use reps::Reps;
pub use responder::{Acknowledgement, Responder};

pub use crate::spec::RdmaConfig as Config;

use crate::Model;
use crate::shard::Slab;

/// The transport: see [`crate::transport::door`].
pub struct Rdma;

/// RDMA state of a shard.
#[derive(Default)]
pub struct Halves {
    pub pairs: Slab<QueuePair>,
    pub responders: Slab<Responder>,
    /// NICs by port; empty if no flow uses RDMA.
    nics: Vec<Nic>,
}

pub const REPS: Model = Model {
    kind: "balance",
    name: "reps",
    source: "recycled entropies, the default sprayer of Ultra Ethernet's simulator (uet-htsim, uec_mp.cpp)",
    faithful: "`entropy = \"reps\"` of a transport of kind `rdma`: every frame has an entropy of its own, by which switches hash; acknowledgements go by \
               it too and bring back those of frames that came unmarked; of the last 8 the oldest that was not used again is, once, otherwise one is \
               drawn; `freeze`: after a time-out those kept are used in turn for a while, then 16 frames draw theirs",
    simplified: "the transport is IRN or go-back-N, which treat overtaken frames as lost, instead of Ultra Ethernet's transport with packet trimming; \
                 entropies have 32 bits instead of 16",
};

pub const MODEL: Model = Model {
    kind: "transport",
    name: "rdma",
    source: "InfiniBand (RoCEv2); go-back-N as in HPCC's and ConWeave's ns-3; IRN: Mittal et al., SIGCOMM 2018",
    faithful: "one paced queue pair per flow; queue pairs take turns at the NIC, whose acknowledgements take precedence; every frame is acknowledged; \
               go-back-N with NACKs, or IRN's selective repeat with its window of a bandwidth-delay product and two time-outs; notifications in the \
               acknowledgement or in frames of their own; modes lossless, irn, irn_pfc, gbn_no_pfc and semi_lossless",
    simplified: "one message per queue pair, open from the start, and bound to one NIC of its host also if that NIC's link fails; \
                 frames of other transports at the same NIC take precedence over all queue pairs; \
                 `window` applies to go-back-N, the window of a congestion control to both; the round trip of a \
                 segment that was sent twice is that of its last transmission, unless even an idle path would have taken longer",
};
