//! Frames that wait at a port.

use crate::frame::Frame;

/// A frame in a queue.
#[derive(Clone, Copy)]
pub struct Waiting {
    pub frame: Frame,
    /// When its tail has arrived.
    pub ready: u64,
    /// What its class's clock of pauses showed when it came. With a discipline that goes by urgency, where nothing is paused: its rank, the
    /// smaller, the more urgent.
    pub clock: u64,
}
