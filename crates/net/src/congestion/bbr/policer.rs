//! Long-term rate under a policer, as in Linux's version 1.

use super::arithmetic::{MILLISECOND, UNIT, paced, rate};

/// Least rounds of an interval.
const ROUNDS: u32 = 4;
/// Least fraction of lost segments, in units of 1/256: a fifth.
const LOSS: u64 = 50;
/// Difference between two rates that counts as none: an eighth, or 4 kbit/s.
const RATIO: u64 = UNIT as u64 / 8;
const DIFFERENCE: u64 = 4000 / 8;
const USE_ROUNDS: u32 = 48;

#[derive(Debug, Clone, Copy, Default)]
pub struct Policer {
    sampling: bool,
    /// True while the sender keeps to `rate`.
    pub in_use: bool,
    pub rate: u64,
    rounds: u32,
    delivered: u32,
    lost: u32,
    /// Start of the interval in ms.
    since: u64,
}

/// Totals at one instant.
#[derive(Clone, Copy)]
pub struct Totals {
    pub delivered: u32,
    pub lost: u32,
    /// In ps.
    pub time: u64,
}

impl Policer {
    pub fn start(&mut self, now: u64) {
        self.since = now / MILLISECOND;
    }
    fn start_interval(&mut self, totals: &Totals) {
        self.start(totals.time);
        self.delivered = totals.delivered;
        self.lost = totals.lost;
        self.rounds = 0;
    }
    pub fn reset(&mut self, totals: &Totals) {
        *self = Policer::default();
        self.start_interval(totals);
    }

    /// Counts a round in which the rate was used. Returns true after the last of them.
    pub fn expires(&mut self, totals: &Totals) -> bool {
        self.rounds += 1;
        let expires = self.rounds >= USE_ROUNDS;
        if expires {
            self.reset(totals);
        }
        expires
    }

    /// Detects a policer: two intervals of at least four rounds with a fifth of the segments lost
    /// and nearly the same rate. Returns true when its rate is known.
    #[inline]
    pub fn detect(
        &mut self,
        lossy: bool,
        app_limited: bool,
        round_start: bool,
        totals: &Totals,
        mss: u32,
    ) -> bool {
        if !self.sampling {
            if !lossy {
                return false;
            }
            self.start_interval(totals);
            self.sampling = true;
        }
        if app_limited {
            self.reset(totals);
            return false;
        }
        self.rounds += round_start as u32;
        if self.rounds < ROUNDS {
            return false;
        }
        if self.rounds > 4 * ROUNDS {
            self.reset(totals);
            return false;
        }
        // An interval ends with a loss: the policer's tokens are exhausted.
        lossy && self.end_interval(totals, mss)
    }

    fn end_interval(&mut self, totals: &Totals, mss: u32) -> bool {
        let (lost, delivered) =
            ((totals.lost - self.lost) as u64, totals.delivered - self.delivered);
        if delivered == 0 || lost * (UNIT as u64) < LOSS * delivered as u64 {
            return false;
        }
        let time = (totals.time / MILLISECOND).saturating_sub(self.since);
        if time == 0 {
            return false;
        }
        let found = rate(delivered, time * MILLISECOND);
        let before = self.rate;
        if before > 0 {
            let difference = found.abs_diff(before);
            let close = difference * UNIT as u64 <= RATIO * before;
            if close || paced(difference, UNIT, mss) <= DIFFERENCE {
                self.rate = (found + before) / 2;
                self.in_use = true;
                self.rounds = 0;
                return true;
            }
        }
        self.rate = found;
        self.start_interval(totals);
        false
    }
}
