//! `[switch] balance`: choice among equal-cost next hops, as a word or as a table with `kind`.

use super::choice::Kind;
use super::{Duration, Off, Or};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub enum Balance {
    /// One path per flow by hash; every switch hashes with a seed of its own.
    Ecmp,
    /// As `ecmp`, but all switches hash alike (polarisation).
    EcmpSameSeed,
    /// Every frame draws a next hop.
    Spray,
    /// Rerouting at the source's ToR, reordering at the destination's.
    Conweave(Conweave),
}

/// ConWeave (SIGCOMM 2023). The defaults are those of the leaf-spine fabrics of its authors' simulations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conweave {
    /// An RTT_REPLY is late after the path's propagation there and back and this; then the flow is rerouted. Default `"4us"`: 8 us (theta_reply)
    /// over two hops of 1 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_extra: Option<Duration>,
    /// A path of which a marked frame has come is avoided for so long (theta_path_busy). Default `"16us"`, as in the authors' runs; the paper's
    /// rule is the time to send `kmin`: 8 us for 100 kB at 100 Gb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_busy: Option<Duration>,
    /// A flow that was silent for longer may take another path at once (theta_inactive). Default `"300us"`; on the authors' fat-trees 1 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inactive: Option<Duration>,
    /// Reordered frames are released so long after the TAIL should have come. Default `"16us"`; on lossless fat-trees 64 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_extra: Option<Duration>,
    /// How long a TAIL is waited for if no frame of the old path has been seen in its epoch, beside `flush_extra`. Default `"200us"`; on
    /// fat-trees 300 us (IRN) and 600 us (lossless).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_wait: Option<Duration>,
    /// A ToR forgets a flow that was silent for longer. Default `"2ms"`, as in the authors' simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<Duration>,
    /// Reorder queues of each port: a rerouted flow that finds none free goes on out of order. Default 24: the authors' Tofino2 at 100 Gb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder_queues: Option<u16>,
    /// `"conweave-ns3"`: as in the authors' ns-3, where epochs have any number of bits, the header takes no room, reorder queues have no bound and
    /// take no memory until they are released, 1 ns after the TAIL. Default `"off"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<Or<Off, ConweaveCompat>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConweaveCompat {
    #[serde(rename = "conweave-ns3")]
    ConweaveNs3,
}

const KINDS: &[&str] = &["ecmp", "ecmp_same_seed", "spray", "conweave"];

impl<'de> Deserialize<'de> for Balance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Forms;
        impl<'de> Visitor<'de> for Forms {
            type Value = Balance;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word, or a table with the key \"kind\"")
            }
            fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Balance, A::Error> {
                let (kind, rest) = access.variant_seed(Kind(KINDS))?;
                match KINDS[kind] {
                    "ecmp" => rest.unit_variant().map(|()| Balance::Ecmp),
                    "ecmp_same_seed" => rest.unit_variant().map(|()| Balance::EcmpSameSeed),
                    "spray" => rest.unit_variant().map(|()| Balance::Spray),
                    "conweave" => rest.newtype_variant().map(Balance::Conweave),
                    _ => unreachable!("a kind outside the list"),
                }
            }
        }
        deserializer.deserialize_enum("", KINDS, Forms)
    }
}

impl Serialize for Balance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        enum Table<'a> {
            Conweave(&'a Conweave),
        }
        match self {
            Balance::Ecmp => serializer.serialize_str("ecmp"),
            Balance::EcmpSameSeed => serializer.serialize_str("ecmp_same_seed"),
            Balance::Spray => serializer.serialize_str("spray"),
            Balance::Conweave(table) => Table::Conweave(table).serialize(serializer),
        }
    }
}

impl JsonSchema for Balance {
    fn schema_name() -> Cow<'static, str> {
        "Balance".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        /// Tables by `kind`.
        #[derive(JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        #[allow(dead_code)]
        enum Table {
            /// Rerouting at the source's ToR, reordering at the destination's.
            Conweave(Conweave),
        }
        let table = Table::json_schema(generator);
        json_schema!({
            "description": "Choice among equal-cost next hops.",
            "anyOf": [
                { "const": "ecmp", "description": "One path per flow by hash; every switch hashes with a seed of its own." },
                { "const": "ecmp_same_seed", "description": "As `ecmp`, but all switches hash alike (polarisation)." },
                { "const": "spray", "description": "Every frame draws a next hop." },
                table
            ]
        })
    }
}
