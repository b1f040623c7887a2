//! Kinds of `[[traffic]]` blocks. Each is a file with its keys, the flows that it makes, and its row
//! of `afflux models`.

mod all_to_all;
mod background;
pub mod block;
mod bulk;
mod cluster;
mod datagram;
mod deadline;
mod flows;
mod hadoop;
mod hadoop_trace;
pub mod hosts;
mod incast;
pub mod keys;
mod load;
mod pairs;
mod partition_aggregate;
mod permutation;
mod random;
mod receivers;
mod ring_all_reduce;

pub use deadline::Deadline;

use afflux_config::tagged;
use afflux_net::Model;
use block::Workload;
use keys::BlockKeys;

/// The kinds of traffic. Each line gives a file (which is the name in scenarios) and the same name
/// in camel case.
macro_rules! workloads {
    ($with:ident) => {
        $with! {
            /// A list of flows from a file.
            flows Flows;
            /// Independent sources that start flows at random or regular times (open loop).
            random Random;
            /// Many senders to one receiver at the same time.
            incast Incast;
            /// Queries that many hosts answer at the same time, with messages and background traffic.
            partition_aggregate PartitionAggregate;
            /// Every host sends to one other and receives from one.
            permutation Permutation;
            /// Fixed pairs of hosts.
            pairs Pairs;
            /// Every host sends to every other: a shuffle.
            all_to_all AllToAll;
            /// Steps of a training whose hosts sum their gradients in a ring.
            ring_all_reduce RingAllReduce;
            /// Sources of constant rate, without congestion control.
            datagram Datagram;
            /// A Hadoop job.
            hadoop Hadoop;
            /// Hadoop jobs of a trace.
            hadoop_trace HadoopTrace;
            /// Traffic of limited rate during jobs.
            background Background;
        }
    };
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident;)+) => {
        tagged! {
            /// A block of traffic, chosen by `kind`.
            pub enum Traffic, default "" {
                $($(#[doc = $doc])* $module $name($module::Keys),)+
            }
        }

        impl Traffic {
            pub fn workload(&mut self) -> &mut dyn Workload {
                match self {
                    $(Traffic::$name(keys) => keys,)+
                }
            }

            /// Returns the keys of every block, and the key of the transport if it has a meaning.
            pub fn common(&mut self) -> (&mut BlockKeys, Option<&mut Option<String>>) {
                let named = self.workload().names_transport();
                let (keys, transport) = match self {
                    $(Traffic::$name(keys) => keys.flow.parts(),)+
                };
                (keys, transport.filter(|_| named))
            }

            /// Returns the block's `kind`.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Traffic::$name(_) => stringify!($module),)+
                }
            }
        }

        /// Returns the rows of `afflux models`.
        pub fn models() -> Vec<Model> {
            [$($module::MODELS),+].concat()
        }
    };
}
workloads!(registry);
