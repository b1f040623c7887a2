//! Filters of measurements: the maximum bandwidth of some rounds, the least round trip, the
//! aggregation of acknowledgements, and the bandwidth that no longer grows.

use super::super::Ack;

/// Maximum of a number of rounds: Kathleen Nichols' estimate from three samples. Two samples are
/// taken for one if they are from the same round (Linux lib/win_minmax.c), or have the same value
/// (`AS_NS3`: ns-3's WindowedFilter). In ns-3, the initial value counts as no sample.
#[derive(Debug, Clone, Copy, Default)]
pub struct Maximum<const AS_NS3: bool> {
    best: [(u32, u64); 3],
    initial: u64,
}

impl<const AS_NS3: bool> Maximum<AS_NS3> {
    pub fn new(initial: u64) -> Self {
        Maximum { best: [(0, initial); 3], initial }
    }
    #[inline]
    pub fn get(&self) -> u64 {
        self.best[0].1
    }

    /// Adds the value of round `now`. `window`: rounds after which a value is forgotten.
    #[inline]
    pub fn update(&mut self, window: u32, now: u32, value: u64) {
        let best = &mut self.best;
        let new = (now, value);
        let none = AS_NS3 && best[0].1 == self.initial;
        if none || value >= best[0].1 || now - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            best[1] = new;
            best[2] = new;
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let same = |a: (u32, u64), b: (u32, u64)| if AS_NS3 { a.1 == b.1 } else { a.0 == b.0 };
        let age = now - best[0].0;
        if age > window {
            // The best sample is too old: the others move up, at most twice.
            *best = [best[1], best[2], new];
            if now - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if same(best[1], best[0]) && now - best[1].0 > window / 4 {
            best[1] = new;
            best[2] = new;
        } else if same(best[2], best[1])
            && (if AS_NS3 { now - best[2].0 } else { age }) > window / 2
        {
            best[2] = new;
        }
    }
}

/// Least round trip of a time.
#[derive(Debug, Clone, Copy)]
pub struct LeastRtt {
    /// In ps; the highest number before the first measurement.
    pub value: u64,
    /// Time of its measurement in ps.
    pub since: u64,
}

impl LeastRtt {
    pub const NONE: LeastRtt = LeastRtt { value: u64::MAX, since: 0 };

    /// Returns true if the value is older than `interval` (ps). Any new one then replaces it.
    /// `renewed`: an equal round trip counts as a new measurement.
    #[inline]
    pub fn update(&mut self, ack: &Ack, interval: u64, renewed: bool) -> bool {
        let expired = ack.now > self.since + interval;
        let shorter = if renewed { ack.rtt <= self.value } else { ack.rtt < self.value };
        if ack.rtt > 0 && (shorter || expired) {
            *self = LeastRtt { value: ack.rtt, since: ack.now };
        }
        expired
    }
}

/// Aggregation of acknowledgements: the most data that arrived beyond the estimated rate at once, in
/// the last five to ten rounds. An epoch ends when the rate has caught up, or at `MOST_ACKED`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Aggregation<const MOST_ACKED: u32, const MOST_EXTRA: u32> {
    since: u64,
    acked: u32,
    extra: [u32; 2],
    rounds: u32,
    slot: usize,
}

impl<const MOST_ACKED: u32, const MOST_EXTRA: u32> Aggregation<MOST_ACKED, MOST_EXTRA> {
    pub const ROUNDS: u32 = 5;

    pub fn restart(&mut self, now: u64) {
        self.since = now;
        self.acked = 0;
    }

    /// Updates the estimate. `window`: rounds after which the older half is forgotten. `expected`:
    /// data that the estimated rate delivers in a time in ps.
    #[inline]
    pub fn update(
        &mut self,
        acked: u32,
        (round_start, window): (bool, u32),
        now: u64,
        cwnd: u32,
        expected: impl FnOnce(u64) -> u64,
    ) {
        if round_start {
            self.rounds = (self.rounds + 1).min(31);
            if self.rounds >= window {
                self.rounds = 0;
                self.slot ^= 1;
                self.extra[self.slot] = 0;
            }
        }
        let mut expected = expected(now - self.since);
        if self.acked as u64 <= expected || self.acked + acked >= MOST_ACKED {
            self.restart(now);
            expected = 0;
        }
        self.acked += acked;
        let extra = (self.acked as u64).saturating_sub(expected).min(cwnd.min(MOST_EXTRA) as u64);
        self.extra[self.slot] = self.extra[self.slot].max(extra as u32);
    }

    /// Returns the data to add to the window.
    #[inline]
    pub fn most(&self) -> u32 {
        self.extra[0].max(self.extra[1])
    }
    #[cfg(test)]
    pub fn extra(&self) -> [u32; 2] {
        self.extra
    }
}

/// Detection of a full pipe: the bandwidth has not grown by a quarter for three rounds.
#[derive(Debug, Clone, Copy, Default)]
pub struct FullPipe {
    /// True from the first time on.
    pub reached: bool,
    /// True until the search starts again.
    pub now: bool,
    pub bandwidth: u64,
    pub rounds: u32,
}

impl FullPipe {
    const ROUNDS: u32 = 3;

    pub fn restart(&mut self, bandwidth: u64) {
        *self = FullPipe { reached: self.reached, bandwidth, ..FullPipe::default() };
    }

    /// Returns true if `bandwidth` is by a quarter higher, rounded down.
    #[inline]
    pub fn grows(&self, bandwidth: u64) -> bool {
        bandwidth >= (self.bandwidth * 320) >> 8
    }

    #[inline]
    pub fn update(&mut self, bandwidth: u64, grows: bool, round_start: bool) {
        if grows {
            self.restart(bandwidth);
        } else if round_start {
            self.rounds += 1;
            self.now = self.rounds >= Self::ROUNDS;
            self.reached |= self.now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forgotten_after_the_window<const AS_NS3: bool>(mut maximum: Maximum<AS_NS3>) {
        maximum.update(10, 0, 100);
        for now in 1..=10 {
            maximum.update(10, now, 50 - now as u64);
            assert_eq!(maximum.get(), 100);
        }
        maximum.update(10, 11, 30);
        // The second best sample is from the second quarter of the window.
        assert_eq!(maximum.get(), 50 - 3);
        maximum.update(10, 12, 60);
        assert_eq!(maximum.get(), 60);
    }

    #[test]
    fn the_maximum_is_forgotten_after_the_window() {
        forgotten_after_the_window(Maximum::<false>::default());
        forgotten_after_the_window(Maximum::<true>::new(1));
    }

    /// ns-3 counts different values of one round as separate samples.
    #[test]
    fn samples_of_one_round() {
        let mut linux = Maximum::<false>::default();
        let mut ns3 = Maximum::<true>::new(1);
        for (now, value) in [(0, 100), (0, 50), (3, 40), (9, 30), (11, 20)] {
            linux.update(10, now, value);
            ns3.update(10, now, value);
        }
        assert_eq!((linux.get(), ns3.get()), (40, 40));
    }
}
