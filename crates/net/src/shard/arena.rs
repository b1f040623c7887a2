//! Frames that wait at the ports of a shard, in one list of 32-byte slots. Queues are chains: `Frame::offset` means nothing while a frame waits, and holds the
//! slot of the frame behind it. Slots are used again in the reverse order of their release, so that the warm ones come first.

use crate::frame::Frame;
use crate::shard::slab::growing;
use afflux_engine::prefetch;

/// No slot.
const NONE: u32 = u32::MAX;

pub struct Arena {
    frames: Vec<Frame>,
    /// First free slot.
    free: u32,
    /// By slot, where that is asked for: what the clock of pauses of the frame's class showed when it came.
    clocks: Vec<u64>,
}

/// A queue's chain. Whether it is empty is known elsewhere (`Lane::occupied`).
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
    /// Puts a frame at the end of a chain.
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

    /// Takes the first frame of a chain that is not empty; the second value says whether the chain is empty now.
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
            // A long queue is not in the cache.
            prefetch::<1, _>(&self.frames, frame.offset as usize);
        }
        (frame, empty)
    }

    /// The first frame of a chain that is not empty.
    pub fn first(&self, chain: &Chain) -> &Frame {
        &self.frames[chain.first as usize]
    }

    /// All frames of a chain that is not empty, in order.
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

    /// The clock of the first frame of a chain is read, that of the last one is set.
    pub fn clock(&self, chain: &Chain) -> u64 {
        self.clocks[chain.first as usize]
    }
    pub fn set_clock(&mut self, chain: &Chain, clock: u64) {
        if self.clocks.len() < self.frames.len() {
            self.clocks.resize(self.frames.capacity(), 0);
        }
        self.clocks[chain.last as usize] = clock;
    }

    /// Sets the clocks of a chain that is not empty.
    pub fn set_clocks(&mut self, chain: &Chain, clock: impl Fn(&Frame) -> u64) {
        let (mut slot, last) = (chain.first, chain.last);
        self.set_clock(chain, clock(&self.frames[last as usize]));
        while slot != last {
            self.clocks[slot as usize] = clock(&self.frames[slot as usize]);
            slot = self.frames[slot as usize].offset;
        }
    }

    /// Memory that the list takes for a moment when it grows next.
    pub fn growing(&self) -> u64 {
        growing(self.frames.len(), self.frames.capacity(), size_of::<Frame>())
    }
}
