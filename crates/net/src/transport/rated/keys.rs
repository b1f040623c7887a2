//! Settings of PDQ and D3.

use crate::transport::key_context::KeyContext;
use afflux_config::keys::at_most_a_second;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Off, Or, Size, Speed, keys};
use afflux_units::{Bytes, Rate, Span};

keys! {
    /// PDQ (Hong, Caesar and Godfrey, SIGCOMM 2012): switches let the most critical flows of each
    /// link send at its rate and pause the others. All switches and the senders' own links take
    /// part. Both directions of a flow must take the same path.
    pub struct PdqKeys as "Pdq" => Pdq(context: &KeyContext<'_>) of written {
        /// Payload of a full segment.
        payload: Size as u16 = (Size(Bytes(payload_limit(context, written.header).into()))) "`mtu` less the profile's headers and `header`",
            check |size, at| payload_of(context, written.header, size, at);
        /// Size of the scheduling header on every frame, in both directions. pFabric's comparison
        /// has none.
        header: Size as u16 = "16B" from "four fields of four bytes", check |size, at| header_of(context, size, at);
        /// Smallest time-out.
        min_rto: Duration = "1ms" from "chosen for afflux; the paper gives none", check time;
        /// Round trip that switches assume. They recompute their capacity every two of these round
        /// trips.
        interval: Duration = (Duration(context.idle)) "the longest of the idle fabric", check time;
        /// End flows that can no longer meet their deadline (status `terminated`).
        early_termination: bool = true;
        /// Early start (K): flows that end within this many round trips in total do not delay the
        /// next flow. 0 switches it off.
        early_start: f64 = 2.0 from "the paper's", in 0.0 to 1000.0 as "a number of round trips from 0 to 1000";
        /// Suppressed probing (X): a paused flow probes every X round trips times its place in the
        /// list, but at most once per round trip. 0 switches it off.
        suppressed_probing: f64 = 0.2 from "the paper's", in 0.0 to 1000.0 as "a number of round trips from 0 to 1000";
        /// Smallest time between the starts of two paused flows.
        dampening: Duration = "10us" from "Aequitas; the paper gives none", check at_most_a_second;
        /// Largest number of flows in the list of a link (M).
        max_flows: u32 = 1000, in 2 to 1_000_000;
    }
}

keys! {
    /// D3 (Wilson et al., SIGCOMM 2011): flows request the rate that their deadline needs, once per
    /// round trip. Switches grant rates first come, first served.
    pub struct D3Keys as "D3" => D3(context: &KeyContext<'_>) of written {
        /// Payload of a frame.
        payload: Size as u16 = (Size(Bytes(payload_limit(context, written.header).into()))) "`mtu` less the profile's headers and `header`",
            check |size, at| payload_of(context, written.header, size, at);
        /// Size of the header on every frame.
        header: Size as u16 = "16B", check |size, at| header_of(context, size, at);
        /// Smallest time-out.
        min_rto: Duration = "1ms" from "chosen for afflux", check time;
        /// Round trip that switches assume. They correct their capacity once per round trip.
        interval: Duration = (Duration(context.idle)) "the longest of the idle fabric", check time;
        /// End flows whose deadline has passed, and flows that need more than the rate of their link (status `terminated`).
        quench: bool = true;
        /// Smallest rate that a flow is granted. A flow with only this rate sends one request
        /// without data per round trip.
        base_rate: Speed = (Speed(request(context, header, interval))) "such a frame per `interval`", check |Speed(rate), at| {
            if rate < LEAST_BASE_RATE || rate > MOST_BASE_RATE {
                Err(Wrong::at(at, format!("\"{rate}\": write a rate from {LEAST_BASE_RATE} to {MOST_BASE_RATE}")))
            } else {
                Ok(rate)
            }
        };
        /// Time without a request after which a link considers a flow as ended, so that lost SYNs,
        /// requests, answers and FINs have no lasting effect. `"off"`: as in the paper, the router
        /// does not know flows, and rates that are never returned stay allocated for ever.
        forget: Or<Off, Duration> as Option<Span> = (Or::some(Duration(Span(min_rto.0.saturating_mul(4))))) "four times `min_rto` (chosen for afflux)",
            check |forget, at| forget.0.map(|forget| time(forget, at)).transpose();
        /// Gain for unused capacity in a switch's estimate of its capacity.
        alpha: f64 = 0.1 from "the paper's", in 0.0 to 10.0;
        /// Gain for the queue in a switch's estimate of its capacity.
        beta: f64 = 1.0 from "the paper's", in 0.0 to 10.0;
    }
}

/// Range of `base_rate`. D3's headers carry rates as 32-bit numbers of kbit/s, up to 4.29 Tbps.
const LEAST_BASE_RATE: Rate = Rate(1_000);
const MOST_BASE_RATE: Rate = Rate(4_000_000_000_000);

/// Settings that PDQ and D3 have in common.
#[derive(Debug, Clone, Copy)]
pub struct Rated {
    pub payload: u16,
    pub header: u16,
    pub min_rto: Span,
    pub interval: Span,
    /// Whether flows whose deadline can no longer be met are given up.
    pub early_termination: bool,
}

impl Pdq {
    pub fn rated(&self) -> Rated {
        let &Pdq { payload, header, min_rto, interval, early_termination, .. } = self;
        Rated { payload, header, min_rto, interval, early_termination }
    }
}

impl D3 {
    pub fn rated(&self) -> Rated {
        let &D3 { payload, header, min_rto, interval, quench: early_termination, .. } = self;
        Rated { payload, header, min_rto, interval, early_termination }
    }
}

fn header_of(context: &KeyContext, Size(bytes): Size, key: Key) -> Result<u16, Wrong> {
    let most = (context.payload - 1).min(1_000);
    if bytes.0 > most.into() {
        Err(Wrong::at(key, format!("\"{bytes}\": write a size up to {most}B")))
    } else {
        Ok(bytes.0 as u16)
    }
}

fn payload_of(
    context: &KeyContext,
    header: Option<Size>,
    Size(bytes): Size,
    key: Key,
) -> Result<u16, Wrong> {
    let most = payload_limit(context, header);
    // A header that leaves no room is refused at its own key.
    if most == 0 || bytes.0 > 0 && bytes.0 <= most.into() {
        return Ok(bytes.0 as u16);
    }
    let header = header.map_or(Bytes(0), |header| header.0);
    Err(Wrong::at(
        key,
        format!(
            "\"{bytes}\": write a size from 1B to {most}B ({} and header = \"{header}\")",
            context.why
        ),
    ))
}

/// Returns the room for payload in a frame with this header, in bytes.
fn payload_limit(context: &KeyContext, header: Option<Size>) -> u16 {
    header.map_or(0, |header| u64::from(context.payload).saturating_sub(header.0.0) as u16)
}

fn time(Duration(span): Duration, key: Key) -> Result<Span, Wrong> {
    let right = span > Span::ZERO && span <= Span::from_s(10);
    if right {
        Ok(span)
    } else {
        Err(Wrong::at(key, format!("\"{span}\": write a time above 0 and up to 10s")))
    }
}

/// Returns the rate of one request without data per interval, rounded up to whole kilobits per
/// second.
fn request(context: &KeyContext, header: u16, interval: Span) -> Rate {
    let bits =
        u64::from((context.wire.ack + header).max(context.wire.min_frame) + context.wire.gap) * 8;
    Rate(
        ((u128::from(bits) * 1_000_000_000_000 / u128::from(interval.0)) as u64)
            .next_multiple_of(1_000),
    )
}
