//! Memory management unit (MMU) of shared-memory switches. It counts each frame at ingress (per
//! port and priority group) and at egress (per port and queue). There are several sets of rules for
//! these counters (`memories!`). The rules decide; the switch charges, releases, pauses and counts.
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
pub mod policy;
pub mod sonic;
#[cfg(test)]
#[allow(dead_code, reason = "compiled so that copies of it compile")]
mod template;
#[cfg(test)]
mod tests;
mod thresholds;

pub use charge::{Answer, Bounds, CLASSES, Charge, Take, is_safe};

use crate::Model;
use crate::queue::flowcontrol::keys::mask;
use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Off, Or, Size};
use afflux_units::{Bytes, Rate};
use cells::METADATA;
use charge::{Group, PLAIN, Totals};
use keys::{OffsetKeys, OwnKeys};
use policy::{About, MemorySite, Policy, Settings};
use thresholds::Thresholds;

/// The rules that `sharing` names. Each line gives a file (which is the name in scenarios), a type,
/// and the types of its keys and settings.
macro_rules! memories {
    ($with:ident) => {
        $with! {
            /// One memory with ingress and egress accounting, as in real switches, configured in
            /// SONiC's terms: see `mmu` and `pfc`.
            sonic Sonic(SonicKeys, SonicRules);
            /// One memory with ingress and egress accounting as in ConWeave's ns-3.
            conweave Conweave(ConweaveKeys, ConweaveRules);
            /// One memory with ingress accounting as in HPCC's ns-3.
            hpcc Hpcc(HpccKeys, HpccRules);
        }
    };
}
pub(crate) use memories;

/// Declares the tables of all kinds. The hash of a scenario depends on the order of its keys, in
/// which `xon_offset` follows those of the first kind.
macro_rules! keys_of {
    (
        $(#[doc = $doc:literal])* $module:ident $name:ident($keys:ident, $rules:ident);
        $($(#[doc = $docs:literal])* $others:ident $names:ident($keys_of_others:ident, $rules_of_others:ident);)*
    ) => {
        use $module::{$keys, $rules};
        $(use $others::{$keys_of_others, $rules_of_others};)*

        afflux_config::keys! {
            /// Accounting and limits of the memory management unit, with `sharing = "sonic"`, `"conweave"`
            /// or `"hpcc"`. Ingress is counted per port and priority (a priority group), egress per port
            /// and queue. `alpha` and `reserved` of `[switch]` apply to egress queues.
            pub struct MmuKeys as "Mmu" => Counting {
                /// Size of a memory cell. A frame takes whole cells, with 64 B of metadata in the first.
                /// `"off"` counts bytes, as the ns-3 simulators do. Trident 3 has `"256B"`, Trident 2 and
                /// Tomahawk `"208B"`.
                cell: Or<Off, Size> as Option<u16> = "off", check |given, key| match given.0 {
                    None => Ok(None),
                    Some(Size(Bytes(bytes @ 65..=4096))) => Ok(Some(bytes as u16)),
                    Some(Size(bytes)) => {
                        Err(Wrong::at(key, format!("\"{bytes}\": write a size from 65B to 4096B (the first cell holds 64 B of metadata), or \"off\"")))
                    }
                };
                /// Priorities that are neither counted nor limited. Default: `[]`; ConWeave's ns-3 has
                /// `[0]`, for RDMA's acknowledgements.
                bypass: Vec<u8> as u8 = (Vec::new()), check |given, key| mask(&given, key);
                @$module: $keys;
                @offset: OffsetKeys;
                $(@$others: $keys_of_others;)*
                @own: OwnKeys;
            }
        }
    };
}
memories!(keys_of);

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($keys:ident, $settings:ident);)+) => {
        /// Kinds of rules.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($name,)+
        }

        impl Kind {
            pub fn about(self) -> &'static About {
                match self {
                    $(Kind::$name => &$module::ABOUT,)+
                }
            }

            /// Returns the name in scenarios.
            pub fn name(self) -> &'static str {
                match self {
                    $(Kind::$name => stringify!($module),)+
                }
            }
        }

        /// Settings of the rules.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Rules {
            $($name($settings),)+
        }

        impl Rules {
            pub fn settings(&self) -> &dyn Settings {
                match self {
                    $(Rules::$name(settings) => settings,)+
                }
            }

            pub fn settings_mut(&mut self) -> &mut dyn Settings {
                match self {
                    $(Rules::$name(settings) => settings,)+
                }
            }
        }

        impl MmuKeys {
            /// Returns the first key that is written of each kind of memory, with that kind.
            fn given_by_kind(&self) -> Vec<(Kind, Option<&'static str>)> {
                vec![$((Kind::$name, self.$module.given()),)+]
            }

            fn rules(&mut self, kind: Kind, key: &Key, site: &MemorySite) -> Result<Rules, Wrong> {
                match kind {
                    $(Kind::$name => self.$module.rules(key, site).map(Rules::$name),)+
                }
            }
        }

        /// Rules of the MMU. Not boxed: there is one per switch, and a box would cost each frame a
        /// load.
        #[allow(clippy::large_enum_variant)]
        #[derive(Debug, Clone)]
        enum RuleState {
            $($name($module::$name),)+
            /// Ingress thresholds of a switch with virtual output queues.
            Thresholds(Thresholds),
        }

        impl RuleState {
            fn of(config: &Config, lossless: u8, headroom: &[u64], rates: &[u64]) -> RuleState {
                match &config.rules {
                    $(Rules::$name(rules) => {
                        RuleState::$name(Policy::new(rules, config.total, lossless, headroom, rates))
                    })+
                }
            }
        }

        /// Evaluates an expression for the rules of whatever kind they are.
        macro_rules! with_rules {
            ($all:expr, $rules:ident => $result:expr) => {
                match $all {
                    $(RuleState::$name($rules) => $result,)+
                    RuleState::Thresholds($rules) => $result,
                }
            };
        }

        pub const MODELS: &[Model] = &[$($module::MODEL,)+ thresholds::MODEL];
    };
}
memories!(registry);

