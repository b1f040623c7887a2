//! Template for a balancer: every data frame takes the next hop with the shortest queue.
//!
//! `python -m docs.generator.new balancer NAME` copies this file.

use super::{About, Choice, Holding, PathContext, Policy, Role};
use crate::Model;
use crate::frame::Frame;
use afflux_config::keys;

keys! {
    /// Template: the next hop with the shortest queue.
    pub struct Keys as "Template" => TemplateConfig(_context: &PathContext<'_>) {
        /// Queue length in bytes up to which all next hops count as equal.
        tolerance: u64 = 0;
    }
}

pub struct Template {
    tolerance: u64,
}

impl Policy for Template {
    type Config = TemplateConfig;
    fn new(config: &TemplateConfig, _: &[Option<u64>]) -> Self {
        Template { tolerance: config.tolerance }
    }

    fn choose(&mut self, site: &mut impl Holding, _: &mut Frame, _: Role, hops: &[u16]) -> Choice {
        let queued: Vec<u64> = hops.iter().map(|&port| site.queued(port)).collect();
        Choice::Port(hops[shortest(&queued, self.tolerance)])
    }
}

/// Returns the index of the first queue with at most `tolerance` bytes, or else of the shortest.
fn shortest(queued: &[u64], tolerance: u64) -> usize {
    (0..queued.len()).min_by_key(|&i| queued[i].saturating_sub(tolerance)).unwrap_or(0)
}

pub const ABOUT: About = About { overtakes: true, ..About::of(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "template",
    source: "-",
    faithful: "every data frame takes the next hop with the shortest queue, the first of equal ones",
    simplified: "-",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_within_the_tolerance_count_as_equal() {
        assert_eq!(shortest(&[300, 200, 100], 0), 2);
        assert_eq!(shortest(&[300, 200, 100], 250), 1);
    }
}
