//! `[switch]`.

use super::{fill, meaningless};
use crate::document::{
    self, Chance, Compare, Duration, Ecn, Forwarding, Incapable, MarkAt, Or, QueueLength, QueueSize, Scheduling, Sharing, Size, Switch, SwitchOverride,
};
use crate::topology::Names;
use crate::tree::{Key, Wrong};
use afflux_net::spec::{self, Buffer, Limit, Marking, NodeId, NodeKind, RouteHash, SwitchConfig, Topology};
use afflux_units::{Bytes, Probability, Span};

/// The settings that occur, and for every switch which it has.
pub fn assign(switch: &mut Switch, topology: &mut Topology) -> Result<Vec<SwitchConfig>, Wrong> {
    let key = Key::from("switch");
    let overrides = std::mem::take(&mut switch.overrides);
    let base = build(switch, &key)?;
    // What each switch is to have, by the overrides that mean it.
    let mut meant: Vec<Vec<usize>> = vec![Vec::new(); topology.nodes.len()];
    for (index, change) in overrides.iter().enumerate() {
        for node in matching(topology, &change.matching.0, NodeKind::Switch, key.clone().name("override").index(index))? {
            meant[node as usize].push(index);
        }
    }
    let mut configs = vec![base];
    let mut known: Vec<(Vec<usize>, u32)> = vec![(Vec::new(), 0)];
    for (node, changes) in topology.nodes.iter_mut().zip(meant).filter(|(node, _)| node.kind == NodeKind::Switch) {
        if let Some((_, config)) = known.iter().find(|(known, _)| *known == changes) {
            node.config = *config;
            continue;
        }
        let mut keys = switch.clone();
        for &index in &changes {
            keys = overlay(&keys, &overrides[index]);
        }
        let last = changes.last().copied().unwrap_or(0);
        node.config = configs.len() as u32;
        configs.push(build(&mut keys, &key.clone().name("override").index(last))?);
        known.push((changes, node.config));
    }
    switch.overrides = overrides;
    Ok(configs)
}

/// The nodes that an override means.
pub fn matching(topology: &Topology, patterns: &[String], kind: NodeKind, key: Key) -> Result<Vec<NodeId>, Wrong> {
    let names = Names::of(topology);
    let mut nodes = Vec::new();
    for pattern in patterns {
        nodes.extend(names.matching(pattern, Some(kind)).map_err(|message| Wrong::at(key.clone().name("match"), message))?);
    }
    Ok(nodes)
}

/// The keys of `base` but for those that `change` has. Where a change takes a key's meaning away, the key goes too.
fn overlay(base: &Switch, change: &SwitchOverride) -> Switch {
    let mut keys = base.clone();
    if change.sharing.is_some_and(|sharing| base.sharing != Some(sharing)) {
        (keys.buffer, keys.alpha, keys.reserved, keys.drop_when) = (None, None, None, None);
    }
    if change.scheduling.is_some_and(|scheduling| base.scheduling != Some(scheduling)) {
        keys.priorities = None;
    }
    if change.forwarding.is_some_and(|forwarding| base.forwarding != Some(forwarding)) {
        keys.cut_through_header = None;
    }
    macro_rules! take {
        ($($name:ident)*) => { $(if change.$name.is_some() { keys.$name = change.$name.clone(); })* };
    }
    take!(buffer sharing alpha reserved queue_length drop_when ecn scheduling priorities forwarding cut_through_header latency balance);
    keys
}

