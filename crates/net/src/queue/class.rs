//! State of one queue of a port.

use super::flowcontrol::Pause;
use super::verdict::QueueView;
use super::waiting::Waiting;
use std::collections::VecDeque;

#[derive(Default)]
#[repr(C, align(64))]
pub struct Queue {
    pub frames: VecDeque<Waiting>,
    /// Bytes that occupy the buffer in this queue.
    pub bytes: u64,
    /// Frames that occupy the buffer: waiting frames, and the one in transmission if it counts.
    pub count: u32,
}

impl Queue {
    /// Returns the occupancy without one departing frame of `size` bytes that is still counted.
    #[inline(always)]
    pub fn behind(&self, size: u16) -> QueueView {
        QueueView { bytes: self.bytes - size as u64, frames: self.count - 1 }
    }

    /// True if the queue holds a frame that may be sent at `at` (ps). This is the only place that
    /// applies pauses.
    #[inline(always)]
    pub fn may_send(&self, pause: Option<&Pause>, at: u64) -> bool {
        match (self.frames.front(), pause) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(next), Some(pause)) => pause.may_send(next.frame.priority(), at),
        }
    }
}
