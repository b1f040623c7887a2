//! Flow as a part of a connection's byte stream.

use crate::idle::Idle;

/// Flow on a connection.
#[derive(Debug, Clone)]
pub struct Message {
    pub flow: u32,
    /// Segment behind the flow's last one.
    pub to: u32,
    pub start: u64,
    pub idle: Idle,
    /// Deadline, as absolute simulated time in ps. `None` if the flow has none.
    pub deadline: Option<u64>,
    /// Counters of the connection when this flow became the current one.
    pub sent: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
}
