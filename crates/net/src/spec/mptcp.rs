//! Multipath TCP.

use super::{Receive, TcpConfig};
use crate::frame::Control;
use afflux_config::words;

/// One connection over several subflows, each a TCP of its own (RFC 8684).
#[derive(Debug, Clone, PartialEq)]
pub struct MptcpConfig {
    /// Of the subflows. Their windows at the receiver are without bounds: the connection has one.
    pub tcp: TcpConfig,
    pub receive: Receive,
    pub manager: PathManager,
    pub scheduler: PathScheduler,
    /// Where the connection's one receive window is full, the oldest segment is sent on a faster subflow too, and the one that holds it back is
    /// slowed down.
    pub opportunistic: bool,
}

/// Which subflows there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathManager {
    /// So many between the same two addresses, told apart by their ports.
    DiffPorts(u8),
    /// One from every NIC of the source to every one of the destination that it reaches, so many at most.
    FullMesh(u8),
}

words! {
    /// Schedulers.
    pub enum PathScheduler {
        /// Of the subflows with room in their windows the one with the smallest smoothed round trip.
        LowestRtt,
        /// Those with room in turn.
        RoundRobin,
        /// Every segment on every subflow.
        Redundant,
    }
}

impl MptcpConfig {
    /// Bytes of the options of a segment: a mapping of eight bytes of sequence, and the acknowledgement of data (RFC 8684 §3.3), padded.
    pub const DATA_OPTION: u16 = 24;
    /// Of an acknowledgement.
    pub const ACK_OPTION: u16 = 8;
    /// What is left for SACK beside them and timestamps.
    pub const BLOCKS: usize = 2;

    /// Of a segment that opens a connection (MP_CAPABLE) or `joins` it (MP_JOIN), from the host that `asks` or the one that answers (RFC 8684 §3.1,
    /// §3.2). The fourth segment of a subflow that joins is a plain acknowledgement.
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
