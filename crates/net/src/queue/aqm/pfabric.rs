//! pFabric's queue: the least urgent frame is dropped, the most urgent flow is served, in order.

use super::policy::{About, Policy};
use crate::Model;
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use crate::spec::Limit;
use afflux_engine::random::Stream;
use std::collections::VecDeque;

/// Frames come with their rank in [`Waiting::clock`]: the smaller, the more urgent. They wait in no order.
#[derive(Debug, Clone)]
pub struct Pfabric {
    limit: Option<Limit>,
    bytes: u64,
    /// Since the queue was empty: how many have come, and the size of the smallest.
    arrivals: u32,
    smallest: u16,
    /// What is looked at of each frame, in the queue's order.
    keys: Vec<Key>,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    /// The rank, and behind it the turn of arrival.
    urgency: u64,
    /// Hash and destination.
    flow: u64,
}

impl Pfabric {
    pub fn new(limit: Option<Limit>) -> Self {
        Pfabric { limit, bytes: 0, arrivals: 0, smallest: 0, keys: Vec::new() }
    }

    /// A frame of less bytes than this would stay if nothing else were here.
    pub fn takes_below(limit: Option<Limit>) -> u64 {
        match limit {
            Some(Limit::Bytes(limit)) => limit,
            Some(Limit::Packets(0 | 1)) => 0,
            None | Some(Limit::Packets(_)) => u64::MAX,
        }
    }

    /// Takes the frame in. If that reaches the limit, the frame with the largest rank goes, of equals the newest, and only one without which
    /// the limit is kept.
    #[inline(always)]
    pub fn push(&mut self, frames: &mut VecDeque<Waiting>, waiting: Waiting) -> Option<Frame> {
        self.bytes += waiting.frame.size as u64;
        let size = waiting.frame.size;
        (self.arrivals, self.smallest) = if frames.is_empty() { (0, size) } else { (self.arrivals.saturating_add(1), self.smallest.min(size)) };
        let flow = (waiting.frame.hash as u64) << 32 | waiting.frame.dst as u64;
        self.keys.push(Key { urgency: waiting.clock << 32 | self.arrivals as u64, flow });
        frames.push_back(waiting);
        let over = match self.limit {
            None => return None,
            Some(Limit::Bytes(limit)) if self.bytes < limit => return None,
            Some(Limit::Bytes(limit)) => self.bytes - limit,
            Some(Limit::Packets(limit)) if frames.len() < limit as usize => return None,
            Some(Limit::Packets(_)) => 0,
        };
        Some(self.drop_worst(frames, over))
    }

    /// No frame that waits is smaller.
    pub fn smallest(&self) -> u16 {
        self.smallest
    }

    /// The queue is so many bytes over its limit.
    #[inline(never)]
    fn drop_worst(&mut self, frames: &mut VecDeque<Waiting>, over: u64) -> Frame {
        let suffices = |size: u16| matches!(self.limit, Some(Limit::Packets(_))) || size as u64 > over;
        let all = || self.keys.iter().zip(frames.iter()).enumerate();
        let worst = all().filter(|(_, (_, w))| suffices(w.frame.size)).max_by_key(|(_, (key, _))| key.urgency);
        // None suffices: the newest.
        let victim = worst.or_else(|| all().max_by_key(|(_, (key, _))| key.urgency as u32)).expect("one has just come").0;
        self.take(frames, victim).frame
    }

    /// Takes a frame out. The last one takes its place: the queue's memory stays where it is warm.
    #[inline(always)]
    fn take(&mut self, frames: &mut VecDeque<Waiting>, place: usize) -> Waiting {
        self.keys.swap_remove(place);
        let all = frames.make_contiguous();
        let taken = all[place];
        all[place] = all[all.len() - 1];
        frames.pop_back();
        self.bytes -= taken.frame.size as u64;
        taken
    }

    /// The oldest frame of the flow that has the frame with the smallest rank (of equals the oldest).
    #[inline(always)]
    pub fn pull(&mut self, frames: &mut VecDeque<Waiting>) -> Option<Waiting> {
        let place = match self.keys.len() {
            0 => return None,
            1 => 0,
            _ => self.next(),
        };
        Some(self.take(frames, place))
    }

