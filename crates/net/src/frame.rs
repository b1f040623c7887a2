//! What travels: 32 bytes by value, streamed through the window logs.

use crate::balance::Tag;
use crate::telemetry::Telemetry;
use crate::transport::rated::allocation::Header;
use afflux_engine::Timed;
use afflux_engine::random::mix;

/// A frame on a link, or an event that a node makes for itself (a timer, a start, a sample).
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Frame {
    /// Picoseconds since the start of the window in which it arrives.
    pub offset: u32,
    /// Port at which it arrives, in the numbering of the destination's shard; for events the node's own pseudo port.
    pub port: u32,
    pub flow: u32,
    /// Data: segment number. Acknowledgement: next segment expected. Event: see [`Event`].
    pub seq: u32,
    /// Acknowledgement: the segment whose arrival caused it, or a handle of [`Extra`] if `EXTRA` is set.
    /// Data: the path's number, if paths are recorded, otherwise the timestamp it echoes; or the same.
    /// SYN-ACK: its timestamp. Other frames that open or close a connection: the first segment that is not acknowledged.
    pub aux: u32,
    /// Destination host.
    pub dst: u32,
    /// Hash of the flow for equal-cost choices.
    pub hash: u32,
    /// Bytes in buffers (without the gap).
    pub size: u16,
    pub flags: u16,
}

/// What changes in a frame on its way through a node.
#[derive(Clone, Copy)]
pub struct Change {
    /// At the link's other end.
    pub port: u32,
    pub hash: u32,
    pub flags: u16,
}

impl Timed for Frame {
    #[inline(always)]
    fn set_offset(&mut self, offset: u32) {
        self.offset = offset;
    }
}

/// Bytes of a PAUSE frame.
pub const PAUSE_FRAME: u16 = 64;

impl Frame {
    pub const PRIORITY: u16 = 0b111;
    /// ECN-capable; marked.
    pub const ECT: u16 = 1 << 3;
    pub const CE: u16 = 1 << 4;
    /// Its `aux` is the handle of an [`Extra`].
    pub const EXTRA: u16 = 1 << 8;
    /// `Frame::hash` is not the flow's but a path that the ToR of its source has chosen: see [`Frame::pin`].
    pub const PINNED: u16 = 1 << 14;

    // The other flags mean what the transport of the frame's kind says.
    /// TCP's ECN echo, and "window reduced".
    pub const ECE: u16 = 1 << 5;
    pub const CWR: u16 = 1 << 6;
    pub const RETRANSMISSION: u16 = 1 << 7;
    /// Acknowledgement sent by the delayed-acknowledgement timer: the segment waited at the receiver, not in queues.
    pub const DELAYED: u16 = 1 << 15;
    /// Acknowledgement of something that had arrived before (RFC 2883). With `RETRANSMISSION`: what arrived was a repetition (timestamps).
    pub const DUPLICATE: u16 = 1 << 13;
    /// Report: of the timer. What came last has waited for it, not in queues.
    pub const PERIODIC: u16 = Self::DELAYED;
    /// Data, and a request for the window: `aux` is a rank, what remains of the flow, for queues that go by it.
    pub const RANKED: u16 = Self::DUPLICATE;
    /// Datagram: the receiver reports what is missing.
    pub const REPORTED: u16 = Self::DELAYED;
    /// Datagram: queues may cut it to its header; that has happened.
    pub const TRIMMABLE: u16 = Self::DUPLICATE;
    pub const TRIMMED: u16 = Self::ECE;
    /// An answer: what it answers was trimmed; it answers nothing and only grants.
    pub const ONLY_GRANTS: u16 = Self::DUPLICATE;
    /// A queue pair's acknowledgement: it notifies of congestion; it is negative; it does nothing but notify.
    pub const CNP: u16 = Self::ECE;
    pub const NACK: u16 = Self::CWR;
    pub const CNP_ALONE: u16 = Self::DUPLICATE;

    // Kinds: those of transports, each with the transport that it belongs to, and those of the fabric itself.
    const KIND_SHIFT: u16 = 9;
    const KIND: u16 = 0b1111 << Self::KIND_SHIFT;
    /// Of the fabric itself: not a transport's.
    const FABRIC: u16 = 8 << Self::KIND_SHIFT;

