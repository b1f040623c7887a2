//! `[switch.mmu]`, and flow control: resolves the memory, and checks PAUSE frames against the whole
//! plan.

use super::buffer::{checked_alpha, checked_reserve, sharing_word};
use crate::document::{Document, Mmu, MmuGroup, Sharing, Switch};
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Off, Or, Size, Speed};
use afflux_net::spec::{
    self, ConweaveRules, Formula, GroupShare, Headroom, HpccRules, Limit, NodeId, NodeKind,
    OwnShares, PfcKeys, Plan, QueueSize, Rules, SchedulingKind, SonicRules, Topology, mask,
};
use afflux_units::{Bytes, Rate};

/// Returns the lowest rate of a host's link.
pub fn nic_rate(topology: &Topology) -> Rate {
    let of_host = |link: &&spec::Link| {
        topology.nodes[link.a as usize].kind == NodeKind::Host
            || topology.nodes[link.b as usize].kind == NodeKind::Host
    };
    topology
        .links
        .iter()
        .filter(of_host)
        .map(|link| link.rate)
        .min()
        .unwrap_or(Rate::from_gbps(100))
}

/// Returns the keys of `change`, and those of `base` for all that `change` does not have.
pub fn overlay_mmu(base: Option<Mmu>, change: Option<Mmu>) -> Option<Mmu> {
    match (base, change) {
        (Some(base), Some(change)) => Some(change.or(base)),
        (base, change) => change.or(base),
    }
}

pub fn overlay_pfc(
    base: Option<Or<Off, PfcKeys>>,
    change: Option<Or<Off, PfcKeys>>,
) -> Option<Or<Off, PfcKeys>> {
    match (base.and_then(|base| base.0), change) {
        (Some(mut base), Some(change)) => Some(match change.0 {
            None => Or::NONE,
            Some(change) => {
                if change.quanta.is_some() || change.pause_time.is_some() {
                    (base.quanta, base.pause_time) = (None, None);
                }
                if matches!(change.headroom, Some(Headroom::Bytes(_))) {
                    base.cable = None;
                }
                Or::some(change.or(base))
            }
        }),
        (base, change) => change.or(base.map(Or::some)),
    }
}

