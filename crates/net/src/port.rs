//! A port's transmitter, and what a port has beyond its queues.
//!
//! A *plain* port has one FIFO, decides nothing at the start of transmission and is not sampled. It
//! computes the departure of a frame at admission and keeps only the sizes of the frames that have
//! not left, so that occupancy stays exact. Any other port keeps its frames in its lane (see
//! `shard::hop`) or in its discipline, and is advanced on demand, to the time at which it is read.
//! The classical engine has no plain ports. There an event at the end of each transmission drives
//! the ports.

use crate::frame::Frame;
use crate::probe::hops::Watch;
use crate::queue::aqm::Policy;
pub use crate::queue::class::Queue;
use crate::queue::flowcontrol::Pause;
use crate::queue::marking::Memory;
use crate::queue::qdisc::Qdisc;
use crate::queue::scheduling::Turns;
pub use crate::queue::waiting::Waiting;
use crate::queue::FastPathLimits;
use crate::timing::Noise;
use crate::world::cut_off;
use afflux_engine::random::Stream;
use afflux_units::{Pace, Rate};
use std::collections::VecDeque;

/// Transmitter and queues of a port. The explicit layout puts all fields that a plain port needs
/// per frame, and the pointer to an automaton, into the first two cache lines.
#[repr(C, align(64))]
pub struct Port {
    /// Time in ps at which the transmitter becomes idle: after all admitted frames (plain port) or
    /// after the current frame.
    pub free_at: u64,
    /// Plain: end of transmission, in ps, of the oldest frame that has not been released;
    /// `u64::MAX` if there is none.
    pub head_end: u64,
    /// Plain: bytes of the frames that have not been released. Otherwise: bytes that wait in the lane
    /// or the discipline, without the frame in transmission.
    pub queued: u64,
    /// Plain: sizes of the frames that have not been released, oldest first.
    sizes: Sizes,
    /// Frames counted so far. Plain: frames admitted. Otherwise: frames whose transmission has
    /// started.
    pub frames: u64,
    /// Time in ps from the last bit leaving this port until the peer processes the frame.
    pub delay: u64,
    // Fields that no frame changes separate the counters. The compiler counts neighbours by one
    // vector addition, whose operand takes four more instructions to build.
    pub bytes: u64,
    pace: Pace,
    busy: u64,
    gap: u16,
    /// Bytes of a frame after which a cut-through peer processes it; `u16::MAX` if the peer waits
    /// for the whole frame.
    pub header: u16,
    pub peer_port: u32,
    pub peer_shard: u16,
    pub plain: bool,
    /// True once a PAUSE frame has been sent or received here.
    pub pause_seen: bool,
    /// True if transmissions last whole nanoseconds. Such a port is not plain.
    whole_ns: bool,
    /// Part of the traffic that `noise` delays: `RECEIVED`, `SENT` or both.
    delays: u8,
    /// True if the times of a transmission do not follow from rate and delay alone: the peer cuts
    /// through, a timing model delays frames, or transmissions last whole nanoseconds.
    special: bool,
    pub automaton: Option<Box<Automaton>>,
    pub node: u32,
    /// True if the link towards this port loses frames or goes down.
    pub faulty: bool,
    pub rate: u64,
    /// Plain: averaged queue length and spacing of marks. An automaton keeps them per queue.
    pub memory: Memory,
    /// Random numbers for marking.
    pub stream: Stream,
    /// Timing model of the hosts at both ends of the link.
    noise: Option<Box<Noise>>,
    /// Rate in bit/s of the incoming direction. A link may have a different rate in each direction.
    pub incoming: u64,
    incoming_pace: Pace,
}

const _: () = assert!(std::mem::offset_of!(Port, node) == 128);

