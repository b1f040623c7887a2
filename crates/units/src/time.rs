//! Simulated time: whole picoseconds in a `u64` (213 days). A byte is a whole number of picoseconds at every
//! Ethernet rate from 10 Gbps to 1.6 Tbps.

use crate::parse::{self, ParseError, Unit};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

const UNITS: &[Unit] =
    &[("ps", 1), ("ns", 1_000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];
const READ_UNITS: &[Unit] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];

/// A length of time in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub u64);

/// An instant, in picoseconds since the start of the simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Span {
    pub const ZERO: Span = Span(0);
    pub const fn from_ns(ns: u64) -> Self {
        Span(ns * 1_000)
    }
    pub const fn from_us(us: u64) -> Self {
        Span(us * 1_000_000)
    }
    pub const fn from_ms(ms: u64) -> Self {
        Span(ms * 1_000_000_000)
    }
    pub const fn from_s(s: u64) -> Self {
        Span(s * 1_000_000_000_000)
    }
    /// Returns nanoseconds, rounded to the nearest (halves up).
    pub const fn round_ns(self) -> u64 {
        (self.0 + 500) / 1_000
    }
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl Time {
    pub const ZERO: Time = Time(0);
    /// Latest time of a run, 160 h. The window log has room for times below 2^60 ps (13 days), and
    /// half of that is left for what is still under way at the end.
    pub const LATEST: Time = Time(160 * 3_600 * 1_000_000_000_000);
    pub const fn from_ns(ns: u64) -> Self {
        Time(ns * 1_000)
    }
    pub const fn round_ns(self) -> u64 {
        (self.0 + 500) / 1_000
    }
    /// Returns the time since `earlier`. Panics if `earlier` is later.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}
impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        self.since(earlier)
    }
}
impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}
impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}
impl FromStr for Span {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(
            text,
            "time",
            "a number with ps, ns, us, ms, s, min or h, as in \"1us\"",
            READ_UNITS,
        )
        .map(Span)
    }
}
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&parse::print(self.0, UNITS))
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        assert_eq!("1us".parse(), Ok(Span::from_us(1)));
        assert_eq!("0.1us".parse(), Ok(Span::from_ns(100)));
        assert_eq!("2.5 µs".parse(), Ok(Span::from_ns(2_500)));
        assert_eq!(Span::from_ns(2_500).to_string(), "2500ns");
        assert_eq!(Span::ZERO.to_string(), "0ps");
        assert_eq!(Span(1_499).round_ns(), 1);
        assert_eq!(Span(1_500).round_ns(), 2);
    }

    #[test]
    fn refuses_what_is_not_a_time() {
        for (text, says) in [
            ("1", "wrong unit"),
            ("5Gbps", "wrong unit"),
            ("-1us", "negative"),
            ("us", "not a time"),
            ("1.2.3us", "not a time"),
            ("99999999999s", "too large"),
        ] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