    /// TCP and what speaks its language: a segment, an acknowledgement.
    pub const DATA: u16 = 0;
    pub const ACK: u16 = 1 << Self::KIND_SHIFT;
    pub const DATAGRAM: u16 = 2 << Self::KIND_SHIFT;
    /// A connection's own: see [`Control`]. `ECE` asks for, or agrees to, explicit congestion notification.
    pub const CONTROL: u16 = 3 << Self::KIND_SHIFT;
    /// Of a queue pair: a segment; an acknowledgement, whose `seq` is the next segment expected and `aux` that whose arrival caused it.
    pub const RDMA_DATA: u16 = 6 << Self::KIND_SHIFT;
    pub const RDMA_ACK: u16 = 4 << Self::KIND_SHIFT;
    /// Of a transport that is granted rates; what it is stands in [`Extra::header`].
    pub const RATED: u16 = 5 << Self::KIND_SHIFT;
    /// Of the receiver of datagrams that may be trimmed: `seq` is the one that it answers, `aux` how many it has granted in all.
    pub const ANSWER: u16 = 7 << Self::KIND_SHIFT;
    /// Sent by a switch to the ToR of `Frame::dst`; `Frame::seq` is the balancer's.
    pub const TO_SWITCH: u16 = Self::FABRIC;
    /// Not a frame. From here on kinds are not traffic.
    pub const EVENT: u16 = 9 << Self::KIND_SHIFT;
    /// MAC control: see [`Frame::pause`].
    pub const PAUSE: u16 = 10 << Self::KIND_SHIFT;

    /// A PAUSE frame that arrives at `port`: `classes` are held for `quanta` where they are in `xoff`, and let go otherwise.
    pub fn pause(port: u32, classes: u8, xoff: u8, quanta: u16) -> Frame {
        Frame { port, seq: classes as u32 | (xoff as u32) << 8, aux: quanta as u32, size: PAUSE_FRAME, flags: Frame::PAUSE, ..Frame::default() }
    }
    /// Its classes, those to be held, and for how long.
    pub fn pause_parts(&self) -> (u8, u8, u16) {
        (self.seq as u8, (self.seq >> 8) as u8, self.aux as u16)
    }
    /// Nothing changes but the port.
    #[inline(always)]
    pub fn to(&self, port: u32) -> Change {
        Change { port, hash: self.hash, flags: self.flags }
    }
    /// The frame leaves a port for the one at the link's other end.
    #[inline(always)]
    pub fn leave(&mut self, change: Change) {
        (self.port, self.hash, self.flags) = (change.port, change.hash, change.flags);
    }
    /// Binds the frame to a path of [`crate::paths`].
    #[inline(always)]
    pub fn pin(&mut self, path: u32) {
        self.hash = path;
        self.flags |= Self::PINNED;
    }
    /// The port by which a pinned frame is to leave the switch at hand.
    #[inline(always)]
    pub fn pinned_port(&self) -> u16 {
        (self.hash & 0xff) as u16
    }
    /// The port by which it leaves the switch at hand, where frames carry their route with so many bits for a hop.
    #[inline(always)]
    pub fn routed_port(&self, bits: u32) -> u16 {
        (self.hash & ((1 << bits) - 1)) as u16
    }
    /// Its hash beyond that switch. The path turns round, so that all of it is still there.
    #[inline(always)]
    pub fn hash_beyond(&self) -> u32 {
        self.hash.rotate_right(8)
    }
    /// Is under way on links: it comes from a host or a switch and goes to one.
    #[inline(always)]
    pub fn is_traffic(&self) -> bool {
        self.kind() < Self::EVENT
    }
    /// The frame tells an RDMA sender of a mark.
    pub fn notifies(&self) -> bool {
        self.kind() == Frame::RDMA_ACK && (self.has(Frame::CNP) || self.has(Frame::CNP_ALONE))
    }
    /// The network card sends and takes frames of RDMA by itself.
    #[inline(always)]
    pub fn is_of_nic(&self) -> bool {
        matches!(self.kind(), Frame::RDMA_DATA | Frame::RDMA_ACK)
    }
    #[inline(always)]
    pub fn kind(&self) -> u16 {
        self.flags & Self::KIND
    }
    /// The kind as a number below 16.
    #[inline(always)]
    pub fn kind_number(&self) -> u16 {
        self.kind() >> Self::KIND_SHIFT
    }
    pub fn of_kind(number: u16) -> Frame {
        Frame { flags: number << Self::KIND_SHIFT, ..Frame::default() }
    }
    /// A segment of a flow, as opposed to acknowledgements and control frames. Whether frames of kind `RATED` are one stands in their header.
    #[inline(always)]
    pub fn is_data(&self) -> bool {
        matches!(self.kind(), Self::DATA | Self::DATAGRAM | Self::RDMA_DATA)
    }
    /// Switches must not choose its path by hash: a path has been chosen for it, or it is for a switch.
    #[inline(always)]
    pub fn is_bound(&self) -> bool {
        self.has(Self::PINNED | Self::FABRIC)
    }
    #[inline(always)]
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
    #[inline(always)]
    pub fn priority(&self) -> u8 {
        (self.flags & Self::PRIORITY) as u8
    }
}