/// What a port that is not plain has beyond its lane and its transmitter.
#[derive(Default)]
pub struct Automaton {
    /// Averaged length and spacing of marks of each queue, as the marking rule remembers them.
    pub marking: Vec<QueueMarking>,
    /// Index of the queue of each priority.
    pub of_priority: [u8; 8],
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

/// What a marking rule remembers about a queue.
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

/// Bit of `Port::delays`: noise delays frames that the peer receives.
const RECEIVED: u8 = 1;
/// Bit of `Port::delays`: noise delays transmissions.
const SENT: u8 = 2;

/// Queue index that stands for PAUSE frames, which wait in no queue.
pub const PAUSE_QUEUE: u8 = u8::MAX;

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

/// Settings of a port, from the topology and the node's configuration.
pub struct PortSetup {
    pub node: u32,
    pub rate: u64,
    /// Rate of the opposite direction in bit/s.
    pub incoming: u64,
    pub delay: u64,
    pub gap: u16,
    pub header: Option<u16>,
    pub peer_port: u32,
    pub peer_shard: u16,
    pub faulty: bool,
    pub stream: Stream,
    /// Rate in bit/s according to the port's own clock.
    pub clocked: u64,
    pub noise: Option<Noise>,
    /// True if the timing model of the peer (a host) delays received frames.
    pub delays: bool,
    /// True if the timing model of the port's own host delays transmissions.
    pub late: bool,
    /// True if the port computes departures at admission.
    pub plain: bool,
    /// Resolution in ps to which times on the link are rounded down. Above 1 only for automata.
    pub tick: u64,
    pub automaton: Option<Automaton>,
}

impl Port {
    pub fn new(setup: PortSetup) -> Self {
        Port {
            free_at: 0,
            head_end: u64::MAX,
            queued: 0,
            sizes: Sizes::default(),
            delay: setup.delay,
            pace: Rate(setup.clocked).pace(),
            gap: setup.gap,
            header: setup.header.unwrap_or(u16::MAX),
            peer_port: setup.peer_port,
            peer_shard: setup.peer_shard,
            plain: setup.plain,
            pause_seen: false,
            whole_ns: setup.tick > 1,
            delays: if setup.delays { RECEIVED } else { 0 } | if setup.late { SENT } else { 0 },
            special: setup.delays
                || setup.noise.is_some()
                || setup.header.is_some()
                || setup.tick > 1,
            faulty: setup.faulty,
            node: setup.node,
            rate: setup.rate,
            frames: 0,
            bytes: 0,
            busy: 0,
            memory: Memory::default(),
            stream: setup.stream,
            noise: setup.noise.map(Box::new),
            incoming: setup.incoming,
            incoming_pace: Rate(setup.incoming).pace(),
            automaton: setup.automaton.map(Box::new),
        }
    }

    /// Returns the PFC state, if either end of the link sends PAUSE frames.
    #[inline(always)]
    pub fn pause(&self) -> Option<&Pause> {
        self.automaton.as_ref()?.pause.as_deref()
    }

    /// Returns the queueing discipline of the host's kernel for this port.
    #[inline(always)]
    pub fn qdisc(&self) -> Option<&Qdisc> {
        self.automaton.as_ref()?.qdisc.as_deref()
    }

    /// Returns the transmission time in ps of a frame of `size` bytes, for an automaton.
    #[inline(always)]
    pub fn transmission(&self, size: u16) -> u64 {
        let time = self.serialize(size);
        if self.whole_ns { in_whole_ns(time) } else { time }
    }

    /// Returns the time in ps that a frame of `size` bytes takes to arrive on the incoming link.
    pub fn arrival(&self, size: u16) -> u64 {
        let time = self.incoming_pace.of(size as u64 + self.gap as u64);
        if self.whole_ns { in_whole_ns(time) } else { time }
    }

    /// Returns the transmission time in ps of `size` bytes and a gap, for a plain port.
    #[inline(always)]
    pub fn serialize(&self, size: u16) -> u64 {
        self.pace.of(size as u64 + self.gap as u64)
    }

    /// Returns the time in ps from the start of transmission until the peer can process the frame,
    /// without the link delay.
    #[inline(always)]
    pub fn first_bits(&self, size: u16) -> u64 {
        self.transmission(size.min(self.header))
    }

    /// Returns the time at which the peer processes a frame that arrives at `at`.
    #[inline(always)]
    pub fn received(&mut self, at: u64, frame: &Frame) -> u64 {
        if self.delays & RECEIVED != 0 { self.delayed(at, frame) } else { at }
    }

