//! `[run]`: how to run.

use super::{Duration, Off, Or, Size};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// How to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Stop at this simulated time, or with `"jobs"` when all Hadoop jobs have ended and their logs are uploaded, or `"off"`: run until nothing is
    /// left to happen. Default `"off"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Or<Off, Until>>,
    /// Flows that start before this are left out of all statistics. Default `"0s"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Duration>,
    /// Seed of all random draws. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// When a flow counts as complete. Default `"last_ack"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fct_end: Option<FctEnd>,
    /// Which engine; `"window_log"` and `"classical"` give the same results. Default `"window_log"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// Worker threads; results do not depend on it. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Copy another simulator's deviations from papers and standards, to compare with it. Default: none, the papers' and standards' rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<Compat>,
    /// Upper bounds of the size classes of the summary, ascending; the last class is open. Default `["100kB", "10MB"]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bounds: Option<Vec<Size>>,
    /// Bound of the process's resident memory, records included: a scenario that needs more is refused, a run that comes to it ends. Default: what the
    /// machine has free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_memory: Option<Size>,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    Jobs,
    Time(Duration),
}

impl<'de> Deserialize<'de> for Until {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "jobs" {
            return Ok(Until::Jobs);
        }
        let time = Duration::deserialize(IntoDeserializer::<D::Error>::into_deserializer(text.as_str()));
        time.map(Until::Time).map_err(|error| de::Error::custom(format!("{error}, \"jobs\"")))
    }
}
impl Serialize for Until {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Until::Jobs => serializer.serialize_str("jobs"),
            Until::Time(time) => time.serialize(serializer),
        }
    }
}
impl JsonSchema for Until {
    fn schema_name() -> Cow<'static, str> {
        "Until".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "When to stop.", "anyOf": [generator.subschema_for::<Duration>(), { "const": "jobs" }] })
    }
}

/// When a flow counts as complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FctEnd {
    /// The last byte is acknowledged at the sender.
    LastAck,
    /// The last byte has been received.
    LastByte,
}

/// Whose deviations are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Compat {
    /// ConWeave's ns-3 (conweave-project/conweave-ns3 at 236a801): times on links and between frames are cut off to whole nanoseconds, switches
    /// without another hash choose among next hops by MurmurHash3 of addresses and ports as counted there, frames out of order are answered with
    /// a congestion notification, and IRN's sender ends its recovery at any acknowledgement without NACK, repeats everything that it does not
    /// know to be held, and forgets blocks that it has skipped.
    #[serde(rename = "conweave-ns3")]
    ConweaveNs3,
}

/// Which engine runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Logs of windows as long as the shortest crossing link delay: the fast one.
    WindowLog,
    /// A binary heap of events: the oracle.
    Classical,
    /// No packets: flows on one big switch, of which the one with the least left goes first (pFabric's Ideal). What transports, switches and links
    /// inside the fabric do has no effect; a completion time includes the idle path's latency.
    Ideal,
}
