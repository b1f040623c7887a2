//! `[run]`: settings of the run, such as its end, seed, engine and threads.

use afflux_config::{Duration, Off, Or, Size, table};
use afflux_net::spec::{Compat, EngineKind, FctEnd};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

table! {
    /// Settings of the run.
    #[derive(Default)]
    pub struct Run {
        /// Simulated time at which the run stops. `"jobs"`: the run stops when all Hadoop jobs have
        /// ended and their logs are uploaded. `"off"`: it stops when no event is left. Default
        /// `"off"`.
        until: Or<Off, Until>,
        /// Warm-up time. Flows that start before it are left out of completion times, slowdowns and
        /// their parts. Counters (drops, marks, …) cover the whole run. Default `"0s"`.
        warmup: Duration,
        /// Seed of all random draws. Default 1.
        seed: u64,
        /// Event at which a flow counts as complete. Default `"last_ack"`.
        fct_end: FctEnd,
        /// Engine of the run; `"window_log"` and `"classical"` give the same results. Default `"window_log"`.
        engine: EngineKind,
        /// Worker threads; results do not depend on it. Default 1.
        threads: u32,
        /// Copy another simulator's deviations from papers and standards, to compare with it. Default: none: the papers' and standards' rules.
        compat: Compat,
        /// Simulated time without progress after which the run ends: flow control holds frames in
        /// the network, and no frame has left it for this time. The result says who waits for whom.
        /// `"off"`: the run goes on until `until`. Default `"10s"`.
        stall: Or<Off, Duration>,
        /// Upper bounds of the size classes of the summary, ascending; the last class is open. Default `["100kB", "10MB"]`.
        size_bounds: Vec<Size>,
        /// Limit of the process's resident memory, records included: a scenario that needs more is refused, and a run that reaches it ends. Default: the
        /// free memory of the machine.
        max_memory: Size,
    }
}

/// Condition that ends the run.
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
        let time =
            Duration::deserialize(IntoDeserializer::<D::Error>::into_deserializer(text.as_str()));
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
