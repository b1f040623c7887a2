//! Ports with flow control in a window in which nothing is paused. It is known before a node deals with the first frame of the window: no PAUSE
//! frame is among what comes, and what comes cannot take a priority group to its threshold, whatever its order. Then frames that start within the
//! window are on their way at once, as at a plain port, and the memory management unit need not know of those that leave within it; only frames
//! that start later wait, since a later window's PAUSE may hold them back.
//!
//! While a node is steady its ports count as plain ones do (the ring of sizes, `Port::queued`), and its memory management unit has the waiting
//! frames alone. When it ceases to be, everything is as if each port had been advanced to the window's beginning.

use super::count::mark_at_arrival;
use super::pause::carry_pause;
use super::way::{Way, send};
use super::{Outlet, Shard};
use crate::frame::{Change, Event, Frame};
use crate::port::{PAUSE_QUEUE, Port, Sending, Waiting};
use crate::queue::buffer::mmu::Charge;
use crate::queue::{QueueView, Verdict};
use afflux_engine::prefetch;

impl<'a> Shard<'a> {
    /// Window engine: `node` has these entries in the window from `start` to `end`.
    #[inline(always)]
    pub fn begin_window<O: Outlet>(&mut self, out: &mut O, start: u64, end: u64, node: u32, entries: &[Frame]) {
        if self.nodes[node as usize].steadies {
            self.look_ahead(out, start, end, node, entries);
        }
    }

    #[inline(never)]
    fn look_ahead<O: Outlet>(&mut self, out: &mut O, start: u64, end: u64, node: u32, entries: &[Frame]) {
        if !self.foresees(node, entries) {
            return self.unsteady(start, node);
        }
        if !self.nodes[node as usize].steady && !self.steady(out, start, node) {
            return;
        }
        self.nodes[node as usize].horizon = end;
        self.start_waiting(out, end, node);
    }

    /// Can nothing in these entries have to do with flow control?
    fn foresees(&mut self, node: u32, entries: &[Frame]) -> bool {
        let state = &mut self.nodes[node as usize];
        let Some(managed) = &mut state.managed else {
            return entries.iter().all(|frame| frame.kind() != Frame::PAUSE);
        };
        if managed.mmu.paused > 0 {
            return false;
        }
        let first = state.first_port;
        let mut classes = 0;
        for frame in entries {
            if frame.is_traffic() {
                classes |= 1 << frame.priority();
                managed.expect_frame(frame.port - first, frame.size);
            } else if frame.kind() != Frame::EVENT || Event::of(frame) != Event::Wake {
                managed.expect_nothing();
                return false;
            }
        }
        managed.is_calm(classes)
    }

    /// Makes the node steady, if its ports are.
    #[cold]
    #[inline(never)]
    fn steady<O: Outlet>(&mut self, out: &mut O, start: u64, node: u32) -> bool {
        let (first, ports) = (self.nodes[node as usize].first_port, self.nodes[node as usize].ports);
        for port in (first..first + ports).filter(|&port| !self.ports[port as usize].plain).collect::<Vec<_>>() {
            self.advance(out, start.saturating_sub(1), node, port);
            let p = &self.ports[port as usize];
            let a = p.automaton.as_ref().expect("not plain");
            let free = a.pause.as_ref().is_none_or(|pause| pause.is_undisturbed(start));
            if !free || a.sending.is_none() && a.waiting > 0 || a.sending.is_some_and(|sent| sent.queue == PAUSE_QUEUE) {
                return false;
            }
        }
        let Shard { nodes, ports: all, .. } = self;
        let state = &mut nodes[node as usize];
        for port in first..first + ports {
            let p = &mut all[port as usize];
            if p.plain {
                continue;
            }
            let sending = p.automaton.as_ref().and_then(|a| a.sending);
            if let Some(sent) = sending {
                p.count_ahead(&sent);
            }
            let a = p.automaton.as_deref_mut().expect("not plain");
            if let (Some(managed), Some(sent)) = (&mut state.managed, sending) {
                let size = managed.mmu.size_of(sent.size as u64, sent.class);
                managed.mmu.give_back(&Charge::new(size, sent.input - first, port - first, sent.class, sent.queue));
                managed.largest = managed.largest.max(sent.size);
            }
            if a.waiting > 0 && !a.listed {
                a.listed = true;
                state.active.push(port);
            }
        }
        state.steady = true;
        true
    }

