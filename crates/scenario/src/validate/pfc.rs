//! Flow control: checks PAUSE frames against the whole plan.

use crate::document::Document;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Off, Or};
use afflux_net::spec::{
    self, Headroom, MmuKeys, NodeId, NodeKind, PfcKeys, Plan, SchedulingKind, SwitchKeys, Topology,
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
pub fn overlay_mmu(base: Option<MmuKeys>, change: Option<MmuKeys>) -> Option<MmuKeys> {
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
        let asks = |keys: &SwitchKeys| match name {
            "scheduling" => pfabric_order(keys.scheduling),
            "trimming" => keys.trimming.is_some(),
            _ => keys.device_queue.is_some_and(|packets| packets > 0),
        };
        let in_override = match table {
            "host" if !pfabric_order(host.nic.scheduling) => {
                host.overrides().iter().position(|change| pfabric_order(change.nic.scheduling))
            }
            "switch" if !asks(&switch.keys) => {
                switch.overrides().iter().position(|change| asks(&change.keys))
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
