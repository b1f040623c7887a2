//! Buffer rules of real switches, in SONiC's terms.

use super::charge::{Answer, Bounds, CLASSES, Charge, Group, PLAIN, Take, Totals, fixed, times};
use super::policy::{About, GroupShare, MemorySite, Policy, QueueShare, Settings};
use crate::Model;
use crate::queue::Reason;
use crate::queue::buffer::shares::{checked_alpha, checked_reserve};
use crate::queue::flowcontrol::keys::Formula;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Off, Or, Size, keys};

keys! {
    /// Rules of real switches, configured in SONiC's terms. These values apply to all priority
    /// groups and queues that have no values in `own`.
    pub struct SonicKeys as "SonicMmu" => SonicRules(total: u64, lossy_alpha: f64, queue_reserved: u64, xon_offset: u64, groups: [GroupShare; 8]) {
        /// With `"sonic"`: a lossless priority group may hold `lossless_alpha` times the free
        /// ingress pool before it uses its headroom and is paused.
        alpha "lossless_alpha": f64 = 1.0 from "SONiC's `dynamic_th` 0 on Trident 3", check checked_alpha;
        /// With `"sonic"`: memory reserved for each lossless priority group.
        reserved "lossless_reserved": Size as u64 = "4608B" from "SONiC on Trident 3",
            check |size, key| checked_reserve(size, total, key);
        /// With `"sonic"`: a lossy priority group may hold this multiple of the free ingress pool,
        /// or `"off"` for no limit at ingress.
        lossy_ingress_alpha: Or<Off, f64> as Option<f64> = "off" from "SONiC on Trident 3",
            check |given, key| given.0.map(|alpha| checked_alpha(alpha, key)).transpose();
        /// With `"sonic"`: memory for lossy queues. Default: 80 % of the memory without the
        /// headroom (TU Berlin's ns-3); SONiC has `"24192256B"` on Trident 3.
        lossy_pool: Size as Option<u64> = none,
            check |size, key| checked_reserve(size, total, key);
        /// With `"sonic"`: memory for the headroom of all priority groups together. Default: the
        /// sum of their headrooms; SONiC has `"2058240B"` on Trident 3, enough for 13 groups at
        /// once.
        headroom_pool: Size as Option<u64> = none,
            check |size, key| checked_reserve(size, total, key);
        /// With `"sonic"`: a paused group that holds less than this is resumed.
        xon: Size as u64 = "4608B" from "SONiC on Trident 3", check |size, key| checked_reserve(size, total, key);
    }
    plus {
        /// Alpha of lossy queues.
        lossy_alpha: f64 = lossy_alpha;
        /// Bytes reserved for each lossy queue.
        queue_reserved: u64 = queue_reserved;
        xon_offset: u64 = xon_offset;
        own: Box<OwnShares> = Box::new(OwnShares { groups, ..OwnShares::default() });
    }
}

/// Individual shares of priority groups (by priority) and egress queues (by number).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnShares {
    pub groups: [GroupShare; 8],
    pub queues: [QueueShare; 8],
}

impl SonicRules {
    /// Returns the bytes reserved for the group of this priority.
    pub fn reserved_of(&self, class: usize, lossless: bool) -> u64 {
        self.own.groups[class].reserved.unwrap_or(if lossless { self.reserved } else { 0 })
    }

    /// Returns the bytes reserved for the groups of one port. `lossless` has a bit for each
    /// lossless priority.
    fn reserved_per_port(&self, lossless: u8) -> u64 {
        (0..8).map(|class| self.reserved_of(class, lossless >> class & 1 != 0)).sum()
    }
}

impl SonicKeys {
    pub fn rules(&mut self, key: &Key, site: &MemorySite) -> Result<SonicRules, Wrong> {
        let MemorySite { total, alpha, reserved, xon_offset, groups, .. } = *site;
        self.resolve(key, total, alpha, reserved, xon_offset, groups)
    }
}

impl Settings for SonicRules {
    fn reserved(&self, ports: u64, lossless: u8) -> u64 {
        ports * self.reserved_per_port(lossless)
    }
    fn headroom(&self, headroom: u64, lossless: u8) -> u64 {
        self.headroom_pool.unwrap_or(headroom * u64::from(lossless.count_ones()))
    }
    fn alpha(&self, queue: usize) -> f64 {
        self.own.queues[queue].alpha.unwrap_or(self.lossy_alpha)
    }
    fn own_queues(&mut self) -> Option<&mut [QueueShare; 8]> {
        Some(&mut self.own.queues)
    }
}

/// Usual values of this memory.
pub const ABOUT: About = About {
    total: 32_000_000,
    alpha: Some(8.0),
    reserved: Some(1_792),
    xon_offset: Some(4_608),
    own_shares: true,
    formula: Formula::Sonic,
};

