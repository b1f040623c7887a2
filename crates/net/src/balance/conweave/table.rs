//! What a ToR knows of each flow, for as long as it is not silent for too long.

use super::destination::Destination;
use super::source::Source;
use std::collections::VecDeque;

/// An entry of a table.
pub trait Entry: Copy {
    fn new() -> Self;
    /// When its flow was heard of last; `None` while it must be kept.
    fn active(&self) -> Option<u64>;
}

impl Entry for Source {
    fn new() -> Self {
        Source::new()
    }
    fn active(&self) -> Option<u64> {
        Some(self.active)
    }
}

impl Entry for Destination {
    fn new() -> Self {
        Destination::new()
    }
    fn active(&self) -> Option<u64> {
        (!self.is_reordering()).then_some(self.active)
    }
}

/// Entries by flow. One table serves all ToRs of a partition: a flow has one ToR at either end.
pub struct Table<T> {
    /// By flow: where its entry is.
    slots: Vec<u32>,
    entries: Vec<(u32, T)>,
    /// Entries in use, in the order in which they are looked at for their age.
    queue: VecDeque<u32>,
    free: Vec<u32>,
    age: u64,
}

const NONE: u32 = u32::MAX;

impl<T: Entry> Table<T> {
    /// Entries are forgotten when their flow has been silent for longer than `age`.
    pub fn new(age: u64) -> Self {
        Table { slots: Vec::new(), entries: Vec::new(), queue: VecDeque::new(), free: Vec::new(), age }
    }

    /// The entry of a flow, if it is known at `now`.
    #[inline]
    pub fn find(&mut self, now: u64, flow: u32) -> Option<&mut T> {
        let slot = self.slots.get(flow as usize).copied().unwrap_or(NONE);
        let (_, entry) = self.entries.get_mut(slot as usize)?;
        match entry.active() {
            Some(active) if active + self.age < now => None,
            _ => Some(entry),
        }
    }

    /// The entry of a flow, new if it is not known.
    #[inline]
    pub fn entry(&mut self, now: u64, flow: u32) -> &mut T {
        let slot = match self.slots.get(flow as usize) {
            Some(&slot) if slot != NONE => slot,
            _ => self.add(now, flow),
        };
        let (_, entry) = &mut self.entries[slot as usize];
        if entry.active().is_some_and(|active| active + self.age < now) {
            *entry = T::new();
        }
        entry
    }

    /// The entry of a flow that is known.
    #[inline]
    pub fn known(&mut self, flow: u32) -> &mut T {
        &mut self.entries[self.slots[flow as usize] as usize].1
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, now: u64, flow: u32) -> u32 {
        // Two are looked at for each that comes: the table is never more than about twice as large as what is in use.
        for _ in 0..2 {
            let Some(slot) = self.queue.pop_front() else { break };
            let (old, entry) = &self.entries[slot as usize];
            if entry.active().is_some_and(|active| active + self.age < now) {
                self.slots[*old as usize] = NONE;
                self.free.push(slot);
            } else {
                self.queue.push_back(slot);
            }
        }
        let slot = self.free.pop().unwrap_or(self.entries.len() as u32);
        if slot as usize == self.entries.len() {
            self.entries.push((flow, T::new()));
        } else {
            self.entries[slot as usize] = (flow, T::new());
        }
        if self.slots.len() <= flow as usize {
            self.slots.resize((flow as usize + 1).next_power_of_two(), NONE);
        }
        self.slots[flow as usize] = slot;
        self.queue.push_back(slot);
        // `active` of a new entry is 0, which may be long ago: it is set by whoever asked for it.
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Seen {
        active: u64,
        count: u32,
        kept: bool,
    }
    impl Entry for Seen {
        fn new() -> Self {
            Seen { active: 0, count: 0, kept: false }
        }
        fn active(&self) -> Option<u64> {
            (!self.kept).then_some(self.active)
        }
    }

    fn touch(table: &mut Table<Seen>, now: u64, flow: u32) -> u32 {
        let entry = table.entry(now, flow);
        entry.active = now;
        entry.count += 1;
        entry.count
    }

    #[test]
    fn a_flow_is_forgotten_after_its_age() {
        let mut table: Table<Seen> = Table::new(100);
        assert_eq!(touch(&mut table, 1_000, 7), 1);
        assert_eq!(touch(&mut table, 1_100, 7), 2, "as old as that is not older");
        assert!(table.find(1_200, 7).is_some());
        assert!(table.find(1_201, 7).is_none());
        assert!(table.find(1_201, 8).is_none());
        assert_eq!(touch(&mut table, 1_201, 7), 1);
    }

    #[test]
    fn it_does_not_matter_when_room_is_made() {
        // Whether a flow is still known depends on its own silence only.
        let mut table: Table<Seen> = Table::new(100);
        let mut last = std::collections::HashMap::new();
        let mut stream = afflux_engine::random::Stream::new(1, 2, 3);
        let (mut now, mut counts) = (0, std::collections::HashMap::new());
        for _ in 0..20_000 {
            now += stream.below(20);
            let flow = stream.below(40) as u32 * stream.below(4) as u32;
            let known = last.insert(flow, now).is_some_and(|before| before + 100 >= now);
            let count = counts.entry(flow).or_insert(0);
            *count = if known { *count + 1 } else { 1 };
            assert_eq!(touch(&mut table, now, flow), *count);
        }
    }

    #[test]
    fn room_is_used_again_but_not_that_of_what_must_be_kept() {
        let mut table: Table<Seen> = Table::new(100);
        touch(&mut table, 0, 0);
        table.known(0).kept = true;
        for flow in 1..10_000 {
            touch(&mut table, flow as u64 * 50, flow);
        }
        assert!(table.entries.len() < 10, "{}", table.entries.len());
        assert_eq!(table.known(0).count, 1);
        assert_eq!(touch(&mut table, 1_000_000, 0), 2);
    }
}
