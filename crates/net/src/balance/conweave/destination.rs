//! A flow at its destination's ToR.

use super::{Begun, Cause, Kind, NEVER, Reply, Rules, Tag};
use std::cmp::Ordering;

/// What the destination's ToR knows of a flow.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// When its last frame came.
    pub active: u64,
    /// Of the last frame of phase 0 in this epoch: when it left the source's ToR, and when it came.
    old_sent: u64,
    old_came: u64,
    /// When the TAIL left the source's ToR, as far as is known.
    tail_sent: u64,
    /// When what waits is released, unless the TAIL comes before; `NEVER` if nothing waits.
    flush_at: u64,
    /// The event for it that is under way; 0 for none.
    pub armed: u64,
    /// Where it waits.
    pub queue: u32,
    epoch: u32,
    /// No frame has come yet: any epoch is a new one.
    fresh: bool,
    /// Phase 1: the TAIL has come, or is no longer waited for.
    rerouted: bool,
    /// `old_sent` and `old_came` hold.
    old_seen: bool,
    /// Frames of phase 1 have been let through although the TAIL had not come: the queue was flushed early, or there was none.
    early: bool,
    no_queue: bool,
    /// The TAIL has come, and the queue is about to be released.
    tail_seen: bool,
    begun: Begun,
}

/// What is to be done with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// On to the host; if it was overtaken, why.
    Pass(Option<Cause>),
    /// Into a new reorder queue, which must be found.
    Open,
    /// Into the flow's reorder queue.
    Hold,
    /// On to the host although the TAIL has not come, since its time is over already.
    TooLate,
}

/// All that a frame causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    pub way: Way,
    /// RTT_REPLY or CLEAR.
    pub answer: Option<Reply>,
    /// It came marked: a NOTIFY of its path.
    pub notify: bool,
    /// The TAIL that is waited for: release what waits, now.
    pub release: bool,
    /// It belongs to an epoch that is over.
    pub old: bool,
}

impl Destination {
    pub fn new() -> Self {
        Destination {
            active: 0,
            old_sent: 0,
            old_came: 0,
            tail_sent: 0,
            flush_at: NEVER,
            armed: 0,
            queue: 0,
            epoch: 0,
            fresh: true,
            rerouted: false,
            old_seen: false,
            early: false,
            no_queue: false,
            tail_seen: false,
            begun: Begun::Settled,
        }
    }

    pub fn is_reordering(&self) -> bool {
        self.flush_at != NEVER
    }

    /// When the reorder queue is to be looked at.
    pub fn flush_at(&self) -> u64 {
        self.flush_at
    }

    /// A data frame has come, marked or not.
    #[inline]
    pub fn arrive(&mut self, now: u64, tag: &Tag, marked: bool, rules: &Rules) -> Arrived {
        self.active = now;
        let new = match rules.compare(tag.epoch, self.epoch) {
            _ if self.fresh => true,
            Ordering::Less => return Arrived { way: Way::Pass(Some(self.cause_of_old())), answer: None, notify: false, release: false, old: true },
            Ordering::Greater => true,
            Ordering::Equal => false,
        };
        let tail = tag.kind == Kind::Tail;
        if new {
            (self.fresh, self.epoch, self.begun) = (false, tag.epoch, tag.begun);
            (self.rerouted, self.old_seen, self.early, self.no_queue) = (tail, false, false, false);
        } else if tail && !self.is_reordering() {
            self.rerouted = true;
        }
        if !tag.rerouted {
            (self.old_sent, self.old_came, self.old_seen) = (tag.sent, now, true);
        }
        if tail || tag.rerouted {
            self.tail_sent = tag.tail_sent;
        }
        // From the last frame seen on the old path to the TAIL, as they left.
        let gap = if self.old_seen { self.tail_sent.saturating_sub(self.old_sent) } else { rules.default_wait };
        let mut release = false;
        let way = if tag.rerouted && !self.rerouted {
            if self.is_reordering() {
                // The first one has set the time.
                Way::Hold
            } else {
                let from = if self.old_seen { self.old_came } else { now };
                let at = from + gap + rules.flush_extra;
                if at <= now {
                    (self.rerouted, self.early) = (true, true);
                    Way::TooLate
                } else {
                    self.flush_at = at;
                    Way::Open
                }
            }
        } else {
            if !tag.rerouted && self.is_reordering() {
                if tail {
                    self.tail_seen = true;
                    self.flush_at = now + rules.after_tail;
                    release = rules.after_tail == 0;
                } else if !self.tail_seen {
                    self.flush_at = now + gap + rules.flush_extra;
                }
            }
            let overtaken = !tag.rerouted && self.rerouted;
            Way::Pass(match () {
                () if overtaken && self.no_queue => Some(Cause::NoQueue),
                () if overtaken && self.early => Some(Cause::EarlyFlush),
                () => None,
            })
        };
        let answer = match tag.kind {
            Kind::Request => Some(Reply::Rtt { epoch: tag.epoch }),
            Kind::Tail => Some(Reply::Clear { epoch: tag.epoch }),
            Kind::Data => None,
        };
        Arrived { way, answer, notify: marked, release, old: false }
    }

