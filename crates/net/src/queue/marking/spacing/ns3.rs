//! ns-3's default: spacings are uniform from 1/p to 2/p.

use super::rule::{Memory, Rule};
use afflux_engine::random::Stream;

/// Size in bytes of the frame up to which a queue in bytes is as good as empty.
const FRAME: u64 = 1_500;

#[derive(Debug)]
pub struct Ns3;

impl Rule for Ns3 {
    fn idle_arrivals(&self) -> f64 {
        1.0
    }
    fn prevents(&self, present: u64, in_packets: bool) -> bool {
        present <= if in_packets { 1 } else { FRAME }
    }
    fn marks(&self, p: f64, memory: &mut Memory, stream: &mut Stream) -> bool {
        marks_after_wait(p, memory, stream)
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
