//! The memory of a shared-memory switch as bought: counters of ingress (port, priority group) and egress (port, queue), and three rules
//! for them. The rules answer; the switch charges, releases, pauses and counts.
//!
//! All counters but those of the queue at hand may be upper bounds, since ports are brought up to date when they are looked at. Every rule
//! is monotonous: what it takes without headroom and without cause to pause under such bounds, it takes so with exact counters too. Only
//! other answers need them.

pub mod cells;
mod charge;
mod conweave;
mod hpcc;
mod sonic;
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

/// There is one per switch, and a box would cost each frame a load.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone)]
enum Rules {
    Sonic(Sonic),
    Conweave(Conweave),
    Hpcc(Hpcc),
    /// Beside virtual output queues.
    Thresholds(Thresholds),
}

#[derive(Debug, Clone)]
pub struct Mmu {
    rules: Rules,
    cells: Option<Cells>,
    bypass: u8,
    pub lossless: u8,
    totals: Totals,
    /// By port and class.
    groups: Vec<Group>,
    /// Memory in use by port and queue.
    queues: Vec<u64>,
    /// Headroom of a group, by port.
    headroom: Vec<u64>,
    /// How many groups are paused, and which, ascending.
    pub paused: u32,
    paused_groups: Vec<u32>,
}

/// Whole cells for a frame, without a division.
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
    /// Exact: with x the dividend, the error is below x · size / 2^32, which is below 1/size for x < 2^17 and a size up to 2^12.
    #[inline(always)]
    fn of(self, bytes: u64) -> u64 {
        (((bytes + METADATA + self.size - 1) * self.reciprocal) >> 32) * self.size
    }
}

impl Mmu {
    /// `headroom` by port, each for every lossless class; `rates` by port.
    pub fn new(config: &spec::Mmu, lossless: u8, headroom: Vec<u64>, rates: &[u64]) -> Self {
        let rules = match &config.rules {
            spec::Rules::Sonic(rules) => Rules::Sonic(Sonic::new(rules, config.total, lossless, &headroom)),
            spec::Rules::Conweave(rules) => Rules::Conweave(Conweave::new(rules, config.total, &headroom)),
            spec::Rules::Hpcc(rules) => Rules::Hpcc(Hpcc::new(rules, config.total, &headroom, rates)),
        };
        Mmu { cells: config.cell.map(Cells::new), bypass: config.bypass, ..Mmu::under(rules, lossless, headroom) }
    }

    /// Of virtual output queues that pause a priority group above `xoff`, until it is down to `xon`.
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

    /// Memory that a frame takes; none for a priority that is not accounted for.
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

