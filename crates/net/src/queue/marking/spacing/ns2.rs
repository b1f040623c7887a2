//! ns-2's default (`wait_`, `use_mark_p_`).

use super::ns3::marks_after_wait;
use super::rule::{Memory, Rule};
use afflux_engine::random::Stream;

#[derive(Debug)]
pub struct Ns2;

impl Rule for Ns2 {
    fn idle_arrivals(&self) -> f64 {
        1.0
    }
    fn prevents(&self, present: u64) -> bool {
        present <= 1
    }
    fn marks(&self, p: f64, memory: &mut Memory, stream: &mut Stream) -> bool {
        marks_after_wait(p, memory, stream)
    }
    fn marks_above(&self, memory: &mut Memory, stream: &mut Stream) -> bool {
        marks_after_wait(1.0, memory, stream)
    }
}
