//! State of one queue of a port.

use super::flowcontrol::Pause;
use super::marking::Memory;
use super::verdict::QueueView;
use super::waiting::Waiting;
use afflux_engine::prefetch;
use std::collections::VecDeque;

#[derive(Default)]
#[repr(C, align(64))]
pub struct Queue {
    pub frames: VecDeque<Waiting>,
    /// Bytes that occupy the buffer in this queue.
    pub bytes: u64,
    /// Frames that occupy the buffer: waiting frames, and the one in transmission if it counts.
    pub count: u32,
    /// Time in ps at which the last transmission from this queue ends.
    pub free_at: u64,
    /// Averaged length and spacing of marks, as the marking rule remembers them.
    pub memory: Memory,
}

impl Queue {
    /// Removes and returns the first frame. The queue must not be empty.
    #[inline(always)]
    pub fn take(&mut self) -> Waiting {
        let first = self.frames.pop_front().expect("not empty");
        match self.frames.front() {
            // The entries of a long queue are not in the cache.
            Some(next) => prefetch::<2, _>(std::slice::from_ref(next), 0),
            // An empty ring restarts at its first slot, which is still in the cache.
            None => self.frames.clear(),
        }
        first
    }

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
