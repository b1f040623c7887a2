//! Floyd and Jacobson 1993: spacings are uniform, up to 1/p.

use super::rule::{Memory, Rule};
use afflux_engine::random::Stream;

#[derive(Debug)]
pub struct Uniform;

impl Rule for Uniform {
    fn marks(&self, p: f64, memory: &mut Memory, stream: &mut Stream) -> bool {
        let expected = memory.expected(p);
        memory.marked(expected >= 1.0 || stream.next_f64() < p / (1.0 - expected))
    }
}
