//! Datagram transport: sources with a constant rate.

mod host;
pub mod keys;

use crate::Model;
use crate::shard::{ReceivedRecord, Slab};
use crate::spec::FlowId;
use crate::transport::receiving::ReceivingHalf;
use crate::transport::sending::Sending;
use crate::world::World;
use keys::Config;

/// The transport: see [`crate::transport::door`].
pub struct Datagram;

/// Datagram flows of a shard: sources and sinks.
#[derive(Default)]
pub struct Halves {
    pub senders: Slab<Sending>,
    pub receivers: Slab<Sink>,
}

/// Receiving half of a datagram flow, with counts of arrived frames.
#[derive(Default)]
pub struct Sink {
    pub flow: u32,
    pub frames: u32,
    pub expected: u32,
    pub highest: u32,
    pub marked: u64,
    pub reordered: u64,
    pub has_last: bool,
    /// Time in ps that the last frame of a complete flow spent paused.
    pub paused: u64,
    /// Arrival time of the last frame, in ps.
    pub last: u64,
}

impl Config {
    /// Returns the time in ps at which frame `index` is due. It is computed from the `start` of the
    /// flow, so that rounding does not accumulate. `nic` is the serialization time in ps of a full
    /// frame at the NIC, which is the spacing of a source without a rate.
    pub fn due(&self, start: u64, index: u32, nic: u64) -> u64 {
        match self.rate {
            None => start + index as u64 * nic,
            Some(rate) => {
                start
                    + (index as u128 * self.payload as u128 * 8_000_000_000_000 / rate.0 as u128)
                        as u64
            }
        }
    }
}

impl Sink {
    fn new(flow: FlowId, expected: u32) -> Sink {
        Sink { flow, expected, ..Sink::default() }
    }
}

impl ReceivingHalf for Sink {
    fn record(&self, _: &World, finish: Option<u64>) -> ReceivedRecord {
        let Sink { flow, frames, has_last, marked, reordered, paused, last, .. } = *self;
        ReceivedRecord {
            flow,
            finish,
            frames: frames as u64,
            has_last,
            marked,
            reordered,
            paused,
            last,
        }
    }
}

pub const MODEL: Model = Model {
    kind: "transport",
    name: "datagram",
    source: "a constant-rate UDP source as used for background traffic",
    faithful: "frames leave at exact multiples of payload/rate; nothing is acknowledged or retransmitted",
    simplified: "the sender reacts to nothing; a flow that lost a frame never finishes",
};
