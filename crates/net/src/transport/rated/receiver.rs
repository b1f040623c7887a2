//! Receiving half of a rated flow: tracks which segments have arrived.

use std::collections::BTreeSet;

pub struct Receiver {
    pub flow: u32,
    segments: u32,
    /// First segment that has not arrived, and later segments that have.
    next: u32,
    above: BTreeSet<u32>,
    /// Segment behind the highest one that has arrived.
    pub highest: u32,
    pub marked: u64,
    pub reordered: u64,
    /// Time in ps that the last frame spent paused.
    pub paused: u64,
    /// Time in ps at which a segment last arrived for the first time.
    pub last: u64,
}

impl Receiver {
    pub fn new(flow: u32, segments: u32) -> Self {
        Receiver {
            flow,
            segments,
            next: 0,
            above: BTreeSet::new(),
            highest: 0,
            marked: 0,
            reordered: 0,
            paused: 0,
            last: 0,
        }
    }

    pub fn on_data(&mut self, now: u64, seq: u32, marked: bool) {
        self.marked += marked as u64;
        self.reordered += (seq < self.highest) as u64;
        self.highest = self.highest.max(seq + 1);
        if seq >= self.next && self.above.insert(seq) {
            self.last = now;
        }
        while self.above.remove(&self.next) {
            self.next += 1;
        }
    }

    /// Returns the first segment that has not arrived.
    pub fn next(&self) -> u32 {
        self.next
    }

    pub fn is_complete(&self) -> bool {
        self.next == self.segments
    }

    /// Returns the number of segments that have arrived, and whether the last one is among them.
    pub fn received(&self) -> (u64, bool) {
        (
            self.next as u64 + self.above.len() as u64,
            self.is_complete() || self.above.contains(&(self.segments - 1)),
        )
    }
}
