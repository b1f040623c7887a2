//! The content of captured frames, as far as flows need it: segments, packets of RoCEv2, and fragments of either.

use super::notes::Note;
use std::net::IpAddr;

/// The kind of bytes that a flow is made of, which is also the class of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Tcp,
    Udp,
    Rdma,
}

/// Bytes of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub kind: Kind,
    pub dscp: u8,
    /// Ports, or queue pairs.
    pub ends: [u32; 2],
    /// Bytes above TCP or UDP, whether they were captured or not.
    pub payload: u32,
    /// TCP: the first byte's number.
    pub sequence: u32,
    /// TCP: the beginning of a connection.
    pub syn: bool,
    /// The payload goes on in further fragments.
    pub goes_on: bool,
}

/// The IP packet that a fragment belongs to.
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
    /// The place of the fragment in the packet, counted from behind the IP header.
    pub offset: u32,
    pub length: u32,
    pub last: bool,
    /// The content of the packet, in its first fragment.
    pub first: Option<Box<Carrying>>,
}

/// The content of a frame.
#[derive(Debug)]
pub enum Carried {
    Segment(Segment),
    Packet(Packet),
    Fragment(Fragment),
}

pub type Carrying = Result<Carried, Note>;

/// Queue pair, numbers of packets and directions of a packet of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Queue {
    pub src: IpAddr,
    pub dst: IpAddr,
    /// The receiving queue pair.
    pub pair: u32,
    /// Responses have the numbers of the requests that they answer.
    pub is_response: bool,
}

/// A packet of a connection, with what it adds to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub queue: Queue,
    pub dscp: u8,
    /// The packet sequence number, 24 bits.
    pub number: u32,
    pub part: Part,
    /// Bytes without headers, padding and check sequence.
    pub payload: u32,
    /// The length of the whole message, as the first packet of a write states it.
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
