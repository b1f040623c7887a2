//! `kind = "pdq"` and `"d3"`: transports that are granted rates.

use super::fill;
use super::hosts::Frames;
use crate::document::{D3, Duration, Host, Pdq, Size, Speed, Transport};
use crate::tree::{Key, Wrong};
use afflux_net::routing::{Ports, Routes};
use afflux_net::spec::{self, Balance, EngineKind, NodeId, NodeKind, Plan, RouteHash};
use afflux_units::{Bytes, Rate, Span};

/// Links that D3's header has room for.
const HOPS: u32 = 8;

struct Keys<'a> {
    payload: &'a mut Option<Size>,
    header: &'a mut Option<Size>,
    min_rto: &'a mut Option<Duration>,
    interval: &'a mut Option<Duration>,
    give_up: &'a mut Option<bool>,
}

fn common(keys: Keys, frames: &Frames, idle: Span, key: &Key) -> Result<spec::Rated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let header = fill(keys.header, Size(Bytes(16))).0;
    let room = frames.payload - 1;
    if header.0 > u64::from(room.min(1_000)) {
        return Err(Wrong::at(at("header"), format!("\"{header}\": write a size up to {}B", room.min(1_000))));
    }
    let most = frames.payload - header.0 as u16;
    let payload = fill(keys.payload, Size(Bytes(most.into()))).0;
    if payload.0 == 0 || payload.0 > u64::from(most) {
        return Err(Wrong::at(at("payload"), format!("\"{payload}\": write a size from 1B to {most}B ({} and header = \"{header}\")", frames.why)));
    }
    let time = |slot: &mut Option<Duration>, default: Span, name: &str| match fill(slot, Duration(default)).0 {
        span if span > Span::ZERO && span <= Span::from_s(10) => Ok(span),
        span => Err(Wrong::at(at(name), format!("\"{span}\": write a time above 0 and up to 10s"))),
    };
    Ok(spec::Rated {
        payload: payload.0 as u16,
        header: header.0 as u16,
        min_rto: time(keys.min_rto, Span::from_ms(1), "min_rto")?,
        interval: time(keys.interval, idle, "interval")?,
        early_termination: fill(keys.give_up, true),
    })
}

pub fn pdq(keys: &mut Pdq, frames: &Frames, idle: Span, key: &Key) -> Result<spec::Pdq, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let Pdq { payload, header, min_rto, interval, early_termination, .. } = keys;
    let rated = common(Keys { payload, header, min_rto, interval, give_up: early_termination }, frames, idle, key)?;
    let number = |slot: &mut Option<f64>, default: f64, name: &str| match fill(slot, default) {
        found if (0.0..=1_000.0).contains(&found) => Ok(found),
        found => Err(Wrong::at(at(name), format!("found {found}: write a number of round trips from 0 to 1000"))),
    };
    let dampening = fill(&mut keys.dampening, Duration(Span::from_us(10))).0;
    if dampening > Span::from_s(1) {
        return Err(Wrong::at(at("dampening"), format!("\"{dampening}\": write a time up to 1s")));
    }
    let most = fill(&mut keys.max_flows, 1_000);
    if !(2..=1_000_000).contains(&most) {
        return Err(Wrong::at(at("max_flows"), format!("found {most}: write a number from 2 to 1000000")));
    }
    let early_start = number(&mut keys.early_start, 2.0, "early_start")?;
    let suppression = number(&mut keys.suppressed_probing, 0.2, "suppressed_probing")?;
    Ok(spec::Pdq { rated, early_start, suppression, dampening, most })
}

pub fn d3(keys: &mut D3, frames: &Frames, idle: Span, key: &Key) -> Result<spec::D3, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let D3 { payload, header, min_rto, interval, quench, .. } = keys;
    let rated = common(Keys { payload, header, min_rto, interval, give_up: quench }, frames, idle, key)?;
    let number = |slot: &mut Option<f64>, default: f64, name: &str| match fill(slot, default) {
        found if (0.0..=10.0).contains(&found) => Ok(found),
        found => Err(Wrong::at(at(name), format!("found {found}: write a number from 0 to 10"))),
    };
    // A request without data per interval, in whole kilobits per second.
    let request = u64::from((frames.wire.ack + rated.header).max(frames.wire.min_frame) + frames.wire.gap) * 8;
    let least = (u128::from(request) * 1_000_000_000_000 / u128::from(rated.interval.0)) as u64;
    let base_rate = fill(&mut keys.base_rate, Speed(Rate(least.next_multiple_of(1_000)))).0;
    if base_rate.0 < 1_000 {
        return Err(Wrong::at(at("base_rate"), format!("\"{base_rate}\": write a rate from 1kbps")));
    }
    let (alpha, beta) = (number(&mut keys.alpha, 0.1, "alpha")?, number(&mut keys.beta, 1.0, "beta")?);
    Ok(spec::D3 { rated, base_rate, alpha, beta })
}

/// Where the flows of such a transport can go. The flow-level engine does not mind.
pub fn fits(plan: &Plan, host: &Host) -> Result<(), Wrong> {
    let named = std::iter::once((Key::from("host.transport"), host.transport.as_ref()))
        .chain(host.transports.iter().map(|(name, transport)| (Key::from("host.transports").name(name), Some(transport))));
    let mut ways = None;
    for (index, (key, transport)) in named.enumerate() {
        let word = match transport {
            Some(Transport::Pdq(_)) => "pdq",
            Some(Transport::D3(_)) => "d3",
            _ => continue,
        };
        let unused = plan.flows.iter().all(|flow| usize::from(flow.transport) != index);
        if unused || plan.run.engine == EngineKind::Ideal {
            continue;
        }
        let (several, longest) = *ways.get_or_insert_with(|| ways_of(plan));
        if several && plan.switches.iter().any(|switch| switch.balance != Balance::default()) {
            return Err(Wrong::at(key.name("kind"), format!("\"{word}\" needs flows that keep to one path: write balance = \"ecmp\" in [switch]")));
        }
        if word == "pdq" && several && plan.switches.iter().any(|switch| switch.hash != RouteHash::Symmetric) {
            return Err(Wrong::at(
                key.name("kind"),
                "\"pdq\" needs answers that come back by the way of what they answer: write hash = \"symmetric\" in [switch]",
            ));
        }
        if word == "d3" && longest > HOPS {
            return Err(Wrong::at(key.name("kind"), format!("\"d3\": its header has room for {HOPS} links on a path, this fabric has paths of {longest}")));
        }
    }
    Ok(())
}

/// Is there a choice of paths anywhere; and the most links on a path.
fn ways_of(plan: &Plan) -> (bool, u32) {
    let topology = &plan.topology;
    let (routes, ports) = (Routes::build(topology), Ports::new(topology));
    let mut hosts: Vec<u32> = (0..topology.hosts).collect();
    hosts.dedup_by_key(|host| routes.rack_of(*host));
    let mut longest = 0;
    for &from in &hosts {
        for &to in hosts.iter().filter(|&&to| to != from) {
            let (mut node, mut links) = (from as NodeId, 0);
            while node != to {
                let Some(&port) = routes.next_hops(node, to).as_slice().first() else { break };
                (node, links) = (ports.of(node)[port as usize].peer, links + 1);
            }
            longest = longest.max(links);
        }
    }
    let nodes = (0..topology.nodes.len() as NodeId).filter(|node| topology.nodes[*node as usize].kind == NodeKind::Switch || ports.of(*node).len() > 1);
    let several = nodes.into_iter().any(|node| hosts.iter().any(|&host| host != node && routes.next_hops(node, host).as_slice().len() > 1));
    (several, longest)
}
