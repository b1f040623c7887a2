//! pFabric's queue at a port of the window engine. Frames wait in the arena of `shard::lane`, in one chain for each
//! flow. So the search for the flow to serve compares flows instead of frames, and the oldest frame
//! of that flow is at hand. `queue::aqm::pfabric` has the same rules without chains, for all other
//! ports and for the classical engine, and so tests this queue.

use super::arena::{Arena, Chain};
use crate::frame::Frame;
use crate::spec::Limit;

/// Waiting frames of a port.
#[derive(Clone)]
pub struct RankQueue {
    limit: Option<Limit>,
    frames: u32,
    /// Arrivals since the queue was last empty, counted from 0, and the size in bytes of the
    /// smallest of them.
    arrivals: u32,
    smallest: u16,
    flows: Vec<Flow>,
}

/// Waiting frames of a flow. The arena notes the urgency of each frame: its rank in the upper 32
/// bits, the number of its arrival in the lower 32 bits. A smaller urgency comes first.
#[derive(Clone, Copy)]
struct Flow {
    /// Hash (upper 32 bits) and destination of the frames.
    key: u64,
    /// Smallest urgency of the frames.
    first: u64,
    chain: Chain,
}

impl RankQueue {
    pub fn new(limit: Option<Limit>) -> Self {
        RankQueue { limit, frames: 0, arrivals: 0, smallest: 0, flows: Vec::new() }
    }

    /// Calls `see` for each waiting frame.
    pub fn each(&self, arena: &Arena, see: &mut impl FnMut(&Frame)) {
        self.flows.iter().for_each(|flow| arena.each(&flow.chain, &mut *see));
    }

    /// Lower bound for the sizes in bytes of the waiting frames.
    pub fn smallest(&self) -> u16 {
        self.smallest
    }

    /// Returns the most bytes with which a queue of frames of at least `least` bytes each is below
    /// its limit.
    pub fn bound(&self, least: u64) -> u64 {
        match self.limit {
            None => u64::MAX,
            Some(Limit::Bytes(limit)) => limit.saturating_sub(1),
            Some(Limit::Packets(limit)) => limit.saturating_sub(1) as u64 * least,
        }
    }

    /// True if the queue reaches its limit with one more frame, with which `bytes` wait in all.
    pub fn fills(&self, bytes: u64) -> bool {
        match self.limit {
            None => false,
            Some(Limit::Bytes(limit)) => bytes >= limit,
            Some(Limit::Packets(limit)) => self.frames + 1 >= limit,
        }
    }

    #[inline(always)]
    pub fn push(&mut self, arena: &mut Arena, frame: Frame, rank: u64) {
        (self.arrivals, self.smallest) = if self.flows.is_empty() {
            (0, frame.size)
        } else {
            (self.arrivals.saturating_add(1), self.smallest.min(frame.size))
        };
        self.frames += 1;
        let key = (frame.hash as u64) << 32 | frame.dst as u64;
        let urgency = rank << 32 | self.arrivals as u64;
        match self.flows.iter_mut().find(|flow| flow.key == key) {
            Some(flow) => {
                arena.push(&mut flow.chain, false, &frame, |_| {});
                arena.set_note(&flow.chain, urgency);
                flow.first = flow.first.min(urgency);
            }
            None => {
                let mut chain = Chain::default();
                arena.push(&mut chain, true, &frame, |_| {});
                arena.set_note(&chain, urgency);
                self.flows.push(Flow { key, first: urgency, chain });
            }
        }
    }

    /// Removes the next frame to send: the oldest frame of the flow that has the frame with the
    /// smallest rank (the oldest among equals). Returns its slot, which the caller has to release,
    /// and whether the queue is empty now. The queue must not be empty.
    #[inline(always)]
    pub fn take(&mut self, arena: &mut Arena) -> (u32, bool) {
        let mut next = (0, self.flows[0].first);
        for (place, flow) in self.flows.iter().enumerate().skip(1) {
            if flow.first < next.1 {
                next = (place, flow.first);
            }
        }
        self.remove(arena, next.0, None)
    }

