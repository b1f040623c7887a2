//! `kind = "datagram"`: datagrams at a constant rate.

use super::block::{Place, Workload, pattern};
use super::hosts::HostItem;
use super::keys::BlockKeys;
use crate::validate::traffic::common::Shared;
use crate::validate::traffic::context::{Offer, TrafficContext};
use crate::validate::traffic::offered::framing;
use crate::validate::traffic::select;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Or, Size, Speed, keys};
use afflux_net::Model;
use afflux_net::spec::{Start, TransportConfig};
use afflux_net::transports;
use afflux_traffic::{ConstantRate, Generated};
use afflux_units::{Span, Time};

keys! {
    /// Datagrams at a constant rate. Nothing is acknowledged or retransmitted.
    pub struct Keys as "DatagramSource" => Datagram(context: &TrafficContext<'_>) {
        @flow: BlockKeys;
        /// `[[source, destination], …]`. Where a pattern or range means several hosts, each source sends to each destination.
        pairs: Vec<[HostItem; 2]> as Vec<(u32, u32)> = required, check |pairs, key| select::pairs(&pairs, &key, context.facts);
        /// Payload rate of each source.
        rate: Speed = required;
        /// Time during which each source sends. Default: required, or `bytes`.
        duration: Duration = none;
        /// Bytes that each source sends. Default: none: `duration` is required instead.
        bytes: Size = none;
        /// Payload of a frame. Default: `mtu` less the profile's headers.
        payload: Size = none;
        /// Whether frames are ECN-capable: marking queues then mark them instead of dropping them.
        ecn_capable: bool = false;
    }
}

impl Workload for Keys {
    fn generate(
        &mut self,
        mut shared: Shared,
        place: Place,
        context: &mut TrafficContext,
    ) -> Result<Generated, Wrong> {
        let Datagram { pairs, rate, duration, bytes, .. } = self.resolve(place.key, context)?;
        let mut transport = transports::Datagram {
            rate: Some(Or::some(Speed(rate))),
            payload: self.payload,
            ecn_capable: self.ecn_capable,
        };
        let config = transport.resolve(place.key, context.keys)?;
        self.payload = transport.payload;
        shared.template.transport = context.transports.add(TransportConfig::Datagram(config), None);
        let lasts = duration.or_else(|| {
            let bits = 8.0 * bytes?.0 as f64;
            Some(Span((bits / rate.0.max(1) as f64 * 1e12) as u64))
        });
        let from = Span(shared.start.0);
        let on_link = rate.0 as f64 * framing(shared.template.transport, context);
        context.offers.extend(pairs.iter().map(|(source, to)| Offer {
            block: place.index,
            key: place.at("rate"),
            from,
            to: lasts.map(|lasts| Span(from.0.saturating_add(lasts.0))),
            sent: vec![(*source, on_link)],
            received: vec![(*to, on_link)],
            reported: false,
        }));
        let generate = |duration| {
            let pattern = ConstantRate { pairs, rate, start: shared.start, duration };
            pattern.generate(&shared.template).map_err(|error| place.wrong(error))
        };
        match (duration, bytes) {
            (Some(Span::ZERO), _) => {
                Err(Wrong::at(place.at("duration"), "\"0s\": write a time above 0"))
            }
            (Some(duration), None) => generate(duration),
            (None, Some(bytes)) if bytes.0 > 0 => {
                // The duration is a placeholder: the exact number of bytes replaces the size that
                // follows from it.
                let mut given = generate(Span::from_us(1))?;
                given.flows.iter_mut().for_each(|flow| flow.bytes = bytes.0);
                debug_assert!(given.flows.iter().all(
                    |flow| flow.start == Start::At(Time::from_ns(shared.start.round_ns()))
                ));
                Ok(given)
            }
            (None, Some(_)) => Err(Wrong::at(place.at("bytes"), "\"0B\": write a size above 0")),
            (Some(_), Some(_)) => Err(Wrong::at(
                place.at("bytes"),
                "duration is given too: write only one of the two",
            )),
            (None, None) => {
                Err(Wrong::at(place.key.clone(), "the end is missing: write duration or bytes"))
            }
        }
    }
    fn size_key(&self) -> &'static str {
        if self.bytes.is_some() { "bytes" } else { "duration" }
    }
    fn has_own_transport(&self) -> bool {
        true
    }
}

pub const MODELS: &[Model] =
    &[pattern("constant_rate", "-", "one datagram flow per pair, bytes = rate * duration", "none")];
