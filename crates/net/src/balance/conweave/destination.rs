//! State machine of a flow at its destination's ToR.

use super::{Begun, Cause, Kind, NEVER, Reply, Rules, Tag};
use std::cmp::Ordering;

/// State of a flow at its destination's ToR.
#[derive(Debug, Clone, Copy)]
pub struct Destination {
    /// Time in ps at which the last frame arrived.
    pub active: u64,
    /// Times in ps at which the last frame of phase 0 in this epoch left the source's ToR, and
    /// arrived here.
    old_sent: u64,
    old_came: u64,
    /// Time in ps at which the TAIL left the source's ToR, as far as it is known.
    tail_sent: u64,
    /// Time in ps at which waiting frames are released unless the TAIL arrives before; `NEVER` if
    /// none wait.
    flush_at: u64,
    /// Time in ps of the pending wake-up for this; 0 if there is none.
    pub armed: u64,
    /// Reorder queue of the flow.
    pub queue: u32,
    epoch: u32,
    /// True until the first frame: any epoch is new.
    fresh: bool,
    /// True in phase 1: the TAIL has arrived, or is no longer waited for.
    rerouted: bool,
    /// True if `old_sent` and `old_came` are valid.
    old_seen: bool,
    /// True if the TAIL has arrived and the queue is about to be released.
    tail_seen: bool,
    newest: Newest,
}

/// Newest epoch of which a frame has arrived, to count late frames by cause. The register of two
/// bits may be wrong about it.
#[derive(Debug, Clone, Copy)]
struct Newest {
    epoch: u32,
    /// Newest epoch that did not follow its predecessor on the same path, and the reason.
    moved: (u32, Begun),
    /// True if the TAIL of this epoch has arrived.
    tail: bool,
    /// Reason why rerouted frames of this epoch went on before its TAIL, if any did.
    ahead: Option<Cause>,
}

impl Newest {
    fn see(&mut self, tag: &Tag) {
        if tag.epoch > self.epoch {
            let moved =
                if tag.begun == Begun::Settled { self.moved } else { (tag.epoch, tag.begun) };
            *self = Newest { epoch: tag.epoch, moved, tail: false, ahead: None };
        }
        self.tail |= tag.kind == Kind::Tail && tag.epoch == self.epoch;
    }

    /// Accounts for a frame that goes on to the host. Returns the reason if it has been overtaken.
    /// `unless`: reason to record if the frame is rerouted and its TAIL has not arrived.
    fn pass(&mut self, epoch: u32, rerouted: bool, unless: Cause) -> Option<Cause> {
        if epoch < self.epoch {
            return Some(match self.moved {
                (moved, Begun::Inactivity) if epoch < moved => Cause::Inactivity,
                (moved, Begun::PathLost) if epoch < moved => Cause::PathLost,
                // Successive epochs on the same path arrive in order. Only rerouted frames overtake
                // others.
                _ => self.ahead.unwrap_or(Cause::OldEpoch),
            });
        }
        if rerouted && !self.tail {
            self.ahead.get_or_insert(unless);
        }
        if rerouted { None } else { self.ahead }
    }
}

/// Next step for a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// The frame goes on to the host. If it was overtaken, with the reason.
    Pass(Option<Cause>),
    /// The frame goes into a new reorder queue, which the caller has to find.
    Open,
    /// The frame goes into the flow's reorder queue.
    Hold,
    /// The frame goes on to the host although the TAIL has not arrived, because the TAIL's
    /// predicted time has passed.
    TooLate,
}

