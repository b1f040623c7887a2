//! Purposes for which this crate draws random numbers, and the random streams of a traffic block.

use afflux_engine::random::{Stream, mix};

const fn named(name: &[u8; 8]) -> u64 {
    u64::from_be_bytes(*name)
}

/// Gaps between arrivals. Entity: source host.
pub const GAP: u64 = named(b"traf-gap");
/// Flow sizes. Entity: source host (or pair, for bulk transfers).
pub const SIZE: u64 = named(b"traf-siz");
/// Choice of a destination. Entity: source host.
pub const DESTINATION: u64 = named(b"traf-dst");
/// Deadlines. Entity: source host.
pub const DEADLINE: u64 = named(b"traf-ddl");
/// A permutation of hosts. Entity: 0.
pub const PERMUTATION: u64 = named(b"traf-prm");
/// Jitter of starts. Entity: pair, or round and sender.
pub const JITTER: u64 = named(b"traf-jit");
/// Receiver and senders of an incast. Entity: round.
pub const INCAST: u64 = named(b"traf-inc");
/// Messages (`MESSAGES`) and background flows (`UPDATES`) of a partition-aggregate service.
pub const MESSAGES: u64 = named(b"traf-msg");
pub const UPDATES: u64 = named(b"traf-upd");
/// Hosts within racks for a trace's tasks. Entity: rack-level task.
pub const PLACEMENT: u64 = named(b"traf-plc");

/// Random streams of one traffic block. They depend only on the run's seed and the block's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    seed: u64,
}

impl Draws {
    /// Creates the streams of the block `name`. Blocks with different names draw independently. A
    /// block without a name needs its position as name.
    pub fn new(seed: u64, name: &str) -> Self {
        Draws { seed: name.bytes().fold(seed, |state, byte| mix(state ^ u64::from(byte))) }
    }
    /// Returns the streams of a part of the block.
    pub fn within(&self, part: u64) -> Self {
        Draws { seed: mix(self.seed ^ part) }
    }
    pub fn stream(&self, purpose: u64, entity: u64) -> Stream {
        Stream::new(self.seed, purpose, entity)
    }
    /// Returns the stream of an ordered pair of hosts (or of a round and a host).
    pub fn pair(&self, purpose: u64, a: u32, b: u32) -> Stream {
        self.stream(purpose, u64::from(a) << 32 | u64::from(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_draw_independently_and_repeatably() {
        let first = |draws: Draws| draws.stream(GAP, 3).next_u64();
        assert_eq!(first(Draws::new(1, "web")), first(Draws::new(1, "web")));
        assert_ne!(first(Draws::new(1, "web")), first(Draws::new(1, "bulk")));
        assert_ne!(first(Draws::new(1, "web")), first(Draws::new(2, "web")));
    }
}
