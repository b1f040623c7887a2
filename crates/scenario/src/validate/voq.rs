//! `[switch.voq]`: resolves it, and refuses keys that it excludes.

use afflux_config::keys::meaningless;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Or, Unlimited};
use afflux_net::spec::{
    Buffer, Forwarding, NodeKind, QueueLength, SwitchConfig, SwitchKeys, Topology, VoqKeys,
};

/// Returns the keys of `change`, and those of `base` for all that `change` does not have. If a
/// changed key makes other keys of `base` meaningless, those are removed.
pub fn overlay(base: Option<VoqKeys>, change: Option<VoqKeys>) -> Option<VoqKeys> {
    let (Some(mut base), Some(change)) = (base.clone(), change.clone()) else {
        return change.or(base);
    };
    if change.ingress.is_some_and(|ingress| base.ingress != Some(ingress)) {
        (base.ports_per_core, base.credit) = (None, None);
    }
    let unlimited =
        |given: &Option<Or<Unlimited, f64>>| given.as_ref().is_some_and(|given| given.0.is_none());
    if unlimited(&change.credit_speedup)
        || unlimited(&change.fabric_speedup)
        || change.max_credits.as_ref().is_some_and(|given| given.0.is_none())
    {
        base.credit = None;
    }
    if change.xoff.is_some() {
        base.xon = None;
    }
    Some(change.or(base))
}

pub fn buffer(keys: &mut SwitchKeys, key: &Key) -> Result<Buffer, Wrong> {
    const SHARING: &str = "sharing = \"voq\"";
    let at = |name: &str| key.clone().name(name);
    if keys.queue_length.is_some_and(|counts| counts != QueueLength::ThroughTransmission) {
        return Err(Wrong::at(
            at("queue_length"),
            format!(
                "{SHARING} counts whole frames until their last bit has left: write \"through_transmission\""
            ),
        ));
    }
    if keys.device_queue.is_some_and(|packets| packets > 0) {
        return Err(meaningless(at("device_queue"), SHARING));
    }
    if keys.forwarding == Some(Forwarding::CutThrough) {
        return Err(Wrong::at(
            at("forwarding"),
            format!("{SHARING} stores frames: write \"store_and_forward\""),
        ));
    }
    let pfc = keys.pfc.as_ref().is_some_and(|pfc| pfc.0.is_some());
    keys.voq.get_or_insert_default().resolve(&at("voq"), pfc).map(Buffer::Voq)
}

/// Refuses switches with more than 255 queues per port, because queues are numbered in a byte.
pub fn check_queues(topology: &Topology, configs: &[SwitchConfig]) -> Result<(), Wrong> {
    let mut ports = vec![0; topology.nodes.len()];
    topology
        .links
        .iter()
        .flat_map(|link| [link.a, link.b])
        .for_each(|node| ports[node as usize] += 1);
    for (node, ports) in
        topology.nodes.iter().zip(ports).filter(|(node, _)| node.kind == NodeKind::Switch)
    {
        let queues = configs[node.config as usize].queues(ports);
        if queues > u8::MAX as usize {
            return Err(Wrong::at(
                Key::from("switch").name("voq"),
                format!(
                    "{} has {ports} ports, so each port has {queues} queues, more than 255: write ingress = \"core\" with a larger ports_per_core",
                    node.name
                ),
            ));
        }
    }
    Ok(())
}
