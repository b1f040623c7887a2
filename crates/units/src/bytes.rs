//! Byte counts. Decimal prefixes are powers of ten, binary prefixes powers of two: `"9MB"` is
//! 9,000,000 B and `"9MiB"` is 9,437,184 B.

use crate::parse::{self, ParseError, Unit};
use std::fmt;
use std::str::FromStr;

const UNITS: &[Unit] =
    &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000)];
const READ_UNITS: &[Unit] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse::quantity(text, "size", "a number with B, kB, MB, GB, TB (powers of ten) or KiB, MiB, GiB, TiB (powers of two), as in \"9MB\"", READ_UNITS)
            .map(Bytes)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&parse::print(self.0, UNITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary() {
        assert_eq!("9MB".parse(), Ok(Bytes(9_000_000)));
        assert_eq!("9MiB".parse(), Ok(Bytes(9_437_184)));
        assert_eq!(Bytes(9_437_184).to_string(), "9437184B");
        assert_eq!(Bytes(1_500).to_string(), "1500B");
        assert!("-1kB".parse::<Bytes>().is_err());
        assert!("1Mb".parse::<Bytes>().is_err());
    }
}
