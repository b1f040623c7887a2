//! ECN# (Zhang, Bai and Chen, CoNEXT 2019): marks frames that have waited for long, and a few of the
//! frames of a queue that never becomes short.

use super::policy::{About, Policy, Site, up_to_1000_s};
use crate::Model;
use crate::frame::Frame;
use crate::queue::Verdict;
use crate::queue::waiting::Waiting;
use afflux_config::{Duration, keys};
use afflux_engine::random::Stream;
use std::collections::VecDeque;

keys! {
    /// Parameters of ECN#.
    pub struct Keys as "EcnSharp" => EcnSharpConfig {
        /// A frame that has waited longer than this is marked: a high percentile of the round-trip
        /// times without queues, times the share that the congestion control needs.
        instant: Duration = "20us" from "the authors' ns-3", check up_to_1000_s;
        /// Delay below which a queue may stay. Above it for `interval`, single frames are marked.
        target: Duration = "10us" from "the authors' ns-3", check up_to_1000_s;
        /// Time above `target` until the first of these marks, and between the first two. Further
        /// marks follow after `interval` divided by the square root of their number.
        interval: Duration = "100us" from "the authors' ns-3", check up_to_1000_s;
    }
}

/// ECN# state of one queue. Times are in ps.
#[derive(Debug, Clone)]
pub struct EcnSharp {
    config: EcnSharpConfig,
    /// Time after which the delay has been above the target for an interval; `None`: it is below.
    long_after: Option<u64>,
    /// Number of marks against the standing queue, and time of the next one; `None`: no queue is
    /// standing.
    standing: Option<(u64, u64)>,
}

impl EcnSharp {
    /// Returns true if a frame that leaves after waiting for `sojourn` is marked.
    fn marks(&mut self, now: u64, sojourn: u64) -> bool {
        let persistent = self.marks_standing(now, sojourn);
        persistent || sojourn > self.config.instant.0
    }

    fn marks_standing(&mut self, now: u64, sojourn: u64) -> bool {
        let interval = self.config.interval.0;
        let long = if sojourn < self.config.target.0 {
            self.long_after = None;
            false
        } else {
            now > *self.long_after.get_or_insert(now + interval)
        };
        match self.standing {
            _ if !long => {
                self.standing = None;
                false
            }
            None => {
                self.standing = Some((1, now + interval));
                true
            }
            Some((marks, next)) if now >= next => {
                let step = interval as f64 / ((marks + 1) as f64).sqrt();
                self.standing = Some((marks + 1, now + step as u64));
                true
            }
            Some(_) => false,
        }
    }
}

impl Policy for EcnSharp {
    type Config = EcnSharpConfig;
    fn new(config: &EcnSharpConfig, _: Site, _: &mut Stream) -> Self {
        EcnSharp { config: config.clone(), long_after: None, standing: None }
    }
    fn about(_: &EcnSharpConfig) -> About {
        let useless = Some("a queue discipline that marks nothing");
        About { marks: true, useless, ..About::of(MODEL) }
    }
    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        _: u64,
    ) -> Option<(Waiting, Verdict)> {
        let waiting = frames.pop_front()?;
        let marks =
            self.marks(now, now.saturating_sub(waiting.ready)) && waiting.frame.has(Frame::ECT);
        Some((waiting, if marks { Verdict::Mark } else { Verdict::Admit }))
    }
}

pub const MODEL: Model = Model {
    kind: "marking",
    name: "ecn_sharp",
    source: "Zhang, Bai and Chen, CoNEXT 2019 (ECN#); the authors' ns-3 (ecn-sharp-queue-disc.cc)",
    faithful: "the time that a frame has waited decides when it leaves: above `instant` every frame is marked; if it has been at or above `target` for `interval`, \
               one frame is marked, then the next ones after `interval` divided by the square root of their number, until a frame has waited for less",
    simplified: "the wait ends at the start of the transmission; frames that are not ECN-capable pass, as in the authors' code",
};

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    const US: u64 = 1_000_000;

    fn rule() -> EcnSharp {
        let [instant, target, interval] = [20, 10, 100].map(Span::from_us);
        let config = EcnSharpConfig { instant, target, interval };
        EcnSharp::new(&config, Site::default(), &mut Stream::new(1, 1, 1))
    }

    #[test]
    fn long_waits_are_marked_at_once() {
        let mut rule = rule();
        assert!(!rule.marks(US, 20 * US) && rule.marks(2 * US, 20 * US + 1));
    }

    /// A wait of 15 us, between the two thresholds, in one frame per microsecond from 1 us on: the
    /// first mark comes after the interval, then marks come after 100, 100/√2, 100/√3 … us.
    #[test]
    fn a_standing_queue_is_marked_more_and_more_often() {
        let mut rule = rule();
        let marks: Vec<u64> = (1..=500).filter(|us| rule.marks(us * US, 15 * US)).collect();
        assert_eq!(marks, [102, 202, 273, 331, 381, 426, 467]);
        // One frame that has waited for less ends this; the interval then begins anew.
        assert!(!rule.marks(501 * US, 10 * US - 1));
        let marks: Vec<u64> = (502..=700).filter(|us| rule.marks(us * US, 15 * US)).collect();
        assert_eq!(marks, [603]);
    }

    #[test]
    fn frames_that_are_not_capable_pass() {
        let verdict = |flags| {
            let frame = Frame { size: 1_500, flags, ..Frame::default() };
            let mut frames = VecDeque::from([Waiting { frame, ready: 0, clock: 0 }]);
            rule().pull(&mut frames, 30 * US, 1_500).unwrap().1
        };
        assert_eq!((verdict(Frame::ECT), verdict(0)), (Verdict::Mark, Verdict::Admit));
    }
}
