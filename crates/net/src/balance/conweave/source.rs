//! State machine of a flow at its source's ToR.

use super::paths::Draw;
use super::{Begun, Kind, NEVER, Rules, Tag};

/// State of a flow at its source's ToR.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// Time in ps at which the last frame arrived.
    pub active: u64,
    /// Time in ps from which the pending reply is late; `NEVER` if none is pending.
    reply_by: u64,
    /// Time in ps at which the TAIL of this epoch left; 0 before it.
    tail_sent: u64,
    epoch: u32,
    path: Option<u32>,
    /// True in phase 1: the TAIL has left.
    rerouted: bool,
    /// True if a reply or a CLEAR has arrived, so the next frame begins an epoch.
    stable: bool,
    begun: Begun,
}

/// Tag and path of a departing frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub tag: Tag,
    pub path: u32,
    /// True if the flow changes its path: with this frame, or with the next one if this is a TAIL.
    pub rerouted: bool,
}

/// Effect of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyOutcome {
    InTime,
    /// The reply arrived after the deadline and was ignored.
    Late,
    /// The reply was for another epoch, or was not expected. It was ignored.
    Stale,
}

impl Source {
    pub fn new() -> Self {
        Source {
            active: 0,
            reply_by: NEVER,
            tail_sent: 0,
            epoch: 0,
            path: None,
            rerouted: false,
            stable: false,
            begun: Begun::Inactivity,
        }
    }

    /// Returns the flow's path, if it has one.
    pub fn path(&self) -> Option<u32> {
        self.path
    }

    /// True if a path will be drawn for the next frame at `now`.
    #[inline]
    pub fn draws(&self, now: u64, lost: bool, rules: &Rules) -> bool {
        self.has_expired(now, lost, rules) || !self.stable && self.reply_by < now
    }

    #[inline]
    fn has_expired(&self, now: u64, lost: bool, rules: &Rules) -> bool {
        self.path.is_none() || lost || self.active + rules.inactive < now
    }

    /// Sends a data frame. `lost`: the flow's path no longer exists. `draw` is called if a path has
    /// to be chosen. `round_trip` returns a path's propagation delay in both directions.
    #[inline]
    pub fn send(
        &mut self,
        now: u64,
        lost: bool,
        rules: &Rules,
        draw: impl FnOnce() -> Draw,
        round_trip: impl FnOnce(u32) -> u64,
    ) -> Sent {
        let expired = self.has_expired(now, lost, rules);
        let stable = std::mem::take(&mut self.stable) && !expired;
        self.active = now;
        let before = self.path;
        let mut kind = Kind::Data;
        let mut path = self.path.unwrap_or(0);
        let mut phase = self.rerouted;
        if expired || stable {
            self.epoch = self.epoch.wrapping_add(1);
            (self.rerouted, phase, self.tail_sent, kind) = (false, false, 0, Kind::Request);
            self.begun = if stable {
                Begun::Settled
            } else if lost {
                Begun::PathLost
            } else {
                Begun::Inactivity
            };
            if expired {
                let draw = draw();
                match draw.good {
                    Some(good) => path = good,
                    // A busy path is better than none.
                    None if before.is_none() || lost => path = draw.first,
                    None => {}
                }
                self.path = Some(path);
            }
            self.reply_by = now + round_trip(path) + rules.reply_extra;
        } else if self.reply_by < now {
            // This frame is the last on the old path. Whether or not there is a better path, a
            // CLEAR has to arrive before the next epoch.
            kind = Kind::Tail;
            (self.reply_by, self.rerouted, self.tail_sent) = (NEVER, true, now);
            if let Some(good) = draw().good {
                self.path = Some(good);
            }
        }
        let tag = Tag {
            path,
            sent: now,
            tail_sent: self.tail_sent,
            epoch: self.epoch,
            kind,
            rerouted: phase,
            begun: self.begun,
        };
        Sent { tag, path, rerouted: before.is_some() && before != self.path }
    }

    /// Handles an RTT_REPLY.
    pub fn on_reply(&mut self, now: u64, epoch: u32, rules: &Rules) -> ReplyOutcome {
        if epoch != self.epoch & rules.epoch_mask {
            return ReplyOutcome::Stale;
        }
        if self.rerouted || self.reply_by <= now {
            return ReplyOutcome::Late;
        }
        if self.reply_by == NEVER {
            // The reply for this epoch has arrived before.
            return ReplyOutcome::Stale;
        }
        (self.stable, self.reply_by) = (true, NEVER);
        ReplyOutcome::InTime
    }

