//! Types of the keys that name hosts and flow sizes in `[[traffic]]`.

use afflux_config::{Size, as_written, form, table};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// One host by its number, or several as text: `"all"`, `"0-15"`, `"host3"`, `"host1*"`,
/// `"host1[2-8]"`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum HostItem {
    Number(u32),
    Text(String),
}

form! {
    HostItem<'de>, deserialize_any, "a host's number, or text as in \"all\", \"0-15\", \"host3\", \"host1*\" or \"host1[2-8]\"" {
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<HostItem, E> {
            u32::try_from(number).map(HostItem::Number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<HostItem, E> {
            Ok(HostItem::Text(text.to_string()))
        }
    }
    |_| {
        item_schema()
    }
}

/// Hosts, written as one item or as an array of items.
#[derive(Debug, Clone, PartialEq)]
pub struct Hosts(pub Vec<HostItem>);

form! {
    Hosts<'de>, deserialize_any, "hosts: \"all\", a number, text as in \"0-15\", \"host1*\" or \"host1[2-8]\", or an array of these" {
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Hosts, E> {
            u32::try_from(number).map(|n| Hosts(vec![HostItem::Number(n)])).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Hosts, E> {
            Ok(Hosts(vec![HostItem::Text(text.to_string())]))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Hosts, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(items)).map(Hosts)
        }
    }
    |_| {
        json_schema!({
            "description": "Hosts: \"all\", a number, a range of numbers as in \"0-15\", a name, a pattern of names as in \"host1*\", \"host1[2-8]\" or \"host[1,3]\", or an array of these.",
            "anyOf": [item_schema(), { "type": "array", "items": item_schema() }]
        })
    }
}
impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }
}

fn item_schema() -> Schema {
    json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }] })
}

/// Receiving hosts, or `"random"`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Receivers(pub Hosts);

impl<'de> Deserialize<'de> for Receivers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Hosts::deserialize(deserializer).map(Receivers)
    }
}
impl JsonSchema for Receivers {
    fn schema_name() -> Cow<'static, str> {
        "Receivers".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A host's number or name, a pattern as in \"db[1-4]\", an array of these, or \"random\".",
            "anyOf": [item_schema(), { "type": "array", "items": item_schema() }]
        })
    }
}

/// A single host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Receiver(pub HostItem);

impl<'de> Deserialize<'de> for Receiver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        HostItem::deserialize(deserializer).map(Receiver)
    }
}
impl JsonSchema for Receiver {
    fn schema_name() -> Cow<'static, str> {
        "Receiver".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A host's number or name, or a pattern that one host matches.",
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }]
        })
    }
}

/// Number of senders, or the hosts themselves (an array, or text as in `"0-15"`).
#[derive(Debug, Clone, PartialEq)]
pub enum Senders {
    Count(u32),
    These(Hosts),
}

impl Serialize for Senders {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Senders::Count(count) => count.serialize(serializer),
            // A single host is written as an array, because a bare number means a count.
            Senders::These(Hosts(hosts)) => hosts.serialize(serializer),
        }
    }
}

form! {
    Senders<'de>, deserialize_any, "a number of senders, or hosts as in [1, 2, 3] or \"1-15\"" {
        fn visit_i64<E: de::Error>(self, number: i64) -> Result<Senders, E> {
            u32::try_from(number).map(Senders::Count).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Senders, E> {
            Ok(Senders::These(Hosts(vec![HostItem::Text(text.to_string())])))
        }
        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Senders, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(items)).map(|items| Senders::These(Hosts(items)))
        }
    }
    |_| {
        json_schema!({
            "description": "A number of senders, or hosts as in [1, 2, 3], \"1-15\" or \"host[1-15]\".",
            "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string" }, { "type": "array", "items": item_schema() }]
        })
    }
}

as_written!(Hosts, Receivers, Receiver, Senders, Sizes);

/// Flow sizes: a word or a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Sizes {
    /// A built-in distribution, a size, or the path of a distribution file.
    Text(String),
    Table(SizeTable),
}

impl Sizes {
    /// Returns the path of the distribution file, if there is one.
    pub fn paths(slot: &mut Option<Sizes>) -> Vec<&mut String> {
        match slot {
            Some(Sizes::Table(table)) => table.file.as_mut().into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

table! {
    /// A distribution of flow sizes; give one of `file`, `fixed`, `min` with `max`, or `mean`.
    #[derive(Default)]
    pub struct SizeTable {
        /// A file of two columns, size and cumulative share (fraction or percent), or three (`size 1 cumulative`, ns-2). Default: none: one
        /// of `fixed`, `min` with `max`, and `mean` is required instead.
        file: String,
        /// SHA-256 of the file, hexadecimal: another content is refused. Default: the digest of the file that is found.
        sha256: String,
        /// Bytes per unit of the file's sizes. Default `"1B"`; most ns-2 files count packets of `"1460B"`.
        unit: Size,
        /// Round sizes up to whole units, as ns-2's scripts do with packets. Default `false`.
        whole_units: bool,
        /// Size of every flow. Default: none: one of `file`, `min` with `max`, and `mean` is
        /// required instead.
        fixed: Size,
        /// Smallest size of a uniform distribution from `min` to `max`, both included. Default:
        /// none: one of `file`, `fixed` and `mean` is required instead.
        min: Size,
        /// Largest size of a uniform distribution from `min` to `max`, both included. Default:
        /// none: one of `file`, `fixed` and `mean` is required instead.
        max: Size,
        /// Mean of an exponential distribution. Default: none: one of `file`, `fixed`, and `min`
        /// with `max` is required instead.
        mean: Size,
    }
}

form! {
    Sizes<'de>, deserialize_any, "the name of a built-in distribution, the path of a distribution file, a size as in \"1MB\", or a table" {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Sizes, E> {
            Ok(Sizes::Text(text.to_string()))
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
            SizeTable::deserialize(MapAccessDeserializer::new(map)).map(Sizes::Table)
        }
    }
    |generator| {
        let names = afflux_traffic::SizeDistribution::names();
        json_schema!({
            "description": "Sizes of flows: a built-in distribution, the path of a distribution file, a size as in \"1MB\" for all flows, or a table.",
            "anyOf": [{ "type": "string", "examples": names }, generator.subschema_for::<SizeTable>()]
        })
    }
}
