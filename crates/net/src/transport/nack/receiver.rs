//! Receiving half of a nack flow: tracks which segments have arrived, and which are missing.

use crate::spec::Nack;
use crate::transport::blocks::Blocks;

pub struct Receiver {
    pub flow: u32,
    segments: u32,
    /// First segment that has not arrived, and later segments that have.
    next: u32,
    above: Blocks,
    /// Segment behind the highest one that has arrived.
    pub highest: u32,
    /// Segment that arrived last, and whether it was a retransmission.
    pub latest: u32,
    pub repeated: bool,
    pub marked: u64,
    pub reordered: u64,
    /// Time in ps that the last frame spent paused.
    pub paused: u64,
    /// Time in ps at which a segment last arrived for the first time.
    pub last: u64,
    /// Time in ps of the next report of everything missing, and time of the pending event for it, 0
    /// for none.
    pub due: u64,
    pub armed: u64,
}

/// Report that an arrival causes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    Nothing,
    /// The segments in this range were skipped.
    Gap(u32, u32),
    /// All missing segments, or none if nothing is missing.
    Everything,
}

impl Receiver {
    pub fn new(flow: u32, segments: u32) -> Self {
        Receiver {
            flow,
            segments,
            next: 0,
            above: Blocks::default(),
            highest: 0,
            latest: 0,
            repeated: false,
            marked: 0,
            reordered: 0,
            paused: 0,
            last: 0,
            due: 0,
            armed: 0,
        }
    }

    pub fn on_data(&mut self, now: u64, seq: u32, again: bool, config: &Nack) -> Reaction {
        if self.due == 0 {
            self.due = now + config.report.0;
        }
        (self.latest, self.repeated) = (seq, again);
        let left_out = (seq > self.highest).then_some((self.highest, seq));
        let known = seq < self.next || self.above.contains(seq);
        self.reordered += (seq < self.highest) as u64;
        self.highest = self.highest.max(seq + 1);
        if !known {
            self.last = now;
        }
        if seq == self.next {
            self.next = self.above.end_from(seq + 1);
            self.above.discard_below(self.next);
        } else if !known {
            self.above.insert(seq);
        }
        match left_out {
            _ if self.is_complete() => Reaction::Everything,
            // A sender without reports repeats its last segment.
            _ if known && seq + 1 == self.segments => Reaction::Everything,
            Some((from, to)) => Reaction::Gap(from, to),
            None => Reaction::Nothing,
        }
    }

    /// Schedules the next periodic report.
    pub fn on_due(&mut self, now: u64, config: &Nack) {
        self.due = now + config.report.0;
    }

    /// Returns the first segment that has not arrived.
    pub fn next(&self) -> u32 {
        self.next
    }

    pub fn is_complete(&self) -> bool {
        self.next == self.segments
    }

    /// Returns the missing ranges in ascending order.
    pub fn missing(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.above.gaps_from(self.next)
    }

    /// Returns the number of segments that have arrived, and whether the last one is among them.
    pub fn received(&self) -> (u64, bool) {
        (self.next as u64 + self.above.count() as u64, self.highest == self.segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    fn config() -> Nack {
        Nack { rate: None, payload: 1_000, report: Span::from_us(100), timeout: Span::from_us(300) }
    }

    #[test]
    fn a_gap_is_reported_once_at_once_and_everything_later() {
        let config = config();
        let mut r = Receiver::new(0, 12);
        assert_eq!(r.on_data(5, 0, false, &config), Reaction::Nothing);
        assert_eq!(r.due, 5 + config.report.0);
        assert_eq!(r.on_data(6, 3, false, &config), Reaction::Gap(1, 3));
        assert_eq!(r.on_data(7, 4, false, &config), Reaction::Nothing);
        assert_eq!(r.on_data(8, 7, false, &config), Reaction::Gap(5, 7));
        assert_eq!(r.missing().collect::<Vec<_>>(), [(1, 3), (5, 7)]);
        assert_eq!(r.on_data(9, 1, true, &config), Reaction::Nothing);
        assert_eq!((r.next(), r.missing().collect::<Vec<_>>()), (2, vec![(2, 3), (5, 7)]));
        // A segment that arrives twice changes nothing.
        assert_eq!(r.on_data(9, 1, true, &config), Reaction::Nothing);
        assert_eq!(r.received(), (5, false));
    }

    #[test]
    fn the_last_segment_again_asks_for_everything() {
        let config = config();
        let mut r = Receiver::new(0, 3);
        assert_eq!(r.on_data(1, 2, false, &config), Reaction::Gap(0, 2));
        assert_eq!(r.on_data(2, 2, true, &config), Reaction::Everything);
        assert_eq!(r.on_data(3, 0, true, &config), Reaction::Nothing);
        assert_eq!(r.on_data(4, 1, true, &config), Reaction::Everything);
        assert!(r.is_complete() && r.missing().next().is_none());
        assert_eq!(r.received(), (3, true));
    }
}
