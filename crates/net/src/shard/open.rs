//! Opens and closes nodes. When no port of a node is in an exceptional state, the frames of the
//! node move to the lanes of `shard::hop`. When a port is, they move back to the automata. A frame
//! held by a balancer stays charged to the memory management unit, and counts in the bounds as
//! well.

use super::lane::{Length, Limits, NodeMemory, OWN, RANKED, SHARED, Sent, TRIMMED};
use super::switch::Managed;
use super::{Node, Outlet, Shard};
use crate::frame::Frame;
use crate::port::{PAUSE_QUEUE, Sending, Waiting};
use crate::queue::FastPathLimits;
use crate::queue::buffer::Buffer;
use crate::queue::buffer::mmu::{CLASSES, Charge, Mmu};
use crate::spec::MarkAt;

impl NodeMemory {
    pub(super) fn new(managed: Option<&Managed>, buffer: &Buffer, ports: usize) -> Self {
        let counts = managed.is_some() || matches!(buffer, Buffer::Shared(_));
        let (lossless, overhead) =
            managed.map_or((0, 0), |managed| (managed.mmu.lossless, managed.mmu.overhead() as u32));
        let groups = vec![0; if counts { ports * CLASSES } else { 0 }].into();
        NodeMemory {
            limits: [Limits::NEVER; 2],
            idle: 0,
            header: 0,
            lossless,
            kind: if counts { SHARED } else { OWN },
            overhead,
            used: 0,
            groups,
            closed_until: 0,
            exact: false,
        }
    }
}

/// Number of steps of the memory in use for which bounds are computed.
const LEVELS: u64 = 16;
/// Minimum number of windows for which a node stays closed or in exact mode.
pub(super) const CLOSED: u64 = 2;

impl Node {
    /// Returns the bounds that hold while at most `level` bytes of the memory are in use; `None` if
    /// there are none. Frames have at least `least` bytes and at most `largest`.
    fn limits(&self, level: u64, lossless: bool, (least, largest): (u64, u64)) -> Option<Limits> {
        let clamp = |bytes: u64| bytes.min(Limits::MOST as u64) as u32;
        // One frame per port may be in transmission without being counted. Where frames count until
        // their start only, one frame that need not wait is judged with its own bytes, which are not
        // counted either.
        let (unseen, sent) = if self.until_start { (1, 0) } else { (self.ports as u64, largest) };
        let (mut used, mut group, mut memory) = (u64::MAX, u64::MAX, u64::MAX);
        if let Some(managed) = &self.managed {
            let uncounted = unseen * (largest + managed.mmu.overhead());
            let bounds = managed.mmu.bounds(level, lossless)?;
            // Where a queue is charged more than its waiting bytes (memory in cells, or frames held
            // by a balancer), the bound of the queue applies to all memory in use.
            let by_used = self.holds || managed.mmu.overhead() > 0;
            used = if by_used { bounds.used.min(bounds.queue) } else { bounds.used }
                .checked_sub(uncounted)?;
            group = bounds.group.checked_sub(uncounted)?;
            memory = if by_used { u64::MAX } else { bounds.queue.checked_sub(sent)? };
        }
        if let Buffer::Shared(shared) = &self.buffer {
            let bounds = shared.bounds(level)?;
            used = bounds.used.checked_sub(unseen * largest)?;
            memory = bounds.queue.checked_sub(sent)?;
        }
        let marking = self
            .marking
            .as_ref()
            .filter(|red| red.at == MarkAt::Enqueue)
            .map_or(FastPathLimits::ALWAYS, |red| red.fast_path());
        let buffer = if matches!(self.buffer, Buffer::Static(_)) {
            self.buffer.fast_path()
        } else {
            FastPathLimits::ALWAYS
        };
        let fast_path = buffer.and(marking);
        // Frames ahead of the arriving one have at least `least` bytes each, and one of them may be
        // in transmission.
        let frames = if fast_path.frames == u32::MAX {
            u64::MAX
        } else {
            fast_path.frames.saturating_sub((sent > 0) as u32) as u64 * least
        };
        let queue = memory.min(frames).min(fast_path.queue.min(self.ring).saturating_sub(sent));
        Some(Limits { used, group: clamp(group), queue: clamp(queue), memory: clamp(memory) })
    }
}

impl NodeMemory {
    /// Sets the bound for frames that need not wait. Such a frame counts nowhere, so it exceeds no
    /// bound of the memory as long as the frames that wait exceed none.
    pub(super) fn set_idle(&mut self) {
        let queue = self.limits[0].queue.min(self.limits[1].queue);
        self.idle = if self.is_within() { queue } else { 0 };
    }

