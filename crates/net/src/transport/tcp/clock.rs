//! Expiry of the sender's timer, with the kernel's clock ticks.

use crate::spec::{Retries, TcpConfig};

/// Purpose for which the timer is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    None,
    Retransmit,
    Probe,
    Reordering,
    /// The receive window is closed and nothing is outstanding.
    Persist,
}

/// Returns the time in ps at which a timer set at `now` for `span` expires. With clock ticks,
/// `span` is rounded up to whole ticks and counts from the last tick (as in Linux's jiffies).
pub(super) fn expiry(now: u64, span: u64, config: &TcpConfig) -> u64 {
    match config.tick.0 {
        0 => now + span,
        tick => (now / tick + span.div_ceil(tick)) * tick,
    }
    .max(now + 1)
}

/// Returns the time in ps of the last tick.
pub(super) fn ticked(now: u64, config: &TcpConfig) -> u64 {
    match config.tick.0 {
        0 => now,
        tick => now / tick * tick,
    }
}

/// Counter of time-outs since segment `una` became the oldest outstanding one. `since`: time in ps
/// of the first time-out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vain {
    una: u32,
    count: u32,
    since: u64,
}

impl Vain {
    /// Counts another time-out with `una` as the oldest segment. Returns true if the segment has
    /// used up its retransmissions.
    pub(super) fn count(&mut self, now: u64, una: u32, retries: Retries) -> bool {
        if self.una != una || self.count == 0 {
            *self = Vain { una, count: 0, since: now };
        }
        let over = match retries {
            Retries::Count(most) => self.count >= most,
            Retries::Time(span) => self.count > 0 && now - self.since >= span.0,
        };
        self.count += 1;
        over
    }
}
