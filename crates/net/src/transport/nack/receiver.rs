//! Receiving half of a nack flow: tracks which segments have arrived, and which are missing.

use crate::balance::LateCounters;
use crate::frame::Frame;
use crate::shard::host::Carried;
use crate::spec::Nack;
use crate::transport::receiving::Receiving;

pub struct Receiver {
    pub half: Receiving,
    /// Segment that arrived last, and whether it was a retransmission.
    pub latest: u32,
    pub repeated: bool,
    /// Time in ps of the next report of everything missing, and time of the pending event for it, 0
    /// for none.
    pub due: u64,
    pub armed: u64,
}

/// Report that an arrival causes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reaction {
    Nothing,
    /// The segments in this range were skipped.
    Gap(u32, u32),
    /// All missing segments, or none if nothing is missing.
    Everything,
}

impl Receiver {
    pub fn new(flow: u32, segments: u32) -> Self {
        Receiver {
            half: Receiving::new(flow, segments),
            latest: 0,
            repeated: false,
            due: 0,
            armed: 0,
        }
    }

    pub fn on_frame(
        &mut self,
        now: u64,
        frame: &Frame,
        carried: Carried,
        late: &mut LateCounters,
        config: &Nack,
    ) -> Reaction {
        if self.due == 0 {
            self.due = now + config.report.0;
        }
        let (seq, half) = (frame.seq, &mut self.half);
        (self.latest, self.repeated) = (seq, frame.has(Frame::RETRANSMISSION));
        let left_out = (seq > half.highest).then_some((half.highest, seq));
        let known = half.has(seq);
        half.on_frame(now, frame, carried, late);
        match left_out {
            _ if half.is_complete() => Reaction::Everything,
            // A sender without reports repeats its last segment.
            _ if known && seq + 1 == half.segments => Reaction::Everything,
            Some((from, to)) => Reaction::Gap(from, to),
            None => Reaction::Nothing,
        }
    }

    /// Schedules the next periodic report.
    pub fn on_due(&mut self, now: u64, config: &Nack) {
        self.due = now + config.report.0;
    }
}

impl AsRef<Receiving> for Receiver {
    fn as_ref(&self) -> &Receiving {
        &self.half
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    fn config() -> Nack {
        Nack { rate: None, payload: 1_000, report: Span::from_us(100), timeout: Span::from_us(300) }
    }

    fn arrives(r: &mut Receiver, now: u64, seq: u32, again: bool) -> Reaction {
        let flags = if again { Frame::RETRANSMISSION } else { 0 };
        let frame = Frame { seq, flags, ..Frame::default() };
        r.on_frame(now, &frame, Carried::default(), &mut LateCounters::default(), &config())
    }

    #[test]
    fn a_gap_is_reported_once_at_once_and_everything_later() {
        let mut r = Receiver::new(0, 12);
        assert_eq!(arrives(&mut r, 5, 0, false), Reaction::Nothing);
        assert_eq!(r.due, 5 + config().report.0);
        assert_eq!(arrives(&mut r, 6, 3, false), Reaction::Gap(1, 3));
        assert_eq!(arrives(&mut r, 7, 4, false), Reaction::Nothing);
        assert_eq!(arrives(&mut r, 8, 7, false), Reaction::Gap(5, 7));
        assert_eq!(r.half.missing().collect::<Vec<_>>(), [(1, 3), (5, 7)]);
        assert_eq!(arrives(&mut r, 9, 1, true), Reaction::Nothing);
        assert_eq!((r.half.next, r.half.missing().collect::<Vec<_>>()), (2, vec![(2, 3), (5, 7)]));
        // A segment that arrives twice changes nothing.
        assert_eq!(arrives(&mut r, 9, 1, true), Reaction::Nothing);
        assert_eq!(r.half.received(), 5);
    }

    #[test]
    fn the_last_segment_again_asks_for_everything() {
        let mut r = Receiver::new(0, 3);
        assert_eq!(arrives(&mut r, 1, 2, false), Reaction::Gap(0, 2));
        assert_eq!(arrives(&mut r, 2, 2, true), Reaction::Everything);
        assert_eq!(arrives(&mut r, 3, 0, true), Reaction::Nothing);
        assert_eq!(arrives(&mut r, 4, 1, true), Reaction::Everything);
        assert!(r.half.is_complete() && r.half.missing().next().is_none());
        assert_eq!(r.half.received(), 3);
    }
}
