//! Queue disciplines that control delay: pure state machines, which are told of arrivals and departures and answer with verdicts. The
//! port acts: it holds the frames (but for FQ-CoDel, which has queues of its own), counts, and drops. Beside them pFabric's queue, which drops and
//! serves by urgency, HULL's phantom queue, which marks by what has left, and NDP's, which trims.

mod codel;
pub mod config;
mod fq_codel;
mod pfabric;
mod phantom;
mod pie;
mod trim;

pub use config::Config;

pub use codel::{Codel, Control};
pub use fq_codel::FqCodel;
pub use pfabric::Pfabric;
pub use phantom::Phantom;
pub use pie::Pie;
pub use trim::Trim;

use crate::Model;
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use afflux_engine::random::Stream;
use std::collections::VecDeque;

/// The discipline of one queue.
pub enum Aqm {
    Codel(Codel),
    FqCodel(Box<FqCodel>),
    Pie(Pie),
    Pfabric(Pfabric),
    Phantom(Phantom),
    Trim(Trim),
}

impl Aqm {
    /// On a link of `line` bits per second.
    pub fn new(config: &Config, line: u64, stream: &mut Stream) -> Self {
        match config {
            Config::Codel(control) => Aqm::Codel(Codel::new(Control::new(control))),
            Config::FqCodel(config) => Aqm::FqCodel(Box::new(FqCodel::new(config, stream.next_u64()))),
            Config::Pie(config) => Aqm::Pie(Pie::new(config)),
            Config::Pfabric(limit) => Aqm::Pfabric(Pfabric::new(*limit)),
            Config::Phantom(config) => Aqm::Phantom(Phantom::new(config, line)),
            Config::Trim(config) => Aqm::Trim(Trim::new(config)),
        }
    }

    /// A frame wants to join a queue of `bytes`.
    pub fn on_enqueue(&mut self, now: u64, bytes: u64, capable: bool, stream: &mut Stream) -> Verdict {
        match self {
            Aqm::Pie(pie) => pie.on_enqueue(now, bytes, capable, stream),
            _ => Verdict::Admit,
        }
    }

    /// Takes the frame in; gives back those that cannot stay as they are, and what becomes of them.
    pub fn push(&mut self, frames: &mut VecDeque<Waiting>, waiting: Waiting, stream: &mut Stream) -> Vec<(Frame, Verdict)> {
        let dropped = |frame| (frame, Verdict::Drop(Reason::Buffer));
        match self {
            Aqm::FqCodel(fq) => fq.push(waiting).into_iter().map(dropped).collect(),
            Aqm::Pfabric(queue) => queue.push(frames, waiting).into_iter().map(dropped).collect(),
            Aqm::Trim(queue) => queue.push(frames, waiting, stream).into_iter().collect(),
            _ => {
                frames.push_back(waiting);
                Vec::new()
            }
        }
    }

    /// The next frame to leave at `now`, and what becomes of it; if it is dropped, ask again. `bytes` is what is in the queue with it.
    pub fn pull(&mut self, frames: &mut VecDeque<Waiting>, now: u64, bytes: u64) -> Option<(Waiting, Verdict)> {
        match self {
            Aqm::FqCodel(fq) => return fq.pull(now),
            Aqm::Pfabric(queue) => return queue.pull(frames).map(|w| (w, Verdict::Admit)),
            Aqm::Phantom(phantom) => return phantom.pull(frames, now),
            Aqm::Trim(queue) => return queue.pull(frames).map(|w| (w, Verdict::Admit)),
            _ => {}
        }
        let next = frames.pop_front();
        match self {
            Aqm::Codel(codel) => match next {
                Some(w) => {
                    let verdict = codel.on_dequeue(now, now.saturating_sub(w.ready), bytes - w.frame.size as u64, w.frame.has(Frame::ECT));
                    Some((w, verdict))
                }
                None => {
                    codel.on_empty();
                    None
                }
            },
            Aqm::Pie(pie) => next.inspect(|w| pie.on_dequeue(now, now.saturating_sub(w.ready), frames.is_empty())).map(|w| (w, Verdict::Admit)),
            Aqm::FqCodel(_) | Aqm::Pfabric(_) | Aqm::Phantom(_) | Aqm::Trim(_) => unreachable!("above"),
        }
    }

    /// Frames that this discipline holds itself.
    pub fn held(&self) -> impl Iterator<Item = &Waiting> {
        let (fq, trim) = match self {
            Aqm::FqCodel(fq) => (Some(fq), None),
            Aqm::Trim(trim) => (None, Some(trim)),
            _ => (None, None),
        };
        fq.into_iter().flat_map(|fq| fq.held()).chain(trim.into_iter().flat_map(|trim| trim.held()))
    }
}

pub const MODELS: &[Model] = &[codel::MODEL, fq_codel::MODEL, pie::MODEL, pfabric::MODEL, phantom::MODEL, trim::MODEL];
