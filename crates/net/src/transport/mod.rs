//! Transports: who sends what when.

pub mod datagram;
pub mod pfabric;
pub mod rdma;
pub mod tcp;

use crate::Model;

pub const MODELS: &[Model] = &[tcp::MODEL, rdma::MODEL, rdma::REPS, pfabric::MODEL, datagram::MODEL];
