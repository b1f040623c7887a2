//! A port's transmitter and queues.
//!
//! A *plain* port has one FIFO, decides nothing at the start of transmission and is not sampled. It
//! computes the departure of a frame at admission and keeps only the sizes of the frames that have
//! not left, so that occupancy stays exact. Any other port is an *automaton*: it holds its frames
//! and is advanced on demand, to the time at which it is read. The classical engine runs all ports
//! as automata, driven by an event at the end of each transmission.

use crate::frame::Frame;
use crate::probe::hops::Watch;
use crate::queue::aqm::Policy;
pub use crate::queue::class::Queue;
use crate::queue::flowcontrol::Pause;
use crate::queue::marking::Memory;
use crate::queue::qdisc::Qdisc;
use crate::queue::scheduling::Turns;
pub use crate::queue::waiting::Waiting;
use crate::queue::{FastPathLimits, QueueView};
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
    /// after the current frame (automaton).
    pub free_at: u64,
    /// Plain: end of transmission, in ps, of the oldest frame that has not been released;
    /// `u64::MAX` if there is none.
    pub head_end: u64,
    /// Bytes that occupy the buffer.
    pub queued: u64,
    /// Plain: sizes of the frames that have not been released, oldest first.
    sizes: Sizes,
    /// Frames counted so far. Plain: frames admitted. Automaton: frames whose transmission has
    /// ended.
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
    /// True while the port keeps its frames in its lane (see `shard::hop`). The automaton is empty
    /// then.
    pub open: bool,
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

/// Queues of a port that decides at the start of transmission. The explicit layout puts the fields
/// that every frame needs into one cache line.
#[repr(C, align(64))]
pub struct Automaton {
    pub queues: Vec<Queue>,
    /// Bit set of queues that may have frames, for ports with up to eight queues. A bit is set when
    /// a frame joins and cleared when the queue is found empty.
    occupied: u8,
    /// Frame in transmission. If there is none, no frame waits that could be sent.
    pub sending: Option<Sending>,
    /// Index of the queue of each priority.
    of_priority: [u8; 8],
    pub waiting: u32,
    /// Size in bytes of the frame whose transmission ended last.
    pub latest: u16,
    /// True if the port is in the node's list of ports with waiting frames.
    pub listed: bool,
    /// State of a scheduler in which queues take turns. Without it, strict priority applies: the
    /// highest queue goes first.
    pub turns: Option<Box<Turns>>,
    /// AQM policies and device queue, if the port has any.
    pub discipline: Option<Box<Discipline>>,
    /// Queueing discipline of a host's kernel, which holds frames back. The only queue here is then
    /// the ring of the card.
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

/// Stages between a port's queues and its transmitter.
#[derive(Default)]
pub struct Discipline {
    /// AQM policy of each queue; empty if there are none.
    pub aqm: Vec<Box<dyn Policy>>,
    /// Device queue: frames that have left their queue (its index is the second part) and wait for
    /// the transmitter. They count in `Automaton::waiting`.
    pub device: VecDeque<(Waiting, u8)>,
    /// Capacity of the device queue in frames.
    pub capacity: usize,
}

/// The frame in transmission.
#[derive(Clone, Copy)]
pub struct Sending {
    pub size: u16,
    /// Index of the queue, or `PAUSE_QUEUE`.
    pub queue: u8,
    pub class: u8,
    /// Port at which the frame arrived.
    pub input: u32,
    /// Duration of the transmission in ps.
    pub time: u64,
}

/// Bit of `Port::delays`: noise delays frames that the peer receives.
const RECEIVED: u8 = 1;
/// Bit of `Port::delays`: noise delays transmissions.
const SENT: u8 = 2;

/// Queue index that stands for PAUSE frames, which wait in no queue.
pub const PAUSE_QUEUE: u8 = u8::MAX;

/// Transmission of a frame. The port computes it, and the engine sends the frame accordingly.
pub struct Departure {
    pub start: u64,
    pub ends: u64,
    /// Time in ps at which the peer processes the frame.
    pub arrives: u64,
    pub peer_port: u32,
    pub peer_shard: u16,
    /// Time in ps since which the whole frame had been here and could have been sent.
    pub ready: u64,
    pub capture: Option<u32>,
    pub watched: bool,
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
            open: false,
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