/// Frames without data that open and close a connection, and reports; carried in `Frame::seq` of frames of kind `CONTROL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Control {
    Syn = 0,
    SynAck = 1,
    /// The last of the three of a handshake, and the answer to a FIN.
    Ack = 2,
    /// Asks for the receive window.
    AskWindow = 3,
    /// What is missing of datagrams that are repeated. In [`Extra`]: the ranges, `edge` is the first that has not come, `trigger` what came last.
    Report = 4,
}

impl Control {
    pub fn of(frame: &Frame) -> Control {
        match frame.seq {
            0 => Control::Syn,
            1 => Control::SynAck,
            2 => Control::Ack,
            3 => Control::AskWindow,
            4 => Control::Report,
            other => unreachable!("control {other}"),
        }
    }
}

/// Events a node makes for itself; carried in `Frame::seq` of frames of kind `EVENT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Event {
    /// Ports with waiting frames must be looked at in this window. Changes nothing by itself.
    Wake = 0,
    /// A flow starts, or stops: [`Event::STOPS`].
    Start = 1,
    /// A sender's timers.
    Sender = 2,
    /// A receiver's timers.
    Receiver = 3,
    /// Series of senders. Last of all at their moment.
    Senders = 4,
    /// Flow control: a PAUSE frame is due again, or a storm's next. The flow is the port's number times 8 and the class.
    Refresh = 5,
    Storm = 6,
    /// Watchdog and deadlock detection: after everything else at their moment, but for samples.
    Watchdog = 7,
    Deadlock = 8,
    /// Port series; uplink windows. Last of all at their moment.
    Sample = 9,
    Uplinks = 10,
    /// At the applications' home: a flow of theirs has ended, or their timers.
    Application = 11,
    /// A switch's balancer asked for it. The flow is a number of its own.
    Balance = 12,
    /// A NIC may make the next frame of a queue pair. The flow is the port's number.
    Nic = 13,
    /// Series of reorder queues. Last of all at their moment.
    Reordering = 14,
    /// A host's pacer may let a frame go, or a node's processor is done with one.
    Release = 15,
}

impl Event {
    /// In `Frame::aux` of [`Event::Start`]: the flow starts by the list of times, not by another flow's end; its sender ends.
    pub const BY_TIME: u32 = 1;
    pub const STOPS: u32 = 2;

    pub fn of(frame: &Frame) -> Event {
        match frame.seq {
            0 => Event::Wake,
            1 => Event::Start,
            2 => Event::Sender,
            3 => Event::Receiver,
            4 => Event::Senders,
            5 => Event::Refresh,
            6 => Event::Storm,
            7 => Event::Watchdog,
            8 => Event::Deadlock,
            9 => Event::Sample,
            10 => Event::Uplinks,
            11 => Event::Application,
            12 => Event::Balance,
            13 => Event::Nic,
            14 => Event::Reordering,
            15 => Event::Release,
            other => unreachable!("event {other}"),
        }
    }
}

/// The order of events at one node at one instant, smallest first. What a transmitter finishes at that instant has
/// always been finished before any of them, and what a pause that expires at it held back has started; then come a node's own timers and starts
/// (by flow, then event), then PAUSE frames by the port at which they arrive, then other frames as [`Ties`] decides, then what looks at the node
/// now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// Bits of a rank's number: the class, a flow and an event.
    pub const BITS: u32 = 3 + Self::CLASS_SHIFT;
    const CLASS_SHIFT: u32 = 32 + Self::EVENT_BITS;
    const EVENT_BITS: u32 = 4;
    /// What happens at intervals as long as the run lasts (samples, watchdogs), and nothing else, is not below this.
    pub const SAMPLES: Rank = Rank(4 << Self::CLASS_SHIFT);

    pub const FIRST: Rank = Rank(0);
    /// Of a NIC that looks for its next frame, at a host with one port.
    pub const NIC: Rank = Rank(1 << Self::CLASS_SHIFT | Event::Nic as u64);

    #[inline(always)]
    pub fn of(frame: &Frame, ties: Ties) -> Rank {
        if frame.is_traffic() { ties.rank(frame) } else { Self::of_event(frame) }
    }
    /// Of an event or a PAUSE frame.
    #[inline(always)]
    pub fn of_event(frame: &Frame) -> Rank {
        debug_assert!(!frame.is_traffic());
        match frame.kind() {
            Frame::PAUSE => Rank(2 << Self::CLASS_SHIFT | frame.port as u64),
            _ => Rank((Self::class(frame) as u64) << Self::CLASS_SHIFT | (frame.flow as u64) << Self::EVENT_BITS | frame.seq as u64),
        }
    }
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }
    /// What kind of thing it is, 3 bits.
    #[inline(always)]
    pub fn class(frame: &Frame) -> u32 {
        match frame.kind() {
            Frame::EVENT => match frame.seq {
                0 => 0,
                1..=3 | 5..=6 | 11..=13 | 15 => 1,
                _ => 4,
            },
            Frame::PAUSE => 2,
            _ => 3,
        }
    }
}

