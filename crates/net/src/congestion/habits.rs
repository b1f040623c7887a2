//! What an estimate without frames has to know of a congestion control.

/// What congestion takes from a window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cut {
    /// The part that the first one takes, and by how much less it is with each round trip from then on; 0: it is taken once.
    pub part: f64,
    pub fades: f64,
}

/// How a slow start ends before anything is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Early {
    /// The window then: so many times what the path holds and `burst` more bytes.
    pub times: f64,
    pub burst: f64,
    /// The part of what is sent by which the window grows from then on.
    pub grows: f64,
}

/// How a window grows that is not at its limit, once it has been cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Growth {
    /// To what the links give.
    AtOnce,
    /// By so many bytes in each round trip.
    PerRoundTrip(f64),
    /// RFC 9438: the curve, and where that is more, what standard TCP would do. `c` in segments.
    Cubic { c: f64, beta: f64 },
}

impl Growth {
    /// Bytes that the window grows by in a second. `before` is the window before it was cut.
    pub fn per_second(&self, payload: f64, round_trip: f64, before: f64) -> f64 {
        match *self {
            Growth::AtOnce => f64::INFINITY,
            Growth::PerRoundTrip(bytes) => bytes / round_trip,
            Growth::Cubic { c, beta } => {
                let lost = (1.0 - beta) * before / payload;
                let friendly = 3.0 * (1.0 - beta) / (1.0 + beta) / round_trip;
                // On average until it is where it was: RFC 9438 §4.2, K = cbrt(lost / C).
                payload * friendly.max(lost / libm::cbrt(lost / c).max(round_trip))
            }
        }
    }
}
