//! Which queue of a port sends next.

mod cores;
mod dwrr;
mod ets;
mod strict;

pub use cores::Cores;
pub use dwrr::Weighted;

use crate::Model;
use crate::spec::Scheduling;

/// Queues that take turns, whoever is highest.
#[derive(Debug, Clone)]
pub enum Turns {
    /// Several ingress cores share the port.
    Cores(Cores),
    /// Queues by weight or bandwidth.
    Weighted(Weighted),
}

impl Turns {
    /// None where the highest queue goes first.
    pub fn of(scheduling: &Scheduling) -> Option<Turns> {
        Weighted::of(scheduling).map(Turns::Weighted)
    }

    /// What was to be sent from the head of `queue` has been dropped instead.
    #[cold]
    pub fn give_back(&mut self, queue: usize, bytes: u64, empty: bool) {
        match self {
            Turns::Cores(_) => unreachable!("virtual output queues mark when a frame comes"),
            Turns::Weighted(weighted) => weighted.give_back(queue, bytes, empty),
        }
    }
}

pub const MODELS: &[Model] = &[
    Model { kind: "scheduling", name: "fifo", source: "–", faithful: "first in, first out per port", simplified: "–" },
    strict::MODEL,
    dwrr::MODEL,
    ets::MODEL,
];
