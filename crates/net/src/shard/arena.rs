//! Waiting frames of all lanes of a shard, in one list of 32-byte slots. Queues are chains of
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
    /// By slot, where the queue needs it: a number about the frame. Where pauses are recorded, it is
    /// the pause clock: the time in ps that the frame's class had been paused in total when the
    /// frame arrived. In pFabric's queues it is the urgency of the frame.
    notes: Vec<u64>,
    /// By slot, at ports that need it: the time in ps at which the last bit of the frame arrived.
    ready: Vec<u64>,
}

/// Queue as a chain of slots. `Lane::occupied` tells whether it is empty.
#[derive(Clone, Copy, Default)]
pub struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    /// Returns the first slot of a chain that is not empty.
    pub fn first(&self) -> u32 {
        self.first
    }
}

impl Default for Arena {
    fn default() -> Self {
        Arena { frames: Vec::new(), free: NONE, notes: Vec::new(), ready: Vec::new() }
    }
}

impl Arena {
    /// Appends a frame to a chain, and applies `change` to it in its slot: a frame that is changed
    /// before it is copied would stall the processor. `empty`: whether the chain is empty.
    #[inline(always)]
    pub fn push(
        &mut self,
        chain: &mut Chain,
        empty: bool,
        frame: &Frame,
        change: impl FnOnce(&mut Frame),
    ) {
        if self.free as usize >= self.frames.len() {
            self.grow();
        }
        let slot = self.free;
        let place = &mut self.frames[slot as usize];
        self.free = place.offset;
        *place = *frame;
        change(place);
        if empty {
            chain.first = slot;
        } else {
            self.frames[chain.last as usize].offset = slot;
        }
        chain.last = slot;
    }

    /// Adds a free slot.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = self.frames.len() as u32;
        self.frames.push(Frame { offset: NONE, ..Frame::default() });
    }

    /// Removes the first frame of a chain that is not empty. Returns its slot, which the caller
    /// has to release, and whether the chain is empty now.
    #[inline(always)]
    pub fn take(&mut self, chain: &mut Chain) -> (u32, bool) {
        let slot = chain.first;
        let empty = slot == chain.last;
        if !empty {
            chain.first = self.frames[slot as usize].offset;
            // The next frame of a long queue is not in the cache.
            prefetch::<1, _>(&self.frames, chain.first as usize);
        }
        (slot, empty)
    }

    /// Returns the frame in a slot that has been taken out of its chain, and makes the slot free.
    #[inline(always)]
    pub fn release(&mut self, slot: u32) -> Frame {
        let place = &mut self.frames[slot as usize];
        let frame = *place;
        place.offset = self.free;
        self.free = slot;
        frame
    }

    /// Replaces the last frame of a chain that is not empty, and returns it.
    pub fn replace_last(&mut self, chain: &Chain, frame: Frame) -> Frame {
        std::mem::replace(&mut self.frames[chain.last as usize], frame)
    }

    /// Returns the first frame of a chain that is not empty.
    pub fn first(&self, chain: &Chain) -> &Frame {
        &self.frames[chain.first as usize]
    }

    /// Removes the frame behind `before` from a chain. Returns its slot, which the caller has to
    /// release.
    pub fn unlink(&mut self, chain: &mut Chain, before: u32) -> u32 {
        let slot = self.behind(before);
        if slot == chain.last {
            chain.last = before;
        } else {
            self.frames[before as usize].offset = self.frames[slot as usize].offset;
        }
        slot
    }

    /// Returns the frame in a slot.
    #[inline(always)]
    pub fn at(&self, slot: u32) -> &Frame {
        &self.frames[slot as usize]
    }

    /// Returns the slot behind this one in its chain. The number has no meaning for the last slot.
    pub fn behind(&self, slot: u32) -> u32 {
        self.frames[slot as usize].offset
    }

    /// True if the frame in a slot is the last one of its chain.
    pub fn is_last(&self, chain: &Chain, slot: u32) -> bool {
        slot == chain.last
    }

    /// Returns the slots of a chain that is not empty, in order.
    pub fn slots(&self, chain: &Chain) -> impl Iterator<Item = u32> + '_ {
        let last = chain.last;
        std::iter::successors(Some(chain.first), move |&slot| {
            (slot != last).then(|| self.behind(slot))
        })
    }

    /// Calls `see` for all frames of a chain that is not empty, in order.
    pub fn each(&self, chain: &Chain, mut see: impl FnMut(&Frame)) {
        self.slots(chain).for_each(|slot| see(self.at(slot)));
    }

    /// Returns the time in ps at which the last bit of the frame in a slot arrived.
    pub fn ready(&self, slot: u32) -> u64 {
        self.ready[slot as usize]
    }

    /// Sets the time in ps at which the last bit of the last frame of a chain arrived.
    pub fn set_ready(&mut self, chain: &Chain, ready: u64) {
        if self.ready.len() < self.frames.len() {
            self.ready.resize(self.frames.capacity(), 0);
        }
        self.ready[chain.last as usize] = ready;
    }

    /// Returns the note about the frame in a slot.
    #[inline(always)]
    pub fn note(&self, slot: u32) -> u64 {
        self.notes[slot as usize]
    }

    /// Sets the note about the last frame of a chain.
    #[inline(always)]
    pub fn set_note(&mut self, chain: &Chain, note: u64) {
        if self.notes.len() < self.frames.len() {
            self.grow_notes();
        }
        self.notes[chain.last as usize] = note;
    }

    #[cold]
    #[inline(never)]
    fn grow_notes(&mut self) {
        self.notes.resize(self.frames.capacity(), 0);
    }

    /// Sets the notes about all frames of a chain that is not empty.
    pub fn set_notes(&mut self, chain: &Chain, note: impl Fn(&Frame) -> u64) {
        let (mut slot, last) = (chain.first, chain.last);
        self.set_note(chain, note(&self.frames[last as usize]));
        while slot != last {
            self.notes[slot as usize] = note(&self.frames[slot as usize]);
            slot = self.frames[slot as usize].offset;
        }
    }

    /// Returns the additional memory in bytes that the list takes temporarily when it grows next.
    pub fn growing(&self) -> u64 {
        growing(self.frames.len(), self.frames.capacity(), size_of::<Frame>())
    }
}
