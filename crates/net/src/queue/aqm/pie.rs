//! PIE (RFC 8033): drops or marks arrivals with a probability that a proportional-integral
//! controller adjusts to keep the delay at a target.

use super::policy::{About, Policy, Site, take_class, up_to_1000_s, update_period};
use crate::Model;
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use afflux_config::keys::{meaningless, time_within};
use afflux_config::{Chance, Duration, keys};
use afflux_engine::random::Stream;
use afflux_units::{Probability, Span};
use std::collections::VecDeque;

keys! {
    /// Parameters of PIE.
    pub struct Keys as "Pie" => PieConfig {
        /// Delay that the discipline aims at.
        target: Duration = "15ms" from "RFC 8033", check up_to_1000_s;
        /// Whether ECN-capable frames are marked instead of dropped.
        ecn: bool = false from "ns-3, Linux";
        /// Time between updates of the probability.
        t_update: Duration = "15ms" from "RFC 8033", check update_period;
        /// Gain for the difference between delay and target, per second of difference.
        alpha: f64 = 0.125, in 0.0 to 1e9 as "a number from 0 to 1e9";
        /// Gain for the change of the delay since the last update, per second of change.
        beta: f64 = 1.25, in 0.0 to 1e9 as "a number from 0 to 1e9";
        /// Time for which a burst is admitted before drops begin.
        burst_allowance: Duration = "150ms", check |time, at| time_within(time, Span::ZERO, Span::from_s(1000), at);
        /// With `ecn = true`: probability above which ECN-capable frames are dropped too.
        ecn_threshold: Chance = {ecn.then(|| Chance(Probability::new(0.1).expect("within 0..1")))} "0.1";
        /// Whether drops are spaced more evenly than at random: neither too close together nor too
        /// far apart (RFC 8033 §5.4).
        derandomize: bool = false;
    }
    check |parsed, at| match parsed.ecn_threshold {
        Some(_) if !parsed.ecn => Err(meaningless(at("ecn_threshold"), "ecn = false")),
        _ => Ok(()),
    };
}

/// PIE state of one queue. Times are in ps.
#[derive(Debug, Clone)]
pub struct Pie {
    config: PieConfig,
    /// Delay of the frame that left last; 0 if it left the queue empty.
    delay: u64,
    delay_old: u64,
    probability: f64,
    accumulated: f64,
    burst_left: u64,
    next_update: u64,
    /// No frame is dropped or marked while the queue holds at most this: twice the largest frame
    /// (Linux: twice the MTU).
    least: u64,
}

impl Pie {
    /// Runs the updates that are due by `now`. Updates are due at every multiple of `t_update`.
    /// Their inputs change at arrivals and departures only. So calling this before each of those
    /// has the same result as a timer that fires before all other events of its time.
    fn catch_up(&mut self, now: u64) {
        while self.next_update <= now {
            if self.probability == 0.0
                && self.delay == 0
                && self.delay_old == 0
                && self.burst_left == 0
            {
                // The state does not change until a frame leaves late.
                self.next_update +=
                    (now - self.next_update) / self.config.t_update.0 * self.config.t_update.0;
            } else {
                self.recompute();
            }
            self.next_update += self.config.t_update.0;
        }
    }

    fn recompute(&mut self) {
        let seconds = |ps: u64| ps as f64 * 1e-12;
        let (delay, old) = (seconds(self.delay), seconds(self.delay_old));
        let p = self.config.alpha * (delay - seconds(self.config.target.0))
            + self.config.beta * (delay - old);
        let scale = match self.probability {
            p if p < 0.000_001 => 1.0 / 2048.0,
            p if p < 0.000_01 => 1.0 / 512.0,
            p if p < 0.000_1 => 1.0 / 128.0,
            p if p < 0.001 => 1.0 / 32.0,
            p if p < 0.01 => 1.0 / 8.0,
            p if p < 0.1 => 1.0 / 2.0,
            _ => 1.0,
        };
        let mut step = p * scale;
        if self.probability >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        self.probability += step;
        if self.delay == 0 && self.delay_old == 0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_old = self.delay;
        self.burst_left = self.burst_left.saturating_sub(self.config.t_update.0);
    }

