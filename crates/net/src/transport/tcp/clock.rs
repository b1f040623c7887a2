//! The timer and its ticks.

use crate::spec::TcpConfig;

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