    /// Which one goes next, of several.
    #[inline(never)]
    fn next(&self) -> usize {
        let (mut best, mut urgency) = (0, u64::MAX);
        for (place, key) in self.keys.iter().enumerate() {
            if key.urgency < urgency {
                (best, urgency) = (place, key.urgency);
            }
        }
        let (flow, mut turn) = (self.keys[best].flow, urgency as u32);
        for (place, key) in self.keys.iter().enumerate() {
            if key.flow == flow && (key.urgency as u32) < turn {
                (best, turn) = (place, key.urgency as u32);
            }
        }
        best
    }
}

impl Policy for Pfabric {
    type Config = Option<Limit>;
    fn new(limit: &Option<Limit>, _: u64, _: &mut Stream) -> Self {
        Pfabric::new(*limit)
    }
    fn about(limit: &Option<Limit>) -> About {
        About { limit: *limit, ..About::of(MODEL) }
    }
    fn push(&mut self, frames: &mut VecDeque<Waiting>, waiting: Waiting, _: &mut Stream) -> Vec<(Frame, Verdict)> {
        Pfabric::push(self, frames, waiting).map(|frame| (frame, Verdict::Drop(Reason::Buffer))).into_iter().collect()
    }
    fn pull(&mut self, frames: &mut VecDeque<Waiting>, _: u64, _: u64) -> Option<(Waiting, Verdict)> {
        Pfabric::pull(self, frames).map(|waiting| (waiting, Verdict::Admit))
    }
}

pub const MODEL: Model = Model {
    kind: "scheduling",
    name: "pfabric",
    source: "Alizadeh et al., SIGCOMM 2013, and the authors' ns-2 code",
    faithful: "a frame that makes the queue reach its limit costs the frame with the most remaining bytes (of equals the newest); the flow with the fewest is served, its oldest frame first; frames without a remaining size (acknowledgements, other transports) come before all others",
    simplified: "remaining sizes above 4 GiB are equal; the frame in transmission does not count towards the limit (as in ns-2); flows are told apart by the 32-bit hash of what makes them and by their destination",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(flow: u32, rank: u64, seq: u32) -> Waiting {
        Waiting { frame: Frame { flow, hash: flow, seq, size: 1500, ..Frame::default() }, ready: 0, clock: rank }
    }

    #[test]
    fn the_limit_of_24_packets_holds_23() {
        let (mut queue, mut frames) = (Pfabric::new(Some(Limit::Bytes(36_000))), VecDeque::new());
        let dropped = (0..30).filter_map(|seq| queue.push(&mut frames, waiting(1, 5, seq))).count();
        assert_eq!((frames.len(), dropped), (23, 7));
    }

    #[test]
    fn the_least_urgent_goes_and_of_equals_the_newest() {
        let (mut queue, mut frames) = (Pfabric::new(Some(Limit::Packets(4))), VecDeque::new());
        for (flow, rank, seq) in [(1, 50, 0), (2, 90, 0), (2, 90, 1)] {
            assert!(queue.push(&mut frames, waiting(flow, rank, seq)).is_none());
        }
        let dropped = queue.push(&mut frames, waiting(3, 10, 0)).unwrap();
        assert_eq!((dropped.flow, dropped.seq), (2, 1));
        // The arriving frame can be the victim.
        assert_eq!(queue.push(&mut frames, waiting(4, 99, 7)).unwrap().flow, 4);
    }

    #[test]
    fn a_small_frame_does_not_make_room_for_a_large_one() {
        let (mut queue, mut frames) = (Pfabric::new(Some(Limit::Bytes(2_900))), VecDeque::new());
        let mut small = waiting(9, 1_000, 0);
        small.frame.size = 40;
        queue.push(&mut frames, small);
        queue.push(&mut frames, waiting(1, 5, 0));
        let dropped = queue.push(&mut frames, waiting(2, 7, 0)).unwrap();
        assert_eq!(dropped.flow, 2, "the small one has the largest rank, but without it the limit would still be reached");
    }

    #[test]
    fn the_best_flow_is_served_in_order() {
        let (mut queue, mut frames) = (Pfabric::new(None), VecDeque::new());
        // Flow 1's later frame is more urgent than its first: it has fewer bytes left by then.
        for (flow, rank, seq) in [(1, 300, 0), (2, 200, 0), (1, 100, 1), (3, 100, 0)] {
            queue.push(&mut frames, waiting(flow, rank, seq));
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.pull(&mut frames)).map(|w| (w.frame.flow, w.frame.seq)).collect();
        assert_eq!(order, [(1, 0), (1, 1), (3, 0), (2, 0)]);
        assert_eq!(queue.bytes, 0);
    }
}
