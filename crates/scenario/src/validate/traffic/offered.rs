//! Warns of blocks that offer more to a host's link than it carries. The queue then grows for as
//! long as the block lasts.

use super::context::{Offer, TrafficContext};
use afflux_config::tree::Wrong;
use afflux_net::spec::Topology;
use afflux_units::Span;
use std::collections::BTreeSet;

/// Tolerance for rounding, as a factor on the rate of a link.
const SLACK: f64 = 1.000_1;

/// Returns the ratio of bytes on the link to bytes of payload, in full frames.
pub fn framing(transport: u16, context: &TrafficContext) -> f64 {
    let payload = f64::from(context.transports.configs[usize::from(transport)].payload().max(1));
    let wire = context.keys.wire;
    (payload + f64::from(wire.data_header) + f64::from(wire.gap)) / payload
}

/// Direction in which traffic passes the links of hosts.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Sent,
    Received,
}

impl Direction {
    /// Returns the hosts whose links the traffic passes, with the rate at each.
    fn rates(self, offer: &Offer) -> &[(u32, f64)] {
        match self {
            Direction::Sent => &offer.sent,
            Direction::Received => &offer.received,
        }
    }

    /// Returns the rate of each host's links in this direction, in bit/s.
    fn links(self, topology: &Topology) -> Vec<f64> {
        let mut rates = vec![0.0; topology.hosts as usize];
        for link in &topology.links {
            for (host, is_b) in [(link.a, false), (link.b, true)] {
                if host < topology.hosts {
                    let reverse = is_b ^ (self == Direction::Received);
                    rates[host as usize] += link.rate_of(reverse).0 as f64;
                }
            }
        }
        rates
    }
}

/// Returns one warning for each block that overloads a host's link, and one for blocks that do so
/// only together. A block that overloads links of sources and of receivers has one for its sources.
pub fn check(context: &TrafficContext) -> Vec<Wrong> {
    let mut found: Vec<Wrong> = Vec::new();
    let mut reported: BTreeSet<usize> =
        context.offers.iter().filter(|offer| offer.reported).map(|offer| offer.block).collect();
    for direction in [Direction::Sent, Direction::Received] {
        let links = direction.links(context.facts.topology);
        let too_much = |(host, rate): (u32, f64)| rate > SLACK * links[host as usize];
        for offer in &context.offers {
            let over = direction.rates(offer).iter().find(|one| too_much(**one));
            if let Some(&(host, rate)) = over.filter(|_| !reported.contains(&offer.block)) {
                reported.insert(offer.block);
                found.push(warning(context, direction, offer, (host, rate), &links, ""));
            }
        }
        let starts: BTreeSet<Span> = context.offers.iter().map(|offer| offer.from).collect();
        for at in starts {
            while let Some(wrong) =
                overload_of_several(context, direction, at, &links, &mut reported)
            {
                found.push(wrong);
            }
        }
    }
    found
}

/// Returns a warning if blocks that send at time `at` overload a host's link together, and adds them
/// to `reported`. Blocks in `reported` do not count.
fn overload_of_several(
    context: &TrafficContext,
    direction: Direction,
    at: Span,
    links: &[f64],
    reported: &mut BTreeSet<usize>,
) -> Option<Wrong> {
    let active = |offer: &&Offer| {
        !reported.contains(&offer.block) && offer.from <= at && offer.to.is_none_or(|to| to > at)
    };
    let active: Vec<&Offer> = context.offers.iter().filter(active).collect();
    let mut offered = vec![0.0f64; links.len()];
    for (host, rate) in active.iter().flat_map(|offer| direction.rates(offer)) {
        offered[*host as usize] += rate;
    }
    let host = (0..links.len()).find(|host| offered[*host] > SLACK * links[*host])? as u32;
    let passes = |offer: &&&Offer| direction.rates(offer).iter().any(|(other, _)| *other == host);
    let passing: Vec<&Offer> = active.iter().filter(passes).copied().collect();
    let last = passing.iter().max_by_key(|offer| offer.block)?;
    let blocks: BTreeSet<usize> = passing.iter().map(|offer| offer.block).collect();
    let others = blocks.iter().filter(|block| **block != last.block);
    let others: Vec<String> = others.map(|block| format!("traffic[{block}]")).collect();
    let with =
        if others.is_empty() { String::new() } else { format!(" with {}", others.join(", ")) };
    reported.extend(&blocks);
    Some(warning(context, direction, last, (host, offered[host as usize]), links, &with))
}

/// Returns the warning that `offer`, together with the blocks that `with` names, offers the link of
/// a host this rate.
fn warning(
    context: &TrafficContext,
    direction: Direction,
    offer: &Offer,
    (host, rate): (u32, f64),
    links: &[f64],
    with: &str,
) -> Wrong {
    let name = context.facts.name(host);
    let link = links[host as usize];
    // Enough digits to show which rate is higher.
    let digits = if rate < 1.01 * link { 4 } else { 2 };
    let (rate, link) = (rate / 1e9, link / 1e9);
    let text = match direction {
        Direction::Sent => format!(
            "offers {name}{with} {rate:.digits$} Gbps (headers included) for a link of {link} Gbps: its queue grows as long as this lasts; lower the rate"
        ),
        Direction::Received => format!(
            "offers the link to {name}{with} {rate:.digits$} Gbps (headers included), and it carries {link} Gbps: its queue grows as long as this lasts; lower the rate, or \
             write more receivers"
        ),
    };
    Wrong::at(offer.key.clone(), text)
}
