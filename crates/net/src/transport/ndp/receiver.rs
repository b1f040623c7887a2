//! Receiving half of NDP, and the pull queue of a host.

use crate::shard::Slab;
use crate::transport::receiving::Receiving;
use std::collections::BTreeMap;

pub struct Receiver {
    pub half: Receiving,
    /// True if the last segment or its header has arrived, so that no new data remain to be pulled.
    ended: bool,
    /// Number of pulls that have been sent, and of those that wait.
    pub granted: u32,
    waiting: u32,
}

impl Receiver {
    pub fn new(flow: u32, segments: u32) -> Self {
        Receiver { half: Receiving::new(flow, segments), ended: false, granted: 0, waiting: 0 }
    }

    /// Notes the arrival of a frame, with or without its payload.
    pub fn on_frame(&mut self, seq: u32) {
        self.ended |= seq + 1 == self.half.segments;
    }

    /// Returns the largest number of pulls that are still useful.
    fn wanted(&self) -> u32 {
        if self.ended { self.half.segments - self.half.received() } else { u32::MAX }
    }
}

impl AsRef<Receiving> for Receiver {
    fn as_ref(&self) -> &Receiving {
        &self.half
    }
}

/// Pull queue of a host. It sends one pull at a time, with round robin among flows.
#[derive(Default)]
pub struct Puller {
    /// Slots of the flows with waiting pulls, by flow number, and the flow that was pulled last. In
    /// the order of arrival, nearby flows would be pulled one after the other, and their frames
    /// would collide with those of distant flows that were pulled before them.
    turns: BTreeMap<u32, u32>,
    last: u32,
    free_at: u64,
    /// Time in ps of the pending event, 0 for none, and the flow in whose name it is scheduled.
    pub armed: u64,
    pub by: u32,
}

impl Puller {
    /// Handles a frame of the flow in `slot`. The answer to it acts as a pull if no other pull
    /// waits and the last one was sent at least `spacing` ago. Pulls that are no longer useful are
    /// discarded.
    pub fn ask(&mut self, now: u64, slot: u32, receivers: &mut Slab<Receiver>, spacing: u64) {
        let r = &mut receivers[slot];
        let wanted = r.wanted();
        if wanted == 0 {
            self.turns.remove(&r.half.flow);
            return;
        }
        if self.turns.is_empty() && now >= self.free_at {
            r.granted += 1;
            self.free_at = now + spacing;
            return;
        }
        self.turns.insert(r.half.flow, slot);
        r.waiting = (r.waiting + 1).min(wanted);
    }

    /// Returns the flow that is pulled now, if any waits.
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
        self.turns
            .range(self.last + 1..)
            .next()
            .or_else(|| self.turns.iter().next())
            .map(|(&flow, &slot)| (flow, slot))
    }

    /// Returns the time in ps of the next pull, and the slot of the flow that is next at present.
    pub fn due(&self) -> Option<(u64, u32)> {
        self.next().map(|(_, slot)| (self.free_at, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // After the last segment's header, two segments are missing, and at most two pulls wait.
        (0..7).for_each(|seq| receivers[b].half.on_data(145, seq));
        receivers[b].on_frame(8);
        for _ in 0..5 {
            puller.ask(145, b, &mut receivers, 10);
        }
        assert_eq!((receivers[b].waiting, puller.due()), (2, Some((150, b))));
        (7..9).for_each(|seq| receivers[b].half.on_data(145, seq));
        puller.ask(146, b, &mut receivers, 10);
        assert_eq!(puller.due(), None);
    }
}
