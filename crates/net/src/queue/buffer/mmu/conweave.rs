//! Buffer rules of ConWeave's ns-3 simulator, which follows TLT-RDMA and Broadcom's description.

use super::charge::{Answer, Bounds, CLASSES, Charge, Group, Take, Totals, fixed, times};
use super::policy::{About, MemorySite, Policy, Settings};
use crate::Model;
use crate::queue::Reason;
use crate::queue::buffer::shares::{checked_alpha, checked_reserve};
use crate::queue::flowcontrol::keys::Formula;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Size, keys};

keys! {
    /// Rules of ConWeave's ns-3 simulator.
    pub struct ConweaveKeys as "ConweaveMmu" => ConweaveRules(total: u64, egress_alpha: f64) {
        /// With `"conweave"`: a priority group may hold this multiple of the free ingress pool
        /// before it is paused.
        ingress_alpha: f64 = 0.0625, check checked_alpha;
        /// With `"conweave"`: guaranteed memory of each port and of each priority group. A queue
        /// has one byte more.
        mtu: Size as u64 = "1048B", check |size, key| checked_reserve(size, total, key);
    }
    plus {
        egress_alpha: f64 = egress_alpha;
    }
}

impl ConweaveKeys {
    pub fn rules(&mut self, key: &Key, site: &MemorySite) -> Result<ConweaveRules, Wrong> {
        self.resolve(key, site.total, site.alpha)
    }
}

impl Settings for ConweaveRules {
    fn reserved(&self, ports: u64, _: u8) -> u64 {
        ports * QUEUES * self.mtu
    }
    fn alpha(&self, _: usize) -> f64 {
        self.egress_alpha
    }
}

/// Usual values of this memory.
pub const ABOUT: About = About {
    total: 9 << 20,
    alpha: Some(1.0),
    reserved: None,
    xon_offset: None,
    own_shares: false,
    formula: Formula::Conweave,
};

#[derive(Debug, Clone)]
pub struct Conweave {
    total: u64,
    /// Limits in bytes of the service pools, without all minima and (at ingress) all headroom.
    ingress_limit: u64,
    egress_limit: u64,
    ingress_alpha: u64,
    egress_alpha: u64,
    mtu: u64,
}

/// Queues per port in that simulator.
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
    /// Returns the bytes of the shared pool that a queue uses. Each queue has an MTU and one byte
    /// of its own.
    #[inline(always)]
    fn shared_of(&self, queue: u64) -> u64 {
        queue.saturating_sub(self.mtu + 1)
    }
}

impl Policy for Conweave {
    type Config = ConweaveRules;

    fn new(rules: &ConweaveRules, total: u64, _: u8, headroom: &[u64], _: &[u64]) -> Self {
        let minima = headroom.len() as u64 * QUEUES * rules.mtu;
        let egress_limit = total.checked_sub(minima).expect("validated: the minima fit the memory");
        let ingress_limit = egress_limit
            .checked_sub(headroom.iter().sum())
            .expect("validated: so does the headroom");
        let (ingress_alpha, egress_alpha) = (fixed(rules.ingress_alpha), fixed(rules.egress_alpha));
        Conweave { total, ingress_limit, egress_limit, ingress_alpha, egress_alpha, mtu: rules.mtu }
    }

    #[inline(always)]
    fn answer(
        &self,
        totals: &Totals,
        group: &Group,
        queue: u64,
        limit: u64,
        charge: &Charge,
        _: bool,
    ) -> Answer {
        let size = charge.size;
        let of_pool = totals.egress[egress_pool((charge.queue % CLASSES as u32) as u8)];
        if of_pool + size > self.egress_limit
            || self.shared_of(queue) + size > times(self.egress_alpha, self.egress_limit - of_pool)
        {
            return Err(Reason::Buffer);
        }
        let pool = totals.ingress[ingress_pool(charge.class())];
        // The minimum of a port is an MTU as well, so a group above it belongs to a port above it.
        if totals.used + size > self.total
            || group.bytes + size > self.mtu
                && pool > self.ingress_limit
                && group.headroom + size > limit
        {
            return Err(Reason::Ingress);
        }
        let headroom = pool + size > self.ingress_limit;
        let left = self.ingress_limit.saturating_sub(pool + size);
        let beyond = (group.bytes + size).saturating_sub(2 * self.mtu);
        let pause = beyond > 0
            && (beyond > times(self.ingress_alpha, left) || headroom || group.headroom > 0);
        Ok(Take { headroom, pause })
    }

    fn shared(&self) -> u64 {
        self.ingress_limit
    }

    /// Returns bounds for at most `used` bytes in use. No pool holds more than all memory in use.
    fn bounds(&self, used: u64, _: u8, lossless: bool) -> Option<Bounds> {
        let left = self.ingress_limit.checked_sub(used)?;
        let queue = times(self.egress_alpha, self.egress_limit - used);
        let group = if lossless {
            times(self.ingress_alpha, left).saturating_add(2 * self.mtu)
        } else {
            u64::MAX
        };
        Some(Bounds { used, group, queue })
    }

    #[inline(always)]
    fn charge(&self, totals: &mut Totals, group: &mut Group, charge: &Charge, _: bool, _: bool) {
        group.bytes += charge.size;
        totals.ingress[ingress_pool(charge.class())] += charge.size;
        totals.egress[egress_pool((charge.queue % CLASSES as u32) as u8)] += charge.size;
    }

    #[inline(always)]
    fn release(
        &self,
        totals: &mut Totals,
        group: &mut Group,
        charge: &Charge,
        from_headroom: u64,
        _: bool,
    ) {
        group.bytes -= charge.size;
        group.headroom -= from_headroom;
        totals.ingress[ingress_pool(charge.class())] -= charge.size;
        totals.egress[egress_pool((charge.queue % CLASSES as u32) as u8)] -= charge.size;
    }

    #[inline(always)]
    fn give_back(
        &self,
        totals: &mut Totals,
        group: &mut Group,
        charge: &Charge,
        lossless: bool,
    ) -> bool {
        if group.headroom > 0 {
            return false;
        }
        totals.used -= charge.size;
        self.release(totals, group, charge, 0, lossless);
        true
    }

    /// Returns true if the group uses no headroom and group − 2 MTU < alpha · (limit − pool − 16),
    /// computed exactly.
    fn may_resume(&self, totals: &Totals, group: &Group, _: u32, class: u8) -> bool {
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
