//! Content of captured frames that flows depend on: segments, RoCEv2 packets, and fragments of
//! either.

use super::notes::Note;
use std::net::IpAddr;

/// Protocol of a flow's bytes, which is also the class of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Tcp,
    Udp,
    Rdma,
}

/// Bytes of one direction of a connection in one frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub kind: Kind,
    pub dscp: u8,
    /// Source and destination ports, or queue pairs.
    pub ends: [u32; 2],
    /// Bytes above TCP or UDP, whether they were captured or not.
    pub payload: u32,
    /// TCP: sequence number of the first byte.
    pub sequence: u32,
    /// TCP: whether the segment begins a connection.
    pub syn: bool,
    /// Whether the payload continues in further fragments.
    pub goes_on: bool,
}

/// IP packet that a fragment belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Datagram {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub protocol: u8,
    pub id: u32,
}

#[derive(Debug)]
pub struct Fragment {
    pub datagram: Datagram,
    /// Offset of the fragment in the packet in bytes, counted from the end of the IP header.
    pub offset: u32,
    pub length: u32,
    pub last: bool,
    /// Content of the packet, in its first fragment only.
    pub first: Option<Box<Carrying>>,
}

/// Content of a frame.
#[derive(Debug)]
pub enum Carried {
    Segment(Segment),
    Packet(Packet),
    Fragment(Fragment),
}

impl Carried {
    /// True if a copy of the frame would count, because nothing in it tells copies apart.
    pub fn may_count_twice(&self) -> bool {
        match self {
            Carried::Segment(segment) => segment.kind != Kind::Tcp && segment.payload > 0,
            Carried::Packet(_) => false,
            Carried::Fragment(_) => true,
        }
    }
}

pub type Carrying = Result<Carried, Note>;

/// Key of a sequence of packet numbers: the receiving queue pair and the direction of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Queue {
    pub src: IpAddr,
    pub dst: IpAddr,
    /// Receiving queue pair.
    pub pair: u32,
    /// Whether the packet is a response. Responses have the numbers of the requests that they
    /// answer.
    pub is_response: bool,
}

/// A packet of a connection, and its part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub queue: Queue,
    pub dscp: u8,
    /// Packet sequence number, 24 bits.
    pub number: u32,
    pub part: Part,
    /// Bytes without headers, padding and check sequence.
    pub payload: u32,
    /// Length in bytes of the whole message, as the first packet of a write states it.
    pub stated: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    First,
    Middle,
    Last,
    Only,
    /// A request without data.
    Bare(Note),
}