    /// There was no reorder queue for the frame that asked for one: it goes on as if the TAIL had come (conweave-p4).
    pub fn do_without_queue(&mut self) {
        self.flush_at = NEVER;
        (self.rerouted, self.no_queue) = (true, true);
    }

    /// The queue has been released. Returns whether the TAIL had come.
    pub fn released(&mut self) -> bool {
        let by_tail = std::mem::take(&mut self.tail_seen);
        self.flush_at = NEVER;
        self.rerouted = true;
        self.early |= !by_tail;
        by_tail
    }

    /// Why a frame of `epoch` that is released now is late, if frames of a later epoch have gone before it.
    pub fn cause_of_held(&self, epoch: u32) -> Option<Cause> {
        (epoch != self.epoch).then(|| self.cause_of_old())
    }

    fn cause_of_old(&self) -> Cause {
        match self.begun {
            Begun::Settled => Cause::OldEpoch,
            Begun::Inactivity => Cause::Inactivity,
            Begun::PathLost => Cause::PathLost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;
    use crate::spec::ConweaveManner;

    const US: u64 = 1_000_000;

    fn rules() -> Rules {
        Rules::new(&config(ConweaveManner::Paper))
    }
    fn ns3() -> Rules {
        Rules::new(&config(ConweaveManner::Ns3))
    }

    fn old(epoch: u32, sent: u64) -> Tag {
        Tag { sent, epoch, ..Tag::default() }
    }
    fn request(epoch: u32, sent: u64) -> Tag {
        Tag { kind: Kind::Request, ..old(epoch, sent) }
    }
    fn tail(epoch: u32, sent: u64) -> Tag {
        Tag { kind: Kind::Tail, tail_sent: sent, ..old(epoch, sent) }
    }
    fn rerouted(epoch: u32, sent: u64, tail_sent: u64) -> Tag {
        Tag { rerouted: true, tail_sent, ..old(epoch, sent) }
    }
    fn arrive(flow: &mut Destination, at: u64, tag: Tag) -> Arrived {
        flow.arrive(at, &tag, false, &rules())
    }
    const PASS: Way = Way::Pass(None);

    #[test]
    fn in_order_nothing_waits() {
        let mut flow = Destination::new();
        let first = arrive(&mut flow, 10 * US, request(1, 5 * US));
        assert_eq!(first, Arrived { way: PASS, answer: Some(Reply::Rtt { epoch: 1 }), notify: false, release: false, old: false });
        let tail = arrive(&mut flow, 20 * US, tail(1, 15 * US));
        assert_eq!(tail, Arrived { way: PASS, answer: Some(Reply::Clear { epoch: 1 }), notify: false, release: false, old: false });
        assert_eq!(arrive(&mut flow, 21 * US, rerouted(1, 16 * US, 15 * US)).way, PASS);
        assert!(!flow.is_reordering());
    }

    #[test]
    fn what_overtakes_the_tail_waits_for_it() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        assert_eq!(arrive(&mut flow, 12 * US, rerouted(1, 8 * US, 7 * US)).way, Way::Open);
        assert_eq!(arrive(&mut flow, 13 * US, rerouted(1, 9 * US, 7 * US)).way, Way::Hold);
        // TAIL: forwarded, then the queue at once.
        let tail = arrive(&mut flow, 14 * US, tail(1, 7 * US));
        assert_eq!((tail.way, tail.answer, tail.release), (PASS, Some(Reply::Clear { epoch: 1 }), true));
        assert!(flow.released());
        assert_eq!(arrive(&mut flow, 15 * US, rerouted(1, 10 * US, 7 * US)).way, PASS);
    }

    #[test]
    fn in_ns3_the_queue_goes_a_nanosecond_after_the_tail() {
        let mut flow = Destination::new();
        flow.arrive(10 * US, &request(1, 5 * US), false, &ns3());
        flow.arrive(12 * US, &rerouted(1, 8 * US, 7 * US), false, &ns3());
        let tail = flow.arrive(14 * US, &tail(1, 7 * US), false, &ns3());
        assert!(!tail.release);
        assert_eq!(flow.flush_at(), 14 * US + 1_000);
        assert_eq!(flow.arrive(14 * US + 500, &rerouted(1, 9 * US, 7 * US), false, &ns3()).way, Way::Hold, "still behind the others");
        assert!(flow.released());
        assert_eq!(flow.arrive(14 * US + 1_500, &rerouted(1, 9 * US, 7 * US), false, &ns3()).way, PASS);
    }

    #[test]
    fn the_tail_is_predicted_from_the_last_frame_of_the_old_path() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        arrive(&mut flow, 11 * US, old(1, 6 * US));
        // It left at 6 us and came at 11 us; the TAIL left at 9 us: 14 us, and the extra.
        arrive(&mut flow, 13 * US, rerouted(1, 10 * US, 9 * US));
        assert_eq!(flow.flush_at(), (14 + 16) * US);
        arrive(&mut flow, 14 * US, rerouted(1, 10 * US, 9 * US));
        assert_eq!(flow.flush_at(), (14 + 16) * US, "those that follow do not move it");
        // One more of the old path: 20 us, and 1 us until the TAIL.
        assert_eq!(arrive(&mut flow, 20 * US, old(1, 8 * US)).way, PASS);
        assert_eq!(flow.flush_at(), (20 + 1 + 16) * US);
    }

