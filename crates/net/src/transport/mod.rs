//! Transports: they decide which frames a flow sends, and when.

mod blocks;
pub mod datagram;
pub mod door;
mod endpoint;
pub mod frames;
pub mod key_context;
pub mod list;
pub mod mptcp;
pub mod nack;
pub mod ndp;
pub mod pfabric;
pub mod rated;
pub mod rdma;
pub mod receiving;
mod registry;
pub mod requirements;
pub mod sending;
pub mod tcp;

use crate::Model;
use crate::frame::Decisive;
use crate::spec::FlowId;

macro_rules! registry {
    ($($folder:ident)+: $($name:ident $kind:ident($config:ty: $($payload:ident).+), $type:ty, $model:expr $(, $keys:tt)?;)+) => {
        /// State of all transports in a shard.
        #[derive(Default)]
        pub struct Halves {
            $(pub $folder: $folder::Halves,)+
        }

        pub const MODELS: &[Model] = &[$($model,)+ rdma::REPS];
    };
}
list::transports!(registry);

impl Halves {
    /// Takes, for flows that are complete at their receiver, the segment that completed each one.
    /// The sender may not have learnt of it (MPTCP).
    pub fn decisive(&mut self) -> impl Iterator<Item = (FlowId, Decisive)> {
        std::mem::take(&mut self.mptcp.decisive).into_iter()
    }
}

/// Key tables that other modules embed, and the context in which tables are resolved.
pub mod keys {
    pub use crate::transport::datagram::keys::Keys as Datagram;
    pub use crate::transport::key_context::KeyContext;
    pub use crate::transport::requirements::{Hash, HostTiming, Setting};
    pub use crate::transport::tcp::keys::Keys as Tcp;
}
