//! Warns of priority flow control that has no effect, and of headroom that is too small.

use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{Buffer, Limit, NodeKind, Pfc, Rules, SwitchConfig};

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let lossless = input
        .switches()
        .filter_map(|switch| switch.pfc.as_ref())
        .fold(0, |all, pfc| all | pfc.priorities);
    unused_keys(input, lossless != 0, found);
    unused_obedience(input, lossless != 0, found);
    unheard_storms(input, found);
    if lossless == 0 {
        return;
    }
    let key = || match input.switch_key("pfc.priorities") {
        written if input.tree.has(&written) => written,
        _ => input.switch_key("pfc"),
    };
    let idle = input.idle() && input.kernels.is_none();
    if !idle && !input.priorities().any(|priority| lossless >> priority & 1 != 0) {
        let theirs: Vec<u8> = (0..8).filter(|priority| lossless >> priority & 1 != 0).collect();
        let block = format!("priority = {} in a [[traffic]] block", theirs[0]);
        let cure = match input.kernels {
            None => format!("write {block}, or pfc = \"off\""),
            Some(_) => format!(
                "write {block}, or host.dscp_to_priority for packets of kernels, or pfc = \"off\""
            ),
        };
        found.push(Wrong::at(
            key(),
            format!("PFC pauses nothing: no traffic has priority {}; {cure}", listed(&theirs)),
        ));
        return;
    }
    if !has_pausable_neighbour(input) {
        let cure = "remove honours_pause = false";
        found.push(Wrong::at(
            key(),
            format!(
                "PFC pauses nothing: no neighbour of a switch with PFC obeys PAUSE frames; {cure}"
            ),
        ));
        return;
    }
    out_of_reach(input, lossless, key(), found);
    too_little_headroom(input, found);
}

/// Warns of headroom that cannot hold the full frames that arrive after XOFF. The formulas of
/// simulators leave out the response to PAUSE. They draw no warning if they are written, or if the
/// scenario reproduces a simulator.
fn too_little_headroom(input: &WarningInput, found: &mut Vec<Wrong>) {
    let meant =
        input.plan.run.compat.is_some() || input.tree.has(&input.switch_key("pfc.headroom"));
    let warned = |node: u32| {
        let switch = &input.plan.switches[input.plan.topology.nodes[node as usize].config as usize];
        match &switch.buffer {
            Buffer::Mmu(mmu) => matches!(mmu.rules, Rules::Sonic(_)) || !meant,
            Buffer::Voq(_) => true,
            _ => false,
        }
    };
    let short = afflux_net::headrooms(input.plan)
        .into_iter()
        .filter(|port| warned(port.node))
        .map(|port| (port.node, port.peer, port.bytes(), port.full_frames()))
        .filter(|(.., has, need)| has < need)
        .max_by_key(|(.., has, need)| need - has);
    if let Some((node, peer, has, need)) = short {
        let [node, peer] = [node, peer].map(|node| &input.plan.topology.nodes[node as usize].name);
        let cable = input.switch_key("pfc.cable");
        let (key, cure) = if input.tree.has(&cable) {
            (
                cable,
                "write the cable's own length, or remove it, so that it follows from the delay of the link",
            )
        } else {
            (input.switch_key("pfc.headroom"), "write headroom = \"worst_case\"")
        };
        let text = format!(
            "frames of lossless priorities can be lost: up to {need} B arrive at the port {node} to {peer} after XOFF, and the headroom is {has} B; {cure}"
        );
        found.push(Wrong::at(key, text));
    }
}

fn listed(priorities: &[u8]) -> String {
    let texts: Vec<String> = priorities.iter().map(u8::to_string).collect();
    texts.join(" or ")
}

/// True if a neighbour of a switch with PFC obeys PAUSE frames.
fn has_pausable_neighbour(input: &WarningInput) -> bool {
    let nodes = &input.plan.topology.nodes;
    let tells = |node: u32| {
        nodes[node as usize].kind == NodeKind::Switch
            && input.plan.switches[nodes[node as usize].config as usize].pfc.is_some()
    };
    let obeys = |node: u32| {
        let node = &nodes[node as usize];
        match node.kind {
            NodeKind::Host => input.plan.hosts[node.config as usize].honours_pause,
            NodeKind::Switch => input.plan.switches[node.config as usize].honours_pause,
        }
    };
    input
        .plan
        .topology
        .links
        .iter()
        .any(|link| tells(link.a) && obeys(link.b) || tells(link.b) && obeys(link.a))
}

