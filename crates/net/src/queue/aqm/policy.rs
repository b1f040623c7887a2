//! What a discipline is asked, and what others have to know of it.

use crate::Model;
use crate::frame::Frame;
use crate::queue::Verdict;
use crate::queue::waiting::Waiting;
use crate::spec::Limit;
use afflux_config::Duration;
use afflux_config::tree::{Key, Wrong};
use afflux_engine::random::Stream;
use afflux_units::Span;
use std::collections::VecDeque;

/// What a discipline does at a queue. With the default bodies it lets all frames in, and they wait in the port's queue.
pub trait Policy: Send + Sync {
    type Config
    where
        Self: Sized;
    /// For a queue at this place.
    fn new(config: &Self::Config, site: Site, stream: &mut Stream) -> Self
    where
        Self: Sized;
    fn about(config: &Self::Config) -> About
    where
        Self: Sized;
    /// A frame wants to join a queue of `bytes`.
    fn on_enqueue(&mut self, _now: u64, _bytes: u64, _capable: bool, _stream: &mut Stream) -> Verdict {
        Verdict::Admit
    }
    /// Takes the frame in; gives back those that cannot stay as they are, and what becomes of them.
    fn push(&mut self, frames: &mut VecDeque<Waiting>, waiting: Waiting, _stream: &mut Stream) -> Vec<(Frame, Verdict)> {
        frames.push_back(waiting);
        Vec::new()
    }
    /// The same where flows are told by this hash, not by that of their frames.
    fn push_as(&mut self, frames: &mut VecDeque<Waiting>, waiting: Waiting, _hash: u32, stream: &mut Stream) -> Vec<(Frame, Verdict)> {
        self.push(frames, waiting, stream)
    }
    /// The next frame to leave at `now`, and what becomes of it; if it is dropped, ask again. `bytes` is what is in the queue with it.
    fn pull(&mut self, frames: &mut VecDeque<Waiting>, now: u64, bytes: u64) -> Option<(Waiting, Verdict)>;
    /// The same where only frames of some classes may leave. A queue that is first in, first out waits with its head.
    fn pull_of(&mut self, frames: &mut VecDeque<Waiting>, now: u64, bytes: u64, may: &dyn Fn(u8) -> bool) -> Option<(Waiting, Verdict)> {
        if frames.front().is_some_and(|head| !may(head.frame.priority())) { None } else { self.pull(frames, now, bytes) }
    }
    /// The earliest time at which a frame may leave, where frames of a class may from `from(class)` on; `u64::MAX` without frames.
    fn earliest(&self, frames: &VecDeque<Waiting>, from: &dyn Fn(u8) -> u64) -> u64 {
        frames.front().map_or(u64::MAX, |head| from(head.frame.priority()))
    }
    /// A watchdog takes out all frames of a class.
    fn purge(&mut self, frames: &mut VecDeque<Waiting>, _now: u64, class: u8) -> Vec<Frame> {
        take_class(frames, class)
    }
    /// Bytes that leave before a frame that has just come, with its own, as far as can be told: `bytes` are held, and `hash` tells its flow.
    fn ahead(&self, bytes: u64, _frame: &Frame, _hash: u32) -> u64 {
        bytes
    }
    /// Frames that this discipline holds itself.
    fn held(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        Box::new(std::iter::empty())
    }
}

/// Where a queue is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Site {
    /// Bits per second of its link.
    pub line: u64,
    /// Bytes of the largest frame of the scenario.
    pub frame: u64,
    /// Bytes that shorter frames are padded to.
    pub least: u16,
}

/// Takes all frames of a class out of a queue.
pub fn take_class(frames: &mut VecDeque<Waiting>, class: u8) -> Vec<Frame> {
    let taken = frames.iter().map(|waiting| waiting.frame).filter(|frame| frame.priority() == class).collect();
    frames.retain(|waiting| waiting.frame.priority() != class);
    taken
}

/// What others have to know of a discipline.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub model: Model,
    /// Some ECN-capable frames are marked.
    pub marks: bool,
    /// It does nothing but mark: what it is where no frame can be marked.
    pub useless: Option<&'static str>,
    /// It tells flows by their hash and schedules them itself.
    pub alone: bool,
    /// It goes by the hash of frames.
    pub hashes: bool,
    /// It serves and drops by [`super::Order`], and does nothing else.
    pub urgent: bool,
    /// It does not know of pauses.
    pub unpausable: bool,
    /// It goes by what only some transports tell; the key that it stands at, and what is wrong where no data do.
    pub heeds: Option<(Hint, &'static str, &'static str)>,
    /// Bytes above which a queue marks all frames, if their number decides.
    pub threshold: f64,
    /// The most that a queue holds, if not the buffer says so.
    pub limit: Option<Limit>,
    /// Bytes of a queue's state, where they are many.
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
            urgent: false,
            unpausable: false,
            heeds: None,
            threshold: f64::INFINITY,
            limit: None,
            memory: 0,
        }
    }
}

/// What data may tell queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// How much of their flow remains.
    Remaining,
    /// That they may be cut to headers.
    Trimmable,
}

/// A time above 0, at most 1000 s.
pub fn up_to_1000_s(Duration(time): Duration, key: Key) -> Result<Span, Wrong> {
    match time {
        Span(0) => Err(Wrong::at(key, "\"0ps\": write a time above 0")),
        long if long > Span::from_s(1000) => Err(Wrong::at(key, format!("\"{long}\": write a time up to 1000s"))),
        time => Ok(time),
    }
}
