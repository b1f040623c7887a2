//! Link and sending rates in bits per second.

use crate::Span;
use crate::parse::{self, ParseError, Unit};
use std::fmt;
use std::str::FromStr;

const UNITS: &[Unit] = &[
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
];
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

/// A rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(pub u64);

impl Rate {
    pub const fn from_gbps(gbps: u64) -> Self {
        Rate(gbps * 1_000_000_000)
    }
    pub const fn from_mbps(mbps: u64) -> Self {
        Rate(mbps * 1_000_000)
    }
    /// Returns the time to serialise any number of bytes at this rate. For a frame (below 2^17
    /// bytes) it equals [`Pace::of`]. Times beyond the largest [`Span`] saturate.
    pub const fn serialize(self, bytes: u64) -> Span {
        if bytes < Pace::MOST {
            return Span(self.pace().of(bytes));
        }
        let time = (bytes as u128 * 8_000_000_000_000 + self.0 as u128 / 2) / self.0 as u128;
        Span(if time > u64::MAX as u128 { u64::MAX } else { time as u64 })
    }
    /// Returns this rate as a multiplier.
    pub const fn pace(self) -> Pace {
        assert!(self.0 > 0, "validated: no link without rate");
        const BYTE: u64 = 8_000_000_000_000;
        if BYTE.is_multiple_of(self.0) {
            return Pace { multiplier: BYTE / self.0, half: 0, shift: 0 };
        }
        // Use as many fractional bits as possible while the product with 2^17 bytes fits in 64
        // bits.
        let mut shift = 0;
        while shift < 40 && (8_000_000_000_000u128 << (shift + 1)) / (self.0 as u128) < (1 << 46) {
            shift += 1;
        }
        let multiplier = ((8_000_000_000_000u128 << shift) + self.0 as u128 / 2) / self.0 as u128;
        Pace {
            multiplier: multiplier as u64,
            half: if shift == 0 { 0 } else { 1 << (shift - 1) },
            shift,
        }
    }
    pub fn as_gbps(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Picoseconds per byte in fixed point. Exact for rates that divide 8 Tbps, which include all
/// Ethernet rates from 10 Gbps to 1.6 Tbps. For other rates each frame's time is rounded to the
/// nearest picosecond, from a product whose error is 2^-9 ps at 1 Mbps and smaller at higher rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    multiplier: u64,
    half: u64,
    shift: u32,
}

impl Pace {
    /// Number of bytes from which a product may not fit in 64 bits.
    const MOST: u64 = 1 << 17;

    /// Returns the time in ps of `bytes` below 2^17, as in frames. [`Rate::serialize`] handles
    /// larger numbers.
    #[inline(always)]
    pub const fn of(self, bytes: u64) -> u64 {
        debug_assert!(bytes < Self::MOST);
        (bytes * self.multiplier + self.half) >> self.shift
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(
            text,
            "rate",
            "a number with bps, kbps, Mbps, Gbps or Tbps, as in \"100Gbps\"",
            READ_UNITS,
        )
        .map(Rate)
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
        // Compares with exact division.
        for rate in
            [1_000_000, 3_000_000, 33_333_333_333, 7, 999_999_937, 2_666_666_667, 1_600_000_000_000]
        {
            for bytes in [1u64, 64, 1_500, 9_216, 65_535, 131_071] {
                let exact = (bytes as u128 * 8_000_000_000_000 + rate as u128 / 2) / rate as u128;
                let ours = Rate(rate).serialize(bytes).0 as u128;
                // Tolerance: one picosecond, or half a unit in the last of the multiplier's 45 or
                // more bits.
                assert!(
                    ours.abs_diff(exact) <= 1 + (exact >> 46),
                    "{rate} bps, {bytes} B: {ours}, exactly {exact}"
                );
            }
        }
        // Sizes far above a frame: blocks of files, buffers, flows.
        for rate in [1_200_000_000, 450_000_000_000, 100_000_000_000, 1_000_000, 7] {
            for bytes in [131_072u64, 1_000_000, 134_217_728, 10_000_000_000] {
                let exact = (bytes as u128 * 8_000_000_000_000 + rate as u128 / 2) / rate as u128;
                assert_eq!(
                    Rate(rate).serialize(bytes).0 as u128,
                    exact.min(u64::MAX.into()),
                    "{rate} bps, {bytes} B"
                );
            }
        }
        assert_eq!(Rate::from_mbps(300).serialize(1), Span(26_667));
        assert_eq!("2.5Gbps".parse(), Ok(Rate(2_500_000_000)));
        assert!("100GB".parse::<Rate>().is_err());
    }
}
