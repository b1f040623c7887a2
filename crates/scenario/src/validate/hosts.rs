//! `[host]`: NICs and frame sizes.

use super::fill;
use super::switch::{matching, scheduling};
use crate::document::{Duration, Host, Or, QueueSize, Size, Storm, Wire, WireTable};
use crate::spelling;
use crate::tree::{Key, Wrong};
use crate::wire::Profile;
use afflux_net::spec::{self, HostConfig, NodeKind, Topology};
use afflux_units::{Bytes, Span};

/// Frame sizes and what they leave for payload.
pub struct Frames {
    pub wire: spec::Wire,
    /// Payload of a full frame.
    pub payload: u16,
    /// How it comes about, for messages.
    pub why: String,
}

pub fn wire(host: &mut Host) -> Result<Frames, Wrong> {
    let key = Key::from("host.wire");
    let (wire, mtu_header, mtu) = match fill(&mut host.wire, Wire::Profile("ethernet".into())) {
        Wire::Profile(name) => {
            let profile = named(&name, key)?;
            (profile.wire(profile.name), profile.mtu_header, profile.mtu)
        }
        Wire::Table(mut table) => {
            let made = custom(&mut table, &key)?;
            host.wire = Some(Wire::Table(table));
            made
        }
    };
    let mtu = fill(&mut host.mtu, Size(Bytes(mtu.into()))).0;
    let key = Key::from("host.mtu");
    let room = mtu.0.checked_sub(mtu_header.into()).filter(|room| *room > 0);
    let room = room.ok_or_else(|| Wrong::at(key.clone(), format!("\"{mtu}\" leaves no room for payload beside {mtu_header} B of headers")))?;
    if room + u64::from(wire.data_header) > u64::from(u16::MAX) {
        return Err(Wrong::at(key, format!("\"{mtu}\": frames have at most 65535 bytes")));
    }
    let why = format!("mtu = \"{mtu}\" less {mtu_header} B of headers");
    Ok(Frames { wire, payload: room as u16, why })
}

fn named(name: &str, key: Key) -> Result<&'static Profile, Wrong> {
    Profile::named(name).ok_or_else(|| {
        let names = Profile::names();
        Wrong::at(
            key,
            format!("\"{name}\" is not a profile{}: write {}, or a table with numbers of your own", spelling::hint(name, names.clone()), spelling::list(names)),
        )
    })
}

fn custom(table: &mut WireTable, key: &Key) -> Result<(spec::Wire, u16, u16), Wrong> {
    let at = |name: &str| key.clone().name(name);
    let base = named(&fill(&mut table.base, "ethernet".into()), at("base"))?;
    let size = |slot: &mut Option<Size>, default: u16, name: &str| {
        let bytes = fill(slot, Size(Bytes(default.into()))).0;
        u16::try_from(bytes.0).ok().filter(|bytes| *bytes <= 16_384).ok_or_else(|| Wrong::at(at(name), format!("\"{bytes}\": write a size up to 16384B")))
    };
    let wire = spec::Wire {
        name: fill(&mut table.name, "custom".into()),
        data_header: size(&mut table.data_header, base.data_header, "data_header")?,
        ack: size(&mut table.ack, base.ack, "ack")?,
        syn: size(&mut table.syn, base.syn, "syn")?,
        sack_base: size(&mut table.sack_base, base.sack_base, "sack_base")?,
        sack_block: size(&mut table.sack_block, base.sack_block, "sack_block")?,
        min_frame: size(&mut table.min_frame, base.min_frame, "min_frame")?,
        gap: size(&mut table.gap, base.gap, "gap")?,
    };
    if wire.ack == 0 && wire.min_frame == 0 {
        return Err(Wrong::at(at("ack"), "\"0B\": an acknowledgement takes at least one byte"));
    }
    let mtu_header = size(&mut table.mtu_header, base.mtu_header.min(wire.data_header), "mtu_header")?;
    if mtu_header > wire.data_header {
        return Err(Wrong::at(at("mtu_header"), format!("\"{mtu_header}B\" is more than data_header = \"{}B\", of which it is a part", wire.data_header)));
    }
    Ok((wire, mtu_header, base.mtu))
}

