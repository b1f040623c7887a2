//! Waiting frames of all open ports of a shard, in one list of 32-byte slots. Queues are chains of
//! slots: while a frame waits, its `Frame::offset` holds the slot of the frame behind it. Slots are
//! reused in the reverse order of their release, because the slots released last are still in the
//! cache.

use crate::frame::Frame;
use crate::shard::slab::growing;
use afflux_engine::prefetch;

/// Marks the end of the list of free slots.
const NONE: u32 = u32::MAX;

pub struct Arena {
    frames: Vec<Frame>,
    /// First free slot.
    free: u32,
    /// By slot, where pauses are recorded: time in ps that the frame's class had been paused in
    /// total when the frame arrived.
    clocks: Vec<u64>,
}

/// Queue as a chain of slots. `Lane::occupied` tells whether it is empty.
#[derive(Clone, Copy, Default)]
pub struct Chain {
    first: u32,
    last: u32,
}

impl Default for Arena {
    fn default() -> Self {
        Arena { frames: Vec::new(), free: NONE, clocks: Vec::new() }
    }
}

impl Arena {
    /// Appends a frame to a chain. `empty`: whether the chain is empty.
    #[inline(always)]
    pub fn push(&mut self, chain: &mut Chain, empty: bool, frame: Frame) {
        let slot = self.free;
        let slot = match self.frames.get_mut(slot as usize) {
            Some(free) => {
                self.free = std::mem::replace(free, frame).offset;
                slot
            }
            None => self.grow(frame),
        };
        if empty {
            chain.first = slot;
        } else {
            self.frames[chain.last as usize].offset = slot;
        }
        chain.last = slot;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, frame: Frame) -> u32 {
        self.frames.push(frame);
        self.frames.len() as u32 - 1
    }

    /// Removes the first frame of a chain that is not empty. Returns the frame, and whether the
    /// chain is empty now.
    #[inline(always)]
    pub fn pop(&mut self, chain: &mut Chain) -> (Frame, bool) {
        let slot = chain.first;
        let place = &mut self.frames[slot as usize];
        let frame = *place;
        place.offset = self.free;
        self.free = slot;
        let empty = slot == chain.last;
        if !empty {
            chain.first = frame.offset;
            // The next frame of a long queue is not in the cache.
            prefetch::<1, _>(&self.frames, frame.offset as usize);
        }
        (frame, empty)
    }

    /// Returns the first frame of a chain that is not empty.
    pub fn first(&self, chain: &Chain) -> &Frame {
        &self.frames[chain.first as usize]
    }

    /// Calls `see` for all frames of a chain that is not empty, in order.
    pub fn each(&self, chain: &Chain, mut see: impl FnMut(&Frame)) {
        let mut slot = chain.first;
        loop {
            let frame = &self.frames[slot as usize];
            see(frame);
            if slot == chain.last {
                return;
            }
            slot = frame.offset;
        }
    }

    /// Returns the pause clock of the first frame of a chain.
    pub fn clock(&self, chain: &Chain) -> u64 {
        self.clocks[chain.first as usize]
    }
    /// Sets the pause clock of the last frame of a chain.
    pub fn set_clock(&mut self, chain: &Chain, clock: u64) {
        if self.clocks.len() < self.frames.len() {
            self.clocks.resize(self.frames.capacity(), 0);
        }
        self.clocks[chain.last as usize] = clock;
    }

    /// Sets the pause clocks of all frames of a chain that is not empty.
    pub fn set_clocks(&mut self, chain: &Chain, clock: impl Fn(&Frame) -> u64) {
        let (mut slot, last) = (chain.first, chain.last);
        self.set_clock(chain, clock(&self.frames[last as usize]));
        while slot != last {
            self.clocks[slot as usize] = clock(&self.frames[slot as usize]);
            slot = self.frames[slot as usize].offset;
        }
    }

    /// Returns the additional memory in bytes that the list takes temporarily when it grows next.
    pub fn growing(&self) -> u64 {
        growing(self.frames.len(), self.frames.capacity(), size_of::<Frame>())
    }
}
