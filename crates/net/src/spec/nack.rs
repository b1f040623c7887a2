//! Rate-based datagrams with negative acknowledgements.

use afflux_units::{Rate, Span};

/// Frames of `payload` bytes at `rate` (of payload), whatever is lost; what the receiver reports missing is sent again, in the same pace.
#[derive(Debug, Clone, PartialEq)]
pub struct Nack {
    /// `None`: as fast as the NIC.
    pub rate: Option<Rate>,
    pub payload: u16,
    /// How often the receiver reports everything that is missing. A gap is reported at once.
    pub report: Span,
    /// With everything sent the sender repeats its last segment when it has heard nothing for so long; doubled each time.
    pub timeout: Span,
}
