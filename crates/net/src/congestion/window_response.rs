//! Summary of a congestion control's behaviour, for estimates without frames.

/// Multiplicative decrease of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Decrease {
    /// `part`: fraction of the window that the first decrease takes. `fades`: exponential decay of
    /// that fraction per round trip from then on; 0 means that the window is decreased only once.
    pub part: f64,
    pub fades: f64,
}

/// How slow start ends before any loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowStartExit {
    /// Window at that point: `times` the bytes that the path holds, which are increased by `burst`
    /// bytes first.
    pub times: f64,
    pub burst: f64,
    /// Growth of the window afterwards, as a fraction of the bytes sent.
    pub grows: f64,
}

/// Growth of a window below its limit after a decrease.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IncreaseRule {
    /// The window grows at once to what the links allow.
    AtOnce,
    /// The window grows by this many bytes per round trip.
    PerRoundTrip(f64),
    /// CUBIC (RFC 9438): the cubic curve or the growth of standard TCP, whichever is faster. `c` is
    /// in segments.
    Cubic { c: f64, beta: f64 },
}

impl IncreaseRule {
    /// Returns the growth of the window in bytes per second. `before`: window in bytes before the
    /// decrease.
    pub fn per_second(&self, payload: f64, round_trip: f64, before: f64) -> f64 {
        match *self {
            IncreaseRule::AtOnce => f64::INFINITY,
            IncreaseRule::PerRoundTrip(bytes) => bytes / round_trip,
            IncreaseRule::Cubic { c, beta } => {
                let lost = (1.0 - beta) * before / payload;
                let friendly = 3.0 * (1.0 - beta) / (1.0 + beta) / round_trip;
                // Average growth until the window is back at its former size: RFC 9438 §4.2, K =
                // cbrt(lost / C).
                payload * friendly.max(lost / libm::cbrt(lost / c).max(round_trip))
            }
        }
    }
}
