//! Keys of several kinds of memory management units: `[switch.mmu]`.

use super::policy::GroupShare;
use crate::queue::buffer::shares::{checked_alpha, checked_reserve};
use crate::queue::flowcontrol::keys::mask;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Size, keys};
use afflux_units::Bytes;

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
