//! Ingress accounting for PFC on switches with virtual output queues: fixed thresholds for each
//! lossless priority group. [`super::super::Voq`] limits the memory itself.

use super::charge::{Answer, Bounds, Charge, Group, PLAIN, Take, Totals};
use super::policy::Policy;
use crate::Model;
use crate::queue::Reason;

#[derive(Debug, Clone)]
pub struct Thresholds {
    pub xoff: u64,
    pub xon: u64,
}

impl Policy for Thresholds {
    type Config = Thresholds;

    fn new(config: &Thresholds, _: u64, _: u8, _: &[u64], _: &[u64]) -> Self {
        config.clone()
    }

    #[inline(always)]
    fn answer(
        &self,
        _: &Totals,
        group: &Group,
        _: u64,
        limit: u64,
        charge: &Charge,
        lossless: bool,
    ) -> Answer {
        let bytes = group.bytes + charge.size;
        if !lossless || bytes <= self.xoff {
            return PLAIN;
        }
        if bytes > self.xoff.saturating_add(limit) {
            return Err(Reason::Ingress);
        }
        Ok(Take { headroom: false, pause: !group.paused })
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
        0
    }

    fn may_resume(&self, _: &Totals, group: &Group, _: u32, _: u8) -> bool {
        group.bytes <= self.xon
    }
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "voq_pfc",
    source: "IEEE 802.1Qbb; that Jericho-class switches count lossless traffic at ingress is known, their thresholds are not public: guessed",
    faithful: "bytes per ingress port and lossless priority; above `xoff` the group is paused, at or below `xon` it is resumed; frames that still arrive use the \
               headroom of the port and priority, and are dropped (and counted at ingress) only when it is full; the caps of queues do not apply to lossless \
               frames",
    simplified: "fixed thresholds, no share of a free pool; a frame counts from when it joins its queue, after `latency` and `grant_latency`; the headroom is \
                 not set aside in the on-chip memory: lossless frames that DRAM cannot take are dropped",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoff_headroom_and_xon() {
        let rules = Thresholds { xoff: 10_000, xon: 4_000 };
        let group = |bytes, paused| Group { bytes, headroom: 0, paused };
        let answer = |group: Group, size, lossless| {
            let charge = Charge { size, ..Charge::default() };
            rules.answer(&Totals::default(), &group, 0, 3_000, &charge, lossless)
        };
        assert_eq!(answer(group(9_000, false), 1_000, true), PLAIN);
        assert_eq!(
            answer(group(9_001, false), 1_000, true),
            Ok(Take { headroom: false, pause: true })
        );
        assert_eq!(answer(group(12_000, true), 1_000, true), PLAIN);
        assert_eq!(answer(group(12_001, true), 1_000, true), Err(Reason::Ingress));
        assert_eq!(answer(group(1 << 40, false), 1_000, false), PLAIN);
        let resumes = |group| rules.may_resume(&Totals::default(), &group, 0, 3);
        assert!(resumes(group(4_000, true)) && !resumes(group(4_001, true)));
    }
}