    fn hit(&mut self, bytes: u64, stream: &mut Stream) -> bool {
        if (self.delay_old < self.config.target.0 / 2 && self.probability < 0.2)
            || bytes <= self.least
        {
            return false;
        }
        if self.config.derandomize {
            if self.probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        self.probability > 0.0 && stream.next_f64() < self.probability
    }

    pub fn on_dequeue(&mut self, now: u64, sojourn: u64, last: bool) {
        self.catch_up(now);
        self.delay = if last { 0 } else { sojourn };
    }
}

impl Policy for Pie {
    type Config = PieConfig;
    fn new(config: &PieConfig, site: Site, _: &mut Stream) -> Self {
        Pie {
            delay: 0,
            delay_old: 0,
            probability: 0.0,
            accumulated: 0.0,
            burst_left: config.burst_allowance.0,
            next_update: config.t_update.0,
            least: 2 * site.frame,
            config: config.clone(),
        }
    }
    fn about(config: &PieConfig) -> About {
        About { marks: config.ecn, ..About::of(MODEL) }
    }
    fn on_enqueue(&mut self, now: u64, bytes: u64, capable: bool, stream: &mut Stream) -> Verdict {
        self.catch_up(now);
        let half = self.config.target.0 / 2;
        if self.probability == 0.0 && self.delay < half && self.delay_old < half {
            self.burst_left = self.config.burst_allowance.0;
        }
        if self.burst_left > 0 || !self.hit(bytes, stream) {
            return Verdict::Admit;
        }
        // RFC 8033, section 5.4: a frame that is marked ends the accumulation as a dropped one does.
        self.accumulated = 0.0;
        if capable && self.config.ecn_threshold.is_some_and(|most| self.probability <= most.get()) {
            return Verdict::Mark;
        }
        Verdict::Drop(Reason::Red)
    }

    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        _: u64,
    ) -> Option<(Waiting, Verdict)> {
        let w = frames.pop_front()?;
        self.on_dequeue(now, now.saturating_sub(w.ready), frames.is_empty());
        Some((w, Verdict::Admit))
    }

    fn purge(&mut self, frames: &mut VecDeque<Waiting>, now: u64, class: u8) -> Vec<Frame> {
        self.catch_up(now);
        let taken = take_class(frames, class);
        if frames.is_empty() {
            self.delay = 0;
        }
        taken
    }
}

