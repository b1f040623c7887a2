//! Memory management unit (MMU) of shared-memory switches. It counts each frame at ingress (per
//! port and priority group) and at egress (per port and queue). Three sets of rules for these
//! counters are available. The rules decide; the switch charges, releases, pauses and counts.
//!
//! All counters except that of the frame's own queue may be upper bounds, because a port releases
//! its departed frames only when it is looked at. Every rule is monotonic: a frame that is taken
//! without headroom and without a PAUSE under upper bounds is taken in the same way with exact
//! counters. Only other answers need exact counters.

pub mod cells;
mod charge;
pub mod conweave;
pub mod hpcc;
pub mod keys;
pub mod sonic;
#[cfg(test)]
mod tests;
mod thresholds;

pub use charge::{Answer, Bounds, CLASSES, Charge, Take, is_safe};

use crate::Model;
use crate::queue::flowcontrol::headroom::{PortFacts, headroom as port_headroom};
use crate::spec::{self, NodeId, Plan};
use cells::METADATA;
use charge::{Group, PLAIN, Totals};
use conweave::Conweave;
use hpcc::Hpcc;
use sonic::Sonic;
use thresholds::Thresholds;

/// Rules of the MMU. Not boxed: there is one per switch, and a box would cost each frame a load.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
enum Rules {
    Sonic(Sonic),
    Conweave(Conweave),
    Hpcc(Hpcc),
    /// Ingress thresholds of a switch with virtual output queues.
    Thresholds(Thresholds),
}

#[derive(Debug, Clone)]
pub struct Mmu {
    rules: Rules,
    cells: Option<Cells>,
    bypass: u8,
    pub lossless: u8,
    totals: Totals,
    /// Priority groups by port and class.
    groups: Vec<Group>,
    /// Bytes in use by port and queue.
    queues: Vec<u64>,
    /// Headroom in bytes of each lossless priority group, by port.
    headroom: Vec<u64>,
    /// Number of paused groups, and their indices in `groups` in ascending order.
    pub paused: u32,
    paused_groups: Vec<u32>,
}

/// Computes the whole cells of a frame without a division.
#[derive(Debug, Clone, Copy)]
struct Cells {
    size: u64,
    /// 2^32 / size, rounded up.
    reciprocal: u64,
}

impl Cells {
    fn new(size: u16) -> Self {
        Cells { size: size as u64, reciprocal: (1u64 << 32).div_ceil(size as u64) }
    }
    /// Returns the bytes of the cells that a frame occupies. The result is exact: with x the
    /// dividend, the error is below x · size / 2^32, which is below 1/size for x < 2^17 and a size
    /// up to 2^12.
    #[inline(always)]
    fn of(self, bytes: u64) -> u64 {
        (((bytes + METADATA + self.size - 1) * self.reciprocal) >> 32) * self.size
    }
}

impl Mmu {
    /// Creates the MMU of a switch. `headroom`: bytes by port, for each lossless class. `rates`: by
    /// port.
    pub fn new(config: &spec::Mmu, lossless: u8, headroom: Vec<u64>, rates: &[u64]) -> Self {
        let rules = match &config.rules {
            spec::Rules::Sonic(rules) => {
                Rules::Sonic(Sonic::new(rules, config.total, lossless, &headroom))
            }
            spec::Rules::Conweave(rules) => {
                Rules::Conweave(Conweave::new(rules, config.total, &headroom))
            }
            spec::Rules::Hpcc(rules) => {
                Rules::Hpcc(Hpcc::new(rules, config.total, &headroom, rates))
            }
        };
        Mmu {
            cells: config.cell.map(Cells::new),
            bypass: config.bypass,
            ..Mmu::under(rules, lossless, headroom)
        }
    }

    /// Creates the ingress accounting of virtual output queues: a priority group is paused above
    /// `xoff` bytes until it is down to `xon`.
    pub fn with_thresholds(xoff: u64, xon: u64, lossless: u8, headroom: Vec<u64>) -> Self {
        Mmu::under(Rules::Thresholds(Thresholds { xoff, xon }), lossless, headroom)
    }

    fn under(rules: Rules, lossless: u8, headroom: Vec<u64>) -> Self {
        let ports = headroom.len();
        Mmu {
            rules,
            cells: None,
            bypass: 0,
            lossless,
            totals: Totals::default(),
            groups: vec![Group::default(); ports * CLASSES],
            queues: vec![0; ports * CLASSES],
            headroom,
            paused: 0,
            paused_groups: Vec::new(),
        }
    }

