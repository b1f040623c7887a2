//! The result of reading a capture: its flows and its notes.

use super::carried::Kind;
use super::notes::Noted;
use std::net::IpAddr;

/// A flow of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFlow {
    /// Time in ns since the capture's first frame.
    pub start_ns: u64,
    /// Indices into [`Captured::hosts`].
    pub src: u32,
    pub dst: u32,
    pub bytes: u64,
    pub kind: Kind,
    /// DSCP of the first frame with payload.
    pub dscp: u8,
}

/// Content of a capture.
#[derive(Debug, Default)]
pub struct Captured {
    /// Flows, ordered by their start.
    pub flows: Vec<CapturedFlow>,
    /// Addresses of the flows' hosts in numerical order, so that the hosts of a subnet are
    /// neighbours.
    pub hosts: Vec<IpAddr>,
    /// Time of the earliest frame in ns since 1970.
    pub origin_ns: u64,
    /// Number of frames read, and number of frames that carry bytes of flows (`used`).
    pub frames: u64,
    pub used: u64,
    /// Frames that carry no bytes of flows, with the reason, and content of other frames that was
    /// left out.
    pub noted: Vec<Noted>,
    /// Whether the file ends within a frame.
    pub cut: bool,
}

/// A flow with its addresses, while the capture is being read.
pub struct Found {
    pub start_ns: u64,
    pub src: IpAddr,
    pub dst: IpAddr,
    pub bytes: u64,
    pub kind: Kind,
    pub dscp: u8,
}
