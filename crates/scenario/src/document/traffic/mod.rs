//! `[[traffic]]`: what is sent.

/// Adds the keys that all kinds of traffic have.
macro_rules! block {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        afflux_config::table! {
            $(#[$meta])*
            pub struct $name {
                /// Name of the block. Its random draws depend only on this name and the seed. Default: `"traffic"` and the block's position
                /// from 0.
                name: String,
                /// Class of its flows in results. Default `"default"`; any other class takes precedence over a flow list's column `class`.
                class: String,
                /// Priority of its flows for switches and NICs with several queues, 0 (lowest) to 7. Default 0, or what a flow list's columns `priority`
                /// and `dscp` say.
                priority: u8,
                /// DSCP of its flows, 0 to 63, instead of `priority`; `[host] dscp_to_priority` gives the priority. Default: none: `priority`
                /// holds.
                dscp: u8,
                /// When the block begins; starts in files count from then. Default `"0s"`.
                start: $crate::document::Duration,
                /// When the senders of its flows end, from the start of the run: a flow that is not done by then has the status `terminated`, with what has
                /// arrived, and a flow that would start later is not sent. Default: none: they send everything.
                stop: $crate::document::Duration,
                /// Deadline of each flow, from its start: a time, a table of a distribution, or `"off"`. Default `"off"`; a flow list's column
                /// `deadline_ns` takes precedence.
                deadline: $crate::document::Or<$crate::document::Off, $crate::document::Deadline>,
                /// Added to `[run] seed` for this block's draws. Default 0.
                seed: u64,
                /// Flows between the same two hosts use one TCP connection one after the other, instead of one connection each, so its window and its
                /// round trip are known. Default `false`.
                persistent: bool,
                $($fields)*
            }
        }
        impl $name {
            pub fn common(&mut self) -> $crate::document::Common<'_> {
                $crate::document::Common {
                    name: &mut self.name,
                    class: &mut self.class,
                    priority: &mut self.priority,
                    dscp: &mut self.dscp,
                    start: &mut self.start,
                    stop: &mut self.stop,
                    deadline: &mut self.deadline,
                    seed: &mut self.seed,
                    persistent: &mut self.persistent,
                }
            }
        }
    };
}

mod deadline;
mod files;
mod hadoop;
mod patterns;
mod random;

pub use deadline::Deadline;
pub use files::{FileFormat, Flows, Local, Placement};
pub use hadoop::{Background, Cluster, Disks, Framework, Hadoop, HadoopTrace, Pairing, Per, Protocol};
pub use patterns::{AllToAll, DatagramSource, Incast, Pairs, PartitionAggregate, Permutation};
pub use random::{Arrivals, LoadBasis, Random};

use super::{Duration, Off, Or};
use afflux_config::tagged;

tagged! {
    /// A block of traffic, chosen by `kind`.
    pub enum Traffic, default "" {
        /// A list of flows from a file.
        "flows" => Flows,
        /// Independent sources that start flows at random or regular times (open loop).
        "random" => Random,
        /// Many senders to one receiver at once.
        "incast" => Incast,
        /// Queries that many hosts answer at once, with messages and background traffic.
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

/// The keys that all kinds of traffic have.
pub struct Common<'a> {
    pub name: &'a mut Option<String>,
    pub class: &'a mut Option<String>,
    pub priority: &'a mut Option<u8>,
    pub dscp: &'a mut Option<u8>,
    pub start: &'a mut Option<Duration>,
    pub stop: &'a mut Option<Duration>,
    pub deadline: &'a mut Option<Or<Off, Deadline>>,
    pub seed: &'a mut Option<u64>,
    pub persistent: &'a mut Option<bool>,
}
