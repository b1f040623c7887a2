//! A port's transmitter and queues.
//!
//! A *plain* port (one FIFO, nothing decided at the start of transmission, nothing sampled) computes a frame's departure
//! when it is admitted and keeps only the sizes of what has not left, so that occupancy stays exact. Any other port is
//! an *automaton*: it holds its frames and is advanced to the time at which it is looked at. The classical engine runs
//! all ports as automata, driven by an event at the end of each transmission.

use crate::frame::Frame;
use crate::probe::hops::Watch;
use crate::queue::aqm::Policy;
pub use crate::queue::class::Queue;
use crate::queue::flowcontrol::Pause;
use crate::queue::marking::Memory;
use crate::queue::qdisc::Qdisc;
use crate::queue::scheduling::Turns;
pub use crate::queue::waiting::Waiting;
use crate::queue::{Calm, QueueView};
use crate::timing::Noise;
use crate::world::cut_off;
use afflux_engine::random::Stream;
use afflux_units::{Pace, Rate};
use std::collections::VecDeque;

/// Laid out by hand: what a plain port needs for a frame comes first, in two cache lines; so does the way to an automaton.
#[repr(C, align(64))]
pub struct Port {
    /// End of everything admitted (plain) or of the transmission under way (automaton).
    pub free_at: u64,
    /// Plain: end of transmission of the oldest frame not yet released; `u64::MAX` when there is none.
    pub head_end: u64,
    /// Bytes that occupy the buffer.
    pub queued: u64,
    /// Plain: sizes of those frames, oldest first.
    sizes: Sizes,
    /// From the last bit leaving to the peer dealing with the frame.
    pub delay: u64,
    pace: Pace,
    gap: u16,
    /// Bytes after which a peer that cuts through deals with a frame; `u16::MAX` for whole frames.
    pub header: u16,
    pub peer_port: u32,
    pub peer_shard: u16,
    pub plain: bool,
    /// A PAUSE frame has been sent or received here.
    pub eventful: bool,
    /// Its frames are in its lane, see `shard::hop`; the automaton is empty.
    pub open: bool,
    /// Transmissions last whole nanoseconds; not plain.
    whole_ns: bool,
    /// What `noise` delays: `RECEIVED`, `SENT` or both.
    delays: u8,
    pub automaton: Option<Box<Automaton>>,
    /// Plain: admitted. Automaton: transmission ended.
    pub frames: u64,
    pub bytes: u64,
    busy: u64,
    pub node: u32,
    /// The link towards this port loses frames or goes down.
    pub faulty: bool,
    pub rate: u64,
    /// Plain: averaged queue length and spacing of marks; an automaton has them per queue.
    pub memory: Memory,
    /// Draws for marks.
    pub stream: Stream,
    /// Timing of the hosts at either end.
    noise: Option<Box<Noise>>,
    /// Bits per second of the incoming direction; links may have a rate for each direction.
    pub incoming: u64,
    incoming_pace: Pace,
}

const _: () = assert!(std::mem::offset_of!(Port, node) == 128);

/// Queues of a port that decides at the start of transmission. Laid out by hand: what every frame needs, in one cache line.
#[repr(C, align(64))]
pub struct Automaton {
    pub queues: Vec<Queue>,
    /// With up to eight queues: those that may have frames. Bits are set when frames join and cleared when a queue is found empty.
    occupied: u8,
    /// Where nothing is in transmission, nothing waits.
    pub sending: Option<Sending>,
    /// The queue of each priority.
    of_priority: [u8; 8],
    pub waiting: u32,
    /// Size of the frame whose transmission ended last.
    pub latest: u16,
    /// In the node's list of ports with waiting frames.
    pub listed: bool,
    /// Queues take turns; otherwise the highest goes first.
    pub turns: Option<Box<Turns>>,
    /// More than queues.
    pub discipline: Option<Box<Discipline>>,
    /// A host's kernel holds frames back; its only queue here is the card's ring.
    pub qdisc: Option<Box<Qdisc>>,
    /// Flow control.
    pub pause: Option<Box<Pause>>,
    pub series: Option<Box<Series>>,
    /// Index into the run's captures.
    pub capture: Option<u32>,
    /// What it notes of frames on request.
    pub watch: Option<Box<Watch>>,
    /// Bytes that had been sent when the uplink window began, if recorded.
    pub uplink: Option<u64>,
    /// Classical engine, where frames can wait at an idle port: the event at which one may go, 0 for none.
    pub wake_at: u64,
}

