//! Blocks whose flows follow a pattern: incast, partition-aggregate, permutation, pairs,
//! all-to-all, datagrams.

use crate::document::{HostItem, Hosts, Receivers, Senders, Sizes};
use afflux_config::{Duration, Size, Speed};

block! {
    /// Rounds of simultaneous flows to one receiver. Every round is a query, named `BLOCK.0`,
    /// `BLOCK.1` and so on in results.
    pub struct Incast {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default `"default"`.
        transport: String,
        /// The receiver: a host, or `"random"` (drawn for each round). Several hosts (an array, or
        /// text as in `"0-3"` or `"db[1-4]"`) have one incast each, with their own senders and
        /// rounds. Queries are then numbered round by round, and within a round in the order of the
        /// hosts' numbers. Default: host 0.
        to: Receivers,
        /// Number of senders, or the hosts themselves; the receiver is left out. Default: all
        /// others.
        senders: Senders,
        /// Whether the senders are drawn anew for each round; if not, a number of senders means the
        /// first hosts. Default `false`.
        random_senders: bool,
        /// Hosts that may take part. Default `"all"`.
        hosts: Hosts,
        /// Size of the flow of each sender. Default: required, or `total`.
        bytes: Size,
        /// Size of all flows of a round together. Default: none: `bytes` is required instead.
        total: Size,
        /// Number of rounds, in each of which all senders send once. Default 1.
        rounds: u32,
        /// Time between the starts of rounds (open loop). Default: required with several rounds, unless `closed_loop = true`.
        period: Duration,
        /// Whether a round starts when all flows of the previous round have arrived. Default
        /// `false`.
        closed_loop: bool,
        /// With `closed_loop`: time that a request takes from the receiver to the senders. Default:
        /// the longest delay between two hosts.
        request_delay: Duration,
        /// Each flow is delayed by a uniform time up to this. Default `"0s"`.
        jitter: Duration,
    }
}

block! {
    /// A service that splits its work. Every host sends queries, and many hosts answer each query
    /// at the same time. Every query is a job. Its answers have the block's `class` and `deadline`,
    /// which counts from the query. In addition, any two hosts exchange messages (class `message`)
    /// and background flows (class `background`). Give the hosts' least time-out, `min_rto`, in
    /// `[host.transport]`.
    pub struct PartitionAggregate {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default `"default"`.
        transport: String,
        /// Hosts that take part. Default `"all"`.
        hosts: Hosts,
        /// Number of hosts that answer a query, drawn anew for each query. Default: all others, 40
        /// at most (DCTCP, SIGCOMM 2010).
        workers: u32,
        /// Size of an answer. Default: from 2 to 20 kB (DCTCP; Fujii et al. 2014).
        query: Sizes,
        /// Queries per second of one host.
        pub queries_per_second: f64,
        /// Each answer is delayed by a uniform time up to this, so that answers do not arrive together. Default `"0s"`.
        jitter: Duration,
        /// Size of a message. Default: from 50 kB to 1 MB.
        message: Sizes,
        /// Messages per second of one host. Default 1: the source has seconds between them.
        messages_per_second: f64,
        /// Size of a background flow. Default: from 1 to 50 MB.
        background: Sizes,
        /// Background flows per second of one host. Default 0.1: such flows are rare, and yet carry
        /// most of the bytes.
        background_per_second: f64,
        /// Time during which flows start.
        pub duration: Duration,
    }
}

block! {
    /// Every host sends to one other and receives from one: drawn at random, or by a stride.
    pub struct Permutation {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default `"default"`.
        transport: String,
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        pub sizes: Sizes,
        /// Hosts that take part. Default `"all"`.
        hosts: Hosts,
        /// Instead of drawing: the host at position i sends to the one at i + stride. Default: none: destinations are drawn.
        stride: u32,
        /// Flows per pair. Default 1.
        rounds: u32,
        /// Time between the starts of rounds. Default: required with several rounds.
        period: Duration,
        /// Each flow is delayed by a uniform time up to this. Default `"0s"`.
        jitter: Duration,
    }
}

block! {
    /// Fixed pairs of hosts.
    pub struct Pairs {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default `"default"`.
        transport: String,
        /// `[[source, destination], …]`. Where a pattern or range means several hosts, each source sends to each destination.
        pub pairs: Vec<[HostItem; 2]>,
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        pub sizes: Sizes,
        /// Flows per pair. Default 1.
        rounds: u32,
        /// Time between the starts of rounds. Default: required with several rounds.
        period: Duration,
        /// Each flow is delayed by a uniform time up to this. Default `"0s"`.
        jitter: Duration,
    }
}

block! {
    /// One flow per ordered pair of hosts. All flows together are one job.
    pub struct AllToAll {
        /// Name of a transport in `[host.transports]`, or `"default"`: `[host.transport]`. Default `"default"`.
        transport: String,
        /// Sizes of flows: a built-in distribution, the path of a distribution file, a size, or a table.
        pub sizes: Sizes,
        /// Hosts that take part. Default `"all"`.
        hosts: Hosts,
        /// Time between two steps of the shuffle: step s starts s−1 times this later, whether or
        /// not earlier steps are complete. Default `"0s"`: all at once.
        stagger: Duration,
        /// Number of simultaneous flows of each receiver. The receiver asks for the next flow when
        /// one has ended, as Hadoop's reducers do. Default: all.
        parallel: u32,
        /// With `parallel`: time that a request takes. Default: the longest delay between two
        /// hosts.
        request_delay: Duration,
    }
}

block! {
    /// Datagrams at a constant rate. Nothing is acknowledged or retransmitted.
    pub struct DatagramSource {
        /// `[[source, destination], …]`. Where a pattern or range means several hosts, each source sends to each destination.
        pub pairs: Vec<[HostItem; 2]>,
        /// Payload rate of each source.
        pub rate: Speed,
        /// Time during which each source sends. Default: required, or `bytes`.
        duration: Duration,
        /// Bytes that each source sends. Default: none: `duration` is required instead.
        bytes: Size,
        /// Payload of a frame. Default: `mtu` less the profile's headers.
        payload: Size,
        /// Whether frames are ECN-capable: marking queues then mark them instead of dropping them.
        /// Default `false`.
        ecn_capable: bool,
    }
}
