//! PI² (De Schepper et al., CoNEXT 2016): a linear proportional-integral controller whose output is
//! squared for classic traffic.

use super::policy::{About, Policy, Site, take_class, up_to_1000_s, update_period};
use crate::Model;
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use afflux_config::keys::meaningless;
use afflux_config::{Duration, keys};
use afflux_engine::random::Stream;
use std::collections::VecDeque;

keys! {
    /// Parameters of PI².
    pub struct Keys as "Pi2" => Pi2Config {
        /// Delay that the discipline aims at.
        target: Duration = "15ms" from "RFC 9332, Linux", check up_to_1000_s;
        /// Time between updates of the probability.
        t_update: Duration = "16ms" from "Linux", check update_period;
        /// Gain for the difference between delay and target, per second of difference.
        alpha: f64 = 0.16 from "Linux, for round trips up to 100 ms", in 0.0 to 1e9 as "a number from 0 to 1e9";
        /// Gain for the change of the delay since the last update, per second of change.
        beta: f64 = 3.2 from "Linux, for round trips up to 100 ms", in 0.0 to 1e9 as "a number from 0 to 1e9";
        /// Whether ECN-capable frames are marked instead of dropped.
        ecn: bool = false;
        /// With `ecn = true`: whether ECN-capable flows react to the share of marks, as DCTCP does.
        /// If so, they are marked with `coupling` times the probability p', and other frames are
        /// dropped with p' squared.
        scalable: bool = false;
        /// With `scalable = true`: ratio k of the marking probability to the square root of the
        /// drop probability.
        coupling: f64 = {scalable.then_some(2.0)} "2 (RFC 9332, Linux)", in 0.01 to 100.0;
    }
    check |parsed, at| match parsed {
        Pi2Config { ecn: false, scalable: true, .. } => Err(meaningless(at("scalable"), "ecn = false")),
        Pi2Config { scalable: false, coupling: Some(_), .. } => Err(meaningless(at("coupling"), "scalable = false")),
        _ => Ok(()),
    };
}

/// PI² state of one queue. Times are in ps.
#[derive(Debug, Clone)]
pub struct Pi2 {
    config: Pi2Config,
    /// Time since which the frame at the head has waited; `None` if the queue is empty.
    head: Option<u64>,
    /// Delay at the last update.
    delay: u64,
    /// Probability p' of the paper, before squaring.
    probability: f64,
    next_update: u64,
    /// No frame is dropped or marked while fewer bytes than this are behind it: twice the largest
    /// frame (Linux: twice the MTU).
    least: u64,
    stream: Stream,
}

impl Pi2 {
    /// Runs the updates that are due by `now`. Updates are due at every multiple of `t_update`.
    /// Their inputs change at arrivals and departures only. So calling this before each of those
    /// has the same result as a timer that fires before all other events of its time.
    fn catch_up(&mut self, now: u64) {
        let period = self.config.t_update.0;
        while self.next_update <= now {
            if self.head.is_none()
                && self.delay == 0
                && (self.probability == 0.0 || self.config.alpha == 0.0)
            {
                // The state does not change until a frame waits.
                self.next_update += (now - self.next_update) / period * period;
            } else {
                let delay = self.head.map_or(0, |since| self.next_update.saturating_sub(since));
                self.update(delay);
            }
            self.next_update += period;
        }
    }

    fn update(&mut self, delay: u64) {
        let seconds = |to: u64, from: u64| (to as f64 - from as f64) * 1e-12;
        let step = self.config.alpha * seconds(delay, self.config.target.0)
            + self.config.beta * seconds(delay, self.delay);
        self.probability = (self.probability + step).clamp(0.0, 1.0);
        self.delay = delay;
    }

    /// Decides about a frame that leaves with `behind` bytes behind it.
    fn verdict(&mut self, behind: u64, capable: bool) -> Verdict {
        let marks = capable && self.config.ecn;
        if behind < self.least {
            return Verdict::Admit;
        }
        let hit = match self.config.coupling {
            Some(coupling) if marks => self.stream.next_f64() < coupling * self.probability,
            // Two draws that both hit have probability p' squared.
            _ => {
                self.stream.next_f64() < self.probability
                    && self.stream.next_f64() < self.probability
            }
        };
        match hit {
            false => Verdict::Admit,
            true if marks => Verdict::Mark,
            true => Verdict::Drop(Reason::Red),
        }
    }
}

impl Policy for Pi2 {
    type Config = Pi2Config;
    fn new(config: &Pi2Config, site: Site, stream: &mut Stream) -> Self {
        let stream = Stream::new(stream.next_u64(), 0, 0);
        Pi2 {
            config: config.clone(),
            head: None,
            delay: 0,
            probability: 0.0,
            next_update: config.t_update.0,
            least: 2 * site.frame,
            stream,
        }
    }
    fn about(config: &Pi2Config) -> About {
        About { marks: config.ecn, ..About::of(MODEL) }
    }
    fn on_enqueue(&mut self, now: u64, _: u64, _: bool, _: &mut Stream) -> Verdict {
        self.catch_up(now);
        Verdict::Admit
    }
    fn push(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        waiting: Waiting,
        _: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        self.head.get_or_insert(waiting.ready);
        frames.push_back(waiting);
        Vec::new()
    }
    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        bytes: u64,
    ) -> Option<(Waiting, Verdict)> {
        self.catch_up(now);
        let waiting = frames.pop_front()?;
        self.head = frames.front().map(|next| next.ready);
        let verdict =
            self.verdict(bytes - u64::from(waiting.frame.size), waiting.frame.has(Frame::ECT));
        Some((waiting, verdict))
    }

    fn purge(&mut self, frames: &mut VecDeque<Waiting>, now: u64, class: u8) -> Vec<Frame> {
        self.catch_up(now);
        let taken = take_class(frames, class);
        self.head = frames.front().map(|next| next.ready);
        taken
    }
}

