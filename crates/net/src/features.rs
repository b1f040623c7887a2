//! Features of ports that are not plain: marking, a discipline, PFC, recorders.

use crate::frame::Frame;
use crate::probe::hops::Watch;
use crate::queue::aqm::Policy;
use crate::queue::class::Queue;
use crate::queue::flowcontrol::Pause;
use crate::queue::marking::Memory;
use crate::queue::qdisc::Qdisc;
use crate::queue::scheduling::Turns;
use crate::queue::scheduling::about::Scheduling;
use crate::queue::waiting::Waiting;
use std::collections::VecDeque;

/// State of a port that is not plain, except for its lane and its transmitter.
#[derive(Default)]
pub struct Features {
    /// Averaged length and spacing of marks of each queue, as the marking rule remembers them.
    pub marking: Vec<QueueMarking>,
    /// Index of the queue of each priority.
    pub of_priority: [u8; 8],
    /// Bit set of the classes whose frames precede a new frame, by its priority.
    pub preceding: [u8; 8],
    /// Queues with policies of their own, which then hold the frames in place of the lane.
    pub discipline: Option<Box<Discipline>>,
    /// Queueing discipline of a host's kernel, which holds frames back. The only queue of the lane
    /// is then the ring of the card.
    pub qdisc: Option<Box<Qdisc>>,
    /// PFC state, if either end of the link sends PAUSE frames.
    pub pause: Option<Box<Pause>>,
    pub series: Option<Box<Series>>,
    /// Index into the run's captures.
    pub capture: Option<u32>,
    /// Recorder of the gaps and waits of frames, if the scenario asks for them.
    pub watch: Option<Box<Watch>>,
    /// Bytes sent before the current uplink window began, if uplinks are recorded.
    pub uplink: Option<u64>,
    /// Classical engine: time in ps of the event at which an idle port may send a waiting frame; 0
    /// for none.
    pub wake_at: u64,
}

/// State of a queue's marking rule.
#[derive(Default)]
pub struct QueueMarking {
    /// Time in ps at which the last transmission from this queue ends, if the rule averages.
    pub free_at: u64,
    pub memory: Memory,
}

/// Queues between admission and the transmitter, if the frames have AQM policies, take turns or pass
/// a device queue.
#[derive(Default)]
pub struct Discipline {
    pub queues: Vec<Queue>,
    /// AQM policy of each queue; empty if there are none.
    pub aqm: Vec<Box<dyn Policy>>,
    /// State of a scheduler in which queues take turns. Without it, strict priority applies: the
    /// highest queue goes first.
    pub turns: Option<Box<Turns>>,
    /// Device queue: frames that have left their queue (its index is the second part) and wait for
    /// the transmitter.
    pub device: VecDeque<(Waiting, u8)>,
    /// Capacity of the device queue in frames.
    pub capacity: usize,
    /// Number of frames in the queues and in the device queue.
    pub waiting: u32,
}

/// Transmission of a frame, for recorders.
pub struct Departure {
    pub start: u64,
    pub ends: u64,
    /// Time in ps since which the whole frame had been here and could have been sent.
    pub ready: u64,
}

/// Counters of a port since the last sample: index 0 is the whole port, then follow its queues if
/// there are several.
pub struct Series {
    pub rows: Vec<Interval>,
    pub rx_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Interval {
    pub bytes_max: u64,
    pub tx_bytes: u64,
    pub drops: u64,
    pub marks: u64,
    /// RDMA congestion notifications.
    pub cnps: u64,
    /// Frames discarded for lack of memory at the ingress of this port.
    pub in_discards: u64,
    pub latency_max: u64,
}

impl Features {
    pub fn new(queues: u8, scheduling: &Scheduling, series: bool) -> Self {
        let rows = if queues > 1 { queues as usize + 1 } else { 1 };
        Features {
            marking: (0..queues).map(|_| QueueMarking::default()).collect(),
            of_priority: scheduling.of_priority(),
            preceding: scheduling.preceding(),
            series: series
                .then(|| Box::new(Series { rows: vec![Interval::default(); rows], rx_bytes: 0 })),
            ..Features::default()
        }
    }

    /// True if the kernel's queueing discipline holds frames back.
    #[inline(always)]
    pub fn is_held_back(&self) -> bool {
        self.qdisc.as_ref().is_some_and(|qdisc| qdisc.holds())
    }

    /// Returns the time at which the first pause expires or the next credit arrives, at a port with
    /// a discipline. To be called while no queue may send.
    #[cold]
    pub fn held_until(&self) -> u64 {
        let d = self.discipline.as_ref().expect("a port with a discipline");
        let pause = self.pause.as_deref();
        if let Some(credits) = d.turns.as_ref().and_then(|turns| turns.credits()) {
            return credits.until(&|queue| d.free_from(pause, queue));
        }
        let pause = pause.expect("an idle transmitter has nothing to send, or is paused");
        let of_queues = d.queues.iter().enumerate().map(|(queue, q)| match d.aqm.get(queue) {
            Some(aqm) => aqm.earliest(&q.frames, &|class| pause.until(class)),
            None => q.frames.front().map_or(u64::MAX, |head| pause.until(head.frame.priority())),
        });
        of_queues.min().expect("a port has queues")
    }

