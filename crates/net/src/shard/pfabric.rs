//! Fast path of the window engine for nodes whose ports all have pFabric's queue and no other
//! feature: no recording, marking, flow control or cut-through, and no balancer that reads queue
//! lengths. The classical engine always takes the slow path (`discipline`).
//!
//! The next frame need not be chosen in the window in which its transmission starts, but before the
//! window in which it arrives at the other end of the link. A frame that arrives in between first
//! advances the port to its own arrival, and so finds the state of that instant. Most ports are
//! therefore advanced only when the next frame arrives, and a node with nothing else to do is woken
//! once for many transmissions.

use super::forward::rank;
use super::ring::Ring;
use super::send::send;
use super::{Node, Outlet, Shard, Slab};
use crate::frame::{Extra, Frame};
use crate::port::{Automaton, Port};
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use crate::routing::NextHops;

/// State that the ports of a node share, borrowed once.
struct Lanes<'s, O> {
    out: &'s mut O,
    extras: &'s mut Slab<Extra>,
    active: &'s mut Vec<u32>,
    due: &'s mut u64,
    /// Lead time in ps of a deferred choice: see [`slack`].
    slack: Option<u64>,
}

impl<O: Outlet> Lanes<'_, O> {
    /// Starts all transmissions that are due by `now`.
    #[inline(always)]
    fn advance(&mut self, p: &mut Port, ring: &mut Ring, now: u64) {
        while p.free_at <= now && !ring.order.is_empty() {
            let next = ring.order.next();
            let frame = ring.take(next);
            self.start(p, ring, p.free_at, &frame);
        }
    }

    /// Offers a frame to this port. Returns the frame that is dropped as a result, if any.
    #[inline(always)]
    fn offer(
        &mut self,
        p: &mut Port,
        ring: &mut Ring,
        port: u32,
        now: u64,
        frame: &Frame,
    ) -> Option<Frame> {
        self.advance(p, ring, now);
        if p.free_at <= now && (frame.size as u64) < ring.passes_below {
            self.start(p, ring, now, frame);
            return None;
        }
        let dropped = ring.push(frame, rank(self.extras, frame));
        if !ring.listed {
            ring.listed = true;
            self.active.push(port);
        }
        *self.due = (*self.due).min(due(p, frame.size, self.slack));
        dropped
    }

    /// Starts the transmission of a frame at `at`, when the transmitter is idle.
    #[inline(always)]
    fn start(&mut self, p: &mut Port, ring: &mut Ring, at: u64, frame: &Frame) {
        let time = p.transmission(frame.size);
        p.free_at = at + time;
        p.count_sent(frame.size, time);
        ring.latest = frame.size;
        send(self.out, self.extras, p, at, time, frame, frame.to(p.peer_port));
    }
}

