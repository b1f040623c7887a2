//! Records the frames that a port sends, on request: the gaps between the frames of each flow, and
//! the flows that each frame waited behind.

use crate::spec::FlowId;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::collections::hash_map::Entry;

/// Records of one port.
#[derive(Default)]
pub struct Watch {
    pub gaps: Option<Gaps>,
    pub waits: Option<Waits>,
}

/// Gaps from the start of one transmission to the start of the next one, by flow and subflow.
#[derive(Default)]
pub struct Gaps {
    pub of: FxHashMap<(FlowId, u8), Gap>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    last: u64,
    pub frames: u64,
    pub bytes: u64,
    pub sum: u64,
    pub least: u64,
    pub most: u64,
    /// Sum of the squared gaps in ps².
    pub squares: u128,
}

impl Gaps {
    pub fn note(&mut self, whose: (FlowId, u8), start: u64, size: u16) {
        let gap = self.of.entry(whose).or_insert(Gap {
            last: u64::MAX,
            frames: 0,
            bytes: 0,
            sum: 0,
            least: u64::MAX,
            most: 0,
            squares: 0,
        });
        gap.frames += 1;
        gap.bytes += size as u64;
        if gap.last != u64::MAX {
            let length = start - gap.last;
            gap.sum += length;
            gap.least = gap.least.min(length);
            gap.most = gap.most.max(length);
            gap.squares += length as u128 * length as u128;
        }
        gap.last = start;
    }
}

/// A transmission that has started.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub start: u64,
    pub end: u64,
    pub flow: FlowId,
    /// Class of the flow.
    pub class: u16,
}

/// Reason for the wait of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Behind {
    /// No transmission: the port was paused, or held the frame back.
    Nobody,
    /// Earlier transmissions of the frame's own flow.
    Own,
    /// Transmissions of other flows of this class.
    Class(u16),
}

/// Waiting time at this port, by flow of the waiting frame and reason of the wait.
#[derive(Default)]
pub struct Waits {
    pub of: FxHashMap<(FlowId, Behind), Wait>,
    /// Transmissions in order, from the first one that a frame still in the queue has waited for:
    /// all of them, and those of each class and flow. With sums of their times, a wait behind
    /// thousands of frames takes no longer to account for than one behind a few.
    sent: VecDeque<Sent>,
    classes: Vec<Transmissions>,
    flows: FxHashMap<FlowId, Transmissions>,
    /// Length of `sent` at which transmissions are removed that no waiting frame has seen.
    room: usize,
}

/// Transmissions of a flow or a class, in order.
#[derive(Default)]
struct Transmissions {
    sent: VecDeque<Transmission>,
    /// Time of all, including those that were removed.
    total: u64,
}

struct Transmission {
    start: u64,
    end: u64,
    /// Time of all before this one.
    before: u64,
}

impl Transmissions {
    fn push(&mut self, start: u64, end: u64) {
        self.sent.push_back(Transmission { start, end, before: self.total });
        self.total += end - start;
    }

    /// Returns the time of transmissions between `ready` and `until`, before which all have started.
    fn between(&self, ready: u64, until: u64) -> u64 {
        if self.sent.back().is_none_or(|last| last.end <= ready) {
            return 0;
        }
        let first = self.sent.partition_point(|sent| sent.end <= ready);
        let seen = || self.sent.range(first..);
        let early = seen().take_while(|sent| sent.start < ready).map(|sent| ready - sent.start);
        let late = seen().rev().take_while(|sent| sent.end > until).map(|sent| sent.end - until);
        self.total - self.sent[first].before - early.sum::<u64>() - late.sum::<u64>()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wait {
    /// Number of frames with such a wait.
    pub frames: u64,
    pub time: u64,
}

impl Waits {
    const LEAST_CAPACITY: usize = 64;

    /// Records the start of `next`, which has been ready since `ready`. `oldest` returns the time
    /// since which the longest-waiting remaining frame has been ready.
    pub fn note(&mut self, next: Sent, ready: u64, oldest: impl Fn() -> Option<u64>) {
        if ready < next.start {
            self.account(&next, ready);
        }
        if self.sent.len() >= self.room.max(Self::LEAST_CAPACITY) {
            match oldest() {
                None => self.forget(self.sent.len()),
                Some(oldest) => self.forget(self.sent.partition_point(|sent| sent.end <= oldest)),
            }
            self.room = 2 * self.sent.len();
        }
        self.sent.push_back(next);
        let class = usize::from(next.class);
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Transmissions::default);
        }
        self.classes[class].push(next.start, next.end);
        self.flows.entry(next.flow).or_default().push(next.start, next.end);
    }

    /// Removes the first `count` transmissions.
    fn forget(&mut self, count: usize) {
        for sent in self.sent.drain(..count) {
            self.classes[usize::from(sent.class)].sent.pop_front();
            if let Entry::Occupied(mut flow) = self.flows.entry(sent.flow) {
                flow.get_mut().sent.pop_front();
                if flow.get().sent.is_empty() {
                    flow.remove();
                }
            }
        }
    }