    #[inline(never)]
    fn delayed(&mut self, at: u64, frame: &Frame) -> u64 {
        self.noise.as_mut().map_or(at, |noise| noise.received(at, frame))
    }

    /// Automaton: gives the transmitter a frame at `at`, which keeps it busy until the end of the
    /// frame. Returns the start and the duration of the transmission.
    #[inline(always)]
    pub fn begin(&mut self, at: u64, frame: &Frame) -> (u64, u64) {
        let time = self.transmission(frame.size);
        let start =
            if self.noise.is_some() { self.begin_late(at, time, frame) } else { (at, at + time) };
        self.free_at = start.1;
        (start.0, time)
    }

    /// Open port: gives the transmitter a frame at `at`. Returns the duration of the transmission,
    /// and the time at which the peer processes the frame.
    #[inline(always)]
    pub fn start(&mut self, at: u64, frame: &Frame) -> (u64, u64) {
        if self.special {
            return self.start_specially(at, frame);
        }
        let time = self.serialize(frame.size);
        self.free_at = at + time;
        (time, at + time + self.delay)
    }

    #[inline(never)]
    fn start_specially(&mut self, at: u64, frame: &Frame) -> (u64, u64) {
        let (at, time) = self.begin(at, frame);
        (time, self.arrives(at, time, frame))
    }

    /// Returns the time at which the peer processes a frame whose transmission starts at `at` and
    /// takes `time`. A cut-through peer processes the frame as soon as the header has arrived.
    #[inline(always)]
    pub fn arrives(&mut self, at: u64, time: u64, frame: &Frame) -> u64 {
        if self.special {
            return self.arrives_specially(at, time, frame);
        }
        at + time + self.delay
    }

    #[inline(never)]
    fn arrives_specially(&mut self, at: u64, time: u64, frame: &Frame) -> u64 {
        let first_bits = if frame.size <= self.header { time } else { self.first_bits(frame.size) };
        self.received(at + first_bits + self.delay, frame)
    }

    /// Returns the start of a transmission that noise delays, and its end including the additional
    /// gap.
    #[inline(never)]
    fn begin_late(&mut self, at: u64, time: u64, frame: &Frame) -> (u64, u64) {
        let noise = self.noise.as_mut().expect("just seen");
        let start = if at > self.free_at { noise.starts(at, frame) } else { at };
        (start, start + time + noise.gap(time))
    }

    /// Returns the mean time in ps from the start of a frame to the start of the next one, for
    /// frames sent back to back.
    pub fn pitch(&self, size: u16) -> u64 {
        let time = self.serialize(size);
        time + self.noise.as_ref().map_or(0, |noise| noise.mean_gap(time))
    }

    /// Plain: releases all frames if every one has left by `now`. Returns the bytes released.
    #[inline(always)]
    pub fn release_idle(&mut self, now: u64) -> u64 {
        if self.free_at > now {
            return 0;
        }
        self.sizes.clear();
        self.head_end = u64::MAX;
        std::mem::take(&mut self.queued)
    }

    /// Plain: releases the frames that have left by `now`. Returns the bytes released.
    #[inline(always)]
    pub fn release(&mut self, now: u64) -> u64 {
        if self.head_end > now {
            return 0;
        }
        if self.free_at <= now {
            return self.release_idle(now);
        }
        // Transmissions have been back to back since the port was last idle.
        let mut freed = 0;
        while self.head_end <= now {
            freed += self.sizes.pop() as u64;
            self.head_end += self.serialize(self.sizes.head());
            if self.is_late() {
                self.head_end += self.noise.as_mut().map_or(0, |noise| noise.next_gap());
            }
        }
        self.queued -= freed;
        freed
    }

    /// Plain: admits a frame at `now`. Returns the start and the duration of its transmission. An
    /// idle port must have been released before.
    #[inline(always)]
    pub fn append(&mut self, now: u64, size: u16) -> (u64, u64) {
        let start = self.free_at.max(now);
        self.queued += size as u64;
        (start, self.transmit(start, size))
    }

    /// True if the port belongs to a host whose timing model delays transmissions.
    #[inline(always)]
    pub fn is_late(&self) -> bool {
        self.delays & SENT != 0
    }

