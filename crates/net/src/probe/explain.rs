//! Where a flow's time goes.
//!
//! The sender keeps a clock of its own, `paced`: when an unlimited sender whose frames follow each other at the pace of the
//! path's slowest link could send the next frame. A frame sent later than that has waited; the wait is charged to what
//! ended it. A wait ended by an acknowledgement is a further round trip: as much of it as that round trip exceeded the
//! idle one is queueing, the rest is the window's. The clock then moves to the moment of sending and on by the frame's time on the
//! slowest link; frames of retransmissions count as recovery, since the ideal has none.
//!
//! What the completion time exceeds the ideal by, less all these waits, is what the last frame and its acknowledgement
//! waited in queues. Everything is in whole picoseconds and adds up.

use crate::record::Split;
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Recovery,
    Pacing,
    Window,
    Application,
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    at: u64,
    label: Label,
    /// Charged to the label, and to queueing.
    amount: u64,
    queueing: u64,
}

/// Waits so far. Those since the oldest outstanding frame was sent are kept one by one: the flow may turn out to have ended with
/// a frame that was sent before some of them.
#[derive(Debug, Clone)]
pub struct Attribution {
    paced: u64,
    split: Split,
    recent: VecDeque<Wait>,
    last: Label,
}

const KEPT: usize = 32;

impl Attribution {
    pub fn new(start: u64) -> Self {
        Attribution { paced: start, split: Split::default(), recent: VecDeque::new(), last: Label::Window }
    }

    /// For a flow that started at `start` on a connection which was busy with others until `now`.
    pub fn behind_others(start: u64, now: u64) -> Self {
        let mut why = Attribution::new(start);
        why.on_sent(now, Label::Application, 0, 0, false);
        why
    }

    /// A frame that takes `time` on the slowest link is sent at `now`; a wait before it was ended by `label`, by a round trip
    /// that was `excess` longer than idle. Returns the flow's clock at the frame.
    #[inline]
    pub fn on_sent(&mut self, now: u64, label: Label, excess: u64, time: u64, extra: bool) -> u64 {
        if now > self.paced {
            let wait = now - self.paced;
            let queueing = wait.min(excess);
            self.charge(Wait { at: now, label, amount: wait - queueing, queueing });
            self.paced = now;
        }
        let at = self.paced;
        if extra {
            self.charge(Wait { at: now, label: Label::Recovery, amount: time, queueing: 0 });
        }
        self.paced += time;
        at
    }

    #[inline]
    fn charge(&mut self, wait: Wait) {
        *self.entry(wait.label) += wait.amount;
        self.split.queueing += wait.queueing;
        self.last = wait.label;
        if self.recent.len() == self.recent.capacity() {
            self.make_room();
        }
        self.recent.push_back(wait);
    }

    #[cold]
    fn make_room(&mut self) {
        // Grows up to a bound that no flow's outstanding waits exceed in practice; beyond it the oldest are final.
        if self.recent.capacity() < KEPT {
            self.recent.reserve_exact((2 * self.recent.capacity()).max(8))
        } else {
            self.recent.drain(..KEPT / 2).for_each(drop)
        }
    }

    fn entry(&mut self, label: Label) -> &mut u64 {
        match label {
            Label::Recovery => &mut self.split.recovery,
            Label::Pacing => &mut self.split.pacing,
            Label::Window => &mut self.split.window,
            Label::Application => &mut self.split.application,
        }
    }

    /// The flow ended with the frame sent at `sent`: what was waited for after that did not matter.
    pub fn end_at(&mut self, sent: u64) {
        while let Some(wait) = self.recent.pop_back() {
            if wait.at <= sent {
                self.last = wait.label;
                self.recent.push_back(wait);
                break;
            }
            *self.entry(wait.label) -= wait.amount;
            self.split.queueing -= wait.queueing;
        }
    }

    /// The split of `beyond`, the time beyond the ideal.
    pub fn close(mut self, beyond: u64) -> Split {
        let s = self.split;
        let charged = s.recovery + s.pacing + s.window + s.application + s.queueing;
        if beyond >= charged {
            self.split.queueing += beyond - charged;
        } else {
            // Waits that the ideal itself would have had to make (a short last frame behind a long one): the latest first.
            let mut over = charged - beyond;
            let last = self.last;
            for label in [last, Label::Application, Label::Window, Label::Pacing, Label::Recovery] {
                let entry = self.entry(label);
                let cut = over.min(*entry);
                *entry -= cut;
                over -= cut;
            }
            self.split.queueing -= over;
        }
        self.split
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_queueing_as_far_as_the_round_trip_was_longer_than_idle() {
        let mut why = Attribution::new(0);
        assert_eq!(why.on_sent(0, Label::Application, 0, 10, false), 0);
        assert_eq!(why.on_sent(0, Label::Application, 0, 10, false), 10);
        // The clock stands at 20; released at 50 by a round trip 12 longer than idle.
        assert_eq!(why.on_sent(50, Label::Window, 12, 10, false), 50);
        let split = why.clone().close(40);
        assert_eq!((split.window, split.queueing), (18, 22));
        // Too little time for all of that: the window's wait was partly hidden.
        let split = why.close(20);
        assert_eq!((split.window, split.queueing), (8, 12));
    }

    #[test]
    fn waits_after_the_deciding_frame_do_not_count() {
        let mut why = Attribution::new(0);
        why.on_sent(0, Label::Application, 0, 10, false);
        why.on_sent(30, Label::Window, 0, 10, false);
        why.on_sent(100, Label::Recovery, 0, 10, true);
        why.end_at(30);
        let split = why.close(25);
        assert_eq!((split.window, split.recovery, split.queueing), (20, 0, 5));
    }
}