    /// True if the frames that wait exceed no bound of the memory.
    pub(super) fn is_within(&self) -> bool {
        // Only a memory management unit bounds the groups.
        let bounds_groups = self.limits.iter().any(|limits| limits.group < Limits::MOST);
        self.limits.iter().all(|limits| self.used <= limits.used)
            && (!bounds_groups
                || self.groups.chunks_exact(CLASSES).all(|classes| {
                    (0..).zip(classes).all(|(class, &bytes)| bytes <= self.limits_of(class).group)
                }))
    }
}

impl<'a> Shard<'a> {
    /// Sets the bounds for the memory now in use. Returns `false` if that is too much for any
    /// bound.
    pub(super) fn set_level(&mut self, node: u32) -> bool {
        let sizes @ (_, largest) = (self.world.plan.wire.least(), self.largest);
        let state = &mut self.nodes[node as usize];
        let shared = match (&state.managed, &state.buffer) {
            (Some(managed), _) => managed.mmu.shared(),
            (None, Buffer::Shared(shared)) => shared.total(),
            (None, _) => 0,
        };
        let used = state
            .memory
            .used
            .max(state.managed.as_ref().map_or(state.used, |managed| managed.mmu.used()));
        let uncounted = state.ports as u64 * (largest + state.memory.overhead as u64);
        let level =
            ((used + used / 4 + uncounted + shared / (2 * LEVELS)) * LEVELS / shared.max(1) + 1)
                * shared
                / LEVELS;
        let limits = [false, true].map(|lossless| state.limits(level, lossless, sizes));
        let [Some(lossy), Some(lossless)] = limits else {
            (state.memory.limits, state.memory.idle) = ([Limits::NEVER; 2], 0);
            return false;
        };
        state.memory.limits = [lossy, lossless];
        state.memory.set_idle();
        true
    }

    /// Window engine: begins a window of the node.
    #[inline(always)]
    pub fn begin_window<O: Outlet>(&mut self, out: &mut O, start: u64, node: u32) {
        let state = &self.nodes[node as usize];
        if state.opens && (!state.open || state.memory.exact) {
            self.try_open(out, start, node);
        }
    }

