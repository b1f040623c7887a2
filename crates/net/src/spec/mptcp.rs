//! Specifies Multipath TCP.

use super::{Receive, TcpConfig};
use crate::frame::Control;
use afflux_config::words;

/// A connection over several subflows, each of which is a TCP connection (RFC 8684).
#[derive(Debug, Clone, PartialEq)]
pub struct MptcpConfig {
    /// Settings of the subflows. Subflows have unlimited receive windows: only the connection has a
    /// receive window.
    pub tcp: TcpConfig,
    pub receive: Receive,
    pub manager: PathManager,
    pub scheduler: PathScheduler,
    /// Opportunistic retransmission and penalisation: while the connection's receive window is
    /// full, the sender also sends the oldest segment on a faster subflow, and reduces the window
    /// of the subflow that delays it.
    pub opportunistic: bool,
}

/// Rule that selects the subflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathManager {
    /// This number of subflows between the same two addresses, which differ in their ports.
    DiffPorts(u8),
    /// A subflow from every NIC of the source to every NIC of the destination that it reaches, up
    /// to this number.
    FullMesh(u8),
}

words! {
    /// Scheduler that selects the subflow of a segment.
    pub enum PathScheduler {
        /// Chooses the subflow with the smallest smoothed round trip, among those with space in
        /// their windows.
        LowestRtt,
        /// Uses the subflows with space in their windows in turn.
        RoundRobin,
        /// Sends every segment on every subflow.
        Redundant,
    }
}

impl MptcpConfig {
    /// Bytes of the options of a segment: a mapping with eight bytes of data sequence number, and
    /// the data acknowledgement (RFC 8684 §3.3), padded.
    pub const DATA_OPTION: u16 = 24;
    /// Bytes of the options of an acknowledgement.
    pub const ACK_OPTION: u16 = 8;
    /// Number of SACK blocks that fit next to these options and timestamps.
    pub const BLOCKS: usize = 2;

    /// Returns the bytes of the options of a frame that opens a connection (MP_CAPABLE) or adds a
    /// subflow to it (MP_JOIN, `joins`). `asks` is true for the host that opens, and false for the
    /// one that replies (RFC 8684 §3.1, §3.2). The fourth segment of a joining subflow is a plain
    /// acknowledgement.
    pub const fn opening_option(what: Control, joins: bool, asks: bool) -> u16 {
        match (what, joins, asks) {
            (Control::Syn, false, _) => 4,
            (Control::Syn, true, _) => 12,
            (Control::SynAck, false, _) => 12,
            (Control::SynAck, true, _) => 16,
            (Control::Ack, false, true) => 20,
            (Control::Ack, true, true) => 24,
            (Control::Ack, _, false) => 0,
            (Control::AskWindow | Control::Report, _, _) => 0,
        }
    }
}
