//! Line of a card: determines when each frame has left, and when the driver is told of it.
//!
//! The frames leave one after the other at the line rate. While the switch pauses a priority, a
//! frame of that priority keeps those behind it waiting, as in a card with one ring.

use std::collections::VecDeque;

/// Time in ns at which nothing happens.
pub const NEVER: u64 = i64::MAX as u64;
/// Completions wait this long for others, in ns. This and the next two are choices within the
/// defaults of drivers (Linux 6.12: mlx5 16 us or 32 frames, tg3 150 us or 53 frames, sky2 1 ms,
/// stmmac 5 ms or 25 frames).
const COALESCE: u64 = 20_000;
/// Completions of fewer than [`MANY`] frames wait this long for the next receive interrupt, in ns.
const LAZY: u64 = 1_000_000;
const MANY: usize = 17;

/// A frame of which the driver has not been told. Times are in ns.
#[derive(Debug)]
struct Frame {
    taken: u64,
    duration: u64,
    priority: u8,
    start: u64,
    end: u64,
    /// Head of its chain in the ring.
    head: u16,
}

/// Change of the pauses of some priorities.
#[derive(Debug, Clone, Copy)]
struct Change {
    at: u64,
    /// Bit mask.
    priorities: u8,
    until: u64,
}

#[derive(Debug)]
pub struct Line {
    frames: VecDeque<Frame>,
    /// Changes that lie ahead, in order of time.
    changes: VecDeque<Change>,
    /// End of the pause of each priority.
    paused: [u64; 8],
    /// End of the last frame of which the driver has been told.
    told: u64,
    /// Time at which the driver is told of completed transmissions.
    tell: u64,
}

impl Default for Line {
    fn default() -> Self {
        let (frames, changes) = (VecDeque::new(), VecDeque::new());
        Line { frames, changes, paused: [0; 8], told: 0, tell: NEVER }
    }
}

impl Line {
    /// Takes a frame that the driver sends at `now`.
    pub fn send(&mut self, now: u64, duration: u64, priority: u8, head: u16) {
        self.change(now);
        let free = self.frames.back().map_or(self.told, |last| last.end);
        let start = now.max(free).max(self.paused[usize::from(priority)]);
        let end = start + duration;
        self.frames.push_back(Frame { taken: now, duration, priority, start, end, head });
        if self.frames.len() == 1 {
            self.tell = end + LAZY;
        } else if self.frames.len() == MANY {
            self.tell = self.tell.min(end + COALESCE);
        }
    }

    /// Pauses priorities (a bit mask) from `at` to `until`. `until` is `at` if they may go on.
    pub fn pause(&mut self, at: u64, priorities: u8, until: u64) {
        self.changes.push_back(Change { at, priorities, until });
    }

    /// Returns the time at which [`Line::complete`] is to be called next.
    pub fn next(&self) -> u64 {
        let change = self.changes.front().filter(|_| !self.frames.is_empty());
        change.map_or(NEVER, |change| change.at).min(self.tell)
    }

    /// Returns the heads of the frames that have left by `now`, if the driver is told of them now.
    pub fn complete(&mut self, now: u64) -> Vec<u16> {
        self.change(now);
        let mut heads = Vec::new();
        if self.tell > now && self.frames.front().is_none_or(|first| first.end > now) {
            return heads;
        }
        while let Some(first) = self.frames.front().filter(|first| first.end <= now) {
            self.told = first.end;
            heads.push(first.head);
            self.frames.pop_front();
        }
        self.tell = self.frames.front().map_or(NEVER, |first| first.end.max(now + 1) + COALESCE);
        heads
    }

    /// Applies the changes up to `now`. Frames that have not started leave at other times.
    fn change(&mut self, now: u64) {
        while let Some(&Change { at, priorities, until }) =
            self.changes.front().filter(|change| change.at <= now)
        {
            self.changes.pop_front();
            for priority in (0..8).filter(|priority| priorities >> priority & 1 != 0) {
                self.paused[priority] = until;
            }
            let mut free = self.told;
            for frame in &mut self.frames {
                if frame.start >= at {
                    let paused = self.paused[usize::from(frame.priority)];
                    frame.start = frame.taken.max(free).max(paused);
                    frame.end = frame.start + frame.duration;
                }
                free = frame.end;
            }
            if let Some(first) = self.frames.front() {
                let wait = if self.frames.len() < MANY { LAZY } else { COALESCE };
                self.tell = first.end + wait;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a line with `count` frames of 1 us each, taken at 0.
    fn busy(count: u16, priority: u8) -> Line {
        let mut line = Line::default();
        (0..count).for_each(|head| line.send(0, 1_000, priority, head));
        line
    }

    #[test]
    fn few_completions_wait_for_a_millisecond_and_many_do_not() {
        let mut line = busy(3, 0);
        assert_eq!(line.next(), 1_000 + LAZY);
        // A receive interrupt tells of those that have left.
        assert_eq!(line.complete(2_500), [0, 1]);
        assert_eq!(line.next(), 3_000 + COALESCE);
        assert_eq!(line.complete(3_000 + COALESCE), [2]);
        assert_eq!(line.next(), NEVER);
        assert_eq!(busy(17, 0).next(), 17_000 + COALESCE);
    }

    /// Priority 3 is paused from 2.5 us to 50 us, when three of 17 frames have started. A RESUME at
    /// 10 us lets the others go on.
    #[test]
    fn a_pause_holds_completions() {
        let mut line = busy(17, 3);
        line.pause(2_500, 1 << 3, 50_000);
        assert_eq!(line.next(), 2_500);
        assert_eq!(line.complete(2_500), [0, 1]);
        assert_eq!(line.complete(9_999), [2]);
        assert_eq!(line.next(), 51_000 + COALESCE);
        line.pause(10_000, 1 << 3, 10_000);
        assert_eq!(line.next(), 10_000);
        assert_eq!(line.complete(10_999), Vec::<u16>::new());
        assert_eq!(line.complete(11_000), [3]);
        assert_eq!(line.complete(24_000).len(), 13);
    }

    /// Without a RESUME the pause ends by itself. A frame of another priority waits behind those
    /// that are paused, and goes on if none is before it.
    #[test]
    fn a_pause_is_of_its_priority() {
        let mut line = busy(1, 0);
        line.pause(500, 1 << 3, 20_000);
        line.send(600, 1_000, 3, 1);
        line.send(600, 1_000, 0, 2);
        assert_eq!(line.complete(1_000), [0]);
        assert_eq!(line.complete(20_999), Vec::<u16>::new());
        assert_eq!(line.complete(22_000), [1, 2]);
        line.pause(30_000, 1 << 3, 90_000);
        line.send(31_000, 1_000, 0, 3);
        assert_eq!(line.complete(32_000), [3]);
    }
}