    /// May the frame come in, and where?
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
            Rules::Sonic(rules) => rules.answer(&self.totals, group, queue, limit, charge, lossless),
            Rules::Conweave(rules) => rules.answer(&self.totals, group, queue, limit, charge),
            Rules::Hpcc(rules) => rules.answer(&self.totals, group, limit, charge.size, charge.input),
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
            Rules::Sonic(rules) => rules.charge(&mut self.totals, group, charge, headroom, lossless),
            Rules::Conweave(_) => Conweave::charge(&mut self.totals, group, charge),
            Rules::Hpcc(rules) => rules.charge(&mut self.totals, group, charge.size, headroom),
            Rules::Thresholds(_) => group.bytes += charge.size,
        }
    }

    /// The frame has gone.
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
            Rules::Sonic(rules) => rules.release(&mut self.totals, group, charge, from_headroom, lossless),
            Rules::Conweave(_) => Conweave::release(&mut self.totals, group, charge, from_headroom),
            Rules::Hpcc(rules) => rules.release(&mut self.totals, group, charge.size, from_headroom),
            Rules::Thresholds(_) => group.bytes -= charge.size,
        }
    }

    /// As `release`, with the same short cut.
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

    /// Bounds within which every frame of a lossless class, or of a lossy one, is taken without headroom and without cause to pause, as long as no more than
    /// `used` is in use.
    pub fn bounds(&self, used: u64, lossless: bool) -> Option<Bounds> {
        if self.totals.headroom > 0 {
            return None;
        }
        match &self.rules {
            Rules::Sonic(rules) => rules.bounds(used, if lossless { self.lossless } else { !self.lossless }, lossless),
            Rules::Conweave(rules) => rules.bounds(used, lossless),
            Rules::Hpcc(rules) => rules.bounds(used),
            Rules::Thresholds(_) => None,
        }
    }

    /// Memory that groups share.
    pub fn shared(&self) -> u64 {
        match &self.rules {
            Rules::Sonic(rules) => rules.shared(),
            Rules::Conweave(rules) => rules.shared_memory(),
            Rules::Hpcc(rules) => rules.shared(),
            Rules::Thresholds(_) => 0,
        }
    }

    /// The most that a group holds.
    pub fn fullest_group(&self) -> u64 {
        self.groups.iter().map(|group| group.bytes).max().unwrap_or(0)
    }

    /// Frames take at most so much more memory than they have bytes.
    #[inline(always)]
    pub fn overhead(&self) -> u64 {
        self.cells.map_or(0, |cells| METADATA + cells.size - 1)
    }

    /// A paused group may be told to go on.
    pub fn may_resume(&self, input: u32, class: u8) -> bool {
        let group = &self.groups[input as usize * CLASSES + class as usize];
        match &self.rules {
            Rules::Sonic(rules) => rules.may_resume(&self.totals, group, class),
            Rules::Conweave(rules) => rules.may_resume(&self.totals, group, class),
            Rules::Hpcc(rules) => rules.may_resume(&self.totals, group, input),
            Rules::Thresholds(rules) => rules.may_resume(group),
        }
    }

    /// Is every paused group looked at when a frame has gone, or only the frame's own?
    pub fn resumes_any(&self) -> bool {
        matches!(self.rules, Rules::Sonic(_))
    }

    #[inline(always)]
    pub fn is_paused(&self, input: u32, class: u8) -> bool {
        self.groups[input as usize * CLASSES + class as usize].paused
    }

    /// Ingress port and class of a paused group, by its place among them.
    pub fn paused_group(&self, place: usize) -> Option<(u32, u8)> {
        self.paused_groups.get(place).map(|number| (number / CLASSES as u32, (number % CLASSES as u32) as u8))
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

    /// Memory in use.
    pub fn used(&self) -> u64 {
        self.totals.used
    }
}

/// Memory of a switch that is not shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetAside {
    pub headroom: u64,
    pub reserved: u64,
}

/// What a switch with a memory management unit sets aside.
pub fn set_aside(plan: &Plan, node: NodeId) -> SetAside {
    let switch = &plan.switches[plan.topology.nodes[node as usize].config as usize];
    let spec::Buffer::Mmu(mmu) = &switch.buffer else { return SetAside { headroom: 0, reserved: 0 } };
    let links = plan.topology.links.iter().filter(|link| link.a == node || link.b == node);
    let (mut ports, mut headroom) = (0, 0);
    for link in links {
        ports += 1;
        headroom += switch.pfc.as_ref().map_or(0, |pfc| port_headroom(&pfc.headroom, PortFacts::of(plan, link, switch, pfc)));
    }
    let classes = switch.pfc.as_ref().map_or(0, |pfc| pfc.priorities.count_ones()) as u64;
    match &mmu.rules {
        spec::Rules::Sonic(rules) => {
            let reserved = ports * rules.reserved_per_port(switch.pfc.as_ref().map_or(0, |pfc| pfc.priorities));
            SetAside { headroom: rules.headroom_pool.unwrap_or(headroom * classes), reserved }
        }
        spec::Rules::Conweave(rules) => SetAside { headroom, reserved: ports * CLASSES as u64 * rules.mtu },
        spec::Rules::Hpcc(rules) => SetAside { headroom, reserved: ports * rules.reserved },
    }
}

pub const MODELS: &[Model] = &[sonic::MODEL, conweave::MODEL, hpcc::MODEL, thresholds::MODEL];
