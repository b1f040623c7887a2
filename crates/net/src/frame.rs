//! What travels: 32 bytes by value, streamed through the window logs.

use afflux_engine::Timed;

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
    /// Acknowledgement: the segment whose arrival caused it, or a handle of [`AckExtra`] if `EXTRA` is set.
    /// Data: the path's number, if paths are recorded.
    pub aux: u32,
    /// Destination host.
    pub dst: u32,
    /// Hash of the flow for equal-cost choices.
    pub hash: u32,
    /// Bytes in buffers (without the gap).
    pub size: u16,
    pub flags: u16,
}

impl Timed for Frame {
    #[inline(always)]
    fn set_offset(&mut self, offset: u32) {
        self.offset = offset;
    }
}

impl Frame {
    pub const PRIORITY: u16 = 0b111;
    /// ECN-capable; marked.
    pub const ECT: u16 = 1 << 3;
    pub const CE: u16 = 1 << 4;
    /// TCP's ECN echo, and "window reduced".
    pub const ECE: u16 = 1 << 5;
    pub const CWR: u16 = 1 << 6;
    pub const RETRANSMISSION: u16 = 1 << 7;
    pub const EXTRA: u16 = 1 << 8;
    /// Acknowledgement sent by the delayed-acknowledgement timer: the segment waited at the receiver, not in queues.
    pub const DELAYED: u16 = 1 << 12;
    /// Acknowledgement of something that had arrived before (RFC 2883). With `RETRANSMISSION`: what arrived was a repetition (timestamps).
    pub const DUPLICATE: u16 = 1 << 13;
    const KIND_SHIFT: u16 = 9;
    const KIND: u16 = 0b111 << Self::KIND_SHIFT;

    pub const DATA: u16 = 0;
    pub const ACK: u16 = 1 << Self::KIND_SHIFT;
    pub const DATAGRAM: u16 = 2 << Self::KIND_SHIFT;
    pub const EVENT: u16 = 3 << Self::KIND_SHIFT;
    /// A connection's own: see [`Control`]. `ECE` asks for, or agrees to, explicit congestion notification.
    pub const CONTROL: u16 = 4 << Self::KIND_SHIFT;

    #[inline(always)]
    pub fn kind(&self) -> u16 {
        self.flags & Self::KIND
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

/// Segments without data that open and close a connection; carried in `Frame::seq` of frames of kind `CONTROL`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Control {
    Syn = 0,
    SynAck = 1,
    /// The last of the three of a handshake, and the answer to a FIN.
    Ack = 2,
    /// Asks for the receive window.
    AskWindow = 3,
}

impl Control {
    pub fn of(frame: &Frame) -> Control {
        match frame.seq {
            0 => Control::Syn,
            1 => Control::SynAck,
            2 => Control::Ack,
            3 => Control::AskWindow,
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
    /// A flow starts.
    Start = 1,
    /// A sender's timers.
    Sender = 2,
    /// A receiver's timers.
    Receiver = 3,
    /// Next frame of a datagram source.
    Send = 4,
    /// Port series; uplink windows. Last of all at their moment.
    Sample = 5,
    Uplinks = 6,
    /// At the applications' home: a flow of theirs has ended, or their timers.
    Application = 7,
}

impl Event {
    pub fn of(frame: &Frame) -> Event {
        match frame.seq {
            0 => Event::Wake,
            1 => Event::Start,
            2 => Event::Sender,
            3 => Event::Receiver,
            4 => Event::Send,
            5 => Event::Sample,
            6 => Event::Uplinks,
            7 => Event::Application,
            other => unreachable!("event {other}"),
        }
    }
}

/// The order of events at one node at one instant, smallest first. What a transmitter finishes at that instant has
/// always been finished before any of them; then come a node's own timers and starts (by flow, then event), then
/// frames by the port at which they arrive, then samples, which see everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// Bits of a rank's number: the class, a flow and an event.
    pub const BITS: u32 = 3 + Self::CLASS_SHIFT;
    const CLASS_SHIFT: u32 = 35;
    /// Samples, and nothing else, are not below this.
    pub const SAMPLES: Rank = Rank(4 << Self::CLASS_SHIFT);

    #[inline(always)]
    pub fn of(frame: &Frame) -> Rank {
        match frame.kind() {
            Frame::EVENT => Rank((Self::class(frame) as u64) << Self::CLASS_SHIFT | (frame.flow as u64) << 3 | frame.seq as u64),
            _ => Self::of_arrival(frame.port),
        }
    }
    /// Of a frame that arrives at `port`.
    #[inline(always)]
    pub fn of_arrival(port: u32) -> Rank {
        Rank(3 << Self::CLASS_SHIFT | port as u64)
    }
    #[inline(always)]
    pub fn number(self) -> u64 {
        self.0
    }
    /// What kind of thing it is, 3 bits. Class 2 is kept for PAUSE frames.
    #[inline(always)]
    pub fn class(frame: &Frame) -> u32 {
        match frame.kind() {
            Frame::EVENT => match frame.seq {
                0 => 0,
                1..=4 | 7 => 1,
                _ => 4,
            },
            _ => 3,
        }
    }
}

/// What an acknowledgement with SACK blocks carries besides.
#[derive(Debug, Clone, Copy, Default)]
pub struct AckExtra {
    pub trigger: u32,
    /// The first segment that the receive window does not allow; `u32::MAX` where that is not announced.
    pub edge: u32,
    pub blocks: [(u32, u32); AckExtra::BLOCKS],
    pub count: u8,
}

impl AckExtra {
    /// RFC 2018 with timestamps leaves room for three.
    pub const BLOCKS: usize = 3;
}

const _: () = assert!(size_of::<Frame>() == 32);
