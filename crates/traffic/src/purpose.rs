//! Every purpose this crate draws random numbers for, and how a block of traffic gets streams of its own.

use afflux_engine::random::{Stream, mix};

const fn named(name: &[u8; 8]) -> u64 {
    u64::from_be_bytes(*name)
}

/// Gaps between arrivals; entity: source host.
pub const GAP: u64 = named(b"traf-gap");
/// Flow sizes; entity: source host (or pair, for bulk transfers).
pub const SIZE: u64 = named(b"traf-siz");
/// Choice of a destination; entity: source host.
pub const DESTINATION: u64 = named(b"traf-dst");
/// Deadlines; entity: source host.
pub const DEADLINE: u64 = named(b"traf-ddl");
/// A permutation of hosts; entity: 0.
pub const PERMUTATION: u64 = named(b"traf-prm");
/// Jitter of starts; entity: pair, or round and sender.
pub const JITTER: u64 = named(b"traf-jit");
/// An incast's receiver and senders; entity: round.
pub const INCAST: u64 = named(b"traf-inc");
/// Of a service that splits its work: draws of its control messages, and of its updates.
pub const MESSAGES: u64 = named(b"traf-msg");
pub const UPDATES: u64 = named(b"traf-upd");
/// Hosts within racks for a trace's tasks; entity: rack-level task.
pub const PLACEMENT: u64 = named(b"traf-plc");

/// The random streams of one block of traffic: they depend on the run's seed and the block's name, on nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    seed: u64,
}

impl Draws {
    /// Blocks of different `name` draw independently; give a block its position as name if it has none.
    pub fn new(seed: u64, name: &str) -> Self {
        Draws { seed: name.bytes().fold(seed, |state, byte| mix(state ^ u64::from(byte))) }
    }
    /// Those of a part of the block.
    pub fn within(&self, part: u64) -> Self {
        Draws { seed: mix(self.seed ^ part) }
    }
    pub fn stream(&self, purpose: u64, entity: u64) -> Stream {
        Stream::new(self.seed, purpose, entity)
    }
    /// The stream of an ordered pair of hosts (or round and host).
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
