//! Transports: who sends what when.

mod blocks;
pub mod datagram;
pub mod door;
pub mod mptcp;
pub mod nack;
pub mod pfabric;
pub mod rated;
pub mod rdma;
pub mod tcp;

use crate::Model;

pub const MODELS: &[Model] = &[tcp::MODEL, rdma::MODEL, rdma::REPS, pfabric::MODEL, mptcp::MODEL, rated::PDQ, rated::D3, datagram::MODEL, nack::MODEL];
