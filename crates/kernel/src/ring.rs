//! Split virtqueue, seen from the device (virtio 1.2, §2.7).

use crate::memory::GuestMemory;
use std::sync::atomic::{Ordering, fence};

/// Bytes of a descriptor, and of an entry of the used ring.
const DESCRIPTOR: u64 = 16;
const USED_ENTRY: u64 = 8;
/// Flag of a descriptor: the chain continues.
const NEXT: u16 = 1;
/// Flag of the available ring: the driver asks for no interrupts.
const NO_INTERRUPT: u16 = 1;

/// A ring. Functions return `None` where the driver's addresses or indices lie outside its memory.
#[derive(Debug, Default, Clone)]
pub struct Ring {
    pub size: u16,
    pub descriptors: u64,
    pub used: u64,
    pub available: u64,
    pub enabled: bool,
    /// True if the driver says by index when it asks for an interrupt (VIRTIO_F_EVENT_IDX).
    pub by_index: bool,
    next_available: u16,
    next_used: u16,
}

impl Ring {
    /// Returns to the state after a reset: the driver's next buffer has index `base`.
    pub fn restart(&mut self, base: u16) {
        (self.next_available, self.next_used) = (base, 0);
    }

    /// Takes the next chain of descriptors from the driver. Returns its head, or `None` in the
    /// inner option if there is none.
    pub fn pop(&mut self, memory: &GuestMemory) -> Option<Option<u16>> {
        if self.size == 0 || self.descriptors == 0 {
            return Some(None);
        }
        let end: u16 = memory.get(self.available + 2)?;
        if end == self.next_available {
            return Some(None);
        }
        fence(Ordering::SeqCst);
        let slot = u64::from(self.next_available % self.size);
        let head = memory.get(self.available + 4 + 2 * slot)?;
        self.next_available = self.next_available.wrapping_add(1);
        if self.by_index {
            // The device wants a notification for the very next buffer.
            let event = self.used + 4 + USED_ENTRY * u64::from(self.size);
            memory.put(event, self.next_available)?;
        }
        Some(Some(head))
    }

    /// Returns address and length of every descriptor of the chain.
    pub fn chain(&self, memory: &GuestMemory, head: u16) -> Option<Vec<(u64, u32)>> {
        let mut found = Vec::new();
        let mut index = head;
        loop {
            // A chain has at most one descriptor per entry of the ring.
            if index >= self.size || found.len() >= usize::from(self.size) {
                return None;
            }
            let place = self.descriptors + DESCRIPTOR * u64::from(index);
            let (address, length) = (memory.get(place)?, memory.get(place + 8)?);
            let flags: u16 = memory.get(place + 12)?;
            found.push((address, length));
            if flags & NEXT == 0 {
                return Some(found);
            }
            index = memory.get(place + 14)?;
        }
    }

    /// Gives a chain back to the driver, with `written` bytes in it.
    pub fn push(&mut self, memory: &GuestMemory, head: u16, written: u32) -> Option<()> {
        let place = self.used + 4 + USED_ENTRY * u64::from(self.next_used % self.size);
        memory.put(place, u32::from(head))?;
        memory.put(place + 4, written)?;
        self.next_used = self.next_used.wrapping_add(1);
        fence(Ordering::SeqCst);
        memory.put(self.used + 2, self.next_used)?;
        fence(Ordering::SeqCst);
        Some(())
    }

    pub fn pushed(&self) -> u16 {
        self.next_used
    }

    /// Returns whether the driver asks for an interrupt for the chains given back since `before`.
    pub fn needs_interrupt(&self, memory: &GuestMemory, before: u16) -> Option<bool> {
        if self.next_used == before {
            return Some(false);
        }
        if !self.by_index {
            let flags: u16 = memory.get(self.available)?;
            return Some(flags & NO_INTERRUPT == 0);
        }
        let event: u16 = memory.get(self.available + 4 + 2 * u64::from(self.size))?;
        let since = self.next_used.wrapping_sub(before);
        Some(self.next_used.wrapping_sub(event).wrapping_sub(1) < since)
    }
}
