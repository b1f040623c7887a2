//! Sends departing frames over their link.

use super::{Outlet, Slab};
use crate::frame::{Change, Extra, Frame};
use crate::port::Port;

/// Sends a frame, whose transmission begins at `at` and takes `time`, to the other end of the link.
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
    let arrives = p.arrives(at, time, frame);
    out.frame(arrives, p.peer_shard, frame, change, extras);
}
