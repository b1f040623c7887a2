//! `[topology]`: hosts, switches and links.

use afflux_config::{Chance, Duration, Names, Size, Speed, table, tagged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

tagged! {
    /// The fabric, chosen by `kind`.
    pub enum Topology, default "" {
        /// All hosts on one switch (`switch0`).
        "star" => Star,
        /// Pairs of hosts over one bottleneck link between the switches `left` and `right`.
        "dumbbell" => Dumbbell,
        /// Racks of hosts under leaf switches (`leaf0` …), each linked to every spine switch (`spine0` …).
        "leaf_spine" => LeafSpine,
        /// Al-Fares's three-stage Clos of k-port switches (`edge0` …, `agg0` …, `core0` …).
        "fat_tree" => FatTree,
        /// A FatTree whose hosts have two NICs, at two edge switches (Raiciu et al. 2011).
        "dual_homed_fat_tree" => DualHomed,
        /// VL2's folded Clos (`tor0` …, `agg0` …, `int0` …; Greenberg et al. 2009).
        "vl2" => Vl2,
        /// BCube's servers of several NICs that forward for each other, on levels of small switches (`level0_0` …; Guo et al. 2009).
        "bcube" => Bcube,
        /// A topology file of HPCC or ConWeave.
        "hpcc" => Hpcc,
        /// Any fabric, written link by link.
        "custom" => Custom,
    }
}

macro_rules! fabric {
    ($(#[$meta:meta])* pub struct $name:ident, named { $($fields:tt)* }) => {
        fabric! {
            $(#[$meta])*
            pub struct $name {
                $($fields)*
                /// Names of the hosts in their order, or tables of name and addresses: all of them or none. Default: `host0`, `host1` ….
                hosts: Vec<HostName>,
                /// Names of the switches in their order, all of them or none. Default: those of the kind, with numbers from 0.
                switches: Vec<String>,
            }
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        table! {
            $(#[$meta])*
            pub struct $name {
                $($fields)*
                /// Links with another rate, delay or MTU. Default: none: all links are as the keys
                /// above say.
                #[serde(rename = "override", default, skip_serializing_if = "Vec::is_empty")]
                pub overrides: Vec<LinkOverride>,
                /// Links that lose frames or are down for a time. Default: none: all links work.
                #[serde(rename = "fault", default, skip_serializing_if = "Vec::is_empty")]
                pub faults: Vec<Fault>,
            }
        }
    };
}

fabric! {
    /// All hosts on one switch.
    pub struct Star {
        /// The hosts: their number (`host0` …), or an array with a name, or a table of name and
        /// addresses, for each host.
        pub hosts: HostList,
        /// Name of the switch, in an array. Default: `switch0`.
        switches: Vec<String>,
        /// Rate of every link. Default `"100Gbps"`.
        rate: Speed,
        /// Propagation delay of every link, one way. Default `"1us"` (the convention of the ns-3 RDMA simulators; 200 m of fibre).
        delay: Duration,
    }
}

fabric! {
    /// Two switches with hosts 0 … pairs−1 on the left and hosts pairs … 2·pairs−1 on the right.
    /// Host i usually sends to host pairs+i.
    pub struct Dumbbell, named {
        /// Number of hosts on each side.
        pub pairs: u32,
        /// Rate of the hosts' links. Default `"100Gbps"`.
        access_rate: Speed,
        /// Delay of the hosts' links. Default `"1us"`.
        access_delay: Duration,
        /// Rate of the bottleneck between `left` and `right`. Default `"10Gbps"`.
        rate: Speed,
        /// Delay of the bottleneck. Default `"10us"`.
        delay: Duration,
    }
}

fabric! {
    /// Leaf switches with a rack of hosts each, linked to spine switches. The oversubscription is
    /// `hosts_per_leaf · host_rate / (spines · parallel · uplink_rate)`.
    pub struct LeafSpine, named {
        /// Number of leaf switches, each with a rack of hosts.
        pub leaves: u32,
        /// Number of spine switches.
        pub spines: u32,
        /// Hosts under each leaf.
        pub hosts_per_leaf: u32,
        /// Rate of the hosts' links. Default `"100Gbps"`.
        host_rate: Speed,
        /// Rate of the links between leaves and spines. Default: `host_rate`.
        uplink_rate: Speed,
        /// Parallel links between each leaf and each spine. Default 1.
        parallel: u32,
        /// Delay of every link that has no delay of its own. Default `"1us"`.
        delay: Duration,
        /// Delay of the hosts' links. Default: `delay`.
        host_delay: Duration,
        /// Delay of the links between leaves and spines. Default: `delay`.
        uplink_delay: Duration,
    }
}

fabric! {
    /// k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores; aggregation switch j of each pod is linked to the cores
    /// j·k/2 … j·k/2+k/2−1 (Al-Fares, SIGCOMM 2008).
    pub struct FatTree, named {
        /// Number of ports of a switch; an even number.
        pub k: u32,
        /// Hosts under an edge switch for each of its uplinks: `oversubscription · k/2` hosts per edge switch. Default 1.
        oversubscription: u32,
        /// Rate of every link. Default `"100Gbps"`.
        rate: Speed,
        /// Delay of every link, one way. Default `"1us"`.
        delay: Duration,
    }
}

fabric! {
    /// k pods of k/2 pairs of edge switches and k/2 aggregation switches, (k/2)² cores. Every host has a link to both edge switches of its pair; the
    /// first of a pair is linked to the first half of its pod's aggregation switches, the second to the other half.
    pub struct DualHomed, named {
        /// Number of pods; a multiple of 4. The study's is 12.
        pub k: u32,
        /// Hosts of each pair of edge switches. With the default a pod with k = 12 is oversubscribed 2.67:1. Default 2k/3, rounded down.
        hosts_per_pair: u32,
        /// Rate of every link. Default `"1Gbps"`.
        rate: Speed,
        /// Delay of every link, one way. Default `"1us"`.
        delay: Duration,
    }
}

fabric! {
    /// Racks with two uplinks each to aggregation switches. Every aggregation switch is linked to
    /// every intermediate switch. Equal-cost paths lead over all intermediate switches, as with
    /// VL2's load balancing. Between racks that share an aggregation switch, paths lead only over
    /// that switch.
    pub struct Vl2, named {
        /// Ports of an aggregation switch (D_A), an even number: half go to racks, half to
        /// intermediate switches. There are D_A/2 intermediate switches.
        pub aggregation_ports: u32,
        /// Ports of an intermediate switch (D_I), an even number, which is the number of
        /// aggregation switches. There are D_A · D_I / 4 racks.
        pub intermediate_ports: u32,
        /// Hosts of a rack. Default 20.
        hosts_per_tor: u32,
        /// Rate of the hosts' links. Default `"1Gbps"`.
        host_rate: Speed,
        /// Rate of all other links. Default `"10Gbps"`.
        uplink_rate: Speed,
        /// Delay of every link, one way. Default `"1us"`.
        delay: Duration,
    }
}

fabric! {
    /// BCube(n, k): n^(k+1) hosts with k+1 NICs each, numbered by k+1 digits from 0 to n−1. A
    /// switch of level i joins the n hosts that differ only in digit i (the last digit is digit 0).
    /// Each level has n^k switches, named `level<i>_<number>` by the other digits. Hosts forward
    /// frames for other hosts. A hash selects among the shortest paths (the orders in which digits
    /// are corrected). BCube's longer paths, over a digit that is already right, are not used.
    pub struct Bcube, named {
        /// Ports of a switch, n.
        pub ports: u32,
        /// Levels of switches, k + 1, which is also the number of NICs of a host; at least 2.
        /// Default 2.
        levels: u32,
        /// Rate of every link. Default `"1Gbps"`.
        rate: Speed,
        /// Delay of every link, one way. Default `"1us"`.
        delay: Duration,
    }
}

fabric! {
    /// A file of HPCC's and ConWeave's simulators: `nodes switches links`; the switches' numbers; then `a b rate delay error` per link.
    /// Nodes that are not switches are hosts, in the order of their numbers; switches become `switch0` …, also in the order of their numbers.
    pub struct Hpcc, named {
        /// The file; a relative path is relative to the scenario file.
        pub file: String,
        /// SHA-256 of the file, hexadecimal: another content is refused. Default: the digest of the file that is found.
        sha256: String,
    }
}

fabric! {
    /// Any fabric. Ports are numbered in the order of the links.
    pub struct Custom {
        /// The hosts: their number (`host0` …), or an array with a name, or a table of name and
        /// addresses, for each host.
        pub hosts: HostList,
        /// The switches: their number (`switch0` …) or their names.
        pub switches: Switches,
        /// Rate of the links that name no rate. Default `"100Gbps"`.
        rate: Speed,
        /// Propagation delay, one way, of the links that name no delay. Default `"1us"`.
        delay: Duration,
        /// The links. Default: required: every host and every switch needs a link.
        #[serde(default)]
        pub link: Vec<Link>,
    }
}

/// Number of hosts, or a name for each.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum HostList {
    Count(u32),
    Names(Vec<HostName>),
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

impl<'de> Deserialize<'de> for HostList {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> serde::de::Visitor<'de> for Form {
            type Value = HostList;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of hosts, or an array of their names")
            }
            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<HostList, E> {
                u32::try_from(count)
                    .map(HostList::Count)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(count), &self))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                items: A,
            ) -> Result<HostList, A::Error> {
                Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(items))
                    .map(HostList::Names)
            }
        }
        deserializer.deserialize_any(Form)
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
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> serde::de::Visitor<'de> for Form {
            type Value = HostName;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "a host's name, or a table as in { name = \"db1\", address = \"10.0.0.1\" }",
                )
            }
            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<HostName, E> {
                Ok(HostName::Name(name.to_string()))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<HostName, A::Error> {
                NamedHost::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    .map(HostName::Table)
            }
        }
        deserializer.deserialize_any(Form)
    }
}

/// Number of switches, or their names.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Switches {
    Count(u32),
    Names(Vec<String>),
}

impl<'de> Deserialize<'de> for Switches {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;
        impl<'de> serde::de::Visitor<'de> for Form {
            type Value = Switches;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of switches, or an array of their names")
            }
            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Switches, E> {
                u32::try_from(count)
                    .map(Switches::Count)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(count), &self))
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                items: A,
            ) -> Result<Switches, A::Error> {
                Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(items))
                    .map(Switches::Names)
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
