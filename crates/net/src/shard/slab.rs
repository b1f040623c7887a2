//! List with reusable slots, and the slots of flows.

use crate::frame::{Extra, Frame};
use crate::spec::FlowId;

/// List with reusable slots.
pub struct Slab<T> {
    items: Vec<T>,
    free: Vec<u32>,
    /// Free slots with the content of a new item. Only the words that depend on the frame have to
    /// be written when such a slot is reused.
    bare: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { items: Vec::new(), free: Vec::new(), bare: Vec::new() }
    }
}

impl<T> Slab<T> {
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop().or_else(|| self.bare.pop()) {
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
    /// Returns the additional memory in bytes that the list takes temporarily when it grows next:
    /// see [`growing`].
    pub fn growing(&self) -> u64 {
        growing(self.items.len(), self.items.capacity(), size_of::<T>())
    }
    /// Returns all slots, for prefetching.
    pub fn slots(&self) -> &[T] {
        &self.items
    }
    /// Frees a slot and returns its content.
    #[inline]
    pub fn take(&mut self, slot: u32) -> T
    where
        T: Default,
    {
        self.free.push(slot);
        std::mem::take(&mut self.items[slot as usize])
    }
    /// Frees a slot. Its content stays until the slot is reused.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> &T {
        self.free.push(slot);
        &self.items[slot as usize]
    }
}

impl Slab<Extra> {
    /// Creates the metadata of a frame that has none. Returns its slot.
    #[inline]
    pub fn insert_for(&mut self, frame: &Frame) -> u32 {
        let Some(slot) = self.bare.pop() else { return self.insert(Extra::for_frame(frame)) };
        self[slot].say(frame);
        slot
    }
    /// Frees a slot with bare metadata, so that [`Self::insert_for`] can reuse it.
    #[inline]
    pub fn free_slot(&mut self, slot: u32) {
        self.bare.push(slot);
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

/// Returns the additional memory in bytes that a list takes temporarily when it grows, because
/// growing copies it; 0 unless the list is more than 7/8 full.
pub fn growing(length: usize, capacity: usize, item: usize) -> u64 {
    if length > capacity / 8 * 7 { (capacity * item) as u64 } else { 0 }
}

/// Sets the slot of `flow`. The list grows if necessary.
pub fn set_slot(slots: &mut Vec<u32>, flow: FlowId, slot: u32) {
    if slots.len() <= flow as usize {
        slots.resize((flow as usize + 1).next_power_of_two(), NOT_YET);
    }
    slots[flow as usize] = slot;
}

/// Slot of a flow that has not been opened here.
pub const NOT_YET: u32 = u32::MAX;
/// Slot of a flow that has ended here.
pub const OVER: u32 = u32::MAX - 1;
