//! ConWeave (Song et al., SIGCOMM 2023): a flow leaves a path whose round trip has become long. The
//! ToR of its destination holds frames that overtake others, so that the host receives the flow in
//! order.
//!
//! The source's ToR cuts a flow into epochs. The first frame of each epoch asks for a reply
//! (RTT_REQUEST). If the reply arrives in time, the next frame begins a new epoch on the same path.
//! If not, the current frame is the last on the old path (TAIL). All later frames are marked as
//! rerouted, until the destination's ToR has seen the TAIL and confirms it (CLEAR). A rerouted
//! frame that arrives before the TAIL waits in a reorder queue.

mod destination;
mod paths;
mod reorder;
mod source;
mod switch;
mod table;
pub mod tag;

pub use reorder::ReorderQueues;
pub use switch::Conweave;
pub use tag::{Begun, Cause, Kind, Tag};

use super::{About, PathContext};
use crate::Model;
use afflux_config::keys::at_most_a_second;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, keys, words};

words! {
    /// Memory of reorder queues.
    pub enum ReorderMemory {
        /// The switch's memory. Waiting frames take memory from its queues and count at the ingress
        /// of flow control.
        Shared,
        /// Separate memory, which is large enough for all reorder queues.
        Apart,
        /// Separate memory, with an unlimited number of reorder queues, as in the authors'
        /// simulator.
        Unbounded,
    }
}

keys! {
    /// ConWeave (SIGCOMM 2023). The defaults are those of the leaf-spine fabrics in its authors'
    /// simulations.
    pub struct Keys as "Conweave" => ConweaveConfig(context: &PathContext<'_>) {
        /// An RTT_REPLY that takes longer than the propagation delay of the round trip plus this
        /// time is late, and the flow is rerouted (`extra_reply_deadline`).
        reply_extra: Duration = "4us" from "8 us (theta_reply) over two hops of 1 us", check at_most_a_second;
        /// Time for which a path is avoided after a marked frame arrived over it (theta_path_busy).
        path_busy: Duration = "16us" from "the authors' runs; the paper's rule is the time to send `kmin`: 8 us for 100 kB at 100 Gb/s", check at_most_a_second;
        /// Silence of a flow after which it may take another path at once (theta_inactive).
        inactive: Duration = "300us" from "on the authors' fat-trees 1 ms", check at_most_a_second;
        /// Time after the predicted arrival of the TAIL at which reordered frames are released
        /// (`extra_voq_flush_time`).
        flush_extra: Duration = "16us" from "on lossless fat-trees 64 us", check at_most_a_second;
        /// Time to wait for a TAIL if no frame of the old path has been seen in its epoch, in
        /// addition to `flush_extra` (`default_voq_waiting_time`).
        default_wait: Duration = "200us" from "on fat-trees 300 us (IRN) and 600 us (lossless)", check at_most_a_second;
        /// Silence of a flow after which a ToR forgets it.
        age: Duration = "2ms" from "the authors' simulator", check |age, at| match at_most_a_second(age, at.clone())? {
            age if age < inactive => {
                Err(Wrong::at(at, format!("\"{age}\" is below inactive = \"{inactive}\", so the ToR would forget active flows: write a longer time")))
            }
            age => Ok(age),
        };
        /// Number of reorder queues of each port. If none is free, a rerouted flow continues out of
        /// order. No effect with `reorder_memory = "unbounded"`.
        reorder_queues: u16 = 24 from "the authors' Tofino2 at 100 Gb/s", in 0 to 4096 as "a number of queues per port from 0 to 4096";
        /// Memory in which reordered frames wait.
        reorder_memory: ReorderMemory = (if context.ns3 { ReorderMemory::Unbounded } else { ReorderMemory::Shared })
            "`\"shared\"`; with `[run] compat = \"conweave-ns3\"` `\"unbounded\"`";
    }
    plus {
        /// Whether ConWeave works as in the authors' ns-3: unlimited epoch numbers, no header, a
        /// release one nanosecond after the TAIL. Otherwise it works as in the paper: epochs of two
        /// bits, four bytes of header.
        ns3: bool = context.ns3;
    }
}

