//! Bounds of a node's memory, and the end of its exact mode: when no port of the node is in an
//! exceptional state, bounds decide (see `shard::hop`). A frame held by a balancer stays charged to
//! the memory management unit, and counts in the bounds as well.

use super::lane::{Limits, NodeMemory, OWN, Queue, SHARED, Sent};
use super::switch::Managed;
use super::{Node, Outlet, Shard};
use crate::frame::Frame;
use crate::queue::FastPathLimits;
use crate::queue::buffer::Buffer;
use crate::queue::buffer::mmu::CLASSES;
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
            exact_until: 0,
            exact: false,
        }
    }
}

/// Number of steps of the memory in use for which bounds are computed.
const LEVELS: u64 = 16;
/// Minimum number of windows for which a node stays in exact mode.
pub(super) const EXACT_FOR: u64 = 2;

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
    /// Sets the bounds. More memory may be in use than those of lossy or of lossless classes allow.
    /// The others are lowered to the least of them, so that no class takes memory beyond the bounds
    /// of another one unnoticed.
    pub(super) fn set_limits(&mut self, mut limits: [Limits; 2]) {
        let least = limits.iter().map(|one| one.used).filter(|&bound| self.used <= bound).min();
        if let Some(least) = least {
            limits.iter_mut().for_each(|one| one.used = one.used.min(least));
        }
        self.limits = limits;
        self.set_idle();
    }

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
        state.memory.set_limits([lossy, lossless]);
        true
    }

    /// Window engine: begins a window of the node.
    #[inline(always)]
    pub fn begin_window<O: Outlet>(&mut self, out: &mut O, start: u64, node: u32) {
        let state = &self.nodes[node as usize];
        if state.leaves_exact && state.memory.exact {
            self.try_leave_exact(out, start, node);
        }
    }

    /// Ends the exact mode of a node if no port is in an exceptional state.
    #[inline(never)]
    fn try_leave_exact<O: Outlet>(&mut self, out: &mut O, start: u64, node: u32) {
        let state = &mut self.nodes[node as usize];
        if start < state.memory.exact_until
            || state.managed.as_ref().is_some_and(|managed| managed.mmu.paused > 0)
        {
            return;
        }
        state.memory.exact_until = start + EXACT_FOR * self.world.lookahead;
        let (first, ports) = (state.first_port, state.ports);
        for port in first..first + ports {
            self.advance(out, start.saturating_sub(1), node, port);
            let long = |q: &Queue| q.waits.all_bytes() > Limits::MOST as u64;
            let pause = self.ports[port as usize].pause();
            if self.lanes[port as usize].queues.iter().any(long)
                || !pause.is_none_or(|pause| pause.is_undisturbed())
            {
                return;
            }
        }
        if self.is_within_bounds(node) {
            self.leave_exact(start, node);
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

    /// Charges a frame that a balancer holds. Returns `false`, without a charge, if
    /// the frame exceeds the bounds.
    pub(super) fn charge_within(&mut self, node: u32, port: u32, queue: u8, frame: &Frame) -> bool {
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

    /// Releases the charge of a held frame that has joined its queue.
    pub(super) fn uncharge_within(&mut self, node: u32, port: u32, queue: u8, frame: &Frame) {
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

    /// Takes memory for a frame that waits, at a node with shared memory.
    #[inline(always)]
    pub(super) fn take_memory(&mut self, frame: &Frame) {
        let cost = frame.size as u32 + self.memory.overhead;
        let group = self.group_of(frame);
        self.memory.groups[group] += cost;
        self.memory.used += cost as u64;
    }

    /// Charges a frame to the memory at `port`. No group is paused.
    pub(super) fn charge(&mut self, port: u32, sent: Sent) {
        self.used += sent.size as u64;
        let first = self.first_port;
        if let Some(managed) = &mut self.managed {
            let charge = managed.charge_of(first, port, sent);
            managed.mmu.charge(&charge, false);
        }
    }

    /// Releases the memory of a frame at `port`. No group is paused.
    pub(super) fn give_back(&mut self, port: u32, sent: Sent) {
        self.used -= sent.size as u64;
        let first = self.first_port;
        if let Some(managed) = &mut self.managed {
            let charge = managed.charge_of(first, port, sent);
            managed.mmu.give_back(&charge);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waiting frames of lossless classes may exceed the bound of lossy ones. A lossy frame that finds
    /// its port idle is judged then.
    #[test]
    fn no_class_takes_memory_beyond_the_bounds_of_another_unnoticed() {
        let mut memory = NodeMemory::new(None, &Buffer::Unlimited, 1);
        let limits = |used| Limits { used, group: 9_000, queue: 3_000, memory: 3_000 };
        let mut set = |used, lossy, lossless| {
            memory.used = used;
            memory.set_limits([limits(lossy), limits(lossless)]);
            (memory.limits.map(|limits| limits.used), memory.idle)
        };
        assert_eq!(set(3_999, 4_000, 8_000), ([4_000, 4_000], 3_000));
        assert_eq!(set(4_001, 4_000, 8_000), ([4_000, 8_000], 0));
        assert_eq!(set(8_001, 4_000, 8_000), ([4_000, 8_000], 0));
        assert_eq!(set(4_001, 8_000, 4_000), ([8_000, 4_000], 0));
    }
}
