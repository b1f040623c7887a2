//! Marks each frame independently.

use super::rule::{Memory, Rule};
use afflux_engine::random::Stream;

#[derive(Debug)]
pub struct Independent;

impl Rule for Independent {
    fn is_independent(&self) -> bool {
        true
    }
    fn marks(&self, p: f64, _: &mut Memory, stream: &mut Stream) -> bool {
        stream.next_f64() < p
    }
}
