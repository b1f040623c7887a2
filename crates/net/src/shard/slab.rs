//! Slots that are used again, and what has become of a flow's.

use crate::frame::{Extra, Frame};
use crate::spec::FlowId;

/// Slots that are used again.
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
    /// Slots that are free, too, and hold what a new one would: of those only the frame's own words have to be written.
    aside: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { items: Vec::new(), free: Vec::new(), aside: Vec::new() }
    }
}

impl<T> Slab<T> {
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop().or_else(|| self.aside.pop()) {
            Some(slot) => {
                self.items[slot as usize] = item;
                slot
            }
            None => {
                self.items.push(item);
                self.items.len() as u32 - 1
            }
        }
    }
    /// As [`growing`].
    pub fn growing(&self) -> u64 {
        growing(self.items.len(), self.items.capacity(), size_of::<T>())
    }
    /// All slots, for prefetching.
    pub fn slots(&self) -> &[T] {
        &self.items
    }
    /// Frees a slot, and hands out what was in it.
    #[inline]
    pub fn take(&mut self, slot: u32) -> T
    where
        T: Default,
    {
        self.free.push(slot);
        std::mem::take(&mut self.items[slot as usize])
    }
    /// Frees a slot; its content stays until it is used again.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> &T {
        self.free.push(slot);
        &self.items[slot as usize]
    }
}

impl Slab<Extra> {
    /// For a frame that has none yet.
    #[inline]
    pub fn beside(&mut self, frame: &Frame) -> u32 {
        let Some(slot) = self.aside.pop() else { return self.insert(Extra::beside(frame)) };
        self[slot].say(frame);
        slot
    }
    /// Frees the slot of a bare one, to be used again by [`Self::beside`].
    #[inline]
    pub fn lay_aside(&mut self, slot: u32) {
        self.aside.push(slot);
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, slot: u32) -> &T {
        &self.items[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    #[inline(always)]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.items[slot as usize]
    }
}

/// What a list takes for a moment when it grows, because it is copied then; nothing unless that may be soon.
pub fn growing(length: usize, capacity: usize, item: usize) -> u64 {
    if length > capacity / 8 * 7 { (capacity * item) as u64 } else { 0 }
}

/// Sets the slot of `flow`, for which there may be no room yet.
pub fn set_slot(slots: &mut Vec<u32>, flow: FlowId, slot: u32) {
    if slots.len() <= flow as usize {
        slots.resize((flow as usize + 1).next_power_of_two(), NOT_YET);
    }
    slots[flow as usize] = slot;
}

/// Per flow and side: what has become of it here.
pub const NOT_YET: u32 = u32::MAX;
pub const OVER: u32 = u32::MAX - 1;
