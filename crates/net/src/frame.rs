//! Defines frames and events: 32 bytes each, passed by value and streamed through the window logs.

use crate::balance::Tag;
use crate::telemetry::Telemetry;
use crate::transport::rated::allocation::Header;
use afflux_engine::Timed;
use afflux_engine::random::mix;

/// A frame on a link, or an event that a node schedules for itself (a timer, a flow start, a
/// sample).
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Frame {
    /// Time in ps from the start of the window in which the frame arrives.
    pub offset: u32,
    /// Index of the arrival port among the ports of the destination's shard. Events use the pseudo
    /// port of their own node.
    pub port: u32,
    pub flow: u32,
    /// Data: segment number. Acknowledgement: next segment expected. Event: see [`Event`].
    pub seq: u32,
    /// Meaning depends on the kind of frame. Acknowledgement: the segment whose arrival caused it.
    /// Data: the number of the path if paths are recorded, otherwise the timestamp that the segment
    /// echoes. SYN-ACK: its timestamp. Other frames that open or close a connection: the first
    /// unacknowledged segment. If `EXTRA` is set: the handle of an [`Extra`] instead.
    pub aux: u32,
    /// Destination host.
    pub dst: u32,
    /// Hash of the flow, for the choice among equal-cost paths.
    pub hash: u32,
    /// Bytes that the frame occupies in buffers (without the interframe gap).
    pub size: u16,
    pub flags: u16,
}

/// Fields of a frame that a hop rewrites.
#[derive(Clone, Copy)]
pub struct Change {
    /// Arrival port at the other end of the link.
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

/// Size of a PAUSE frame in bytes.
pub const PAUSE_FRAME: u16 = 64;

impl Frame {
    pub const PRIORITY: u16 = 0b111;
    /// Set if the frame is ECN-capable (`ECT`), and if it is marked (`CE`).
    pub const ECT: u16 = 1 << 3;
    pub const CE: u16 = 1 << 4;
    /// Set if `aux` is the handle of an [`Extra`].
    pub const EXTRA: u16 = 1 << 8;
    /// Set if `Frame::hash` holds a path chosen by the source's ToR instead of the hash of the
    /// flow: see [`Frame::pin`].
    pub const PINNED: u16 = 1 << 14;

    // The meaning of the remaining flags depends on the transport that the frame's kind belongs to.
    /// TCP: ECN echo (`ECE`), and congestion window reduced (`CWR`).
    pub const ECE: u16 = 1 << 5;
    pub const CWR: u16 = 1 << 6;
    pub const RETRANSMISSION: u16 = 1 << 7;
    /// Acknowledgement: sent by the delayed-acknowledgement timer, so the segment waited at the
    /// receiver and not in queues.
    pub const DELAYED: u16 = 1 << 15;
    /// Acknowledgement of a segment that had arrived before (RFC 2883). With `RETRANSMISSION`: the
    /// duplicate was a retransmission (the receiver can tell by its timestamp).
    pub const DUPLICATE: u16 = 1 << 13;
    /// Report: sent by the report timer, so the latest datagram waited at the receiver and not in
    /// queues.
    pub const PERIODIC: u16 = Self::DELAYED;
    /// Data and window probe: `aux` is a rank (the remaining size of the flow) for queues that
    /// serve frames by rank.
    pub const RANKED: u16 = Self::DUPLICATE;
    /// Datagram: the receiver reports missing datagrams.
    pub const REPORTED: u16 = Self::DELAYED;
    /// Datagram: queues may trim it to its header (`TRIMMABLE`), and a queue has done so
    /// (`TRIMMED`).
    pub const TRIMMABLE: u16 = Self::DUPLICATE;
    pub const TRIMMED: u16 = Self::ECE;
    /// Answer (NDP): a pull, which grants datagrams and acknowledges none.
    pub const ONLY_GRANTS: u16 = Self::DUPLICATE;
    /// Acknowledgement of a queue pair: congestion notification (`CNP`); negative acknowledgement
    /// (`NACK`); congestion notification without an acknowledgement (`CNP_ALONE`). In an answer
    /// (NDP), `NACK` says that the datagram was trimmed.
    pub const CNP: u16 = Self::ECE;
    pub const NACK: u16 = Self::CWR;
    pub const CNP_ALONE: u16 = Self::DUPLICATE;

    // Kinds of frames. Each transport has its own kinds, and the fabric has some.
    const KIND_SHIFT: u16 = 9;
    const KIND: u16 = 0b1111 << Self::KIND_SHIFT;
    /// First kind of the fabric. Lower kinds belong to transports.
    const FABRIC: u16 = 8 << Self::KIND_SHIFT;

