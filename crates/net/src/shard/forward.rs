//! Path of a frame through a node: choice of the port, admission, marking and transmission.

use super::count::{mark_at_arrival, mark_at_start};
use super::lane::RANKED;
use super::pause::carry_pause;
use super::send::send;
use super::{Outlet, Shard, Slab};
use crate::fault::Fate;
use crate::frame::{Event, Extra, Frame};
use crate::port::{Departure, PAUSE_QUEUE, Port, Sending, Waiting};
use crate::queue::buffer::Place;
use crate::queue::buffer::mmu::{Charge, Take};
use crate::queue::{QueueView, Reason, Verdict};
use crate::spec::MarkAt;
use crate::telemetry::Reading;

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
        if let Some(series) = input.automaton.as_mut().and_then(|a| a.series.as_mut()) {
            series.rx_bytes += frame.size as u64;
        }
        true
    }

    /// Offers a frame to the output `port`. The frame arrived by `frame.port` or starts here.
    #[inline(always)]
    pub fn offer<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32, frame: &Frame) {
        if O::CLASSICAL {
            return if self.ports[port as usize].open {
                self.offer_exact::<O, false>(out, now, node, port, *frame)
            } else {
                self.offer_long(out, now, node, port, frame)
            };
        }
        let state = &mut self.nodes[node as usize];
        let p = &mut self.ports[port as usize];
        if !p.plain {
            return if p.open {
                self.offer_open(out, now, node, port, frame, frame.hash)
            } else {
                self.offer_long(out, now, node, port, frame)
            };
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
    fn admit_exactly<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        size: u64,
    ) -> Verdict {
        self.release_all(out, now, node);
        let length = self.ports[port as usize].length(queue);
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

    /// Offers a frame to a port that is an automaton. Out of line, so that automata do not slow
    /// down plain ports.
    #[inline(never)]
    pub(super) fn offer_long<O: Outlet>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: &Frame,
    ) {
        self.join::<O, false>(out, now, node, port, *frame);
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
        if self.ports[port as usize].open {
            if !self.is_exact(node) {
                if self.join_open(out, now, node, port, &frame) {
                    return;
                }
                self.advance_all(out, now, node);
                self.enter_exact(now, node);
            }
            return self.offer_exact::<O, true>(out, now, node, port, frame);
        }
        self.join::<O, true>(out, now, node, port, frame);
    }

    /// Lets a frame join its queue if admission and marking allow it. `HELD`: memory is already
    /// reserved for the frame.
    #[inline(always)]
    fn join<O: Outlet, const HELD: bool>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        mut frame: Frame,
    ) {
        if !O::CLASSICAL {
            let late = self.nodes[node as usize].arrivals_first as u64;
            self.bring_up(out, now.saturating_sub(late), node, port);
        }
        let size = frame.size as u64;
        let (state, p) = (&self.nodes[node as usize], &self.ports[port as usize]);
        let a = p.automaton.as_ref().expect("not plain");
        let queue = a.queue_of(&frame);
        let q = &a.queues[queue];
        let length = QueueView { bytes: q.bytes, frames: q.count };
        // An idle transmitter implies empty queues, unless pauses or missing credits block them.
        let idle = a.sending.is_none();
        // A cut-through node may forward the frame at once if the output is idle and not faster
        // than the input. Otherwise the node stores the whole frame first.
        let ready = if state.header < frame.size {
            let input = &self.ports[frame.port as usize];
            if idle && p.rate <= input.incoming {
                now
            } else {
                now + input.arrival(frame.size) - input.arrival(state.header)
            }
        } else {
            now
        };
        let verdict = match if HELD {
            Some(Verdict::Admit)
        } else {
            state.admit(queue, length, size, O::CLASSICAL)
        } {
            Some(verdict) => verdict,
            None if state.buffer.is_voq() => {
                return self.queue_voq(out, now, node, port, frame, ready);
            }
            None => self.admit_exactly(out, now, node, port, queue, size),
        };
        if !self.passes(port, queue, &mut frame, verdict) {
            return;
        }
        let managed = self.nodes[node as usize].managed.is_some() && !HELD;
        let (mut charge, mut taken) = (Charge::default(), Take::default());
        if managed {
            charge =
                self.charge_of(node, port, queue as u8, (frame.port, frame.priority(), frame.size));
            match self.ask_managed(out, now, node, port, &frame, &charge) {
                Ok(take) => taken = take,
                Err(reason) => return self.drop_at(port, queue, frame, reason),
            }
        }
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        let verdict = mark_at_arrival(state.marking(queue), now, length, p, queue, &frame);
        if HELD && matches!(verdict, Verdict::Drop(_)) {
            self.uncharge_held(out, now, node, port, &frame);
        }
        if !self.passes(port, queue, &mut frame, verdict) {
            return;
        }
        self.enter::<O, HELD>(
            out,
            now,
            node,
            port,
            queue,
            Waiting { frame, ready, clock: 0 },
            (managed.then_some((charge, taken)), None),
        );
    }

    /// Lets an admitted frame join its queue. `account`: the charge to the memory management unit,
    /// and the place in the memory of virtual output queues, where the switch has them.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn enter<O: Outlet, const HELD: bool>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        mut waiting: Waiting,
        account: (Option<(Charge, Take)>, Option<Place>),
    ) {
        let (size, class) = (waiting.frame.size as u64, waiting.frame.priority());
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        let a = p.automaton.as_mut().expect("not plain");
        // An idle transmitter implies empty queues, unless pauses or missing credits block them.
        let idle = a.sending.is_none();
        if a.discipline.is_some() {
            return self
                .offer_disciplined::<O, HELD>(out, now, node, port, queue, waiting, account);
        }
        if let Some(qdisc) = &a.qdisc
            && qdisc.takes(p.queued)
            && !waiting.frame.is_of_nic()
        {
            return self.hold_back(out, now, node, port, waiting);
        }
        let (charge, place) = account;
        if let Some(place) = place {
            state.join_voq(now, port, queue, size as u16, place);
        }
        if !HELD {
            state.used += size;
        }
        p.queued += size;
        let q = &mut a.queues[queue];
        q.bytes += size;
        q.count += 1;
        // A scheduler in which queues take turns may make the frame wait even at an idle port.
        let mut held = a.turns.is_some() && a.needs_turn(now, queue, size as u16);
        if let Some(pause) = &a.pause {
            waiting.clock = pause.clock(class, now);
            held |= idle && !pause.is_free(class, now) || a.waiting > 0;
        }
        if a.series.is_some() {
            p.note_length(state.until_start, queue);
        }
        if let Some((charge, taken)) = charge {
            self.mmu(node).charge(&charge, taken.headroom);
            if taken.pause {
                self.pause_group(out, now, node, charge.input, charge.class());
                // The PAUSE frame may occupy the transmitter of this very port.
                held |= charge.input == port - self.nodes[node as usize].first_port;
            }
        }
        let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
        if idle && !held {
            if let Some(turns) = &mut a.turns {
                turns.send_at_once(queue, size as u16);
            }
            self.transmit(out, now, node, port, queue, waiting);
        } else {
            a.push(queue, waiting);
            if idle {
                self.start_next(out, now, node, port);
            }
            if !O::CLASSICAL {
                self.list(node, port);
            }
        }
    }

    /// True if a watchdog drops the frames of this class.
    #[inline(always)]
    pub(super) fn is_dropping(&self, port: u32, frame: &Frame) -> bool {
        let pause = self.ports[port as usize].pause();
        pause.is_some_and(|pause| pause.dropping >> frame.priority() & 1 != 0)
    }

    /// Adds the port to its node's list of ports with waiting frames, if it has any.
    pub(super) fn list(&mut self, node: u32, port: u32) {
        if self.ports[port as usize].open {
            return self.list_exact(node, port);
        }
        let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
        if a.has_work() && !a.listed {
            a.listed = true;
            self.nodes[node as usize].active.push(port);
        }
        self.nodes[node as usize].due = 0;
    }

    /// Advances a port that is not plain to `now`: everything that ends or starts by `now` happens.
    /// A transmission that ends exactly at `now` has ended, and the next one has started.
    pub(super) fn advance<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        let p = &self.ports[port as usize];
        if !O::CLASSICAL && p.open {
            if self.is_exact(node) {
                self.advance_exact(out, now, node, port);
            } else if p.free_at <= now && (p.queued > 0 || self.lanes[port as usize].backlog) {
                self.advance_open(out, now, node, port);
            }
            return;
        }
        loop {
            let at = self.ports[port as usize].next_action();
            if at > now {
                return;
            }
            self.step(out, at, node, port);
        }
    }

    /// True if a transmission is in progress whose end has not been processed. For automata, and
    /// for open ports of exact nodes.
    pub(super) fn is_sending(&self, port: u32) -> bool {
        let p = &self.ports[port as usize];
        if p.open {
            self.lanes[port as usize].sending
        } else {
            p.automaton.as_ref().expect("not plain").sending.is_some()
        }
    }

    /// Returns the time in ps at which the port next ends a transmission, or starts one without a
    /// new arrival; `u64::MAX` for never. For automata, and for open ports of exact nodes.
    #[inline(always)]
    pub(super) fn next_step(&self, port: u32) -> u64 {
        if self.ports[port as usize].open {
            self.next_exact(port)
        } else {
            self.ports[port as usize].next_action()
        }
    }

    /// Ends the transmission that ends at `at`, if there is one, and starts the next. For automata,
    /// and for open ports of exact nodes.
    #[inline(always)]
    pub(super) fn step<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32) {
        if self.ports[port as usize].open {
            return self.step_exact(out, at, node, port);
        }
        if self.ports[port as usize].automaton.as_ref().is_some_and(|a| a.sending.is_some()) {
            self.complete(out, at, node, port);
        }
        self.start_next(out, at, node, port);
    }

    /// Automaton: ends the current transmission, releases its memory and counts the frame.
    #[inline(always)]
    pub(super) fn complete<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32) {
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        let a = p.automaton.as_mut().expect("not plain");
        let sent = a.sending.take().expect("a transmission under way");
        let Sending { size, queue, time, .. } = sent;
        a.latest = size;
        let bytes = size as u64;
        if queue == PAUSE_QUEUE {
            a.note_pause(bytes);
            return p.count_sent(size, time);
        }
        a.note(queue as usize, |i| i.tx_bytes += bytes);
        if !state.until_start {
            let q = &mut a.queues[queue as usize];
            q.bytes -= bytes;
            q.count -= 1;
            p.queued -= bytes;
            state.used -= bytes;
        }
        p.count_sent(size, time);
        if state.managed.is_some() && !state.until_start {
            let charge = self.charge_of(node, port, queue, (sent.input, sent.class, size));
            self.release(out, at, node, &charge);
        }
    }

    /// Starts the next transmission, if a waiting frame may be sent. The transmitter is idle at
    /// `at`.
    #[inline(always)]
    pub(super) fn start_next<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32) {
        if self.ports[port as usize].open {
            return self.start_exact(out, at, node, port);
        }
        loop {
            let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
            if let Some(pause) = &a.pause {
                // A PAUSE frame overtakes all waiting frames. If the end of the previous
                // transmission caused the PAUSE, its frame is already in transmission.
                if a.sending.is_some() {
                    return;
                }
                if pause.pending != 0 {
                    self.send_pause(out, at, port);
                    return self.file_due(node, port);
                }
            }
            if a.discipline.is_some() {
                return self.start_disciplined(out, at, node, port);
            }
            if a.is_held_back() {
                self.fill_ring(at, node, port);
            }
            let a = self.ports[port as usize].automaton.as_mut().expect("not plain");
            let Some(queue) = a.next_queue(at) else {
                if a.waiting > 0 {
                    self.await_expiry(out, port);
                }
                return self.file_due(node, port);
            };
            let waiting = a.queues[queue].take();
            a.waiting -= 1;
            if self.transmit(out, at, node, port, queue, waiting) {
                return;
            }
        }
    }

    /// Automaton: starts the transmission of a frame of `queue` at `at`, when the transmitter is
    /// idle. Returns `false` if marking drops the frame instead.
    #[inline(always)]
    pub(super) fn transmit<O: Outlet>(
        &mut self,
        out: &mut O,
        at: u64,
        node: u32,
        port: u32,
        queue: usize,
        waiting: Waiting,
    ) -> bool {
        let Waiting { mut frame, ready, clock } = waiting;
        let explains = self.world.plan.record.explain;
        let bytes = frame.size as u64;
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        if state.marks_at_start
            && let Some(red) = state.marking(queue)
            && red.at == MarkAt::Dequeue
        {
            let a = p.automaton.as_mut().expect("not plain");
            let q = &mut a.queues[queue];
            let behind = red.length(q.behind(frame.size));
            let verdict = mark_at_start(red, q, &mut p.stream, behind, frame.has(Frame::ECT));
            if matches!(verdict, Verdict::Drop(_)) {
                a.unsent(queue, bytes);
                self.leave(node, port, queue, bytes);
                if self.nodes[node as usize].managed.is_some() {
                    let charge = self.charge_of(
                        node,
                        port,
                        queue as u8,
                        (frame.port, frame.priority(), frame.size),
                    );
                    self.release(out, at, node, &charge);
                }
            }
            if !self.passes(port, queue, &mut frame, verdict) {
                return false;
            }
        }
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        if state.until_start {
            p.leave(queue, bytes);
            state.used -= bytes;
        }
        if frame.has(Frame::EXTRA) && !self.world.rates.is_empty() && !state.host {
            // The telemetry leaves out the frame itself, which `p.queued` still includes unless
            // `until_start`.
            let beside = if state.until_start { 0 } else { bytes };
            stamp(&mut self.extras[frame.aux], &frame, p, (at, beside), &self.world.rates);
        }
        if explains && let Some(pause) = p.pause() {
            let paused = pause.clock(frame.priority(), at) - clock;
            if paused > 0 {
                frame = carry_pause(&mut self.extras, frame, paused);
            }
        }
        let (departure, late, input) = (
            p.depart(at, queue, Waiting { frame, ready, clock }),
            state.arrivals_first as u64,
            frame.port,
        );
        let (managed, until_start) = (state.managed.is_some(), state.until_start);
        self.carry_out(out, port, frame, departure, late);
        if managed {
            if until_start {
                let charge =
                    self.charge_of(node, port, queue as u8, (input, frame.priority(), frame.size));
                self.release(out, at, node, &charge);
            }
            if !O::CLASSICAL {
                self.file_due(node, port);
            }
        }
        true
    }

    /// Sends a departing frame to the peer, and records the departure if that is requested.
    #[inline(always)]
    pub(super) fn carry_out<O: Outlet>(
        &mut self,
        out: &mut O,
        port: u32,
        frame: Frame,
        departure: Departure,
        late: u64,
    ) {
        if let Some(capture) = departure.capture {
            self.capture(capture, departure.start, frame);
        }
        if departure.watched {
            self.watch(port, &frame, &departure);
        }
        if O::CLASSICAL {
            // Schedule the earlier of the two events first: it sinks less far into the heap. Where
            // arrivals come first, the end of the transmission is processed 1 ps later.
            out.sent(departure.ends + late, port);
        }
        out.frame(
            departure.arrives,
            departure.peer_shard,
            &frame,
            frame.to(departure.peer_port),
            &mut self.extras,
        );
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

    #[inline(never)]
    fn finish_active<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32, paused: bool) {
        if paused && self.finish_paused(out, end, node) {
            return;
        }
        if self.nodes[node as usize].active.is_empty() {
            return;
        }
        if self.nodes[node as usize].open {
            return self.finish_open(out, end, node);
        }
        let mut active = std::mem::take(&mut self.nodes[node as usize].active);
        let mut earliest = u64::MAX;
        active.retain(|&port| {
            let free_at = self.ports[port as usize].free_at;
            if free_at >= end {
                // The port does not change before `free_at`.
                earliest = earliest.min(free_at);
                return true;
            }
            self.advance(out, end - 1, node, port);
            let p = &mut self.ports[port as usize];
            let a = p.automaton.as_mut().expect("only automata are listed");
            a.listed = a.has_work();
            let listed = a.listed;
            if listed {
                earliest = earliest.min(p.next_action());
            }
            listed
        });
        self.nodes[node as usize].active = active;
        self.wake_by(out, node, earliest);
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

/// Appends in-band telemetry of the departing port to RDMA data that carries telemetry.
#[cold]
#[inline(never)]
pub(super) fn stamp(
    extra: &mut Extra,
    frame: &Frame,
    p: &Port,
    (at, beside): (u64, u64),
    rates: &[u64],
) {
    if frame.kind() == Frame::RDMA_DATA
        && let Some(telemetry) = &mut extra.telemetry
    {
        telemetry.push(
            Reading { time: at, bytes: p.bytes, queue: p.queued - beside, rate: p.rate },
            rates,
        );
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
