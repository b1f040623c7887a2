//! Expiry of the sender's timer, with the kernel's clock ticks.

use crate::spec::{Retries, TcpConfig, TimerWheel};

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

/// Number of ticks from which on the buckets of Linux's timer wheel are eight times as wide
/// (`LVL_START(1)` in kernel/time/timer.c), and number of its levels (HZ > 100).
const FINE: u64 = 63;
const LEVELS: u32 = 9;

/// Returns the time in ps for which a timer is set at `now`. With clock ticks, `span` is rounded up
/// to whole ticks and counts from the last tick (as in Linux's jiffies).
pub(super) fn due(now: u64, span: u64, config: &TcpConfig) -> u64 {
    match config.tick.0 {
        0 => now + span,
        tick => (now / tick + span.div_ceil(tick)) * tick,
    }
}

/// Returns the time in ps at which a timer set at `now` for `span` expires. The buckets of Linux's
/// timer wheel are one tick wide, and 8, 64, ... ticks for longer spans. A timer expires at the
/// next bucket after the time for which it is set (`calc_index`), unless the kernel is older.
pub(super) fn expiry(now: u64, span: u64, config: &TcpConfig) -> u64 {
    let due = due(now, span, config);
    match (config.tick.0, config.timer_wheel) {
        (0, _) | (_, TimerWheel::Cascading) => due,
        (tick, TimerWheel::NonCascading) => {
            let ticks = span.div_ceil(tick);
            let level = (1..LEVELS).take_while(|level| ticks >= FINE << (3 * (level - 1))).count();
            let bucket = tick << (3 * level);
            (due / bucket + 1) * bucket
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    const MS: u64 = 1_000_000_000;

    fn of(tick: u64, timer_wheel: TimerWheel) -> TcpConfig {
        TcpConfig { tick: Span(tick), timer_wheel, ..crate::testing::tcp() }
    }

    /// Ticks at which `calc_index` of Linux 6.12 (LVL_CLK_SHIFT 3, LVL_SIZE 64) puts timers that are
    /// set in the middle of tick 1,000: 40 ticks are one later; 63 and 200 are at a multiple of 8,
    /// 504 and 3,000 of 64, 4,032 of 512.
    #[test]
    fn timers_of_the_wheel_expire_after_their_tick() {
        let config = of(MS, TimerWheel::NonCascading);
        let fires = |ticks: u64| expiry(1_000 * MS + MS / 2, ticks * MS, &config) / MS;
        assert_eq!([1, 40, 62].map(fires), [1_002, 1_041, 1_063]);
        assert_eq!([63, 200, 503].map(fires), [1_064, 1_208, 1_504]);
        assert_eq!([504, 3_000, 4_031].map(fires), [1_536, 4_032, 5_056]);
        assert_eq!(fires(4_032), 5_120);
        assert_eq!(expiry(7, MS / 4, &config), 2 * MS, "a part of a tick counts as one");
    }

    #[test]
    fn timers_of_older_kernels_expire_at_their_tick() {
        let config = of(4 * MS, TimerWheel::Cascading);
        let fires = |ms: u64| expiry(1_001 * MS, ms * MS, &config) / MS;
        assert_eq!([1, 40, 200, 3_000].map(fires), [1_004, 1_040, 1_200, 4_000]);
    }

    #[test]
    fn timers_without_ticks_are_exact() {
        let config = of(0, TimerWheel::NonCascading);
        assert_eq!([0, 5, 300 * MS].map(|span| expiry(11, span, &config)), [12, 16, 300 * MS + 11]);
    }
}
