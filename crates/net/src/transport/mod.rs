//! Transports: who sends what when.

pub mod around;
mod blocks;
pub mod datagram;
pub mod door;
pub mod frames;
pub mod list;
pub mod mptcp;
pub mod nack;
pub mod ndp;
pub mod pfabric;
pub mod rated;
pub mod rdma;
mod registry;
pub mod tcp;

use crate::Model;
use crate::frame::Decisive;
use crate::spec::FlowId;

/// What a shard keeps of each transport.
#[derive(Default)]
pub struct Halves {
    pub tcp: tcp::Halves,
    pub mptcp: mptcp::Halves,
    pub rdma: rdma::Halves,
    pub pfabric: pfabric::Halves,
    pub rated: rated::Halves,
    pub datagram: datagram::Halves,
    pub nack: nack::Halves,
    pub ndp: ndp::Halves,
}

impl Halves {
    /// Of flows that are complete at their receiver: what completed them, where their senders may not have heard of it.
    pub fn decisive(&mut self) -> impl Iterator<Item = (FlowId, Decisive)> {
        std::mem::take(&mut self.mptcp.decisive).into_iter()
    }
}

/// Tables of keys that stand with their transport, and what they are read in.
pub mod keys {
    pub use crate::transport::around::Around;
    pub use crate::transport::datagram::keys::Keys as Datagram;
    pub use crate::transport::mptcp::settings::config as mptcp;
    pub use crate::transport::nack::Keys as Nack;
    pub use crate::transport::ndp::Keys as Ndp;
    pub use crate::transport::pfabric::keys::Keys as Pfabric;
    pub use crate::transport::rated::keys::{D3Keys as D3, PdqKeys as Pdq};
    pub use crate::transport::rdma::keys::{Entropy, Keys as Rdma, RdmaMode};
    pub use crate::transport::tcp::keys::Keys as Tcp;
}

pub const MODELS: &[Model] =
    &[tcp::MODEL, rdma::MODEL, rdma::REPS, pfabric::MODEL, mptcp::MODEL, rated::PDQ, rated::D3, datagram::MODEL, nack::MODEL, ndp::MODEL];