    /// Returns the memory in bytes that a frame takes; 0 for a priority that is not accounted for.
    #[inline(always)]
    pub fn size_of(&self, bytes: u64, class: u8) -> u64 {
        if self.bypass >> class & 1 != 0 {
            return 0;
        }
        self.cells.map_or(bytes, |cells| cells.of(bytes))
    }

    #[inline(always)]
    pub fn is_lossless(&self, class: u8) -> bool {
        self.lossless >> class & 1 != 0
    }

    /// Decides whether the frame is taken, and whether it uses headroom.
    #[inline]
    pub fn answer(&self, charge: &Charge) -> Answer {
        if charge.size == 0 {
            return PLAIN;
        }
        let group = &self.groups[charge.group as usize];
        let queue = self.queues[charge.queue as usize];
        let lossless = self.is_lossless(charge.class());
        let limit = self.headroom[charge.input as usize];
        let answer = match &self.rules {
            Rules::Sonic(rules) => {
                rules.answer(&self.totals, group, queue, limit, charge, lossless)
            }
            Rules::Conweave(rules) => rules.answer(&self.totals, group, queue, limit, charge),
            Rules::Hpcc(rules) => {
                rules.answer(&self.totals, group, limit, charge.size, charge.input)
            }
            Rules::Thresholds(rules) => rules.answer(group, limit, charge.size, lossless),
        };
        answer.map(|take| Take { pause: take.pause && lossless, ..take })
    }

    #[inline]
    pub fn charge(&mut self, charge: &Charge, headroom: bool) {
        if charge.size == 0 {
            return;
        }
        let group = &mut self.groups[charge.group as usize];
        self.totals.used += charge.size;
        if headroom {
            group.headroom += charge.size;
            self.totals.headroom += charge.size;
        }
        self.queues[charge.queue as usize] += charge.size;
        let lossless = self.lossless >> charge.class() & 1 != 0;
        match &self.rules {
            Rules::Sonic(rules) => {
                rules.charge(&mut self.totals, group, charge, headroom, lossless)
            }
            Rules::Conweave(_) => Conweave::charge(&mut self.totals, group, charge),
            Rules::Hpcc(rules) => rules.charge(&mut self.totals, group, charge.size, headroom),
            Rules::Thresholds(_) => group.bytes += charge.size,
        }
    }

    /// Releases the memory of a departed frame.
    #[inline]
    pub fn release(&mut self, charge: &Charge) {
        if charge.size == 0 {
            return;
        }
        let group = &mut self.groups[charge.group as usize];
        self.totals.used -= charge.size;
        let from_headroom = charge.size.min(group.headroom);
        self.totals.headroom -= from_headroom;
        self.queues[charge.queue as usize] -= charge.size;
        let lossless = self.lossless >> charge.class() & 1 != 0;
        match &self.rules {
            Rules::Sonic(rules) => {
                rules.release(&mut self.totals, group, charge, from_headroom, lossless)
            }
            Rules::Conweave(_) => Conweave::release(&mut self.totals, group, charge, from_headroom),
            Rules::Hpcc(rules) => {
                rules.release(&mut self.totals, group, charge.size, from_headroom)
            }
            Rules::Thresholds(_) => group.bytes -= charge.size,
        }
    }

    /// Releases the memory of a departed frame. Fast path of [`Self::release`] for groups that use
    /// no headroom.
    #[inline(always)]
    pub fn give_back(&mut self, charge: &Charge) {
        if charge.size == 0 {
            return;
        }
        let group = &mut self.groups[charge.group as usize];
        let lossless = self.lossless >> charge.class() & 1 != 0;
        match &self.rules {
            Rules::Sonic(rules) if lossless && group.headroom == 0 => {
                rules.give_back(&mut self.totals, group, charge.size, charge.class());
                self.queues[charge.queue as usize] -= charge.size;
            }
            Rules::Conweave(_) if group.headroom == 0 => {
                self.totals.used -= charge.size;
                self.queues[charge.queue as usize] -= charge.size;
                Conweave::release(&mut self.totals, group, charge, 0);
            }
            _ => self.release(charge),
        }
    }

    /// Returns bounds within which every frame of a lossless (or lossy) class is taken without
    /// headroom and without a PAUSE, as long as at most `used` bytes are in use.
    pub fn bounds(&self, used: u64, lossless: bool) -> Option<Bounds> {
        if self.totals.headroom > 0 {
            return None;
        }
        match &self.rules {
            Rules::Sonic(rules) => {
                rules.bounds(used, if lossless { self.lossless } else { !self.lossless }, lossless)
            }
            Rules::Conweave(rules) => rules.bounds(used, lossless),
            Rules::Hpcc(rules) => rules.bounds(used),
            Rules::Thresholds(_) => None,
        }
    }