/// Warns if no priority group can reach its threshold. With `sharing = "sonic"` the threshold
/// follows from the memory, and a group never holds more than all lossless traffic together.
fn out_of_reach(input: &WarningInput, lossless: u8, key: Key, found: &mut Vec<Wrong>) {
    // How much kernels send is known to their programs only.
    let unknown = input.kernels.is_some() || !input.plan.undrawn.is_empty();
    if input.plan.applications.is_some() || unknown {
        return;
    }
    let wire = &input.plan.wire;
    let frame = u64::from(wire.data_header.max(wire.min_frame));
    // Every frame counts twice, because some are retransmitted.
    let mut most: u64 = 0;
    for flow in input.plan.flows.iter().filter(|flow| lossless >> flow.priority & 1 != 0) {
        let payload = payload(input, flow.transport).max(1);
        let frames = flow.bytes.div_ceil(payload);
        most = most.saturating_add(
            flow.bytes.saturating_add(frames.saturating_mul(frame)).saturating_mul(2),
        );
    }
    let mut least: Option<u64> = None;
    for (id, node) in input
        .plan
        .topology
        .nodes
        .iter()
        .enumerate()
        .filter(|(_, node)| node.kind == NodeKind::Switch)
    {
        let switch = &input.plan.switches[node.config as usize];
        let Some(pfc) = &switch.pfc else { continue };
        let ports = input
            .plan
            .topology
            .links
            .iter()
            .filter(|link| link.a as usize == id || link.b as usize == id)
            .count() as u64;
        let Some(threshold) = threshold(input, id as u32, switch) else { return };
        if held(switch, pfc, ports).map_or(most, |held| held.min(most)) >= threshold {
            return;
        }
        least = Some(least.map_or(threshold, |known| known.min(threshold)));
    }
    if let Some(threshold) = least {
        let cure = "lower switch.buffer or mmu.lossless_alpha, or send more";
        let text = format!(
            "PFC pauses nothing: a priority group is paused above {:.1} MB, and its frames can never occupy so much; {cure}",
            threshold as f64 / 1e6
        );
        found.push(Wrong::at(key, text));
    }
}

fn payload(input: &WarningInput, transport: u16) -> u64 {
    let transport = &input.plan.transports[usize::from(transport)];
    transport.payload().into()
}

/// Returns the bytes above which a priority group is paused if it is the only one with traffic;
/// `None` if that does not follow from the memory alone.
fn threshold(input: &WarningInput, node: u32, switch: &SwitchConfig) -> Option<u64> {
    let Buffer::Mmu(mmu) = &switch.buffer else { return None };
    let Rules::Sonic(sonic) = &mmu.rules else { return None };
    let aside = afflux_net::reserved_memory(input.plan, node);
    let shared = mmu.total.saturating_sub(aside.headroom + aside.reserved);
    let lossless = switch.pfc.as_ref().map_or(0, |pfc| pfc.priorities);
    let of_group = |class: usize| {
        let own = &sonic.own.groups[class];
        let alpha = own.alpha.unwrap_or(sonic.alpha);
        own.limit.unwrap_or(
            sonic.reserved_of(class, true) + (shared as f64 * alpha / (1.0 + alpha)) as u64,
        )
    };
    (0..8).filter(|class| lossless >> class & 1 != 0).map(of_group).min()
}

/// Returns the most bytes that a lossless priority can hold in the queues of all ports; `None`
/// unless all these queues have a limit in bytes.
fn held(switch: &SwitchConfig, pfc: &Pfc, ports: u64) -> Option<u64> {
    let mut most: u64 = 0;
    for priority in (0..8).filter(|priority| pfc.priorities >> priority & 1 != 0) {
        match switch.own_of(priority)?.limit? {
            Limit::Bytes(bytes) => most = most.max(bytes.saturating_mul(ports)),
            Limit::Packets(_) => return None,
        }
    }
    Some(most)
}

/// Warns of keys of lossless priority groups if there are no such groups.
fn unused_keys(input: &WarningInput, any: bool, found: &mut Vec<Wrong>) {
    if any {
        return;
    }
    if !input.switches().any(|switch| matches!(switch.buffer, Buffer::Mmu(_))) {
        return;
    }
    let keys = ["lossless_alpha", "lossless_reserved", "ingress_alpha", "xon", "xon_offset"]
        .map(|name| input.switch_key(&format!("mmu.{name}")));
    let text = "has no effect without PFC, which makes priorities lossless: write [switch.pfc], or remove it";
    found
        .extend(keys.into_iter().filter(|key| input.tree.has(key)).map(|key| Wrong::at(key, text)));
}

/// Warns of `honours_pause` if nothing sends PAUSE frames.
fn unused_obedience(input: &WarningInput, any: bool, found: &mut Vec<Wrong>) {
    // The mode of a transport may require switches that obey, even if nothing pauses them.
    let asked =
        input.used().iter().any(|one| one.config.parameters().requirements().pauses.is_some());
    if any || asked || input.hosts().any(|host| host.storm.is_some()) {
        return;
    }
    let keys = [input.host_key("honours_pause"), input.switch_key("honours_pause")];
    if let Some(key) = keys.into_iter().find(|key| input.tree.has(key)) {
        found.push(Wrong::at(
            key,
            "has no effect: nothing sends PAUSE frames; write [switch.pfc], or remove it",
        ));
    }
}

fn unheard_storms(input: &WarningInput, found: &mut Vec<Wrong>) {
    let nodes = &input.plan.topology.nodes;
    let storms = |node: u32| {
        nodes[node as usize].kind == NodeKind::Host
            && input.plan.hosts[nodes[node as usize].config as usize].storm.is_some()
    };
    let obeys = |node: u32| {
        nodes[node as usize].kind == NodeKind::Switch
            && input.plan.switches[nodes[node as usize].config as usize].honours_pause
    };
    let links = || {
        input
            .plan
            .topology
            .links
            .iter()
            .flat_map(|link| [(link.a, link.b), (link.b, link.a)])
            .filter(|(host, _)| storms(*host))
    };
    if links().next().is_some() && !links().any(|(_, switch)| obeys(switch)) {
        let text = "pauses nothing: the switch next to it does not obey PAUSE frames; write honours_pause = true or [switch.pfc]";
        found.push(Wrong::at(input.host_key("storm"), text));
    }
}
