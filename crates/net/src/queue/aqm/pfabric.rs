//! pFabric's queue: drops the least urgent frame and serves the most urgent flow, in order.

use super::policy::{About, Policy, QueueTag, Site};
use crate::Model;
use crate::frame::Frame;
use crate::queue::scheduling::about::{self, Served};
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use crate::spec::Limit;
use afflux_engine::random::Stream;
use std::collections::VecDeque;

/// pFabric discipline. Each frame arrives with its rank in [`Waiting::clock`]: a smaller rank is
/// more urgent. The queue does not sort frames.
#[derive(Debug, Clone)]
pub struct Pfabric {
    order: Order,
}

/// Order of frames in a pFabric queue: selects the frame to send and the frame to drop. The owner
/// of the order stores the frames, in the places that the order names. Ports of the window
/// engine have a faster order of their own (`shard::rank_queue`).
#[derive(Debug, Clone)]
struct Order {
    limit: Option<Limit>,
    bytes: u64,
    /// Arrivals since the queue was last empty, counted from 0.
    arrivals: u32,
    keys: Vec<Key>,
    /// Most urgent key of the waiting frames, if it is known.
    most_urgent: Option<Key>,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    /// Rank in the upper 32 bits, number of the arrival in the lower 32 bits.
    urgency: u64,
    /// Hash (upper 32 bits) and destination of the frame, which identify its flow.
    flow: u64,
}

