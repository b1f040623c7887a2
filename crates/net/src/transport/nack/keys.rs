//! The settings.

use crate::transport::around::{Around, pace, time};
use afflux_config::{Duration, Or, Size, Speed, Unlimited, keys};
use afflux_units::{Rate, Span};

keys! {
    /// Datagrams at a rate of the sender's own, whatever is lost; what the receiver reports missing is sent again, in the same pace (as Tsunami UDP, RBUDP
    /// and UDT do, without their adaptation of the rate). Flows should keep to one path: what is overtaken is taken for lost.
    pub struct Keys as "Nack" => Nack(around: &Around<'_>) {
        /// Rate of payload, or `"unlimited"`: as fast as the NIC.
        rate: Or<Unlimited, Speed> as Option<Rate> = "unlimited", check pace;
        /// Payload of a frame.
        payload: Size as u16 = (around.full()) "`mtu` less the profile's headers", check |size, at| around.payload(size, at);
        /// How often the receiver reports everything that is missing; a gap is reported at once.
        report: Duration = (Duration(around.idle())) "the longest round trip of the idle fabric", check time;
        /// When all has been sent, the last segment is repeated after so long without a report; twice as long each further time.
        timeout: Duration = (Duration(Span((2 * around.idle().0 + report.0).min(Span::from_s(60).0)))) "twice the longest round trip of the idle fabric, and `report`",
            check time;
    }
}
