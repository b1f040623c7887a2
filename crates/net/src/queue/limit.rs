//! Limits on the length of a queue, in bytes or packets.

use afflux_config::keys::Quantity;
use afflux_config::schemars::json_schema;
use afflux_config::serde::de::Error;
use afflux_config::serde::{Serialize, Serializer};
use afflux_config::{form, words};
use afflux_units::{Bytes, ParseError};
use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub enum Limit {
    Bytes(u64),
    Packets(u32),
}

words! {
    /// Whether a limit takes effect at a length of exactly the limit.
    #[derive(Default)]
    pub enum Compare {
        /// Takes effect only above the limit.
        #[default]
        Above,
        /// Takes effect at the limit and above.
        AtOrAbove,
    }
}

/// Length of a queue in bytes or packets: `"225kB"`, `"100packets"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueSize(pub Limit);

impl FromStr for QueueSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let digits = trimmed
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '_' | '.')))
            .unwrap_or(trimmed.len());
        if matches!(trimmed[digits..].trim(), "packets" | "packet" | "pkts") {
            return match trimmed[..digits].replace('_', "").parse() {
                Ok(packets) => Ok(QueueSize(Limit::Packets(packets))),
                Err(_) => Err(format!(
                    "\"{text}\" is not a number of packets: write a whole number, as in \"100packets\""
                )),
            };
        }
        let words = |error: ParseError| {
            let text = error.to_string().replace('`', "\"");
            // A message that says how to write a size goes on with packets.
            let more =
                if text.contains(": write") { ", or packets, as in \"100packets\"" } else { "" };
            text + more
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
        fn visit_str<E: Error>(self, text: &str) -> Result<QueueSize, E> {
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
impl Quantity for QueueSize {
    type Parsed = Limit;
    fn parsed(self) -> Limit {
        self.0
    }
}
