//! Flow table of a ToR: an entry per flow, until the flow has been silent for too long.

use super::destination::Destination;
use super::source::Source;
use std::collections::VecDeque;

/// Entry of a table.
pub trait Entry: Copy {
    fn new() -> Self;
    /// Time in ps at which the flow was last active; `None` while the entry must be kept.
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

/// Index of the entry of each flow. One list serves all ToRs of a partition, because a flow has one
/// ToR at each end.
pub type Slots = Vec<u32>;

/// Entries of the flows of one ToR.
pub struct Table<T> {
    entries: Vec<(u32, T)>,
    /// Indices of the entries in use, in the order in which their ages are checked.
    queue: VecDeque<u32>,
    free: Vec<u32>,
    age: u64,
}

const NONE: u32 = u32::MAX;

impl<T: Entry> Table<T> {
    /// Creates a table that forgets a flow after a silence longer than `age` (ps).
    pub fn new(age: u64) -> Self {
        Table { entries: Vec::new(), queue: VecDeque::new(), free: Vec::new(), age }
    }

    /// Returns the entry of a flow, if it is known at `now`.
    #[inline]
    pub fn find(&mut self, slots: &Slots, now: u64, flow: u32) -> Option<&mut T> {
        let slot = slots.get(flow as usize).copied().unwrap_or(NONE);
        let (_, entry) = self.entries.get_mut(slot as usize)?;
        match entry.active() {
            Some(active) if active + self.age < now => None,
            _ => Some(entry),
        }
    }

    /// Returns the entry of a flow. Creates it if the flow is not known.
    #[inline]
    pub fn entry(&mut self, slots: &mut Slots, now: u64, flow: u32) -> &mut T {
        let slot = match slots.get(flow as usize) {
            Some(&slot) if slot != NONE => slot,
            _ => self.add(slots, now, flow),
        };
        let (_, entry) = &mut self.entries[slot as usize];
        if entry.active().is_some_and(|active| active + self.age < now) {
            *entry = T::new();
        }
        entry
    }

    #[cold]
    #[inline(never)]
    fn add(&mut self, slots: &mut Slots, now: u64, flow: u32) -> u32 {
        // Each new flow checks the ages of two entries. So the table has at most about twice as
        // many entries as are in use.
        for _ in 0..2 {
            let Some(slot) = self.queue.pop_front() else { break };
            let (old, entry) = &self.entries[slot as usize];
            if entry.active().is_some_and(|active| active + self.age < now) {
                slots[*old as usize] = NONE;
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
        if slots.len() <= flow as usize {
            slots.resize((flow as usize + 1).next_power_of_two(), NONE);
        }
        slots[flow as usize] = slot;
        self.queue.push_back(slot);
        // `active` of a new entry is 0, which may be long ago. The caller sets it.
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

    fn touch(table: &mut Table<Seen>, slots: &mut Slots, now: u64, flow: u32) -> u32 {
        let entry = table.entry(slots, now, flow);
        entry.active = now;
        entry.count += 1;
        entry.count
    }

    #[test]
    fn a_flow_is_forgotten_after_its_age() {
        let (mut table, mut slots): (Table<Seen>, Slots) = (Table::new(100), Slots::new());
        assert_eq!(touch(&mut table, &mut slots, 1_000, 7), 1);
        assert_eq!(touch(&mut table, &mut slots, 1_100, 7), 2, "as old as that is not older");
        assert!(table.find(&slots, 1_200, 7).is_some());
        assert!(table.find(&slots, 1_201, 7).is_none());
        assert!(table.find(&slots, 1_201, 8).is_none());
        assert_eq!(touch(&mut table, &mut slots, 1_201, 7), 1);
    }

    #[test]
    fn it_does_not_matter_when_room_is_made() {
        // Only the flow's own silence decides whether it is still known.
        let (mut table, mut slots): (Table<Seen>, Slots) = (Table::new(100), Slots::new());
        let mut last = std::collections::HashMap::new();
        let mut stream = afflux_engine::random::Stream::new(1, 2, 3);
        let (mut now, mut counts) = (0, std::collections::HashMap::new());
        for _ in 0..20_000 {
            now += stream.below(20);
            let flow = stream.below(40) as u32 * stream.below(4) as u32;
            let known = last.insert(flow, now).is_some_and(|before| before + 100 >= now);
            let count = counts.entry(flow).or_insert(0);
            *count = if known { *count + 1 } else { 1 };
            assert_eq!(touch(&mut table, &mut slots, now, flow), *count);
        }
    }

    #[test]
    fn room_is_used_again_but_not_that_of_what_must_be_kept() {
        let (mut table, mut slots): (Table<Seen>, Slots) = (Table::new(100), Slots::new());
        touch(&mut table, &mut slots, 0, 0);
        table.entry(&mut slots, 0, 0).kept = true;
        for flow in 1..10_000 {
            touch(&mut table, &mut slots, flow as u64 * 50, flow);
        }
        assert!(table.entries.len() < 10, "{}", table.entries.len());
        assert_eq!(table.entry(&mut slots, 500_000, 0).count, 1);
        assert_eq!(touch(&mut table, &mut slots, 1_000_000, 0), 2);
    }
}
