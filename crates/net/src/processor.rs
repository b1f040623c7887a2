//! Models the processor of a router or host. It handles frames one after the other, with a cost for
//! each, and stops while it is busy with other work.

use crate::Model;
use crate::frame::Frame;
use crate::spec;
use std::collections::VecDeque;

pub const MODEL: Model = Model {
    kind: "host",
    name: "processor",
    source: "packet rate of routers made of computers, and receivers whose disk flush stops the kernel (KEK, Linux Conference 2001); receive livelock: \
             Mogul and Ramakrishnan, TOCS 1997",
    faithful: "one processor for all links of a node; frames wait in one queue of limited length and cost a fixed time each; each arrival costs interrupt \
               time, also the arrival of a frame that is then dropped; during stalls the queue fills, and frames that do not fit are lost (`in_discards`)",
    simplified: "costs do not depend on a frame's size; what a host sends costs nothing; stalls come at fixed times, not after a number of written bytes; \
                 the ideal completion time does not include the processor, so its time counts as queueing; not available with cut-through or a memory \
                 management unit",
};

pub struct Processor {
    config: spec::Processor,
    /// Frames at the processor. The first one is in process until `due`.
    queue: VecDeque<Frame>,
    due: u64,
    /// Time of the pending wake-up event in ps; 0 for none.
    pub armed: u64,
}

/// Fate of an arriving frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// Processing takes no time.
    AtOnce,
    Held,
    Dropped,
}

impl Processor {
    pub fn new(config: spec::Processor) -> Self {
        Processor { config, queue: VecDeque::new(), due: 0, armed: 0 }
    }

    pub fn take(&mut self, now: u64, frame: Frame) -> Taken {
        let spec::Processor { packet_time: packet, interrupt_time: interrupt, queue, .. } =
            self.config;
        if self.queue.is_empty() {
            let due = self.done(now, interrupt.0 + packet.0);
            if due == now {
                return Taken::AtOnce;
            }
            self.due = due;
        } else if self.queue.len() < queue as usize {
            self.due = self.done(self.due, interrupt.0);
        } else {
            // During a stall the network card drops frames without interrupts.
            if self.is_working(now) {
                self.due = self.done(self.due, interrupt.0);
            }
            return Taken::Dropped;
        }
        self.queue.push_back(frame);
        Taken::Held
    }

    /// Returns the next frame whose processing has ended by `now`.
    pub fn release(&mut self, now: u64) -> Option<Frame> {
        if self.queue.is_empty() || self.due > now {
            return None;
        }
        let frame = self.queue.pop_front();
        if !self.queue.is_empty() {
            self.due = self.done(now, self.config.packet_time.0);
        }
        frame
    }

    /// Returns the time of the next wake-up; 0 if none is needed.
    pub fn wake(&self) -> u64 {
        if self.queue.is_empty() { 0 } else { self.due }
    }

    /// Returns the number and the bytes of the frames at the processor.
    pub fn held(&self) -> (u64, u64) {
        (self.queue.len() as u64, self.queue.iter().map(|frame| frame.size as u64).sum())
    }

    fn is_working(&self, now: u64) -> bool {
        self.config.stall.is_none_or(|stall| now % (stall.work.0 + stall.pause.0) < stall.work.0)
    }

    /// Returns the time at which `work` that begins at `from` is done.
    fn done(&self, from: u64, work: u64) -> u64 {
        let Some(stall) = self.config.stall else { return from + work };
        let (period, spell) = (stall.work.0 + stall.pause.0, stall.work.0);
        // The computation uses the time worked since the start. A stall begins at the end of a
        // spell, and work that ends at that instant is done before the stall.
        let worked = from / period * spell + (from % period).min(spell);
        let (target, stalled) = (worked + work, from % period >= spell);
        if work == 0 && !stalled {
            return from;
        }
        match target % spell {
            0 if work > 0 => target / spell * period - stall.pause.0,
            rest => target / spell * period + rest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afflux_units::Span;

    fn processor(packet: u64, interrupt: u64, queue: u32, stall: Option<(u64, u64)>) -> Processor {
        let stall = stall.map(|(work, pause)| spec::Stall { work: Span(work), pause: Span(pause) });
        Processor::new(spec::Processor {
            packet_time: Span(packet),
            interrupt_time: Span(interrupt),
            queue,
            stall,
        })
    }

    fn frame(seq: u32) -> Frame {
        Frame { seq, size: 100, ..Frame::default() }
    }

    #[test]
    fn one_after_the_other() {
        let mut p = processor(10, 0, 2, None);
        assert_eq!(
            (p.take(5, frame(0)), p.take(6, frame(1)), p.take(7, frame(2))),
            (Taken::Held, Taken::Held, Taken::Dropped)
        );
        assert_eq!(
            (p.release(14).map(|f| f.seq), p.release(15).map(|f| f.seq), p.wake()),
            (None, Some(0), 25)
        );
        assert_eq!((p.held(), p.release(25).map(|f| f.seq), p.wake()), ((1, 100), Some(1), 0));
    }

    /// Overload reduces the throughput. If arrivals take all the processing time, the throughput is
    /// almost zero.
    #[test]
    fn livelock() {
        let through = |gap: u64| {
            let (mut p, mut out) = (processor(10, 5, 4, None), 0);
            for now in 0..100_000 {
                while p.release(now).is_some() {
                    out += 1;
                }
                if now % gap == 0 {
                    p.take(now, frame(0));
                }
            }
            out
        };
        // One frame per 20, then per 15 (the maximum throughput), then per 10 (arrivals take half
        // of the time), then per 5 (arrivals take all of it).
        assert!((4_998..=5_000).contains(&through(20)) && (6_660..=6_667).contains(&through(15)));
        assert!(
            (4_990..=5_010).contains(&through(10)) && through(5) <= 2,
            "{} {}",
            through(10),
            through(5)
        );
    }

    #[test]
    fn stalls() {
        let p = processor(0, 0, 9, Some((100, 50)));
        let cases = [
            (0, 0, 0),
            (99, 0, 99),
            (100, 0, 150),
            (149, 0, 150),
            (150, 0, 150),
            (90, 10, 100),
            (90, 11, 151),
            (120, 7, 157),
            (10, 290, 400),
            (10, 291, 451),
        ];
        for (from, work, done) in cases {
            assert_eq!(p.done(from, work), done, "{work} from {from}");
        }
        let mut p = processor(0, 0, 2, Some((100, 50)));
        assert_eq!(
            (
                p.take(99, frame(0)),
                p.take(100, frame(1)),
                p.take(120, frame(2)),
                p.take(130, frame(3))
            ),
            (Taken::AtOnce, Taken::Held, Taken::Held, Taken::Dropped)
        );
        assert_eq!(
            (
                p.wake(),
                p.release(150).map(|f| f.seq),
                p.release(150).map(|f| f.seq),
                p.release(150).map(|f| f.seq)
            ),
            (150, Some(1), Some(2), None)
        );
    }
}