    /// Opens the node, or ends its exact mode, if no port is in an exceptional state.
    #[inline(never)]
    fn try_open<O: Outlet>(&mut self, out: &mut O, start: u64, node: u32) {
        let state = &mut self.nodes[node as usize];
        if start < state.memory.closed_until
            || state.managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0)
        {
            return;
        }
        state.memory.closed_until = start + CLOSED * self.world.lookahead;
        let (first, ports) = (state.first_port, state.ports);
        for port in first..first + ports {
            self.advance(out, start.saturating_sub(1), node, port);
            let a = self.ports[port as usize].automaton.as_ref().expect("not plain");
            let long = a.queues.iter().any(|q| q.bytes > Limits::MOST as u64);
            if long || !a.pause.as_ref().is_none_or(|pause| pause.is_undisturbed()) {
                return;
            }
        }
        match (self.is_within_bounds(node), self.is_exact(node)) {
            (true, true) => self.leave_exact(start, node),
            (true, false) => self.open(start, node),
            (false, _) => {}
        }
    }

    /// True if the counters are well within the bounds.
    fn is_within_bounds(&mut self, node: u32) -> bool {
        self.nodes[node as usize].memory.used = 0;
        if !self.set_level(node) {
            return false;
        }
        let state = &self.nodes[node as usize];
        let Some(managed) = &state.managed else { return true };
        let group = state.memory.limits.iter().map(|limits| limits.group).min().expect("two");
        managed.mmu.fullest_group() <= group as u64 / 8 * 7
    }

    #[cold]
    fn open(&mut self, start: u64, node: u32) {
        let explains = self.world.plan.record.explain;
        let Shard { nodes, ports, lanes, store, .. } = self;
        let state = &mut nodes[node as usize];
        let (first, until_start) = (state.first_port, state.until_start);
        state.reset_memory();
        state.active.clear();
        for port in first..first + state.ports {
            let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
            let a = p.automaton.as_deref_mut().expect("not plain");
            lane.sent = Sent::default();
            lane.clocked = explains && p.pause_seen && a.pause.is_some();
            // A pause that has just ended may have held a frame back. That frame starts at the end
            // of the pause, not when the transmitter became idle.
            lane.held = a.pause.as_ref().is_some_and(|pause| pause.holds_any(start))
                || a.sending.is_none() && a.waiting > 0;
            let held = a.qdisc.as_ref().map_or(0, |qdisc| qdisc.bytes());
            lane.backlog = held > 0;
            lane.rare = lane.held || lane.clocked || lane.backlog;
            let sending = a.sending.take();
            let mut left = held;
            state.used -= held;
            if let Some(sent) = sending {
                lane.sent = Sent {
                    input: sent.input,
                    size: sent.size,
                    flags: sent.class as u16,
                    queue: sent.queue,
                };
                if sent.queue != PAUSE_QUEUE && !until_start {
                    left += sent.size as u64;
                    state.give_back(port, lane.sent);
                }
            }
            for queue in 0..a.queues.len() {
                let q = &mut a.queues[queue];
                (q.bytes, q.count) = (0, 0);
                for Waiting { frame, clock, .. } in q.frames.drain(..) {
                    state.give_back(port, Sent::of(&frame, queue as u8));
                    state.take_memory(&frame);
                    let (lane_queue, bit) = (&mut lane.queues[queue], 1 << queue);
                    lane_queue.waits.add(frame.size);
                    store.arena.push(
                        &mut lane_queue.chain,
                        lane.occupied & bit == 0,
                        &frame,
                        |_| {},
                    );
                    lane.occupied |= bit;
                    if lane.clocked {
                        store.arena.set_note(&lane_queue.chain, clock);
                    }
                }
            }
            (a.waiting, a.listed) = (0, false);
            lane.listed = lane.occupied != 0 || lane.backlog;
            if lane.listed {
                state.active.push(port);
            }
            p.queued -= left;
            p.open = true;
            if let Some(sent) = sending {
                p.count_sent(sent.size, sent.time);
            }
        }
        state.memory.set_idle();
        state.open = true;
    }

    /// Closes the node if it is open: its ports become automata, advanced to `now`.
    pub(super) fn close<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        if self.nodes[node as usize].open {
            self.close_open(out, now, node);
        }
    }

    #[cold]
    #[inline(never)]
    fn close_open<O: Outlet>(&mut self, out: &mut O, now: u64, node: u32) {
        let exact = self.is_exact(node);
        // The classical engine, whose open nodes are exact, has processed everything up to `now`
        // already.
        if exact && !O::CLASSICAL {
            self.drain(out, now, node);
        } else if !exact {
            self.advance_all(out, now, node);
        }
        let lookahead = self.world.lookahead;
        let Shard { nodes, ports, lanes, store, .. } = self;
        let state = &mut nodes[node as usize];
        (state.open, state.memory.exact) = (false, false);
        state.memory.closed_until = now + CLOSED * lookahead;
        state.active.clear();
        let first = state.first_port;
        for port in first..first + state.ports {
            let (p, lane) = (&mut ports[port as usize], &mut lanes[port as usize]);
            p.open = false;
            let (Sent { input, size, queue, .. }, class) = (lane.sent, lane.sent.class());
            let sending = if exact { lane.sending } else { p.free_at > now && size > 0 };
            let recalled = sending.then(|| p.interrupted(size));
            let a = p.automaton.as_deref_mut().expect("not plain");
            a.latest = size;
            a.sending = recalled.map(|sent| Sending { queue, class, input, ..sent });
            if sending && queue != PAUSE_QUEUE && !state.until_start {
                if !exact {
                    state.charge(port, lane.sent);
                }
                let q = &mut a.queues[own_queue(&state.memory, queue as usize)];
                q.bytes += size as u64;
                q.count += 1;
                p.queued += size as u64;
            }
            for number in 0..lane.queues.len() {
                let lane_queue = &mut lane.queues[number];
                let queue = own_queue(&state.memory, number);
                let mut left = lane.occupied >> number & 1 != 0;
                while left {
                    let noted = lane.clocked.then(|| store.arena.note(lane_queue.chain.first()));
                    let (slot, empty) = match state.memory.kind {
                        RANKED => store.take::<RANKED>(port, &mut lane_queue.chain),
                        _ => store.take::<OWN>(port, &mut lane_queue.chain),
                    };
                    let mut frame = store.arena.release(slot);
                    left = !empty;
                    frame.offset = 0;
                    let class = frame.priority();
                    if !exact {
                        state.charge(port, Sent::of(&frame, queue as u8));
                    }
                    let q = &mut a.queues[queue];
                    q.bytes += frame.size as u64;
                    q.count += 1;
                    // If no clock was noted, nothing has been paused since the frame arrived.
                    let clock = noted.unwrap_or_else(|| {
                        a.pause.as_ref().map_or(0, |pause| pause.clock(class, now))
                    });
                    a.push(queue, Waiting { frame, ready: 0, clock });
                }
                lane_queue.waits = Length::default();
            }
            (lane.occupied, lane.listed) = (0, false);
            (lane.held, lane.clocked, lane.backlog, lane.rare) = (false, false, false, false);
            if let Some(qdisc) = &a.qdisc {
                a.queues[0].bytes += qdisc.bytes();
                a.queues[0].count += qdisc.frames();
                a.waiting += qdisc.frames();
                p.queued += qdisc.bytes();
                state.used += qdisc.bytes();
            }
            a.listed = a.waiting > 0;
            if a.listed {
                state.active.push(port);
            }
        }
    }

    /// Charges a frame that a balancer holds to an open node. Returns `false`, without a charge, if
    /// the frame exceeds the bounds.
    pub(super) fn charge_open(&mut self, node: u32, port: u32, queue: u8, frame: &Frame) -> bool {
        let state = &mut self.nodes[node as usize];
        let cost = frame.size as u32 + state.memory.overhead;
        let limits = state.memory.limits_of(frame.priority());
        let group = state.memory.groups[state.group_of(frame)];
        let fits = state.memory.used + cost as u64 <= limits.used && group + cost <= limits.group;
        if fits {
            state.charge(port, Sent::of(frame, queue));
            state.take_memory(frame);
        }
        fits
    }

    /// Releases the charge of a held frame that has joined its queue at an open port.
    pub(super) fn uncharge_open(&mut self, node: u32, port: u32, queue: u8, frame: &Frame) {
        self.nodes[node as usize].give_back(port, Sent::of(frame, queue));
    }
}

