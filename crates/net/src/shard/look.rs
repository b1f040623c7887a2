//! Takes snapshots of a shard while it runs. A snapshot changes nothing in the shard.

use super::Shard;
use crate::spec::NodeKind;
use crate::view::{Queue, Snapshot};

impl Shard<'_> {
    /// Returns a snapshot after everything up to `now` has happened. Ports that defer their
    /// decisions appear as they were when last advanced, so that their queues can be one window
    /// old.
    pub fn look(&self, now: u64) -> Snapshot {
        let c = &self.counters;
        let switches =
            self.world.plan.topology.nodes.iter().any(|node| node.kind == NodeKind::Switch);
        let mut snapshot = Snapshot {
            now,
            drops: c.dropped_packets - c.in_discards,
            in_discards: c.in_discards,
            ecn_marks: c.ecn_marks,
            pause_frames: c.pause_frames,
            timeouts: c.timeouts,
            ..Snapshot::default()
        };
        for node in self.nodes.iter().filter(|node| node.host != switches) {
            for number in 0..node.ports {
                let p = &self.ports[(node.first_port + number) as usize];
                let bytes = if node.defers.is_some() {
                    // The bytes that have been sent since the port was last advanced, at the rate
                    // of the link.
                    let sent = now.saturating_sub(p.free_at) as u128 * p.rate as u128;
                    (p.queued as u128).saturating_sub(sent / 8_000_000_000_000) as u64
                } else if p.plain {
                    p.holds(now)
                } else {
                    self.lanes[(node.first_port + number) as usize].holds(p, node.until_start, now)
                        + p.qdisc().map_or(0, |qdisc| qdisc.bytes())
                };
                if bytes > 0 {
                    let peer = self.world.ports.of(node.id)[number as usize].peer;
                    snapshot.note(Queue { node: node.id, port: number, peer, bytes });
                }
            }
        }
        snapshot
    }
}
