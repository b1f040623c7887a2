//! As in ConWeave's ns-3, which follows TLT-RDMA and Broadcom's description.

use super::charge::{Answer, Bounds, CLASSES, Charge, Group, Take, Totals, fixed, times};
use crate::Model;
use crate::queue::Reason;
use crate::spec::ConweaveRules;

#[derive(Debug, Clone)]
pub struct Conweave {
    total: u64,
    /// Of the service pools, after all minima (and, at ingress, all headroom) have been set aside.
    ingress_limit: u64,
    egress_limit: u64,
    ingress_alpha: u64,
    egress_alpha: u64,
    mtu: u64,
    /// With no more memory in use, and no headroom, every frame is taken without cause to pause.
    calm: u64,
}

/// Queues per port there.
const QUEUES: u64 = 8;

#[inline(always)]
fn ingress_pool(class: u8) -> usize {
    (class == 1) as usize
}
#[inline(always)]
fn egress_pool(queue: u8) -> usize {
    (queue > 0) as usize
}

impl Conweave {
    pub fn new(rules: &ConweaveRules, total: u64, headroom: &[u64]) -> Self {
        let minima = headroom.len() as u64 * QUEUES * rules.mtu;
        let egress_limit = total.checked_sub(minima).expect("validated: the minima fit the memory");
        let ingress_limit = egress_limit.checked_sub(headroom.iter().sum()).expect("validated: so does the headroom");
        let (ingress_alpha, egress_alpha) = (fixed(rules.ingress_alpha), fixed(rules.egress_alpha));
        // Even if it were all of one queue and one group.
        let below = |alpha: u64, limit: u64| (limit as u128 * alpha as u128 / (alpha as u128 + 65_536)) as u64;
        let calm = below(ingress_alpha, ingress_limit).min(below(egress_alpha, egress_limit));
        Conweave { total, ingress_limit, egress_limit, ingress_alpha, egress_alpha, mtu: rules.mtu, calm }
    }

    /// A queue's part of the pool: it has one byte more than an MTU to itself.
    #[inline(always)]
    fn shared(&self, queue: u64) -> u64 {
        queue.saturating_sub(self.mtu + 1)
    }

    #[inline(always)]
    pub fn answer(&self, totals: &Totals, group: &Group, queue: u64, limit: u64, charge: &Charge) -> Answer {
        let size = charge.size;
        let of_pool = totals.egress[egress_pool((charge.queue % CLASSES as u32) as u8)];
        if of_pool + size > self.egress_limit || self.shared(queue) + size > times(self.egress_alpha, self.egress_limit - of_pool) {
            return Err(Reason::Buffer);
        }
        let pool = totals.ingress[ingress_pool(charge.class())];
        // A port's minimum is an MTU as well: a group above it has a port above it.
        if totals.used + size > self.total || group.bytes + size > self.mtu && pool > self.ingress_limit && group.headroom + size > limit {
            return Err(Reason::Ingress);
        }
        let headroom = pool + size > self.ingress_limit;
        let left = self.ingress_limit.saturating_sub(pool + size);
        let beyond = (group.bytes + size).saturating_sub(2 * self.mtu);
        let pause = beyond > 0 && (beyond > times(self.ingress_alpha, left) || headroom || group.headroom > 0);
        Ok(Take { headroom, pause })
    }

    /// Is the frame taken without headroom and without cause to pause?
    #[inline(always)]
    pub fn takes_safely(&self, totals: &Totals, group: &Group, queue: u64, lossless: bool, charge: &Charge) -> bool {
        let size = charge.size;
        if totals.used + size <= self.calm && totals.headroom == 0 {
            return true;
        }
        let of_pool = totals.egress[egress_pool((charge.queue % CLASSES as u32) as u8)];
        let pool = totals.ingress[ingress_pool(charge.class())];
        if of_pool + size > self.egress_limit || pool + size > self.ingress_limit || totals.used + size > self.total {
            return false;
        }
        let beyond = (group.bytes + size).saturating_sub(2 * self.mtu);
        self.shared(queue) + size <= times(self.egress_alpha, self.egress_limit - of_pool)
            && (!lossless || beyond == 0 || group.headroom == 0 && beyond <= times(self.ingress_alpha, self.ingress_limit - (pool + size)))
    }

