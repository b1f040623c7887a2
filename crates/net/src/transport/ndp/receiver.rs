//! The receiving half, and the pulls of a host.

use crate::shard::Slab;
use crate::transport::blocks::Blocks;
use std::collections::VecDeque;

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
    /// Pulls that have been sent, and those that wait.
    pub granted: u32,
    waiting: u32,
}

impl Receiver {
    pub fn new(flow: u32, segments: u32) -> Self {
        Receiver { flow, segments, next: 0, above: Blocks::default(), highest: 0, marked: 0, reordered: 0, paused: 0, granted: 0, waiting: 0 }
    }

    pub fn has(&self, seq: u32) -> bool {
        seq < self.next || self.above.contains(seq)
    }

    pub fn on_data(&mut self, seq: u32) {
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

    /// Segments that have come, and whether the last is among them.
    pub fn received(&self) -> (u64, bool) {
        (self.next as u64 + self.above.count() as u64, self.highest == self.segments)
    }
}

/// The pulls of a host: one at a time, flows in turn.
#[derive(Default)]
pub struct Puller {
    /// Flows with pulls that wait.
    turns: VecDeque<u32>,
    free_at: u64,
    /// The event under way, 0 for none, and the flow in whose name it is.
    pub armed: u64,
    pub by: u32,
}

impl Puller {
    /// A frame of the flow in `slot` has come. The answer to it pulls if no other pull waits and the last one was sent `spacing` ago.
    pub fn ask(&mut self, now: u64, slot: u32, receivers: &mut Slab<Receiver>, spacing: u64) {
        let r = &mut receivers[slot];
        if self.turns.is_empty() && now >= self.free_at {
            r.granted += 1;
            self.free_at = now + spacing;
            return;
        }
        if r.waiting == 0 {
            self.turns.push_back(slot);
        }
        r.waiting += 1;
    }

    /// The flow that is pulled now, if any waits.
    pub fn pull(&mut self, now: u64, receivers: &mut Slab<Receiver>, spacing: u64) -> Option<u32> {
        let slot = self.turns.pop_front()?;
        let r = &mut receivers[slot];
        r.granted += 1;
        r.waiting -= 1;
        if r.waiting > 0 {
            self.turns.push_back(slot);
        }
        self.free_at = now + spacing;
        Some(slot)
    }

    /// Nothing more is to be pulled of this flow.
    pub fn forget(&mut self, slot: u32) {
        self.turns.retain(|&other| other != slot);
    }

    /// When the next pull leaves, and a flow in turn.
    pub fn due(&self) -> Option<(u64, u32)> {
        self.turns.front().map(|&slot| (self.free_at, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_order() {
        let mut r = Receiver::new(0, 4);
        [0, 2, 3, 2].into_iter().for_each(|seq| r.on_data(seq));
        assert_eq!((r.has(1), r.has(2), r.received(), r.reordered), (false, true, (3, true), 1));
        r.on_data(1);
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
        assert_eq!(puller.due(), Some((110, a)));
        let order: Vec<_> = (0..5).map(|n| puller.pull(110 + 10 * n, &mut receivers, 10)).collect();
        assert_eq!(order, [Some(a), Some(b), Some(a), Some(a), None]);
        assert_eq!((receivers[a].granted, receivers[b].granted), (4, 1));
        // The last pull left at 140.
        puller.ask(145, b, &mut receivers, 10);
        assert_eq!(puller.due(), Some((150, b)));
        puller.forget(b);
        assert_eq!(puller.due(), None);
    }
}
