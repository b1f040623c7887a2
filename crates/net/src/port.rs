//! A port's transmitter, and the queue of a plain port.
//!
//! A *plain* port has one FIFO, decides nothing at the start of transmission and is not sampled. It
//! computes the departure of a frame at admission and keeps only the sizes of the frames that have
//! not left, so that occupancy stays exact. Any other port keeps its frames in its lane (see
//! `shard::hop`) or in its discipline, and is advanced on demand, to the time at which it is read.
//! The classical engine has no plain ports. There an event at the end of each transmission drives
//! the ports.

use crate::features::{Discipline, Features, Interval};
use crate::frame::Frame;
use crate::queue::FastPathLimits;
use crate::queue::flowcontrol::Pause;
use crate::queue::marking::Memory;
use crate::queue::qdisc::Qdisc;
use crate::timing::Noise;
use crate::world::cut_off;
use afflux_engine::random::Stream;
use afflux_units::{Pace, Rate};

/// Transmitter and queues of a port. The explicit layout puts all fields that a plain port needs
/// per frame, and the pointer to the features, into the first two cache lines.
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
    pub features: Option<Box<Features>>,
    pub node: u32,
    /// True if the link towards this port loses frames or goes down.
    pub faulty: bool,
    pub rate: u64,
    /// Plain: averaged queue length and spacing of marks. `features` has them for each queue.
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

/// Bit of `Port::delays`: noise delays frames that the peer receives.
const RECEIVED: u8 = 1;
/// Bit of `Port::delays`: noise delays transmissions.
const SENT: u8 = 2;

/// Queue index that stands for PAUSE frames, which wait in no queue.
pub const PAUSE_QUEUE: u8 = u8::MAX;

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
    /// Resolution in ps to which times on the link are rounded down. 1 for plain ports.
    pub tick: u64,
    pub features: Option<Features>,
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
            features: setup.features.map(Box::new),
        }
    }

    /// Returns the features of a port that is not plain.
    #[inline(always)]
    pub fn features(&self) -> &Features {
        self.features.as_ref().expect("plain ports have no features")
    }

    /// Returns the features of a port that is not plain, for changes.
    #[inline(always)]
    pub fn features_mut(&mut self) -> &mut Features {
        self.features.as_mut().expect("plain ports have no features")
    }

    /// Returns the PFC state, if either end of the link sends PAUSE frames.
    #[inline(always)]
    pub fn pause(&self) -> Option<&Pause> {
        self.features.as_ref()?.pause.as_deref()
    }

    /// Returns the queues with policies of their own, if the port has such queues.
    #[inline(always)]
    pub fn discipline(&self) -> Option<&Discipline> {
        self.features.as_ref()?.discipline.as_deref()
    }

    /// Returns the queueing discipline of the host's kernel for this port.
    #[inline(always)]
    pub fn qdisc(&self) -> Option<&Qdisc> {
        self.features.as_ref()?.qdisc.as_deref()
    }

    /// Returns the transmission time in ps of a frame of `size` bytes, for a port that is
    /// not plain.
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

    /// Features: gives the transmitter a frame at `at`, which keeps it busy until the end of the
    /// frame. Returns the start and the duration of the transmission.
    #[inline(always)]
    pub fn begin(&mut self, at: u64, frame: &Frame) -> (u64, u64) {
        let time = self.transmission(frame.size);
        let start =
            if self.noise.is_some() { self.begin_late(at, time, frame) } else { (at, at + time) };
        self.free_at = start.1;
        (start.0, time)
    }

    /// Gives the transmitter of a port with a lane a frame at `at`. Returns the duration of the transmission,
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
        if let Some(a) = &mut self.features {
            a.note(queue, change);
        }
    }

    /// Updates the maximum queue length of the interval: `total` bytes at the port, and `of_queue`
    /// bytes in `queue`.
    #[cold]
    pub fn note_length(&mut self, total: u64, queue: usize, of_queue: u64) {
        if let Some(series) = self.features.as_mut().and_then(|a| a.series.as_mut()) {
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

#[cold]
fn in_whole_ns(time: u64) -> u64 {
    cut_off(time, 1_000)
}