/// Resolves the memory of a switch with `sharing = "sonic"`, `"conweave"` or `"hpcc"`.
pub fn mmu(
    keys: &mut Switch,
    sharing: Sharing,
    nic_rate: Rate,
    key: &Key,
) -> Result<spec::Mmu, Wrong> {
    let at = |name: &str| key.clone().name("mmu").name(name);
    let (sonic, conweave, hpcc) =
        (sharing == Sharing::Sonic, sharing == Sharing::Conweave, sharing == Sharing::Hpcc);
    let word = sharing_word(sharing);
    let default_total = match sharing {
        Sharing::Sonic => 32_000_000,
        Sharing::Conweave => 9 << 20,
        _ => 32 << 20,
    };
    let total =
        match fill(&mut keys.buffer, QueueSize(Limit::Bytes(default_total))).0 {
            Limit::Bytes(total) if total > 0 && total < 1 << 40 => total,
            Limit::Bytes(total) => {
                return Err(Wrong::at(
                    key.clone().name("buffer"),
                    format!("\"{}\": write a size from 1B to 1TB", Bytes(total)),
                ));
            }
            Limit::Packets(_) => {
                return Err(Wrong::at(
                    key.clone().name("buffer"),
                    "only sharing = \"static\" counts packets: write a size as in \"32MB\"",
                ));
            }
        };
    let mut table = keys.mmu.take().unwrap_or_default();
    for (name, given, needs) in [
        ("lossless_alpha", table.lossless_alpha.is_some(), sonic),
        ("lossless_reserved", table.lossless_reserved.is_some(), sonic),
        ("lossy_ingress_alpha", table.lossy_ingress_alpha.is_some(), sonic),
        ("lossy_pool", table.lossy_pool.is_some(), sonic),
        ("headroom_pool", table.headroom_pool.is_some(), sonic),
        ("xon", table.xon.is_some(), sonic),
        ("xon_offset", table.xon_offset.is_some(), sonic || hpcc),
        ("ingress_alpha", table.ingress_alpha.is_some(), conweave),
        ("mtu", table.mtu.is_some(), conweave),
        ("shift", table.shift.is_some(), hpcc),
        ("nic_rate", table.nic_rate.is_some(), hpcc),
        ("group", table.group.is_some(), sonic),
    ] {
        if given && !needs {
            return Err(meaningless(at(name), word));
        }
    }
    if hpcc && keys.alpha.is_some() {
        return Err(meaningless(key.clone().name("alpha"), word));
    }
    if conweave && keys.reserved.is_some() {
        return Err(meaningless(key.clone().name("reserved"), word));
    }
    let alpha =
        |slot: &mut Option<f64>, default: f64, key: Key| checked_alpha(fill(slot, default), key);
    let size = |slot: &mut Option<Size>, default: u64, key: Key| {
        checked_reserve(fill(slot, Size(Bytes(default))).0.0, total, key)
    };
    let cell = match fill(&mut table.cell, Or::NONE).0 {
        None => None,
        Some(Size(Bytes(bytes @ 65..=4096))) => Some(bytes as u16),
        Some(Size(bytes)) => {
            return Err(Wrong::at(
                at("cell"),
                format!(
                    "\"{bytes}\": write a size from 65B to 4096B (the first cell holds 64 B of metadata), or \"off\""
                ),
            ));
        }
    };
    let bypass = mask(&fill(&mut table.bypass, Vec::new()), at("bypass"))?;
    let rules = match sharing {
        Sharing::Sonic => Rules::Sonic(SonicRules {
            alpha: alpha(&mut table.lossless_alpha, 1.0, at("lossless_alpha"))?,
            reserved: size(&mut table.lossless_reserved, 4_608, at("lossless_reserved"))?,
            lossy_ingress_alpha: match fill(&mut table.lossy_ingress_alpha, Or::NONE).0 {
                None => None,
                some => Some(alpha(&mut some.clone(), 1.0, at("lossy_ingress_alpha"))?),
            },
            lossy_alpha: alpha(&mut keys.alpha, 8.0, key.clone().name("alpha"))?,
            queue_reserved: size(&mut keys.reserved, 1_792, key.clone().name("reserved"))?,
            lossy_pool: table
                .lossy_pool
                .map(|_| size(&mut table.lossy_pool, 0, at("lossy_pool")))
                .transpose()?,
            headroom_pool: table
                .headroom_pool
                .map(|_| size(&mut table.headroom_pool, 0, at("headroom_pool")))
                .transpose()?,
            xon: size(&mut table.xon, 4_608, at("xon"))?,
            xon_offset: size(&mut table.xon_offset, 4_608, at("xon_offset"))?,
            own: Box::new(OwnShares {
                groups: own_groups(
                    table.group.as_deref().unwrap_or_default(),
                    total,
                    bypass,
                    &at("group"),
                )?,
                ..OwnShares::default()
            }),
        }),
        Sharing::Conweave => Rules::Conweave(ConweaveRules {
            ingress_alpha: alpha(&mut table.ingress_alpha, 1.0 / 16.0, at("ingress_alpha"))?,
            egress_alpha: alpha(&mut keys.alpha, 1.0, key.clone().name("alpha"))?,
            mtu: size(&mut table.mtu, 1_048, at("mtu"))?,
        }),
        _ => Rules::Hpcc(HpccRules {
            shift: match fill(&mut table.shift, 3) {
                shift @ 0..=20 => shift,
                found => {
                    return Err(Wrong::at(
                        at("shift"),
                        format!("found {found}: write a number from 0 to 20"),
                    ));
                }
            },
            nic_rate: match fill(&mut table.nic_rate, Speed(nic_rate)).0 {
                Rate(0) => return Err(Wrong::at(at("nic_rate"), "\"0bps\": write a rate above 0")),
                rate => rate,
            },
            reserved: size(&mut keys.reserved, 4_096, key.clone().name("reserved"))?,
            resume_offset: size(&mut table.xon_offset, 3_072, at("xon_offset"))?,
        }),
    };
    keys.mmu = Some(table);
    Ok(spec::Mmu { total, cell, bypass, rules })
}

