//! Interface of the rules by which marks between the thresholds are spaced.

use afflux_engine::random::Stream;
use std::fmt::Debug;

/// Marking state of one queue.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Average queue length, in the unit of the thresholds.
    pub average: f64,
    /// Frames since the last mark; -1 below the thresholds.
    pub count: i32,
    /// Random number that the rule has drawn for the next mark.
    pub drawn: f64,
}

impl Default for Memory {
    fn default() -> Self {
        Memory { average: 0.0, count: -1, drawn: 0.0 }
    }
}

impl Memory {
    /// Counts a frame. Returns the expected number of marks since the last one, if each frame is
    /// marked with probability `p`.
    pub fn expected(&mut self, p: f64) -> f64 {
        self.count = self.count.saturating_add(1);
        f64::from(self.count) * p
    }

    /// Starts to count from a mark, if `hit`. Returns `hit`.
    pub fn marked(&mut self, hit: bool) -> bool {
        if hit {
            self.count = 0;
        }
        hit
    }
}

/// Rule by which marks are spaced.
pub trait Rule: Debug + Send + Sync {
    /// True if the rule remembers nothing of earlier frames, so that frames of short queues need
    /// not be shown to it.
    fn is_independent(&self) -> bool {
        false
    }

    /// Returns the arrivals at an empty queue that the end of an idle period counts as in the
    /// average, in addition to those that the period had time for.
    fn idle_arrivals(&self) -> f64 {
        0.0
    }

    /// True if no frame is marked at a queue length of `present`, in the unit of the thresholds.
    fn prevents(&self, _present: u64) -> bool {
        false
    }

    /// Decides about a frame that the curve marks with probability `p`.
    fn marks(&self, p: f64, memory: &mut Memory, stream: &mut Stream) -> bool;

    /// Decides about a frame at a queue length at which the curve marks every frame.
    fn marks_above(&self, memory: &mut Memory, _stream: &mut Stream) -> bool {
        memory.marked(true)
    }
}