    /// Plain, with a timing model that delays transmissions: admits a frame at `now`. Returns the
    /// start and the duration of its transmission. A plain port sends frames in order of arrival,
    /// so the delays can be drawn at arrival.
    #[inline(never)]
    pub fn append_late(&mut self, now: u64, frame: &Frame) -> (u64, u64) {
        let time = self.serialize(frame.size);
        let noise = self.noise.as_mut().expect("it is late");
        let start = if now > self.free_at { noise.starts(now, frame) } else { self.free_at };
        let gap = noise.gap(time);
        noise.keep_gap(gap, self.sizes.len() == 0);
        self.queued += frame.size as u64;
        self.free_at = start + time + gap;
        self.head_end = self.head_end.min(self.free_at);
        self.sizes.push(frame.size);
        self.count_sent(frame.size, time);
        (start, time)
    }

    /// Plain: starts the transmission of a frame at `start`. Returns its duration in ps.
    #[inline(always)]
    pub fn transmit(&mut self, start: u64, size: u16) -> u64 {
        let time = self.serialize(size);
        self.free_at = start + time;
        self.head_end = self.head_end.min(self.free_at);
        self.sizes.push(size);
        self.count_sent(size, time);
        time
    }

    #[inline(always)]
    pub fn count_sent(&mut self, size: u16, time: u64) {
        self.frames += 1;
        self.bytes += size as u64;
        self.busy += time;
    }

    /// Plain: returns the bytes that wait, without the frame in transmission. The port must have
    /// been released to the current time.
    pub fn plain_waiting(&self) -> u64 {
        if self.sizes.len() == 0 { 0 } else { self.queued - self.sizes.head() as u64 }
    }

    /// Returns the bytes whose transmission has begun. The port must have been released or advanced
    /// to the current time.
    pub fn begun(&self) -> u64 {
        // All frames of a plain port except the first one wait. Other ports count a frame when its
        // transmission starts, and have no sizes.
        if self.sizes.len() == 0 {
            self.bytes
        } else {
            self.bytes - self.queued + self.sizes.head() as u64
        }
    }

    /// Fast path, for plain or idle ports: true if a frame of `size` bytes can be admitted without
    /// asking any policy, while `used` bytes of the node's memory are in use.
    #[inline(always)]
    pub fn takes_at_once(&self, fast_path: &FastPathLimits, used: u64, size: u64) -> bool {
        used + size <= fast_path.used
            && self.queued + size <= fast_path.queue
            && self.plain_count() < fast_path.frames
            && self.can_append()
    }

    /// Plain: returns the bytes that occupy the buffer at `now`, after all events up to then. It
    /// serves observers, so it does not release the port.
    pub fn holds(&self, now: u64) -> u64 {
        if self.sizes.len() == 0 {
            return self.queued;
        }
        if self.free_at <= now {
            return self.queued - self.plain_bytes();
        }
        let (mut end, mut left) = (self.head_end, self.queued);
        let mut sizes = self.sizes.iter().peekable();
        let mut gaps = self
            .noise
            .iter()
            .filter(|_| self.is_late())
            .flat_map(|noise| noise.kept_gaps())
            .skip(1);
        while end <= now
            && let Some(size) = sizes.next()
        {
            left -= size as u64;
            end += sizes.peek().map_or(0, |next| self.serialize(*next) + gaps.next().unwrap_or(0));
        }
        left
    }

    /// Plain: true if the ring of sizes can take one more frame without growing.
    #[inline(always)]
    pub fn can_append(&self) -> bool {
        (self.sizes.len() as usize) < self.sizes.ring.len()
    }

    /// Sends a PAUSE frame at `at`, for a port that is not plain.
    pub fn send_pause(&mut self, at: u64, frame: &Frame) {
        let time = self.transmission(frame.size);
        self.free_at = at + time;
        self.count_sent(frame.size, time);
    }

    /// Plain: returns the bytes of the frames that have not been released.
    pub fn plain_bytes(&self) -> u64 {
        self.sizes.iter().map(|size| size as u64).sum()
    }

