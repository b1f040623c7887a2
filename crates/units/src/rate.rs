//! Link and sending rates in bits per second.

use crate::Span;
use crate::parse::{self, ParseError, Unit};
use std::fmt;
use std::str::FromStr;

const UNITS: &[Unit] = &[("bps", 1), ("kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];
const READ_UNITS: &[Unit] = &[
    ("bps", 1),
    ("kbps", 1_000),
    ("Kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
];

/// Bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

impl Rate {
    pub const fn from_gbps(gbps: u64) -> Self {
        Rate(gbps * 1_000_000_000)
    }
    pub const fn from_mbps(mbps: u64) -> Self {
        Rate(mbps * 1_000_000)
    }
    /// Time to serialise `bytes` at this rate, rounded to the nearest picosecond (halves up). Exact for rates
    /// that divide 8 Tbps, which all Ethernet rates from 10 Gbps to 1.6 Tbps do.
    pub const fn serialize(self, bytes: u64) -> Span {
        Span(((bytes as u128 * 8_000_000_000_000 + self.0 as u128 / 2) / self.0 as u128) as u64)
    }
    /// Picoseconds per byte where that is a whole number.
    pub const fn whole_ps_per_byte(self) -> Option<u64> {
        if self.0 != 0 && 8_000_000_000_000 % self.0 == 0 { Some(8_000_000_000_000 / self.0) } else { None }
    }
    pub fn as_gbps(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "rate", "a number with bps, kbps, Mbps, Gbps or Tbps, as in \"100Gbps\"", READ_UNITS).map(Rate)
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&parse::print(self.0, UNITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialization() {
        assert_eq!(Rate::from_gbps(100).serialize(1_500), Span(120_000));
        assert_eq!(Rate::from_gbps(400).serialize(1_500), Span::from_ns(30));
        assert_eq!(Rate::from_gbps(100).whole_ps_per_byte(), Some(80));
        assert_eq!(Rate::from_mbps(300).whole_ps_per_byte(), None);
        assert_eq!(Rate::from_mbps(300).serialize(1), Span(26_667));
        assert_eq!("2.5Gbps".parse(), Ok(Rate(2_500_000_000)));
        assert!("100GB".parse::<Rate>().is_err());
    }
}