impl Order {
    fn new(limit: Option<Limit>) -> Self {
        Order { limit, bytes: 0, arrivals: 0, keys: Vec::new(), most_urgent: None }
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds a frame in the last place. Returns true if the queue reaches its limit.
    fn push(&mut self, frame: &Frame, rank: u64) -> bool {
        self.bytes += frame.size as u64;
        self.arrivals = if self.keys.is_empty() { 0 } else { self.arrivals.saturating_add(1) };
        let flow = (frame.hash as u64) << 32 | frame.dst as u64;
        let key = Key { urgency: rank << 32 | self.arrivals as u64, flow };
        self.keys.push(key);
        if self.most_urgent.is_some_and(|first| key.urgency < first.urgency) {
            self.most_urgent = Some(key);
        }
        match self.limit {
            None => false,
            Some(Limit::Bytes(limit)) => self.bytes >= limit,
            Some(Limit::Packets(limit)) => self.keys.len() >= limit as usize,
        }
    }

    /// Returns the place of the frame to drop when the limit is reached: the frame with the largest
    /// rank (the newest among equals) of those whose removal brings the queue below the limit.
    fn worst(&self, size_of: impl Fn(usize) -> u16) -> usize {
        let suffices = |place: usize| match self.limit {
            Some(Limit::Bytes(limit)) => size_of(place) as u64 > self.bytes - limit,
            _ => true,
        };
        let all = || self.keys.iter().enumerate();
        let worst = all().filter(|(place, _)| suffices(*place)).max_by_key(|(_, key)| key.urgency);
        // No single removal suffices: drop the newest frame.
        worst
            .or_else(|| all().max_by_key(|(_, key)| key.urgency as u32))
            .expect("one has just come")
            .0
    }

    /// Returns the place of the next frame to send: the oldest frame of the flow that has the frame
    /// with the smallest rank (the oldest among equals). The queue must not be empty.
    fn next(&mut self) -> usize {
        if self.keys.len() == 1 { 0 } else { self.next_of_several() }
    }

    /// Searches several keys. The newest frame of a flow is usually its most urgent one, while the
    /// oldest is sent. So `most_urgent` usually stays valid.
    fn next_of_several(&mut self) -> usize {
        let smallest = || *self.keys.iter().min_by_key(|key| key.urgency).expect("several");
        let flow = self.most_urgent.get_or_insert_with(smallest).flow;
        let of_flow = self.keys.iter().enumerate().filter(|(_, key)| key.flow == flow);
        of_flow.min_by_key(|(_, key)| key.urgency as u32).expect("it has the most urgent frame").0
    }

    /// Removes the frame of `size` bytes at `place`. The last frame moves to that place.
    fn take(&mut self, place: usize, size: u16) {
        let taken = self.keys.swap_remove(place);
        self.bytes -= size as u64;
        if self.most_urgent.is_some_and(|first| first.urgency == taken.urgency) {
            self.most_urgent = None;
        }
    }
}

impl Pfabric {
    fn take(&mut self, frames: &mut VecDeque<Waiting>, place: usize) -> Waiting {
        let taken = frames.swap_remove_back(place).expect("a place in the queue");
        self.order.take(place, taken.frame.size);
        taken
    }
}

impl Policy for Pfabric {
    type Config = Option<Limit>;
    fn new(limit: &Option<Limit>, _: Site, _: &mut Stream) -> Self {
        Pfabric { order: Order::new(*limit) }
    }
    fn about(limit: &Option<Limit>) -> About {
        let text = "\"pfabric\" serves the flow with the fewest bytes left, and no traffic says how many it has left: write kind = \"pfabric\" in [host.transport]";
        About {
            limit: *limit,
            hashes: true,
            pfabric_order: true,
            unpausable: true,
            requires_tag: Some((QueueTag::Remaining, "scheduling", text)),
            ..About::of(MODEL)
        }
    }
    fn push(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        waiting: Waiting,
        _: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        frames.push_back(waiting);
        if !self.order.push(&waiting.frame, waiting.clock) {
            return Vec::new();
        }
        let worst = self.order.worst(|place| frames[place].frame.size);
        vec![(self.take(frames, worst).frame, Verdict::Drop(Reason::Buffer))]
    }
    fn pull(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        _: u64,
        _: u64,
    ) -> Option<(Waiting, Verdict)> {
        if self.order.is_empty() {
            return None;
        }
        let next = self.order.next();
        Some((self.take(frames, next), Verdict::Admit))
    }
}

pub const ABOUT: about::About = about::About { model: MODEL, served: Served::Urgency };

const MODEL: Model = Model {
    kind: "scheduling",
    name: "pfabric",
    source: "Alizadeh et al., SIGCOMM 2013, and the authors' ns-2 code",
    faithful: "if an arriving frame makes the queue reach its limit, the frame with the most remaining bytes is dropped (of equal ones the newest); the \
               flow with the fewest remaining bytes is served, its oldest frame first; frames without a remaining size (acknowledgements, other \
               transports) take precedence over all others",
    simplified: "remaining sizes above 4 GiB are equal; the frame in transmission does not count towards the limit (as in ns-2); flows are distinguished \
                 by the 32-bit hash of their identity and by their destination",
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy with its frames.
    struct Held(Pfabric, VecDeque<Waiting>);

    impl Held {
        fn new(limit: Option<Limit>) -> Self {
            Held(
                Policy::new(
                    &limit,
                    Site { frame: 1_500, ..Site::default() },
                    &mut Stream::new(1, 1, 1),
                ),
                VecDeque::new(),
            )
        }
        /// Returns the frame that is dropped.
        fn push(&mut self, waiting: Waiting) -> Option<Frame> {
            self.0
                .push(&mut self.1, waiting, &mut Stream::new(1, 1, 1))
                .first()
                .map(|&(frame, _)| frame)
        }
    }

    fn waiting(flow: u32, rank: u64, seq: u32) -> Waiting {
        Waiting {
            frame: Frame { flow, hash: flow, seq, size: 1500, ..Frame::default() },
            ready: 0,
            clock: rank,
        }
    }

    #[test]
    fn the_limit_of_24_packets_holds_23() {
        let mut queue = Held::new(Some(Limit::Bytes(36_000)));
        let dropped = (0..30).filter_map(|seq| queue.push(waiting(1, 5, seq))).count();
        assert_eq!((queue.1.len(), dropped), (23, 7));
    }

    #[test]
    fn the_least_urgent_goes_and_of_equals_the_newest() {
        let mut queue = Held::new(Some(Limit::Packets(4)));
        for (flow, rank, seq) in [(1, 50, 0), (2, 90, 0), (2, 90, 1)] {
            assert!(queue.push(waiting(flow, rank, seq)).is_none());
        }
        let dropped = queue.push(waiting(3, 10, 0)).unwrap();
        assert_eq!((dropped.flow, dropped.seq), (2, 1));
        // The arriving frame can be the victim.
        assert_eq!(queue.push(waiting(4, 99, 7)).unwrap().flow, 4);
    }

    #[test]
    fn a_small_frame_does_not_make_room_for_a_large_one() {
        let mut queue = Held::new(Some(Limit::Bytes(2_900)));
        let mut small = waiting(9, 1_000, 0);
        small.frame.size = 40;
        queue.push(small);
        queue.push(waiting(1, 5, 0));
        let dropped = queue.push(waiting(2, 7, 0)).unwrap();
        assert_eq!(
            dropped.flow, 2,
            "the small one has the largest rank, but without it the limit would still be reached"
        );
    }

    #[test]
    fn the_best_flow_is_served_in_order() {
        let mut queue = Held::new(None);
        // The later frame of flow 1 is more urgent than its first, because fewer bytes of the flow
        // remain by then.
        for (flow, rank, seq) in [(1, 300, 0), (2, 200, 0), (1, 100, 1), (3, 100, 0)] {
            queue.push(waiting(flow, rank, seq));
        }
        let order: Vec<_> = std::iter::from_fn(|| queue.0.pull(&mut queue.1, 0, 0))
            .map(|(w, _)| (w.frame.flow, w.frame.seq))
            .collect();
        assert_eq!(order, [(1, 0), (1, 1), (3, 0), (2, 0)]);
        assert_eq!(queue.0.order.bytes, 0);
    }
}