/// The settings that occur, and for every host which it has.
pub fn assign(host: &mut Host, topology: &mut Topology) -> Result<Vec<HostConfig>, Wrong> {
    let key = Key::from("host");
    let mut base = build(&mut host.delay, &mut host.queue, &mut host.scheduling, &mut host.priorities, &mut host.ecn, &key)?;
    flow_control(&mut base, &mut host.honours_pause, &mut host.storm, &key)?;
    let mut meant: Vec<Vec<usize>> = vec![Vec::new(); topology.hosts as usize];
    for (index, change) in host.overrides.iter().enumerate() {
        for node in matching(topology, &change.matching.0, NodeKind::Host, key.clone().name("override").index(index))? {
            meant[node as usize].push(index);
        }
    }
    let mut configs = vec![base];
    let mut known: Vec<(Vec<usize>, u32)> = vec![(Vec::new(), 0)];
    for (node, changes) in topology.nodes.iter_mut().zip(meant) {
        if let Some((_, config)) = known.iter().find(|(known, _)| *known == changes) {
            node.config = *config;
            continue;
        }
        let (mut delay, mut queue, mut order, mut priorities) = (host.delay, host.queue.clone(), host.scheduling, host.priorities);
        let mut ecn = host.ecn;
        let (mut honours_pause, mut storm) = (host.honours_pause, host.storm.clone());
        for change in changes.iter().map(|index| &host.overrides[*index]) {
            if change.scheduling.is_some_and(|scheduling| order != Some(scheduling)) {
                priorities = None;
            }
            (delay, queue) = (change.delay.or(delay), change.queue.clone().or(queue));
            (order, priorities) = (change.scheduling.or(order), change.priorities.or(priorities));
            ecn = change.ecn.or(ecn);
            (honours_pause, storm) = (change.honours_pause.or(honours_pause), change.storm.clone().or(storm));
        }
        let key = key.clone().name("override").index(changes.last().copied().unwrap_or(0));
        node.config = configs.len() as u32;
        let mut config = build(&mut delay, &mut queue, &mut order, &mut priorities, &mut ecn, &key)?;
        flow_control(&mut config, &mut honours_pause, &mut storm, &key)?;
        configs.push(config);
        known.push((changes, node.config));
    }
    Ok(configs)
}

fn build(
    delay: &mut Option<Duration>,
    queue: &mut Option<Or<crate::document::Unlimited, QueueSize>>,
    order: &mut Option<crate::document::Scheduling>,
    priorities: &mut Option<u8>,
    ecn: &mut Option<bool>,
    key: &Key,
) -> Result<HostConfig, Wrong> {
    let delay = fill(delay, Duration(Span::ZERO)).0;
    if delay > Span::from_s(1) {
        return Err(Wrong::at(key.clone().name("delay"), format!("\"{delay}\": the delay of a host is at most 1s")));
    }
    let queue = fill(queue, Or::NONE).0.map(|QueueSize(limit)| limit);
    if matches!(queue, Some(spec::Limit::Bytes(0) | spec::Limit::Packets(0))) {
        return Err(Wrong::at(key.clone().name("queue"), "a queue of size 0 holds nothing: write a size above 0, or \"unlimited\""));
    }
    Ok(HostConfig { delay, queue, scheduling: scheduling(order, priorities, key)?, ecn: fill(ecn, true), honours_pause: true, storm: None })
}

fn flow_control(config: &mut HostConfig, honours_pause: &mut Option<bool>, storm: &mut Option<Storm>, key: &Key) -> Result<(), Wrong> {
    config.honours_pause = fill(honours_pause, true);
    config.storm = storm.as_mut().map(|keys| super::pfc::storm(keys, &key.clone().name("storm"))).transpose()?;
    Ok(())
}