pub const MODEL: Model = Model {
    kind: "queue discipline",
    name: "pie",
    source: "RFC 8033, section 4 and the cap of section 5.5; delay from timestamps as in Linux since 5.6 and ns-3",
    faithful: "the controller with its scaling for small probabilities and its decay; burst allowance; no drop at half the target or with two of the \
               largest frames queued; marks up to 10 %; derandomisation (section 5.4) if the scenario asks for it; updates at exact multiples of the period",
    simplified: "no estimate of the departure rate; always on (no start at a third of the buffer); all ports update at the same times",
};

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    fn pie() -> Pie {
        let config = PieConfig {
            target: Span::from_ms(15),
            t_update: Span::from_ms(15),
            alpha: 0.125,
            beta: 1.25,
            burst_allowance: Span::from_ms(150),
            ecn: false,
            ecn_threshold: None,
            derandomize: false,
        };
        Pie::new(&config, Site { frame: 1_514, ..Site::default() }, &mut Stream::new(1, 1, 1))
    }

    /// With a constant probability and `derandomize`, marked frames are as far apart as dropped ones:
    /// at least 0.85 / p frames, and at most 8.5 / p.
    #[test]
    fn marks_are_spaced_like_drops() {
        let (p, mut stream) = (0.05, Stream::new(1, 2, 3));
        for capable in [false, true] {
            let mut pie = pie();
            pie.config.derandomize = true;
            pie.config.ecn_threshold = Some(Probability::new(0.1).unwrap());
            (pie.probability, pie.burst_left, pie.next_update) = (p, 0, u64::MAX);
            (pie.delay, pie.delay_old) = (30 * MS, 30 * MS);
            let hit = if capable { Verdict::Mark } else { Verdict::Drop(Reason::Red) };
            let hits: Vec<u32> = (0..100_000)
                .filter(|_| pie.on_enqueue(0, 100_000, capable, &mut stream) == hit)
                .collect();
            let gaps = || hits.windows(2).map(|pair| f64::from(pair[1] - pair[0]));
            assert!(gaps().all(|gap| (0.85..8.6).contains(&(gap * p))));
            // Frames are hit with probability p once 17 of them have passed: 36 frames on average.
            let mean = gaps().sum::<f64>() / gaps().count() as f64;
            assert!((mean - 36.0).abs() < 1.5, "{mean}");
        }
    }

    /// Two frames of the largest size are never hit, whatever that size is.
    #[test]
    fn two_frames_are_let_through() {
        for frame in [1_518u64, 9_018] {
            let (config, mut stream) = (pie().config, Stream::new(1, 2, 3));
            let mut pie = Pie::new(&config, Site { frame, ..Site::default() }, &mut stream);
            (pie.probability, pie.burst_left, pie.next_update) = (1.0, 0, u64::MAX);
            (pie.delay, pie.delay_old) = (30 * MS, 30 * MS);
            let mut verdict = |bytes| pie.on_enqueue(0, bytes, false, &mut stream);
            assert_eq!(verdict(2 * frame), Verdict::Admit);
            assert_eq!(verdict(2 * frame + 1), Verdict::Drop(Reason::Red));
        }
    }

    /// Frequent and rare calls of `catch_up` lead to the same state.
    #[test]
    fn catching_up_is_a_timer() {
        let (mut lazy, mut busy) = (pie(), pie());
        let mut stream = Stream::new(1, 2, 3);
        let mut at = 0;
        for i in 0..20_000u64 {
            at += stream.below(if i % 1_000 == 0 { 3_000 * MS } else { 8 * MS });
            let sojourn = if i % 2_000 < 1_500 { stream.below(60 * MS) } else { 0 };
            while busy.next_update < at {
                let tick = busy.next_update;
                busy.catch_up(tick);
            }
            for p in [&mut lazy, &mut busy] {
                p.on_dequeue(at, sojourn, sojourn == 0);
            }
            assert_eq!(
                (lazy.probability.to_bits(), lazy.burst_left, lazy.next_update),
                (busy.probability.to_bits(), busy.burst_left, busy.next_update)
            );
        }
        assert!(lazy.next_update % (15 * MS) == 0);
    }

    /// One explicit update: the delay is 25 ms twice, from p = 0.05: (0.125 * 0.01 + 1.25 * 0) / 2.
    #[test]
    fn one_step() {
        let mut pie = pie();
        (pie.probability, pie.delay, pie.delay_old) = (0.05, 25 * MS, 25 * MS);
        pie.recompute();
        assert!((pie.probability - (0.05 + 0.125 * 0.010 / 2.0)).abs() < 1e-15);
        (pie.probability, pie.delay, pie.delay_old) = (0.5, 200 * MS, 25 * MS);
        pie.recompute();
        assert!((pie.probability - 0.52).abs() < 1e-15);
    }

    #[test]
    fn bursts_pass_and_shares_match() {
        let mut stream = Stream::new(5, 6, 7);
        let mut pie = pie();
        pie.on_dequeue(0, 100 * MS, false);
        assert!((0..1_000).all(|i| pie.on_enqueue(i * MS / 10, 1 << 20, false, &mut stream) == Verdict::Admit));
        (pie.probability, pie.burst_left, pie.delay_old) = (0.3, 0, 20 * MS);
        let now = pie.next_update - 1;
        let drops = (0..100_000)
            .filter(|_| {
                pie.on_enqueue(now, 1 << 20, false, &mut stream) == Verdict::Drop(Reason::Red)
            })
            .count();
        assert!((drops as f64 / 1e5 - 0.3).abs() < 0.01, "{drops}");
        assert!(
            (0..1_000)
                .all(|_| pie.on_enqueue(now, 2 * 1_514, false, &mut stream) == Verdict::Admit)
        );
    }
}
