//! Receiving halves of flows: the state that those of several transports have in common.

use super::blocks::Blocks;
use crate::balance::LateCounters;
use crate::frame::Frame;
use crate::shard::ReceivedRecord;
use crate::shard::host::Carried;
use crate::spec::FlowId;
use crate::world::World;

/// A receiving half of any transport.
pub trait ReceivingHalf {
    /// Returns the record of the flow that arrives at present, all of whose data arrived at
    /// `finish`.
    fn record(&self, world: &World, finish: Option<u64>) -> ReceivedRecord;
}

/// State of a receiving half that keeps segments which arrive beyond a gap.
pub struct Receiving {
    pub flow: FlowId,
    pub segments: u32,
    /// First segment that has not arrived, and later segments that have.
    pub next: u32,
    above: Blocks,
    /// Segment behind the highest one that has arrived.
    pub highest: u32,
    marked: u64,
    reordered: u64,
    /// Time in ps that the last frame spent paused.
    pub paused: u64,
    /// Time in ps at which a segment last arrived for the first time.
    last: u64,
}

impl Receiving {
    pub fn new(flow: FlowId, segments: u32) -> Self {
        Receiving {
            flow,
            segments,
            next: 0,
            above: Blocks::default(),
            highest: 0,
            marked: 0,
            reordered: 0,
            paused: 0,
            last: 0,
        }
    }

    /// True if segment `seq` has arrived.
    pub fn has(&self, seq: u32) -> bool {
        seq < self.next || self.above.contains(seq)
    }

    /// Notes the arrival of a frame with data. `late` counts it if it was overtaken.
    pub fn on_frame(
        &mut self,
        now: u64,
        frame: &Frame,
        Carried { paused, tag, .. }: Carried,
        late: &mut LateCounters,
    ) {
        if frame.seq < self.highest {
            late.count(frame.has(Frame::RETRANSMISSION), tag);
        }
        self.marked += frame.has(Frame::CE) as u64;
        self.paused = paused;
        self.on_data(now, frame.seq);
    }

    /// Notes the arrival of segment `seq`.
    pub fn on_data(&mut self, now: u64, seq: u32) {
        if !self.has(seq) {
            self.last = now;
        }
        self.reordered += (seq < self.highest) as u64;
        self.highest = self.highest.max(seq + 1);
        if seq == self.next {
            self.next = self.above.end_from(seq + 1);
            self.above.discard_below(self.next);
        } else if seq > self.next {
            self.above.insert(seq);
        }
    }

    pub fn is_complete(&self) -> bool {
        self.next == self.segments
    }

    /// Returns the missing ranges in ascending order.
    pub fn missing(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.above.gaps_from(self.next)
    }

    /// Returns the number of segments that have arrived.
    pub fn received(&self) -> u32 {
        self.next + self.above.count()
    }
}

impl AsRef<Receiving> for Receiving {
    fn as_ref(&self) -> &Receiving {
        self
    }
}

impl<R: AsRef<Receiving>> ReceivingHalf for R {
    fn record(&self, _: &World, finish: Option<u64>) -> ReceivedRecord {
        let r = self.as_ref();
        ReceivedRecord {
            flow: r.flow,
            finish,
            frames: r.received() as u64,
            has_last: r.highest == r.segments,
            marked: r.marked,
            reordered: r.reordered,
            paused: r.paused,
            last: r.last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_order() {
        let mut r = Receiving::new(0, 4);
        [0, 2, 3, 2].into_iter().zip(5..).for_each(|(seq, now)| r.on_data(now, seq));
        assert_eq!(r.last, 7, "what came twice is not new");
        assert_eq!((r.has(1), r.has(2), r.received(), r.reordered), (false, true, 3, 1));
        assert_eq!((r.highest, r.missing().collect::<Vec<_>>()), (4, vec![(1, 2)]));
        r.on_data(9, 1);
        assert!(r.is_complete());
    }
}
