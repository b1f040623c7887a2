//! Explains the completion time of a flow by splitting it into causes.
//!
//! The sender keeps a clock, `paced`: the time at which an unlimited sender could send its next
//! frame if frames followed each other at the pace of the path's slowest link. A frame that is sent
//! later has waited, and the wait is charged to the cause that ended it.
//!
//! A wait that was ended by an acknowledgement is an additional round trip. The time by which this
//! round trip exceeded the idle one is queueing. The rest is charged to the window. The part of the
//! queueing for which the frames of that round trip were paused is charged to pauses.
//!
//! The clock then moves to the time of sending, and further by the time of the frame on the slowest
//! link. The frames of retransmissions count as recovery, since the ideal has none.
//!
//! The completion time minus the ideal and minus all these waits is the time that the last frame
//! and its acknowledgement waited in queues. All times are whole picoseconds, and the parts add up
//! exactly.

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
    /// Time in ps charged to the label (`amount`), to queueing, and to pauses.
    amount: u64,
    queueing: u64,
    paused: u64,
    /// Part of `queueing` in the sender's own host.
    host: u64,
}

impl Wait {
    fn length(&self) -> u64 {
        self.amount + self.queueing + self.paused
    }

    /// Returns the part of the wait after `start`. The wait consists of the label's time, then
    /// queueing, then pauses.
    fn since(self, start: u64) -> Wait {
        let mut before = self.length().saturating_sub(self.at - start);
        let mut cut = |part: u64| {
            let left = part.saturating_sub(before);
            before -= part - left;
            left
        };
        let (amount, queueing, paused) = (cut(self.amount), cut(self.queueing), cut(self.paused));
        Wait { amount, queueing, paused, host: self.host.min(queueing), ..self }
    }
}

/// Waits of a flow so far. Waits since the oldest outstanding frame was sent are kept individually,
/// because the flow may turn out to have ended with a frame that was sent before some of them.
#[derive(Debug, Clone)]
pub struct Attribution {
    paced: u64,
    split: Split,
    recent: VecDeque<Wait>,
    last: Label,
    /// Time in ps for which the frames of the latest round trip were paused.
    stood: u64,
    /// Time in ps that the data frame of the latest round trip waited in the sender's own host.
    at_host: u64,
    /// Number of the latest waits that are still open: only frames of later flows of the connection
    /// were sent meanwhile. The cause that ends the wait also labels these waits.
    open: usize,
}

const KEPT: usize = 32;

impl Attribution {
    pub fn new(start: u64) -> Self {
        Attribution {
            paced: start,
            split: Split::default(),
            recent: VecDeque::new(),
            last: Label::Window,
            stood: 0,
            at_host: 0,
            open: 0,
        }
    }

    /// Returns the account of a flow that started at `start` behind other flows of its connection.
    /// `self` is the account of the connection. The connection's waits since `start` are also waits
    /// of this flow. The rest of the time until the flow's first frame was spent on frames of the
    /// other flows, which the application had handed over before. `first` is the connection's clock
    /// at the flow's first frame, if that frame has been sent.
    pub fn handed_over(&self, start: u64, first: Option<u64>) -> Self {
        let until = first.unwrap_or(self.paced).max(start);
        let since: Vec<Wait> = self
            .recent
            .iter()
            .filter(|wait| wait.at > start)
            .map(|wait| wait.since(start))
            .collect();
        let waited: u64 = since.iter().filter(|wait| wait.at <= until).map(Wait::length).sum();
        let mut own = Attribution::new(start);
        let others = (until - start).saturating_sub(waited);
        if others > 0 {
            own.charge(Wait {
                at: start,
                label: Label::Application,
                amount: others,
                queueing: 0,
                paused: 0,
                host: 0,
            });
        }
        since.into_iter().for_each(|wait| own.charge(wait));
        own.paced = self.paced.max(start);
        own
    }

    /// Records the time for which the latest acknowledgement, and the frame that caused it, were
    /// paused.
    #[inline(always)]
    pub fn stood(&mut self, paused: u64) {
        self.stood = paused;
    }

    /// Records the time that the data frame of the latest acknowledgement waited in its own host.
    #[inline(always)]
    pub fn waited_at_host(&mut self, time: u64) {
        self.at_host = time;
    }

    /// Charges a wait until `until` like [`Self::on_sent`], but without sending a frame.
    pub fn waited(&mut self, until: u64, label: Label, excess: u64) {
        if until > self.paced {
            self.on_sent(until, label, excess, 0, false);
        }
    }

