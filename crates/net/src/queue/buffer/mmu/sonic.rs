//! As real switches, configured in SONiC's terms.

use super::charge::{Answer, Group, PLAIN, Take, Totals, fixed, times};
use crate::Model;
use crate::queue::Reason;
use crate::spec::SonicRules;

#[derive(Debug, Clone)]
pub struct Sonic {
    total: u64,
    /// The ingress pool, less what is set aside for lossless groups.
    shared: u64,
    pool: u64,
    headroom_pool: u64,
    reserved: u64,
    alpha: u64,
    lossy_ingress_alpha: Option<u64>,
    lossy_pool: u64,
    lossy_alpha: u64,
    queue_reserved: u64,
    xon: u64,
    xon_offset: u64,
}

impl Sonic {
    pub fn new(rules: &SonicRules, total: u64, lossless: u8, headroom: &[u64]) -> Self {
        let classes = lossless.count_ones() as u64;
        let headroom_pool = rules.headroom_pool.unwrap_or(headroom.iter().sum::<u64>() * classes);
        let pool = total.checked_sub(headroom_pool).expect("validated: the headroom fits the memory");
        let shared = pool.checked_sub(headroom.len() as u64 * classes * rules.reserved).expect("validated: so does what is reserved");
        Sonic {
            total,
            shared,
            pool,
            headroom_pool,
            reserved: rules.reserved,
            alpha: fixed(rules.alpha),
            lossy_ingress_alpha: rules.lossy_ingress_alpha.map(fixed),
            // TU Berlin's share.
            lossy_pool: rules.lossy_pool.unwrap_or(pool / 10 * 8),
            lossy_alpha: fixed(rules.lossy_alpha),
            queue_reserved: rules.queue_reserved,
            xon: rules.xon,
            xon_offset: rules.xon_offset,
        }
    }

    /// The threshold of a group: alpha times what is left of the ingress pool.
    #[inline(always)]
    fn threshold(&self, totals: &Totals, alpha: u64) -> u64 {
        times(alpha, self.shared.saturating_sub(totals.ingress[0]))
    }

    #[inline(always)]
    pub fn answer(&self, totals: &Totals, group: &Group, queue: u64, limit: u64, size: u64, lossless: bool) -> Answer {
        let used = totals.used + size;
        if !lossless {
            if self.lossy_ingress_alpha.is_some_and(|alpha| group.bytes + size > self.threshold(totals, alpha))
                || used - totals.headroom > self.pool
                || used > self.total
            {
                return Err(Reason::Ingress);
            }
            let of_pool = totals.egress[0];
            let over = queue + size > self.queue_reserved && queue + size > times(self.lossy_alpha, self.lossy_pool.saturating_sub(of_pool));
            return if over || of_pool + size > self.lossy_pool { Err(Reason::Buffer) } else { PLAIN };
        }
        let in_headroom = group.headroom > 0;
        if in_headroom && (group.bytes + size > self.reserved && group.headroom + size > limit || totals.headroom + size > self.headroom_pool)
            || used > self.total
        {
            return Err(Reason::Ingress);
        }
        // The frame itself is in the group when the group is compared.
        let shared = (group.bytes + size).saturating_sub(self.reserved) - group.bytes.saturating_sub(self.reserved);
        let headroom = in_headroom || group.bytes + size > times(self.alpha, self.shared.saturating_sub(totals.ingress[0] + shared));
        Ok(Take { headroom, pause: headroom && !group.paused })
    }

    /// A group's part of the pool.
    #[inline(always)]
    fn shared_of(&self, group: &Group, lossless: bool) -> u64 {
        (group.bytes - group.headroom).saturating_sub(if lossless { self.reserved } else { 0 })
    }

    #[inline(always)]
    pub fn charge(&self, totals: &mut Totals, group: &mut Group, size: u64, headroom: bool, lossless: bool) {
        if !lossless {
            totals.egress[0] += size;
        }
        let before = Group { headroom: group.headroom - if headroom { size } else { 0 }, ..*group };
        totals.ingress[0] -= self.shared_of(&before, lossless);
        group.bytes += size;
        totals.ingress[0] += self.shared_of(group, lossless);
    }

    #[inline(always)]
    pub fn release(&self, totals: &mut Totals, group: &mut Group, size: u64, from_headroom: u64, lossless: bool) {
        if !lossless {
            totals.egress[0] -= size;
        }
        totals.ingress[0] -= self.shared_of(group, lossless);
        group.bytes -= size;
        group.headroom -= from_headroom;
        totals.ingress[0] += self.shared_of(group, lossless);
    }

    /// Charges a lossless frame if that is safe; the group has nothing in its headroom.
    #[inline(always)]
    pub fn take_if_safe(&self, totals: &mut Totals, group: &mut Group, size: u64) -> bool {
        let after = group.bytes + size;
        let ingress = totals.ingress[0] + after.saturating_sub(self.reserved).min(size);
        let safe = totals.used + size <= self.total && after <= times(self.alpha, self.shared.saturating_sub(ingress));
        if safe {
            totals.used += size;
            totals.ingress[0] = ingress;
            group.bytes = after;
        }
        safe
    }

    /// Undoes that.
    #[inline(always)]
    pub fn give_back(&self, totals: &mut Totals, group: &mut Group, size: u64) {
        totals.used -= size;
        totals.ingress[0] -= group.bytes.saturating_sub(self.reserved).min(size);
        group.bytes -= size;
    }

    /// What a lossless group may reach at least as long as no more than `more` is added to the memory in use; none if that may be too much, or if
    /// a headroom is in use.
    pub fn least_threshold(&self, totals: &Totals, more: u64) -> Option<u64> {
        let fits = totals.headroom == 0 && totals.used + more <= self.total;
        fits.then(|| times(self.alpha, self.shared.saturating_sub(totals.ingress[0] + more)))
    }

    pub fn may_resume(&self, totals: &Totals, group: &Group) -> bool {
        group.headroom == 0 && (group.bytes < self.xon || group.bytes + self.xon_offset <= self.threshold(totals, self.alpha))
    }
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "sonic",
    source: "SONiC's buffer pools and profiles (SAI); thresholds and headroom as in TU Berlin's ns-3 switch-mmu.cc, model \"sonic\"",
    faithful: "ingress pool, egress pool of lossy queues, dynamic thresholds, reserves, headroom per port and priority and in a shared pool, xon and \
               xon_offset; lossless frames are lost only when the headroom overflows; cells or bytes; whenever memory is freed, every paused group is \
               checked for RESUME",
    simplified: "priority group = priority; lossless queues are not limited at egress (SONiC's profile has the whole pool); no admission by colour, no \
                 multicast pool; PAUSE frames take no memory",
};
