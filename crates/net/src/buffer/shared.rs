//! Memory shared by all queues of a switch with a dynamic threshold (Choudhury and Hahne 1998).

use super::QueueView;
use crate::Model;

#[derive(Debug, Clone, Copy)]
pub struct Shared {
    total: u64,
    /// Alpha in 1/65536.
    alpha: u64,
    reserved: u64,
}

impl Shared {
    pub fn new(total: u64, alpha: f64, reserved: u64) -> Self {
        // Products below stay within 64 bits: a terabyte of memory, an alpha of 255.
        assert!(total < 1 << 40 && (0.0..256.0).contains(&alpha), "validated");
        Shared { total, alpha: (alpha * 65_536.0 + 0.5) as u64, reserved }
    }

    /// The queue with the frame may hold `reserved + alpha * free memory`, and the memory must hold the frame.
    #[inline(always)]
    pub fn admit(&self, queue: QueueView, size: u64, used: u64) -> bool {
        let free = self.total.saturating_sub(used);
        size <= free && queue.bytes + size <= self.reserved + ((free * self.alpha) >> 16)
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
    fn threshold() {
        let shared = Shared::new(1_000_000, 0.25, 0);
        let queue = |bytes| QueueView { bytes, frames: 0 };
        assert!(shared.admit(queue(0), 1_000, 0));
        assert!(shared.admit(queue(249_000), 1_000, 0));
        assert!(!shared.admit(queue(249_001), 1_000, 0));
        assert!(!shared.admit(queue(0), 1_000, 999_001));
    }
}