    /// Removes the frame to drop when the limit is reached: the frame with the largest rank (the
    /// newest among equals) of those whose removal brings the queue, of `bytes` in all, below the
    /// limit. Returns the frame, and whether the queue is empty now.
    pub fn pop_worst(&mut self, arena: &mut Arena, bytes: u64) -> (Frame, bool) {
        let (mut worst, mut found) = ((false, 0), (0, None));
        for (place, flow) in self.flows.iter().enumerate() {
            let mut before = None;
            for slot in arena.slots(&flow.chain) {
                let suffices = match self.limit {
                    Some(Limit::Bytes(limit)) => arena.at(slot).size as u64 > bytes - limit,
                    _ => true,
                };
                // If no single removal suffices, the newest frame is dropped.
                let urgency = arena.note(slot);
                let badness = (suffices, if suffices { urgency } else { urgency as u32 as u64 });
                if badness >= worst {
                    (worst, found) = (badness, (place, before));
                }
                before = Some(slot);
            }
        }
        let (slot, empty) = self.remove(arena, found.0, found.1);
        (arena.release(slot), empty)
    }

    /// Removes the frame behind `before` (`None`: the first frame) from the flow in this place.
    /// Returns its slot, and whether the queue is empty now.
    #[inline(always)]
    fn remove(&mut self, arena: &mut Arena, place: usize, before: Option<u32>) -> (u32, bool) {
        let flow = &mut self.flows[place];
        let (slot, empty) = match before {
            None => arena.take(&mut flow.chain),
            Some(before) => (arena.unlink(&mut flow.chain, before), false),
        };
        self.frames -= 1;
        if empty {
            self.flows.swap_remove(place);
        } else if arena.note(slot) == flow.first {
            // Rare: the newest frame of a flow is usually its most urgent one.
            flow.first = least_note(arena, &flow.chain);
        }
        (slot, self.flows.is_empty())
    }
}

#[cold]
#[inline(never)]
fn least_note(arena: &Arena, chain: &Chain) -> u64 {
    arena.slots(chain).map(|slot| arena.note(slot)).min().expect("a chain with frames")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::aqm::{Config, Site, policy};
    use crate::queue::waiting::Waiting;
    use afflux_engine::random::Stream;
    use std::collections::VecDeque;

    #[test]
    fn chains_give_the_order_of_the_discipline() {
        let mut stream = Stream::new(7, 1, 1);
        for case in 0..600 {
            let limit =
                [None, Some(Limit::Packets(9)), Some(Limit::Bytes(12_000))][case as usize % 3];
            let mut discipline = policy(&Config::Pfabric(limit), Site::default(), &mut stream);
            let (mut frames, mut bytes) = (VecDeque::new(), 0);
            let (mut arena, mut queue) = (Arena::default(), RankQueue::new(limit));
            for seq in 0..200 {
                if stream.below(5) < 3 {
                    let (flow, rank) = (stream.below(4) as u32, stream.below(6));
                    let size = [64, 1_500][stream.below(2) as usize];
                    let (hash, dst) = (flow / 2, flow % 2);
                    let frame = Frame { seq, size, hash, dst, ..Frame::default() };
                    let waiting = Waiting { frame, ready: 0, clock: rank };
                    let expected = discipline.push(&mut frames, waiting, &mut stream);
                    bytes += size as u64;
                    let full = queue.fills(bytes);
                    assert!(!full || bytes > queue.bound(64));
                    queue.push(&mut arena, frame, rank);
                    let dropped = full.then(|| queue.pop_worst(&mut arena, bytes).0);
                    bytes -= dropped.map_or(0, |frame| frame.size as u64);
                    assert_eq!(
                        dropped.map(|frame| frame.seq),
                        expected.first().map(|(frame, _)| frame.seq)
                    );
                } else if bytes > 0 {
                    let (slot, empty) = queue.take(&mut arena);
                    let sent = arena.release(slot);
                    bytes -= sent.size as u64;
                    let (expected, _) = discipline.pull(&mut frames, 0, 0).expect("frames wait");
                    assert_eq!((sent.seq, empty), (expected.frame.seq, frames.is_empty()));
                }
            }
        }
    }
}