    /// Charges a wait of the sender for its NIC, which was busy with other flows, or paused for up
    /// to `paused`.
    pub fn held(&mut self, now: u64, paused: u64) {
        if now > self.paced {
            let wait = now - self.paced;
            let paused = paused.min(wait);
            self.charge(Wait {
                at: now,
                label: Label::Pacing,
                amount: 0,
                queueing: wait - paused,
                paused,
                host: wait - paused,
            });
            self.paced = now;
        }
    }

    /// Records a frame of a later flow on the connection, which is sent because that flow starts.
    /// It is like [`Self::on_sent`], but the wait of this flow stays open.
    pub fn passed(&mut self, now: u64, time: u64) -> u64 {
        let (open, waits) = (std::mem::take(&mut self.open), now > self.paced);
        let at = self.on_sent(now, Label::Application, 0, time, false);
        self.open = (open + waits as usize).min(self.recent.len());
        at
    }

    /// Closes the open waits, and charges them to `label`.
    #[cold]
    fn relabel(&mut self, label: Label) {
        let first = self.recent.len() - std::mem::take(&mut self.open);
        for place in first..self.recent.len() {
            let wait = self.recent[place];
            *self.entry(wait.label) -= wait.amount;
            *self.entry(label) += wait.amount;
            self.recent[place].label = label;
        }
    }

    /// Records a frame that takes `time` on the slowest link and is sent at `now`. A wait before it
    /// was ended by `label`, after a round trip that was `excess` longer than idle. Returns the
    /// flow's clock at the frame.
    #[inline]
    pub fn on_sent(&mut self, now: u64, label: Label, excess: u64, time: u64, extra: bool) -> u64 {
        if now > self.paced {
            let wait = now - self.paced;
            let queueing = wait.min(excess);
            let paused = queueing.min(self.stood);
            let host = self.at_host.min(queueing - paused);
            self.charge(Wait {
                at: now,
                label,
                amount: wait - queueing,
                queueing: queueing - paused,
                paused,
                host,
            });
            self.paced = now;
        }
        let at = self.paced;
        if extra {
            self.charge(Wait {
                at: now,
                label: Label::Recovery,
                amount: time,
                queueing: 0,
                paused: 0,
                host: 0,
            });
        }
        self.paced += time;
        at
    }

    #[inline]
    fn charge(&mut self, wait: Wait) {
        if self.open > 0 {
            self.relabel(wait.label);
        }
        *self.entry(wait.label) += wait.amount;
        self.split.queueing += wait.queueing;
        self.split.paused += wait.paused;
        self.split.host += wait.host;
        self.last = wait.label;
        if self.recent.len() == self.recent.capacity() {
            self.evict();
        }
        self.recent.push_back(wait);
    }

