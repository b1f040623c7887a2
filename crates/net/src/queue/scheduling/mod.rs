//! Which queue of a port sends next.

mod cores;
mod dwrr;
mod ets;
mod strict;

pub use cores::Cores;
pub use dwrr::Weighted;

use crate::Model;
use crate::port::Automaton;
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

/// The queue that sends next at `at`, if any may.
#[inline(always)]
pub fn next_queue(automaton: &mut Automaton, at: u64) -> Option<usize> {
    if automaton.waiting == 0 {
        return None;
    }
    if automaton.queues.len() == 1 {
        return automaton.may_send(0, at).then_some(0);
    }
    if automaton.turns.is_some() {
        return next_in_turn(automaton, at);
    }
    strict::highest(automaton, at)
}

#[inline(never)]
pub fn next_in_turn(automaton: &mut Automaton, at: u64) -> Option<usize> {
    let (queues, pause) = (&automaton.queues, automaton.pause.as_deref());
    match automaton.turns.as_deref_mut().expect("queues that take turns") {
        Turns::Cores(cores) => Some(cores.next(queues)),
        Turns::Weighted(weighted) => weighted.next(queues, |q| q.may_send(pause, at)),
    }
}

pub const MODELS: &[Model] = &[
    Model { kind: "scheduling", name: "fifo", source: "–", faithful: "first in, first out per port", simplified: "–" },
    strict::MODEL,
    dwrr::MODEL,
    ets::MODEL,
];
