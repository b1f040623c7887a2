//! Warns of blocks that offer more to a host's link than it carries. The queue then grows for as
//! long as the block lasts.

use super::context::{Offer, TrafficContext};
use afflux_config::tree::Wrong;

/// Tolerance for rounding, as a factor on the rate of a link.
const SLACK: f64 = 1.000_1;

/// Returns the ratio of bytes on the link to bytes of payload, in full frames.
pub fn framing(transport: u16, context: &TrafficContext) -> f64 {
    let payload = f64::from(context.transports.configs[usize::from(transport)].payload().max(1));
    let wire = context.keys.wire;
    (payload + f64::from(wire.data_header) + f64::from(wire.gap)) / payload
}

/// Returns one warning for each block that overloads a host's link, and one for blocks that do so
/// only together.
pub fn check(context: &TrafficContext) -> Vec<Wrong> {
    let mut found: Vec<Wrong> = Vec::new();
    let mut reported: Vec<usize> =
        context.offers.iter().filter(|offer| offer.reported).map(|offer| offer.block).collect();
    let link = |host: u32| context.facts.host_rate(&[host]).unwrap_or_default().0 as f64;
    let mut tell = |offer: &Offer, host: u32, rate: f64, with: &str| {
        let name = &context.facts.topology.nodes[host as usize].name;
        // Enough digits to show which rate is higher.
        let digits = if rate < 1.01 * link(host) { 4 } else { 2 };
        let (rate, link) = (rate / 1e9, link(host) / 1e9);
        let text = format!(
            "offers {name}{with} {rate:.digits$} Gbps (headers included) for a link of {link} Gbps: its queue grows as long as this lasts; lower the rate"
        );
        found.push(Wrong::at(offer.key.clone(), text));
    };
    for offer in &context.offers {
        let too_much = offer.sources.iter().copied().find(|host| offer.rate > SLACK * link(*host));
        if let Some(host) = too_much.filter(|_| !reported.contains(&offer.block)) {
            reported.push(offer.block);
            tell(offer, host, offer.rate, "");
        }
    }
    let mut offered = vec![0.0f64; context.facts.hosts() as usize];
    for at in context.offers.iter().map(|offer| offer.from) {
        let active = |other: &&Offer| {
            !reported.contains(&other.block)
                && other.from <= at
                && other.to.is_none_or(|to| to > at)
        };
        let active: Vec<&Offer> = context.offers.iter().filter(active).collect();
        let Some(last) = active.iter().max_by_key(|offer| offer.block) else { continue };
        offered.fill(0.0);
        for offer in &active {
            offer.sources.iter().for_each(|host| offered[*host as usize] += offer.rate);
        }
        let Some(host) =
            last.sources.iter().copied().find(|host| offered[*host as usize] > SLACK * link(*host))
        else {
            continue;
        };
        let mut blocks: Vec<usize> =
            active.iter().map(|offer| offer.block).filter(|block| *block != last.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let with: Vec<String> = blocks.iter().map(|block| format!("traffic[{block}]")).collect();
        let with =
            if with.is_empty() { String::new() } else { format!(" with {}", with.join(", ")) };
        tell(last, host, offered[host as usize], &with);
        reported.extend(blocks.into_iter().chain([last.block]));
    }
    found
}
