//! Path of a frame through a node: choice of the port, admission, marking and transmission.

use super::count::mark_at_arrival;
use super::lane::RANKED;
use super::send::send;
use super::{Outlet, Shard, Slab};
use crate::fault::Fate;
use crate::frame::{Event, Extra, Frame};
use crate::queue::{QueueView, Reason, Verdict};

impl<'a> Shard<'a> {
    /// Processes a frame that arrives at `node`.
    #[inline(always)]
    pub fn arrive<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: &Frame) {
        let state = &mut self.nodes[node as usize];
        self.last = self.last.max(now);
        if state.watched
            && !(self.passes_link(now, node, *frame)
                && self.passes_processor(out, now, node, *frame))
        {
            return;
        }
        self.arrived(out, now, node, frame);
    }

    /// Continues an arrival after link faults and the processor model: delivers or forwards the
    /// frame.
    #[inline(always)]
    pub(super) fn arrived<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, frame: &Frame) {
        self.counters.packet_hops += 1;
        let state = &self.nodes[node as usize];
        if state.host {
            if state.needs_slow_path && state.id != frame.dst {
                return self.relay(out, now, node, *frame);
            }
            debug_assert_eq!(state.id, frame.dst, "hosts do not forward");
            self.deliver(out, now, *frame);
            return;
        }
        if state.needs_slow_path {
            return if state.balanced.is_some() {
                self.arrive_balanced(out, now, node, frame)
            } else {
                self.arrive_rated(out, now, node, *frame)
            };
        }
        let bits = self.world.route_bits;
        if bits != 0 {
            return self.forward(
                out,
                now,
                node,
                frame.routed_port(bits),
                &mut Frame { hash: frame.hash >> bits, ..*frame },
            );
        }
        let Some(port) =
            self.world.routes(now).next_hop(state.id, frame.dst, frame.hash, state.hash_seed)
        else {
            return self.drop_frame(*frame, Reason::Down);
        };
        self.forward(out, now, node, port, &mut frame.clone());
    }

    /// Forwards a frame for another host, at a host that relays frames (BCube).
    #[cold]
    #[inline(never)]
    fn relay<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, mut frame: Frame) {
        match self.outgoing(now, node, frame.dst, frame.hash) {
            Some(port) => {
                let port = port - self.nodes[node as usize].first_port;
                self.forward(out, now, node, port as u16, &mut frame)
            }
            None => self.drop_frame(frame, Reason::Down),
        }
    }

    /// Applies link faults to a frame that arrives at a node with faulty links or sampled ports,
    /// and counts its bytes at a sampled port. Returns `false` if the frame was dropped.
    #[cold]
    #[inline(never)]
    fn passes_link(&mut self, now: u64, node: u32, frame: Frame) -> bool {
        let header = self.nodes[node as usize].header;
        let input = &mut self.ports[frame.port as usize];
        if let Some(fault) = self.faults.get_mut(&frame.port) {
            match fault.fate(
                now,
                frame.size,
                input.arrival(frame.size.min(header)),
                input.arrival(frame.size),
            ) {
                Fate::Delivered => {}
                Fate::Lost => {
                    self.drop_frame(frame, Reason::Loss);
                    return false;
                }
                Fate::TooLong => {
                    self.drop_frame(frame, Reason::TooLong);
                    return false;
                }
                Fate::Down => {
                    self.drop_frame(frame, Reason::Down);
                    return false;
                }
            }
        }
        if let Some(series) = input.features.as_mut().and_then(|a| a.series.as_mut()) {
            series.rx_bytes += frame.size as u64;
        }
        true
    }

    /// Offers a frame to the output `port`. The frame arrived by `frame.port` or starts here.
    #[inline(always)]
    pub fn offer<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame) {
        if O::CLASSICAL {
            return self.offer_exact::<O, false>(out, now, node, port, *frame);
        }
        let state = &mut self.nodes[node as usize];
        let p = &mut self.ports[port as usize];
        if !p.plain {
            return self.offer_to_lane(out, now, node, port, frame, frame.hash);
        }
        let size = frame.size as u64;
        state.used -= p.release_idle(now);
        // Exact departures of a busy port matter only if a policy reads the occupancy.
        if !p.takes_at_once(&state.fast_path, state.used, size) {
            return self.offer_plain(out, now, node, port, frame);
        }
        self.append(out, now, node, port, frame);
    }

    /// Takes a frame for a plain port beyond the limits of the fast path: the buffer and marking
    /// judge it by the exact occupancy of the port.
    #[inline(never)]
    pub(super) fn offer_plain<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
    ) {
        let mut frame = *frame;
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        let size = frame.size as u64;
        state.used -= p.release(now);
        let length = QueueView { bytes: p.queued, frames: p.plain_count() };
        let admitted = match state.buffer.admit(length, size, state.used, false) {
            Some(verdict) => verdict,
            None if state.buffer.is_voq() => return self.offer_voq(out, now, node, port, frame),
            None => self.admit_exactly(out, now, node, port, 0, size),
        };
        if !matches!(admitted, Verdict::Admit) && !self.passes(port, 0, &mut frame, admitted) {
            return;
        }
        let (state, p) = (&self.nodes[node as usize], &mut self.ports[port as usize]);
        let verdict = mark_at_arrival(state.marking.as_ref(), now, length, p, 0, &frame);
        if self.passes(port, 0, &mut frame, verdict) {
            self.append(out, now, node, port, &frame);
        }
    }

    /// Appends a frame to the queue of a plain port, whose departure is known at once.
    #[inline(always)]
    fn append<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame) {
        let p = &mut self.ports[port as usize];
        self.nodes[node as usize].used += frame.size as u64;
        let (start, time) =
            if p.is_late() { p.append_late(now, frame) } else { p.append(now, frame.size) };
        send(out, &mut self.extras, p, start, time, frame, frame.to(p.peer_port));
    }

    /// Decides an admission that an upper bound of the memory in use leaves open: releases all
    /// ports to `now`, so that the memory in use is exact, and asks the buffer again.
    #[cold]
    #[inline(never)]
    pub(super) fn admit_exactly<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        size: u64,
    ) -> Verdict {
        self.release_all(out, now, node);
        let length = self.length_of(node, port, queue);
        self.nodes[node as usize].admit(queue, length, size, true).expect("exact figures settle it")
    }

    /// Advances all ports of a node to `now`.
    pub(super) fn release_all<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let (first, ports) =
            (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        (first..first + ports).for_each(|port| self.release_departed(out, now, node, port));
    }

    /// Advances a port to `now`, so that all frames that have left by then are accounted for.
    pub fn release_departed<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        if self.ports[port as usize].plain {
            let freed = self.ports[port as usize].release(now);
            self.nodes[node as usize].used -= freed;
        } else if !O::CLASSICAL {
            let late = self.nodes[node as usize].arrivals_first as u64;
            self.bring_up(out, now.saturating_sub(late), node, port);
        }
    }

    /// Offers a frame that a balancer has held to its output port. The frame is already charged to
    /// the memory, so that it needs no admission.
    #[inline(never)]
    pub(super) fn join_held<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: Frame,
    ) {
        if !self.is_exact(node) {
            if self.join_within(out, now, node, port, &frame) {
                return;
            }
            self.advance_all(out, now, node);
            self.enter_exact(now, node);
        }
        self.offer_exact::<O, true>(out, now, node, port, frame);
    }

    /// True if a watchdog drops the frames of this class.
    #[inline(always)]
    pub(super) fn is_dropping(&self, port: u32, frame: &Frame) -> bool {
        let pause = self.ports[port as usize].pause();
        pause.is_some_and(|pause| pause.dropping >> frame.priority() & 1 != 0)
    }

    /// Advances a port that is not plain to `now`: everything that ends or starts by `now` happens.
    /// A transmission that ends exactly at `now` has ended, and the next one has started.
    pub(super) fn advance<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let p = &self.ports[port as usize];
        if self.is_exact(node) {
            self.advance_exact(out, now, node, port);
        } else if p.free_at <= now && (p.queued > 0 || self.lanes[port as usize].backlog) {
            self.advance_lane(out, now, node, port);
        }
    }

    /// Returns the length of a queue, at a port that has been released or advanced to the current
    /// time. The frame in transmission counts where the buffer counts it.
    #[inline(always)]
    pub(super) fn length_of(&self, node: u32, port: u32, queue: usize) -> QueueView {
        let p = &self.ports[port as usize];
        if p.plain {
            return QueueView { bytes: p.queued, frames: p.plain_count() };
        }
        if let Some(d) = p.discipline() {
            return QueueView { bytes: d.queues[queue].bytes, frames: d.queues[queue].count };
        }
        let lane = &self.lanes[port as usize];
        let until_start = self.nodes[node as usize].until_start;
        lane.length(queue, lane.bytes_sending(until_start, queue))
    }

    /// Window engine: ends a window of a node, after the node's events. Starts all transmissions
    /// that begin before `end`, because their frames may arrive in the next window.
    #[inline(always)]
    pub fn finish_window<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) {
        let state = &self.nodes[node as usize];
        let paused = state.managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0);
        if !paused && state.active.is_empty() {
            return;
        }
        if state.memory.kind == RANKED {
            return self.finish_ranked(out, end, node);
        }
        self.finish_active(out, end, node, paused);
    }

    /// Wakes the node at `at`, unless `at` is `u64::MAX` or a wake event is scheduled for `at` or
    /// earlier.
    #[inline(always)]
    pub(super) fn wake_by<O: Outlet>(&mut self, out: &mut O, node: u32, at: u64) {
        let wake_at = self.nodes[node as usize].wake_at;
        if at < u64::MAX && (wake_at == 0 || at < wake_at) {
            self.nodes[node as usize].wake_at = at;
            let wake = self.event(node, 0, Event::Wake);
            out.event(at, wake);
        }
    }
}

/// Returns the rank of a frame for disciplines that send the lowest rank first: the remaining size
/// of the flow if the frame carries it (pFabric's data and control frames), else 0.
#[inline(always)]
pub(super) fn rank(extras: &Slab<Extra>, frame: &Frame) -> u64 {
    match frame.kind() {
        Frame::DATA | Frame::CONTROL if frame.has(Frame::EXTRA) => extras[frame.aux].rank as u64,
        Frame::DATA | Frame::CONTROL if frame.has(Frame::RANKED) => frame.aux as u64,
        _ => 0,
    }
}