    /// The node is no longer steady: everything is as it is just before `at`.
    pub(super) fn unsteady(&mut self, at: u64, node: u32) {
        if self.nodes[node as usize].steady {
            self.unsettle(at, node);
        }
    }

    #[cold]
    #[inline(never)]
    fn unsettle(&mut self, at: u64, node: u32) {
        let Shard { nodes, ports: all, .. } = self;
        let state = &mut nodes[node as usize];
        state.steady = false;
        let first = state.first_port;
        for port in first..first + state.ports {
            let p = &mut all[port as usize];
            if p.plain {
                continue;
            }
            let (freed, left) = p.uncount_ahead(at.saturating_sub(1));
            state.used -= freed;
            let queued = p.queued;
            let a = p.automaton.as_deref_mut().expect("not plain");
            if left == 0 {
                a.sending = None;
            }
            debug_assert!(a.waiting == 0 || a.sending.is_some(), "who waits, waits for somebody");
            (a.queues[0].bytes, a.queues[0].count) = (queued, left + a.waiting);
            if let (Some(managed), Some(sent)) = (&mut state.managed, a.sending) {
                let size = managed.mmu.size_of(sent.size as u64, sent.class);
                managed.mmu.charge(&Charge::new(size, sent.input - first, port - first, sent.class, sent.queue), false);
            }
        }
    }

    /// Frames that wait, and start before `end`.
    fn start_waiting<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) {
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, extras, .. } = self;
        let state = &mut nodes[node as usize];
        let (first, managed) = (state.first_port, &mut state.managed);
        // All that one port needs is behind one pointer after the other: it is loaded for all of them together.
        let automata = || state.active.iter().filter_map(|&port| ports[port as usize].automaton.as_deref());
        automata().for_each(|a| prefetch::<1, _>(std::slice::from_ref(a), 0));
        automata().for_each(|a| prefetch::<1, _>(&a.queues, 0));
        automata().for_each(|a| a.queues[0].frames.front().into_iter().for_each(|next| prefetch::<1, _>(std::slice::from_ref(next), 0)));
        state.active.retain(|&port| {
            let p = &mut ports[port as usize];
            let mut automaton = p.automaton.take();
            let a = automaton.as_deref_mut().expect("only automata are listed");
            let frames = &mut a.queues[0].frames;
            while p.free_at < end
                && let Some(Waiting { mut frame, clock, .. }) = frames.pop_front()
            {
                a.waiting -= 1;
                let (at, class) = (p.free_at, frame.priority());
                if let Some(managed) = managed {
                    let size = managed.mmu.size_of(frame.size as u64, class);
                    managed.mmu.give_back(&Charge::new(size, frame.port - first, port - first, class, 0));
                }
                if p.eventful
                    && explains
                    && let Some(pause) = &a.pause
                {
                    let paused = pause.clock(class, at) - clock;
                    if paused > 0 {
                        frame = carry_pause(extras, frame, paused);
                    }
                }
                let time = p.transmit(at, frame.size);
                if p.free_at >= end {
                    a.sending = Some(Sending { size: frame.size, queue: 0, class, input: frame.port, time });
                }
                send(out, extras, p, at, time, &frame, frame.to(p.peer_port));
            }
            if frames.is_empty() {
                // The next one goes where memory is still warm, not on around the ring.
                frames.clear();
            }
            a.listed = a.waiting > 0;
            let listed = a.listed;
            p.put_back(automaton);
            listed
        });
    }

    /// As `offer`, at a port that is not plain.
    #[inline(never)]
    pub(super) fn offer_steady<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame) {
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, extras, counters, .. } = self;
        let state = &mut nodes[node as usize];
        if (Way { out, extras, counters, state, explains }).offer_steady(&mut ports[port as usize], port, now, frame, frame.hash) {
            return;
        }
        let mut frame = *frame;
        if self.passes_closely(now, node, port, &mut frame) {
            let Shard { nodes, ports, extras, counters, .. } = self;
            let state = &mut nodes[node as usize];
            Way { out, extras, counters, state, explains }.take_steadily(&mut ports[port as usize], port, now, &frame, frame.hash);
        }
    }

    /// As `offer_closely`.
    #[inline(never)]
    fn passes_closely(&mut self, now: u64, node: u32, port: u32, frame: &mut Frame) -> bool {
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        state.used -= p.release(now);
        let length = QueueView { bytes: p.queued, frames: p.plain_count() + p.automaton.as_ref().expect("not plain").waiting };
        let mut verdict = state.buffer.admit(length, frame.size as u64, state.used, false).expect("no memory is shared here");
        if matches!(verdict, Verdict::Admit) {
            verdict = mark_at_arrival(state.marking.as_ref(), now, length, p, 0, frame);
        }
        self.passes(port, 0, frame, verdict)
    }

    /// As `finish_window`: what can start has started.
    pub(super) fn finish_steady<O: Outlet>(&mut self, out: &mut O, node: u32) {
        let earliest = self.nodes[node as usize].active.iter().map(|&port| self.ports[port as usize].free_at).min();
        self.wake_by(out, node, earliest.unwrap_or(u64::MAX));
    }
}

