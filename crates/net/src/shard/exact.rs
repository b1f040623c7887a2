//! Exact mode. Frames stay in the lanes of `shard::hop`, but each is charged to the
//! memory management unit. The unit decides about every arrival, and pauses and resumes priority
//! groups. While a group is paused, the ports of the node act in order of time, because a departure
//! may resume the group.
//!
//! A node enters exact mode when a frame exceeds a bound and only the unit can judge the frame. It
//! leaves exact mode at the beginning of a window in which no group is paused. In the classical
//! engine all nodes are always in exact mode: that engine uses no bounds, so that a comparison of
//! the engines tests the bounds.

use super::count::mark_at_arrival;
use super::lane::{Limits, OWN, SHARED, Sent, next_start};
use super::{Outlet, Shard};
use crate::frame::Frame;
use crate::port::PAUSE_QUEUE;
use crate::queue::buffer::Place;
use crate::queue::buffer::mmu::{Charge, Take};
use crate::queue::waiting::Waiting;
use crate::queue::{QueueView, Verdict};

/// Memory that an admitted frame is to take: its charge to the memory management unit, and its
/// place in the memory of virtual output queues, where the switch has them.
pub(super) struct Account {
    pub charge: Charge,
    pub taken: Take,
    pub place: Option<Place>,
}

impl<'a> Shard<'a> {
    #[inline(always)]
    pub(super) fn is_exact(&self, node: u32) -> bool {
        self.nodes[node as usize].memory.exact
    }

    /// Enters exact mode: charges all frames of the node to the memory management unit. All ports
    /// have been advanced to `now`.
    #[cold]
    pub(super) fn enter_exact(&mut self, now: u64, node: u32) {
        let lookahead = self.world.lookahead;
        let Shard { nodes, ports, lanes, store, .. } = self;
        let state = &mut nodes[node as usize];
        for port in state.first_port..state.first_port + state.ports {
            let (p, lane) = (&ports[port as usize], &mut lanes[port as usize]);
            lane.sending = p.free_at > now && lane.sent.size > 0;
            if lane.sending && lane.sent.queue != PAUSE_QUEUE && !state.until_start {
                state.charge(port, lane.sent);
            }
            lane.each(&store.arena, |queue, frame| state.charge(port, Sent::of(frame, queue)));
        }
        state.memory.exact = true;
        state.memory.exact_until = now + super::bounds::EXACT_FOR * lookahead;
    }

    /// Leaves exact mode: bounds decide from now on. No group is paused, and all ports have been
    /// advanced to the instant before `start`.
    #[cold]
    pub(super) fn leave_exact(&mut self, start: u64, node: u32) {
        let Shard { nodes, ports, lanes, store, .. } = self;
        let state = &mut nodes[node as usize];
        state.reset_memory();
        state.active.clear();
        for port in state.first_port..state.first_port + state.ports {
            let (p, lane) = (&ports[port as usize], &mut lanes[port as usize]);
            if lane.sending && lane.sent.queue != PAUSE_QUEUE && !state.until_start {
                state.give_back(port, lane.sent);
            }
            lane.each(&store.arena, |queue, frame| {
                state.give_back(port, Sent::of(frame, queue));
                if state.memory.kind == SHARED {
                    state.take_memory(frame);
                }
            });
            let pause = p.pause();
            // A pause that has just ended may have held a frame back. That frame starts at the end
            // of the pause, not when the transmitter became idle.
            lane.held = pause.is_some_and(|pause| pause.holds_any(start))
                || !lane.sending && lane.occupied != 0;
            lane.rare = lane.held || lane.clocked || lane.backlog;
            lane.listed = lane.occupied != 0 || lane.backlog;
            if lane.listed {
                state.active.push(port);
            }
        }
        state.memory.set_idle();
        state.memory.exact = false;
    }