pub const MODEL: Model = Model {
    kind: "queue discipline",
    name: "pi2",
    source: "De Schepper et al., CoNEXT 2016; RFC 9332, appendix A; defaults of Linux (sch_dualpi2.c)",
    faithful: "p' moves by alpha times the distance from the target and beta times the change of the delay, which is the age of the frame at the head; \
               frames are dropped or marked at the head with p' squared, those of scalable flows marked with k p'; no drop or mark with less than \
               twice the scenario's largest frame behind the head; updates at exact multiples of the period",
    simplified: "one queue (no DualQ); a key says whether all ECN-capable flows are scalable or all are classic; no rules for overload: p' rises up to 1, \
                 and the buffer limits unresponsive traffic; all ports update at the same times",
};

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    const MS: u64 = 1_000_000_000;

    fn pi2(ecn: bool, coupling: Option<f64>) -> Pi2 {
        let (target, t_update) = (Span::from_ms(15), Span::from_ms(16));
        let config = Pi2Config {
            target,
            t_update,
            alpha: 0.16,
            beta: 3.2,
            ecn,
            scalable: coupling.is_some(),
            coupling,
        };
        Pi2::new(&config, Site { frame: 9_000, ..Site::default() }, &mut Stream::new(1, 1, 1))
    }

    fn waiting(ready: u64, flags: u16) -> Waiting {
        Waiting { frame: Frame { size: 1_500, flags, ..Frame::default() }, ready, clock: 0 }
    }

    /// If the delay is d at each update, p' is beta d + n alpha (d - target) after n updates.
    #[test]
    fn the_controller_is_linear() {
        let mut pi2 = pi2(false, None);
        for n in 1..=200 {
            pi2.update(35 * MS);
            let expected = (3.2 * 0.035 + f64::from(n) * 0.16 * 0.020_f64).min(1.0);
            assert!((pi2.probability - expected).abs() < 1e-12, "{n}: {}", pi2.probability);
        }
        // When the delay falls to zero, the change of the delay counts first, then the difference
        // from the target.
        let before = pi2.probability;
        pi2.update(0);
        assert!((pi2.probability - (before - 3.2 * 0.035 - 0.16 * 0.015)).abs() < 1e-12);
        (0..1_000).for_each(|_| pi2.update(0));
        assert_eq!(pi2.probability, 0.0);
    }

    /// A standing queue for 100 ms that is updated only at the end: the age of the head is 16, 32,
    /// … ms at the updates.
    #[test]
    fn catching_up_is_a_timer() {
        let (mut lazy, mut busy, mut stream) =
            (pi2(false, None), pi2(false, None), Stream::new(1, 2, 3));
        let mut by_hand = pi2(false, None);
        for pi2 in [&mut lazy, &mut busy] {
            pi2.push(&mut VecDeque::new(), waiting(0, 0), &mut Stream::new(1, 1, 1));
        }
        for ms in 1..100 {
            busy.on_enqueue(ms * MS, 0, false, &mut stream);
        }
        lazy.on_enqueue(99 * MS, 0, false, &mut stream);
        (1..=6).for_each(|n| by_hand.update(16 * n * MS));
        for pi2 in [&lazy, &busy] {
            assert_eq!(
                (pi2.probability, pi2.delay, pi2.next_update),
                (by_hand.probability, 96 * MS, 112 * MS)
            );
        }
        // Long after the queue has become empty, p' and the delay are 0, and the timer still fires
        // at multiples of its period.
        assert!(lazy.pull(&mut VecDeque::from([waiting(0, 0)]), 100 * MS, 1_500).is_some());
        lazy.on_enqueue(1_000_000 * MS, 0, false, &mut stream);
        assert_eq!((lazy.probability, lazy.delay, lazy.next_update % (16 * MS)), (0.0, 0, 0));
    }

    #[test]
    fn drops_are_squared_and_marks_coupled() {
        for (ecn, coupling, capable, expected) in [
            (false, None, true, 0.04),
            (true, None, true, 0.04),
            (true, Some(2.0), true, 0.4),
            (true, Some(2.0), false, 0.04),
            (true, Some(8.0), true, 1.0),
        ] {
            let mut pi2 = pi2(ecn, coupling);
            pi2.probability = 0.2;
            let verdicts: Vec<_> = (0..100_000)
                .map(|_| pi2.verdict(1 << 20, capable))
                .filter(|verdict| *verdict != Verdict::Admit)
                .collect();
            let kind = if ecn && capable { Verdict::Mark } else { Verdict::Drop(Reason::Red) };
            assert!(verdicts.iter().all(|verdict| *verdict == kind));
            assert!((verdicts.len() as f64 / 1e5 - expected).abs() < 0.01, "{}", verdicts.len());
            assert!((0..1_000).all(|_| pi2.verdict(2 * 9_000 - 1, capable) == Verdict::Admit));
        }
    }
}
