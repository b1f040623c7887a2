//! One queue of a port.

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
    /// Frames that do: those waiting, and the one in transmission if it counts.
    pub count: u32,
    /// End of the last transmission from this queue.
    pub free_at: u64,
    /// Averaged length and spacing of marks.
    pub memory: Memory,
}

impl Queue {
    /// Takes the first frame, of which there is one.
    #[inline(always)]
    pub fn take(&mut self) -> Waiting {
        let first = self.frames.pop_front().expect("not empty");
        match self.frames.front() {
            // A long queue is not in the cache.
            Some(next) => prefetch::<2, _>(std::slice::from_ref(next), 0),
            // The next one goes where memory is still warm, not on around the ring.
            None => self.frames.clear(),
        }
        first
    }

    /// What a frame of `size` bytes leaves behind that is still counted.
    #[inline(always)]
    pub fn behind(&self, size: u16) -> QueueView {
        QueueView { bytes: self.bytes - size as u64, frames: self.count - 1 }
    }

    /// Has this queue a frame that may be sent at `at`? The one place that knows of pauses.
    #[inline(always)]
    pub fn may_send(&self, pause: Option<&Pause>, at: u64) -> bool {
        match (self.frames.front(), pause) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(next), Some(pause)) => pause.may_send(next.frame.priority(), at),
        }
    }
}
