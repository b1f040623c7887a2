//! Hosts whose kernel holds frames back in a queueing discipline: how frames enter and leave the
//! discipline.

use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::spec::TransportConfig;

impl Shard<'_> {
    /// Gives a frame to the kernel's queueing discipline, because the card's ring is full.
    #[cold]
    #[inline(never)]
    pub(super) fn hold_back<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: Frame,
    ) {
        let hash = self.hash_at_host(node, &frame);
        let p = &mut self.ports[port as usize];
        let a = p.features.as_deref_mut().expect("not plain");
        let clock = a.pause.as_ref().map_or(0, |pause| pause.clock(frame.priority(), now));
        let qdisc = a.qdisc.as_mut().expect("it has one");
        let back = qdisc.push(Waiting { frame, ready: now, clock }, hash, now, &mut p.stream);
        let lane = &mut self.lanes[port as usize];
        lane.backlog = qdisc.holds();
        lane.rare |= lane.backlog;
        if !lane.listed {
            lane.listed = true;
            self.nodes[node as usize].active.push(port);
        }
        for (mut frame, verdict) in back {
            let stays = self.passes(port, 0, &mut frame, verdict);
            debug_assert!(!stays, "it was dropped");
        }
        self.note_length(node, port, 0);
        if self.is_exact(node) {
            self.start_exact(out, now, node, port);
        } else if self.ports[port as usize].free_at <= now {
            self.hold_on(out, now, node, port);
        }
    }

    /// Returns the hash by which the kernel of a host distinguishes the flows that it sends. It is
    /// computed anew where frames carry their route, or a hash of their own, instead of the flow's.
    pub(super) fn hash_at_host(&self, node: u32, frame: &Frame) -> u32 {
        let world = self.world;
        if world.route_bits == 0 && !world.chosen_paths {
            return frame.hash;
        }
        let flow = world.flow(frame.flow);
        let own = world.flow_hash(flow, flow.src != self.nodes[node as usize].id);
        let chooses =
            |transport: &TransportConfig| transport.parameters().requirements().chooses_paths();
        if world.plan.transports.get(usize::from(flow.transport)).is_some_and(chooses) {
            own
        } else if world.route_bits == 0 {
            frame.hash
        } else {
            own ^ frame.hash.wrapping_mul(0x9e37_79b1)
        }
    }
}
