//! Computes how many bytes the queues of switches hold, and whether they mark or lose frames.

use crate::spec::*;
use crate::world::World;

/// Queue of a switch at one of its output ports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queue {
    /// Maximum length in bytes if all other queues of the switch are empty; infinite without a
    /// limit.
    pub limit: f64,
    /// Lengths in bytes from which on some (first) and all (second) ECN-capable frames are marked,
    /// and the marked fraction just below the second length. Infinite lengths mean no marking.
    pub marks: (f64, f64),
    pub part: f64,
    /// True if the queue's input is paused instead of losing frames.
    pub lossless: bool,
}

impl Queue {
    /// Returns the queue of frames with this priority at an output port of the switch `node`.
    pub fn of(world: &World, node: NodeId, priority: u8) -> Queue {
        let plan = world.plan;
        let switch = &plan.switches[plan.topology.nodes[node as usize].config as usize];
        let frame = plan.largest_frame() as f64;
        let bytes = |limit: &Limit| match limit {
            Limit::Bytes(bytes) => *bytes as f64,
            Limit::Packets(packets) => f64::from(*packets) * frame,
        };
        let own = switch.own_of(priority);
        let marking = own.map_or(switch.marking.as_ref(), |own| own.marking.as_ref());
        let limit = match own.map_or(&switch.buffer, |own| &own.buffer) {
            Buffer::Unlimited => f64::INFINITY,
            Buffer::Static { per_queue, .. } => bytes(per_queue),
            // Choudhury and Hahne 1998: the limit is alpha times the memory that one queue leaves
            // free.
            Buffer::Shared { total, alpha, reserved_per_queue } => {
                *total as f64 * alpha / (1.0 + alpha) + *reserved_per_queue as f64
            }
            Buffer::Mmu(mmu) => {
                let queue = switch.scheduling.of_priority()[usize::from(priority & 7)];
                let alpha = mmu.rules.settings().alpha(queue.into());
                mmu.total as f64 * alpha / (1.0 + alpha)
            }
            Buffer::Voq(voq) => voq.max_bytes.unwrap_or(voq.on_chip + voq.dram) as f64,
        };
        let aqm = switch.aqm.as_ref().map(|aqm| aqm.about());
        let limit = aqm.and_then(|aqm| aqm.limit).map_or(limit, |most| bytes(&most));
        let threshold = aqm.map_or(f64::INFINITY, |aqm| aqm.threshold);
        let capped =
            own.and_then(|own| own.limit.as_ref()).map_or(limit, |most| limit.min(bytes(most)));
        Queue {
            limit: capped,
            marks: marking.map_or((threshold, threshold), |marking| {
                (bytes(&marking.kmin), bytes(&marking.kmax))
            }),
            part: marking.map_or(1.0, |marking| marking.pmax.get()),
            lossless: switch
                .pfc
                .as_ref()
                .is_some_and(|pfc| pfc.priorities & 1 << (priority & 7) != 0),
        }
    }

    /// Returns the probability that a frame that finds this queue length is marked.
    pub fn marks(&self, bytes: f64) -> f64 {
        let (some, all) = self.marks;
        if bytes <= some {
            0.0
        } else if bytes >= all {
            1.0
        } else {
            self.part * (bytes - some) / (all - some)
        }
    }

    /// Returns the bytes that endless flows keep in the queue.
    pub fn standing(&self, marked: bool) -> f64 {
        if marked { self.limit.min(self.marks.1) } else { self.limit }
    }
}
