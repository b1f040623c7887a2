//! Buffer rules of HPCC's ns-3 simulator.

use super::charge::{Answer, Bounds, Charge, Group, Take, Totals};
use super::policy::{About, MemorySite, Policy, Settings};
use crate::Model;
use crate::queue::Reason;
use crate::queue::flowcontrol::keys::Formula;
use afflux_config::keys::above_zero;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Speed, keys};
use afflux_units::Rate;

keys! {
    /// Rules of HPCC's ns-3 simulator.
    pub struct HpccKeys as "HpccMmu" => HpccRules(nic_rate: Rate, reserved: u64, resume_offset: u64) {
        /// With `"hpcc"`: at ports of `nic_rate` a priority group may hold 2^−`shift` of the free
        /// memory, and twice that for every doubling of the rate.
        shift: u8 = 3, in 0 to 20;
        /// With `"hpcc"`: rate of the ports to which `shift` applies as it is. Default: the lowest
        /// rate of a host's link.
        nic_rate: Speed = (Speed(nic_rate)), check above_zero;
    }
    plus {
        reserved: u64 = reserved;
        resume_offset: u64 = resume_offset;
    }
}

impl HpccKeys {
    pub fn rules(&mut self, key: &Key, site: &MemorySite) -> Result<HpccRules, Wrong> {
        self.resolve(key, site.nic_rate, site.reserved, site.xon_offset)
    }
}

impl Settings for HpccRules {
    fn reserved(&self, ports: u64, _: u8) -> u64 {
        ports * self.reserved
    }
    fn alpha(&self, _: usize) -> f64 {
        1.0 / f64::from(1u32 << self.shift.min(31))
    }
}

/// Usual values of this memory.
pub const ABOUT: About = About {
    total: 32 << 20,
    alpha: None,
    reserved: Some(4_096),
    xon_offset: Some(3_072),
    own_shares: false,
    formula: Formula::Hpcc,
};

#[derive(Debug, Clone)]
pub struct Hpcc {
    /// Memory in bytes without headroom and reserves.
    shared: u64,
    reserved: u64,
    resume_offset: u64,
    /// Shift of the threshold, by port.
    shift: Vec<u8>,
}

impl Hpcc {
    #[inline(always)]
    fn threshold(&self, shared: u64, port: u32) -> u64 {
        self.shared.saturating_sub(shared) >> self.shift[port as usize]
    }

    #[inline(always)]
    fn shared_of(&self, group: u64) -> u64 {
        group.saturating_sub(self.reserved)
    }
}

impl Policy for Hpcc {
    type Config = HpccRules;

    fn new(rules: &HpccRules, total: u64, _: u8, headroom: &[u64], rates: &[u64]) -> Self {
        // HPCC's simulator sets aside one reserve per port, whatever the number of queues.
        let aside = headroom.iter().sum::<u64>() + headroom.len() as u64 * rules.reserved;
        let shift = |&rate: &u64| {
            let (mut shift, mut at) = (rules.shift, rules.nic_rate.0);
            while rate > at && shift > 0 {
                (shift, at) = (shift - 1, at * 2);
            }
            shift
        };
        Hpcc {
            shared: total
                .checked_sub(aside)
                .expect("validated: headroom and reserves fit the memory"),
            reserved: rules.reserved,
            resume_offset: rules.resume_offset,
            shift: rates.iter().map(shift).collect(),
        }
    }

    #[inline(always)]
    fn answer(
        &self,
        totals: &Totals,
        group: &Group,
        _: u64,
        limit: u64,
        charge: &Charge,
        _: bool,
    ) -> Answer {
        let (size, port) = (charge.size, charge.input);
        let threshold = self.threshold(totals.ingress[0], port);
        let shared = self.shared_of(group.bytes);
        if group.headroom + size > limit && size + shared > threshold {
            return Err(Reason::Ingress);
        }
        let after = self.shared_of(group.bytes + size);
        let headroom = after > threshold;
        let pause = if headroom {
            true
        } else {
            group.headroom > 0 || after >= self.threshold(totals.ingress[0] + after - shared, port)
        };
        Ok(Take { headroom, pause: pause && !group.paused })
    }

    #[inline(always)]
    fn charge(
        &self,
        totals: &mut Totals,
        group: &mut Group,
        charge: &Charge,
        headroom: bool,
        _: bool,
    ) {
        if !headroom {
            totals.ingress[0] -= self.shared_of(group.bytes);
            group.bytes += charge.size;
            totals.ingress[0] += self.shared_of(group.bytes);
        }
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
        totals.ingress[0] -= self.shared_of(group.bytes);
        group.headroom -= from_headroom;
        group.bytes -= charge.size - from_headroom;
        totals.ingress[0] += self.shared_of(group.bytes);
    }

    fn shared(&self) -> u64 {
        self.shared
    }

    /// Returns bounds for at most `used` bytes in use. A frame larger than the threshold is not
    /// safe even within its group's reserve, so there are no bounds unless the threshold exceeds
    /// every frame.
    fn bounds(&self, used: u64, _: u8, _: bool) -> Option<Bounds> {
        let least = self.shared.checked_sub(used)? >> self.shift.iter().max()?;
        (least > u16::MAX as u64 + 4_096).then(|| Bounds {
            used,
            group: self.reserved + least - 1,
            queue: u64::MAX,
        })
    }

    fn may_resume(&self, totals: &Totals, group: &Group, port: u32, _: u8) -> bool {
        let shared = self.shared_of(group.bytes);
        group.headroom == 0
            && (shared == 0
                || shared + self.resume_offset <= self.threshold(totals.ingress[0], port))
    }
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "hpcc",
    source: "alibaba-edu/High-Precision-Congestion-Control switch-mmu.cc",
    faithful: "threshold (memory less headroom, reserves and shared use) >> shift, shift 3 at the hosts' rate and one less per doubling; no egress \
               admission; a departing frame can resume only its own group",
    simplified: "priority group = priority",
};
