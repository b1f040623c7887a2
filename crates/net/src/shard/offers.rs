//! Operations on the lanes of a node: offering a frame to one port, advancing all ports to an
//! instant, and starting the due transmissions at the end of a window.

use super::hop::Hop;
use super::lane::{Lane, Lost, OWN, RANKED, SHARED, TRIMMED, next_start};
use super::ranked::due;
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::port::Port;

impl<'a> Shard<'a> {
    /// Borrows the state around the ports of a node, and all ports with their lanes.
    #[inline(always)]
    pub(super) fn hop<'s, O: Outlet, const KIND: u8>(
        &'s mut self,
        out: &'s mut O,
        node: u32,
    ) -> (Hop<'s, O, KIND>, &'s mut [Port], &'s mut [Lane]) {
        let Shard { nodes, ports, lanes, store, extras, .. } = self;
        (Hop { out, extras, store, state: &mut nodes[node as usize] }, ports, lanes)
    }

    #[inline(always)]
    pub(super) fn kind(&self, node: u32) -> u8 {
        self.nodes[node as usize].memory.kind
    }

    /// Offers a frame to a port that is not plain.
    #[inline(always)]
    pub(super) fn offer_to_lane<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
        hash: u32,
    ) {
        match self.kind(node) {
            SHARED => self.offer_kind::<O, SHARED>(out, now, node, port, frame, hash),
            RANKED => self.offer_kind::<O, RANKED>(out, now, node, port, frame, hash),
            TRIMMED => self.offer_kind::<O, TRIMMED>(out, now, node, port, frame, hash),
            _ => self.offer_kind::<O, OWN>(out, now, node, port, frame, hash),
        }
    }

    #[inline(never)]
    fn offer_kind<O: Outlet, const KIND: u8>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
        hash: u32,
    ) {
        if KIND != RANKED && self.is_exact(node) {
            return self.offer_exact::<O, false>(out, now, node, port, Frame { hash, ..*frame });
        }
        if KIND == OWN && self.lanes[port as usize].backlog && !frame.is_of_nic() {
            // A frame joins those that the host's queueing discipline holds.
            self.advance_lane(out, now, node, port);
            if self.lanes[port as usize].backlog {
                return self.hold_back(out, now, node, port, Frame { hash, ..*frame });
            }
        }
        self.offer_within::<O, KIND>(out, now, node, port, frame, hash);
    }

    /// Offers a frame to a port of a node that is not in exact mode.
    #[inline(always)]
    pub(super) fn offer_within<O: Outlet, const KIND: u8>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
        hash: u32,
    ) {
        if !self.offer_hop::<O, KIND>(out, now, node, port, frame, hash, None) {
            self.offer_beyond(out, now, node, port, frame, hash);
        }
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn offer_hop<O: Outlet, const KIND: u8>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
        hash: u32,
        used: Option<u64>,
    ) -> bool {
        let (mut hop, ports, lanes) = self.hop::<O, KIND>(out, node);
        let done = hop.offer(
            &mut ports[port as usize],
            &mut lanes[port as usize],
            port,
            now,
            frame,
            hash,
            used,
        );
        self.see_to_losses();
        done
    }

    /// Offers a frame beyond the bounds: advances all ports to `now`, sets the bounds anew for the
    /// memory then in use, and tries once more. If that does not decide, the node enters exact mode.
    /// If the ring is full, the host's queueing discipline takes the frame.
    #[cold]
    #[inline(never)]
    pub(super) fn offer_beyond<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
        hash: u32,
    ) {
        if self.lanes[port as usize].fills_ring(&self.ports[port as usize], frame, now) {
            return self.hold_back(out, now, node, port, Frame { hash, ..*frame });
        }
        self.advance_all(out, now, node);
        self.set_level(node);
        let managed = self.nodes[node as usize].managed.is_some();
        let settled = self.kind(node) == SHARED && {
            // With a dynamic threshold the memory in use decides, which is exact now.
            let used = (!managed).then(|| self.memory_used(now, node));
            self.offer_hop::<O, SHARED>(out, now, node, port, frame, hash, used)
        };
        if settled {
            // The exact memory in use has decided, possibly beyond the bound.
            return self.nodes[node as usize].memory.set_idle();
        }
        self.enter_exact(now, node);
        self.offer_exact::<O, false>(out, now, node, port, Frame { hash, ..*frame });
    }

    /// Starts all transmissions that are due by `now` at a port of a node that is not exact.
    pub(super) fn advance_lane<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        match self.kind(node) {
            SHARED => self.advance_port::<O, SHARED>(out, now, node, port),
            RANKED => self.advance_port::<O, RANKED>(out, now, node, port),
            _ => self.advance_port::<O, OWN>(out, now, node, port),
        }
    }

    pub(super) fn advance_all<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let (first, ports) =
            (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        (first..first + ports).for_each(|port| self.advance_lane(out, now, node, port));
    }

    #[inline(always)]
    fn advance_port<O: Outlet, const KIND: u8>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
    ) {
        let (mut hop, ports, lanes) = self.hop::<O, KIND>(out, node);
        hop.advance(&mut ports[port as usize], &mut lanes[port as usize], port, now);
        self.see_to_losses();
    }

    /// Returns the memory in use, in bytes, at a node all of whose ports have been advanced
    /// to `now`.
    fn memory_used(&self, now: u64, node: u32) -> u64 {
        let state = &self.nodes[node as usize];
        let sent = |port: u32| {
            self.lanes[port as usize].in_transmission(&self.ports[port as usize], None, now)
        };
        let sending = if state.until_start {
            0
        } else {
            (state.first_port..state.first_port + state.ports).map(sent).sum()
        };
        state.memory.used + sending
    }

    /// Offers a frame that a balancer has held, and that is already charged, to its port.
    /// Returns `false` if the frame may have to be marked, and then leaves it to the caller.
    pub(super) fn join_within<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
    ) -> bool {
        let (mut hop, ports, lanes) = self.hop::<O, SHARED>(out, node);
        let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
        hop.advance(p, lane, port, now);
        let queue = lane.queue_of(frame);
        let fits = lane.queues[queue].waits.bytes() + frame.size as u32
            <= hop.state.memory.limits_of(frame.priority()).queue;
        if fits && p.free_at <= now && !lane.held {
            hop.state.release_waiting(frame);
            hop.start(p, lane, port, now, queue, frame, frame.to(p.peer_port));
        } else if fits {
            hop.wait(p, lane, port, now, queue, frame, frame.hash, frame.flags);
        }
        if fits {
            self.uncharge_within(node, port, queue as u8, frame);
        }
        self.see_to_losses();
        fits
    }

    /// Ends a window of a node: starts all transmissions that are due before `end`, and wakes
    /// the node when the next one is due. `paused`: the node pauses a priority group.
    #[inline(never)]
    pub(super) fn finish_active<O: Outlet>(
        &mut self,
        out: &mut O,
        end: u64,
        node: u32,
        paused: bool,
    ) {
        if paused && self.finish_paused(out, end, node) {
            return;
        }
        if self.nodes[node as usize].active.is_empty() {
            return;
        }
        if self.is_exact(node) {
            return self.finish_exact(out, end, node);
        }
        let earliest = match self.kind(node) {
            SHARED => self.finish_hops::<O, SHARED>(out, end, node),
            _ => self.finish_hops::<O, OWN>(out, end, node),
        };
        self.see_to_losses();
        self.wake_by(out, node, earliest);
    }

    /// Starts all transmissions that are due before `end`. Returns the time in ps at which the next
    /// one is due.
    #[inline(never)]
    pub(super) fn finish_hops<O: Outlet, const KIND: u8>(
        &mut self,
        out: &mut O,
        end: u64,
        node: u32,
    ) -> u64 {
        let mut active = std::mem::take(&mut self.nodes[node as usize].active);
        let (mut hop, ports, lanes) = self.hop::<O, KIND>(out, node);
        let (mut earliest, mut kept) = (u64::MAX, 0);
        for place in 0..active.len() {
            let port = active[place];
            let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
            hop.advance(p, lane, port, end - 1);
            lane.listed = lane.occupied != 0 || lane.backlog;
            if lane.listed {
                earliest = earliest.min(if KIND == RANKED {
                    due(p, hop.store.rank_queues[port as usize].smallest(), hop.state.defers)
                } else if lane.held && lane.occupied != 0 {
                    next_start(&hop.store.arena, p, lane)
                } else {
                    p.free_at
                });
                active[kept] = port;
                kept += 1;
            }
        }
        active.truncate(kept);
        self.nodes[node as usize].active = active;
        earliest
    }

    /// Returns the bytes that wait at a port, without the frame in transmission, and the bytes
    /// whose transmission has begun. The port has been advanced to the current time.
    pub fn waiting_and_begun(&self, port: u32) -> (u64, u64) {
        let p = &self.ports[port as usize];
        let waiting = if p.plain {
            p.plain_waiting()
        } else {
            p.queued + p.qdisc().map_or(0, |qdisc| qdisc.bytes())
        };
        (waiting, p.begun())
    }

    #[inline(always)]
    pub(super) fn see_to_losses(&mut self) {
        if self.store.news {
            self.count_news();
        }
    }

    #[cold]
    #[inline(never)]
    fn count_news(&mut self) {
        self.store.news = false;
        self.counters.ecn_marks += std::mem::take(&mut self.store.marks);
        self.counters.dropped_bytes += std::mem::take(&mut self.store.trimmed);
        for Lost { port, queue, frame, reason } in std::mem::take(&mut self.store.lost) {
            self.drop_at(port, queue as usize, frame, reason);
        }
    }
}