    #[cold]
    fn evict(&mut self) {
        // The list grows up to a bound that a flow's outstanding waits never exceed in practice.
        // Beyond the bound, the oldest waits are final.
        if self.recent.capacity() < KEPT {
            self.recent.reserve_exact((2 * self.recent.capacity()).max(8))
        } else {
            self.recent.drain(..KEPT / 2).for_each(drop);
            self.open = self.open.min(self.recent.len());
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

    /// Removes all waits after `sent`, the time at which the frame was sent with which the flow
    /// ended.
    pub fn end_at(&mut self, sent: u64) {
        self.open = 0;
        while let Some(wait) = self.recent.pop_back() {
            if wait.at <= sent {
                self.last = wait.label;
                self.recent.push_back(wait);
                break;
            }
            *self.entry(wait.label) -= wait.amount;
            self.split.queueing -= wait.queueing;
            self.split.paused -= wait.paused;
            self.split.host -= wait.host;
        }
    }

    /// Frees the list of recent waits, once the frame with which the flow ended is known.
    pub fn forget_candidates(&mut self) {
        self.recent = VecDeque::new();
    }

    /// Returns the split of `beyond`, the time beyond the ideal.
    pub fn close(mut self, beyond: u64) -> Split {
        let s = self.split;
        let charged = s.recovery + s.pacing + s.window + s.application + s.queueing + s.paused;
        if beyond >= charged {
            // The rest is the wait of the last frame.
            let paused = (beyond - charged).min(self.stood);
            self.split.paused += paused;
            self.split.queueing += beyond - charged - paused;
            self.split.host += self.at_host.min(beyond - charged - paused);
        } else {
            // The ideal itself includes some waits (for example of a short last frame behind a long
            // one). They are subtracted from the labels, the latest label first.
            let mut over = charged - beyond;
            let last = self.last;
            for label in [last, Label::Application, Label::Window, Label::Pacing, Label::Recovery] {
                let entry = self.entry(label);
                let cut = over.min(*entry);
                *entry -= cut;
                over -= cut;
            }
            let cut = over.min(self.split.queueing);
            self.split.queueing -= cut;
            self.split.paused -= over - cut;
        }
        self.split.host = self.split.host.min(self.split.queueing);
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
        // The clock shows 20. The frame is sent at 50, after a round trip that was 12 longer than
        // idle.
        assert_eq!(why.on_sent(50, Label::Window, 12, 10, false), 50);
        let split = why.clone().close(40);
        assert_eq!((split.window, split.queueing), (18, 22));
        // The time is shorter than all waits together, so the wait for the window was partly
        // hidden.
        let split = why.close(20);
        assert_eq!((split.window, split.queueing), (8, 12));
    }

    #[test]
    fn queueing_is_pause_as_far_as_the_frames_stood_paused() {
        let mut why = Attribution::new(0);
        why.on_sent(0, Label::Application, 0, 20, false);
        why.stood(7);
        why.on_sent(50, Label::Window, 12, 10, false);
        why.stood(4);
        // The wait of 30 includes 12 in queues, of which 7 were paused. The last frame waited 10
        // more, of which 4 were paused.
        let split = why.close(40);
        assert_eq!((split.window, split.queueing, split.paused), (18, 11, 11));
    }

    /// Queueing of the data frame in its own host is reported separately. If the NIC was busy with
    /// other flows, it is the whole wait.
    #[test]
    fn queueing_in_the_own_host_is_told_apart() {
        let mut why = Attribution::new(0);
        why.on_sent(0, Label::Application, 0, 20, false);
        why.waited_at_host(5);
        why.on_sent(50, Label::Window, 12, 10, false);
        why.held(70, 0);
        why.waited_at_host(100);
        let split = why.clone().close(60);
        // The wait until 50 has 12 of queueing, of which 5 in the host. Then 10 for other flows,
        // and 20 of the last frame.
        assert_eq!((split.queueing, split.host), (12 + 10 + 20, 5 + 10 + 20));
        why.end_at(50);
        let split = why.close(30);
        assert_eq!((split.queueing, split.host), (12, 5));
    }

    /// A flow starts at 25 behind another flow on its connection, whose frame is lost. The time-out
    /// at 50 retransmits that frame, and the flow's own frame follows.
    #[test]
    fn a_flow_behind_others_waits_for_their_losses_too() {
        let mut why = Attribution::new(0);
        why.on_sent(0, Label::Application, 0, 10, false);
        // The wait from 10 to 50 began before the flow. The retransmission takes 10 more.
        why.on_sent(50, Label::Recovery, 0, 10, true);
        let own_frame = why.on_sent(60, Label::Recovery, 0, 10, false);
        let split = why.handed_over(25, Some(own_frame)).close(100);
        assert_eq!((split.recovery, split.application, split.queueing), (25 + 10, 0, 65));
        // Another flow starts at 55, while the retransmission is being sent. It waits for the other
        // frames, too.
        let behind = why.on_sent(70, Label::Recovery, 0, 10, false);
        let split = why.handed_over(55, Some(behind)).close(100);
        assert_eq!((split.recovery, split.application, split.queueing), (0, 15, 85));
        // This flow has not sent a frame yet. Its wait continues from the connection's clock.
        let mut own = why.handed_over(65, None);
        own.on_sent(100, Label::Window, 0, 10, false);
        let split = own.close(60);
        assert_eq!((split.application, split.window, split.queueing), (15, 20, 25));
    }

    #[test]
    fn a_wait_goes_on_while_frames_of_later_flows_pass() {
        let mut why = Attribution::new(0);
        why.on_sent(0, Label::Application, 0, 10, false);
        assert_eq!((why.passed(30, 10), why.passed(45, 10)), (30, 45));
        why.on_sent(100, Label::Recovery, 0, 10, true);
        let split = why.close(100);
        assert_eq!((split.recovery, split.application), (20 + 5 + 45 + 10, 0));
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
