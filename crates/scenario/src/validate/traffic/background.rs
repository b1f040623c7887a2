//! `kind = "background"`: traffic of limited rate until the end of the run.

use super::common::{self, shared};
use super::context::{Offer, TrafficContext};
use super::mtu;
use super::offered::framing;
use super::patterns::all;
use super::select;
use crate::document::{Background, Pairing, Per, Protocol};
use afflux_config::keys::{fill, meaningless};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Or, Speed};
use afflux_net::spec::{Pacing, TransportConfig};
use afflux_net::transports::Datagram;
use afflux_traffic::{Bulk, Classes, Generated, SizeDistribution, purpose};
use afflux_units::{Rate, Span};

pub fn generate(
    block: &mut Background,
    index: usize,
    key: &Key,
    classes: &mut Classes,
    context: &mut TrafficContext,
) -> Result<Generated, Wrong> {
    let at = |name: &str| key.clone().name(name);
    let protocol = fill(&mut block.protocol, Protocol::Tcp);
    let mut transport = block.transport.take();
    if protocol == Protocol::Datagram && transport.is_some() {
        return Err(meaningless(at("transport"), "protocol = \"datagram\""));
    }
    let slot = (protocol == Protocol::Tcp).then_some(&mut transport);
    let mut shared = shared(block.common(), slot, index, key, classes, context)?;
    shared.template.transport = mtu::of_all(shared.template.transport, context)?;
    block.transport = transport;
    if context.run.until.is_none() && !context.run.until_done {
        return Err(Wrong::at(
            key.clone(),
            "background traffic does not end: write [run] until = \"jobs\" or a time",
        ));
    }
    let hosts = select::hosts(&fill(&mut block.hosts, all()), &at("hosts"), context.facts)?;
    if hosts.len() < 2 {
        return Err(Wrong::at(at("hosts"), "one host has no destination: write at least two"));
    }
    let connections = fill(&mut block.connections, 1);
    if !(1..=1_000).contains(&connections) {
        return Err(Wrong::at(
            at("connections"),
            format!("found {connections}: write a number from 1 to 1000"),
        ));
    }
    let sharers = u64::from(connections)
        * if fill(&mut block.per, Per::Total) == Per::Total { hosts.len() as u64 } else { 1 };
    let rate = Rate(block.rate.0.0 / sharers);
    if rate.0 == 0 {
        return Err(Wrong::at(
            at("rate"),
            format!("\"{}\" shared by {sharers} is less than one bit per second", block.rate.0),
        ));
    }
    let named = shared.template.transport;
    let (config, payload) = match protocol {
        Protocol::Tcp => match &context.transports.configs[shared.template.transport as usize] {
            TransportConfig::Tcp(tcp) => {
                let pacing = tcp.pacing.unwrap_or(Pacing {
                    most: None,
                    slow_start_percent: 200,
                    avoidance_percent: 120,
                });
                let tcp = afflux_net::spec::TcpConfig {
                    pacing: Some(Pacing { most: Some(rate), ..pacing }),
                    ..tcp.clone()
                };
                let payload = tcp.mss;
                (TransportConfig::Tcp(tcp), payload)
            }
            _ => {
                return Err(Wrong::at(
                    at("transport"),
                    "is not TCP: write a TCP transport, or protocol = \"datagram\"",
                ));
            }
        },
        Protocol::Datagram => {
            let mut datagram =
                Datagram { rate: Some(Or::some(Speed(rate))), payload: None, ecn_capable: None };
            let datagram = datagram.resolve(key, context.keys)?;
            let payload = datagram.payload;
            (TransportConfig::Datagram(datagram), payload)
        }
    };
    shared.template.transport =
        context.transports.add(config, (protocol == Protocol::Tcp).then_some(named));
    let each = rate.0 as f64 * f64::from(connections) * framing(shared.template.transport, context);
    context.offers.push(Offer {
        block: index,
        key: at("rate"),
        from: Span(shared.start.0),
        to: None,
        sources: hosts.clone(),
        rate: each,
        reported: false,
    });
    let mut stream = shared.draws.stream(purpose::DESTINATION, 0);
    let count = hosts.len();
    let mut other = |place: usize| (place + 1 + stream.below(count as u64 - 1) as usize) % count;
    let pairs = match fill(&mut block.pairing, Pairing::Ring) {
        Pairing::Ring => (0..count).map(|i| (hosts[i], hosts[(i + 1) % count])).collect(),
        Pairing::Permutation => afflux_traffic::pairs::permutation(&hosts, &shared.draws)
            .map_err(|error| common::wrong(error, key))?,
        Pairing::Random => (0..count).map(|i| (hosts[i], hosts[other(i)])).collect(),
    };
    // Flow size that no run can send: as many segments as a connection can number.
    let endless = SizeDistribution::fixed(u64::from(payload) * (u64::from(u32::MAX) - 8))
        .map_err(|error| common::wrong(error, key))?;
    let jitter = fill(&mut block.jitter, Duration(Span::ZERO)).0;
    let pattern = Bulk {
        pairs,
        sizes: endless,
        start: shared.start,
        jitter,
        rounds: connections,
        period: Span::ZERO,
    };
    context.budget.reserve(pattern.expected_flows(), || at("connections"))?;
    pattern.generate(&shared.template, &shared.draws).map_err(|error| common::wrong(error, key))
}
