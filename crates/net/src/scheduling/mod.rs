//! Which queue of a port sends next.

mod dwrr;
mod ets;
mod strict;

pub use dwrr::Turns;

use crate::Model;
use crate::port::{Automaton, Queue};

/// The queue that sends next, if any may.
#[inline(always)]
pub fn next_queue(automaton: &mut Automaton) -> Option<usize> {
    if automaton.waiting == 0 {
        return None;
    }
    match &mut automaton.turns {
        None => strict::highest(&automaton.queues),
        Some(turns) => turns.next(&automaton.queues, Queue::may_send),
    }
}

/// A frame has left `queue` to be sent, or (`bytes` 0) has been dropped at its head: accounts for it where queues take turns.
#[inline(always)]
pub fn left(automaton: &mut Automaton, queue: usize, bytes: u64) {
    if let Some(turns) = &mut automaton.turns {
        let queues = &automaton.queues;
        turns.left(queue, bytes, queues[queue].frames.is_empty(), queues.len());
    }
}

pub const MODELS: &[Model] = &[
    Model { kind: "scheduling", name: "fifo", source: "–", faithful: "first in, first out per port", simplified: "–" },
    strict::MODEL,
    dwrr::MODEL,
    ets::MODEL,
];
