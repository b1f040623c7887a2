//! The timer and its ticks.

use crate::spec::{Retries, TcpConfig};

/// What the timer is set for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    None,
    Retransmit,
    Probe,
    Reordering,
    /// The receive window is closed and nothing is outstanding.
    Persist,
}

/// When a timer set at `now` for `span` expires: on the first tick that is not too early.
pub(super) fn expiry(now: u64, span: u64, config: &TcpConfig) -> u64 {
    match config.tick.0 {
        0 => now + span,
        tick => (now / tick + span.div_ceil(tick)) * tick,
    }
    .max(now + 1)
}

/// The last tick.
pub(super) fn ticked(now: u64, config: &TcpConfig) -> u64 {
    match config.tick.0 {
        0 => now,
        tick => now / tick * tick,
    }
}

/// Time-outs of the retransmission timer since segment `una` became the oldest that is outstanding, the first one at `since`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vain {
    una: u32,
    count: u32,
    since: u64,
}

impl Vain {
    /// Another time-out, with `una` the oldest segment. Has it been sent again as often as it may be?
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
