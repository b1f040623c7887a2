//! NDP state of a shard.

use super::{Puller, Receiver, Sender};
use crate::shard::Slab;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub struct Halves {
    pub senders: Slab<Sender>,
    pub receivers: Slab<Receiver>,
    /// Pull queues, by host.
    pub pullers: FxHashMap<u32, Puller>,
}
