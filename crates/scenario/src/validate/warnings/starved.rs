//! Warns of standing queues that starve traffic without ECN.

use super::ecn::{marking_of, markings};
use super::input::WarningInput;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{
    EcnMode, Flow, Limit, Marking, NodeKind, Plan, QueueSize, Start, SwitchConfig,
};
use afflux_units::Time;
use std::collections::BTreeMap;

/// Long flows with classic ECN keep a standing queue. While it is longer than `kmax`, every frame
/// that is not ECN-capable is dropped. A connection whose SYN is lost there goes on without ECN
/// (RFC 3168 §6.1.1.1; Linux tcp_ecn_fallback), and then all of its data are dropped.
pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let curves = markings(input);
    if !curves.iter().any(|one| one.1.drops_incapable()) {
        return;
    }
    let mut reported: Vec<&Key> = Vec::new();
    for ((receiver, priority), flows) in by_receiver(input.plan) {
        let Some(marking) =
            last_hop(input.plan, receiver).and_then(|switch| marking_of(switch, priority))
        else {
            continue;
        };
        let Some((key, ..)) = curves
            .iter()
            .find(|(_, curve, judged)| *curve == marking && judged >> priority & 1 != 0)
        else {
            continue;
        };
        if !marking.drops_incapable()
            || marking.gentle
            || marking.pmax.get() <= 0.0
            || reported.contains(&key)
        {
            continue;
        }
        let (window, needed) = enough(input.plan, marking, &flows);
        let Some((most, since)) = at_once(input.plan, receiver, &flows, needed) else { continue };
        if !opened_later(input, (receiver, priority), since) {
            continue;
        }
        reported.push(key);
        let name = &input.plan.topology.nodes[receiver as usize].name;
        found.push(Wrong::at(
            key.clone(),
            format!(
                "can starve connections to {name}: {most} long flows with ecn = \"classic\" go there at once, and with pmax = {} each keeps about {window:.1} segments, so \
                 that the queue is above kmax ({}) again and again, where frames that are not ECN-capable are dropped: a connection whose SYN is lost there does without \
                 ECN, and then its data are dropped, too; raise pmax or kmax, or write incapable = \"pass\"",
                marking.pmax.get(),
                QueueSize(marking.kmax),
            ),
        ));
    }
}

/// Returns the flows with classic ECN, by receiver and priority.
fn by_receiver(plan: &Plan) -> BTreeMap<(u32, u8), Vec<&Flow>> {
    let willing = |host: u32| plan.hosts[plan.topology.nodes[host as usize].config as usize].ecn;
    let classic: Vec<bool> = plan
        .transports
        .iter()
        .map(|one| one.parameters().segments().is_some_and(|(tcp, _)| tcp.ecn == EcnMode::Classic))
        .collect();
    let mut found: BTreeMap<(u32, u8), Vec<&Flow>> = BTreeMap::new();
    for flow in plan
        .flows
        .iter()
        .filter(|flow| flow.src != flow.dst && classic[usize::from(flow.transport)])
    {
        if willing(flow.src) && willing(flow.dst) {
            found.entry((flow.dst, flow.priority)).or_default().push(flow);
        }
    }
    found
}

/// Returns the switch whose port to this host marks and drops the frames to the host.
fn last_hop(plan: &Plan, host: u32) -> Option<&SwitchConfig> {
    let link = plan.topology.links.iter().find(|link| link.a == host || link.b == host)?;
    let node = &plan.topology.nodes[if link.a == host { link.b } else { link.a } as usize];
    (node.kind == NodeKind::Switch).then(|| &plan.switches[node.config as usize])
}

/// Returns the window, in segments, of a sender that halves it at each mark, at the highest marking
/// probability below `kmax`: √(3 / 2p), never below two. Also returns how many such windows exceed
/// `kmax`.
fn enough(plan: &Plan, marking: &Marking, flows: &[&Flow]) -> (f64, u64) {
    let window = (1.5 / marking.pmax.get()).sqrt().max(2.0);
    let payload = flows
        .iter()
        .map(|flow| plan.transports[usize::from(flow.transport)].parameters().frames().payload)
        .max()
        .unwrap_or(0);
    let frame = (u64::from(payload) + u64::from(plan.wire.data_header)).max(1);
    let frames = match marking.kmax {
        Limit::Bytes(bytes) => bytes as f64 / frame as f64,
        Limit::Packets(packets) => packets as f64,
    };
    (window, (frames / window) as u64 + 1)
}

/// Returns the largest number of simultaneous flows, as if each had the receiver's link to itself,
/// and the time since when there are `needed` flows. `None` if there are never enough.
fn at_once(plan: &Plan, receiver: u32, flows: &[&Flow], needed: u64) -> Option<(u64, Time)> {
    let links = plan.topology.links.iter().filter(|link| link.a == receiver || link.b == receiver);
    let rate = links.map(|link| link.rate.0).max().filter(|rate| *rate > 0)?;
    let mut events: Vec<(u64, bool)> = Vec::new();
    for flow in flows {
        let Start::At(Time(start)) = flow.start else { continue };
        let takes = u128::from(flow.bytes) * 8_000_000_000_000 / u128::from(rate);
        let end = start.saturating_add(u64::try_from(takes).unwrap_or(u64::MAX)).min(flow.stop.0);
        // At one instant, ends are processed before starts, because `false` sorts first.
        events.extend([(start, true), (end, false)].into_iter().filter(|_| end > start));
    }
    events.sort_unstable();
    let (mut now, mut most, mut since) = (0u64, 0, None);
    for (time, starts) in events {
        now = if starts { now + 1 } else { now - 1 };
        most = most.max(now);
        if now >= needed && since.is_none() {
            since = Some(Time(time));
        }
    }
    since.map(|since| (most, since))
}

/// True if a connection to this host is opened after the queue has built up, or is not ECN-capable.
fn opened_later(input: &WarningInput, (receiver, priority): (u32, u8), since: Time) -> bool {
    if input.plan.applications.is_some() {
        return true;
    }
    input
        .plan
        .flows
        .iter()
        .filter(|flow| flow.dst == receiver && flow.src != receiver && flow.priority == priority)
        .any(|flow| {
            let parameters = input.plan.transports[usize::from(flow.transport)].parameters();
            let later = match flow.start {
                Start::At(start) => start > since,
                Start::After { .. } => true,
            };
            !parameters.requirements().is_capable(true)
                || (later
                    && parameters
                        .segments()
                        .is_some_and(|(tcp, _)| tcp.handshake && tcp.ecn == EcnMode::Classic))
        })
}