#[derive(Debug, Clone)]
pub struct Sonic {
    total: u64,
    /// Ingress pool in bytes without the reserves of groups.
    shared: u64,
    pool: u64,
    headroom_pool: u64,
    /// For each priority group: reserved bytes, alpha, and the fixed threshold. A group with a
    /// fixed threshold has an alpha whose product with the free memory exceeds 64 bits.
    reserved: [u64; CLASSES],
    alpha: [u64; CLASSES],
    limit: [u64; CLASSES],
    /// Bit mask of the groups with a threshold at ingress.
    limited: u8,
    lossy_pool: u64,
    /// For each queue: alpha and reserved bytes.
    lossy_alpha: [u64; CLASSES],
    queue_reserved: [u64; CLASSES],
    xon: u64,
    xon_offset: u64,
}

impl Sonic {
    /// Returns the threshold in bytes of a group while `free` bytes of the ingress pool are free:
    /// alpha times `free`, or the group's fixed limit. Memory is below 2^40 bytes and alpha at most
    /// 2^10 in units of 1/65536. So a product beyond 64 bits exceeds any memory, unless the group
    /// has a fixed limit.
    #[inline(always)]
    fn threshold(&self, class: usize, free: u64) -> u64 {
        free.checked_mul(self.alpha[class]).map_or(self.limit[class], |product| product >> 16)
    }

    /// Returns the bytes of the shared pool that a group uses.
    #[inline(always)]
    fn shared_of(&self, group: &Group, class: u8) -> u64 {
        (group.bytes - group.headroom).saturating_sub(self.reserved[usize::from(class)])
    }
}

impl Policy for Sonic {
    type Config = SonicRules;
    const RESUMES_ANY: bool = true;

    fn new(rules: &SonicRules, total: u64, lossless: u8, headroom: &[u64], _: &[u64]) -> Self {
        let classes = lossless.count_ones() as u64;
        let headroom_pool = rules.headroom_pool.unwrap_or(headroom.iter().sum::<u64>() * classes);
        let pool =
            total.checked_sub(headroom_pool).expect("validated: the headroom fits the memory");
        let shared = pool
            .checked_sub(headroom.len() as u64 * rules.reserved_per_port(lossless))
            .expect("validated: so does what is reserved");
        let is_lossless = |class: usize| lossless >> class & 1 != 0;
        let of_all = |class: usize| {
            if is_lossless(class) { Some(rules.alpha) } else { rules.lossy_ingress_alpha }
        };
        let (groups, queues) = (&rules.own.groups, &rules.own.queues);
        let alpha = |class: usize| match groups[class] {
            // The product with the free memory exceeds 64 bits.
            GroupShare { limit: Some(_), .. } => u64::MAX,
            own => own.alpha.or(of_all(class)).map_or(0, fixed),
        };
        let has_threshold = |class: usize| {
            groups[class].limit.is_some() || groups[class].alpha.or(of_all(class)).is_some()
        };
        Sonic {
            total,
            shared,
            pool,
            headroom_pool,
            reserved: std::array::from_fn(|class| rules.reserved_of(class, is_lossless(class))),
            alpha: std::array::from_fn(alpha),
            limit: std::array::from_fn(|class| groups[class].limit.unwrap_or(u64::MAX)),
            limited: (0..CLASSES)
                .filter(|class| has_threshold(*class))
                .fold(0, |all, class| all | 1 << class),
            // Share of the pool in TU Berlin's simulator.
            lossy_pool: rules.lossy_pool.unwrap_or(pool / 10 * 8),
            lossy_alpha: std::array::from_fn(|queue| {
                fixed(queues[queue].alpha.unwrap_or(rules.lossy_alpha))
            }),
            queue_reserved: std::array::from_fn(|queue| {
                queues[queue].reserved.unwrap_or(rules.queue_reserved)
            }),
            xon: rules.xon,
            xon_offset: rules.xon_offset,
        }
    }

