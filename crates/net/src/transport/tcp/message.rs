//! A flow on a connection.

use crate::idle::Idle;

/// A flow on a connection.
#[derive(Debug, Clone)]
pub struct Message {
    pub flow: u32,
    /// Behind its last segment.
    pub to: u32,
    pub start: u64,
    pub idle: Idle,
    /// When it is to have ended.
    pub deadline: Option<u64>,
    /// Figures of the connection when it became the current one.
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
}
