//! HULL's phantom queue: marks frames by a counter of departed bytes that is drained more slowly
//! than the link sends.

use super::policy::{About, Policy, Site};
use crate::Model;
use crate::frame::Frame;
use crate::queue::Verdict;
use crate::queue::waiting::Waiting;
use afflux_config::{Size, keys};
use afflux_engine::random::Stream;
use afflux_units::Bytes;
use std::collections::VecDeque;

keys! {
    /// Parameters of a phantom queue.
    pub struct Keys as "Phantom" => PhantomConfig {
        /// Rate at which the counter is drained, as a fraction of the link's rate (gamma).
        drain: f64 = 0.95 from "HULL", in 0.1 to 1.0 as "a share from 0.1 to 1, as in 0.95";
        /// A frame that finds more than this in the counter is marked.
        threshold: Size as u64 = "1kB" from "HULL at 1 Gbps", check |Size(Bytes(bytes)), _| Ok(bytes);
    }
}

#[derive(Debug, Clone)]
pub struct Phantom {
    /// Rate in bit/s at which the counter is drained.
    drain: f64,
    /// Threshold in bits.
    threshold: f64,
    counted: f64,
    at: u64,
}

impl Policy for Phantom {
    type Config = PhantomConfig;
    fn new(config: &PhantomConfig, Site { line, .. }: Site, _: &mut Stream) -> Self {
        Phantom {
            drain: config.drain * line as f64,
            threshold: config.threshold as f64 * 8.0,
            counted: 0.0,
            at: 0,
        }
    }
    fn about(config: &PhantomConfig) -> About {
        let useless = Some("a phantom queue that marks nothing");
        About { marks: true, useless, threshold: config.threshold as f64, ..About::of(MODEL) }
    }
    /// Removes the oldest frame at `now` (ps) and marks it if the counter exceeds the threshold.
    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        _: u64,
    ) -> Option<(Waiting, Verdict)> {
        let waiting = frames.pop_front()?;
        self.counted = (self.counted - self.drain * (now - self.at) as f64 / 1e12).max(0.0);
        self.at = now;
        let marks = self.counted > self.threshold && waiting.frame.has(Frame::ECT);
        self.counted += waiting.frame.size as f64 * 8.0;
        Some((waiting, if marks { Verdict::Mark } else { Verdict::Admit }))
    }
}

pub const MODEL: Model = Model {
    kind: "marking",
    name: "phantom",
    source: "Alizadeh et al., NSDI 2012 (HULL); pFabric.patch",
    faithful: "a counter of the bytes that leave a link, drained at a fraction of the link's rate (0.95); a frame that finds the counter above the \
               threshold (1 kB) is marked; the real queue does not matter",
    simplified: "in series only: departed bytes count, arriving ones do not (ns-2 has both); a frame is compared and then counted at the start of its \
                 transmission; frames that are not ECN-capable are neither marked nor dropped",
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Back-to-back frames of 1500 B on a link of 10 Gbps: each adds 5 % of its size to the
    /// counter.
    #[test]
    fn a_full_link_marks_once_the_counter_is_above_the_threshold() {
        let mut phantom = Phantom::new(
            &PhantomConfig { drain: 0.95, threshold: 1_000 },
            Site { line: 10_000_000_000, ..Site::default() },
            &mut Stream::new(1, 1, 1),
        );
        let frame = |flags| Waiting {
            frame: Frame { size: 1_500, flags, ..Frame::default() },
            ready: 0,
            clock: 0,
        };
        let mut leaves =
            |at: u64, flags| phantom.pull(&mut VecDeque::from([frame(flags)]), at, 0).unwrap().1;
        // Before frame n the counter is at 75 n bytes: above 1000 from the fifteenth frame on (n =
        // 14).
        for n in 0..14 {
            assert_eq!(leaves(n * 1_200_000, Frame::ECT), Verdict::Admit, "{n}");
        }
        assert_eq!(leaves(14 * 1_200_000, Frame::ECT), Verdict::Mark);
        assert_eq!(leaves(15 * 1_200_000, 0), Verdict::Admit);
        // At 90 % of the link's rate the counter drains by 83 B per frame.
        let from = 16 * 1_200_000;
        let marks = (0..100u64)
            .filter(|n| leaves(from + n * 1_200_000 * 10 / 9, Frame::ECT) == Verdict::Mark)
            .count();
        assert!((1..10).contains(&marks), "{marks}");
    }
}