    /// Offers a frame to a port of an exact node. `HELD`: a balancer has held the frame, and the
    /// memory is already charged with it.
    #[inline(always)]
    pub(super) fn offer_exact<O: Outlet, const HELD: bool>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        frame: Frame,
    ) {
        if self.lanes[port as usize].special {
            self.offer_exactly::<O, HELD, true>(out, now, node, port, frame);
        } else {
            self.offer_exactly::<O, HELD, false>(out, now, node, port, frame);
        }
    }

    #[inline(never)]
    fn offer_exactly<O: Outlet, const HELD: bool, const SPECIAL: bool>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        mut frame: Frame,
    ) {
        if !O::CLASSICAL {
            let late = SPECIAL && self.nodes[node as usize].arrivals_first;
            self.bring_up(out, now.saturating_sub(late as u64), node, port);
        }
        let (state, lane) = (&self.nodes[node as usize], &self.lanes[port as usize]);
        let size = frame.size as u64;
        let queue =
            if SPECIAL { self.special_queue(node, port, &frame) } else { lane.queue_of(&frame) };
        let length = if SPECIAL {
            self.length_of(node, port, queue)
        } else {
            lane.length(queue, lane.bytes_sending(state.until_start, queue))
        };
        let ready = if SPECIAL { self.ready_at(now, node, port, &frame) } else { 0 };
        let Some(account) =
            self.judge_exactly::<O, HELD, SPECIAL>(out, now, node, port, queue, length, &mut frame)
        else {
            return;
        };
        if SPECIAL && self.has_discipline(port) {
            let waiting = Waiting { frame, ready, clock: 0 };
            return self
                .offer_disciplined::<O, HELD>(out, now, node, port, queue, waiting, account);
        }
        if self.nodes[node as usize].ring < u64::MAX
            && self.lanes[port as usize].fills_ring(&self.ports[port as usize], &frame, now)
        {
            return self.hold_back(out, now, node, port, frame);
        }
        let (mut hop, ports, lanes) = self.hop::<O, OWN>(out, node);
        let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
        let Account { charge, taken, place } = account;
        if !HELD {
            hop.state.used += size;
            if let Some(managed) = &mut hop.state.managed {
                managed.mmu.charge(&charge, taken.headroom);
            }
        }
        let sending = lane.sending;
        if !SPECIAL
            && !sending
            && lane.occupied == 0
            && !lane.rare
            && !taken.pause
            && hop.state.marks_from > 0
        {
            hop.start(p, lane, port, now, queue, &frame, frame.to(p.peer_port));
            lane.sending = true;
            let sent = lane.sent;
            if hop.state.until_start {
                self.release_exact(out, now, node, port, sent);
            }
            if !O::CLASSICAL {
                self.file_due(node, port);
            }
            return;
        }
        hop.push(p, lane, port, queue, &frame, |_| {});
        hop.note_clock(p, lane, now, queue, frame.priority());
        if SPECIAL {
            self.note_joined(now, node, port, queue, frame.size, ready, place);
        }
        if taken.pause {
            self.pause_group(out, now, node, charge.input, charge.class());
        }
        if !sending {
            self.start_exact(out, now, node, port);
        }
    }

    /// Asks the full rules about a frame that finds `length` in its queue: limits, the memory
    /// management unit, marking. Returns `None` if they have dropped the frame.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn judge_exactly<O: Outlet, const HELD: bool, const SPECIAL: bool>(
        &mut self,
        out: &mut O,
        now: u64,
        node: u32,
        port: u32,
        queue: usize,
        length: QueueView,
        frame: &mut Frame,
    ) -> Option<Account> {
        let state = &self.nodes[node as usize];
        let size = frame.size as u64;
        let (mut place, mut charge, mut taken) = (None, Charge::default(), Take::default());
        if !HELD {
            let answer = if SPECIAL {
                state.admit(queue, length, size, O::CLASSICAL)
            } else {
                state.buffer.admit(length, size, state.used, O::CLASSICAL)
            };
            let verdict = match answer {
                Some(verdict) => verdict,
                None if SPECIAL && state.buffer.is_voq() => {
                    match self.find_place(out, now, node, port, queue, frame) {
                        Ok(found) => {
                            place = Some(found);
                            Verdict::Admit
                        }
                        Err(reason) => Verdict::Drop(reason),
                    }
                }
                None => self.admit_exactly(out, now, node, port, queue, size),
            };
            if !matches!(verdict, Verdict::Admit) && !self.passes(port, queue, frame, verdict) {
                return None;
            }
            match self.ask_managed(out, now, node, port, queue, frame) {
                Some((cost, Ok(take))) => (charge, taken) = (cost, take),
                Some((_, Err(reason))) => {
                    self.drop_at(port, queue, *frame, reason);
                    return None;
                }
                None => {}
            }
        }
        let (state, p) = (&mut self.nodes[node as usize], &mut self.ports[port as usize]);
        let marking = if SPECIAL { state.marking(queue) } else { state.marking.as_ref() };
        let verdict = mark_at_arrival(marking, now, length, p, queue, frame);
        if !matches!(verdict, Verdict::Admit) {
            if HELD && matches!(verdict, Verdict::Drop(_)) {
                self.uncharge_held(out, now, node, port, frame);
            }
            if !self.passes(port, queue, frame, verdict) {
                return None;
            }
        }
        Some(Account { charge, taken, place })
    }

    /// Returns the time in ps at which the port next ends a transmission, or starts one without a
    /// new arrival; `u64::MAX` for never.
    #[inline(always)]
    pub(super) fn next_exact(&self, port: u32) -> u64 {
        let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
        if lane.sending {
            p.free_at
        } else if lane.occupied != 0 {
            next_start(&self.store.arena, p, lane)
        } else if lane.special {
            self.next_disciplined(port)
        } else {
            u64::MAX
        }
    }

    /// Processes everything that ends or starts at the port by `now`.
    pub(super) fn advance_exact<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32, port: u32) {
        loop {
            let at = self.next_exact(port);
            if at > now {
                return;
            }
            self.step_exact(out, at, node, port);
        }
    }

    /// Ends the transmission that ends at `at`, if there is one, and starts the next.
    #[inline(always)]
    pub(super) fn step_exact<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32) {
        let lane = &mut self.lanes[port as usize];
        if lane.sending {
            lane.sending = false;
            let (sent, special) = (lane.sent, lane.special);
            if special {
                self.note_ended(node, port, sent);
            }
            if sent.queue != PAUSE_QUEUE && !self.nodes[node as usize].until_start {
                self.release_exact(out, at, node, port, sent);
            }
        }
        self.start_exact(out, at, node, port);
    }

    /// Releases the memory of a frame, which may resume a paused group.
    #[inline(always)]
    fn release_exact<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32, sent: Sent) {
        self.nodes[node as usize].used -= sent.size as u64;
        self.release(out, at, node, port, sent);
    }

    /// Starts the next frame if the transmitter is idle at `at`. A PAUSE frame overtakes all
    /// waiting frames.
    #[inline(always)]
    pub(super) fn start_exact<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32) {
        if self.lanes[port as usize].special {
            self.start_exactly::<O, true>(out, at, node, port);
        } else {
            self.start_exactly::<O, false>(out, at, node, port);
        }
    }

    #[inline(never)]
    fn start_exactly<O: Outlet, const SPECIAL: bool>(
        &mut self,
        out: &mut O,
        at: u64,
        node: u32,
        port: u32,
    ) {
        loop {
            if self.lanes[port as usize].backlog {
                self.fill_ring_exactly(out, at, node, port);
            }
            let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
            if lane.sending {
                // The end of the previous transmission resumed a group, and the PAUSE frame that
                // says so is now in transmission.
                return;
            }
            if p.pause().is_some_and(|pause| pause.pending != 0) {
                self.send_pause(out, at, port);
                break;
            }
            if SPECIAL && self.has_discipline(port) {
                self.start_disciplined(out, at, node, port);
                break;
            }
            let (mut hop, ports, lanes) = self.hop::<O, OWN>(out, node);
            let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
            let Some(queue) = lane.first_free(&hop.store.arena, p, at) else {
                if O::CLASSICAL && lane.occupied != 0 {
                    self.await_expiry(out, port);
                }
                break;
            };
            let until_start = hop.state.until_start;
            // Only within the bounds are the bytes of a queue below 2^32.
            let long = lane.queues[queue].waits.all_bytes() > Limits::MOST as u64;
            let (sent, starts) = if SPECIAL || long {
                self.start_special(out, at, node, port, queue)
            } else {
                let (sent, starts) = hop.start_first::<true>(p, lane, port, queue, at);
                lane.sending = starts;
                self.see_to_losses();
                (sent, starts)
            };
            if until_start || !starts {
                self.release_exact(out, at, node, port, sent);
            }
            if starts {
                break;
            }
        }
        let (p, lane) = (&self.ports[port as usize], &mut self.lanes[port as usize]);
        if lane.rare {
            lane.look_again(p, at);
        }
        if !O::CLASSICAL {
            self.file_due(node, port);
        }
    }

    /// Moves frames from the host's queueing discipline to the ring of the card, unless the
    /// transmitter is busy or has to send a PAUSE frame first.
    #[cold]
    fn fill_ring_exactly<O: Outlet>(&mut self, out: &mut O, at: u64, node: u32, port: u32) {
        let (mut hop, ports, lanes) = self.hop::<O, OWN>(out, node);
        let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
        if lane.sending || p.pause().is_some_and(|pause| pause.pending != 0) {
            return;
        }
        let before = p.queued;
        hop.fill_ring(p, lane, port, at);
        let taken = p.queued - before;
        self.nodes[node as usize].used += taken;
        self.see_to_losses();
    }

    /// Forwards frames that arrive at the switch in one window, in order, until the switch has
    /// scheduled an event for itself in this window. Returns the number of forwarded frames.
    #[inline(never)]
    pub(super) fn pass_exact<O: Outlet>(
        &mut self,
        out: &mut O,
        start: u64,
        node: u32,
        frames: &[Frame],
    ) -> usize {
        let world = self.world;
        let state = &self.nodes[node as usize];
        let (first, ports, bits, seed, row) = (
            state.first_port,
            state.ports,
            world.route_bits,
            state.hash_seed,
            world.routes(0).row(state.id),
        );
        let mut passed = 0;
        for frame in frames {
            if !frame.is_traffic() || out.has_pending_event() {
                break;
            }
            let (port, hash) = match bits {
                0 => (row.next_hop(frame.dst, frame.hash, seed), frame.hash),
                _ => (Some(frame.routed_port(bits)), frame.hash >> bits),
            };
            let Some(port) = port.map(u32::from).filter(|port| *port < ports) else { break };
            passed += 1;
            self.offer_exact::<O, false>(
                out,
                start + frame.offset as u64,
                node,
                first + port,
                Frame { hash, ..*frame },
            );
        }
        if passed > 0 {
            self.last = self.last.max(start + frames[passed - 1].offset as u64);
        }
        self.counters.packet_hops += passed as u64;
        passed
    }

    /// Ends a window of an exact node without a paused group: starts all transmissions that are due
    /// before `end`, and wakes the node when the next one is due.
    pub(super) fn finish_exact<O: Outlet>(&mut self, out: &mut O, end: u64, node: u32) {
        let mut active = std::mem::take(&mut self.nodes[node as usize].active);
        let mut earliest = u64::MAX;
        active.retain(|&port| {
            self.advance_exact(out, end - 1, node, port);
            let listed = self.has_work(port);
            self.lanes[port as usize].listed = listed;
            if listed {
                earliest = earliest.min(self.next_exact(port));
            }
            listed
        });
        self.nodes[node as usize].active = active;
        self.wake_by(out, node, earliest);
    }

    /// True if a frame, or a PAUSE frame, waits for the transmitter of a port of an exact node.
    fn has_work(&self, port: u32) -> bool {
        let (p, lane) = (&self.ports[port as usize], &self.lanes[port as usize]);
        lane.occupied != 0
            || lane.backlog
            || p.pause().is_some_and(|pause| pause.pending != 0)
            || lane.special && self.is_disciplining(port)
    }

    /// Adds the port to its node's list of ports with waiting frames.
    pub(super) fn list(&mut self, node: u32, port: u32) {
        let lane = &mut self.lanes[port as usize];
        if !lane.listed {
            lane.listed = true;
            self.nodes[node as usize].active.push(port);
        }
    }
}
