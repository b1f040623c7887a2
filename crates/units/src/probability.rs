//! Probabilities: `0.01` or `"1%"`.

use crate::ParseError;
use std::fmt;
use std::str::FromStr;

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Probability(f64);

impl Probability {
    pub const ZERO: Probability = Probability(0.0);
    pub const ONE: Probability = Probability(1.0);

    /// Returns `None` for values outside 0…1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Probability(value))
    }
    pub fn get(self) -> f64 {
        self.0
    }
    /// Returns the probability that at least one of two independent events happens.
    pub fn or(self, other: Probability) -> Self {
        Probability((self.0 + other.0 - self.0 * other.0).min(1.0))
    }
    /// Returns the probability as a threshold for a uniform 64-bit draw: the event happens if `draw
    /// < threshold`. `None`: the event always happens.
    pub fn threshold(self) -> Option<u64> {
        (self.0 < 1.0).then_some((self.0 * 18_446_744_073_709_551_616.0) as u64)
    }
}

impl FromStr for Probability {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let malformed = || ParseError::Malformed {
            found: text.to_string(),
            what: "probability",
            expected: "a number from 0 to 1, or a percentage as in \"1%\"",
        };
        let trimmed = text.trim();
        let (number, scale) =
            trimmed.strip_suffix('%').map_or((trimmed, 1.0), |n| (n.trim(), 100.0));
        let value: f64 = number.parse().map_err(|_| malformed())?;
        Probability::new(value / scale).ok_or_else(malformed)
    }
}
impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads() {
        assert_eq!("1%".parse(), Ok(Probability(0.01)));
        assert_eq!("0.2".parse(), Ok(Probability(0.2)));
        assert!("120%".parse::<Probability>().is_err());
        assert!("-0.1".parse::<Probability>().is_err());
        assert_eq!(Probability::ONE.threshold(), None);
        assert_eq!(Probability::ZERO.threshold(), Some(0));
    }
}