/// What stands between a port's queues and its transmitter.
#[derive(Default)]
pub struct Discipline {
    /// One per queue, or none.
    pub aqm: Vec<Box<dyn Policy>>,
    /// Frames that have left their queue (given beside them) but wait for the transmitter; they count in `Automaton::waiting`.
    pub device: VecDeque<(Waiting, u8)>,
    /// How many may.
    pub room: usize,
}

/// The frame in transmission.
#[derive(Clone, Copy)]
pub struct Sending {
    pub size: u16,
    /// Or `PAUSE_QUEUE`.
    pub queue: u8,
    pub class: u8,
    /// Port at which the frame came in.
    pub input: u32,
    /// Length of the transmission.
    pub time: u64,
}

/// Noise delays what the peer receives.
const RECEIVED: u8 = 1;
/// Noise delays transmissions.
const SENT: u8 = 2;

/// What a PAUSE frame is sent from.
pub const PAUSE_QUEUE: u8 = u8::MAX;

/// A frame's transmission, from where it is known to whoever carries it out.
pub struct Departure {
    pub start: u64,
    pub ends: u64,
    /// When the peer deals with the frame.
    pub arrives: u64,
    pub peer_port: u32,
    pub peer_shard: u16,
    /// Since when the frame could have gone.
    pub ready: u64,
    pub capture: Option<u32>,
    pub watched: bool,
}

/// What happened at a port since the last sample: index 0 is the whole port, then its queues if there are several.
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
    /// Congestion notifications of RDMA.
    pub cnps: u64,
    /// No room at this port's ingress.
    pub in_discards: u64,
    pub latency_max: u64,
}

/// Settings of a port, from the topology and the node's configuration.
pub struct PortSetup {
    pub node: u32,
    pub rate: u64,
    /// Bits per second of the other direction.
    pub incoming: u64,
    pub delay: u64,
    pub gap: u16,
    pub header: Option<u16>,
    pub peer_port: u32,
    pub peer_shard: u16,
    pub faulty: bool,
    pub stream: Stream,
    /// Bits per second by its own clock.
    pub clocked: u64,
    pub noise: Option<Noise>,
    /// The peer is a host that takes its time.
    pub delays: bool,
    /// The port is of a host that takes its time.
    pub late: bool,
    /// It computes departures at admission.
    pub plain: bool,
    /// Times on the link are cut off to multiples of this; above 1 only for automata.
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
            eventful: false,
            open: false,
            whole_ns: setup.tick > 1,
            delays: if setup.delays { RECEIVED } else { 0 } | if setup.late { SENT } else { 0 },
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

    /// Flow control, if either end of the link sends PAUSE frames.
    #[inline(always)]
    pub fn pause(&self) -> Option<&Pause> {
        self.automaton.as_ref()?.pause.as_deref()
    }

    /// The queueing discipline that the host's kernel has for this port.
    #[inline(always)]
    pub fn qdisc(&self) -> Option<&Qdisc> {
        self.automaton.as_ref()?.qdisc.as_deref()
    }

    /// Time of a frame of `size` bytes on an automaton's link.
    #[inline(always)]
    pub fn transmission(&self, size: u16) -> u64 {
        let time = self.serialize(size);
        if self.whole_ns { in_whole_ns(time) } else { time }
    }

    /// Time that a frame of `size` bytes takes to come in.
    pub fn arrival(&self, size: u16) -> u64 {
        let time = self.incoming_pace.of(size as u64 + self.gap as u64);
        if self.whole_ns { in_whole_ns(time) } else { time }
    }

    /// Time of `size` bytes and a gap on a plain port's link.
    #[inline(always)]
    pub fn serialize(&self, size: u16) -> u64 {
        self.pace.of(size as u64 + self.gap as u64)
    }

    /// Time from the start of transmission to the peer dealing with the frame, without the delay.
    #[inline(always)]
    pub fn first_bits(&self, size: u16) -> u64 {
        self.transmission(size.min(self.header))
    }

