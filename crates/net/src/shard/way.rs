//! The way of a frame through a port: what it needs of the node, and its departure.

use super::{Node, Outlet, Slab};
use crate::frame::{Change, Extra, Frame};
use crate::port::Port;
use crate::record::Counters;

/// What a frame needs on its way through a node's common ports, borrowed once.
pub(super) struct Way<'s, O> {
    pub out: &'s mut O,
    pub extras: &'s mut Slab<Extra>,
    pub counters: &'s mut Counters,
    pub state: &'s mut Node,
    pub explains: bool,
}

impl<O: Outlet> Way<'_, O> {
    /// A priority group is: then ports act in the order of time.
    #[inline(always)]
    pub fn is_paused(&self) -> bool {
        self.state.managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0)
    }
}

/// A frame whose transmission begins at `at` and takes `time` goes to the link's other end. Whoever cuts through deals with the header as soon as
/// that is there.
#[inline(always)]
pub(super) fn send<O: Outlet>(out: &mut O, extras: &mut Slab<Extra>, p: &mut Port, at: u64, time: u64, frame: &Frame, change: Change) {
    let first_bits = if frame.size <= p.header { time } else { p.first_bits(frame.size) };
    let arrives = p.received(at + first_bits + p.delay, frame);
    out.frame(arrives, p.peer_shard, frame, change, extras);
}
