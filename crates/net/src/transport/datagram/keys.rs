//! Settings of the datagram transport.

use crate::transport::key_context::{KeyContext, pace};
use afflux_config::{Or, Size, Speed, Unlimited, keys};
use afflux_units::Rate;

keys! {
    /// Datagrams at a constant rate. A flow is finished when every byte has arrived.
    pub struct Keys as "Datagram" => Config(context: &KeyContext<'_>) {
        /// Payload rate, or `"unlimited"` for the rate of the NIC.
        rate: Or<Unlimited, Speed> as Option<Rate> = "unlimited", check pace;
        /// Payload of a full frame.
        payload: Size as u16 = (context.full()) "`mtu` less the profile's headers", check |size, at| context.payload(size, at);
        /// Frames are ECN-capable, so marking queues mark them instead of dropping them.
        ecn_capable: bool = false;
    }
}
