//! Implements a heap of keys, smallest first.
//!
//! Each entry has four children, so that the keys compared in one step share a cache line. Removing
//! the top leaves a hole. If the event that was removed causes another one, the new key sinks in
//! from the hole, and the last entry need not be fetched to fill it.

use std::cell::Cell;

pub struct Heap {
    /// Entry `i` is in place `i % 4` of group `i / 4`. The top is entry 3, and the children of
    /// entry `i` are group `i - 2`.
    groups: Vec<Group>,
    /// Number of the first free entry.
    end: usize,
}

/// Four keys, split into high and low halves. Cells allow moving an entry from one group to
/// another.
#[derive(Default)]
#[repr(align(64))]
struct Group {
    high: [Cell<u64>; 4],
    low: [Cell<u64>; 4],
}

impl Group {
    #[inline(always)]
    fn get(&self, place: usize) -> u128 {
        (self.high[place].get() as u128) << 64 | self.low[place].get() as u128
    }
    #[inline(always)]
    fn set(&self, place: usize, key: u128) {
        self.high[place].set((key >> 64) as u64);
        self.low[place].set(key as u64);
    }
    fn empty() -> Group {
        let group = Group::default();
        (0..4).for_each(|place| group.set(place, NONE));
        group
    }
}

/// Value of an unused entry; larger than any key.
const NONE: u128 = u128::MAX;
const TOP: usize = 3;

impl Heap {
    pub fn new() -> Self {
        Heap { groups: vec![Group::empty()], end: TOP + 1 }
    }

    /// Returns the smallest key.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<u128> {
        if self.groups[0].get(TOP) == NONE {
            // No key was pushed since the last pop.
            if self.end == TOP + 1 {
                return None;
            }
            self.end -= 1;
            let group = &self.groups[self.end / 4];
            let last = group.get(self.end % 4);
            group.set(self.end % 4, NONE);
            self.sink(last);
        }
        Some(self.groups[0].get(TOP))
    }

    /// Removes the key that [`Self::peek`] has returned.
    #[inline(always)]
    pub fn pop(&mut self) {
        self.groups[0].set(TOP, NONE);
    }

    #[inline(always)]
    pub fn push(&mut self, key: u128) {
        if self.groups[0].get(TOP) == NONE { self.sink(key) } else { self.append(key) }
    }

    /// Returns all keys, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = u128> + '_ {
        self.groups
            .iter()
            .flat_map(|group| (0..4).map(|place| group.get(place)))
            .filter(|&key| key != NONE)
    }

    /// Inserts `key` from the top, where the hole is, and lets it sink.
    #[inline(never)]
    fn sink(&mut self, key: u128) {
        let (mut hole, mut place) = (&self.groups[0], TOP);
        let mut number = 1;
        while let Some(group) = self.groups.get(number) {
            let left = (group.get(1) < group.get(0)) as usize;
            let right = 2 + (group.get(3) < group.get(2)) as usize;
            let least = if group.get(right) < group.get(left) { right } else { left };
            let (high, low) = (group.high[least].get(), group.low[least].get());
            // The times, in the high halves, usually decide.
            if high >= (key >> 64) as u64 && (high > (key >> 64) as u64 || low > key as u64) {
                break;
            }
            hole.high[place].set(high);
            hole.low[place].set(low);
            (hole, place) = (group, least);
            number = 4 * number + least - 2;
        }
        hole.set(place, key);
    }

    /// Inserts `key` at the end.
    #[inline(always)]
    fn append(&mut self, key: u128) {
        let at = self.end;
        self.end += 1;
        if at / 4 == self.groups.len() {
            self.grow();
        }
        let parent = at / 4 + 2;
        if key < self.groups[parent / 4].get(parent % 4) {
            return self.rise(at, key);
        }
        self.groups[at / 4].set(at % 4, key);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.groups.push(Group::empty());
    }

    /// Moves `key` up from entry `at` to its place.
    #[inline(never)]
    fn rise(&mut self, mut at: usize, key: u128) {
        while at > TOP {
            let parent = at / 4 + 2;
            let above = self.groups[parent / 4].get(parent % 4);
            if above <= key {
                break;
            }
            self.groups[at / 4].set(at % 4, above);
            at = parent;
        }
        self.groups[at / 4].set(at % 4, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_engine::random::Stream;

    #[test]
    fn sorts() {
        let mut stream = Stream::new(1, 1, 1);
        let (mut heap, mut reference) = (Heap::new(), std::collections::BTreeSet::new());
        for step in 0..50_000u64 {
            // The heap grows and shrinks, and is empty now and then.
            if stream.below(100) < if step / 1_000 % 2 == 0 { 55 } else { 45 } {
                let key = (stream.below(1_000) as u128) << 64 | step as u128;
                heap.push(key);
                reference.insert(key);
            } else {
                assert_eq!(heap.peek(), reference.pop_first());
                heap.pop();
            }
        }
        assert_eq!(heap.iter().collect::<std::collections::BTreeSet<_>>(), reference);
        while let Some(key) = heap.peek() {
            assert_eq!(Some(key), reference.pop_first());
            heap.pop();
        }
        assert!(reference.is_empty());
    }
}