    /// When the peer deals with a frame that is there at `at`.
    #[inline(always)]
    pub fn received(&mut self, at: u64, frame: &Frame) -> u64 {
        if self.delays & RECEIVED != 0 { self.delayed(at, frame) } else { at }
    }

    #[inline(never)]
    fn delayed(&mut self, at: u64, frame: &Frame) -> u64 {
        self.noise.as_mut().map_or(at, |noise| noise.received(at, frame))
    }

    /// Automaton: the transmitter gets a frame at `at`; returns when its transmission starts and how long that takes. From then on it is busy with it.
    #[inline(always)]
    pub fn begin(&mut self, at: u64, frame: &Frame) -> (u64, u64) {
        let time = self.transmission(frame.size);
        let start = if self.noise.is_some() { self.begin_late(at, time, frame) } else { (at, at + time) };
        self.free_at = start.1;
        (start.0, time)
    }

    /// The start of such a transmission, and its end with the gap behind it.
    #[inline(never)]
    fn begin_late(&mut self, at: u64, time: u64, frame: &Frame) -> (u64, u64) {
        let noise = self.noise.as_mut().expect("just seen");
        let start = if at > self.free_at { noise.starts(at, frame) } else { at };
        (start, start + time + noise.gap(time))
    }

    /// Time from the start of a frame to the next one's, on average, where one follows the other.
    pub fn pitch(&self, size: u16) -> u64 {
        let time = self.serialize(size);
        time + self.noise.as_ref().map_or(0, |noise| noise.mean_gap(time))
    }

    /// Automaton: the frame whose transmission has begun at `now`.
    pub fn just_begun(&self, now: u64) -> u64 {
        let sending = self.automaton.as_ref().and_then(|a| a.sending);
        sending.filter(|sent| self.free_at - sent.time == now).map_or(0, |sent| sent.size as u64)
    }

    /// Plain: lets go of everything if all has left by `now`; returns those bytes.
    #[inline(always)]
    pub fn release_idle(&mut self, now: u64) -> u64 {
        if self.free_at > now {
            return 0;
        }
        self.sizes.clear();
        self.head_end = u64::MAX;
        std::mem::take(&mut self.queued)
    }

