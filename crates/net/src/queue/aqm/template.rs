//! Template for a queue discipline: marks departing frames while the queue is longer than a
//! threshold.
//!
//! `python -m docs.generator.new aqm NAME` copies this file.

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
    /// Parameters of Template.
    pub struct Keys as "Template" => TemplateConfig {
        /// Length of the queue above which departing frames are marked.
        threshold: Size as u64 = "100kB", check |Size(Bytes(bytes)), _| Ok(bytes);
    }
}

#[derive(Debug, Clone)]
pub struct Template {
    threshold: u64,
}

impl Policy for Template {
    type Config = TemplateConfig;
    fn new(config: &TemplateConfig, _: Site, _: &mut Stream) -> Self {
        Template { threshold: config.threshold }
    }
    fn about(config: &TemplateConfig) -> About {
        About { marks: true, threshold: config.threshold as f64, ..About::of(MODEL) }
    }
    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        _: u64,
        bytes: u64,
    ) -> Option<(Waiting, Verdict)> {
        let waiting = frames.pop_front()?;
        let marks = bytes > self.threshold && waiting.frame.has(Frame::ECT);
        Some((waiting, if marks { Verdict::Mark } else { Verdict::Admit }))
    }
}

pub const MODEL: Model = Model {
    kind: "marking",
    name: "template",
    source: "-",
    faithful: "a frame that leaves a queue longer than the threshold is marked",
    simplified: "frames that are not ECN-capable are neither marked nor dropped",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_capable_frames_of_a_long_queue_are_marked() {
        let config = TemplateConfig { threshold: 1_000 };
        let mut queue = Template::new(&config, Site::default(), &mut Stream::new(1, 1, 1));
        let mut leaves = |bytes, flags| {
            let frame = Frame { size: 1_000, flags, ..Frame::default() };
            let mut frames = VecDeque::from([Waiting { frame, ready: 0, clock: 0 }]);
            queue.pull(&mut frames, 0, bytes).unwrap().1
        };
        assert_eq!(leaves(1_000, Frame::ECT), Verdict::Admit);
        assert_eq!(leaves(1_001, Frame::ECT), Verdict::Mark);
        assert_eq!(leaves(1_001, 0), Verdict::Admit);
    }
}