/// A memory shared by all ports, with ingress and egress accounting. A frame is charged once to the
/// priority group of its ingress port and once to the queue of its egress port.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub total: u64,
    /// Size in bytes of the cells in which memory is allocated. The first cell of a frame also
    /// holds 64 bytes of metadata. `None` counts bytes, as the ns-3 simulators do.
    pub cell: Option<u16>,
    /// Priorities whose frames are neither counted nor limited; bit p stands for priority p.
    pub bypass: u8,
    pub rules: Rules,
}

/// Keys of `[switch]` and properties of the fabric that memory management units use.
pub struct SharedMemory {
    pub kind: Kind,
    pub total: u64,
    pub alpha: f64,
    pub reserved: u64,
    /// Lowest rate of a host's link.
    pub nic_rate: Rate,
}

impl MmuKeys {
    /// Resolves the keys of this kind of memory, and refuses those of the others.
    pub fn mmu(&mut self, memory: &SharedMemory, key: &Key) -> Result<Config, Wrong> {
        let SharedMemory { kind, total, alpha, reserved, nic_rate } = *memory;
        let about = kind.about();
        let shared = [
            (self.offset.given(), about.xon_offset.is_some()),
            (self.own.given(), about.own_shares),
        ];
        let of_kinds = self.given_by_kind().into_iter().map(|(of, given)| (given, of == kind));
        for (written, belongs) in of_kinds.chain(shared) {
            if let Some(name) = written.filter(|_| !belongs) {
                let word = format!("sharing = \"{}\"", kind.name());
                return Err(meaningless(key.clone().name(name), &word));
            }
        }
        let Counting { cell, bypass } = self.resolve(key)?;
        let xon_offset = match about.xon_offset {
            Some(usual) => self.offset.resolve(key, total, usual)?.xon_offset,
            None => 0,
        };
        let groups = self.own.resolve(key, total, bypass)?.group.unwrap_or_default();
        let site = MemorySite { total, alpha, reserved, nic_rate, xon_offset, groups };
        let rules = self.rules(kind, key, &site)?;
        Ok(Config { total, cell, bypass, rules })
    }
}

#[derive(Debug, Clone)]
pub struct Mmu {
    rules: RuleState,
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
    pub fn new(config: &Config, lossless: u8, headroom: Vec<u64>, rates: &[u64]) -> Self {
        let rules = RuleState::of(config, lossless, &headroom, rates);
        Mmu {
            cells: config.cell.map(Cells::new),
            bypass: config.bypass,
            ..Mmu::under(rules, lossless, headroom)
        }
    }

    /// Creates the ingress accounting of virtual output queues: a priority group is paused above
    /// `xoff` bytes until it is down to `xon`.
    pub fn with_thresholds(xoff: u64, xon: u64, lossless: u8, headroom: Vec<u64>) -> Self {
        Mmu::under(RuleState::Thresholds(Thresholds { xoff, xon }), lossless, headroom)
    }

    fn under(rules: RuleState, lossless: u8, headroom: Vec<u64>) -> Self {
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
        let answer = with_rules!(&self.rules, rules => {
            rules.answer(&self.totals, group, queue, limit, charge, lossless)
        });
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
        with_rules!(&self.rules, rules => {
            rules.charge(&mut self.totals, group, charge, headroom, lossless)
        });
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
        with_rules!(&self.rules, rules => {
            rules.release(&mut self.totals, group, charge, from_headroom, lossless)
        });
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
        let done = with_rules!(&self.rules, rules => {
            rules.give_back(&mut self.totals, group, charge, lossless)
        });
        if done {
            self.queues[charge.queue as usize] -= charge.size;
        } else {
            self.release(charge);
        }
    }

    /// Returns bounds within which every frame of a lossless (or lossy) class is taken without
    /// headroom and without a PAUSE, as long as at most `used` bytes are in use.
    pub fn bounds(&self, used: u64, lossless: bool) -> Option<Bounds> {
        if self.totals.headroom > 0 {
            return None;
        }
        let classes = if lossless { self.lossless } else { !self.lossless };
        with_rules!(&self.rules, rules => rules.bounds(used, classes, lossless))
    }

    /// Returns the bytes that the priority groups share.
    pub fn shared(&self) -> u64 {
        with_rules!(&self.rules, rules => rules.shared())
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
        with_rules!(&self.rules, rules => rules.may_resume(&self.totals, group, input, class))
    }

    /// True if a departing frame can resume any paused group, not only its own.
    pub fn resumes_any(&self) -> bool {
        fn of<P: Policy>(_: &P) -> bool {
            P::RESUMES_ANY
        }
        with_rules!(&self.rules, rules => of(rules))
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
