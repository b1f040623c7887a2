//! Sends departing frames over their link.

use super::{Outlet, Slab};
use crate::frame::{Change, Extra, Frame};
use crate::port::Port;

/// Sends a frame, whose transmission begins at `at` and takes `time`, to the other end of the link.
/// A cut-through peer processes the frame as soon as the header has arrived.
#[inline(always)]
pub(super) fn send<O: Outlet>(
    out: &mut O,
    extras: &mut Slab<Extra>,
    p: &mut Port,
    at: u64,
    time: u64,
    frame: &Frame,
    change: Change,
) {
    let first_bits = if frame.size <= p.header { time } else { p.first_bits(frame.size) };
    let arrives = p.received(at + first_bits + p.delay, frame);
    out.frame(arrives, p.peer_shard, frame, change, extras);
}