    #[test]
    fn without_one_it_is_waited_for_by_default() {
        let mut flow = Destination::new();
        assert_eq!(arrive(&mut flow, 10 * US, rerouted(1, 8 * US, 7 * US)).way, Way::Open);
        assert_eq!(flow.flush_at(), (10 + 200 + 16) * US);
        // The first one after all: now there is something to predict from.
        arrive(&mut flow, 30 * US, request(1, 2 * US));
        assert_eq!(flow.flush_at(), (30 + 5 + 16) * US);
    }

    #[test]
    fn a_frame_of_an_epoch_before_does_not_count_as_one() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        assert_eq!(arrive(&mut flow, 50 * US, rerouted(2, 40 * US, 39 * US)).way, Way::Open);
        assert_eq!(flow.flush_at(), (50 + 200 + 16) * US);
    }

    #[test]
    fn after_an_early_flush_what_was_overtaken_is_late() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        arrive(&mut flow, 12 * US, rerouted(1, 8 * US, 7 * US));
        assert!(!flow.released(), "no TAIL had come");
        assert_eq!(arrive(&mut flow, 40 * US, old(1, 6 * US)).way, Way::Pass(Some(Cause::EarlyFlush)));
        assert_eq!(arrive(&mut flow, 41 * US, rerouted(1, 9 * US, 7 * US)).way, PASS, "phase 1 goes on as it comes");
        let tail = arrive(&mut flow, 42 * US, tail(1, 7 * US));
        assert_eq!((tail.way, tail.answer, tail.release), (Way::Pass(Some(Cause::EarlyFlush)), Some(Reply::Clear { epoch: 1 }), false));
        // The next epoch starts anew.
        assert_eq!(arrive(&mut flow, 50 * US, request(2, 45 * US)).way, PASS);
        assert_eq!(arrive(&mut flow, 51 * US, rerouted(2, 46 * US, 45 * US)).way, Way::Open);
    }

    #[test]
    fn if_the_tail_should_have_been_here_long_ago_nothing_waits() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        // Predicted for 12 us, with the extra 28 us.
        assert_eq!(arrive(&mut flow, 28 * US, rerouted(1, 8 * US, 7 * US)).way, Way::TooLate);
        assert!(!flow.is_reordering());
        assert_eq!(arrive(&mut flow, 29 * US, old(1, 6 * US)).way, Way::Pass(Some(Cause::EarlyFlush)));
    }

    #[test]
    fn without_a_free_queue_the_epoch_goes_on_out_of_order() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        assert_eq!(arrive(&mut flow, 12 * US, rerouted(1, 8 * US, 7 * US)).way, Way::Open);
        flow.do_without_queue();
        assert!(!flow.is_reordering());
        assert_eq!(arrive(&mut flow, 13 * US, rerouted(1, 9 * US, 7 * US)).way, PASS, "a queue is not asked for again");
        assert_eq!(arrive(&mut flow, 14 * US, old(1, 6 * US)).way, Way::Pass(Some(Cause::NoQueue)));
        assert_eq!(arrive(&mut flow, 15 * US, tail(1, 7 * US)).way, Way::Pass(Some(Cause::NoQueue)));
        assert_eq!(arrive(&mut flow, 30 * US, rerouted(2, 25 * US, 24 * US)).way, Way::Open, "the next epoch does");
    }

    #[test]
    fn old_epochs_pass_unlooked_at() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        let inactive = Tag { begun: Begun::Inactivity, ..request(2, 400 * US) };
        arrive(&mut flow, 410 * US, inactive);
        let late = flow.arrive(420 * US, &tail(1, 6 * US), true, &rules());
        assert_eq!(late, Arrived { way: Way::Pass(Some(Cause::Inactivity)), answer: None, notify: false, release: false, old: true });
        assert_eq!(arrive(&mut flow, 421 * US, rerouted(1, 7 * US, 6 * US)).way, Way::Pass(Some(Cause::Inactivity)));
        arrive(&mut flow, 430 * US, request(3, 425 * US));
        assert_eq!(arrive(&mut flow, 431 * US, old(2, 411 * US)).way, Way::Pass(Some(Cause::OldEpoch)));
    }

    #[test]
    fn a_new_epoch_while_frames_wait() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        arrive(&mut flow, 12 * US, rerouted(1, 8 * US, 7 * US));
        // The flow was silent and took another path; its frames go on, those that wait have been overtaken.
        let next = Tag { begun: Begun::Inactivity, ..request(2, 20 * US) };
        assert_eq!(arrive(&mut flow, 25 * US, next).way, PASS);
        assert!(flow.is_reordering());
        // It was armed anew: the TAIL that it knows of left before this frame, so there is nothing to add to the extra.
        assert_eq!(flow.flush_at(), (25 + 16) * US);
        assert_eq!(flow.cause_of_held(1), Some(Cause::Inactivity));
        assert_eq!(flow.cause_of_held(2), None);
        // A TAIL of the new epoch releases as well.
        assert!(arrive(&mut flow, 30 * US, tail(2, 22 * US)).release);
    }

    #[test]
    fn the_tail_may_be_the_first_of_its_epoch() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, tail(1, 5 * US));
        assert_eq!(arrive(&mut flow, 11 * US, rerouted(1, 6 * US, 5 * US)).way, PASS);
    }

    #[test]
    fn marked_frames_are_notified_of() {
        let mut flow = Destination::new();
        assert!(flow.arrive(10 * US, &request(1, 5 * US), true, &rules()).notify);
        assert!(flow.arrive(10 * US, &rerouted(1, 5 * US, 4 * US), true, &rules()).notify, "those that wait too");
        assert!(!flow.arrive(10 * US, &old(1, 5 * US), false, &rules()).notify);
    }

    #[test]
    fn any_epoch_is_new_to_a_flow_that_is_not_known() {
        for epoch in 0..4 {
            let mut flow = Destination::new();
            let first = arrive(&mut flow, 10 * US, request(epoch, 5 * US));
            assert_eq!((first.way, first.answer), (PASS, Some(Reply::Rtt { epoch })));
        }
    }
}