    /// Returns the bytes that the priority groups share.
    pub fn shared(&self) -> u64 {
        match &self.rules {
            Rules::Sonic(rules) => rules.shared(),
            Rules::Conweave(rules) => rules.shared_memory(),
            Rules::Hpcc(rules) => rules.shared(),
            Rules::Thresholds(_) => 0,
        }
    }

    /// Returns the bytes of the fullest group.
    pub fn fullest_group(&self) -> u64 {
        self.groups.iter().map(|group| group.bytes).max().unwrap_or(0)
    }

    /// Returns the most bytes by which a frame's memory exceeds its size.
    #[inline(always)]
    pub fn overhead(&self) -> u64 {
        self.cells.map_or(0, |cells| METADATA + cells.size - 1)
    }

    /// True if a paused group may be resumed.
    pub fn may_resume(&self, input: u32, class: u8) -> bool {
        let group = &self.groups[input as usize * CLASSES + class as usize];
        match &self.rules {
            Rules::Sonic(rules) => rules.may_resume(&self.totals, group, class),
            Rules::Conweave(rules) => rules.may_resume(&self.totals, group, class),
            Rules::Hpcc(rules) => rules.may_resume(&self.totals, group, input),
            Rules::Thresholds(rules) => rules.may_resume(group),
        }
    }

    /// True if a departing frame can resume any paused group, not only its own.
    pub fn resumes_any(&self) -> bool {
        matches!(self.rules, Rules::Sonic(_))
    }

    #[inline(always)]
    pub fn is_paused(&self, input: u32, class: u8) -> bool {
        self.groups[input as usize * CLASSES + class as usize].paused
    }

    /// Returns the ingress port and class of the paused group at `place` in ascending order.
    pub fn paused_group(&self, place: usize) -> Option<(u32, u8)> {
        self.paused_groups
            .get(place)
            .map(|number| (number / CLASSES as u32, (number % CLASSES as u32) as u8))
    }

    pub fn set_paused(&mut self, input: u32, class: u8, paused: bool) {
        let group = &mut self.groups[input as usize * CLASSES + class as usize];
        assert_ne!(group.paused, paused, "paused and resumed by turns");
        group.paused = paused;
        let number = input * CLASSES as u32 + class as u32;
        match self.paused_groups.binary_search(&number) {
            Ok(at) => drop(self.paused_groups.remove(at)),
            Err(at) => self.paused_groups.insert(at, number),
        }
        self.paused = self.paused_groups.len() as u32;
    }

    /// Returns the memory in use, in bytes.
    pub fn used(&self) -> u64 {
        self.totals.used
    }
}

/// Memory of a switch that is not shared, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReservedMemory {
    pub headroom: u64,
    pub reserved: u64,
}

/// Returns the memory that a switch with an MMU sets aside for headroom and reserves.
pub fn reserved_memory(plan: &Plan, node: NodeId) -> ReservedMemory {
    let switch = &plan.switches[plan.topology.nodes[node as usize].config as usize];
    let spec::Buffer::Mmu(mmu) = &switch.buffer else {
        return ReservedMemory { headroom: 0, reserved: 0 };
    };
    let links = plan.topology.links.iter().filter(|link| link.a == node || link.b == node);
    let (mut ports, mut headroom) = (0, 0);
    for link in links {
        ports += 1;
        headroom += switch.pfc.as_ref().map_or(0, |pfc| {
            port_headroom(pfc.headroom, pfc.cable, PortFacts::of(plan, link, switch, pfc))
        });
    }
    let classes = switch.pfc.as_ref().map_or(0, |pfc| pfc.priorities.count_ones()) as u64;
    match &mmu.rules {
        spec::Rules::Sonic(rules) => {
            let reserved = ports
                * rules.reserved_per_port(switch.pfc.as_ref().map_or(0, |pfc| pfc.priorities));
            ReservedMemory { headroom: rules.headroom_pool.unwrap_or(headroom * classes), reserved }
        }
        spec::Rules::Conweave(rules) => {
            ReservedMemory { headroom, reserved: ports * CLASSES as u64 * rules.mtu }
        }
        spec::Rules::Hpcc(rules) => ReservedMemory { headroom, reserved: ports * rules.reserved },
    }
}

pub const MODELS: &[Model] = &[sonic::MODEL, conweave::MODEL, hpcc::MODEL, thresholds::MODEL];
