//! Quantities with units: simulated time, byte counts, rates, probabilities.
//!
//! A quantity is parsed once, at the edge, into one of these types; nothing behind the edge handles a bare
//! number with a unit in somebody's head. Text forms: `"1us"`, `"100Gbps"`, `"9MB"` (decimal: 9,000,000 B),
//! `"9MiB"` (binary), `"20%"`.

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
