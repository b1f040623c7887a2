//! Keys of memory management units: `[switch.mmu]`.

use super::conweave::{ConweaveKeys, ConweaveRules};
use super::hpcc::{HpccKeys, HpccRules};
use super::sonic::{GroupShare, SonicKeys, SonicRules};
use crate::queue::buffer::sharing::{Sharing, checked_alpha, checked_reserve};
use crate::queue::flowcontrol::keys::mask;
use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Off, Or, Size, keys};
use afflux_units::{Bytes, Rate};

keys! {
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
        @sonic: SonicKeys;
        @offset: OffsetKeys;
        @conweave: ConweaveKeys;
        @hpcc: HpccKeys;
        @own: OwnKeys;
    }
}

keys! {
    /// A key of two kinds of memory.
    pub struct OffsetKeys as "XonOffset" => Offset(total: u64, usual: u64) {
        /// With `"sonic"` and `"hpcc"`: a paused group that has fallen this far below its threshold
        /// is resumed. Default: `"4608B"` (SONiC on Trident 3), with `"hpcc"` `"3KiB"`.
        xon_offset: Size as u64 = (Size(Bytes(usual))),
            check |size, key| checked_reserve(size, total, key);
    }
}

keys! {
    /// Priority groups with keys of their own.
    pub struct OwnKeys as "MmuGroups" => Own(total: u64, bypass: u8) {
        /// With `"sonic"`: priority groups that differ from the others. In an override all of them
        /// are replaced. Default: none: all groups are alike.
        group: Vec<GroupKeys> as Option<[GroupShare; 8]> = none,
            table |groups, key| own_groups(groups, total, bypass, key);
    }
}

keys! {
    /// Priority groups of every port that differ from the others: a profile of SONiC's BUFFER_PG.
    pub struct GroupKeys as "MmuGroup" => Group(total: u64) {
        /// Priorities (0 to 7) of the groups, each of which is the group of one priority at one port.
        priorities: Vec<u8> as u8 = required, check |given, key| match mask(&given, key.clone())? {
            0 => Err(Wrong::at(key, "found none: write the priorities of these groups, as in [3, 4]")),
            priorities => Ok(priorities),
        };
        /// A group may hold `alpha` times the free ingress pool (SONiC's `dynamic_th` n is 2^n).
        /// Default: `lossless_alpha`, or `lossy_ingress_alpha` for lossy priorities.
        alpha: f64 = none, check checked_alpha;
        /// Fixed threshold instead of `alpha` (SONiC's `static_th`). Default: none: `alpha`
        /// decides.
        limit: Size as Option<u64> = none, check |Size(limit), key| match limit.0 {
            0 => Err(Wrong::at(key, "\"0B\": write a size above 0")),
            1.. if limit.0 < 1 << 40 => Ok(limit.0),
            _ => Err(Wrong::at(key, format!("\"{limit}\": write a size below 1TB"))),
        };
        /// Memory reserved for each group. Default: `lossless_reserved`, or `"0B"` for lossy
        /// priorities.
        reserved: Size as Option<u64> = none,
            check |size, key| checked_reserve(size, total, key);
    }
    check |group, at| if group.limit.is_some() && group.alpha.is_some() {
        Err(Wrong::at(at("alpha"), "has no effect with limit, a fixed threshold: write one of the two"))
    } else {
        Ok(())
    };
}

/// A memory shared by all ports, with ingress and egress accounting. A frame is charged once to the
/// priority group of its ingress port and once to the queue of its egress port.
#[derive(Debug, Clone, PartialEq)]
pub struct Mmu {
    pub total: u64,
    /// Size in bytes of the cells in which memory is allocated. The first cell of a frame also
    /// holds 64 bytes of metadata. `None` counts bytes, as the ns-3 simulators do.
    pub cell: Option<u16>,
    /// Priorities whose frames are neither counted nor limited; bit p stands for priority p.
    pub bypass: u8,
    pub rules: Rules,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rules {
    Sonic(SonicRules),
    Conweave(ConweaveRules),
    Hpcc(HpccRules),
}

/// Keys of `[switch]` and properties of the fabric that memory management units use.
pub struct SharedMemory {
    pub sharing: Sharing,
    pub total: u64,
    pub alpha: f64,
    pub reserved: u64,
    /// Lowest rate of a host's link.
    pub nic_rate: Rate,
}

impl MmuKeys {
    /// Resolves the keys of this kind of memory, and refuses those of the others.
    pub fn mmu(&mut self, memory: &SharedMemory, key: &Key) -> Result<Mmu, Wrong> {
        let SharedMemory { sharing, total, alpha, reserved, nic_rate } = *memory;
        let (sonic, hpcc) = (sharing == Sharing::Sonic, sharing == Sharing::Hpcc);
        for (written, belongs) in [
            (self.sonic.given(), sonic),
            (self.offset.given(), sonic || hpcc),
            (self.conweave.given(), sharing == Sharing::Conweave),
            (self.hpcc.given(), hpcc),
            (self.own.given(), sonic),
        ] {
            if let Some(name) = written.filter(|_| !belongs) {
                return Err(meaningless(key.clone().name(name), sharing.word()));
            }
        }
        let Counting { cell, bypass } = self.resolve(key)?;
        let mut offset =
            |usual| self.offset.resolve(key, total, usual).map(|offset| offset.xon_offset);
        let rules = match sharing {
            Sharing::Sonic => {
                let groups = self.own.resolve(key, total, bypass)?.group.unwrap_or_default();
                let xon_offset = offset(4_608)?;
                self.sonic
                    .resolve(key, total, alpha, reserved, xon_offset, groups)
                    .map(Rules::Sonic)?
            }
            Sharing::Conweave => self.conweave.resolve(key, total, alpha).map(Rules::Conweave)?,
            _ => self.hpcc.resolve(key, nic_rate, reserved, offset(3_072)?).map(Rules::Hpcc)?,
        };
        Ok(Mmu { total, cell, bypass, rules })
    }
}

/// Resolves `[[switch.mmu.group]]` into one entry per priority.
fn own_groups(
    blocks: &mut [GroupKeys],
    total: u64,
    bypass: u8,
    key: &Key,
) -> Result<[GroupShare; 8], Wrong> {
    let mut groups = [GroupShare::default(); 8];
    let mut known = 0u8;
    for (block, group) in blocks.iter_mut().enumerate() {
        let key = key.clone().index(block);
        let Group { priorities, alpha, limit, reserved } = group.resolve(&key, total)?;
        let share = GroupShare { alpha, limit, reserved };
        let at = || key.clone().name("priorities");
        if let Some(twice) = (0..8).find(|priority| priorities & known & 1 << priority != 0) {
            return Err(Wrong::at(
                at(),
                format!(
                    "another block has priority {twice} already: remove it from one of the two"
                ),
            ));
        }
        if let Some(uncounted) = (0..8).find(|priority| priorities & bypass & 1 << priority != 0) {
            let what = format!(
                "priority {uncounted} is in mmu.bypass, so its frames are not counted: remove it from one of the two"
            );
            return Err(Wrong::at(at(), what));
        }
        if share == GroupShare::default() {
            return Err(Wrong::at(
                key,
                "these groups are as the others: write alpha, limit or reserved",
            ));
        }
        known |= priorities;
        (0..8)
            .filter(|priority| priorities >> priority & 1 != 0)
            .for_each(|priority| groups[priority] = share);
    }
    Ok(groups)
}
