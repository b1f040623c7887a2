//! Settings of the nack transport.

use crate::transport::key_context::{KeyContext, pace, time};
use afflux_config::{Duration, Or, Size, Speed, Unlimited, keys};
use afflux_units::{Rate, Span};

keys! {
    /// Datagrams at a fixed rate that does not depend on losses. Segments that the receiver reports
    /// missing are retransmitted at the same pace (as by Tsunami UDP, RBUDP and UDT, but without
    /// their rate adaptation). Flows should keep to one path, because overtaken segments are
    /// treated as lost.
    pub struct Keys as "Nack" => Nack(context: &KeyContext<'_>) {
        /// Payload rate, or `"unlimited"` for the rate of the NIC.
        rate: Or<Unlimited, Speed> as Option<Rate> = "unlimited", check pace;
        /// Payload of a full frame.
        payload: Size as u16 = (context.full()) "`mtu` less the profile's headers", check |size, at| context.payload(size, at);
        /// Time between two reports of all missing segments. A new gap is reported at once.
        report: Duration = (Duration(context.idle())) "the longest round trip of the idle fabric", check time;
        /// Time without a report after which the sender repeats the last segment, once all segments
        /// are sent. It doubles each time.
        timeout: Duration = (Duration(Span((2 * context.idle().0 + report.0).min(Span::from_s(60).0)))) "twice the longest round trip of the idle fabric, and `report`",
            check time;
    }
}
