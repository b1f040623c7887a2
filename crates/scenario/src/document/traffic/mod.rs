//! `[[traffic]]`: blocks of traffic, chosen by `kind`.

use afflux_config::tagged;

#[macro_use]
mod block;
mod deadline;
mod files;
mod hadoop;
mod patterns;
mod random;

pub use block::Common;
pub use deadline::Deadline;
pub use files::{FileFormat, Flows, Local, Placement};
pub use hadoop::{
    Background, Cluster, Committer, Disks, Framework, Hadoop, HadoopTrace, Pairing, Per, Protocol,
};
pub use patterns::{AllToAll, DatagramSource, Incast, Pairs, PartitionAggregate, Permutation};
pub use random::{Arrivals, LoadBasis, Random};

tagged! {
    /// A block of traffic, chosen by `kind`.
    pub enum Traffic, default "" {
        /// A list of flows from a file.
        "flows" => Flows,
        /// Independent sources that start flows at random or regular times (open loop).
        "random" => Random,
        /// Many senders to one receiver at the same time.
        "incast" => Incast,
        /// Queries that many hosts answer at the same time, with messages and background traffic.
        "partition_aggregate" => PartitionAggregate,
        /// Every host sends to one other and receives from one.
        "permutation" => Permutation,
        /// Fixed pairs of hosts.
        "pairs" => Pairs,
        /// Every host sends to every other: a shuffle.
        "all_to_all" => AllToAll,
        /// Sources of constant rate, without congestion control.
        "datagram" => DatagramSource,
        /// A Hadoop job.
        "hadoop" => Hadoop,
        /// Hadoop jobs of a trace.
        "hadoop_trace" => HadoopTrace,
        /// Traffic of limited rate during jobs.
        "background" => Background,
    }
}
