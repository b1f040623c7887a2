//! `[switch.voq]`, and what does not go with it.

use super::{fill, meaningless};
use crate::document::{Chance, Duration, Forwarding, Ingress, Or, Size, Speed, Switch, Voq};
use crate::tree::{Key, Wrong};
use afflux_net::spec::{self, Buffer, MarkAt, NodeKind, QueueLength, SwitchConfig, Topology, VoqCap};
use afflux_units::{Bytes, Probability, Rate, Span};

/// The keys of `base` but for those that `change` has.
pub fn overlay(base: Option<Voq>, change: Option<Voq>) -> Option<Voq> {
    let (Some(mut base), Some(change)) = (base.clone(), change.clone()) else { return change.or(base) };
    if change.ingress.is_some_and(|ingress| base.ingress != Some(ingress)) {
        (base.ports_per_core, base.credit) = (None, None);
    }
    Some(change.or(base))
}

pub fn buffer(keys: &mut Switch, key: &Key) -> Result<Buffer, Wrong> {
    const SHARING: &str = "sharing = \"voq\"";
    let at = |name: &str| key.clone().name(name);
    if keys.queue_length.is_some_and(|counts| counts != QueueLength::ThroughTransmission) {
        return Err(Wrong::at(at("queue_length"), format!("{SHARING} counts whole frames until their last bit has left: write \"through_transmission\"")));
    }
    if keys.device_queue.is_some_and(|packets| packets > 0) {
        return Err(meaningless(at("device_queue"), SHARING));
    }
    if keys.forwarding == Some(Forwarding::CutThrough) {
        return Err(Wrong::at(at("forwarding"), format!("{SHARING} stores frames: write \"store_and_forward\"")));
    }
    if keys.aqm.as_ref().is_some_and(|aqm| aqm.0.is_some()) {
        return Err(Wrong::at(at("aqm"), format!("{SHARING} has WRED only: write ecn")));
    }
    if keys.ecn.as_ref().and_then(|ecn| ecn.0.as_ref()).is_some_and(|ecn| ecn.at == Some(MarkAt::Dequeue)) {
        return Err(Wrong::at(at("ecn").name("at"), format!("{SHARING} marks by the length of the queue that a frame joins: write \"enqueue\"")));
    }
    let voq = keys.voq.get_or_insert_default();
    let at = |name: &str| key.clone().name("voq").name(name);
    let size = |slot: &mut Option<Size>, default: u64, name: &str| match fill(slot, Size(Bytes(default))).0.0 {
        0 => Err(Wrong::at(at(name), "\"0B\": write a size above 0")),
        // Products of sizes and times stay within 128 bits, sums within 64.
        size if size > 1 << 40 => Err(Wrong::at(at(name), format!("\"{}\": write a size up to 1TiB", Bytes(size)))),
        size => Ok(size),
    };
    let time = |span: Span, name: &str| match span {
        long if long > Span::from_s(1) => Err(Wrong::at(at(name), format!("\"{long}\": write a time up to 1s"))),
        span => Ok(span),
    };
    let ports_per_core = match (fill(&mut voq.ingress, Ingress::Core), voq.ports_per_core) {
        (Ingress::Port, Some(_)) => return Err(meaningless(at("ports_per_core"), "ingress = \"port\"")),
        (Ingress::Port, None) => Some(1),
        (Ingress::Core, Some(0)) => return Err(Wrong::at(at("ports_per_core"), "found 0: write a number of ports from 1")),
        (Ingress::Core, ports) => ports,
    };
    let credit = match (ports_per_core, voq.credit) {
        (None, Some(_)) => {
            return Err(Wrong::at(at("credit"), "with one core there is one queue, which has every turn: leave it out, or write ports_per_core"));
        }
        (None, None) => 2_000,
        (Some(_), _) => match fill(&mut voq.credit, Size(Bytes(2_000))).0.0 {
            found @ 64..=1_000_000 => found as u32,
            found => return Err(Wrong::at(at("credit"), format!("\"{}\": write a size from 64B to 1MB", Bytes(found)))),
        },
    };
    let max_bytes = match fill(&mut voq.max_bytes, Or::NONE).0 {
        None => VoqCap::BySpeed,
        Some(bytes) => VoqCap::Bytes(size(&mut Some(bytes), 0, "max_bytes")?),
    };
    let max_time = match fill(&mut voq.max_time, Or::NONE).0 {
        None => None,
        Some(Duration(Span::ZERO)) => return Err(Wrong::at(at("max_time"), "\"0ps\": write a time above 0, or \"off\"")),
        Some(Duration(span)) => Some(time(span, "max_time")?),
    };
    let dram_bandwidth = match fill(&mut voq.dram_bandwidth, Or::some(Speed(Rate::from_gbps(900)))).0 {
        Some(Speed(rate)) if rate < Rate::from_mbps(1) => return Err(Wrong::at(at("dram_bandwidth"), format!("\"{rate}\": write a rate of 1Mbps and more"))),
        rate => rate.map(|Speed(rate)| rate),
    };
    let share = |default: f64| Chance(Probability::new(default).expect("within 0..1"));
    let (reserved, dynamic) = (fill(&mut voq.reserved, share(0.3)).0.get(), fill(&mut voq.dynamic, share(0.55)).0.get());
    if reserved + dynamic > 1.0 {
        return Err(Wrong::at(at("dynamic"), format!("found {dynamic}: with reserved = {reserved} that is more than the whole DRAM")));
    }
    Ok(Buffer::Voq(spec::Voq {
        ports_per_core,
        credit,
        grant_latency: time(fill(&mut voq.grant_latency, Duration(Span::from_ns(1_500))).0, "grant_latency")?,
        max_bytes,
        max_time,
        on_chip: size(&mut voq.on_chip, 16_000_000, "on_chip")?,
        evict_bytes: size(&mut voq.evict_bytes, 200_000, "evict_bytes")?,
        evict_packets: match fill(&mut voq.evict_packets, 6_000) {
            0 => return Err(Wrong::at(at("evict_packets"), "found 0: write a number of packets from 1")),
            packets => packets,
        },
        dram: size(&mut voq.dram, 4_000_000_000, "dram")?,
        dram_bandwidth,
        write_buffer: size(&mut voq.write_buffer, 1_000_000, "write_buffer")?,
        reserved,
        dynamic,
    }))
}

/// Queues of a port are numbered in a byte.
pub fn check_queues(topology: &Topology, configs: &[SwitchConfig]) -> Result<(), Wrong> {
    let mut ports = vec![0; topology.nodes.len()];
    topology.links.iter().flat_map(|link| [link.a, link.b]).for_each(|node| ports[node as usize] += 1);
    for (node, ports) in topology.nodes.iter().zip(ports).filter(|(node, _)| node.kind == NodeKind::Switch) {
        let queues = configs[node.config as usize].queues(ports);
        if queues > u8::MAX as usize {
            return Err(Wrong::at(
                Key::from("switch").name("voq"),
                format!("{} has {ports} ports: {queues} queues for each are more than 255; write ingress = \"core\" with a larger ports_per_core", node.name),
            ));
        }
    }
    Ok(())
}
