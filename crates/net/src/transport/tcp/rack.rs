//! State of RACK, the loss detection by send times (RFC 8985).

use super::scoreboard::Segment;
use std::collections::VecDeque;

/// State of RACK (RFC 8985).
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// Most recently sent segment that has arrived: its send time in ps, and the segment behind it.
    /// `rtt`: latest round trip in ps.
    pub(super) sent: u64,
    pub(super) end: u32,
    pub(super) rtt: u64,
    /// Shortest round trip in ps; 0 before the first one.
    pub(super) min_rtt: u64,
    /// Whether the network has been seen to reorder, and by how many segments at most.
    pub(super) reordered: bool,
    pub(super) reordering: u32,
    /// Retransmissions in the order of sending, with their send times in ps. An entry is stale if
    /// its segment has been retransmitted again or has arrived.
    pub(super) repeated: VecDeque<(u32, u64)>,
    /// True if some segments are late and can still arrive.
    pub(super) waiting: bool,
    /// Tail loss probe: next new segment when it was sent (0: no probe), and whether it was a
    /// retransmission.
    pub(super) probe_high: u32,
    pub(super) probe_repeats: bool,
}

impl Rack {
    pub(super) fn measure(&mut self, rtt: u64) {
        self.min_rtt = if self.min_rtt == 0 { rtt } else { self.min_rtt.min(rtt) };
    }

    /// Processes the arrival of a segment. `end`: segment behind it.
    #[inline]
    pub(super) fn advance(&mut self, now: u64, segment: &Segment, end: u32) {
        let rtt = now - segment.sent();
        // An acknowledgement that comes too soon after a retransmission belongs to the original.
        if segment.has(Segment::AMBIGUOUS) && rtt < self.min_rtt {
            return;
        }
        self.rtt = rtt;
        if (segment.sent(), end) > (self.sent, self.end) {
            (self.sent, self.end) = (segment.sent(), end);
        }
    }
}
