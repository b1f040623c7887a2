//! Template for the rules of a memory management unit: a queue may hold a multiple of the free
//! memory, and a lossless priority group above that is paused.
//!
//! `python -m docs.generator.new memory NAME` copies this file.

use super::charge::{Answer, Bounds, Charge, Group, Take, Totals, fixed, times};
use super::policy::{About, MemorySite, Policy, Settings};
use crate::Model;
use crate::queue::Reason;
use crate::queue::buffer::shares::checked_alpha;
use crate::queue::flowcontrol::keys::Formula;
use afflux_config::keys;
use afflux_config::tree::{Key, Wrong};

keys! {
    /// Rules of Template.
    pub struct TemplateKeys as "TemplateMmu" => TemplateRules {
        /// With `"template"`: a queue, and a lossless priority group before it is paused, may hold
        /// this multiple of the free memory.
        template_alpha: f64 = 1.0, check checked_alpha;
    }
}

impl TemplateKeys {
    pub fn rules(&mut self, key: &Key, _: &MemorySite) -> Result<TemplateRules, Wrong> {
        self.resolve(key)
    }
}

impl Settings for TemplateRules {
    fn reserved(&self, _: u64, _: u8) -> u64 {
        0
    }
    fn alpha(&self, _: usize) -> f64 {
        self.template_alpha
    }
}

/// Usual values of this memory.
pub const ABOUT: About = About {
    total: 32_000_000,
    alpha: None,
    reserved: None,
    xon_offset: None,
    own_shares: false,
    formula: Formula::Sonic,
};

#[derive(Debug, Clone)]
pub struct Template {
    total: u64,
    /// Multiple of the free memory, in 1/65536.
    alpha: u64,
}

impl Template {
    #[inline(always)]
    fn threshold(&self, totals: &Totals) -> u64 {
        times(self.alpha, self.total.saturating_sub(totals.used))
    }
}

impl Policy for Template {
    type Config = TemplateRules;

    fn new(rules: &TemplateRules, total: u64, _: u8, _: &[u64], _: &[u64]) -> Self {
        Template { total, alpha: fixed(rules.template_alpha) }
    }

    #[inline(always)]
    fn answer(
        &self,
        totals: &Totals,
        group: &Group,
        queue: u64,
        _: u64,
        charge: &Charge,
        lossless: bool,
    ) -> Answer {
        let (size, threshold) = (charge.size, self.threshold(totals));
        if totals.used + size > self.total || !lossless && queue + size > threshold {
            return Err(Reason::Buffer);
        }
        let pause = lossless && group.bytes + size > threshold && !group.paused;
        Ok(Take { headroom: false, pause })
    }

    #[inline(always)]
    fn charge(&self, _: &mut Totals, group: &mut Group, charge: &Charge, _: bool, _: bool) {
        group.bytes += charge.size;
    }

    #[inline(always)]
    fn release(&self, _: &mut Totals, group: &mut Group, charge: &Charge, _: u64, _: bool) {
        group.bytes -= charge.size;
    }

    fn bounds(&self, _: u64, _: u8, _: bool) -> Option<Bounds> {
        None
    }

    fn shared(&self) -> u64 {
        self.total
    }

    fn may_resume(&self, totals: &Totals, group: &Group, _: u32, _: u8) -> bool {
        group.bytes <= self.threshold(totals)
    }
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "template",
    source: "the template of add-a-model.md",
    faithful: "a queue may hold a multiple of the free memory",
    simplified: "no headroom is set aside",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_holds_as_much_as_is_free_and_a_lossless_group_is_paused_above_that() {
        let rules = Template { total: 10_000, alpha: fixed(1.0) };
        let (totals, group) = (Totals { used: 6_000, ..Totals::default() }, Group::default());
        let charge = Charge { size: 1_000, ..Charge::default() };
        let answer = |queue, group: &Group, lossless| {
            rules.answer(&totals, group, queue, 0, &charge, lossless)
        };
        let take = |pause| Ok(Take { headroom: false, pause });
        assert_eq!(answer(3_000, &group, false), take(false));
        assert_eq!(answer(3_001, &group, false), Err(Reason::Buffer));
        let full = Group { bytes: 3_001, ..Group::default() };
        assert_eq!(answer(9_000, &full, true), take(true));
        assert!(rules.may_resume(&totals, &full, 0, 3));
    }
}