    /// Plain: lets go of what has left by `now`; returns those bytes.
    #[inline(always)]
    pub fn release(&mut self, now: u64) -> u64 {
        if self.head_end > now {
            return 0;
        }
        if self.free_at <= now {
            return self.release_idle(now);
        }
        // Since the port was idle last, one transmission has followed the other.
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

    /// Plain: takes a frame at `now`; returns the start and the length of its transmission. If it is idle
    /// it must have been released.
    #[inline(always)]
    pub fn append(&mut self, now: u64, size: u16) -> (u64, u64) {
        let start = self.free_at.max(now);
        self.queued += size as u64;
        (start, self.transmit(start, size))
    }

    /// The port belongs to a host whose timing delays transmissions.
    #[inline(always)]
    pub fn is_late(&self) -> bool {
        self.delays & SENT != 0
    }

    /// Plain, of a host whose timing delays transmissions: takes a frame at `now`; returns the start and the length of its transmission. Frames leave a
    /// plain port in order of arrival, so their delays can be drawn when they come.
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

    /// Plain: a frame is in transmission from `start`; returns for how long.
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

    /// Counted when it started, this transmission is still under way.
    pub fn recall(&mut self, size: u16) -> Sending {
        let time = self.transmission(size);
        self.frames -= 1;
        self.bytes -= size as u64;
        self.busy -= time;
        Sending { size, queue: 0, class: 0, input: 0, time }
    }

    /// Bytes that wait, without the frame in transmission. The port must have been released or advanced to the moment.
    pub fn waiting(&self, until_start: bool) -> u64 {
        match &self.automaton {
            None if self.sizes.len() == 0 => 0,
            None => self.queued - self.sizes.head() as u64,
            Some(_) if until_start => self.queued,
            // A PAUSE frame comes from no queue.
            Some(a) => self.queued - a.sending.filter(|sent| sent.queue != PAUSE_QUEUE).map_or(0, |sent| sent.size as u64),
        }
    }

    /// Bytes whose transmission has begun. The port must have been released or advanced to the moment.
    pub fn begun(&self) -> u64 {
        match &self.automaton {
            // Of a plain port's frames all but the first wait.
            None if self.sizes.len() == 0 => self.bytes,
            None => self.bytes - self.queued + self.sizes.head() as u64,
            Some(a) => self.bytes + a.sending.map_or(0, |sent| sent.size as u64),
        }
    }

    /// Automaton: a frame of `queue` no longer occupies the buffer.
    #[inline(always)]
    pub fn leave(&mut self, queue: usize, bytes: u64) {
        let q = &mut self.automaton.as_mut().expect("not plain").queues[queue];
        q.bytes -= bytes;
        q.count -= 1;
        self.queued -= bytes;
    }

    /// Automaton: a frame of `queue` is in transmission from `at`, or from when its tail is here.
    #[inline(always)]
    pub fn depart(&mut self, at: u64, queue: usize, waiting: Waiting) -> Departure {
        let size = waiting.frame.size;
        let (start, time) = self.begin(at.max(waiting.ready), &waiting.frame);
        let first_bits = if size <= self.header { time } else { self.first_bits(size) };
        let arrives = self.received(start + first_bits + self.delay, &waiting.frame);
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
        a.sending = Some(Sending { size, queue: queue as u8, class: waiting.frame.priority(), input: waiting.frame.port, time });
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

    /// Plain, or idle: a frame of `size` bytes may join at once, with so much of the node's memory in use: no policy has to look at it.
    #[inline(always)]
    pub fn takes_at_once(&self, calm: &Calm, used: u64, size: u64) -> bool {
        used + size <= calm.used && self.queued + size <= calm.queue && self.plain_count() < calm.frames && self.has_room()
    }

    /// Bytes that occupy the buffer at `now`, when everything up to then has come; for whoever looks on: nothing is released or advanced. Of an automaton
    /// only the frame in transmission is known to have left since it was advanced.
    pub fn holds(&self, until_start: bool, now: u64) -> u64 {
        if self.sizes.len() == 0 {
            let sent = self.automaton.as_ref().and_then(|a| a.sending).filter(|sent| sent.queue != PAUSE_QUEUE && !until_start && self.free_at <= now);
            return self.queued.saturating_sub(sent.map_or(0, |sent| sent.size as u64));
        }
        if self.free_at <= now {
            return self.queued - self.plain_bytes();
        }
        let (mut end, mut left) = (self.head_end, self.queued);
        let mut sizes = self.sizes.iter().peekable();
        let mut gaps = self.noise.iter().filter(|_| self.is_late()).flat_map(|noise| noise.kept_gaps()).skip(1);
        while end <= now
            && let Some(size) = sizes.next()
        {
            left -= size as u64;
            end += sizes.peek().map_or(0, |next| self.serialize(*next) + gaps.next().unwrap_or(0));
        }
        left
    }

    /// Plain: one more frame can be noted at once.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        (self.sizes.len() as usize) < self.sizes.ring.len()
    }

    /// Automaton: a PAUSE frame is in transmission from `at`.
    pub fn depart_pause(&mut self, at: u64, frame: &Frame) {
        let time = self.transmission(frame.size);
        self.free_at = at + time;
        let a = self.automaton.as_mut().expect("not plain");
        a.sending = Some(Sending { size: frame.size, queue: PAUSE_QUEUE, class: 0, input: 0, time });
    }

    /// Open: a PAUSE frame is sent at `at`.
    pub fn send_pause(&mut self, at: u64, frame: &Frame) {
        let time = self.transmission(frame.size);
        self.free_at = at + time;
        self.count_sent(frame.size, time);
    }

    /// Automaton: when it will do something by itself: end a transmission, or start one that a pause holds back; `u64::MAX` for never.
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

    /// Plain: bytes of the frames that have not been released.
    pub fn plain_bytes(&self) -> u64 {
        self.sizes.iter().map(|size| size as u64).sum()
    }

    /// Frames in a plain port, and those that have left since it was released last.
    #[inline(always)]
    pub fn plain_count(&self) -> u32 {
        self.sizes.len()
    }

    /// Frames that occupy the buffer (in the given queue of an automaton).
    pub fn count(&self, queue: usize) -> u32 {
        match &self.automaton {
            None => self.sizes.len(),
            Some(a) => a.queues[queue].count,
        }
    }

    /// Bytes at this port that the buffer no longer counts, of one queue or of all: the frame in transmission and the device queue.
    pub fn beyond(&self, until_start: bool, queue: Option<usize>) -> u64 {
        let Some(a) = self.automaton.as_ref().filter(|_| until_start) else { return 0 };
        let of = |bytes: u16, of: u8| if of != PAUSE_QUEUE && queue.is_none_or(|q| q == of as usize) { bytes as u64 } else { 0 };
        let device: u64 = a.discipline.iter().flat_map(|d| &d.device).map(|(w, queue)| of(w.frame.size, *queue)).sum();
        device + a.sending.map_or(0, |s| of(s.size, s.queue))
    }

    /// Changes the interval rows of the whole port and of one queue, if it is sampled.
    pub fn note(&mut self, queue: usize, change: impl Fn(&mut Interval)) {
        if let Some(a) = &mut self.automaton {
            a.note(queue, change);
        }
    }

    /// A frame has joined `queue`.
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

    /// What occupies the buffer in `queue`.
    #[inline(always)]
    pub fn length(&self, queue: usize) -> QueueView {
        QueueView { bytes: self.queue_bytes(queue), frames: self.count(queue) }
    }

    /// Bytes in the queue a frame of this priority would join.
    #[inline(always)]
    pub fn queue_bytes(&self, queue: usize) -> u64 {
        match &self.automaton {
            None => self.queued,
            Some(a) => a.queues[queue].bytes,
        }
    }

    /// Frames, bytes and time of transmissions that have ended. The port must have been released or advanced to `end`.
    pub fn ended(&self, end: u64) -> (u64, u64, u64) {
        let left = self.plain_bytes();
        let left_time: u64 = self.sizes.iter().map(|s| self.serialize(s)).sum();
        let (frames, bytes, busy) = (self.frames - self.sizes.len() as u64, self.bytes - left, self.busy - left_time);
        // Where the peer cut through and dropped the frame, its transmission may have ended after everything else.
        match &self.automaton {
            Some(a) if a.sending.is_none() && self.free_at > end => (frames - 1, bytes - a.latest as u64, busy - self.transmission(a.latest)),
            _ => (frames, bytes, busy),
        }
    }
}

/// A ring of frame sizes.
#[derive(Default)]
struct Sizes {
    /// Empty, or a power of two.
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
            series: series.then(|| Box::new(Series { rows: vec![Interval::default(); rows], rx_bytes: 0 })),
            capture,
            watch: None,
            uplink: uplink.then_some(0),
            wake_at: 0,
        }
    }

    /// The kernel holds frames back.
    #[inline(always)]
    pub fn is_held_back(&self) -> bool {
        self.qdisc.as_ref().is_some_and(|qdisc| qdisc.holds())
    }

    /// Has this queue a frame that may be sent at `at`?
    #[inline(always)]
    pub fn may_send(&self, queue: usize, at: u64) -> bool {
        self.queues[queue].may_send(self.pause.as_deref(), at)
    }

    /// A frame waits in `queue`.
    #[inline(always)]
    pub fn push(&mut self, queue: usize, waiting: Waiting) {
        self.queues[queue].frames.push_back(waiting);
        self.waiting += 1;
        self.occupied |= 1u8.wrapping_shl(queue as u32);
    }

    /// The highest of up to eight queues with a frame for which `may` holds.
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

    /// The queue that sends next at `at`, if any may.
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

    /// No queue may send: when the first pause expires, or the next credit comes.
    #[cold]
    pub fn held_until(&self) -> u64 {
        if let Some(credits) = self.turns.as_ref().and_then(|turns| turns.credits()) {
            return credits.until(&|queue| self.free_from(queue));
        }
        let pause = self.pause.as_ref().expect("an idle transmitter has nothing to send, or is paused");
        if let Some(d) = self.discipline.as_ref().filter(|d| !d.aqm.is_empty()) {
            let of_queues = self.queues.iter().zip(&d.aqm).map(|(q, aqm)| aqm.earliest(&q.frames, &|class| pause.until(class)));
            return of_queues.min().expect("a port has queues");
        }
        let heads = self.queues.iter().filter_map(|q| q.frames.front());
        heads.map(|next| pause.until(next.frame.priority())).min().expect("something waits")
    }

    /// A frame joins `queue`, where queues take turns. Returns whether it has to have its turn even at an idle port.
    #[inline(never)]
    pub fn awaits_turn(&mut self, now: u64, queue: usize, size: u16) -> bool {
        self.catch_up(now);
        self.turns.as_deref_mut().is_some_and(|turns| {
            turns.joined(queue, size);
            turns.decide_at_start()
        })
    }

    /// From when on `queue` may send, as far as pauses are concerned.
    fn free_from(&self, queue: usize) -> u64 {
        let Some(pause) = &self.pause else { return 0 };
        let frames = &self.queues[queue].frames;
        match self.discipline.as_ref().and_then(|d| d.aqm.get(queue)) {
            Some(aqm) => aqm.earliest(frames, &|class| pause.free_from(class)),
            None => frames.front().map_or(0, |head| pause.free_from(head.frame.priority())),
        }
    }

    /// Frames can wait although the transmitter is idle.
    pub fn may_hold(&self) -> bool {
        self.pause.is_some() || self.turns.as_ref().is_some_and(|turns| turns.credits().is_some())
    }

    /// Credits that can run out are what they are at `now`, before anything changes then.
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

    /// Something waits for the transmitter.
    #[inline(always)]
    pub fn has_work(&self) -> bool {
        self.waiting > 0 || self.pause.as_ref().is_some_and(|pause| pause.pending != 0)
    }

    /// A PAUSE frame has left.
    #[cold]
    pub fn note_pause(&mut self, bytes: u64) {
        if let Some(series) = &mut self.series {
            series.rows[0].tx_bytes += bytes;
        }
    }

    /// The head of `queue`, taken to be sent, has been dropped.
    pub fn unsent(&mut self, queue: usize, bytes: u64) {
        if let Some(turns) = &mut self.turns {
            turns.give_back(&self.queues, queue, bytes);
            turns.dropped(queue, bytes);
        }
    }

    /// All frames that wait here.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.held().map(|w| &w.frame)
    }

    /// The same, with what is known of their waiting.
    pub fn held(&self) -> impl Iterator<Item = &Waiting> {
        let d = self.discipline.iter();
        let beside = d.flat_map(|d| d.device.iter().map(|(w, _)| w).chain(d.aqm.iter().flat_map(|aqm| aqm.held())));
        self.queues.iter().flat_map(|q| &q.frames).chain(beside).chain(self.qdisc.iter().flat_map(|qdisc| qdisc.held()))
    }

    #[inline(always)]
    pub fn queue_of_priority(&self, priority: u8) -> usize {
        self.of_priority[priority as usize] as usize
    }

    #[inline(always)]
    pub fn queue_of(&self, frame: &Frame) -> usize {
        self.queue_of_priority(frame.priority())
    }

    /// The queue of a frame that came in by the switch's port `input`, where ingress cores may have queues of their own.
    pub fn queue_from(&self, frame: &Frame, input: u32) -> usize {
        match self.turns.as_deref() {
            Some(Turns::Cores(cores)) => cores.queue_of(frame.priority(), input),
            _ => self.queue_of(frame),
        }
    }

    /// The first queue of a priority's class; the queues after it are of this class and of higher ones.
    pub fn first_queue_of(&self, priority: u8) -> usize {
        match self.turns.as_deref() {
            Some(Turns::Cores(cores)) => cores.queue_of(priority, 0),
            _ => self.queue_of_priority(priority),
        }
    }

    /// Does a class have this queue?
    pub fn is_of_class(&self, queue: usize, class: u8) -> bool {
        match self.turns.as_deref() {
            Some(Turns::Cores(cores)) => cores.is_of_class(queue, class),
            _ => self.queue_of_priority(class) == queue,
        }
    }

    /// Changes the interval rows of the whole port and of one queue.
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