    /// Returns the number of frames in a plain port, including those that have left since it was
    /// last released.
    #[inline(always)]
    pub fn plain_count(&self) -> u32 {
        self.sizes.len()
    }

    /// Updates the interval rows of the whole port and of one queue, if the port is sampled.
    pub fn note(&mut self, queue: usize, change: impl Fn(&mut Interval)) {
        if let Some(a) = &mut self.automaton {
            a.note(queue, change);
        }
    }

    /// Updates the maximum queue length of the interval: `total` bytes at the port, and `of_queue`
    /// bytes in `queue`.
    #[cold]
    pub fn note_length(&mut self, total: u64, queue: usize, of_queue: u64) {
        if let Some(series) = self.automaton.as_mut().and_then(|a| a.series.as_mut()) {
            series.rows[0].bytes_max = series.rows[0].bytes_max.max(total);
            if series.rows.len() > 1 {
                series.rows[queue + 1].bytes_max = series.rows[queue + 1].bytes_max.max(of_queue);
            }
        }
    }

    /// Returns the number, the bytes and the total time of transmissions that have ended by `end`.
    /// `latest`: size of the frame whose transmission started last, for a port that is not plain.
    /// The port must have been released or advanced to `end`.
    pub fn ended(&self, end: u64, latest: u16) -> (u64, u64, u64) {
        let left = self.plain_bytes();
        let left_time: u64 = self.sizes.iter().map(|s| self.serialize(s)).sum();
        let (frames, bytes, busy) =
            (self.frames - self.sizes.len() as u64, self.bytes - left, self.busy - left_time);
        if latest > 0 && self.free_at > end {
            return (frames - 1, bytes - latest as u64, busy - self.transmission(latest));
        }
        (frames, bytes, busy)
    }
}

/// A ring of frame sizes.
#[derive(Default)]
struct Sizes {
    /// Storage, empty or with a power of two of entries.
    ring: Box<[u16]>,
    head: u32,
    tail: u32,
}

impl Sizes {
    fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }
    #[inline(always)]
    fn clear(&mut self) {
        self.head = self.tail;
    }
    #[inline(always)]
    fn at(&self, position: u32) -> u16 {
        self.ring[position as usize & (self.ring.len() - 1)]
    }
    #[inline(always)]
    fn head(&self) -> u16 {
        self.at(self.head)
    }
    #[inline(always)]
    fn pop(&mut self) -> u16 {
        let size = self.head();
        self.head = self.head.wrapping_add(1);
        size
    }
    #[inline(always)]
    fn push(&mut self, size: u16) {
        if self.len() as usize == self.ring.len() {
            self.grow();
        }
        let mask = self.ring.len() - 1;
        self.ring[self.tail as usize & mask] = size;
        self.tail = self.tail.wrapping_add(1);
    }
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut larger: Vec<u16> = self.iter().collect();
        self.head = 0;
        self.tail = larger.len() as u32;
        larger.resize((2 * larger.len()).max(16), 0);
        self.ring = larger.into();
    }
    fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        (0..self.len()).map(|i| self.at(self.head.wrapping_add(i)))
    }
}

impl Automaton {
    pub fn new(queues: u8, of_priority: [u8; 8], series: bool) -> Self {
        let rows = if queues > 1 { queues as usize + 1 } else { 1 };
        Automaton {
            marking: (0..queues).map(|_| QueueMarking::default()).collect(),
            of_priority,
            series: series
                .then(|| Box::new(Series { rows: vec![Interval::default(); rows], rx_bytes: 0 })),
            ..Automaton::default()
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
            None => {
                q.frames.front().map_or(u64::MAX, |head| pause.until(head.frame.priority()))
            }
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

    /// Returns the first queue of the class of `priority`. The queues after it belong to this class
    /// or to higher ones.
    pub fn first_queue_of(&self, priority: u8) -> usize {
        match self.turns() {
            Some(Turns::Cores(cores)) => cores.queue_of(priority, 0),
            _ => self.queue_of_priority(priority),
        }
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

#[cold]
fn in_whole_ns(time: u64) -> u64 {
    cut_off(time, 1_000)
}
