//! Who sends to whom by a pattern.

use crate::document::{Duration, HostItem, Hosts, Receiver, Senders, Size, Sizes, Speed};

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
        /// Number of rounds, in each of which all senders send once. Default 1.
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
    /// A service that splits its work: every host asks others, whose answers come at once; every query is a job, its answers have `deadline`, which
    /// counts from the query, and `class`. Beside them messages (class `message`) and background (class `background`) between any two hosts. Give the
    /// hosts' least time-out, `min_rto`, in `[host.transport]`.
    pub struct PartitionAggregate {
        /// As in `kind = "flows"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub transport: Option<String>,
        /// Hosts that take part. Default `"all"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hosts: Option<Hosts>,
        /// Hosts that answer a query, drawn for each. Default: all others, 40 at most (DCTCP, SIGCOMM 2010).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workers: Option<u32>,
        /// Size of an answer. Default: from 2 to 20 kB (DCTCP; Fujii et al. 2014).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub query: Option<Sizes>,
        /// Queries per second of one host.
        pub queries_per_second: f64,
        /// Each answer is delayed by a uniform time up to this, so that they do not come at once. Default `"0s"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub jitter: Option<Duration>,
        /// Size of a message. Default: from 50 kB to 1 MB.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub message: Option<Sizes>,
        /// Messages per second of one host. Default 1: the source has seconds between them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub messages_per_second: Option<f64>,
        /// Size of a background flow. Default: from 1 to 50 MB.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub background: Option<Sizes>,
        /// Background flows per second of one host. Default 0.1: rare, and yet most of the bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub background_per_second: Option<f64>,
        /// Flows start for so long.
        pub duration: Duration,
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
        pub pairs: Vec<[HostItem; 2]>,
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
        pub pairs: Vec<[HostItem; 2]>,
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
