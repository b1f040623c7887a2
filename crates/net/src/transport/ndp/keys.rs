//! The settings.

use crate::transport::around::{Around, time};
use afflux_config::{Duration, Size, keys};
use afflux_units::Span;

keys! {
    /// NDP (Handley et al. 2017): a first window at once, then one frame for each pull of the receiver. It needs switches that trim: `[switch] trimming`.
    pub struct Keys as "Ndp" => NdpConfig(around: &Around<'_>) {
        /// Payload of a frame.
        payload: Size as u16 = (around.full()) "`mtu` less the profile's headers", check |size, at| around.payload(size, at);
        /// Frames that are sent before anything is heard. No more are ever under way.
        initial_window: u32 = (around.window()) "what the longest idle round trip holds", in 1 to 1_000_000;
        /// Pulls of a host, as a share of what its link carries. htsim leaves room for a header, and a hundredth.
        pull_rate: f64 = 1.0 from "paper", in 0.01 to 1.0;
        /// Each frame takes a path of its own.
        spread: bool = true;
        /// A sender that hears nothing for so long sends again what is outstanding; twice as long each further time.
        rto: Duration = (Duration(Span(4 * around.idle().0).max(Span::from_ms(1)))) "1 ms, at least four idle round trips", check time;
    }
}
