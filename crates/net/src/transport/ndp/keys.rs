//! Settings of the NDP transport.

use crate::transport::key_context::{KeyContext, time};
use afflux_config::{Duration, Size, keys};
use afflux_units::Span;

keys! {
    /// NDP (Handley et al. 2017): the sender sends a first window at once, then one frame for each
    /// pull of the receiver. NDP needs `[switch] trimming`.
    pub struct Keys as "Ndp" => NdpConfig(context: &KeyContext<'_>) {
        /// Payload of a full frame.
        payload: Size as u16 = (context.full()) "`mtu` less the profile's headers", check |size, at| context.payload(size, at);
        /// Number of frames sent before the first answer. It also limits the frames in flight.
        initial_window: u32 = (context.window()) "what the longest idle round trip holds", in 1 to 1_000_000;
        /// Rate of a host's pulls, as a fraction of its link's rate. htsim subtracts the header and
        /// 1 %.
        pull_rate: f64 = 1.0 from "paper", in 0.01 to 1.0;
        /// Each frame takes its own path.
        spread: bool = true;
        /// Time without an answer after which a sender retransmits all outstanding frames. It
        /// doubles each time.
        rto: Duration = (Duration(Span(4 * context.idle().0).max(Span::from_ms(1)))) "1 ms, at least four idle round trips", check time;
    }
}
