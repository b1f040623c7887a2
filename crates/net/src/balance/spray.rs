//! Packet spraying.

use super::{Choice, Site};
use crate::Model;
use crate::spec;

/// Every frame by itself.
pub struct Spray {
    in_turn: bool,
    /// By destination rack: the next one's turn, if there was one.
    turns: Vec<Option<usize>>,
}

impl Spray {
    pub fn new(spray: spec::Spray) -> Self {
        Spray { in_turn: spray == spec::Spray::RoundRobin, turns: Vec::new() }
    }

    pub fn choose(&mut self, site: &mut impl Site, dst: u32, hops: &[u16]) -> Choice {
        if let [only] = hops {
            return Choice::Port(*only);
        }
        if !self.in_turn {
            return Choice::Port(hops[site.below(hops.len() as u64) as usize]);
        }
        let rack = site.rack_of(dst) as usize;
        if rack >= self.turns.len() {
            self.turns.resize(rack + 1, None);
        }
        let choice = self.turns[rack].unwrap_or_else(|| site.below(hops.len() as u64) as usize) % hops.len();
        self.turns[rack] = Some(choice + 1);
        Choice::Port(hops[choice])
    }
}

pub const MODELS: &[Model] = &[
    Model {
        kind: "balance",
        name: "spray",
        source: "random packet spraying",
        faithful: "every frame, acknowledgements too, draws a next hop uniformly from its switch's own stream",
        simplified: "-",
    },
    Model {
        kind: "balance",
        name: "round_robin",
        source: "packet spraying in turn",
        faithful: "every frame, acknowledgements too; a turn per switch and destination rack, from a next hop drawn at random",
        simplified: "-",
    },
];
