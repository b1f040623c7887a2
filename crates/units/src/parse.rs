//! Parser of texts that consist of a number and a unit.

use thiserror::Error;

/// Reason why a quantity could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    #[error("`{found}` is not a {what}: write {expected}")]
    Malformed { found: String, what: &'static str, expected: &'static str },
    #[error("`{found}` has the wrong unit for a {what}: write {expected}")]
    WrongUnit { found: String, what: &'static str, expected: &'static str },
    #[error("`{found}` is negative: write a {what} of 0 or more")]
    Negative { found: String, what: &'static str },
    #[error("`{found}` is too large for a {what}: write less")]
    TooLarge { found: String, what: &'static str },
}

/// One unit: its spelling, and its size in base units.
pub(crate) type Unit = (&'static str, u128);

/// Parses `text` as a decimal number followed by one of `units`. The value is rounded to the
/// nearest whole base unit. All arithmetic is decimal, so `"0.1us"` is exactly 100,000 ps.
pub(crate) fn quantity(
    text: &str,
    what: &'static str,
    expected: &'static str,
    units: &[Unit],
) -> Result<u64, ParseError> {
    let found = || text.to_string();
    let malformed = || ParseError::Malformed { found: found(), what, expected };
    let trimmed = text.trim();
    let split = trimmed
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+')))
        .unwrap_or(trimmed.len());
    // Exponents ("1e6") are not accepted: units express the scale.
    let (number, unit) = (trimmed[..split].replace('_', ""), trimmed[split..].trim());
    if number.is_empty() {
        return Err(malformed());
    }
    if number.starts_with('-') {
        return Err(ParseError::Negative { found: found(), what });
    }
    let number = number.strip_prefix('+').unwrap_or(&number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.chars().all(|c| c.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return Err(malformed());
    }
    let Some(&(_, scale)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(ParseError::WrongUnit { found: found(), what, expected });
    };
    let too_large = || ParseError::TooLarge { found: found(), what };
    if whole.len() > 20 || fraction.len() > 18 {
        return Err(too_large());
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| malformed())? };
    let mut value = whole.checked_mul(scale).ok_or_else(too_large)?;
    if !fraction.is_empty() {
        let power = 10u128.pow(fraction.len() as u32);
        let part: u128 = fraction.parse().map_err(|_| malformed())?;
        value += (part * scale + power / 2) / power;
    }
    u64::try_from(value).map_err(|_| too_large())
}

/// Prints `value` in the largest of `units` (sorted from small to large) that divides it without a remainder.
pub(crate) fn print(value: u64, units: &[Unit]) -> String {
    let (name, scale) = units
        .iter()
        .rev()
        .find(|(_, scale)| value as u128 >= *scale && (value as u128).is_multiple_of(*scale))
        .unwrap_or(&units[0]);
    format!("{}{}", value as u128 / scale, name)
}