impl<O: Outlet> Way<'_, O> {
    /// A frame that wants to leave by a steady node's port, with this hash from now on. Returns whether it is on its way or waits; no policy has to look at it then.
    #[inline(always)]
    pub fn offer_steady(&mut self, p: &mut Port, port: u32, now: u64, frame: &Frame, hash: u32) -> bool {
        let (state, size) = (&mut *self.state, frame.size as u64);
        state.used -= p.release_idle(now);
        let calm = &state.calm;
        // Only a plain port has all its frames in the ring.
        let takes = state.used + size <= calm.used && p.queued + size <= calm.queue && calm.frames == u32::MAX && p.has_room();
        if takes {
            self.take_steadily(p, port, now, frame, hash);
        }
        takes
    }

    #[inline(always)]
    fn take_steadily(&mut self, p: &mut Port, port: u32, now: u64, frame: &Frame, hash: u32) {
        let state = &mut *self.state;
        state.used += frame.size as u64;
        p.queued += frame.size as u64;
        if p.free_at >= state.horizon {
            return self.wait_steadily(p, port, now, frame, hash);
        }
        let at = p.free_at.max(now);
        let time = p.transmit(at, frame.size);
        if p.free_at >= state.horizon {
            let a = p.automaton.as_deref_mut().expect("not plain");
            a.sending = Some(Sending { size: frame.size, queue: 0, class: frame.priority(), input: frame.port, time });
        }
        send(self.out, self.extras, p, at, time, frame, Change { hash, ..frame.to(p.peer_port) });
    }

    /// The transmitter is busy beyond the window.
    #[inline(always)]
    fn wait_steadily(&mut self, p: &mut Port, port: u32, now: u64, frame: &Frame, hash: u32) {
        let (state, class) = (&mut *self.state, frame.priority());
        let a = p.automaton.as_deref_mut().expect("not plain");
        let clock = if p.eventful { a.pause.as_ref().map_or(0, |pause| pause.clock(class, now)) } else { 0 };
        a.push(0, Waiting { frame: Frame { hash, ..*frame }, ready: now, clock });
        if !a.listed {
            a.listed = true;
            state.active.push(port);
        }
        if let Some(managed) = &mut state.managed {
            let (size, first) = (managed.mmu.size_of(frame.size as u64, class), state.first_port);
            managed.mmu.charge(&Charge::new(size, frame.port - first, port - first, class, 0), false);
        }
    }
}
