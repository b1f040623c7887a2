//! Deficit weighted round robin (DWRR) below strict queues (Shreedhar and Varghese, Efficient fair
//! queuing using deficit round robin, SIGCOMM 1995).

use super::about::{About, Classes, Scheduling, Served, Service, Share};
use super::ets;
use crate::Model;

/// State of the scheduler: turn and deficit of each queue. Credit is counted in bytes times
/// `per_byte`, so that shares are exact.
#[derive(Debug, Clone)]
pub struct Weighted {
    /// Bit mask of the strict queues.
    strict: u8,
    /// Credit per turn; 0 for strict queues.
    quantum: [u64; 8],
    per_byte: u64,
    deficit: [u64; 8],
    turn: usize,
    /// True if the queue whose turn it is has received its quantum.
    granted: bool,
}

impl Weighted {
    /// Creates the scheduler; `None` if the queues do not take turns.
    pub fn of(scheduling: &Scheduling) -> Option<Weighted> {
        let Scheduling::Classes(classes) = scheduling else { return None };
        Some(Weighted::new(classes))
    }

    pub fn new(classes: &Classes) -> Weighted {
        let (mut strict, mut quantum) = (0, [0; 8]);
        for (queue, service) in classes.service.iter().enumerate() {
            match service {
                Service::Strict => strict |= 1 << queue,
                Service::Weight(weight) => quantum[queue] = *weight as u64 * classes.quantum as u64,
                Service::Bandwidth(_) => {}
            }
        }
        let per_byte = ets::grant(classes, &mut quantum);
        Weighted { strict, quantum, per_byte, deficit: [0; 8], turn: 0, granted: false }
    }

    fn is_strict(&self, queue: usize) -> bool {
        self.strict & 1 << queue != 0
    }

    /// Selects the queue whose head is sent next and charges it: a strict queue, otherwise the
    /// queue whose turn it is, as far as its deficit goes. A queue that may not send is skipped: it
    /// receives no quantum, and keeps its deficit while frames wait in it. `count` is the number of
    /// queues. `head` returns the bytes that a queue sends next, and whether the queue is empty
    /// afterwards.
    pub fn choose(
        &mut self,
        count: usize,
        may_send: impl Fn(usize) -> bool,
        is_empty: impl Fn(usize) -> bool,
        mut head: impl FnMut(usize) -> (u64, bool),
    ) -> Option<usize> {
        let strict = (0..count).rev().find(|&queue| self.is_strict(queue) && may_send(queue));
        if strict.is_some() || !(0..count).any(&may_send) {
            return strict;
        }
        loop {
            let queue = self.turn;
            if may_send(queue) {
                let (bytes, empties) = head(queue);
                let bytes = bytes * self.per_byte;
                if !self.granted {
                    self.deficit[queue] += self.quantum[queue];
                    self.granted = true;
                }
                if bytes <= self.deficit[queue] {
                    self.deficit[queue] -= bytes;
                    if empties {
                        // An empty queue loses its deficit and its turn.
                        self.deficit[queue] = 0;
                        self.pass(count);
                    }
                    return Some(queue);
                }
            } else if is_empty(queue) {
                self.deficit[queue] = 0;
            }
            self.pass(count);
        }
    }

    fn pass(&mut self, queues: usize) {
        self.turn = (self.turn + 1) % queues;
        self.granted = false;
    }

    /// Returns a charge to `queue`, because the frame was not sent. A queue that is now empty gets
    /// nothing back.
    pub fn give_back(&mut self, queue: usize, bytes: u64, empty: bool) {
        if !self.is_strict(queue) && !empty {
            self.deficit[queue] += bytes * self.per_byte;
        }
    }
}

pub const ABOUT: About = About {
    model: MODEL,
    served: Served::Shares(Share { key: "weight", example: "weight = 14", percent: false }),
};