    /// Handles a CLEAR.
    pub fn on_clear(&mut self, epoch: u32, rules: &Rules) -> ReplyOutcome {
        if epoch != self.epoch & rules.epoch_mask || !self.rerouted {
            return ReplyOutcome::Stale;
        }
        (self.stable, self.reply_by) = (true, NEVER);
        ReplyOutcome::InTime
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::*;

    const US: u64 = 1_000_000;
    /// Propagation delay over four links of 1 us.
    const ROUND_TRIP: u64 = 4 * US;

    fn rules() -> Rules {
        Rules::new(&config(false))
    }

    fn good(path: u32) -> impl FnOnce() -> Draw {
        move || Draw { good: Some(path), first: path }
    }
    fn none(first: u32) -> impl FnOnce() -> Draw {
        move || Draw { good: None, first }
    }
    fn no_draw() -> Draw {
        panic!("no path is to be drawn")
    }
    fn send(source: &mut Source, at: u64, draw: impl FnOnce() -> Draw) -> Sent {
        source.send(at, false, &rules(), draw, |_| ROUND_TRIP)
    }

    #[test]
    fn the_first_frame_asks_for_a_reply() {
        let mut source = Source::new();
        let first = send(&mut source, 10 * US, good(3));
        assert_eq!(first.path, 3);
        assert!(!first.rerouted, "a new flow is not rerouted");
        assert_eq!(
            first.tag,
            Tag {
                path: 3,
                sent: 10 * US,
                tail_sent: 0,
                epoch: 1,
                kind: Kind::Request,
                rerouted: false,
                begun: Begun::Inactivity
            }
        );
        let next = send(&mut source, 11 * US, no_draw);
        assert_eq!(
            (next.path, next.tag.kind, next.tag.epoch, next.tag.rerouted),
            (3, Kind::Data, 1, false)
        );
    }

    #[test]
    fn a_new_flow_takes_a_busy_path_if_there_is_no_other() {
        let mut source = Source::new();
        assert_eq!(send(&mut source, 0, none(5)).path, 5);
    }

    #[test]
    fn a_reply_in_time_begins_a_new_epoch_on_the_same_path() {
        let mut source = Source::new();
        send(&mut source, 0, good(3));
        assert_eq!(source.on_reply(8 * US - 1, 1, &rules()), ReplyOutcome::InTime);
        // The silence is shorter than theta_inactive, and the reply deadline no longer applies.
        let next = send(&mut source, 100 * US, no_draw);
        assert_eq!(
            (next.path, next.tag.kind, next.tag.epoch, next.tag.begun),
            (3, Kind::Request, 2, Begun::Settled)
        );
        // The next reply has a new deadline.
        assert_eq!(send(&mut source, 108 * US, no_draw).tag.kind, Kind::Data);
        assert_eq!(send(&mut source, 108 * US + 1, good(1)).tag.kind, Kind::Tail);
    }

    #[test]
    fn a_late_reply_is_ignored() {
        // theta_reply is the base round trip and 4 us, in total 8 us. A reply is in time if `now <
        // reply_timer`.
        let mut source = Source::new();
        send(&mut source, 0, good(3));
        assert_eq!(source.on_reply(8 * US, 1, &rules()), ReplyOutcome::Late);
        let tail = send(&mut source, 9 * US, good(4));
        assert_eq!(tail.tag.kind, Kind::Tail);
        assert_eq!(
            source.on_reply(9 * US, 1, &rules()),
            ReplyOutcome::Late,
            "the phase has changed"
        );
        assert_eq!(source.on_reply(9 * US, 2, &rules()), ReplyOutcome::Stale);
    }

    #[test]
    fn a_tail_is_the_last_on_the_old_path() {
        let mut source = Source::new();
        send(&mut source, 0, good(3));
        let still = send(&mut source, 8 * US, no_draw);
        assert_eq!(still.tag.kind, Kind::Data, "`reply_timer < now` is too late");
        let tail = send(&mut source, 8 * US + 1, good(6));
        assert_eq!((tail.path, tail.rerouted), (3, true));
        assert_eq!(
            tail.tag,
            Tag {
                path: 3,
                sent: 8 * US + 1,
                tail_sent: 8 * US + 1,
                epoch: 1,
                kind: Kind::Tail,
                rerouted: false,
                begun: Begun::Inactivity
            }
        );
        let after = send(&mut source, 20 * US, no_draw);
        assert_eq!((after.path, after.rerouted), (6, false));
        assert_eq!(
            after.tag,
            Tag {
                path: 6,
                sent: 20 * US,
                tail_sent: 8 * US + 1,
                epoch: 1,
                kind: Kind::Data,
                rerouted: true,
                begun: Begun::Inactivity
            }
        );
        // There is only one TAIL. Then the flow waits for the CLEAR, however long, as long as it is
        // active.
        for at in 1..20 {
            assert_eq!(send(&mut source, (20 + 200 * at) * US, no_draw).tag.kind, Kind::Data);
        }
    }

    #[test]
    fn without_a_good_path_the_tail_is_sent_all_the_same() {
        let mut source = Source::new();
        send(&mut source, 0, good(3));
        let tail = send(&mut source, 9 * US, none(6));
        assert_eq!((tail.path, tail.tag.kind, tail.rerouted), (3, Kind::Tail, false));
        let after = send(&mut source, 10 * US, no_draw);
        assert_eq!((after.path, after.tag.rerouted), (3, true));
    }

    #[test]
    fn a_clear_begins_a_new_epoch_on_the_new_path() {
        let mut source = Source::new();
        send(&mut source, 0, good(3));
        assert_eq!(source.on_clear(1, &rules()), ReplyOutcome::Stale, "no TAIL has been sent");
        send(&mut source, 9 * US, good(6));
        assert_eq!(source.on_clear(2, &rules()), ReplyOutcome::Stale);
        assert_eq!(source.on_clear(1, &rules()), ReplyOutcome::InTime);
        let next = send(&mut source, 15 * US, no_draw);
        assert_eq!(
            (next.path, next.tag.kind, next.tag.epoch, next.tag.rerouted, next.tag.tail_sent),
            (6, Kind::Request, 2, false, 0)
        );
    }

    #[test]
    fn inactivity_begins_a_new_epoch_on_a_new_path() {
        let mut source = Source::new();
        send(&mut source, 0, good(3));
        assert_eq!(
            send(&mut source, 300 * US, good(9)).tag.kind,
            Kind::Tail,
            "`active + theta_inactive < now` is inactive: not yet"
        );
        let next = send(&mut source, 600 * US + 1, good(7));
        assert_eq!(
            (next.path, next.rerouted, next.tag.epoch, next.tag.kind),
            (7, true, 2, Kind::Request)
        );
        assert_eq!(
            (next.tag.rerouted, next.tag.tail_sent, next.tag.begun),
            (false, 0, Begun::Inactivity)
        );
        // If all paths are busy, the flow stays on its path.
        let stays = send(&mut source, 1_000 * US, none(1));
        assert_eq!((stays.path, stays.rerouted, stays.tag.epoch), (7, false, 3));
    }

    #[test]
    fn a_reply_that_came_before_a_silence_is_forgotten() {
        let mut source = Source::new();
        send(&mut source, 0, good(3));
        source.on_reply(5 * US, 1, &rules());
        let next = send(&mut source, 301 * US, good(7));
        assert_eq!((next.path, next.tag.epoch, next.tag.begun), (7, 2, Begun::Inactivity));
        assert_eq!(send(&mut source, 302 * US, no_draw).tag.kind, Kind::Data, "not another epoch");
    }

    #[test]
    fn a_lost_path_is_left_at_once_even_for_a_busy_one() {
        let mut source = Source::new();
        send(&mut source, 0, good(3));
        let next = source.send(US, true, &rules(), none(4), |_| ROUND_TRIP);
        assert_eq!(
            (next.path, next.rerouted, next.tag.epoch, next.tag.begun),
            (4, true, 2, Begun::PathLost)
        );
    }

    #[test]
    fn each_path_has_its_own_deadline() {
        let mut source = Source::new();
        source.send(0, false, &rules(), good(1), |path| if path == 1 { 8 * US } else { 4 * US });
        assert_eq!(source.on_reply(12 * US - 1, 1, &rules()), ReplyOutcome::InTime);
    }

    #[test]
    fn epochs_wrap_after_two_bits() {
        let mut source = Source::new();
        let epochs: Vec<u32> = (1..=6)
            .map(|n| {
                let sent = send(&mut source, n * US, good(0));
                assert_eq!(
                    source.on_reply(n * US + 1, sent.tag.epoch & 3, &rules()),
                    ReplyOutcome::InTime
                );
                sent.tag.epoch & 3
            })
            .collect();
        assert_eq!(epochs, [1, 2, 3, 0, 1, 2]);
        let ns3 = Rules::new(&config(true));
        let mut source = Source::new();
        for n in 1..=6 {
            let sent = source.send(n * US, false, &ns3, good(0), |_| ROUND_TRIP);
            assert_eq!(sent.tag.epoch, n as u32);
            assert_eq!(source.on_reply(n * US + 1, n as u32, &ns3), ReplyOutcome::InTime);
        }
    }
}
