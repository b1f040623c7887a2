//! Ingress accounting for PFC on switches with virtual output queues: fixed thresholds for each
//! lossless priority group. [`super::super::Voq`] limits the memory itself.

use super::charge::{Answer, Group, PLAIN, Take};
use crate::Model;
use crate::queue::Reason;

#[derive(Debug, Clone)]
pub struct Thresholds {
    pub xoff: u64,
    pub xon: u64,
}

impl Thresholds {
    /// Decides about a frame of `size` bytes. `limit`: headroom of the group in bytes.
    #[inline(always)]
    pub fn answer(&self, group: &Group, limit: u64, size: u64, lossless: bool) -> Answer {
        let bytes = group.bytes + size;
        if !lossless || bytes <= self.xoff {
            return PLAIN;
        }
        if bytes > self.xoff.saturating_add(limit) {
            return Err(Reason::Ingress);
        }
        Ok(Take { headroom: false, pause: !group.paused })
    }

    pub fn may_resume(&self, group: &Group) -> bool {
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
        assert_eq!(rules.answer(&group(9_000, false), 3_000, 1_000, true), PLAIN);
        assert_eq!(
            rules.answer(&group(9_001, false), 3_000, 1_000, true),
            Ok(Take { headroom: false, pause: true })
        );
        assert_eq!(rules.answer(&group(12_000, true), 3_000, 1_000, true), PLAIN);
        assert_eq!(rules.answer(&group(12_001, true), 3_000, 1_000, true), Err(Reason::Ingress));
        assert_eq!(rules.answer(&group(1 << 40, false), 3_000, 1_000, false), PLAIN);
        assert!(rules.may_resume(&group(4_000, true)) && !rules.may_resume(&group(4_001, true)));
    }
}
