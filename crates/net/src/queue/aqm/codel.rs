//! CoDel (RFC 8289): drops or marks frames at the head of a queue once all frames have waited
//! longer than a target for an interval.

use super::policy::{About, Policy, Site, up_to_1000_s};
use crate::Model;
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, keys};
use afflux_engine::random::Stream;
use afflux_units::Span;
use std::collections::VecDeque;

keys! {
    /// Parameters of CoDel.
    pub struct Keys as "Codel" => CodelConfig {
        /// Delay that the discipline aims at. In data centres: 5 to 10 % of `interval`.
        target: Duration = "5ms" from "RFC 8289", check up_to_1000_s;
        /// Time for which the delay must have exceeded the target before frames are dropped or
        /// marked. Choose the worst usual round-trip time.
        interval: Duration = "100ms" from "RFC 8289", check up_to_1000_s;
        /// Whether ECN-capable frames are marked instead of dropped.
        ecn: bool = false from "ns-3, Linux";
    }
    check |parsed, at| target_in_interval(parsed.target, parsed.interval, at);
}

pub fn target_in_interval(
    target: Span,
    interval: Span,
    at: &dyn Fn(&str) -> Key,
) -> Result<(), Wrong> {
    if target > interval {
        let what = format!(
            "\"{target}\" is above interval = \"{interval}\": the target is 5 to 10 % of the interval (RFC 8289)"
        );
        return Err(Wrong::at(at("target"), what));
    }
    Ok(())
}

impl CodelConfig {
    fn next(&self, from: u64, count: u32) -> u64 {
        from.saturating_add((self.interval.0 as f64 / (count.max(1) as f64).sqrt()) as u64)
    }
}

/// CoDel state of one queue.
#[derive(Debug, Clone)]
pub struct Codel {
    control: CodelConfig,
    /// No frame is dropped if at most this many bytes are left behind it: `maxpacket` of RFC 8289
    /// (section 5.5), "the maximum packet size".
    frame: u64,
    /// Time in ps at which the delay will have been above target for an interval; 0 while it is
    /// below.
    first_above: u64,
    drop_next: u64,
    pub count: u32,
    last_count: u32,
    dropping: bool,
    step: Step,
}

/// Position in the RFC's `deque` procedure at which the next frame continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    First,
    /// After the drop that enters the dropping state.
    Entered,
    /// After a drop within the dropping state.
    Dropped,
}

impl Codel {
    /// `frame`: size in bytes of the largest frame.
    pub fn under(control: CodelConfig, frame: u64) -> Self {
        Codel {
            control,
            frame,
            first_above: 0,
            drop_next: 0,
            count: 0,
            last_count: 0,
            dropping: false,
            step: Step::First,
        }
    }

    fn above_for_long(&mut self, now: u64, sojourn: u64, behind: u64) -> bool {
        if sojourn < self.control.target.0 || behind <= self.frame {
            self.first_above = 0;
            false
        } else if self.first_above == 0 {
            self.first_above = now + self.control.interval.0;
            false
        } else {
            now >= self.first_above
        }
    }

    /// Decides about a frame that reaches the head after waiting for `sojourn` (ps), with `behind`
    /// bytes behind it. After a drop the caller passes the next frame at once.
    pub fn on_dequeue(&mut self, now: u64, sojourn: u64, behind: u64, capable: bool) -> Verdict {
        let ok_to_drop = self.above_for_long(now, sojourn, behind);
        let mark = self.control.ecn && capable;
        match std::mem::replace(&mut self.step, Step::First) {
            Step::Entered => return Verdict::Admit,
            step if self.dropping => {
                if !ok_to_drop {
                    self.dropping = false;
                    return Verdict::Admit;
                }
                if step == Step::Dropped {
                    self.drop_next = self.control.next(self.drop_next, self.count);
                }
                if now < self.drop_next {
                    return Verdict::Admit;
                }
                self.count += 1;
                if mark {
                    self.drop_next = self.control.next(self.drop_next, self.count);
                    return Verdict::Mark;
                }
                self.step = Step::Dropped;
                return Verdict::Drop(Reason::Red);
            }
            _ => {}
        }
        if !ok_to_drop {
            return Verdict::Admit;
        }
        self.dropping = true;
        // If the queue was in the dropping state recently, the drop rate of that time is the
        // starting point.
        let delta = self.count.saturating_sub(self.last_count);
        self.count =
            if delta > 1 && now.saturating_sub(self.drop_next) < 16 * self.control.interval.0 {
                delta
            } else {
                1
            };
        self.last_count = self.count;
        self.drop_next = self.control.next(now, self.count);
        if mark {
            return Verdict::Mark;
        }
        self.step = Step::Entered;
        Verdict::Drop(Reason::Red)
    }

    /// Resets the state: the transmitter asked for a frame and the queue was empty.
    pub fn on_empty(&mut self) {
        self.first_above = 0;
        self.dropping = false;
        self.step = Step::First;
    }
}

impl Policy for Codel {
    type Config = CodelConfig;
    fn new(config: &CodelConfig, site: Site, _: &mut Stream) -> Self {
        Codel::under(config.clone(), site.frame)
    }
    fn about(config: &CodelConfig) -> About {
        About { marks: config.ecn, ..About::of(MODEL) }
    }
    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        bytes: u64,
    ) -> Option<(Waiting, Verdict)> {
        let Some(w) = frames.pop_front() else {
            self.on_empty();
            return None;
        };
        let verdict = self.on_dequeue(
            now,
            now.saturating_sub(w.ready),
            bytes - w.frame.size as u64,
            w.frame.has(Frame::ECT),
        );
        Some((w, verdict))
    }
}