    /// Segment and acknowledgement of TCP and of transports that use its frame format.
    pub const DATA: u16 = 0;
    pub const ACK: u16 = 1 << Self::KIND_SHIFT;
    pub const DATAGRAM: u16 = 2 << Self::KIND_SHIFT;
    /// Opens, closes or probes a connection, or reports: see [`Control`]. `ECE` requests or accepts
    /// explicit congestion notification.
    pub const CONTROL: u16 = 3 << Self::KIND_SHIFT;
    /// Segment and acknowledgement of a queue pair. In an acknowledgement, `seq` is the next
    /// segment expected and `aux` the segment whose arrival caused it.
    pub const RDMA_DATA: u16 = 6 << Self::KIND_SHIFT;
    pub const RDMA_ACK: u16 = 4 << Self::KIND_SHIFT;
    /// Frame of a transport with granted rates (PDQ, D3). [`Extra::header`] says what it is.
    pub const RATED: u16 = 5 << Self::KIND_SHIFT;
    /// Sent by the receiver of datagrams that may be trimmed (NDP): `seq` is the datagram that it
    /// answers, `aux` the total number of datagrams granted so far.
    pub const ANSWER: u16 = 7 << Self::KIND_SHIFT;
    /// Sent by a switch to the ToR of `Frame::dst`. The balancer defines the meaning of
    /// `Frame::seq`.
    pub const TO_SWITCH: u16 = Self::FABRIC;
    /// An event, not a frame. This kind and all higher ones are not traffic.
    pub const EVENT: u16 = 9 << Self::KIND_SHIFT;
    /// MAC control: see [`Frame::pause`].
    pub const PAUSE: u16 = 10 << Self::KIND_SHIFT;

    /// Builds a PAUSE frame that arrives at `port`. It pauses those of `classes` that are in `xoff`
    /// for `quanta`, and resumes the others.
    pub fn pause(port: u32, classes: u8, xoff: u8, quanta: u16) -> Frame {
        Frame {
            port,
            seq: classes as u32 | (xoff as u32) << 8,
            aux: quanta as u32,
            size: PAUSE_FRAME,
            flags: Frame::PAUSE,
            ..Frame::default()
        }
    }
    /// Returns the classes of a PAUSE frame, the subset of them to be paused, and the duration in
    /// quanta.
    pub fn pause_parts(&self) -> (u8, u8, u16) {
        (self.seq as u8, (self.seq >> 8) as u8, self.aux as u16)
    }
    /// Returns a change of the port only.
    #[inline(always)]
    pub fn to(&self, port: u32) -> Change {
        Change { port, hash: self.hash, flags: self.flags }
    }
    /// Applies `change` to the frame as it leaves a port for the one at the other end of the link.
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
    /// Returns the output port of a pinned frame at the current switch.
    #[inline(always)]
    pub fn pinned_port(&self) -> u16 {
        (self.hash & 0xff) as u16
    }
    /// Returns the output port at the current switch, for fabrics whose frames carry their route
    /// with `bits` bits per hop.
    #[inline(always)]
    pub fn routed_port(&self, bits: u32) -> u16 {
        (self.hash & ((1 << bits) - 1)) as u16
    }
    /// Returns the hash of a pinned frame for the next switch. The rotation keeps all bits of the
    /// path.
    #[inline(always)]
    pub fn hash_beyond(&self) -> u32 {
        self.hash.rotate_right(8)
    }
    /// True if the frame travels on links between hosts and switches (PAUSE frames do not count).
    #[inline(always)]
    pub fn is_traffic(&self) -> bool {
        self.kind() < Self::EVENT
    }
    /// True if the frame notifies an RDMA sender of congestion.
    pub fn notifies(&self) -> bool {
        self.kind() == Frame::RDMA_ACK && (self.has(Frame::CNP) || self.has(Frame::CNP_ALONE))
    }
    /// True if the network card sends and receives the frame without the kernel (RDMA).
    #[inline(always)]
    pub fn is_of_nic(&self) -> bool {
        matches!(self.kind(), Frame::RDMA_DATA | Frame::RDMA_ACK)
    }
    #[inline(always)]
    pub fn kind(&self) -> u16 {
        self.flags & Self::KIND
    }
    /// Returns the kind as a number below 16.
    #[inline(always)]
    pub fn kind_number(&self) -> u16 {
        self.kind() >> Self::KIND_SHIFT
    }
    pub fn of_kind(number: u16) -> Frame {
        Frame { flags: number << Self::KIND_SHIFT, ..Frame::default() }
    }
    /// True if the frame is a segment of a flow, not an acknowledgement or control frame. For
    /// frames of kind `RATED` the answer is in their header, and this returns false.
    #[inline(always)]
    pub fn is_data(&self) -> bool {
        matches!(self.kind(), Self::DATA | Self::DATAGRAM | Self::RDMA_DATA)
    }
    /// True if switches must not choose the path by hash: the path is pinned, or the destination is
    /// a switch.
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

/// Frames that open, close or probe a connection, and reports. The number is in `Frame::seq` of
/// frames of kind `CONTROL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Control {
    Syn = 0,
    SynAck = 1,
    /// Third frame of a handshake, and the reply to a FIN.
    Ack = 2,
    /// Window probe: asks for the receive window.
    AskWindow = 3,
    /// Report of missing datagrams, for flows that retransmit them. In [`Extra`], `blocks` has the
    /// ranges, `edge` is the first missing datagram, and `trigger` the one that arrived last.
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

/// Events that a node schedules for itself. The number is in `Frame::seq` of frames of kind
/// `EVENT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Event {
    /// The node must examine its ports with waiting frames in this window. The event itself changes
    /// nothing.
    Wake = 0,
    /// A flow starts, or its sender stops it: see [`Event::STOPS`].
    Start = 1,
    /// A timer of a sender expires.
    Sender = 2,
    /// A timer of a receiver expires.
    Receiver = 3,
    /// Samples the senders. Handled after all other events of the same instant.
    Senders = 4,
    /// Flow control: a PAUSE frame must be refreshed (`Refresh`), or the next PAUSE of a storm is
    /// due (`Storm`). `Frame::flow` is the port number times 8 plus the class.
    Refresh = 5,
    Storm = 6,
    /// Watchdog and deadlock detection. Handled after all other events of the same instant except
    /// samples.
    Watchdog = 7,
    Deadlock = 8,
    /// Samples the ports, and ends an uplink window. Handled after all other events of the same
    /// instant.
    Sample = 9,
    Uplinks = 10,
    /// At the shard that runs the applications: one of their flows has ended, or one of their
    /// timers expires.
    Application = 11,
    /// Requested by the balancer of a switch. The balancer defines the meaning of `Frame::flow`.
    Balance = 12,
    /// A NIC may build the next frame of a queue pair. `Frame::flow` is the port number.
    Nic = 13,
    /// Samples the reorder queues. Handled after all other events of the same instant.
    Reordering = 14,
    /// A host's pacer may release a frame, a node's processor has finished one, or a packet of a
    /// guest enters the network.
    Release = 15,
}

impl Event {
    /// Values of `Frame::aux` in [`Event::Start`]: the flow starts at its scheduled time and not at
    /// the end of another flow (`BY_TIME`); the sender of the flow stops (`STOPS`).
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

/// Order of events at one node at one instant, smallest first. Transmissions that end at that
/// instant come before all of them, and so do transmissions that start because a pause expires.
/// Then come, in this order: the node's own timers and starts (by flow, then event), PAUSE frames
/// (by arrival port), other frames (ordered by [`Ties`]), and periodic observations such as samples
/// and watchdogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// Number of bits of a rank: the class, a flow and an event.
    pub const BITS: u32 = 3 + Self::CLASS_SHIFT;
    const CLASS_SHIFT: u32 = 32 + Self::EVENT_BITS;
    const EVENT_BITS: u32 = 4;
    /// Lower bound of the ranks of periodic events that recur for the whole run (samples,
    /// watchdogs). All other ranks are below it.
    pub const SAMPLES: Rank = Rank(4 << Self::CLASS_SHIFT);