/// Resolves `[[switch.mmu.group]]` into one entry per priority.
fn own_groups(
    blocks: &[MmuGroup],
    total: u64,
    bypass: u8,
    key: &Key,
) -> Result<[GroupShare; 8], Wrong> {
    let mut groups = [GroupShare::default(); 8];
    let mut known = 0u8;
    for (block, group) in blocks.iter().enumerate() {
        let at = |name: &str| key.clone().index(block).name(name);
        let priorities = mask(&group.priorities, at("priorities"))?;
        let share = GroupShare {
            alpha: group.alpha.map(|alpha| checked_alpha(alpha, at("alpha"))).transpose()?,
            limit: group.limit.map(|Size(limit)| limit.0),
            reserved: group
                .reserved
                .map(|Size(reserved)| checked_reserve(reserved.0, total, at("reserved")))
                .transpose()?,
        };
        if priorities == 0 {
            return Err(Wrong::at(
                at("priorities"),
                "found none: write the priorities of these groups, as in [3, 4]",
            ));
        }
        if let Some(twice) = (0..8).find(|priority| priorities & known & 1 << priority != 0) {
            return Err(Wrong::at(
                at("priorities"),
                format!(
                    "another block has priority {twice} already: remove it from one of the two"
                ),
            ));
        }
        if let Some(uncounted) = (0..8).find(|priority| priorities & bypass & 1 << priority != 0) {
            let what = format!(
                "priority {uncounted} is in mmu.bypass, so its frames are not counted: remove it from one of the two"
            );
            return Err(Wrong::at(at("priorities"), what));
        }
        if share == GroupShare::default() {
            return Err(Wrong::at(
                key.clone().index(block),
                "these groups are as the others: write alpha, limit or reserved",
            ));
        }
        match share.limit {
            Some(_) if share.alpha.is_some() => {
                return Err(Wrong::at(
                    at("alpha"),
                    "has no effect with limit, a fixed threshold: write one of the two",
                ));
            }
            Some(0) => return Err(Wrong::at(at("limit"), "\"0B\": write a size above 0")),
            Some(limit) if limit >= 1 << 40 => {
                return Err(Wrong::at(
                    at("limit"),
                    format!("\"{}\": write a size below 1TB", Bytes(limit)),
                ));
            }
            _ => {}
        }
        known |= priorities;
        (0..8)
            .filter(|priority| priorities >> priority & 1 != 0)
            .for_each(|priority| groups[priority] = share);
    }
    Ok(groups)
}

/// Returns the headroom formula of a kind of memory.
pub fn formula(sharing: Sharing) -> Formula {
    match sharing {
        Sharing::Conweave => Formula::Conweave,
        Sharing::Hpcc => Formula::Hpcc,
        _ => Formula::Sonic,
    }
}

/// Checks that need the whole plan: the memory of every switch exceeds its headroom and reserves,
/// every storm ends, and no queue that cannot be paused is on a link with PAUSE frames.
pub fn fits(plan: &Plan, document: &Document) -> Result<(), Wrong> {
    unpausable(plan, document)?;
    if let Some(storm) =
        plan.hosts.iter().filter_map(|host| host.storm).find(|storm| storm.until.is_none())
        && plan.run.until.is_none()
    {
        return Err(Wrong::at(
            Key::from("run"),
            format!(
                "the storm of priority {} never ends, because host.storm has no until: write until here, as in until = \"10ms\", or in storm",
                storm.priority
            ),
        ));
    }
    for (id, node) in
        plan.topology.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Switch)
    {
        let switch = &plan.switches[node.config as usize];
        if let (spec::Buffer::Voq(voq), Some(pfc)) = (&switch.buffer, &switch.pfc) {
            deep_enough(plan, id as NodeId, voq, pfc)?;
        }
        let spec::Buffer::Mmu(mmu) = &switch.buffer else { continue };
        let aside = afflux_net::reserved_memory(plan, id as u32);
        if aside.headroom + aside.reserved >= mmu.total {
            return Err(Wrong::at(
                Key::from("switch").name("buffer"),
                format!(
                    "\"{}\": at {} {} of headroom and {} of reserves are set aside, which leaves nothing to share; write a larger buffer, fewer lossless \
                     priorities, or less headroom",
                    Bytes(mmu.total),
                    node.name,
                    Bytes(aside.headroom),
                    Bytes(aside.reserved)
                ),
            ));
        }
    }
    Ok(())
}

