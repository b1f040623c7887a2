//! Queue pairs of a NIC, with round robin among those that may send.

/// Queue pairs of one port, in the order in which they were opened. A frame is made when the
/// transmitter is free.
#[derive(Debug, Default)]
pub struct Nic {
    entries: Vec<Entry>,
    /// Place of the queue pair that was served last.
    last: usize,
    closed: usize,
    /// Time in ps at which the NIC checks again, 0 for never.
    pub armed: u64,
    /// Bit set of the classes that the NIC's queue pairs have had so far.
    classes: u8,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Time in ps from which the queue pair's next frame may leave; `u64::MAX` if it has nothing to
    /// send or may not send.
    due: u64,
    slot: u32,
    class: u8,
}

const CLOSED: u32 = u32::MAX;

impl Nic {
    /// Adds a queue pair, which may not send before [`Self::set_due`]. Returns its place.
    pub fn open(&mut self, slot: u32, class: u8) -> u32 {
        self.entries.push(Entry { due: u64::MAX, slot, class });
        self.classes |= 1 << class;
        self.entries.len() as u32 - 1
    }

    /// Returns the bit set of the NIC's classes for which `may` holds.
    #[inline(always)]
    pub fn classes(&self, may: impl Fn(u8) -> bool) -> u8 {
        let (mut left, mut allowed) = (self.classes, 0);
        while left != 0 {
            let class = left.trailing_zeros() as u8;
            left &= left - 1;
            allowed |= u8::from(may(class)) << class;
        }
        allowed
    }

    #[inline(always)]
    pub fn set_due(&mut self, place: u32, due: u64) {
        self.entries[place as usize].due = due;
    }

    /// Removes a queue pair. `moved` is called for each other queue pair that gets a new place.
    pub fn close(&mut self, place: u32, mut moved: impl FnMut(u32, u32)) {
        let entry = &mut self.entries[place as usize];
        (entry.slot, entry.due) = (CLOSED, u64::MAX);
        self.closed += 1;
        if 2 * self.closed <= self.entries.len().max(8) {
            return;
        }
        // The queue pair behind the last one served stays the next one.
        let before = self.entries[..self.entries.len().min(self.last + 1)]
            .iter()
            .filter(|entry| entry.slot != CLOSED)
            .count();
        self.entries.retain(|entry| entry.slot != CLOSED);
        self.last = match (before, self.entries.len()) {
            (0, 0) => 0,
            (0, count) => count - 1,
            (before, _) => before - 1,
        };
        self.closed = 0;
        self.entries.iter().enumerate().for_each(|(place, entry)| moved(entry.slot, place as u32));
    }

    /// Returns the slot of the queue pair whose turn it is at `now`, among the classes of
    /// `allowed`.
    #[inline]
    pub fn next(&mut self, now: u64, allowed: u8) -> Option<u32> {
        let may = |entry: &Entry| entry.due <= now && allowed >> entry.class & 1 != 0;
        let first = (self.last + 1).min(self.entries.len());
        let place = match self.entries[first..].iter().position(may) {
            Some(after) => first + after,
            None => self.entries[..first].iter().position(may)?,
        };
        self.last = place;
        Some(self.entries[place].slot)
    }

    /// Returns the earliest time in ps after `now` at which a queue pair may send. `held`: time
    /// until which a class that is not allowed is held back.
    #[inline]
    pub fn earliest(&self, now: u64, held: impl Fn(u8) -> u64) -> u64 {
        let when = |entry: &Entry| {
            if entry.due > now { entry.due } else { held(entry.class).max(now + 1) }
        };
        self.entries.iter().map(when).min().unwrap_or(u64::MAX)
    }

    /// Returns the earliest time in ps at which any queue pair may send.
    #[inline]
    pub fn earliest_due(&self) -> u64 {
        // With more than four queue pairs, it is as cheap to check when the transmitter is free.
        match self.entries.as_slice() {
            [] => u64::MAX,
            few if few.len() <= 4 => few.iter().map(|entry| entry.due).min().expect("some"),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_turn_also_when_some_close() {
        let mut nic = Nic::default();
        for slot in 0..20 {
            let place = nic.open(slot, 0);
            nic.set_due(place, 5);
        }
        assert_eq!(nic.next(4, 1), None);
        let order: Vec<u32> = (0..5).map(|_| nic.next(5, 1).unwrap()).collect();
        // The queue pair behind place 0 starts.
        assert_eq!(order, [1, 2, 3, 4, 5]);
        let mut places: Vec<u32> = (0..20).collect();
        for slot in (0..20).filter(|slot| slot % 3 != 0) {
            let place = places[slot as usize];
            nic.close(place, |slot, place| places[slot as usize] = place);
        }
        let order: Vec<u32> = (0..8).map(|_| nic.next(5, 1).unwrap()).collect();
        assert_eq!(order, [6, 9, 12, 15, 18, 0, 3, 6]);
    }

    #[test]
    fn held_classes_and_times() {
        let mut nic = Nic::default();
        for (slot, class, due) in [(0, 3, 10), (1, 1, 20), (2, 3, u64::MAX)] {
            let place = nic.open(slot, class);
            nic.set_due(place, due);
        }
        assert_eq!(nic.next(15, 0b0010), None);
        assert_eq!(nic.earliest(15, |_| 18), 18);
        assert_eq!(nic.earliest(15, |_| 30), 20);
        assert_eq!(nic.next(15, 0b1000), Some(0));
    }
}