fn build(keys: &mut Switch, key: &Key) -> Result<SwitchConfig, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let latency = fill(&mut keys.latency, Duration(Span::ZERO)).0;
    if latency > Span::from_s(1) {
        return Err(Wrong::at(at("latency"), format!("\"{latency}\": the latency of a switch is at most 1s")));
    }
    Ok(SwitchConfig {
        buffer: buffer(keys, key)?,
        marking: match fill(&mut keys.ecn, Or::NONE).0 {
            None => None,
            Some(mut ecn) => {
                let marking = marking(&mut ecn, &at("ecn"))?;
                keys.ecn = Some(Or::some(ecn));
                Some(marking)
            }
        },
        scheduling: scheduling(&mut keys.scheduling, &mut keys.priorities, key)?,
        forwarding: match fill(&mut keys.forwarding, Forwarding::StoreAndForward) {
            Forwarding::StoreAndForward if keys.cut_through_header.is_some() => {
                return Err(meaningless(at("cut_through_header"), "forwarding = \"store_and_forward\""));
            }
            Forwarding::StoreAndForward => spec::Forwarding::StoreAndForward,
            Forwarding::CutThrough => {
                let header = fill(&mut keys.cut_through_header, Size(Bytes(128))).0;
                match u16::try_from(header.0) {
                    Ok(bytes) if bytes > 0 => spec::Forwarding::CutThrough { header: bytes },
                    _ => return Err(Wrong::at(at("cut_through_header"), format!("\"{header}\": write a size from 1B to 65535B"))),
                }
            }
        },
        latency,
        balance: match fill(&mut keys.balance, document::Balance::Ecmp) {
            document::Balance::Ecmp => spec::Balance::Ecmp(RouteHash::OwnSeed),
            document::Balance::EcmpSameSeed => spec::Balance::Ecmp(RouteHash::SameSeed),
            document::Balance::Spray => spec::Balance::Spray,
        },
        queue_length: match fill(&mut keys.queue_length, QueueLength::ThroughTransmission) {
            QueueLength::ThroughTransmission => spec::QueueLength::ThroughTransmission,
            QueueLength::BeforeTransmission => spec::QueueLength::BeforeTransmission,
        },
    })
}

fn buffer(keys: &mut Switch, key: &Key) -> Result<Buffer, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let packets = keys.buffer.is_some_and(|QueueSize(limit)| matches!(limit, Limit::Packets(_)));
    let sharing = fill(&mut keys.sharing, if packets { Sharing::Static } else { Sharing::Dynamic });
    let word = match sharing {
        Sharing::Static => "sharing = \"static\"",
        Sharing::Dynamic => "sharing = \"dynamic\"",
        Sharing::Unlimited => "sharing = \"unlimited\"",
    };
    for (name, given, needs) in [
        ("buffer", keys.buffer.is_some(), sharing != Sharing::Unlimited),
        ("alpha", keys.alpha.is_some(), sharing == Sharing::Dynamic),
        ("reserved", keys.reserved.is_some(), sharing == Sharing::Dynamic),
        ("drop_when", keys.drop_when.is_some(), sharing == Sharing::Static),
    ] {
        if given && !needs {
            return Err(meaningless(at(name), word));
        }
    }
    match sharing {
        Sharing::Unlimited => Ok(Buffer::Unlimited),
        Sharing::Static => {
            let Some(QueueSize(per_queue)) = keys.buffer else {
                return Err(Wrong::at(
                    key.clone(),
                    "sharing = \"static\" needs buffer, the limit of each queue: write a size as in \"225kB\", or \"100packets\"",
                ));
            };
            if matches!(per_queue, Limit::Bytes(0) | Limit::Packets(0)) {
                return Err(Wrong::at(at("buffer"), "a queue of size 0 holds nothing: write a size above 0"));
            }
            let drop_when = compare(fill(&mut keys.drop_when, Compare::Above));
            Ok(Buffer::Static { per_queue, drop_when })
        }
        Sharing::Dynamic => {
            let total = match fill(&mut keys.buffer, QueueSize(Limit::Bytes(32_000_000))).0 {
                Limit::Bytes(0) => return Err(Wrong::at(at("buffer"), "a buffer of size 0 holds nothing: write a size above 0")),
                Limit::Bytes(total) => total,
                Limit::Packets(_) => return Err(Wrong::at(at("buffer"), "packets are for sharing = \"static\": write a size as in \"32MB\"")),
            };
            let alpha = fill(&mut keys.alpha, 1.0);
            if !(alpha > 0.0 && alpha <= 1024.0) {
                return Err(Wrong::at(at("alpha"), format!("found {alpha}: write a number above 0, up to 1024 (switches have powers of two from 1/128 to 8)")));
            }
            let reserved = fill(&mut keys.reserved, Size(Bytes(0))).0;
            if reserved.0 > total {
                return Err(Wrong::at(at("reserved"), format!("\"{reserved}\" is more than the whole buffer of {}", Bytes(total))));
            }
            Ok(Buffer::Shared { total, alpha, reserved_per_queue: reserved.0 })
        }
    }
}

