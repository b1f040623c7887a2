//! Waiting frames and their order of a pFabric port, in one ring.

use crate::frame::Frame;
use crate::port::Port;
use crate::queue::aqm::Order;
use crate::spec::Limit;

/// A pFabric port of a node that `shard::urgent` runs: it replaces the automaton.
#[repr(align(64))]
pub struct Ring {
    pub(super) order: Order,
    /// By place, as the order numbers them.
    pub(super) frames: Vec<Frame>,
    /// Frames smaller than this (bytes) bypass the queue while the transmitter is idle.
    pub(super) passes_below: u64,
    /// Size of the frame whose transmission started last.
    pub(super) latest: u16,
    /// In the node's list of ports with waiting frames.
    pub(super) listed: bool,
}

impl Ring {
    pub fn new(limit: Option<Limit>) -> Self {
        let order = Order::new(limit);
        Ring { passes_below: order.takes_below(), order, frames: Vec::new(), latest: 0, listed: false }
    }

    /// What its list of frames takes for an instant when it grows next.
    pub(super) fn growing(&self) -> u64 {
        super::slab::growing(self.frames.len(), self.frames.capacity(), size_of::<Frame>())
    }

    /// Bytes that wait at `now`, at most; for whoever looks on. Transmissions that have begun since the port was last advanced are taken off.
    pub(super) fn waits(&self, p: &Port, now: u64) -> u64 {
        let begun = now.saturating_sub(p.free_at) as u128 * p.rate as u128 / 8_000_000_000_000;
        (self.order.bytes() as u128).saturating_sub(begun) as u64
    }

    /// A frame joins. If that reaches the limit, one has to go.
    #[inline(always)]
    pub(super) fn push(&mut self, frame: &Frame, rank: u64) -> Option<Frame> {
        let full = self.order.push(frame, rank);
        self.frames.push(*frame);
        full.then(|| self.take(self.order.worst(|place| self.frames[place].size)))
    }

    #[inline(always)]
    pub(super) fn take(&mut self, place: usize) -> Frame {
        let frame = self.frames.swap_remove(place);
        self.order.take(place, frame.size);
        frame
    }
}
