//! Parts of `[topology]` that several kinds of fabric share: names of nodes, links, and changes to
//! single links.

use afflux_config::{Chance, Duration, Names, Size, Speed, as_written, keys, table};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

keys! {
    /// Names of the nodes.
    pub struct NameKeys as "NodeNames" => NodeNames {
        /// Names of the hosts in their order, or tables of name and addresses: all of them or none. Default: `host0`, `host1` ….
        hosts: Vec<HostName> = none;
        /// Names of the switches in their order, all of them or none. Default: those of the kind, with numbers from 0.
        switches: Vec<String> = none;
    }
}

keys! {
    /// Changes to single links.
    pub struct ChangeKeys as "LinkChanges" => LinkChanges {
        /// Links with another rate, delay or MTU. Default: none: all links are as the keys
        /// above say.
        overrides "override": Vec<LinkOverride> = none;
        /// Links that lose frames or are down for a time. Default: none: all links work.
        faults "fault": Vec<Fault> = none;
    }
}

/// Defines a list of nodes that is written as a number or as an array.
macro_rules! count_or_names {
    ($(#[$meta:meta])* $name:ident of $item:ty, $expecting:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        #[serde(untagged)]
        pub enum $name {
            Count(u32),
            Names(Vec<$item>),
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Form;
                impl<'de> Visitor<'de> for Form {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_i64<E: de::Error>(self, count: i64) -> Result<$name, E> {
                        let wrong = || E::invalid_value(Unexpected::Signed(count), &self);
                        u32::try_from(count).map($name::Count).map_err(|_| wrong())
                    }
                    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<$name, A::Error> {
                        Vec::deserialize(SeqAccessDeserializer::new(items)).map($name::Names)
                    }
                }
                deserializer.deserialize_any(Form)
            }
        }
        as_written!($name);
    };
}
count_or_names! {
    /// Number of hosts, or a name for each.
    HostList of HostName, "a number of hosts from 1 to 4000000, or an array of their names"
}
count_or_names! {
    /// Number of switches, or their names.
    Switches of String, "a number of switches from 1 to 4000000, or an array of their names"
}

impl HostList {
    pub fn count(&self) -> u32 {
        match self {
            HostList::Count(count) => *count,
            HostList::Names(names) => u32::try_from(names.len()).unwrap_or(u32::MAX),
        }
    }
    pub fn names(&self) -> Option<&[HostName]> {
        match self {
            HostList::Count(_) => None,
            HostList::Names(names) => Some(names),
        }
    }
}

/// A host's name, or a table of its name and addresses.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum HostName {
    Name(String),
    Table(NamedHost),
}

table! {
    /// Name and addresses of a host. A host without a name is called by its first address.
    pub struct NamedHost {
        /// Name of the host. Default: its first address.
        name: String,
        /// IP address of the host, or an array of addresses. Captures and flow lists may name the
        /// host by any of them. Default: none: captures and flow lists know the host by its name.
        address: Names,
    }
}

impl<'de> Deserialize<'de> for HostName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> Visitor<'de> for Form {
            type Value = HostName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a host's name, or a table as in { name = \"db1\", address = \"10.0.0.1\" }",
                )
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<HostName, E> {
                Ok(HostName::Name(name.to_string()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HostName, A::Error> {
                NamedHost::deserialize(MapAccessDeserializer::new(map)).map(HostName::Table)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

table! {
    /// A link of a custom fabric.
    pub struct Link {
        /// Name of the node at one end.
        pub a: String,
        /// Name of the node at the other end.
        pub b: String,
        /// Rate of the link. Default: the fabric's `rate`.
        rate: Speed,
        /// Propagation delay, one way. Default: the fabric's `delay`.
        delay: Duration,
        /// Largest IP packet. Default: none: the link carries packets of any size.
        mtu: Size,
        /// Number of parallel links. Default 1.
        count: u32,
    }

    /// Other settings of some links of the fabric. Later overrides win.
    pub struct LinkOverride {
        /// The links: `"leaf0-spine1"`, `"leaf0-spine*"`, or several of these. A name means all
        /// parallel links; `"leaf0-spine1#0"` is the first one. `"leaf0>spine1"` is only the
        /// direction from leaf0 to spine1.
        pub link: Names,
        /// Rate of these links. Default: unchanged.
        rate: Speed,
        /// Propagation delay of both directions. Default: unchanged.
        delay: Duration,
        /// Largest IP packet. The ports at both ends discard longer frames that arrive, and hosts
        /// at the ends send and accept no larger packets. Default: unchanged.
        mtu: Size,
    }

    /// Links with faults.
    pub struct Fault {
        /// The links, in the form of `link` in `[[topology.override]]`.
        pub link: Names,
        /// Probability that a frame is lost on the wire, in each direction that `link` names. Default 0.
        loss: Chance,
        /// Times during which the links are down, in both directions. Default: none: they are never
        /// down.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub down: Vec<Down>,
    }

    /// A time during which a link is down.
    pub struct Down {
        /// Simulated time at which the link goes down.
        pub from: Duration,
        /// Simulated time at which the link comes up. Default: it never comes up again.
        to: Duration,
        /// Time until the nodes at the link's ends notice that it went down or came up. They then
        /// choose again among their next hops. Default `"0ns"`: at once.
        detect: Duration,
        /// Further time until the routes of all other nodes have changed. Until then, a node whose
        /// only path used the link loses the frames that others still send to it. A link that has
        /// returned is used again after both times. Default `"0ns"`: together with the ends.
        converge: Duration,
    }
}
