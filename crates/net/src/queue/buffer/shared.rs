//! Memory shared by all queues of a switch, with a dynamic threshold per queue (Choudhury and Hahne
//! 1998).

use crate::Model;
use crate::queue::buffer::mmu::Bounds;
use crate::queue::{FastPathLimits, QueueView};

#[derive(Debug, Clone, Copy)]
pub struct Shared {
    total: u64,
    /// Alpha in units of 1/65536.
    alpha: u64,
    reserved: u64,
}

impl Shared {
    pub fn new(total: u64, alpha: f64, reserved: u64) -> Self {
        assert!(total < 1 << 40 && (0.0..=1024.0).contains(&alpha), "validated");
        Shared { total, alpha: (alpha * 65_536.0 + 0.5) as u64, reserved }
    }

    /// Fast-path limits: the threshold that applies while half of the memory is free.
    pub fn fast_path(&self) -> FastPathLimits {
        let used = self.total / 2;
        FastPathLimits {
            used,
            queue: self.reserved + self.threshold(self.total - used),
            ..FastPathLimits::ALWAYS
        }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the bounds that hold while at most `used` bytes are in use; `None` above the total
    /// memory.
    pub fn bounds(&self, used: u64) -> Option<Bounds> {
        let free = self.total.checked_sub(used)?;
        Some(Bounds { used, group: u64::MAX, queue: self.reserved + self.threshold(free) })
    }

    /// Returns true if the frame fits into the free memory and the queue, including the frame,
    /// holds at most `reserved + alpha * free memory`.
    #[inline(always)]
    pub fn admit(&self, queue: QueueView, size: u64, used: u64) -> bool {
        let free = self.total.saturating_sub(used);
        size <= free && queue.bytes + size <= self.reserved + self.threshold(free)
    }

    /// Computes `alpha * free` in bytes. Memory is below 2^40 bytes and alpha at most 2^10, so a
    /// product that saturates 64 bits exceeds any memory.
    #[inline(always)]
    fn threshold(&self, free: u64) -> u64 {
        free.saturating_mul(self.alpha) >> 16
    }
}

pub const MODEL: Model = Model {
    kind: "buffer",
    name: "dynamic",
    source: "Choudhury and Hahne, Dynamic queue length thresholds, IEEE/ACM ToN 1998",
    faithful: "threshold alpha * (total - used) per queue at every arrival; n saturated queues settle at alpha*B/(1+n*alpha)",
    simplified: "one pool, egress accounting only; bytes, not cells; the reserve of a queue is granted on top of the threshold but not set aside in the pool",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_within_the_limits_are_admitted() {
        for (total, alpha, reserved) in
            [(1_000_000, 0.25, 0), (999, 8.0, 100), (1, 0.0, 0), (12_000_001, 1.0, 3_000)]
        {
            let shared = Shared::new(total, alpha, reserved);
            let fast_path = shared.fast_path();
            for size in [1, 64, 1_500] {
                let (used, bytes) =
                    (fast_path.used.saturating_sub(size), fast_path.queue.saturating_sub(size));
                let is_calm = used + size <= fast_path.used && bytes + size <= fast_path.queue;
                assert!(
                    !is_calm || shared.admit(QueueView { bytes, frames: 0 }, size, used),
                    "{total} {alpha} {reserved} {size}"
                );
            }
        }
    }

    #[test]
    fn threshold() {
        let shared = Shared::new(1_000_000, 0.25, 0);
        let queue = |bytes| QueueView { bytes, frames: 0 };
        assert!(shared.admit(queue(0), 1_000, 0));
        assert!(shared.admit(queue(249_000), 1_000, 0));
        assert!(!shared.admit(queue(249_001), 1_000, 0));
        assert!(!shared.admit(queue(0), 1_000, 999_001));
    }
}