    #[inline(always)]
    fn answer(
        &self,
        totals: &Totals,
        group: &Group,
        queue: u64,
        limit: u64,
        charge: &Charge,
        lossless: bool,
    ) -> Answer {
        let (size, class) = (charge.size, usize::from(charge.class()));
        let (used, reserved) = (totals.used + size, self.reserved[class]);
        if !lossless {
            let limited = self.limited >> class & 1 != 0 && group.bytes + size > reserved;
            if limited
                && group.bytes + size
                    > self.threshold(class, self.shared.saturating_sub(totals.ingress[0]))
                || used - totals.headroom > self.pool
                || used > self.total
            {
                return Err(Reason::Ingress);
            }
            let (of_pool, number) = (totals.egress[0], charge.queue as usize % CLASSES);
            let over = queue + size > self.queue_reserved[number]
                && queue + size
                    > times(self.lossy_alpha[number], self.lossy_pool.saturating_sub(of_pool));
            return if over || of_pool + size > self.lossy_pool {
                Err(Reason::Buffer)
            } else {
                PLAIN
            };
        }
        let in_headroom = group.headroom > 0;
        if in_headroom
            && (group.bytes + size > reserved && group.headroom + size > limit
                || totals.headroom + size > self.headroom_pool)
            || used > self.total
        {
            return Err(Reason::Ingress);
        }
        // The frame counts as part of the group in this comparison.
        let shared =
            (group.bytes + size).saturating_sub(reserved) - group.bytes.saturating_sub(reserved);
        let headroom = in_headroom
            || group.bytes + size
                > self.threshold(class, self.shared.saturating_sub(totals.ingress[0] + shared));
        Ok(Take { headroom, pause: headroom && !group.paused })
    }

    #[inline(always)]
    fn charge(
        &self,
        totals: &mut Totals,
        group: &mut Group,
        charge: &Charge,
        headroom: bool,
        lossless: bool,
    ) {
        let (size, class) = (charge.size, charge.class());
        if !lossless {
            totals.egress[0] += size;
        }
        let before = Group { headroom: group.headroom - if headroom { size } else { 0 }, ..*group };
        totals.ingress[0] -= self.shared_of(&before, class);
        group.bytes += size;
        totals.ingress[0] += self.shared_of(group, class);
    }

    #[inline(always)]
    fn release(
        &self,
        totals: &mut Totals,
        group: &mut Group,
        charge: &Charge,
        from_headroom: u64,
        lossless: bool,
    ) {
        let (size, class) = (charge.size, charge.class());
        if !lossless {
            totals.egress[0] -= size;
        }
        totals.ingress[0] -= self.shared_of(group, class);
        group.bytes -= size;
        group.headroom -= from_headroom;
        totals.ingress[0] += self.shared_of(group, class);
    }

    /// Releases a lossless frame of a group that uses no headroom.
    #[inline(always)]
    fn give_back(
        &self,
        totals: &mut Totals,
        group: &mut Group,
        charge: &Charge,
        lossless: bool,
    ) -> bool {
        if !lossless || group.headroom > 0 {
            return false;
        }
        let (size, class) = (charge.size, usize::from(charge.class()));
        totals.used -= size;
        totals.ingress[0] -= group.bytes.saturating_sub(self.reserved[class]).min(size);
        group.bytes -= size;
        true
    }

    fn shared(&self) -> u64 {
        self.shared
    }

    /// Returns bounds for the groups of `classes`. They use that no pool holds more than all memory
    /// in use.
    fn bounds(&self, used: u64, classes: u8, lossless: bool) -> Option<Bounds> {
        let left = self.shared.checked_sub(used)?;
        let those = |limited: u8| (0..CLASSES).filter(move |class| limited >> class & 1 != 0);
        let least = |classes: u8| {
            those(classes)
                .map(|class| self.threshold(class, left).min(self.limit[class]))
                .min()
                .unwrap_or(u64::MAX)
        };
        if lossless {
            return Some(Bounds { used, group: least(classes), queue: u64::MAX });
        }
        let of_pool = self.lossy_pool.checked_sub(used)?;
        let queue = (0..CLASSES)
            .map(|queue| times(self.lossy_alpha[queue], of_pool).max(self.queue_reserved[queue]))
            .min()
            .unwrap_or(0);
        Some(Bounds { used, group: least(classes & self.limited), queue })
    }

    fn may_resume(&self, totals: &Totals, group: &Group, _: u32, class: u8) -> bool {
        let threshold =
            || self.threshold(class.into(), self.shared.saturating_sub(totals.ingress[0]));
        group.headroom == 0
            && (group.bytes < self.xon || group.bytes + self.xon_offset <= threshold())
    }
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "sonic",
    source: "SONiC's buffer pools and profiles (SAI); thresholds and headroom as in TU Berlin's ns-3 switch-mmu.cc, model \"sonic\"",
    faithful: "ingress pool, egress pool of lossy queues, dynamic thresholds, reserves, headroom per port and priority and in a shared pool, xon and \
               xon_offset; alpha and reserve of single queues and priority groups, or a fixed limit; lossless frames are lost only when the headroom \
               overflows; cells or bytes; whenever memory is freed, every paused group is checked for RESUME",
    simplified: "priority group = priority; lossless queues are not limited at egress (SONiC's profile has the whole pool); no admission by colour, no \
                 multicast pool; PAUSE frames take no memory",
};
