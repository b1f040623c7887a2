//! Queue of a pFabric port on the fast path: waiting frames and their order.

use crate::frame::Frame;
use crate::port::Port;
use crate::queue::aqm::Order;
use crate::spec::Limit;

/// Queue of a pFabric port at a node that `shard::pfabric_order` runs. It replaces the automaton.
#[repr(align(64))]
pub struct Ring {
    pub(super) order: Order,
    /// Waiting frames, at the places that the order numbers.
    pub(super) frames: Vec<Frame>,
    /// Frames smaller than this (bytes) bypass the queue while the transmitter is idle.
    pub(super) passes_below: u64,
    /// Size in bytes of the frame whose transmission started last.
    pub(super) latest: u16,
    /// True if the port is in the node's list of ports with waiting frames.
    pub(super) listed: bool,
}

impl Ring {
    pub fn new(limit: Option<Limit>) -> Self {
        let order = Order::new(limit);
        Ring {
            passes_below: order.takes_below(),
            order,
            frames: Vec::new(),
            latest: 0,
            listed: false,
        }
    }

    /// Returns the additional memory in bytes that the list of frames takes temporarily when it
    /// grows next.
    pub(super) fn growing(&self) -> u64 {
        super::slab::growing(self.frames.len(), self.frames.capacity(), size_of::<Frame>())
    }

    /// Returns an upper bound of the bytes that wait at `now`, for snapshots. Transmissions since
    /// the port was last advanced are subtracted at the rate of the link.
    pub(super) fn waits(&self, p: &Port, now: u64) -> u64 {
        let begun = now.saturating_sub(p.free_at) as u128 * p.rate as u128 / 8_000_000_000_000;
        (self.order.bytes() as u128).saturating_sub(begun) as u64
    }

    /// Adds a frame. If that reaches the limit, removes and returns the frame that has to be
    /// dropped.
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