/// All effects of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrived {
    pub handling: Handling,
    /// RTT_REPLY or CLEAR to send.
    pub answer: Option<Reply>,
    /// True if the frame arrived marked: send a NOTIFY for its path.
    pub notify: bool,
    /// True if this is the awaited TAIL: release the waiting frames now.
    pub release: bool,
    /// True if the frame belongs to an epoch that is over.
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
            tail_seen: false,
            newest: Newest { epoch: 0, moved: (0, Begun::Settled), tail: false, ahead: None },
        }
    }

    pub fn is_reordering(&self) -> bool {
        self.flush_at != NEVER
    }

    /// Returns the time in ps at which the reorder queue has to be released; `NEVER` if no frame
    /// waits.
    pub fn flush_at(&self) -> u64 {
        self.flush_at
    }

    /// Handles a data frame. `marked`: it carries Congestion Experienced.
    #[inline]
    pub fn arrive(&mut self, now: u64, tag: &Tag, marked: bool, rules: &Rules) -> Arrived {
        self.active = now;
        self.newest.see(tag);
        let new = match rules.compare(tag.epoch, self.epoch) {
            _ if self.fresh => true,
            Ordering::Less => {
                let cause = self.newest.pass(tag.epoch, tag.rerouted, Cause::OldEpoch);
                return Arrived {
                    handling: Handling::Pass(cause),
                    answer: None,
                    notify: false,
                    release: false,
                    old: true,
                };
            }
            Ordering::Greater => true,
            Ordering::Equal => false,
        };
        let tail = tag.kind == Kind::Tail;
        if new {
            (self.fresh, self.epoch, self.rerouted, self.old_seen) =
                (false, tag.epoch, tail, false);
        } else if tail && !self.is_reordering() {
            self.rerouted = true;
        }
        if !tag.rerouted {
            (self.old_sent, self.old_came, self.old_seen) = (tag.sent, now, true);
        }
        if tail || tag.rerouted {
            self.tail_sent = tag.tail_sent;
        }
        // Time between the last frame seen on the old path and the TAIL, at their departure.
        let gap = if self.old_seen {
            self.tail_sent.saturating_sub(self.old_sent)
        } else {
            rules.default_wait
        };
        let mut release = false;
        let handling = if tag.rerouted && !self.rerouted {
            if self.is_reordering() {
                // The first waiting frame has set the release time.
                Handling::Hold
            } else {
                let from = if self.old_seen { self.old_came } else { now };
                let at = from + gap + rules.flush_extra;
                if at <= now {
                    self.rerouted = true;
                    self.newest.pass(tag.epoch, true, Cause::EarlyFlush);
                    Handling::TooLate
                } else {
                    self.flush_at = at;
                    Handling::Open
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
            Handling::Pass(self.newest.pass(tag.epoch, tag.rerouted, Cause::EarlyFlush))
        };
        let answer = match tag.kind {
            Kind::Request => Some(Reply::Rtt { epoch: tag.epoch & rules.epoch_mask }),
            Kind::Tail => Some(Reply::Clear { epoch: tag.epoch & rules.epoch_mask }),
            Kind::Data => None,
        };
        Arrived { handling, answer, notify: marked, release, old: false }
    }

    /// Lets a frame of `epoch` go on because no reorder queue is free, as if the TAIL had arrived
    /// (conweave-p4). Returns the reason if the frame has been overtaken.
    pub fn do_without_queue(&mut self, epoch: u32) -> Option<Cause> {
        self.flush_at = NEVER;
        self.rerouted = true;
        self.newest.pass(epoch, true, Cause::NoQueue)
    }

    /// Ends reordering because the queue is released. Returns true if the TAIL has arrived.
    pub fn release(&mut self) -> bool {
        self.flush_at = NEVER;
        self.rerouted = true;
        std::mem::take(&mut self.tail_seen)
    }

    /// Accounts for a waiting frame of `epoch` that goes on. Returns the reason if it has been
    /// overtaken.
    pub fn pass_held(&mut self, epoch: u32) -> Option<Cause> {
        // Other frames of its epoch may have gone on while the register was wrong about the epoch.
        let before = self.newest.ahead;
        self.newest.pass(epoch, true, Cause::EarlyFlush).or(before)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;

    const US: u64 = 1_000_000;

    fn rules() -> Rules {
        Rules::new(&config(false))
    }
    fn ns3() -> Rules {
        Rules::new(&config(true))
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
    const PASS: Handling = Handling::Pass(None);

    #[test]
    fn in_order_nothing_waits() {
        let mut flow = Destination::new();
        let first = arrive(&mut flow, 10 * US, request(1, 5 * US));
        assert_eq!(
            first,
            Arrived {
                handling: PASS,
                answer: Some(Reply::Rtt { epoch: 1 }),
                notify: false,
                release: false,
                old: false
            }
        );
        let tail = arrive(&mut flow, 20 * US, tail(1, 15 * US));
        assert_eq!(
            tail,
            Arrived {
                handling: PASS,
                answer: Some(Reply::Clear { epoch: 1 }),
                notify: false,
                release: false,
                old: false
            }
        );
        assert_eq!(arrive(&mut flow, 21 * US, rerouted(1, 16 * US, 15 * US)).handling, PASS);
        assert!(!flow.is_reordering());
    }

    #[test]
    fn what_overtakes_the_tail_waits_for_it() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        assert_eq!(
            arrive(&mut flow, 12 * US, rerouted(1, 8 * US, 7 * US)).handling,
            Handling::Open
        );
        assert_eq!(
            arrive(&mut flow, 13 * US, rerouted(1, 9 * US, 7 * US)).handling,
            Handling::Hold
        );
        // The TAIL is forwarded, then the queue is released at once.
        let tail = arrive(&mut flow, 14 * US, tail(1, 7 * US));
        assert_eq!(
            (tail.handling, tail.answer, tail.release),
            (PASS, Some(Reply::Clear { epoch: 1 }), true)
        );
        assert!(flow.release());
        assert_eq!(arrive(&mut flow, 15 * US, rerouted(1, 10 * US, 7 * US)).handling, PASS);
    }

    #[test]
    fn in_ns3_the_queue_goes_a_nanosecond_after_the_tail() {
        let mut flow = Destination::new();
        flow.arrive(10 * US, &request(1, 5 * US), false, &ns3());
        flow.arrive(12 * US, &rerouted(1, 8 * US, 7 * US), false, &ns3());
        let tail = flow.arrive(14 * US, &tail(1, 7 * US), false, &ns3());
        assert!(!tail.release);
        assert_eq!(flow.flush_at(), 14 * US + 1_000);
        assert_eq!(
            flow.arrive(14 * US + 500, &rerouted(1, 9 * US, 7 * US), false, &ns3()).handling,
            Handling::Hold,
            "still behind the others"
        );
        assert!(flow.release());
        assert_eq!(
            flow.arrive(14 * US + 1_500, &rerouted(1, 9 * US, 7 * US), false, &ns3()).handling,
            PASS
        );
    }

    #[test]
    fn the_tail_is_predicted_from_the_last_frame_of_the_old_path() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        arrive(&mut flow, 11 * US, old(1, 6 * US));
        // The old frame left at 6 us and arrived at 11 us. The TAIL left at 9 us: predicted for 14
        // us, plus the extra.
        arrive(&mut flow, 13 * US, rerouted(1, 10 * US, 9 * US));
        assert_eq!(flow.flush_at(), (14 + 16) * US);
        arrive(&mut flow, 14 * US, rerouted(1, 10 * US, 9 * US));
        assert_eq!(flow.flush_at(), (14 + 16) * US, "those that follow do not move it");
        // Another frame of the old path arrives at 20 us, 1 us before the TAIL.
        assert_eq!(arrive(&mut flow, 20 * US, old(1, 8 * US)).handling, PASS);
        assert_eq!(flow.flush_at(), (20 + 1 + 16) * US);
    }

    #[test]
    fn without_one_it_is_waited_for_by_default() {
        let mut flow = Destination::new();
        assert_eq!(
            arrive(&mut flow, 10 * US, rerouted(1, 8 * US, 7 * US)).handling,
            Handling::Open
        );
        assert_eq!(flow.flush_at(), (10 + 200 + 16) * US);
        // The first frame of the old path arrives after all, so the TAIL can be predicted.
        arrive(&mut flow, 30 * US, request(1, 2 * US));
        assert_eq!(flow.flush_at(), (30 + 5 + 16) * US);
    }

    #[test]
    fn a_frame_of_an_epoch_before_does_not_count_as_one() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        assert_eq!(
            arrive(&mut flow, 50 * US, rerouted(2, 40 * US, 39 * US)).handling,
            Handling::Open
        );
        assert_eq!(flow.flush_at(), (50 + 200 + 16) * US);
    }

    #[test]
    fn after_an_early_flush_what_was_overtaken_is_late() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        arrive(&mut flow, 12 * US, rerouted(1, 8 * US, 7 * US));
        assert!(!flow.release(), "no TAIL had come");
        assert_eq!(flow.pass_held(1), None);
        assert_eq!(
            arrive(&mut flow, 40 * US, old(1, 6 * US)).handling,
            Handling::Pass(Some(Cause::EarlyFlush))
        );
        assert_eq!(
            arrive(&mut flow, 41 * US, rerouted(1, 9 * US, 7 * US)).handling,
            PASS,
            "phase 1 goes on as it comes"
        );
        let tail = arrive(&mut flow, 42 * US, tail(1, 7 * US));
        assert_eq!(
            (tail.handling, tail.answer, tail.release),
            (Handling::Pass(Some(Cause::EarlyFlush)), Some(Reply::Clear { epoch: 1 }), false)
        );
        // In the next epoch, frames wait again.
        assert_eq!(arrive(&mut flow, 50 * US, request(2, 45 * US)).handling, PASS);
        assert_eq!(
            arrive(&mut flow, 51 * US, rerouted(2, 46 * US, 45 * US)).handling,
            Handling::Open
        );
    }

    #[test]
    fn if_the_tail_should_have_been_here_long_ago_nothing_waits() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        // The TAIL is predicted for 12 us, with the extra 28 us.
        assert_eq!(
            arrive(&mut flow, 28 * US, rerouted(1, 8 * US, 7 * US)).handling,
            Handling::TooLate
        );
        assert!(!flow.is_reordering());
        assert_eq!(
            arrive(&mut flow, 29 * US, old(1, 6 * US)).handling,
            Handling::Pass(Some(Cause::EarlyFlush))
        );
    }

    #[test]
    fn without_a_free_queue_the_epoch_goes_on_out_of_order() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        assert_eq!(
            arrive(&mut flow, 12 * US, rerouted(1, 8 * US, 7 * US)).handling,
            Handling::Open
        );
        assert_eq!(flow.do_without_queue(1), None);
        assert!(!flow.is_reordering());
        assert_eq!(
            arrive(&mut flow, 13 * US, rerouted(1, 9 * US, 7 * US)).handling,
            PASS,
            "a queue is not asked for again"
        );
        assert_eq!(
            arrive(&mut flow, 14 * US, old(1, 6 * US)).handling,
            Handling::Pass(Some(Cause::NoQueue))
        );
        assert_eq!(
            arrive(&mut flow, 15 * US, tail(1, 7 * US)).handling,
            Handling::Pass(Some(Cause::NoQueue))
        );
        assert_eq!(
            arrive(&mut flow, 30 * US, rerouted(2, 25 * US, 24 * US)).handling,
            Handling::Open,
            "the next epoch does"
        );
    }

    #[test]
    fn old_epochs_pass_unlooked_at() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        let inactive = Tag { begun: Begun::Inactivity, ..request(2, 400 * US) };
        arrive(&mut flow, 410 * US, inactive);
        let late = flow.arrive(420 * US, &tail(1, 6 * US), true, &rules());
        assert_eq!(
            late,
            Arrived {
                handling: Handling::Pass(Some(Cause::Inactivity)),
                answer: None,
                notify: false,
                release: false,
                old: true
            }
        );
        assert_eq!(
            arrive(&mut flow, 421 * US, rerouted(1, 7 * US, 6 * US)).handling,
            Handling::Pass(Some(Cause::Inactivity))
        );
        arrive(&mut flow, 430 * US, request(3, 425 * US));
        assert_eq!(
            arrive(&mut flow, 431 * US, old(2, 411 * US)).handling,
            Handling::Pass(Some(Cause::OldEpoch))
        );
        assert_eq!(
            arrive(&mut flow, 432 * US, old(1, 8 * US)).handling,
            Handling::Pass(Some(Cause::Inactivity)),
            "of two bits, it is taken for one to come"
        );
    }

    #[test]
    fn a_new_epoch_while_frames_wait() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, request(1, 5 * US));
        arrive(&mut flow, 12 * US, rerouted(1, 8 * US, 7 * US));
        // The flow was silent and took another path. Its new frames go on, and overtake the waiting
        // ones.
        let next = Tag { begun: Begun::Inactivity, ..request(2, 20 * US) };
        assert_eq!(arrive(&mut flow, 25 * US, next).handling, PASS);
        assert!(flow.is_reordering());
        // The release time is new: the known TAIL left before this frame, so only the extra is
        // added.
        assert_eq!(flow.flush_at(), (25 + 16) * US);
        // A TAIL of the new epoch also releases the queue.
        assert!(arrive(&mut flow, 30 * US, tail(2, 22 * US)).release);
        flow.release();
        assert_eq!(flow.pass_held(1), Some(Cause::Inactivity));
        assert_eq!(flow.pass_held(2), None);
    }

    #[test]
    fn the_tail_may_be_the_first_of_its_epoch() {
        let mut flow = Destination::new();
        arrive(&mut flow, 10 * US, tail(1, 5 * US));
        assert_eq!(arrive(&mut flow, 11 * US, rerouted(1, 6 * US, 5 * US)).handling, PASS);
    }

    #[test]
    fn marked_frames_are_notified_of() {
        let mut flow = Destination::new();
        assert!(flow.arrive(10 * US, &request(1, 5 * US), true, &rules()).notify);
        assert!(
            flow.arrive(10 * US, &rerouted(1, 5 * US, 4 * US), true, &rules()).notify,
            "those that wait too"
        );
        assert!(!flow.arrive(10 * US, &old(1, 5 * US), false, &rules()).notify);
    }

    #[test]
    fn any_epoch_is_new_to_a_flow_that_is_not_known() {
        for epoch in 1..6 {
            let mut flow = Destination::new();
            let first = arrive(&mut flow, 10 * US, request(epoch, 5 * US));
            assert_eq!(
                (first.handling, first.answer),
                (PASS, Some(Reply::Rtt { epoch: epoch & 3 }))
            );
        }
    }
}
