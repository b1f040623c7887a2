//! `deadline` of a `[[traffic]]` block: deadlines of its flows.

use afflux_config::{Duration, as_written, form, table};
use schemars::json_schema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer, MapAccess};
use serde::{Deserialize, Serialize};

/// One deadline for all flows, or a distribution of deadlines.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Deadline {
    Fixed(Duration),
    Drawn(DeadlineTable),
}

as_written!(Deadline);

table! {
    /// Deadlines drawn from an exponential distribution, independently for each source. With
    /// `kind = "partition_aggregate"`, every query has one deadline for all its answers.
    #[derive(Copy)]
    pub struct DeadlineTable {
        /// Mean of the distribution before the floor `least`. D3 and PDQ were studied with
        /// `"20ms"`.
        pub mean: Duration,
        /// Floor: a smaller draw is raised to this. Default `"0s"`; PDQ was studied with `"3ms"`.
        least: Duration,
    }
}

form! {
    Deadline<'de>, deserialize_any, "a time in quotes with its unit, as in \"1us\", or a table as in { mean = \"20ms\", least = \"3ms\" }" {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Deadline, E> {
            Duration::deserialize(text.into_deserializer()).map(Deadline::Fixed)
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Deadline, A::Error> {
            DeadlineTable::deserialize(MapAccessDeserializer::new(map)).map(Deadline::Drawn)
        }
    }
    |generator| {
        json_schema!({
            "description": "Deadlines of flows, from their start: a time for all, or a table of a distribution.",
            "anyOf": [generator.subschema_for::<Duration>(), generator.subschema_for::<DeadlineTable>()]
        })
    }
}