const MODEL: Model = Model {
    kind: "scheduling",
    name: "dwrr",
    source: "Shreedhar and Varghese, SIGCOMM 1995; SONiC SCHEDULER type DWRR",
    faithful: "strict queues first, the highest before the others; the other queues in a fixed circle; at each turn a queue's deficit grows by weight * \
               quantum; the rest of a deficit is kept while the queue is backlogged and lost when the queue empties; a paused queue keeps its deficit, \
               which does not grow",
    simplified: "bytes without preamble and gap count; one level of scheduling: no groups of queues, no shapers (minimum and maximum rates)",
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::queue::class::Queue;
    use crate::queue::waiting::Waiting;

    fn turns(service: &[Service], quantum: u32) -> Weighted {
        let classes = Classes { of_priority: [0; 8], service: service.to_vec(), quantum };
        Weighted::of(&Scheduling::Classes(classes)).expect("queues that take turns")
    }

    /// Creates queues with this many frames of these sizes.
    fn queues(content: &[(usize, u16)]) -> Vec<Queue> {
        let waiting =
            |size| Waiting { frame: Frame { size, ..Frame::default() }, ready: 0, clock: 0 };
        content
            .iter()
            .map(|&(count, size)| Queue {
                frames: (0..count).map(|_| waiting(size)).collect(),
                ..Queue::default()
            })
            .collect()
    }

    fn send(
        turns: &mut Weighted,
        queues: &mut [Queue],
        may_send: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let frames = |queue: usize| &queues[queue].frames;
        let queue = turns.choose(
            queues.len(),
            |queue| !frames(queue).is_empty() && may_send(queue),
            |queue| frames(queue).is_empty(),
            |queue| (frames(queue)[0].frame.size.into(), frames(queue).len() == 1),
        )?;
        queues[queue].frames.pop_front();
        Some(queue)
    }

    fn order(turns: &mut Weighted, queues: &mut [Queue], count: usize) -> Vec<usize> {
        (0..count).map(|_| send(turns, queues, |_| true).expect("frames wait")).collect()
    }

    /// SONiC's weights: 14 frames of the first queue, 15 of the second, 14 of the third, and again.
    #[test]
    fn turns_of_whole_frames() {
        let mut turns =
            turns(&[Service::Weight(14), Service::Weight(15), Service::Weight(14)], 1_500);
        let mut queues = queues(&[(100, 1_500), (100, 1_500), (100, 1_500)]);
        let round = [[0; 14].as_slice(), &[1; 15], &[2; 14]].concat();
        assert_eq!(order(&mut turns, &mut queues, 86), [round.clone(), round].concat());
    }

    /// Frames that do not fit into the quantum: the rest is carried over, so n turns send less than
    /// one frame below n * quantum.
    #[test]
    fn deficits_are_carried() {
        for (sizes, quantum) in [
            ((1_000, 1_000), 1_500u32),
            ((900, 64), 1_500),
            ((9_000, 1_500), 700),
            ((1_499, 1_501), 1_500),
        ] {
            let weights = [3u64, 1];
            let mut turns = turns(&[Service::Weight(3), Service::Weight(1)], quantum);
            let mut queues = queues(&[(30_000, sizes.0), (30_000, sizes.1)]);
            let mut sent = [0u64; 2];
            for _ in 0..20_000 {
                if queues.iter().any(|q| q.frames.len() < 2) {
                    break;
                }
                let queue = send(&mut turns, &mut queues, |_| true).expect("frames wait");
                sent[queue] += [sizes.0, sizes.1][queue] as u64;
                // Shreedhar and Varghese, lemma 2: with m rounds, m * quantum - largest <= sent <=
                // m * quantum.
                let rounds = |queue: usize| {
                    (sent[queue] + turns.deficit[queue]) / (weights[queue] * quantum as u64)
                };
                assert!(rounds(0).abs_diff(rounds(1)) <= 1, "{sizes:?}: {sent:?}");
                assert!(
                    turns.deficit[queue]
                        < weights[queue] * quantum as u64 + sizes.0.max(sizes.1) as u64
                );
            }
            assert!(sent[0] > 1_000_000 && sent[1] > 300_000);
        }
    }

    /// A queue that becomes empty loses its remaining deficit.
    #[test]
    fn an_empty_queue_starts_anew() {
        let mut turns = turns(&[Service::Weight(1), Service::Weight(1)], 1_500);
        let mut queues = queues(&[(1, 100), (10, 1_000)]);
        assert_eq!(order(&mut turns, &mut queues, 2), [0, 1]);
        assert_eq!(turns.deficit, [0, 500, 0, 0, 0, 0, 0, 0]);
    }

    /// Strict queues send first, the highest before the other, and do not disturb the turns of the
    /// rest.
    #[test]
    fn strict_queues_first() {
        let mut turns = turns(
            &[Service::Weight(2), Service::Strict, Service::Weight(1), Service::Strict],
            1_000,
        );
        let mut queues = queues(&[(9, 1_000), (2, 1_000), (9, 1_000), (2, 1_000)]);
        assert_eq!(order(&mut turns, &mut queues, 6), [3, 3, 1, 1, 0, 0]);
        let more = queues[2].frames[0];
        queues[3].frames.push_back(more);
        assert_eq!(order(&mut turns, &mut queues, 5), [3, 2, 0, 0, 2]);
    }

    /// A queue that may not send is skipped: it keeps its deficit and receives nothing meanwhile.
    #[test]
    fn held_queues_keep_their_deficit() {
        let mut turns = turns(&[Service::Weight(1), Service::Weight(1)], 1_500);
        let mut queues = queues(&[(100, 1_000), (100, 1_000)]);
        assert_eq!(order(&mut turns, &mut queues, 2), [0, 1]);
        assert_eq!(turns.deficit[..2], [500, 500]);
        for _ in 0..30 {
            assert_eq!(send(&mut turns, &mut queues, |queue| queue != 0), Some(1));
            assert_eq!(turns.deficit[0], 500);
        }
        assert_eq!(send(&mut turns, &mut queues, |_| false), None);
        let before = turns.deficit[1];
        // Deficit of 500 and a new quantum: two frames at once.
        let sent = order(&mut turns, &mut queues, 4);
        let first = sent.iter().position(|&queue| queue == 0).expect("its turn comes");
        assert_eq!(sent[first..first + 2], [0, 0], "{sent:?}, {before} left to the other");
    }

    /// The queues share the remaining bandwidth in the ratio of the percentages, to the byte: 33 %
    /// and 67 % are not 1 and 2.
    #[test]
    fn percentages_are_exact() {
        let mut turns =
            turns(&[Service::Bandwidth(33), Service::Strict, Service::Bandwidth(67)], 1_500);
        let mut queues = queues(&[(67_000, 1_000), (0, 0), (67_000, 1_000)]);
        let mut sent = [0u64; 3];
        for _ in 0..100_000 {
            sent[send(&mut turns, &mut queues, |_| true).expect("frames wait")] += 1_000;
        }
        // The tolerance is a turn of either queue.
        assert!(
            (sent[0] as f64 - 33e6).abs() <= 1_500.0 * 100.0 / 33.0
                && sent[0] + sent[2] == 100_000_000,
            "{sent:?}"
        );
    }
}
