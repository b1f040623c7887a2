//! Which queue of a port sends next.

mod turns;

pub use turns::Turns;

use crate::Model;
use crate::port::Automaton;

/// Strict priority: the highest queue that may send at `at`; with one queue it is FIFO.
#[inline(always)]
pub fn next_queue(automaton: &mut Automaton, at: u64) -> Option<usize> {
    if automaton.waiting == 0 {
        return None;
    }
    if automaton.queues.len() == 1 {
        return automaton.may_send(0, at).then_some(0);
    }
    if let Some(turns) = &mut automaton.turns {
        return Some(turns.next(&automaton.queues));
    }
    (0..automaton.queues.len()).rev().find(|&queue| automaton.may_send(queue, at))
}

pub const MODELS: &[Model] = &[
    Model { kind: "scheduling", name: "fifo", source: "–", faithful: "first in, first out per port", simplified: "–" },
    Model {
        kind: "scheduling",
        name: "strict_priority",
        source: "IEEE 802.1Q strict priority transmission selection",
        faithful: "2 to 8 queues, highest first, FIFO within; not pre-emptive: a frame in transmission is finished",
        simplified: "–",
    },
];
