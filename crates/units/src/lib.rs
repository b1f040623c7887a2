//! Quantities with units: simulated time, byte counts, rates, probabilities.
//!
//! Quantities are parsed at the input into one of these types, so that the rest of the code never
//! handles a bare number with an implied unit. Text forms: `"1us"`, `"100Gbps"`, `"9MB"` (decimal:
//! 9,000,000 B), `"9MiB"` (binary), `"20%"`.

mod bytes;
mod parse;
mod probability;
mod rate;
mod time;

pub use bytes::Bytes;
pub use parse::ParseError;
pub use probability::Probability;
pub use rate::{Pace, Rate};
pub use time::{Span, Time};
