//! RDMA over converged Ethernet: a queue pair per flow, whose frames the NIC makes when its transmitter is free.

mod control;
mod nic;
mod queue_pair;
mod responder;

pub use nic::Nic;
pub use queue_pair::{AckIn, QueuePair, Setup};
pub use responder::{Acknowledgement, Responder, ResponderSetup};

use crate::Model;

pub const MODEL: Model = Model {
    kind: "transport",
    name: "rdma",
    source: "InfiniBand (RoCEv2); go-back-N as in HPCC's and ConWeave's ns-3; IRN: Mittal et al., SIGCOMM 2018",
    faithful: "a queue pair per flow, paced, taking turns at the NIC with what the NIC has to acknowledge first; every frame is acknowledged; go-back-N with \
               NACKs, or IRN's selective repeat with its window of a bandwidth-delay product and two time-outs; notifications in the acknowledgement or in \
               frames of their own; modes lossless, irn, irn_pfc, gbn_no_pfc and semi_lossless",
    simplified: "one message per queue pair, open from the start; frames that other transports have put into the same NIC go before all queue pairs; \
                 a congestion notification packet is as long as an acknowledgement; windows apply to go-back-N",
};
