//! What RACK (RFC 8985) remembers.

use super::scoreboard::Segment;
use std::collections::VecDeque;

/// RFC 8985's state.
#[derive(Debug, Default)]
pub(super) struct Rack {
    /// The segment sent last of those that have arrived: when it was sent, which it is, and its round trip.
    pub(super) sent: u64,
    pub(super) end: u32,
    pub(super) rtt: u64,
    /// The shortest round trip of all; 0 without one.
    pub(super) min_rtt: u64,
    /// The network has been seen to reorder, and by how many segments at most.
    pub(super) reordered: bool,
    pub(super) reordering: u32,
    /// Repetitions in the order of sending, with their times; stale where the segment has been sent again or has arrived.
    pub(super) repeated: VecDeque<(u32, u64)>,
    /// Some segments are late, and may yet come.
    pub(super) waiting: bool,
    /// Tail loss probe: the segment after which nothing had been sent, and whether it was a repetition.
    pub(super) probe_high: u32,
    pub(super) probe_repeats: bool,
}

impl Rack {
    pub(super) fn measure(&mut self, rtt: u64) {
        self.min_rtt = if self.min_rtt == 0 { rtt } else { self.min_rtt.min(rtt) };
    }

    /// A segment has arrived.
    #[inline]
    pub(super) fn advance(&mut self, now: u64, segment: &Segment, end: u32) {
        let rtt = now - segment.sent();
        // The acknowledgement of a repetition that comes too soon is that of the original.
        if segment.has(Segment::AMBIGUOUS) && rtt < self.min_rtt {
            return;
        }
        self.rtt = rtt;
        if (segment.sent(), end) > (self.sent, self.end) {
            (self.sent, self.end) = (segment.sent(), end);
        }
    }
}
