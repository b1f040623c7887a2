//! ns-3's default: spacings are uniform from 1/p to 2/p.

use super::rule::{Memory, Rule};
use afflux_engine::random::Stream;

#[derive(Debug)]
pub struct Ns3;

impl Rule for Ns3 {
    fn idle_arrivals(&self) -> f64 {
        1.0
    }
    // `RedQueueDisc::DoEnqueue` compares the queue's size in its own unit with 1.
    fn prevents(&self, present: u64) -> bool {
        present <= 1
    }
    fn marks(&self, p: f64, memory: &mut Memory, stream: &mut Stream) -> bool {
        marks_after_wait(p, memory, stream)
    }
    // A forced mark neither ends the wait (`m_count`) nor replaces the first frame (`m_old`).
    fn marks_above(&self, memory: &mut Memory, _: &mut Stream) -> bool {
        if memory.count >= 0 {
            memory.count = memory.count.saturating_add(1);
        }
        true
    }
}

/// Marks no frame before 1/p frames, and certainly the frame at 2/p. The first frame after a short
/// queue is not marked.
pub fn marks_after_wait(p: f64, memory: &mut Memory, stream: &mut Stream) -> bool {
    if memory.count < 0 {
        memory.count = 1;
        return false;
    }
    let expected = memory.expected(p);
    let hit = expected >= 2.0 || (expected >= 1.0 && stream.next_f64() < p / (2.0 - expected));
    memory.marked(hit)
}
