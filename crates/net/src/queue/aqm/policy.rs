//! Interface of queue disciplines, and their properties that other modules need.

use crate::Model;
use crate::frame::Frame;
use crate::queue::Verdict;
use crate::queue::waiting::Waiting;
use crate::spec::Limit;
use afflux_config::Duration;
use afflux_config::keys::{SHORTEST_PERIOD, time_within};
use afflux_config::tree::{Key, Wrong};
use afflux_engine::random::Stream;
use afflux_units::Span;
use std::collections::VecDeque;

/// A discipline at one queue. The default methods admit all frames and keep them in the port's
/// queue.
pub trait Policy: Send + Sync {
    type Config
    where
        Self: Sized;
    /// Creates the discipline for a queue at `site`.
    fn new(config: &Self::Config, site: Site, stream: &mut Stream) -> Self
    where
        Self: Sized;
    fn about(config: &Self::Config) -> About
    where
        Self: Sized;
    /// Decides about a frame that arrives at a queue of `_bytes` bytes. `_capable`: it is
    /// ECN-capable.
    fn on_enqueue(
        &mut self,
        _now: u64,
        _bytes: u64,
        _capable: bool,
        _stream: &mut Stream,
    ) -> Verdict {
        Verdict::Admit
    }
    /// Enqueues a frame. Returns each frame that is marked, trimmed or dropped as a result, with
    /// its verdict.
    fn push(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        waiting: Waiting,
        _stream: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        frames.push_back(waiting);
        Vec::new()
    }
    /// Enqueues a frame as [`Self::push`] does, but distinguishes flows by `_hash` instead of by
    /// the hash in the frame.
    fn push_as(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        waiting: Waiting,
        _hash: u32,
        stream: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        self.push(frames, waiting, stream)
    }
    /// Removes and returns the next frame to leave at `now`, with its verdict. If the verdict is a
    /// drop, the caller calls again. `bytes` is the length of the queue including this frame.
    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        bytes: u64,
    ) -> Option<(Waiting, Verdict)>;
    /// Removes and returns the next frame, like [`Self::pull`], if only the classes for which `may`
    /// is true may leave. By default the queue is FIFO: if its head may not leave, no frame does.
    fn pull_of(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        now: u64,
        bytes: u64,
        may: &dyn Fn(u8) -> bool,
    ) -> Option<(Waiting, Verdict)> {
        if frames.front().is_some_and(|head| !may(head.frame.priority())) {
            None
        } else {
            self.pull(frames, now, bytes)
        }
    }
    /// Returns the frame that leaves next, unless it is dropped then.
    fn head<'f>(&'f self, frames: &'f VecDeque<Waiting>) -> Option<&'f Waiting> {
        frames.front()
    }
    /// Returns the earliest time in ps at which a frame may leave; `u64::MAX` if there is no frame.
    /// `from(class)` is the time from which frames of a class may leave.
    fn earliest(&self, frames: &VecDeque<Waiting>, from: &dyn Fn(u8) -> u64) -> u64 {
        self.head(frames).map_or(u64::MAX, |head| from(head.frame.priority()))
    }
    /// Removes and returns all frames of a class, for the PFC watchdog.
    fn purge(&mut self, frames: &mut VecDeque<Waiting>, _now: u64, class: u8) -> Vec<Frame> {
        take_class(frames, class)
    }
    /// Estimates the bytes that leave up to and including a frame that has just arrived. `bytes`
    /// are held in total, and `_hash` identifies the frame's flow.
    fn bytes_before(&self, bytes: u64, _frame: &Frame, _hash: u32) -> u64 {
        bytes
    }
    /// Returns the frames that the discipline holds itself.
    fn held(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        Box::new(std::iter::empty())
    }
}

/// Link and frame sizes of a queue's port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Site {
    /// Rate of the link in bit/s.
    pub line: u64,
    /// Size in bytes of the largest frame of the scenario.
    pub frame: u64,
    /// Size in bytes to which shorter frames are padded.
    pub least: u16,
}

/// Removes and returns all frames of a class from a queue.
pub fn take_class(frames: &mut VecDeque<Waiting>, class: u8) -> Vec<Frame> {
    let taken = frames
        .iter()
        .map(|waiting| waiting.frame)
        .filter(|frame| frame.priority() == class)
        .collect();
    frames.retain(|waiting| waiting.frame.priority() != class);
    taken
}

/// Properties of a discipline that other modules need.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    /// True if the discipline marks ECN-capable frames.
    pub marks: bool,
    /// For a discipline that only marks: description, for a warning, of a queue where no frame can
    /// be marked.
    pub useless: Option<&'static str>,
    /// True if the discipline distinguishes flows by hash and schedules them itself.
    pub alone: bool,
    /// True if the discipline uses the hash of frames.
    pub hashes: bool,
    /// True if the discipline serves and drops frames in pFabric's order and does nothing else.
    pub pfabric_order: bool,
    /// True if the discipline does not support PFC pauses.
    pub unpausable: bool,
    /// Hint in data frames that the discipline depends on and that only some transports set. Next:
    /// the scenario key to report, and the error text if no traffic sets the hint.
    pub requires_tag: Option<(QueueTag, &'static str, &'static str)>,
    /// Queue length in bytes above which all frames are marked, for disciplines that mark by queue
    /// length.
    pub threshold: f64,
    /// Limit of the queue, if the discipline sets it instead of the buffer.
    pub limit: Option<Limit>,
    /// Size in bytes of a queue's state, if it is large.
    pub memory: u64,
}

impl About {
    pub const fn of(model: Model) -> Self {
        About {
            model,
            marks: false,
            useless: None,
            alone: false,
            hashes: false,
            pfabric_order: false,
            unpausable: false,
            requires_tag: None,
            threshold: f64::INFINITY,
            limit: None,
            memory: 0,
        }
    }
}

/// Hint that data frames carry for queue disciplines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueTag {
    /// The number of bytes that remain of the flow.
    Remaining,
    /// The frame may be trimmed to its header.
    Trimmable,
}

/// Checks the time between two updates of a probability: at least 100 ns and at most 1000 s. All
/// updates that are due are made one by one.
pub fn update_period(time: Duration, key: Key) -> Result<Span, Wrong> {
    time_within(time, SHORTEST_PERIOD, Span::from_s(1000), key)
}

/// Checks a time: it must be above 0 and at most 1000 s.
pub fn up_to_1000_s(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    match time {
        Span(0) => Err(Wrong::at(key, "\"0ps\": write a time above 0")),
        long if long > Span::from_s(1000) => {
            Err(Wrong::at(key, format!("\"{long}\": write a time up to 1000s")))
        }
        time => Ok(time),
    }
}