    pub const FIRST: Rank = Rank(0);
    /// Rank of the event [`Event::Nic`] at a host with one port.
    pub const NIC: Rank = Rank(1 << Self::CLASS_SHIFT | Event::Nic as u64);

    #[inline(always)]
    pub fn of(frame: &Frame, ties: Ties) -> Rank {
        if frame.is_traffic() { ties.rank(frame) } else { Self::of_event(frame) }
    }
    /// Returns the rank of an event or a PAUSE frame.
    #[inline(always)]
    pub fn of_event(frame: &Frame) -> Rank {
        debug_assert!(!frame.is_traffic());
        match frame.kind() {
            Frame::PAUSE => Rank(2 << Self::CLASS_SHIFT | frame.port as u64),
            _ => Rank(
                (Self::class(frame) as u64) << Self::CLASS_SHIFT
                    | (frame.flow as u64) << Self::EVENT_BITS
                    | frame.seq as u64,
            ),
        }
    }
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }
    /// Returns the class of an event or frame, the 3 highest bits of its rank.
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

/// Order of frames that arrive at one node at one instant. The order goes by a hash of kind, flow,
/// sequence number and the simulation's seed, so that no port comes first more often than another.
/// An order by port would give every place that becomes free in a full queue to the lowest port.
#[derive(Debug, Clone, Copy)]
pub struct Ties {
    salt: u64,
    /// Second multiplier of the hash. 0 erases the hash, so that the port decides.
    hashed: u64,
}

impl Ties {
    /// Number of low bits of a rank that hold the port. Frames with equal hashes (one pair in
    /// 2,048) are ordered by port, because the order must not depend on the engine.
    const PORT_BITS: u32 = 25;

