//! The window log: one append-only log per window.

use crate::Windows;
use std::collections::BTreeMap;

/// An entry of the window log.
pub trait Timed: Copy + Default {
    /// Stores the entry's time as an offset in ps from the start of its window.
    fn set_offset(&mut self, offset: u32);
}

/// Number of windows that the ring covers. Entries further ahead wait in buckets of `RING` windows
/// each.
const RING: u64 = 1024;
/// Entries per chunk. Free chunks are reused last in, first out, so that they stay in cache.
const CHUNK: u32 = 128;
const NO_CHUNK: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Index in the pool of the next entry. A multiple of `CHUNK` means that a new chunk must be
    /// allocated first.
    position: u32,
    /// Oldest and newest chunk of the slot.
    first: u32,
    last: u32,
}

const EMPTY: Slot = Slot { position: 0, first: NO_CHUNK, last: NO_CHUNK };

/// Entries grouped by window. Windows are processed in ascending order.
#[derive(Debug)]
pub struct WindowLog<T> {
    windows: Windows,
    /// Current window. Earlier windows are never read again.
    current: u64,
    slots: Box<[Slot; RING as usize]>,
    occupied: [u64; (RING / 64) as usize],
    pool: Vec<T>,
    /// For each chunk: the chunk filled after it in the same slot.
    next: Vec<u32>,
    free: Vec<u32>,
    /// Bucket number (window / `RING`) to the bucket's earliest window and its entries.
    far: BTreeMap<u64, (u64, Vec<(u64, T)>)>,
}

/// Returns the most chunk memory in bytes that `entries` entries of `size` bytes occupy if each
/// window holds only a few of them.
pub const fn scattered(entries: u64, size: u64) -> u64 {
    (if entries < RING { entries } else { RING }) * CHUNK as u64 * size
}

impl<T: Timed> WindowLog<T> {
    pub fn new(windows: Windows) -> Self {
        WindowLog {
            windows,
            current: 0,
            slots: Box::new([EMPTY; RING as usize]),
            occupied: [0; (RING / 64) as usize],
            pool: Vec::new(),
            next: Vec::new(),
            free: Vec::new(),
            far: BTreeMap::new(),
        }
    }
    pub fn windows(&self) -> Windows {
        self.windows
    }

    /// Appends `entry` to the log of the window that contains `time`, which must not precede the
    /// current window.
    #[inline(always)]
    pub fn push(&mut self, time: u64, entry: T) {
        self.push_changed(time, &entry, |_| {});
    }

    /// Appends a copy of `entry` and applies `change` to the stored copy. Changing an entry before
    /// it is copied would stall the processor: a wide load cannot forward data that narrow stores
    /// have just written.
    #[inline(always)]
    pub fn push_changed(&mut self, time: u64, entry: &T, change: impl FnOnce(&mut T)) {
        let window = self.windows.of(time);
        let offset = (time - self.windows.start(window)) as u32;
        debug_assert!(window >= self.current, "an event in the past");
        if window - self.current < RING {
            let filed = self.file(window, entry);
            change(filed);
            filed.set_offset(offset);
        } else {
            let mut entry = *entry;
            change(&mut entry);
            entry.set_offset(offset);
            self.file_far(window, entry);
        }
    }

    #[inline(always)]
    fn file(&mut self, window: u64, entry: &T) -> &mut T {
        let index = (window % RING) as usize;
        if self.slots[index].position.is_multiple_of(CHUNK) {
            self.grow(index);
        }
        let slot = &mut self.slots[index];
        let filed = &mut self.pool[slot.position as usize];
        slot.position += 1;
        *filed = *entry;
        filed
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, index: usize) {
        let chunk = self.free.pop().unwrap_or_else(|| {
            let chunk = self.next.len() as u32;
            assert!(chunk < u32::MAX / CHUNK, "more than 4 billion events at once");
            self.next.push(NO_CHUNK);
            self.pool.resize(self.pool.len() + CHUNK as usize, T::default());
            chunk
        });
        let slot = &mut self.slots[index];
        self.next[chunk as usize] = NO_CHUNK;
        let first = if slot.first == NO_CHUNK {
            chunk
        } else {
            self.next[slot.last as usize] = chunk;
            slot.first
        };
        // A full chunk ends where its neighbour begins, so `position` alone cannot tell the chunk.
        // A full slot therefore always moves to a new chunk here, before the next store.
        *slot = Slot { position: chunk * CHUNK, first, last: chunk };
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    #[cold]
    #[inline(never)]
    fn file_far(&mut self, window: u64, entry: T) {
        // An entry for a past window also arrives here, because its distance wraps around. It would
        // never be processed.
        assert!(window > self.current, "an event in the past");
        let (earliest, entries) = self.far.entry(window / RING).or_insert((window, Vec::new()));
        *earliest = window.min(*earliest);
        entries.push((window, entry));
    }

    /// Returns the earliest window that holds an entry.
    pub fn next_window(&self) -> Option<u64> {
        let near = self.next_near();
        let far = self.far.first_key_value().map(|(_, (earliest, _))| *earliest);
        match (near, far) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn next_near(&self) -> Option<u64> {
        let from = self.current % RING;
        let words = RING / 64;
        for step in 0..=words {
            let word = ((from / 64 + step) % words) as usize;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= !0 << (from % 64);
            } else if step == words {
                bits &= !(!0 << (from % 64));
            }
            if bits != 0 {
                let index = word as u64 * 64 + bits.trailing_zeros() as u64;
                return Some(self.current + (index + RING - from) % RING);
            }
        }
        None
    }

    /// Makes `window` the current window. It must not be later than [`Self::next_window`].
    pub fn advance(&mut self, window: u64) {
        debug_assert!(window >= self.current);
        let entered = window / RING != self.current / RING;
        self.current = window;
        if entered && let Some((_, entries)) = self.far.remove(&(window / RING)) {
            for (at, entry) in entries {
                self.file(at, &entry);
            }
        }
    }

    /// Returns the entries of the current window in insertion order, chunk by chunk, each with the
    /// pool index of its first entry.
    pub fn pieces(&self) -> Pieces<'_, T> {
        self.pieces_of(self.slots[(self.current % RING) as usize])
    }

