//! `[[traffic]]`: what is sent.

use super::choice::tagged;
use super::switch::words;
use super::{Duration, Hosts, Off, Or, Receiver, Senders, Size, Sizes, Speed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

tagged! {
    /// A block of traffic, chosen by `kind`.
    pub enum Traffic, default "" {
        /// A list of flows from a file.
        "flows" => Flows,
        /// Independent sources that start flows by their own clocks (open loop).
        "random" => Random,
        /// Many senders to one receiver at once.
        "incast" => Incast,
        /// Every host sends to one other and receives from one.
        "permutation" => Permutation,
        /// Fixed pairs of hosts.
        "pairs" => Pairs,
        /// Every host sends to every other: a shuffle.
        "all_to_all" => AllToAll,
        /// Sources of constant rate that nothing slows down.
        "datagram" => DatagramSource,
    }
}

/// Adds the keys that all kinds of traffic have.
macro_rules! block {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Name of the block: its random draws depend on it and the seed, on nothing else. Default: `"traffic"` and the block's position
            /// from 0.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub name: Option<String>,
            /// Class of its flows in results. Default `"default"`; a flow list's column `class` goes before.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub class: Option<String>,
            /// Priority of its flows for switches and NICs with strict priority, 0 (lowest) to 7. Default 0.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub priority: Option<u8>,
            /// When the block begins; starts in files count from then. Default `"0s"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub start: Option<Duration>,
            /// Deadline of each flow, from its start, or `"off"`. Default `"off"`; a flow list's column `deadline_ns` goes before.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub deadline: Option<Or<Off, Duration>>,
            /// Added to `[run] seed` for this block's draws. Default 0.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub seed: Option<u64>,
            $($fields)*
        }
        impl $name {
            pub fn common(&mut self) -> Common<'_> {
                Common {
                    name: &mut self.name,
                    class: &mut self.class,
                    priority: &mut self.priority,
                    start: &mut self.start,
                    deadline: &mut self.deadline,
                    seed: &mut self.seed,
                }
            }
        }
    };
}

/// The keys that all kinds of traffic have.
pub struct Common<'a> {
    pub name: &'a mut Option<String>,
    pub class: &'a mut Option<String>,
    pub priority: &'a mut Option<u8>,
    pub start: &'a mut Option<Duration>,
    pub deadline: &'a mut Option<Or<Off, Duration>>,
    pub seed: &'a mut Option<u64>,
}

block! {
    /// A list of flows from a file.
    pub struct Flows {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default `"default"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transport: Option<String>,
        /// The file (`.gz` is read too); a relative path is relative to the scenario file.
        pub file: String,
        /// SHA-256 of the file, hexadecimal: another content is refused. Written into resolved scenarios.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sha256: Option<String>,
        /// Default: by the file's extension.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub format: Option<FileFormat>,
        /// Flows from a host to itself. Default `"refuse"`; formats `"coflow"`: `"drop"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub local: Option<Local>,
        /// Format `"hpcc"`: the time in the file that is 0 here. Default `"2s"`, where both generators begin.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub origin: Option<Duration>,
        /// Format `"coflow"`: what a location of the trace is. Default `"host"` if there are enough hosts, else `"modulo"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub placement: Option<Placement>,
        /// Format `"coflow"`: factor on all sizes. Default 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub size_scale: Option<f64>,
        /// Format `"coflow"`: factor on all arrival times. Default 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub time_scale: Option<f64>,
        /// Format `"coflow"`: what the trace means by a megabyte. Default `"1MB"`; CoflowSim takes `"1MiB"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub megabyte: Option<Size>,
        /// Format `"coflow"`: only so many coflows from the top of the file. Default: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub coflows: Option<u64>,
    }
}

block! {
    /// Independent sources that start flows by their own clocks. The rate is given by `load` with `load_basis`, or by `flows_per_second`; the end
    /// by `duration` or `flows`.
    pub struct Random {
        /// As in `kind = "flows"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transport: Option<String>,
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        pub sizes: Sizes,
        /// Gaps between the flows of a source. Default `"poisson"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub arrivals: Option<Arrivals>,
        /// Arrivals `"lognormal"`: standard deviation of the logarithm of gaps. Default 1; Parsimon has 1 and 2.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sigma: Option<f64>,
        /// Offered load as a share of what `load_basis` says.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load: Option<f64>,
        /// What `load` is a share of; needed with it, because studies differ.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub load_basis: Option<LoadBasis>,
        /// Instead of `load`: flows per second of one source.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub flows_per_second: Option<f64>,
        /// Flows start for so long.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub duration: Option<Duration>,
        /// So many flows in all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub flows: Option<u64>,
        /// Hosts that send. Default `"all"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sources: Option<Hosts>,
        /// Hosts that receive. Default `"all"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub destinations: Option<Hosts>,
        /// Destinations are in other racks only. Default `false`: anywhere but the source itself.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub inter_rack: Option<bool>,
        /// Share of flows that stay in the rack; the others leave it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rack_local: Option<f64>,
        /// Hosts that receive more than others.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hotspot: Option<Hotspot>,
        /// File of weights from rack to rack: JSON rows, or Parsimon's `{"matrix": {"inner": [[…]]}}`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub matrix: Option<String>,
        /// SHA-256 of `matrix`: another content is refused. Written into resolved scenarios.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub matrix_sha256: Option<String>,
    }
}