fn compare(compare: Compare) -> spec::Compare {
    match compare {
        Compare::Above => spec::Compare::Above,
        Compare::AtOrAbove => spec::Compare::AtOrAbove,
    }
}

/// Of a switch or of a NIC.
pub fn scheduling(scheduling: &mut Option<Scheduling>, priorities: &mut Option<u8>, key: &Key) -> Result<spec::Scheduling, Wrong> {
    let at = || key.clone().name("priorities");
    match fill(scheduling, Scheduling::Fifo) {
        Scheduling::Fifo if priorities.is_some() => Err(meaningless(at(), "scheduling = \"fifo\"")),
        Scheduling::Fifo => Ok(spec::Scheduling::Fifo),
        Scheduling::StrictPriority => match fill(priorities, 8) {
            queues @ 2..=8 => Ok(spec::Scheduling::StrictPriority { queues }),
            other => Err(Wrong::at(at(), format!("found {other}: write a number of queues from 2 to 8"))),
        },
    }
}

fn marking(ecn: &mut Ecn, key: &Key) -> Result<Marking, Wrong> {
    let at = |name: &str| key.clone().name(name);
    if let Some(k) = ecn.k.take() {
        for (name, given) in [("kmin", ecn.kmin.is_some()), ("kmax", ecn.kmax.is_some()), ("pmax", ecn.pmax.is_some())] {
            if given {
                return Err(meaningless(at(name), "k (a step)"));
            }
        }
        (ecn.kmin, ecn.kmax) = (Some(k), Some(k));
    }
    let (Some(QueueSize(kmin)), Some(QueueSize(kmax))) = (ecn.kmin, ecn.kmax) else {
        return Err(Wrong::at(key.clone(), "write k (a step, as for DCTCP), or kmin and kmax"));
    };
    let pmax = fill(&mut ecn.pmax, Chance(Probability::ONE)).0;
    match (kmin, kmax) {
        (Limit::Bytes(low), Limit::Bytes(high)) if low > high => return Err(above(kmin, kmax, at("kmin"))),
        (Limit::Packets(low), Limit::Packets(high)) if low > high => return Err(above(kmin, kmax, at("kmin"))),
        (Limit::Bytes(_), Limit::Packets(_)) | (Limit::Packets(_), Limit::Bytes(_)) => {
            return Err(Wrong::at(at("kmax"), format!("\"{}\" and kmin = \"{}\": write both in bytes or both in packets", QueueSize(kmax), QueueSize(kmin))));
        }
        _ if kmin == kmax && pmax != Probability::ONE => return Err(Wrong::at(at("pmax"), "with kmin = kmax there is nothing between them: pmax is 1")),
        _ => {}
    }
    let average_weight = fill(&mut ecn.average_weight, Or::NONE).0;
    if let Some(weight) = average_weight.filter(|weight| !(*weight > 0.0 && *weight <= 1.0)) {
        return Err(Wrong::at(at("average_weight"), format!("found {weight}: write a number above 0, up to 1, or \"off\"")));
    }
    Ok(Marking {
        kmin,
        kmax,
        pmax,
        at: match fill(&mut ecn.at, MarkAt::Enqueue) {
            MarkAt::Enqueue => spec::MarkAt::Enqueue,
            MarkAt::Dequeue => spec::MarkAt::Dequeue,
        },
        compare: compare(fill(&mut ecn.compare, Compare::Above)),
        average_weight,
        drop_incapable: fill(&mut ecn.incapable, Incapable::Drop) == Incapable::Drop,
    })
}

fn above(kmin: Limit, kmax: Limit, key: Key) -> Wrong {
    Wrong::at(key, format!("\"{}\" is above kmax = \"{}\"", QueueSize(kmin), QueueSize(kmax)))
}