    pub fn shared_memory(&self) -> u64 {
        self.ingress_limit
    }

    /// No pool holds more than all memory in use.
    pub fn bounds(&self, used: u64, lossless: bool) -> Option<Bounds> {
        let left = self.ingress_limit.checked_sub(used)?;
        let queue = times(self.egress_alpha, self.egress_limit - used);
        let group = if lossless { times(self.ingress_alpha, left).saturating_add(2 * self.mtu) } else { u64::MAX };
        Some(Bounds { used, group, queue })
    }

    #[inline(always)]
    pub fn charge(totals: &mut Totals, group: &mut Group, charge: &Charge) {
        group.bytes += charge.size;
        totals.ingress[ingress_pool(charge.class())] += charge.size;
        totals.egress[egress_pool((charge.queue % CLASSES as u32) as u8)] += charge.size;
    }

    #[inline(always)]
    pub fn release(totals: &mut Totals, group: &mut Group, charge: &Charge, from_headroom: u64) {
        group.bytes -= charge.size;
        group.headroom -= from_headroom;
        totals.ingress[ingress_pool(charge.class())] -= charge.size;
        totals.egress[egress_pool((charge.queue % CLASSES as u32) as u8)] -= charge.size;
    }

    /// group − 2 MTU < alpha · (limit − pool − 16), in reals.
    pub fn may_resume(&self, totals: &Totals, group: &Group, class: u8) -> bool {
        let left = self.ingress_limit as i128 - totals.ingress[ingress_pool(class)] as i128 - 16;
        let beyond = group.bytes as i128 - 2 * self.mtu as i128;
        group.headroom == 0 && (beyond << 16) < self.ingress_alpha as i128 * left
    }
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "conweave",
    source: "conweave-project/conweave-ns3 switch-mmu.cc (from TLT-RDMA's, after Broadcom's MMU)",
    faithful: "egress first, then ingress; headroom is used only once the whole ingress pool is full; every further frame that exceeds the threshold \
               repeats the PAUSE; a departing frame can resume only its own group",
    simplified: "priority group = priority; priority 0, which bypasses the MMU in that simulator, does so only if the scenario asks for it",
};

#[cfg(test)]
mod tests {
    use super::super::charge::PLAIN;
    use super::*;
    use afflux_engine::random::Stream;

    /// The short cut for little memory in use, at and around its bound, with all of it in one queue and one group or spread.
    #[test]
    fn what_is_taken_safely_is_taken_without_headroom_or_pause() {
        let mut draw = Stream::new(1, 2, 3);
        let mut by_calm = 0;
        for _ in 0..20_000 {
            let alphas = [0.0, 1.0 / 16.0, 0.5, 1.0, 8.0, 1_024.0];
            let mut alpha = || alphas[draw.below(6) as usize];
            let rules = ConweaveRules { ingress_alpha: alpha(), egress_alpha: alpha(), mtu: 1_048 };
            let conweave = Conweave::new(&rules, 200_000 + draw.below(9 << 20), &[10_000; 4]);
            let size = 1 + draw.below(9_216);
            let used = (conweave.calm + draw.below(4)).saturating_sub(size + draw.below(3));
            let group = Group { bytes: if draw.below(2) == 0 { used } else { draw.below(used + 1) }, ..Group::default() };
            let queue = if draw.below(2) == 0 { used } else { draw.below(used + 1) };
            let charge = Charge::new(size, 0, 1, 3, 3);
            let totals = Totals { used, headroom: 0, ingress: [used, 0], egress: [0, used] };
            if conweave.takes_safely(&totals, &group, queue, true, &charge) {
                assert_eq!(conweave.answer(&totals, &group, queue, 10_000, &charge), PLAIN, "{conweave:?} {totals:?} {group:?} {queue} {charge:?}");
                by_calm += u32::from(used + size <= conweave.calm);
            }
        }
        assert!(by_calm > 5_000, "{by_calm}");
    }
}