    pub fn new(seed: u64) -> Ties {
        Ties { salt: mix(seed), hashed: 0x94d0_49bb_1331_11eb }
    }
    pub fn by_port() -> Ties {
        Ties { salt: 0, hashed: 0 }
    }
    #[inline(always)]
    pub fn rank(self, frame: &Frame) -> Rank {
        let key = (self.salt ^ ((frame.flow as u64) << 32 | frame.seq as u64))
            .wrapping_add(frame.kind() as u64);
        let hash = (key ^ key >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ hash >> 32).wrapping_mul(self.hashed)
            >> (u64::BITS - Rank::CLASS_SHIFT + Self::PORT_BITS);
        Rank(3 << Rank::CLASS_SHIFT | hash << Self::PORT_BITS | frame.port as u64)
    }
}

/// Frame metadata that does not fit into the 32 bytes of [`Frame`]. It exists for acknowledgements
/// with SACK blocks or a window, segments whose path is recorded, frames on which a balancer has
/// written, and frames that were delayed by a PAUSE.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub struct Extra {
    /// Value that `Frame::aux` would have without the metadata.
    pub trigger: u32,
    /// First segment beyond the receive window; `u32::MAX` if the frame announces no window.
    pub edge: u32,
    pub blocks: [(u32, u32); Extra::BLOCKS],
    pub count: u8,
    /// Timestamp of an acknowledgement, or the timestamp that data echo; 0 for none.
    pub stamp: u32,
    /// Time in ps for which this frame, and the frame that caused it, were paused.
    pub paused: u64,
    /// In-band telemetry, on frames that collect it. Boxed because it is long and rare.
    pub telemetry: Option<Box<Telemetry>>,
    pub tag: Tag,
    /// Rank of a frame whose path is recorded too, so that both would be in `aux`.
    pub rank: u32,
    /// Header of a frame of kind `RATED`.
    pub header: Option<Box<Header>>,
    pub multipath: Multipath,
    /// In the reply to a window probe: time in ps at which the receiver announced that its window
    /// had opened; 0 if it has not opened.
    pub opened: u64,
}

/// MPTCP option. `subflow` is the number of the subflow, from 1 (0: no option). `data` is the data
/// sequence number carried, and in an acknowledgement the next one expected. `edge` is, in an
/// acknowledgement, the first data sequence number beyond the receive window.
#[derive(Debug, Clone, Copy, Default)]
pub struct Multipath {
    pub subflow: u8,
    pub data: u32,
    pub edge: u32,
    pub decisive: Decisive,
}

/// Segment that completed the data, in an acknowledgement of all data. `subflow` is the subflow of
/// that segment, from 1 (0: none), and `seq` its number there. Only the explanation of the
/// completion time uses it, not the transport.
#[derive(Debug, Clone, Copy, Default)]
pub struct Decisive {
    pub subflow: u8,
    pub seq: u32,
}

impl Extra {
    /// Returns metadata for a frame that has none yet, with the information of its `aux`.
    pub fn for_frame(frame: &Frame) -> Extra {
        let mut extra = Extra { edge: u32::MAX, ..Extra::default() };
        extra.say(frame);
        extra
    }

    /// Takes over the information in the `aux` of the frame.
    #[inline(always)]
    pub fn say(&mut self, frame: &Frame) {
        self.trigger = frame.aux;
        self.rank =
            if matches!(frame.kind(), Frame::DATA | Frame::CONTROL) && frame.has(Frame::RANKED) {
                frame.aux
            } else {
                0
            };
    }

    /// True if the metadata hold no information except what fits into `Frame::aux`.
    pub fn is_bare(&self) -> bool {
        // The pattern names every field, so that a new field cannot be forgotten here.
        let Extra {
            trigger: _,
            edge,
            blocks: _,
            count,
            stamp,
            paused,
            telemetry,
            tag,
            rank,
            header,
            multipath,
            opened,
        } = self;
        let Multipath { subflow, data: _, edge: _, decisive: _ } = multipath;
        (*edge, *count, *stamp, *paused, *rank, *subflow, *opened) == (u32::MAX, 0, 0, 0, 0, 0, 0)
            && *tag == Tag::None
            && telemetry.is_none()
            && header.is_none()
    }

    /// Returns the header of a frame of kind `RATED`.
    #[inline(always)]
    pub fn header_mut(&mut self) -> &mut Header {
        self.header.as_mut().expect("of kind RATED")
    }

    /// Number of SACK blocks. RFC 2018 leaves space for three if timestamps are used.
    pub const BLOCKS: usize = 3;
}

const _: () = assert!(size_of::<Frame>() == 32);
const _: () = assert!(size_of::<Extra>() == 128, "two cache lines");
