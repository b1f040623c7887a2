//! Linux's RED: one random number per mark.

use super::rule::{Memory, Rule};
use afflux_engine::random::Stream;

#[derive(Debug)]
pub struct Linux;

impl Rule for Linux {
    fn marks(&self, p: f64, memory: &mut Memory, stream: &mut Stream) -> bool {
        let expected = memory.expected(p);
        if memory.count == 0 {
            memory.drawn = stream.next_f64();
            return false;
        }
        let hit = memory.marked(expected >= memory.drawn);
        if hit {
            memory.drawn = stream.next_f64();
        }
        hit
    }
    fn marks_above(&self, memory: &mut Memory, _: &mut Stream) -> bool {
        memory.count = -1;
        true
    }
}
