//! Who sends to whom by a pattern.

use crate::document::{Duration, Hosts, Receiver, Senders, Size, Sizes, Speed};

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
