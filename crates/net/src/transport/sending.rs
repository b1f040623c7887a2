//! State that the sending halves of all transports have in common.

use super::door::Opening;
use crate::idle::Idle;
use crate::probe::explain::Attribution;
use crate::shard::SentRecord;
use crate::world::World;

/// Sending half of a flow.
#[derive(Default)]
pub struct Sending {
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub dst: u32,
    pub hash: u32,
    pub priority: u8,
    pub segments: u32,
    pub start: u64,
    pub idle: Idle,
    /// Time in ps of the pending timer event, 0 for none. An event at another time is stale.
    pub armed: u64,
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub why: Option<Attribution>,
}

impl Sending {
    pub fn new(world: &World, &Opening { id, node, hash, idle, .. }: &Opening, now: u64) -> Self {
        let flow = world.flow(id);
        Sending {
            flow: id,
            transport: flow.transport,
            node,
            dst: flow.dst,
            hash,
            priority: flow.priority,
            segments: world.shape(flow).count as u32,
            start: now,
            idle,
            why: world.plan.record.explain.then(|| Attribution::new(now)),
            ..Sending::default()
        }
    }

    pub fn record(&self, finish: Option<u64>) -> SentRecord {
        let &Sending { sent: packets, retransmitted, timeouts, .. } = self;
        SentRecord {
            finish,
            packets,
            retransmitted,
            timeouts,
            why: self.why.clone(),
            ..SentRecord::new(self.flow, self.start, self.idle)
        }
    }
}
