//! Static buffer limit per queue, in bytes or frames.

use crate::Model;
use crate::queue::{FastPathLimits, QueueView, Reason, Verdict};
use crate::spec::{Compare, Limit};

#[derive(Debug, Clone, Copy)]
pub struct StaticLimit {
    pub limit: Limit,
    pub drop_when: Compare,
}

impl StaticLimit {
    pub fn fast_path(&self) -> FastPathLimits {
        let below = (self.drop_when == Compare::AtOrAbove) as u32;
        match self.limit {
            Limit::Bytes(limit) => FastPathLimits {
                queue: limit.saturating_sub(below as u64),
                ..FastPathLimits::ALWAYS
            },
            Limit::Packets(limit) => {
                FastPathLimits { frames: limit.saturating_sub(below), ..FastPathLimits::ALWAYS }
            }
        }
    }

    #[inline(always)]
    pub fn admit(&self, queue: QueueView, size: u64) -> Verdict {
        let (would_be, limit) = match self.limit {
            Limit::Bytes(limit) => (queue.bytes + size, limit),
            Limit::Packets(limit) => (queue.frames as u64 + 1, limit as u64),
        };
        // ns-2 drops when bytes + packet >= limit, so 36,000 B hold 23 full packets, not 24.
        let full = match self.drop_when {
            Compare::Above => would_be > limit,
            Compare::AtOrAbove => would_be >= limit,
        };
        if full { Verdict::Drop(Reason::Buffer) } else { Verdict::Admit }
    }
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "static",
    source: "drop-tail; limits in bytes or packets as in ns-2, ns-3 and switch data sheets",
    faithful: "whole frames, per queue; a frame counts until its last bit has left, or (`queue_length`) until its transmission starts; `>` or `>=`",
    simplified: "no cells: a frame occupies exactly its bytes",
};