    fn pieces_of(&self, slot: Slot) -> Pieces<'_, T> {
        Pieces { log: self, chunk: slot.first, slot }
    }

    /// Returns the pool of entries that the indices from [`Self::pieces`] refer to.
    #[inline(always)]
    pub fn places(&self) -> &[T] {
        &self.pool
    }

    /// Discards the entries of the current window.
    pub fn clear(&mut self) {
        let index = (self.current % RING) as usize;
        let mut chunk = self.slots[index].first;
        while chunk != NO_CHUNK {
            self.free.push(chunk);
            chunk = self.next[chunk as usize];
        }
        self.slots[index] = EMPTY;
        self.occupied[index / 64] &= !(1 << (index % 64));
    }

    /// Calls `visit` for every remaining entry, for counts at the end. The entries' time offsets
    /// are meaningless without their windows.
    pub fn for_each_left(&self, mut visit: impl FnMut(&T)) {
        for &slot in self.slots.iter() {
            self.pieces_of(slot).for_each(|(_, piece)| piece.iter().for_each(&mut visit));
        }
        for (_, entries) in self.far.values() {
            entries.iter().for_each(|(_, entry)| visit(entry));
        }
    }
}

/// Iterator over the chunks of one window, oldest first.
pub struct Pieces<'a, T> {
    log: &'a WindowLog<T>,
    chunk: u32,
    slot: Slot,
}

impl<'a, T> Iterator for Pieces<'a, T> {
    type Item = (u32, &'a [T]);
    fn next(&mut self) -> Option<(u32, &'a [T])> {
        if self.chunk == NO_CHUNK {
            return None;
        }
        let first = self.chunk * CHUNK;
        let end = if self.chunk == self.slot.last { self.slot.position } else { first + CHUNK };
        self.chunk = self.log.next[self.chunk as usize];
        Some((first, &self.log.pool[first as usize..end as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[derive(Debug, Clone, Copy, Default)]
    struct Entry {
        offset: u32,
        time: u64,
    }
    impl Timed for Entry {
        fn set_offset(&mut self, offset: u32) {
            self.offset = offset;
        }
    }

    #[test]
    fn everything_comes_out_in_its_window_and_in_order() {
        let windows = Windows::new(1000);
        let mut log = WindowLog::new(windows);
        let mut stream = Stream::new(3, 0, 0);
        let (mut pushed, mut popped, mut last) = (0u64, 0u64, 0u64);
        // Windows in the ring, around the ring's end, far, and very far ahead.
        let ahead = [2_000, 200_000, 1_024_000, 1_030_000, 5_000_000, 3_000_000_000];
        for i in 0..500u64 {
            let time = stream.below(ahead[i as usize % ahead.len()]);
            log.push(time, Entry { offset: 0, time });
            pushed += 1;
        }
        while let Some(window) = log.next_window() {
            log.advance(window);
            let entries: Vec<Entry> = log.pieces().flat_map(|(_, piece)| piece).copied().collect();
            log.clear();
            assert!(!entries.is_empty() && window >= last);
            last = window;
            popped += entries.len() as u64;
            for entry in entries {
                assert_eq!(windows.of(entry.time), window);
                assert_eq!(entry.offset as u64, entry.time - windows.start(window));
                // Push a few successors, at least one window ahead.
                if pushed < 200_000 {
                    for _ in 0..1 + stream.below(2) {
                        let reach = ahead[stream.below(6) as usize];
                        let time = entry.time + 1000 + stream.below(reach);
                        log.push(time, Entry { offset: 0, time });
                        pushed += 1;
                    }
                }
            }
        }
        assert_eq!(pushed, popped);
        assert!(pushed >= 200_000);
    }
}
