//! Flows of a capture.

use super::carried::Kind;
use super::notes::Noted;
use std::net::IpAddr;

/// A flow of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFlow {
    /// Time since the capture's first frame.
    pub start_ns: u64,
    /// Indices into [`Captured::hosts`].
    pub src: u32,
    pub dst: u32,
    pub bytes: u64,
    pub kind: Kind,
    /// The DSCP of the first frame with payload.
    pub dscp: u8,
}

/// The content of a capture.
#[derive(Debug, Default)]
pub struct Captured {
    /// The flows, ordered by their start.
    pub flows: Vec<CapturedFlow>,
    /// The addresses of flows, in their order: those of a subnet stand together.
    pub hosts: Vec<IpAddr>,
    /// The earliest frame, since 1970.
    pub origin_ns: u64,
    /// Frames read, and those of them that carry bytes of flows.
    pub frames: u64,
    pub used: u64,
    /// Frames that carry none, with the reason, and what was left out of others.
    pub noted: Vec<Noted>,
    /// The file ends within a frame.
    pub cut: bool,
}

/// A flow by its addresses, while the capture is read.
pub struct Found {
    pub start_ns: u64,
    pub src: IpAddr,
    pub dst: IpAddr,
    pub bytes: u64,
    pub kind: Kind,
    pub dscp: u8,
}
