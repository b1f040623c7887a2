//! Queue lengths in scenario files: text with a unit.

use afflux_config::form;
use afflux_net::spec::Limit;
use afflux_units::{Bytes, ParseError};
use schemars::json_schema;
use serde::de;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Length of a queue in bytes or packets: `"225kB"`, `"100packets"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueSize(pub Limit);

impl FromStr for QueueSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let digits =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '_')).unwrap_or(trimmed.len());
        if matches!(trimmed[digits..].trim(), "packets" | "packet" | "pkts") {
            return match trimmed[..digits].replace('_', "").parse() {
                Ok(packets) => Ok(QueueSize(Limit::Packets(packets))),
                Err(_) => Err(format!(
                    "\"{text}\" is not a number of packets: write a whole number, as in \"100packets\""
                )),
            };
        }
        let words = |error: ParseError| {
            format!("{}, or packets, as in \"100packets\"", error.to_string().replace('`', "\""))
        };
        trimmed.parse().map(|Bytes(bytes)| QueueSize(Limit::Bytes(bytes))).map_err(words)
    }
}
impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Limit::Bytes(bytes) => Bytes(bytes).fmt(f),
            Limit::Packets(packets) => write!(f, "{packets}packets"),
        }
    }
}
form! {
    QueueSize<'de>, deserialize_str, "a size in quotes with its unit, as in \"9MB\", or packets, as in \"100packets\"" {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<QueueSize, E> {
            text.parse().map_err(E::custom)
        }
    }
    |_| {
        json_schema!({
            "type": "string",
            "pattern": r"^\s*\+?[0-9_.]+\s*(B|[kKMGT]B|[KMGT]iB|packets|packet|pkts)\s*$",
            "description": "A length of a queue: a size as in \"225kB\", or packets as in \"100packets\"."
        })
    }
}
impl Serialize for QueueSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
