//! The receiving half, and the pulls of a host.

use crate::shard::Slab;
use crate::transport::blocks::Blocks;
use std::collections::BTreeMap;

pub struct Receiver {
    pub flow: u32,
    segments: u32,
    /// The first that has not come, and what has come above it.
    next: u32,
    above: Blocks,
    /// Behind the highest that has come.
    pub highest: u32,
    pub marked: u64,
    pub reordered: u64,
    pub paused: u64,
    /// When a segment that had not been here came last, picoseconds.
    pub last: u64,
    /// The last segment has come, or its header: nothing new is to be pulled.
    ended: bool,
    /// Pulls that have been sent, and those that wait.
    pub granted: u32,
    waiting: u32,
}

impl Receiver {
    pub fn new(flow: u32, segments: u32) -> Self {
        Receiver {
            flow,
            segments,
            next: 0,
            above: Blocks::default(),
            highest: 0,
            marked: 0,
            reordered: 0,
            paused: 0,
            last: 0,
            ended: false,
            granted: 0,
            waiting: 0,
        }
    }

    pub fn has(&self, seq: u32) -> bool {
        seq < self.next || self.above.contains(seq)
    }

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

    /// A frame has come, whole or not.
    pub fn on_frame(&mut self, seq: u32) {
        self.ended |= seq + 1 == self.segments;
    }

    /// The most pulls that still have a use.
    fn wanted(&self) -> u32 {
        if self.ended { self.segments - self.received().0 as u32 } else { u32::MAX }
    }

    pub fn is_complete(&self) -> bool {
        self.next == self.segments
    }

    /// Segments that have come, and whether the last is among them.
    pub fn received(&self) -> (u64, bool) {
        (self.next as u64 + self.above.count() as u64, self.highest == self.segments)
    }
}

/// The pulls of a host: one at a time, flows in turn.
#[derive(Default)]
pub struct Puller {
    /// Flows with pulls that wait, by number, and where they are; the one that was pulled last. In the order of their arrival flows from near would follow
    /// each other, and meet those from afar that were pulled before them.
    turns: BTreeMap<u32, u32>,
    last: u32,
    free_at: u64,
    /// The event under way, 0 for none, and the flow in whose name it is.
    pub armed: u64,
    pub by: u32,
}

impl Puller {
    /// A frame of the flow in `slot` has come. The answer to it pulls if no other pull waits and the last one was sent `spacing` ago. Pulls without a
    /// use are forgotten.
    pub fn ask(&mut self, now: u64, slot: u32, receivers: &mut Slab<Receiver>, spacing: u64) {
        let r = &mut receivers[slot];
        let wanted = r.wanted();
        if wanted == 0 {
            self.turns.remove(&r.flow);
            return;
        }
        if self.turns.is_empty() && now >= self.free_at {
            r.granted += 1;
            self.free_at = now + spacing;
            return;
        }
        self.turns.insert(r.flow, slot);
        r.waiting = (r.waiting + 1).min(wanted);
    }

    /// The flow that is pulled now, if any waits.
    pub fn pull(&mut self, now: u64, receivers: &mut Slab<Receiver>, spacing: u64) -> Option<u32> {
        let (flow, slot) = self.next()?;
        let r = &mut receivers[slot];
        r.granted += 1;
        r.waiting -= 1;
        if r.waiting == 0 {
            self.turns.remove(&flow);
        }
        self.last = flow;
        self.free_at = now + spacing;
        Some(slot)
    }

    fn next(&self) -> Option<(u32, u32)> {
        self.turns.range(self.last + 1..).next().or_else(|| self.turns.iter().next()).map(|(&flow, &slot)| (flow, slot))
    }

    /// When the next pull leaves, and whose it would be now.
    pub fn due(&self) -> Option<(u64, u32)> {
        self.next().map(|(_, slot)| (self.free_at, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_order() {
        let mut r = Receiver::new(0, 4);
        [0, 2, 3, 2].into_iter().zip(5..).for_each(|(seq, now)| r.on_data(now, seq));
        assert_eq!(r.last, 7, "what came twice is not new");
        assert_eq!((r.has(1), r.has(2), r.received(), r.reordered), (false, true, (3, true), 1));
        r.on_data(9, 1);
        assert!(r.is_complete());
    }

    #[test]
    fn pulls_are_spaced_and_flows_take_turns() {
        let (mut receivers, mut puller) = (Slab::default(), Puller::default());
        let (a, b) = (receivers.insert(Receiver::new(0, 9)), receivers.insert(Receiver::new(1, 9)));
        puller.ask(100, a, &mut receivers, 10);
        assert_eq!((receivers[a].granted, puller.due()), (1, None), "the answer pulls");
        for slot in [a, a, a, b] {
            puller.ask(105, slot, &mut receivers, 10);
        }
        assert_eq!(puller.due(), Some((110, b)));
        let order: Vec<_> = (0..5).map(|n| puller.pull(110 + 10 * n, &mut receivers, 10)).collect();
        assert_eq!(order, [Some(b), Some(a), Some(a), Some(a), None]);
        assert_eq!((receivers[a].granted, receivers[b].granted), (4, 1));
        // The last pull left at 140.
        puller.ask(145, b, &mut receivers, 10);
        assert_eq!(puller.due(), Some((150, b)));
        // The last segment's header: two are missing, and pulls for no more than those wait.
        (0..7).for_each(|seq| receivers[b].on_data(145, seq));
        receivers[b].on_frame(8);
        for _ in 0..5 {
            puller.ask(145, b, &mut receivers, 10);
        }
        assert_eq!((receivers[b].waiting, puller.due()), (2, Some((150, b))));
        (7..9).for_each(|seq| receivers[b].on_data(145, seq));
        puller.ask(146, b, &mut receivers, 10);
        assert_eq!(puller.due(), None);
    }
}