    /// Returns the scheduler in which queues take turns, if there is one.
    fn turns(&self) -> Option<&Turns> {
        self.discipline.as_ref()?.turns.as_deref()
    }

    /// True if frames can wait although the transmitter is idle.
    pub fn may_hold(&self) -> bool {
        self.pause.is_some() || self.turns().is_some_and(|turns| turns.credits().is_some())
    }

    /// Updates schedulers with credits that can run out to `now`. To be called before anything
    /// changes at that time.
    #[cold]
    #[inline(never)]
    pub fn catch_up(&mut self, now: u64) {
        let pause = self.pause.as_deref();
        self.discipline.iter_mut().for_each(|d| d.catch_up(pause, now));
    }

    /// Counts a PAUSE frame that has left in the port series.
    #[cold]
    pub fn note_pause(&mut self, bytes: u64) {
        if let Some(series) = &mut self.series {
            series.rows[0].tx_bytes += bytes;
        }
    }

    /// Returns all frames that wait outside of the lane, with the time since which they wait.
    pub fn held(&self) -> impl Iterator<Item = &Waiting> {
        self.discipline
            .iter()
            .flat_map(|d| d.held())
            .chain(self.qdisc.iter().flat_map(|qdisc| qdisc.held()))
    }

    #[inline(always)]
    pub fn queue_of_priority(&self, priority: u8) -> usize {
        self.of_priority[priority as usize] as usize
    }

    #[inline(always)]
    pub fn queue_of(&self, frame: &Frame) -> usize {
        self.queue_of_priority(frame.priority())
    }

    /// Returns the queue of a frame that arrived through the switch's port `input`. Ingress cores
    /// may have separate queues.
    pub fn queue_from(&self, frame: &Frame, input: u32) -> usize {
        match self.turns() {
            Some(Turns::Cores(cores)) => cores.queue_of(frame.priority(), input),
            _ => self.queue_of(frame),
        }
    }

    /// True if the frames of `queue` precede a new frame of `priority`.
    pub fn precedes(&self, queue: usize, priority: u8) -> bool {
        let class = match self.turns() {
            Some(Turns::Cores(cores)) => cores.class_of(queue),
            _ => queue,
        };
        self.preceding[usize::from(priority)] >> class & 1 != 0
    }

    /// True if `queue` belongs to `class`.
    pub fn is_of_class(&self, queue: usize, class: u8) -> bool {
        match self.turns() {
            Some(Turns::Cores(cores)) => cores.is_of_class(queue, class),
            _ => self.queue_of_priority(class) == queue,
        }
    }

    /// Updates the interval rows of the whole port and of one queue.
    #[inline]
    pub fn note(&mut self, queue: usize, change: impl Fn(&mut Interval)) {
        if let Some(series) = &mut self.series {
            change(&mut series.rows[0]);
            if series.rows.len() > 1 {
                change(&mut series.rows[queue + 1]);
            }
        }
    }
}

impl Discipline {
    /// Returns all frames that wait here.
    pub fn held(&self) -> impl Iterator<Item = &Waiting> {
        self.queues
            .iter()
            .flat_map(|q| &q.frames)
            .chain(self.device.iter().map(|(waiting, _)| waiting))
            .chain(self.aqm.iter().flat_map(|aqm| aqm.held()))
    }

    /// Returns the time in ps from which `queue` may send, considering only pauses.
    fn free_from(&self, pause: Option<&Pause>, queue: usize) -> u64 {
        let Some(pause) = pause else { return 0 };
        let frames = &self.queues[queue].frames;
        match self.aqm.get(queue) {
            Some(aqm) => aqm.earliest(frames, &|class| pause.free_from(class)),
            None => frames.front().map_or(0, |head| pause.free_from(head.frame.priority())),
        }
    }

    /// Updates schedulers with credits that can run out to `now`.
    #[inline(always)]
    pub fn catch_up(&mut self, pause: Option<&Pause>, now: u64) {
        if self.turns.is_some() {
            self.catch_up_credits(pause, now);
        }
    }

    #[cold]
    #[inline(never)]
    fn catch_up_credits(&mut self, pause: Option<&Pause>, now: u64) {
        let mut turns = self.turns.take();
        if let Some(credits) = turns.as_mut().and_then(|turns| turns.credits_mut()) {
            credits.catch_up(now, &|queue| self.free_from(pause, queue));
        }
        self.turns = turns;
    }

    /// Tells the scheduler that the head of `queue`, which it had taken for transmission, was
    /// dropped.
    pub fn unsent(&mut self, queue: usize, bytes: u64) {
        if let Some(turns) = &mut self.turns {
            turns.give_back(&self.queues, queue, bytes);
            turns.dropped(queue, bytes);
        }
    }

    /// Subtracts a frame of `bytes` bytes from the occupancy of `queue`.
    #[inline(always)]
    pub fn leave(&mut self, queue: usize, bytes: u64) {
        let q = &mut self.queues[queue];
        q.bytes -= bytes;
        q.count -= 1;
    }
}
