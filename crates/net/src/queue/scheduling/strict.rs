//! Strict priority.

use crate::Model;
use crate::port::Automaton;

/// The highest queue that may send at `at`; with one queue it is FIFO.
#[inline(always)]
pub fn highest(automaton: &mut Automaton, at: u64) -> Option<usize> {
    automaton.highest(|q, pause| q.may_send(pause, at))
}

pub const MODEL: Model = Model {
    kind: "scheduling",
    name: "strict_priority",
    source: "IEEE 802.1Q strict priority transmission selection",
    faithful: "2 to 8 queues, highest first, FIFO within; not pre-emptive: a frame in transmission is finished",
    simplified: "–",
};
