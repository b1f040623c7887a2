//! Which queue of a port sends next.

mod dwrr;
mod ets;
mod strict;

pub use dwrr::Turns;

use crate::Model;
use crate::port::Automaton;

/// The queue that sends next, if any may, where they do not take turns.
#[inline(always)]
pub fn next_queue(automaton: &Automaton) -> Option<usize> {
    if automaton.waiting == 0 {
        return None;
    }
    strict::highest(&automaton.queues)
}

pub const MODELS: &[Model] = &[
    Model { kind: "scheduling", name: "fifo", source: "–", faithful: "first in, first out per port", simplified: "–" },
    strict::MODEL,
    dwrr::MODEL,
    ets::MODEL,
];