    fn account(&mut self, next: &Sent, ready: u64) {
        let own = self.flows.get(&next.flow).map_or(0, |flow| flow.between(ready, next.start));
        let mut left = next.start - ready - own;
        let mut note = |behind, time| {
            if time > 0 {
                let wait = self.of.entry((next.flow, behind)).or_default();
                wait.frames += 1;
                wait.time += time;
            }
        };
        note(Behind::Own, own);
        for (class, sent) in (0..).zip(&self.classes) {
            let own = if class == next.class { own } else { 0 };
            let time = sent.between(ready, next.start) - own;
            left -= time;
            note(Behind::Class(class), time);
        }
        note(Behind::Nobody, left);
    }
}

/// Statistics of the round trips that a sender has measured, on segments that were sent once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrips {
    pub samples: u64,
    pub sum: u64,
    pub least: u64,
    pub most: u64,
}

impl Default for RoundTrips {
    fn default() -> Self {
        RoundTrips { samples: 0, sum: 0, least: u64::MAX, most: 0 }
    }
}

impl RoundTrips {
    pub fn note(&mut self, time: u64) {
        self.samples += 1;
        self.sum += time;
        self.least = self.least.min(time);
        self.most = self.most.max(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_charged_to_those_in_front() {
        let mut waits = Waits::default();
        let sent = |start, end, flow, class| Sent { start, end, flow, class };
        waits.note(sent(0, 100, 7, 1), 0, || None);
        waits.note(sent(100, 150, 8, 2), 20, || None);
        // The frame becomes ready during the first transmission. After the second one, the port is
        // paused for 10.
        waits.note(sent(160, 200, 7, 1), 50, || None);
        let of = |flow, behind| waits.of.get(&(flow, behind)).map(|wait| (wait.frames, wait.time));
        assert_eq!(of(8, Behind::Class(1)), Some((1, 80)));
        assert_eq!(
            (of(7, Behind::Own), of(7, Behind::Class(2)), of(7, Behind::Nobody)),
            (Some((1, 50)), Some((1, 50)), Some((1, 10)))
        );
    }

    /// Transmissions that a waiting frame has seen are kept, no matter how many there are.
    #[test]
    fn what_somebody_has_seen_is_kept() {
        let mut waits = Waits::default();
        for n in 0..1_000 {
            // A frame has waited since 300.
            waits.note(Sent { start: n, end: n + 1, flow: 1, class: 0 }, n, || {
                (n > 300).then_some(300)
            });
        }
        waits.note(Sent { start: 1_000, end: 1_001, flow: 2, class: 0 }, 300, || None);
        assert_eq!(waits.of[&(2, Behind::Class(0))].time, 700);
    }

    /// Compares the sums with those of a loop over all transmissions.
    #[test]
    fn sums_are_those_of_all_transmissions() {
        let mut waits = Waits::default();
        let mut all: Vec<Sent> = Vec::new();
        let mut wanted: FxHashMap<(FlowId, Behind), Wait> = FxHashMap::default();
        let (mut at, mut drawn) = (0, 1_u64);
        let mut draw = |below: u64| {
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (drawn >> 33) % below
        };
        for _ in 0..20_000 {
            at += if draw(10) == 0 { draw(50) } else { 0 };
            let flow = draw(7) as FlowId;
            let next = Sent { start: at, end: at + 1 + draw(9), flow, class: (flow % 3) as u16 };
            // A queue of up to 3,000, whose frames may overtake each other.
            let ready = at.saturating_sub(draw(3_000));
            let mut by: FxHashMap<Behind, u64> = FxHashMap::default();
            let mut left = at - ready;
            for sent in all.iter().filter(|sent| sent.end > ready) {
                let behind =
                    if sent.flow == flow { Behind::Own } else { Behind::Class(sent.class) };
                let time = sent.end.min(at) - sent.start.max(ready);
                left -= time;
                *by.entry(behind).or_default() += time;
            }
            by.extend((left > 0).then_some((Behind::Nobody, left)));
            for (behind, time) in by {
                let wait = wanted.entry((flow, behind)).or_default();
                wait.frames += 1;
                wait.time += time;
            }
            waits.note(next, ready, || Some(at.saturating_sub(3_000)));
            all.push(next);
            all.drain(..all.partition_point(|sent| sent.end + 4_000 < at));
            at = next.end;
        }
        assert!(waits.of.len() > 20);
        assert_eq!(waits.of, wanted);
        assert!(waits.sent.len() < 3_000);
    }

    #[test]
    fn gaps() {
        let mut gaps = Gaps::default();
        for start in [5, 15, 45] {
            gaps.note((3, 0), start, 100);
        }
        gaps.note((3, 1), 46, 100);
        let gap = gaps.of[&(3, 0)];
        assert_eq!(
            (gap.frames, gap.bytes, gap.sum, gap.least, gap.most, gap.squares),
            (3, 300, 40, 10, 30, 1_000)
        );
    }
}