    /// Automaton: returns the size of the frame whose transmission begins exactly at `now`; 0 if
    /// there is none.
    pub fn just_begun(&self, now: u64) -> u64 {
        let sending = self.automaton.as_ref().and_then(|a| a.sending);
        sending.filter(|sent| self.free_at - sent.time == now).map_or(0, |sent| sent.size as u64)
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

    /// Undoes the accounting of a transmission that was counted at its start and is still in
    /// progress.
    pub fn interrupted(&mut self, size: u16) -> Sending {
        let time = self.transmission(size);
        self.frames -= 1;
        self.bytes -= size as u64;
        self.busy -= time;
        Sending { size, queue: 0, class: 0, input: 0, time }
    }

    /// Returns the bytes that wait, without the frame in transmission. The port must have been
    /// released or advanced to the current time.
    pub fn waiting(&self, until_start: bool) -> u64 {
        match &self.automaton {
            None if self.sizes.len() == 0 => 0,
            None => self.queued - self.sizes.head() as u64,
            Some(_) if until_start => self.queued,
            // A PAUSE frame belongs to no queue.
            Some(a) => {
                self.queued
                    - a.sending
                        .filter(|sent| sent.queue != PAUSE_QUEUE)
                        .map_or(0, |sent| sent.size as u64)
            }
        }
    }

    /// Returns the bytes whose transmission has begun. The port must have been released or advanced
    /// to the current time.
    pub fn begun(&self) -> u64 {
        match &self.automaton {
            // All frames of a plain port except the first one wait.
            None if self.sizes.len() == 0 => self.bytes,
            None => self.bytes - self.queued + self.sizes.head() as u64,
            Some(a) => self.bytes + a.sending.map_or(0, |sent| sent.size as u64),
        }
    }

    /// Automaton: removes a frame of `queue` from the buffer occupancy.
    #[inline(always)]
    pub fn leave(&mut self, queue: usize, bytes: u64) {
        let q = &mut self.automaton.as_mut().expect("not plain").queues[queue];
        q.bytes -= bytes;
        q.count -= 1;
        self.queued -= bytes;
    }

    /// Automaton: starts the transmission of a frame of `queue` at `at`, or when its tail has
    /// arrived if that is later.
    #[inline(always)]
    pub fn depart(&mut self, at: u64, queue: usize, waiting: Waiting) -> Departure {
        let size = waiting.frame.size;
        let (start, time) = self.begin(at.max(waiting.ready), &waiting.frame);
        let arrives = self.arrives(start, time, &waiting.frame);
        let ends = self.free_at;
        let a = self.automaton.as_mut().expect("not plain");
        a.note(queue, |i| {
            i.latency_max = i.latency_max.max(start.saturating_sub(waiting.ready));
            i.cnps += u64::from(waiting.frame.notifies());
        });
        a.queues[queue].free_at = ends;
        if let Some(turns) = &mut a.turns {
            turns.sent(start, queue, size);
        }
        a.sending = Some(Sending {
            size,
            queue: queue as u8,
            class: waiting.frame.priority(),
            input: waiting.frame.port,
            time,
        });
        Departure {
            start,
            ends,
            arrives,
            peer_port: self.peer_port,
            peer_shard: self.peer_shard,
            ready: waiting.ready,
            capture: a.capture,
            watched: a.watch.is_some(),
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

    /// Returns the bytes that occupy the buffer at `now`, after all events up to then. It serves
    /// observers, so it neither releases nor advances the port. For an automaton, the only
    /// departure considered since it was last advanced is the frame in transmission.
    pub fn holds(&self, until_start: bool, now: u64) -> u64 {
        if self.sizes.len() == 0 {
            let sent =
                self.automaton.as_ref().and_then(|a| a.sending).filter(|sent| {
                    sent.queue != PAUSE_QUEUE && !until_start && self.free_at <= now
                });
            return self.queued.saturating_sub(sent.map_or(0, |sent| sent.size as u64));
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

    /// Automaton: starts the transmission of a PAUSE frame at `at`.
    pub fn depart_pause(&mut self, at: u64, frame: &Frame) {
        let time = self.transmission(frame.size);
        self.free_at = at + time;
        let a = self.automaton.as_mut().expect("not plain");
        a.sending =
            Some(Sending { size: frame.size, queue: PAUSE_QUEUE, class: 0, input: 0, time });
    }

    /// Open port: sends a PAUSE frame at `at`.
    pub fn send_pause(&mut self, at: u64, frame: &Frame) {
        let time = self.transmission(frame.size);
        self.free_at = at + time;
        self.count_sent(frame.size, time);
    }

    /// Automaton: returns the time of its next action without external cause: the end of a
    /// transmission, or the start of one when a pause expires. `u64::MAX` if there is none.
    #[inline(always)]
    pub fn next_action(&self) -> u64 {
        let a = self.automaton.as_ref().expect("not plain");
        if a.sending.is_some() {
            self.free_at
        } else if a.waiting > 0 {
            a.held_until()
        } else {
            u64::MAX
        }
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

    /// Returns the number of frames that occupy the buffer (of an automaton: in `queue`).
    pub fn count(&self, queue: usize) -> u32 {
        match &self.automaton {
            None => self.sizes.len(),
            Some(a) => a.queues[queue].count,
        }
    }

    /// Returns the bytes at this port that the buffer no longer counts, of one queue or of all: the
    /// frame in transmission and the device queue.
    pub fn beyond(&self, until_start: bool, queue: Option<usize>) -> u64 {
        let Some(a) = self.automaton.as_ref().filter(|_| until_start) else { return 0 };
        let of = |bytes: u16, of: u8| {
            if of != PAUSE_QUEUE && queue.is_none_or(|q| q == of as usize) {
                bytes as u64
            } else {
                0
            }
        };
        let device: u64 = a
            .discipline
            .iter()
            .flat_map(|d| &d.device)
            .map(|(w, queue)| of(w.frame.size, *queue))
            .sum();
        device + a.sending.map_or(0, |s| of(s.size, s.queue))
    }

    /// Updates the interval rows of the whole port and of one queue, if the port is sampled.
    pub fn note(&mut self, queue: usize, change: impl Fn(&mut Interval)) {
        if let Some(a) = &mut self.automaton {
            a.note(queue, change);
        }
    }

    /// Updates the maximum queue length of the interval after a frame has joined `queue`.
    #[cold]
    pub fn note_length(&mut self, until_start: bool, queue: usize) {
        let total = self.queued + self.beyond(until_start, None);
        let of_queue = self.queue_bytes(queue) + self.beyond(until_start, Some(queue));
        if let Some(series) = self.automaton.as_mut().and_then(|a| a.series.as_mut()) {
            series.rows[0].bytes_max = series.rows[0].bytes_max.max(total);
            if series.rows.len() > 1 {
                series.rows[queue + 1].bytes_max = series.rows[queue + 1].bytes_max.max(of_queue);
            }
        }
    }

    /// Returns the buffer occupancy of `queue`.
    #[inline(always)]
    pub fn length(&self, queue: usize) -> QueueView {
        QueueView { bytes: self.queue_bytes(queue), frames: self.count(queue) }
    }

    /// Returns the bytes that occupy the buffer in `queue`.
    #[inline(always)]
    pub fn queue_bytes(&self, queue: usize) -> u64 {
        match &self.automaton {
            None => self.queued,
            Some(a) => a.queues[queue].bytes,
        }
    }

    /// Returns the number, the bytes and the total time of transmissions that have ended. The port
    /// must have been released or advanced to `end`.
    pub fn ended(&self, end: u64) -> (u64, u64, u64) {
        let left = self.plain_bytes();
        let left_time: u64 = self.sizes.iter().map(|s| self.serialize(s)).sum();
        let (frames, bytes, busy) =
            (self.frames - self.sizes.len() as u64, self.bytes - left, self.busy - left_time);
        // If the peer cut through and dropped the frame, its transmission may end after every other
        // event.
        match &self.automaton {
            Some(a) if a.sending.is_none() && self.free_at > end => {
                (frames - 1, bytes - a.latest as u64, busy - self.transmission(a.latest))
            }
            _ => (frames, bytes, busy),
        }
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
    pub fn new(
        queues: u8,
        of_priority: [u8; 8],
        discipline: Option<Discipline>,
        pause: Option<Pause>,
        series: bool,
        capture: Option<u32>,
        uplink: bool,
    ) -> Self {
        let rows = if queues > 1 { queues as usize + 1 } else { 1 };
        Automaton {
            queues: (0..queues).map(|_| Queue::default()).collect(),
            of_priority,
            occupied: 0,
            sending: None,
            waiting: 0,
            latest: 0,
            listed: false,
            turns: None,
            discipline: discipline.map(Box::new),
            qdisc: None,
            pause: pause.map(Box::new),
            series: series
                .then(|| Box::new(Series { rows: vec![Interval::default(); rows], rx_bytes: 0 })),
            capture,
            watch: None,
            uplink: uplink.then_some(0),
            wake_at: 0,
        }
    }

    /// True if the kernel's queueing discipline holds frames back.
    #[inline(always)]
    pub fn is_held_back(&self) -> bool {
        self.qdisc.as_ref().is_some_and(|qdisc| qdisc.holds())
    }

    /// True if `queue` has a frame that may be sent at `at`.
    #[inline(always)]
    pub fn may_send(&self, queue: usize, at: u64) -> bool {
        self.queues[queue].may_send(self.pause.as_deref(), at)
    }

    /// Appends a frame to `queue`.
    #[inline(always)]
    pub fn push(&mut self, queue: usize, waiting: Waiting) {
        self.queues[queue].frames.push_back(waiting);
        self.waiting += 1;
        self.occupied |= 1u8.wrapping_shl(queue as u32);
    }

    /// Returns the highest of up to eight queues that has a frame and for which `may` holds.
    #[inline(always)]
    pub fn highest(&mut self, may: impl Fn(&Queue, Option<&Pause>) -> bool) -> Option<usize> {
        let mut left = self.occupied;
        while left != 0 {
            let queue = 7 - left.leading_zeros() as usize;
            left &= !(1 << queue);
            let q = &self.queues[queue];
            if q.frames.is_empty() {
                self.occupied &= !(1 << queue);
            } else if may(q, self.pause.as_deref()) {
                return Some(queue);
            }
        }
        None
    }

    /// Returns the queue that sends next at `at`, if any may send.
    #[inline(always)]
    pub fn next_queue(&mut self, at: u64) -> Option<usize> {
        if self.waiting == 0 {
            return None;
        }
        if self.queues.len() == 1 && self.turns.is_none() {
            return self.may_send(0, at).then_some(0);
        }
        if self.turns.is_some() {
            return self.next_in_turn(at);
        }
        self.highest(|q, pause| q.may_send(pause, at))
    }

    #[inline(never)]
    pub fn next_in_turn(&mut self, at: u64) -> Option<usize> {
        self.catch_up(at);
        let (queues, pause) = (&self.queues, self.pause.as_deref());
        match self.turns.as_deref_mut().expect("queues that take turns") {
            Turns::Cores(cores) => cores.next(queues, at, |q| q.may_send(pause, at)),
            Turns::Weighted(weighted) => weighted.next(queues, |q| q.may_send(pause, at)),
        }
    }

    /// Returns the time at which the first pause expires or the next credit arrives. To be called
    /// while no queue may send.
    #[cold]
    pub fn held_until(&self) -> u64 {
        if let Some(credits) = self.turns.as_ref().and_then(|turns| turns.credits()) {
            return credits.until(&|queue| self.free_from(queue));
        }
        let pause =
            self.pause.as_ref().expect("an idle transmitter has nothing to send, or is paused");
        if let Some(d) = self.discipline.as_ref().filter(|d| !d.aqm.is_empty()) {
            let of_queues = self
                .queues
                .iter()
                .zip(&d.aqm)
                .map(|(q, aqm)| aqm.earliest(&q.frames, &|class| pause.until(class)));
            return of_queues.min().expect("a port has queues");
        }
        let heads = self.queues.iter().filter_map(|q| q.frames.front());
        heads.map(|next| pause.until(next.frame.priority())).min().expect("something waits")
    }

    /// Registers a frame that joins `queue`, if queues take turns. Returns whether the scheduler
    /// must choose the frame even at an idle port.
    #[inline(never)]
    pub fn needs_turn(&mut self, now: u64, queue: usize, size: u16) -> bool {
        self.catch_up(now);
        self.turns.as_deref_mut().is_some_and(|turns| {
            turns.joined(queue, size);
            turns.decide_at_start()
        })
    }

    /// Returns the time from which `queue` may send, considering only pauses.
    fn free_from(&self, queue: usize) -> u64 {
        let Some(pause) = &self.pause else { return 0 };
        let frames = &self.queues[queue].frames;
        match self.discipline.as_ref().and_then(|d| d.aqm.get(queue)) {
            Some(aqm) => aqm.earliest(frames, &|class| pause.free_from(class)),
            None => frames.front().map_or(0, |head| pause.free_from(head.frame.priority())),
        }
    }

    /// True if frames can wait although the transmitter is idle.
    pub fn may_hold(&self) -> bool {
        self.pause.is_some() || self.turns.as_ref().is_some_and(|turns| turns.credits().is_some())
    }

    /// Updates schedulers with credits that can run out to `now`. To be called before anything
    /// changes at that time.
    #[inline(always)]
    pub fn catch_up(&mut self, now: u64) {
        if self.turns.is_some() {
            self.catch_up_credits(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn catch_up_credits(&mut self, now: u64) {
        let mut turns = self.turns.take();
        if let Some(credits) = turns.as_mut().and_then(|turns| turns.credits_mut()) {
            credits.catch_up(now, &|queue| self.free_from(queue));
        }
        self.turns = turns;
    }

    /// True if a frame waits for the transmitter.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        self.waiting > 0 || self.pause.as_ref().is_some_and(|pause| pause.pending != 0)
    }

    /// Counts a PAUSE frame that has left in the port series.
    #[cold]
    pub fn note_pause(&mut self, bytes: u64) {
        if let Some(series) = &mut self.series {
            series.rows[0].tx_bytes += bytes;
        }
    }

    /// Tells the scheduler that the head of `queue`, which it had taken for transmission, was
    /// dropped.
    pub fn unsent(&mut self, queue: usize, bytes: u64) {
        if let Some(turns) = &mut self.turns {
            turns.give_back(&self.queues, queue, bytes);
            turns.dropped(queue, bytes);
        }
    }

    /// Returns all frames that wait here.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.held().map(|w| &w.frame)
    }

    /// Returns all frames that wait here, with the time since which they wait.
    pub fn held(&self) -> impl Iterator<Item = &Waiting> {
        let d = self.discipline.iter();
        let beside = d.flat_map(|d| {
            d.device.iter().map(|(w, _)| w).chain(d.aqm.iter().flat_map(|aqm| aqm.held()))
        });
        self.queues
            .iter()
            .flat_map(|q| &q.frames)
            .chain(beside)
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
        match self.turns.as_deref() {
            Some(Turns::Cores(cores)) => cores.queue_of(frame.priority(), input),
            _ => self.queue_of(frame),
        }
    }

    /// Returns the first queue of the class of `priority`. The queues after it belong to this class
    /// or to higher ones.
    pub fn first_queue_of(&self, priority: u8) -> usize {
        match self.turns.as_deref() {
            Some(Turns::Cores(cores)) => cores.queue_of(priority, 0),
            _ => self.queue_of_priority(priority),
        }
    }

    /// True if `queue` belongs to `class`.
    pub fn is_of_class(&self, queue: usize, class: u8) -> bool {
        match self.turns.as_deref() {
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

#[cold]
fn in_whole_ns(time: u64) -> u64 {
    cut_off(time, 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_frame_comes_from_no_queue() {
        let automaton = Automaton::new(1, [0; 8], None, None, false, None, false);
        let mut port = Port::new(PortSetup {
            node: 0,
            rate: 10_000_000_000,
            incoming: 10_000_000_000,
            delay: 0,
            gap: 0,
            header: None,
            peer_port: 0,
            peer_shard: 0,
            faulty: false,
            clocked: 1_000_000_000,
            noise: None,
            delays: false,
            late: false,
            stream: Stream::new(1, 1, 1),
            plain: false,
            tick: 1,
            automaton: Some(automaton),
        });
        port.depart_pause(0, &Frame { size: 64, ..Frame::default() });
        assert_eq!((port.waiting(false), port.waiting(true), port.begun()), (0, 0, 64));
    }
}
