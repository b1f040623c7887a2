//! Frame in a queue, with its arrival time.

use crate::frame::Frame;

/// A frame that waits in a queue.
#[derive(Clone, Copy)]
pub struct Waiting {
    pub frame: Frame,
    /// Time in ps at which the last bit of the frame arrived.
    pub ready: u64,
    /// Time in ps that the frame's class had spent paused when the frame arrived. In a pFabric
    /// queue, where nothing can be paused: the rank of the frame. A smaller rank is more urgent.
    pub clock: u64,
}
