//! The departure of a frame.

use super::{Outlet, Slab};
use crate::frame::{Change, Extra, Frame};
use crate::port::Port;

/// A frame whose transmission begins at `at` and takes `time` goes to the link's other end. Whoever cuts through deals with the header as soon as
/// that is there.
#[inline(always)]
pub(super) fn send<O: Outlet>(out: &mut O, extras: &mut Slab<Extra>, p: &mut Port, at: u64, time: u64, frame: &Frame, change: Change) {
    let first_bits = if frame.size <= p.header { time } else { p.first_bits(frame.size) };
    let arrives = p.received(at + first_bits + p.delay, frame);
    out.frame(arrives, p.peer_shard, frame, change, extras);
}
