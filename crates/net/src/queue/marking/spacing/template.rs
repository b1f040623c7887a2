//! Template for a rule by which marks are spaced: marks a frame once the expected number of marks
//! has reached one.
//!
//! `python -m docs.generator.new marking NAME` copies this file.

use super::rule::{Memory, Rule};
use afflux_engine::random::Stream;

#[derive(Debug)]
pub struct Template;

impl Rule for Template {
    fn marks(&self, p: f64, memory: &mut Memory, _: &mut Stream) -> bool {
        let expected = memory.expected(p);
        memory.marked(expected >= 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_as_far_apart_as_the_inverse_of_the_probability() {
        let (mut memory, mut stream) = (Memory::default(), Stream::new(1, 1, 1));
        let marks = [0; 9].map(|_| Template.marks(0.25, &mut memory, &mut stream));
        assert_eq!(marks.map(u8::from), [0, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
}