pub const MODEL: Model = Model {
    kind: "queue discipline",
    name: "codel",
    source: "RFC 8289; marking as in Linux (codel_impl.h)",
    faithful: "target, interval, interval/sqrt(count) from drop to drop, re-entry at the last rate within 16 intervals; never drops with at most \
               the scenario's largest frame behind; with `ecn = true` it marks ECN-capable frames instead of dropping them, one per departure; one state per queue",
    simplified: "exact square roots and picoseconds (Linux and ns-3: Newton steps in 16 bits, 1.024 us); no ce_threshold",
};

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    fn codel(ecn: bool) -> Codel {
        Codel::under(
            CodelConfig { target: Span::from_ms(5), interval: Span::from_ms(100), ecn },
            1_514,
        )
    }

    /// RFC 8289: under constant overload the next drop follows the k-th after 100 ms / sqrt(k).
    #[test]
    fn spacing_of_drops_and_marks() {
        for ecn in [false, true] {
            let mut codel = codel(ecn);
            let mut hits = Vec::new();
            for at in (0..5_000_000u64).map(|us| us * 1_000_000) {
                // Every frame has waited for 50 ms. At most one drop per departure, so that times
                // are not blurred.
                match codel.on_dequeue(at, 50 * MS, 1 << 20, true) {
                    Verdict::Admit => {}
                    Verdict::Mark => hits.push(at),
                    Verdict::Drop(_) | Verdict::Trim(_) => {
                        hits.push(at);
                        assert_eq!(codel.on_dequeue(at, 50 * MS, 1 << 20, true), Verdict::Admit);
                    }
                }
            }
            assert_eq!(hits[0], 100 * MS);
            assert!(hits.len() > 500, "{}", hits.len());
            for (k, pair) in hits.windows(2).enumerate() {
                let expected = 100.0 * MS as f64 / ((k + 1) as f64).sqrt();
                assert!(
                    ((pair[1] - pair[0]) as f64 - expected).abs() <= 1_000_000.0 + 1.0,
                    "ecn {ecn}, k {k}: {} ps, {expected}",
                    pair[1] - pair[0]
                );
            }
        }
    }

    #[test]
    fn a_short_burst_passes_and_the_last_frame_is_never_dropped() {
        let mut codel = codel(false);
        for ms in 0..99 {
            assert_eq!(codel.on_dequeue(ms * MS, 50 * MS, 1 << 20, false), Verdict::Admit);
        }
        assert_eq!(codel.on_dequeue(99 * MS, 4 * MS, 1 << 20, false), Verdict::Admit);
        for ms in 100..198 {
            assert_eq!(codel.on_dequeue(ms * MS, 50 * MS, 1 << 20, false), Verdict::Admit);
        }
        for ms in 198..2_000 {
            assert_eq!(codel.on_dequeue(ms * MS, 50 * MS, 1_514, false), Verdict::Admit);
        }
    }

    /// RFC 8289, section 5.5: a queue of at most `maxpacket` bytes is good, whatever its delay. One
    /// jumbo frame behind the head prevents drops, two do not.
    #[test]
    fn the_largest_frame_is_the_scenarios() {
        let verdicts = |frame: u64, behind: u64| {
            let mut codel = Codel::under(
                CodelConfig { target: Span::from_ms(5), interval: Span::from_ms(100), ecn: true },
                frame,
            );
            (0..2_000)
                .map(|ms| codel.on_dequeue(ms * MS, 50 * MS, behind, true))
                .filter(|verdict| *verdict == Verdict::Mark)
                .count()
        };
        for frame in [64, 1_054, 1_514, 9_018] {
            assert_eq!(verdicts(frame, frame), 0, "{frame}");
            assert!(verdicts(frame, 2 * frame) > 20, "{frame}");
        }
    }

    #[test]
    fn drops_resume_at_the_rate_that_worked() {
        let mut codel = codel(false);
        let mut drops = 0;
        let mut feed = |codel: &mut Codel, from: u64, to: u64, sojourn: u64| {
            let before = drops;
            for at in (from..to).map(|us| us * 1_000_000) {
                while codel.on_dequeue(at, sojourn, 1 << 20, false) == Verdict::Drop(Reason::Red) {
                    drops += 1;
                }
            }
            drops - before
        };
        let first = feed(&mut codel, 0, 2_000_000, 50 * MS);
        assert_eq!(feed(&mut codel, 2_000_000, 2_300_000, MS), 0);
        let count = codel.count;
        assert!(count as u64 >= first - 1);
        // Within 16 intervals the count continues from its last value (less the value it started
        // from), so the second drop comes soon.
        assert!(feed(&mut codel, 2_300_000, 2_500_000, 50 * MS) > 2);
        assert!(codel.count >= count - 1);
        // Much later the count starts from one.
        assert_eq!(feed(&mut codel, 2_500_000, 9_000_000, MS), 0);
        assert_eq!(feed(&mut codel, 9_000_000, 9_101_000, 50 * MS), 1);
        assert_eq!(codel.count, 1);
    }
}