impl<'a> Shard<'a> {
    /// Fast path for frames that arrive at a switch in one window, in order, up to the first that
    /// needs the slow path. Returns the number of processed frames.
    pub fn pass_pfabric<O: Outlet>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) -> usize {
        let mut passed = 0;
        loop {
            let (more, dropped) = self.pass_lanes(out, start, node, &frames[passed..]);
            passed += more;
            let Some((port, mut frame)) = dropped else { break };
            self.passes(port, 0, &mut frame, Verdict::Drop(Reason::Buffer));
        }
        if passed > 0 {
            self.last = self.last.max(start + frames[passed - 1].offset as u64);
        }
        self.counters.packet_hops += passed as u64;
        passed
    }

    /// Forwards frames up to the first that causes a drop (and including it). Returns the number of
    /// processed frames, and the dropped frame with its port.
    #[inline(always)]
    fn pass_lanes<O: Outlet>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) -> (usize, Option<(u32, Frame)>) {
        let Shard { nodes, ports, rings, extras, world, .. } = self;
        let state = &mut nodes[node as usize];
        let (first, first_ring, count) =
            (state.first_port, state.first_ring as usize, state.ports as usize);
        let (own, rings) = (
            &mut ports[first as usize..first as usize + count],
            &mut rings[first_ring..first_ring + count],
        );
        let (row, seed, slack) =
            (world.routes(0).row(state.id), state.hash_seed, slack(state, world.lookahead));
        let Node { active, due, balanced, stream, .. } = state;
        let mut lanes = Lanes { out, extras, active, due, slack };
        for (passed, frame) in frames.iter().enumerate() {
            let hops = row.next_hops(frame.dst);
            let port = match balanced.as_deref_mut() {
                _ if !frame.is_traffic() => None,
                None => hops.by_hash(frame.hash, seed),
                Some(_) if frame.is_bound() => None,
                Some(balanced) => match hops {
                    NextHops::Many(several) => balanced.oblivious_choice(
                        row.rack_of(frame.dst),
                        frame.port - first,
                        several,
                        stream,
                    ),
                    _ => hops.by_hash(frame.hash, seed),
                },
            };
            let Some(number) = port.map(|port| port as usize).filter(|&port| port < count) else {
                return (passed, None);
            };
            let port = first + number as u32;
            if let Some(dropped) = lanes.offer(
                &mut own[number],
                &mut rings[number],
                port,
                start + frame.offset as u64,
                frame,
            ) {
                return (passed + 1, Some((port, dropped)));
            }
        }
        (frames.len(), None)
    }

    /// Borrows the shared state of a node, and a port with its ring.
    #[inline(always)]
    fn lane<'s, O>(
        &'s mut self,
        out: &'s mut O,
        node: u32,
        port: u32,
    ) -> (Lanes<'s, O>, &'s mut Port, &'s mut Ring) {
        let Shard { nodes, ports, rings, extras, world, .. } = self;
        let state = &mut nodes[node as usize];
        let ring = &mut rings[(state.first_ring + port - state.first_port) as usize];
        let slack = slack(state, world.lookahead);
        (
            Lanes { out, extras, active: &mut state.active, due: &mut state.due, slack },
            &mut ports[port as usize],
            ring,
        )
    }

    /// Starts all transmissions of a port that are due by `now`.
    pub(super) fn advance_pfabric<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
    ) {
        let (mut lanes, p, ring) = self.lane(out, node, port);
        lanes.advance(p, ring, now);
    }

    /// Offers a frame to a port, and counts the frame that is dropped as a result, if any.
    #[inline(never)]
    pub(super) fn offer_pfabric<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
    ) {
        let (mut lanes, p, ring) = self.lane(out, node, port);
        if let Some(mut dropped) = lanes.offer(p, ring, port, now, frame) {
            self.passes(port, 0, &mut dropped, Verdict::Drop(Reason::Buffer));
        }
    }

    /// Ends a window of the node: starts the transmissions that have to be decided before `end`,
    /// and wakes the node when the next decision is due.
    #[inline(always)]
    pub(super) fn finish_pfabric<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) {
        let (until, due) = (self.world.until(), self.nodes[node as usize].due);
        // In the window in which the run ends, start everything that starts before the end of the
        // run. The rest starts later.
        if end > until {
            let due = self.start_due(out, end, node);
            self.wake_by(out, node, due);
        } else {
            let due = if due >= end { due } else { self.start_due(out, end, node) };
            if due < u64::MAX {
                self.wake_by(out, node, due.min(until));
            }
        }
    }

    /// Starts all transmissions that begin before `end`. Returns the time in ps at which the next
    /// decision is due.
    #[inline(never)]
    fn start_due<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) -> u64 {
        let Shard { nodes, ports, rings, extras, world, .. } = self;
        let state = &mut nodes[node as usize];
        let slack = slack(state, world.lookahead);
        let (first_port, first_ring) = (state.first_port, state.first_ring);
        let mut active = std::mem::take(&mut state.active);
        let (mut unused, mut earliest) = (Vec::new(), u64::MAX);
        let mut lanes = Lanes { out, extras, active: &mut unused, due: &mut state.due, slack };
        let mut kept = 0;
        for place in 0..active.len() {
            let port = active[place];
            let (p, ring) =
                (&mut ports[port as usize], &mut rings[(first_ring + port - first_port) as usize]);
            lanes.advance(p, ring, end - 1);
            ring.listed = !ring.order.is_empty();
            if ring.listed {
                earliest = earliest.min(due(p, ring.order.smallest(), slack));
                active[kept] = port;
                kept += 1;
            }
        }
        active.truncate(kept);
        (state.active, state.due) = (active, earliest);
        earliest
    }

    /// Turns a port into an automaton with its waiting frames, at the end of the run. Everything up
    /// to `end` has been processed.
    pub(super) fn close_pfabric(&mut self, end: u64, node: u32, port: u32) {
        let state = &mut self.nodes[node as usize];
        let (p, ring) = (
            &mut self.ports[port as usize],
            &mut self.rings[(state.first_ring + port - state.first_port) as usize],
        );
        let sending = (p.free_at > end).then(|| p.interrupted(ring.latest));
        p.queued = ring.order.bytes()
            + sending.filter(|_| !state.until_start).map_or(0, |sent| sent.size as u64);
        state.used += p.queued;
        let mut automaton = Automaton::new(1, [0; 8], None, None, false, None, false);
        automaton.sending = sending;
        automaton.queues[0].frames =
            ring.frames.drain(..).map(|frame| Waiting { frame, ready: 0, clock: 0 }).collect();
        p.automaton = Some(Box::new(automaton));
    }
}

/// Returns how many ps before its arrival at the peer a frame has to be chosen; `None` if it has to
/// be chosen when its transmission starts.
#[inline(always)]
fn slack(state: &Node, lookahead: u64) -> Option<u64> {
    state.defers.then_some(lookahead)
}

/// Returns the latest time in ps at which a busy port has to choose its next frame, if no waiting
/// frame is smaller than this. A frame chosen by then arrives in a later window.
#[inline(always)]
fn due(p: &Port, smallest: u16, slack: Option<u64>) -> u64 {
    slack.map_or(p.free_at, |slack| p.free_at + p.first_bits(smallest) + p.delay - slack)
}
