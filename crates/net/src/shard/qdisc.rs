//! Hosts whose kernel holds frames back in a queueing discipline: how frames enter and leave the
//! discipline.

use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::port::Waiting;
use crate::queue::Verdict;

impl Shard<'_> {
    /// Gives a frame to the kernel's queueing discipline, because the card takes no more.
    #[cold]
    #[inline(never)]
    pub(super) fn hold_back<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        mut waiting: Waiting,
    ) {
        let size = waiting.frame.size as u64;
        let hash = self.hash_at_host(node, &waiting.frame);
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        let a = p.automaton.as_mut().expect("not plain");
        waiting.clock =
            a.pause.as_ref().map_or(0, |pause| pause.clock(waiting.frame.priority(), now));
        state.used += size;
        p.queued += size;
        a.queues[0].bytes += size;
        a.queues[0].count += 1;
        a.waiting += 1;
        let back = a.qdisc.as_mut().expect("it has one").push(waiting, hash, now, &mut p.stream);
        let sampled = a.series.is_some();
        for (frame, verdict) in back {
            self.unhold(node, port, frame, verdict);
        }
        if sampled {
            let until_start = self.nodes[node as usize].until_start;
            self.ports[port as usize].note_length(until_start, 0);
        }
        let p = &self.ports[port as usize];
        if p.automaton.as_ref().is_some_and(|a| a.sending.is_none()) {
            self.start_next(out, now, node, port);
        }
        if !O::CLASSICAL {
            self.list(node, port);
        }
    }

    /// Gives a frame of an open port to the kernel's queueing discipline, because the card's ring
    /// is full.
    #[cold]
    #[inline(never)]
    pub(super) fn hold_back_open<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: Frame,
    ) {
        let hash = self.hash_at_host(node, &frame);
        let p = &mut self.ports[port as usize];
        let a = p.automaton.as_mut().expect("not plain");
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
        if self.is_exact(node) {
            self.start_exact(out, now, node, port);
        } else if self.ports[port as usize].free_at <= now {
            self.hold_on_open(out, now, node, port);
        }
    }

    /// Returns the hash by which the kernel of a host distinguishes the flows that it sends. It is
    /// computed anew where frames carry their route instead of a hash.
    pub(super) fn hash_at_host(&self, node: u32, frame: &Frame) -> u32 {
        let world = self.world;
        if world.route_bits == 0 {
            return frame.hash;
        }
        let flow = world.flow(frame.flow);
        world.flow_hash(flow, flow.src != self.nodes[node as usize].id)
            ^ frame.hash.wrapping_mul(0x9e37_79b1)
    }

    /// Drops a frame that the discipline had accepted.
    #[cold]
    fn unhold(&mut self, node: u32, port: u32, mut frame: Frame, verdict: Verdict) {
        self.ports[port as usize].automaton.as_mut().expect("not plain").waiting -= 1;
        self.leave(node, port, 0, frame.size as u64);
        let stays = self.passes(port, 0, &mut frame, verdict);
        debug_assert!(!stays, "it was dropped");
    }

    /// Moves frames from the discipline to the card's ring while the ring has space.
    #[inline(never)]
    pub(super) fn fill_ring(&mut self, now: u64, node: u32, port: u32) {
        loop {
            let p = &mut self.ports[port as usize];
            let a = p.automaton.as_mut().expect("not plain");
            let qdisc = a.qdisc.as_mut().expect("it holds frames");
            if !qdisc.may_give(p.queued) {
                return;
            }
            let Some((mut waiting, verdict)) = qdisc.pull(now) else { return };
            if matches!(verdict, Verdict::Drop(_)) {
                self.unhold(node, port, waiting.frame, verdict);
                continue;
            }
            self.passes(port, 0, &mut waiting.frame, verdict);
            let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
            // `push` counts the frame as waiting once more.
            a.waiting -= 1;
            a.push(0, waiting);
        }
    }
}