impl Node {
    /// Resets the memory account: only frames that a balancer holds take memory.
    pub(super) fn reset_memory(&mut self) {
        self.memory.used = 0;
        self.memory.groups.fill(0);
        let held: Vec<Frame> = self
            .balanced
            .iter()
            .filter(|_| self.holds)
            .flat_map(|balanced| balanced.charged())
            .copied()
            .collect();
        held.iter().for_each(|frame| self.take_memory(frame));
    }

    /// Returns the index of a frame's priority group among those of the node.
    #[inline(always)]
    pub(super) fn group_of(&self, frame: &Frame) -> usize {
        (frame.port - self.first_port) as usize * CLASSES + frame.priority() as usize
    }

    /// Releases the memory of a frame that waited, at a node with shared memory.
    #[inline(always)]
    pub(super) fn release_waiting(&mut self, frame: &Frame) {
        let cost = frame.size as u32 + self.memory.overhead;
        let group = self.group_of(frame);
        self.memory.used -= cost as u64;
        self.memory.groups[group] -= cost;
    }

    pub(super) fn take_memory(&mut self, frame: &Frame) {
        let cost = frame.size as u32 + self.memory.overhead;
        self.memory.used += cost as u64;
        if self.memory.kind == SHARED {
            let group = self.group_of(frame);
            self.memory.groups[group] += cost;
        }
    }

    /// Charges a frame to the memory at `port`. No group is paused.
    pub(super) fn charge(&mut self, port: u32, sent: Sent) {
        self.used += sent.size as u64;
        let first = self.first_port;
        if let Some(managed) = &mut self.managed {
            managed.mmu.charge(&charge(&managed.mmu, first, port, sent), false);
        }
    }

    /// Releases the memory of a frame at `port`. No group is paused.
    pub(super) fn give_back(&mut self, port: u32, sent: Sent) {
        self.used -= sent.size as u64;
        let first = self.first_port;
        if let Some(managed) = &mut self.managed {
            managed.mmu.give_back(&charge(&managed.mmu, first, port, sent));
        }
    }
}

/// Returns the queue of the automaton for a queue of the lane. An automaton that trims has one
/// queue, because the discipline has the headers.
fn own_queue(memory: &NodeMemory, queue: usize) -> usize {
    if memory.kind == TRIMMED { 0 } else { queue }
}

fn charge(mmu: &Mmu, first: u32, port: u32, sent: Sent) -> Charge {
    let (class, size) = (sent.class(), mmu.size_of(sent.size as u64, sent.class()));
    Charge::new(size, sent.input - first, port - first, class, sent.queue)
}
