//! The settings.

use crate::transport::around::{Around, pace};
use afflux_config::{Or, Size, Speed, Unlimited, keys};
use afflux_units::Rate;

keys! {
    /// Datagrams at a constant rate. A flow is finished when every byte has arrived.
    pub struct Keys as "Datagram" => Config(around: &Around<'_>) {
        /// Rate of payload, or `"unlimited"`: as fast as the NIC.
        rate: Or<Unlimited, Speed> as Option<Rate> = "unlimited", check pace;
        /// Payload of a frame.
        payload: Size as u16 = (around.full()) "`mtu` less the profile's headers", check |size, at| around.payload(size, at);
        /// Frames are ECN-capable: marked, not dropped, by marking queues.
        ecn_capable: bool = false;
    }
}
