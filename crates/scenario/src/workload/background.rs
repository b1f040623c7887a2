//! `kind = "background"`: traffic of limited rate until the end of the run.

use super::block::{Place, Workload, pattern};
use super::hosts::Hosts;
use super::keys::FlowKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::{Offer, TrafficContext};
use crate::validate::traffic::offered::framing;
use crate::validate::traffic::{by_host, mtu, select};
use afflux_config::keys::{at_most_a_day, meaningless};
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Or, Speed, keys, words};
use afflux_net::Model;
use afflux_net::spec::{Pacing, TcpConfig, TransportConfig};
use afflux_net::transports::Datagram;
use afflux_traffic::{Bulk, Draws, Generated, SizeDistribution, TrafficError, purpose};
use afflux_units::{Rate, Span};

keys! {
    /// Traffic of limited rate between hosts until the end of the run, which needs `[run] until`.
    pub struct Keys as "Background" => Background(context: &TrafficContext<'_>) {
        @flow: FlowKeys;
        /// How the traffic is sent. With `"tcp"` each pair has one long connection whose source
        /// hands over data at the rate (as `iperf3 --fq-rate` does: Linux's `SO_MAX_PACING_RATE`);
        /// with `"datagram"` it sends datagrams, and `transport` has no effect.
        protocol: Protocol = "tcp";
        /// Payload rate: of all sources together, or of each source with `per = "node"`.
        rate: Speed = required;
        /// Whether `rate` is per host or for all hosts together.
        per: Per = "total";
        /// Hosts that take part.
        hosts: Hosts as Vec<u32> = "all", check select::of(context);
        /// Choice of destinations.
        pairing: Pairing = "ring";
        /// Connections per source, which share its rate.
        connections: u32 = 1, in 1 to 1000;
        /// Longest delay of a connection or datagram source: each starts at a uniformly drawn time
        /// up to this after `start`.
        jitter: Duration = "0s", check at_most_a_day;
    }
}

words! {
    /// Protocol of background traffic:
    pub enum Protocol {
        /// Long connections.
        Tcp,
        /// Datagrams at a constant rate.
        Datagram,
    }
    /// Senders to which a rate applies.
    pub enum Per {
        /// Each sending host.
        Node,
        /// All sending hosts together.
        Total,
    }
    /// Choice of destinations.
    pub enum Pairing {
        /// Each host sends to the next one, the last to the first.
        Ring,
        /// The hosts send by a drawn permutation without fixed points.
        Permutation,
        /// Each host sends to another one, drawn independently.
        Random,
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        mut shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        if self.protocol == Some(Protocol::Datagram) && self.flow.transport.is_some() {
            return Err(meaningless(place.at("transport"), "protocol = \"datagram\""));
        }
        let of_block = shared.template.transport;
        shared.template.transport = mtu::of_all(of_block, context)?;
        if context.run.until.is_none() && !context.run.until_done {
            return Err(Wrong::at(
                place.key.clone(),
                "background traffic does not end: write [run] until = \"jobs\" or a time",
            ));
        }
        let Background { protocol, rate: all, per, hosts, pairing, connections, jitter, .. } =
            self.resolve(place.key, context)?;
        if hosts.len() < 2 {
            let what = "one host has no destination: write at least two";
            return Err(Wrong::at(place.at("hosts"), what));
        }
        if protocol == Protocol::Tcp {
            by_host::must_be_alike(
                of_block,
                hosts.iter().copied(),
                context,
                place.at("transport"),
            )?;
        }
        let sharers =
            u64::from(connections) * if per == Per::Total { hosts.len() as u64 } else { 1 };
        let rate = Rate(all.0 / sharers);
        if rate.0 == 0 {
            return Err(Wrong::at(
                place.at("rate"),
                format!("\"{all}\" shared by {sharers} is less than one bit per second"),
            ));
        }
        let named = shared.template.transport;
        let (config, payload) = match protocol {
            Protocol::Tcp => match &context.transports.configs[usize::from(named)] {
                TransportConfig::Tcp(tcp) => {
                    let pacing = tcp.pacing.unwrap_or(Pacing {
                        most: None,
                        slow_start_percent: 200,
                        avoidance_percent: 120,
                    });
                    let pacing = Some(Pacing { most: Some(rate), ..pacing });
                    (TransportConfig::Tcp(TcpConfig { pacing, ..tcp.clone() }), tcp.mss)
                }
                _ => {
                    return Err(Wrong::at(
                        place.at("transport"),
                        "is not TCP: write a TCP transport, or protocol = \"datagram\"",
                    ));
                }
            },
            Protocol::Datagram => {
                let rate = Some(Or::some(Speed(rate)));
                let mut datagram = Datagram { rate, payload: None, ecn_capable: None };
                let datagram = datagram.resolve(place.key, context.keys)?;
                let payload = datagram.payload;
                (TransportConfig::Datagram(datagram), payload)
            }
        };
        let origin = (protocol == Protocol::Tcp).then_some(named);
        shared.template.transport = context.transports.add(config, origin);
        let framing = framing(shared.template.transport, context);
        let each = rate.0 as f64 * f64::from(connections) * framing;
        context.offers.push(Offer {
            block: place.index,
            key: place.at("rate"),
            from: Span(shared.start.0),
            to: None,
            sent: hosts.iter().map(|host| (*host, each)).collect(),
            received: Vec::new(),
            reported: false,
        });
        let wrong = |error| place.wrong(error);
        let pairs = pairing.pairs(&hosts, &shared.draws).map_err(wrong)?;
        // Flow size that no run can send: as many segments as a connection can number.
        let endless = SizeDistribution::fixed(u64::from(payload) * (u64::from(u32::MAX) - 8))
            .map_err(wrong)?;
        let pattern = Bulk {
            pairs,
            sizes: endless,
            start: shared.start,
            jitter,
            rounds: connections,
            period: Span::ZERO,
        };
        context.budget.reserve(pattern.expected_flows(), || place.at("connections"))?;
        pattern.generate(&shared.template, &shared.draws).map_err(wrong)
    }
    fn names_transport(&self) -> bool {
        self.protocol != Some(Protocol::Datagram)
    }
    fn ends_with_jobs(&self) -> bool {
        true
    }
}

impl Pairing {
    /// Returns the hosts with their destinations. There are at least two hosts.
    fn pairs(self, hosts: &[u32], draws: &Draws) -> Result<Vec<(u32, u32)>, TrafficError> {
        let count = hosts.len();
        let mut stream = draws.stream(purpose::DESTINATION, 0);
        let mut other =
            |place: usize| (place + 1 + stream.below(count as u64 - 1) as usize) % count;
        Ok(match self {
            Pairing::Ring => (0..count).map(|i| (hosts[i], hosts[(i + 1) % count])).collect(),
            Pairing::Permutation => return afflux_traffic::pairs::permutation(hosts, draws),
            Pairing::Random => (0..count).map(|i| (hosts[i], hosts[other(i)])).collect(),
        })
    }
}

pub const MODELS: &[Model] = &[pattern(
    "background",
    "iperf3 with --fq-rate (SO_MAX_PACING_RATE), or UDP at a constant rate",
    "long TCP connections whose source is paced to its share of the rate; they are cut off when the run ends",
    "a source that the network has held back does not catch up, and does not stop at its own buffer",
)];
