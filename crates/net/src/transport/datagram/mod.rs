//! Datagram transport: sources with a constant rate.

mod host;
pub mod keys;

use crate::Model;
use crate::idle::Idle;
use crate::probe::explain::Attribution;
use crate::shard::{ReceivedRecord, SentRecord, Slab};
use keys::Config;

/// The transport: see [`crate::transport::door`].
pub struct Datagram;

/// Datagram flows of a shard: sources and sinks.
#[derive(Default)]
pub struct Halves {
    sources: Slab<Source>,
    sinks: Slab<Sink>,
}

pub struct Source {
    pub flow: u32,
    pub node: u32,
    pub dst: u32,
    pub hash: u32,
    pub priority: u8,
    pub start: u64,
    pub next: u32,
    pub frames: u32,
    pub idle: Idle,
    pub why: Option<Attribution>,
}

/// Receiving half of a datagram flow, with counts of arrived frames.
pub struct Sink {
    pub flow: u32,
    pub frames: u32,
    pub expected: u32,
    pub highest: u32,
    pub marked: u64,
    pub reordered: u64,
    pub has_last: bool,
    /// Arrival time of the last frame, in ps.
    pub last: u64,
}

impl Source {
    /// Returns the time in ps at which frame `index` is due. It is computed from the start of the
    /// flow, so that rounding does not accumulate. `nic` is the serialization time in ps of a full
    /// frame at the NIC, which is the spacing of a source without a rate.
    pub fn due(&self, index: u32, config: &Config, nic: u64) -> u64 {
        match config.rate {
            None => self.start + index as u64 * nic,
            Some(rate) => {
                self.start
                    + (index as u128 * config.payload as u128 * 8_000_000_000_000 / rate.0 as u128)
                        as u64
            }
        }
    }
}

impl Source {
    fn record(&self) -> SentRecord {
        SentRecord {
            packets: self.next as u64,
            ..SentRecord::new(self.flow, self.start, self.idle)
        }
    }
}

impl Sink {
    fn record(&self, finish: Option<u64>, paused: u64) -> ReceivedRecord {
        let Sink { flow, frames, has_last, marked, reordered, last, .. } = *self;
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