/// Checks that virtual output queues can hold everything that their ports may let in of lossless
/// priorities.
fn deep_enough(plan: &Plan, node: NodeId, voq: &spec::Voq, pfc: &spec::Pfc) -> Result<(), Wrong> {
    let groups = u64::from(pfc.priorities.count_ones());
    let of_ports = afflux_net::headrooms(plan)
        .into_iter()
        .filter(|port| port.node == node)
        .map(|port| port.bytes() + voq.xoff.unwrap_or(0));
    let most = of_ports.sum::<u64>().saturating_mul(groups);
    let memory = voq.on_chip + (voq.dram as f64 * voq.dynamic) as u64;
    if most <= memory {
        return Ok(());
    }
    let what = format!(
        "\"{}\": at {} lossless priorities may hold {} with their headroom, and on_chip and the dynamic part of dram are {}; write less, or fewer priorities",
        Bytes(voq.xoff.unwrap_or(0)),
        plan.topology.nodes[node as usize].name,
        Bytes(most),
        Bytes(memory)
    );
    Err(Wrong::at(Key::from("switch").name("voq").name("xoff"), what))
}

/// Refuses PAUSE frames on links of queues that do not support pauses: queues that serve by
/// urgency, queues that trim, and device queues. It does not matter which end of the link sends the
/// PAUSE frames.
fn unpausable(plan: &Plan, document: &Document) -> Result<(), Wrong> {
    let nodes = &plan.topology.nodes;
    let sends = |id: NodeId| {
        let node = &nodes[id as usize];
        match node.kind {
            NodeKind::Host => plan.hosts[node.config as usize].storm.is_some(),
            NodeKind::Switch => plan.switches[node.config as usize].pfc.is_some(),
        }
    };
    // For a queue that cannot be paused: its table and key, a description, and the setting that
    // turns it off.
    let rigid = |id: NodeId| {
        let node = &nodes[id as usize];
        let (table, aqm, device) = match node.kind {
            NodeKind::Host => ("host", &plan.hosts[node.config as usize].aqm, 0),
            NodeKind::Switch => (
                "switch",
                &plan.switches[node.config as usize].aqm,
                plan.switches[node.config as usize].device_queue,
            ),
        };
        match aqm.as_ref().map(|aqm| aqm.about()) {
            Some(about) if about.pfabric_order => Some((
                table,
                "scheduling",
                format!("\"{}\"", about.model.name),
                "another scheduling",
            )),
            Some(about) if about.unpausable => {
                Some((table, "trimming", "a queue that trims".into(), "no trimming"))
            }
            _ => (device > 0)
                .then(|| (table, "device_queue", "a device queue".into(), "device_queue = 0")),
        }
    };
    let pfabric_order =
        |scheduling: Option<SchedulingKind>| scheduling.is_some_and(SchedulingKind::is_pfabric);
    for (id, peer) in
        plan.topology.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)])
    {
        let Some((table, name, what, plain)) = rigid(id) else { continue };
        if !sends(id) && !sends(peer) {
            continue;
        }
        let (host, switch) = (&document.host, &document.switch);
        let asks = |keys: &Switch| match name {
            "scheduling" => pfabric_order(keys.scheduling),
            "trimming" => keys.trimming.is_some(),
            _ => keys.device_queue.is_some_and(|packets| packets > 0),
        };
        let in_override = match table {
            "host" if !pfabric_order(host.scheduling) => {
                host.overrides.iter().position(|change| pfabric_order(change.scheduling))
            }
            "switch" if !asks(switch) => {
                switch.overrides.iter().position(|change| asks(&change.keys()))
            }
            _ => None,
        };
        let key = Key::from(table);
        let key =
            in_override.map_or(key.clone(), |index| key.name("override").index(index)).name(name);
        let (here, there) = (&nodes[id as usize].name, &nodes[peer as usize].name);
        let teller = if sends(peer) { there } else { here };
        let off = if nodes[if sends(peer) { peer } else { id } as usize].kind == NodeKind::Switch {
            "pfc = \"off\" in [switch]"
        } else {
            "no storm"
        };
        let found = format!(
            "{what} at \"{here}\" cannot be paused, and \"{teller}\" sends PAUSE frames on the link to \"{}\"",
            if sends(peer) { here } else { there }
        );
        return Err(Wrong::at(key, format!("{found}: write {plain}, or {off}")));
    }
    Ok(())
}