block! {
    /// Rounds of simultaneous flows to one receiver; every round is a job.
    pub struct Incast {
        /// As in `kind = "flows"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transport: Option<String>,
        /// The receiver: a host, or `"random"` (drawn for each round). Default: host 0.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub to: Option<Receiver>,
        /// A number of senders or the hosts themselves. Default: all others.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub senders: Option<Senders>,
        /// Draw the senders anew for each round; otherwise a number means the first hosts. Default `false`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub random_senders: Option<bool>,
        /// Hosts that may take part. Default `"all"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hosts: Option<Hosts>,
        /// What each sender sends; or `total`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub bytes: Option<Size>,
        /// What all senders of a round send together.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub total: Option<Size>,
        /// Default 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rounds: Option<u32>,
        /// Time between the starts of rounds (open loop).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub period: Option<Duration>,
        /// A round starts when the one before has arrived as a whole. Default `false`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub closed_loop: Option<bool>,
        /// With `closed_loop`: what the request takes from the receiver to the senders. Default: the longest delay between two hosts.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub request_delay: Option<Duration>,
        /// Each flow is delayed by a uniform time up to this. Default `"0s"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub jitter: Option<Duration>,
    }
}

block! {
    /// Every host sends to one other and receives from one: drawn at random, or by a stride.
    pub struct Permutation {
        /// As in `kind = "flows"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transport: Option<String>,
        /// As in `kind = "random"`.
        pub sizes: Sizes,
        /// Hosts that take part. Default `"all"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hosts: Option<Hosts>,
        /// Instead of drawing: the host at position i sends to the one at i + stride.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub stride: Option<u32>,
        /// Flows per pair. Default 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rounds: Option<u32>,
        /// Time between the starts of rounds; needed with more than one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub period: Option<Duration>,
        /// Each flow is delayed by a uniform time up to this. Default `"0s"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub jitter: Option<Duration>,
    }
}

block! {
    /// Fixed pairs of hosts.
    pub struct Pairs {
        /// As in `kind = "flows"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transport: Option<String>,
        /// `[[source, destination], …]`, numbers of hosts.
        pub pairs: Vec<[u32; 2]>,
        /// As in `kind = "random"`.
        pub sizes: Sizes,
        /// Flows per pair. Default 1.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub rounds: Option<u32>,
        /// Time between the starts of rounds; needed with more than one.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub period: Option<Duration>,
        /// Each flow is delayed by a uniform time up to this. Default `"0s"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub jitter: Option<Duration>,
    }
}

block! {
    /// One flow per ordered pair of hosts, together one job.
    pub struct AllToAll {
        /// As in `kind = "flows"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transport: Option<String>,
        /// As in `kind = "random"`.
        pub sizes: Sizes,
        /// Hosts that take part. Default `"all"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hosts: Option<Hosts>,
        /// Step s starts s−1 times this later, whether or not earlier steps are done. Default `"0s"`: all at once.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub stagger: Option<Duration>,
        /// Each receiver has so many flows at a time and asks for the next when one has ended, as Hadoop's reducers do. Default: all.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub parallel: Option<u32>,
        /// With `parallel`: what the request takes. Default: the longest delay between two hosts.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub request_delay: Option<Duration>,
    }
}

block! {
    /// Datagrams at a constant rate; nothing is acknowledged or repeated.
    pub struct DatagramSource {
        /// `[[source, destination], …]`, numbers of hosts.
        pub pairs: Vec<[u32; 2]>,
        /// Rate of payload of each source.
        pub rate: Speed,
        /// How long each source sends; or `bytes`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub duration: Option<Duration>,
        /// How much each source sends.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub bytes: Option<Size>,
        /// Payload of a frame. Default: `mtu` less the profile's headers.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub payload: Option<Size>,
        /// Frames are ECN-capable: marked, not dropped, by marking queues. Default `false`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub ecn_capable: Option<bool>,
    }
}

/// Hosts that receive more than others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hotspot {
    /// The hosts.
    pub hosts: Hosts,
    /// Share of flows that go to them; the others go anywhere.
    pub share: f64,
}

words! {
    /// Formats of flow lists.
    pub enum FileFormat {
        /// A header with `start_ns,src,dst,bytes` and optionally `id,class,deadline_ns` (`.csv`).
        Csv,
        /// The same columns as Parquet (`.parquet`).
        Parquet,
        /// Flow files of HPCC and ConWeave: the number of flows, then `src dst pg size start_s` or `src dst pg dport size start_s`.
        Hpcc,
        /// Connection matrices of htsim (`.cm`).
        Htsim,
        /// Coflow traces of coflow-benchmark, such as `FB2010-1Hr-150-0.txt`.
        Coflow,
    }
    /// Flows from a host to itself:
    pub enum Local {
        /// are an error.
        Refuse,
        /// finish at their start; they never see the network.
        Instant,
        /// are left out; a note says how many.
        Drop,
    }
    /// What a location of a coflow trace is.
    pub enum Placement {
        /// The host of that number.
        Host,
        /// That number modulo the number of hosts.
        Modulo,
        /// That rack (modulo their number); each task runs on a host of it that is drawn once.
        Rack,
    }
    /// Gaps between the flows of a source.
    pub enum Arrivals {
        /// Exponential.
        Poisson,
        /// Log-normal: heavier bursts (Parsimon).
        Lognormal,
        /// Equal, with a random phase per source.
        Fixed,
    }
    /// What a load is a share of. C is the rate of a host's link, S the mean size of a flow, λ the flows per second of a host.
    pub enum LoadBasis {
        /// The host's link, payload only: λ = load·C/(8·S). The HPCC generator.
        HostPayload,
        /// The host's link with all headers: λ = load·C/(8·S·w), w the ratio of wire bytes to payload. The pFabric family.
        HostWire,
        /// The racks' uplinks as if all traffic left the rack: λ = load·C/(oversubscription·8·S). ConWeave's network load; ABM, Reverie.
        FabricOversub,
        /// The bisection as if all traffic crossed it.
        Bisection,
        /// The most loaded link under even spreading over all shortest paths, payload only. Parsimon.
        MaxLink,
    }
}