/// The order of frames that arrive at one node at one instant: by a hash of kind, flow, sequence number and the simulation's seed, so that no port
/// comes first more often than another. An order by port gives every place that becomes free in a full queue to the lowest port.
#[derive(Debug, Clone, Copy)]
pub struct Ties {
    salt: u64,
    /// A multiplier that leaves nothing of the hash where ports decide.
    hashed: u64,
}

impl Ties {
    /// Frames with equal hashes, one pair in 2,048, go by port: the order must not depend on the engine.
    const PORT_BITS: u32 = 25;

    pub fn new(seed: u64) -> Ties {
        Ties { salt: mix(seed), hashed: 0x94d0_49bb_1331_11eb }
    }
    pub fn by_port() -> Ties {
        Ties { salt: 0, hashed: 0 }
    }
    #[inline(always)]
    pub fn rank(self, frame: &Frame) -> Rank {
        let key = (self.salt ^ ((frame.flow as u64) << 32 | frame.seq as u64)).wrapping_add(frame.kind() as u64);
        let hash = (key ^ key >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ hash >> 32).wrapping_mul(self.hashed) >> (u64::BITS - Rank::CLASS_SHIFT + Self::PORT_BITS);
        Rank(3 << Rank::CLASS_SHIFT | hash << Self::PORT_BITS | frame.port as u64)
    }
}

/// What a frame carries besides: an acknowledgement with SACK blocks or a window, a segment whose path is recorded, a frame with something written
/// on it by balancers, or any that stood paused.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub struct Extra {
    /// What would stand in `Frame::aux`.
    pub trigger: u32,
    /// The first segment that the receive window does not allow; `u32::MAX` where that is not announced.
    pub edge: u32,
    pub blocks: [(u32, u32); Extra::BLOCKS],
    pub count: u8,
    /// An acknowledgement's timestamp, or the one that data echo; 0 for none.
    pub stamp: u32,
    /// How long this frame, and the one that caused it, stood paused.
    pub paused: u64,
    /// Long, and rare: where in-band telemetry is written.
    pub telemetry: Option<Box<Telemetry>>,
    pub tag: Tag,
    /// Of a frame whose `aux` would be its rank and its path.
    pub rank: u32,
    /// Of kind `RATED`.
    pub header: Option<Box<Header>>,
    pub multipath: Multipath,
    /// Of an answer to a request for the window: when the receiver said that it had opened, 0 if it has not.
    pub opened: u64,
}

/// The option of a connection over several paths: which subflow this is, from 1 (0: none), and the segment of data that is carried; of an
/// acknowledgement the next one expected, and the first that the receive window does not allow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Multipath {
    pub subflow: u8,
    pub data: u32,
    pub edge: u32,
    pub decisive: Decisive,
}

/// Of an acknowledgement of all data (for the account of time, not for the transport): the subflow whose segment completed them, from 1 (0: none),
/// and that segment's number there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Decisive {
    pub subflow: u8,
    pub seq: u32,
}

impl Extra {
    /// For a frame that has none yet: with what its `aux` says.
    pub fn beside(frame: &Frame) -> Extra {
        let mut extra = Extra { edge: u32::MAX, ..Extra::default() };
        extra.say(frame);
        extra
    }

    /// Takes over what the frame's `aux` says.
    #[inline(always)]
    pub fn say(&mut self, frame: &Frame) {
        self.trigger = frame.aux;
        self.rank = if matches!(frame.kind(), Frame::DATA | Frame::CONTROL) && frame.has(Frame::RANKED) { frame.aux } else { 0 };
    }

    /// Says nothing but what would stand in `Frame::aux`.
    pub fn is_bare(&self) -> bool {
        // Whole: a field that is added must be thought of here.
        let Extra { trigger: _, edge, blocks: _, count, stamp, paused, telemetry, tag, rank, header, multipath, opened } = self;
        let Multipath { subflow, data: _, edge: _, decisive: _ } = multipath;
        (*edge, *count, *stamp, *paused, *rank, *subflow, *opened) == (u32::MAX, 0, 0, 0, 0, 0, 0)
            && *tag == Tag::None
            && telemetry.is_none()
            && header.is_none()
    }

    /// The header of a frame that has one.
    #[inline(always)]
    pub fn header_mut(&mut self) -> &mut Header {
        self.header.as_mut().expect("of kind RATED")
    }

    /// RFC 2018 with timestamps leaves room for three.
    pub const BLOCKS: usize = 3;
}

const _: () = assert!(size_of::<Frame>() == 32);
const _: () = assert!(size_of::<Extra>() == 128, "two cache lines");