/// Time that never comes, for deadlines that are not set.
pub const NEVER: u64 = u64::MAX;

/// Reply of the destination's ToR to a frame, in a control frame to the source's ToR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// RTT_REPLY to the RTT_REQUEST of an epoch.
    Rtt { epoch: u32 },
    /// The TAIL of an epoch has arrived.
    Clear { epoch: u32 },
}

/// Bytes of the header with the two time stamps. The other fields fit into reserved bits of the BTH
/// (conweave-p4).
const HEADER: u16 = 4;

/// Parameters of ConWeave. Times are in ps.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    pub reply_extra: u64,
    pub path_busy: u64,
    pub inactive: u64,
    pub flush_extra: u64,
    pub default_wait: u64,
    pub age: u64,
    /// Mask of the bits of an epoch on the wire.
    pub epoch_mask: u32,
    pub header: u16,
    /// Time from a TAIL to the release of the frames that wait for it.
    pub after_tail: u64,
    /// Number of reorder queues per port; `None`: unlimited.
    pub reorder_queues: Option<u16>,
    /// True if the frames in reorder queues occupy the switch's memory.
    pub charged: bool,
    /// Silence after which the source's ToR forgets a flow.
    pub source_age: u64,
}

impl Rules {
    pub fn new(config: &ConweaveConfig) -> Rules {
        let ns3 = config.ns3;
        Rules {
            reply_extra: config.reply_extra.0,
            path_busy: config.path_busy.0,
            inactive: config.inactive.0,
            flush_extra: config.flush_extra.0,
            default_wait: config.default_wait.0,
            age: config.age.0,
            epoch_mask: if ns3 { u32::MAX } else { 0b11 },
            header: if ns3 { 0 } else { HEADER },
            after_tail: if ns3 { 1_000 } else { 0 },
            reorder_queues: (config.reorder_memory != ReorderMemory::Unbounded)
                .then_some(config.reorder_queues),
            charged: config.reorder_memory == ReorderMemory::Shared,
            // The source's ToR must not restart with the first epoch before the other end has
            // forgotten the flow.
            source_age: if ns3 { config.age.0 } else { 2 * config.age.0 },
        }
    }

    /// Compares an epoch, as on the wire, with the epoch in the register: `Less` means that it is
    /// over, `Greater` that it is to come. With two bits, the epoch one behind is over, and epochs
    /// one or two ahead are to come, as in conweave-p4.
    pub fn compare(&self, epoch: u32, register: u32) -> std::cmp::Ordering {
        use std::cmp::Ordering::*;
        match epoch.wrapping_sub(register) & self.epoch_mask {
            0 => Equal,
            ahead if ahead <= self.epoch_mask / 2 + 1 => Greater,
            _ => Less,
        }
    }
}

pub const ABOUT: About = About { reorders: true, controls: true, ..About::pinning(MODEL) };

pub const MODEL: Model = Model {
    kind: "balance",
    name: "conweave",
    source: "Song et al., SIGCOMM 2023; conweave-project/conweave-ns3 and conweave-p4",
    faithful: "epochs, RTT_REQUEST and RTT_REPLY, TAIL and CLEAR, NOTIFY for every marked frame, two draws among all shortest paths, predicted arrival of \
               the TAIL, one reorder queue per flow, state that ages; control frames of 64 B at the highest priority by ECMP; epochs of two bits, 4 B of \
               header, reorder queues bounded per port and charged to the switch's memory, or in memory of their own (`reorder_memory`). `compat = \"conweave-ns3\"`: epochs without end, no header, \
               reorder queues without bound and not charged until released, flush 1 ns after the TAIL",
    simplified: "time stamps are exact instead of 16 bits of microseconds; the table of busy paths has no hash collisions; a flow may use any free \
                 reorder queue of the port instead of one of three chosen by hash; released frames join the port's own queue instead of being served in \
                 parallel with it; the source's ToR forgets a flow after twice the age (ns-3: both ToRs look for aged flows every 2 ms)",
};

#[cfg(test)]
mod tests;
