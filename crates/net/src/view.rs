//! Defines the live view of a run: see [`Progress::view`](crate::Progress::view).

use crate::spec::NodeId;

/// Number of queues in a view.
const LONGEST: usize = 16;

/// Histogram of values. Values up to 64 have a step each. Above, there are 64 steps per octave, so
/// a step is at most 1.6 % wide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
}

const STEPS: u64 = 64;
const STEP_BITS: u32 = STEPS.ilog2();

impl Histogram {
    pub fn add(&mut self, value: u64) {
        let shift = value.max(STEPS).ilog2() - STEP_BITS;
        let step = (shift as u64 * STEPS + (value >> shift)) as usize;
        if step >= self.counts.len() {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] += 1;
    }

    /// Returns the steps that have values: lowest value of the step, lowest value above the step,
    /// and number of values.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let bounds = |step: u64| {
            let shift = (step / STEPS).saturating_sub(1);
            let low = (step - shift * STEPS) << shift;
            (low, low.saturating_add(1 << shift))
        };
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(move |(step, count)| {
            let (low, high) = bounds(step as u64);
            (low, high, *count)
        })
    }
}

/// A queue that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    pub node: NodeId,
    /// Port of the node, in the order of its links.
    pub port: u32,
    /// The node at the other end of the link.
    pub peer: NodeId,
    /// Length in bytes, in whole frames. It includes the frame in transmission if the buffer counts
    /// it.
    pub bytes: u64,
}

/// Longest queues, and counters, at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Simulated time in ps.
    pub now: u64,
    /// Longest queues of switches (of hosts, if there are no switches), longest first.
    pub queues: Vec<Queue>,
    /// Bytes in all queues.
    pub queued: u64,
    /// Dropped frames, without `in_discards`.
    pub drops: u64,
    pub in_discards: u64,
    pub ecn_marks: u64,
    pub pause_frames: u64,
    pub timeouts: u64,
}

impl Snapshot {
    pub fn note(&mut self, queue: Queue) {
        self.queued += queue.bytes;
        if self
            .queues
            .last()
            .is_some_and(|last| self.queues.len() == LONGEST && last.bytes >= queue.bytes)
        {
            return;
        }
        let place = self.queues.partition_point(|other| other.bytes >= queue.bytes);
        self.queues.insert(place, queue);
        self.queues.truncate(LONGEST);
    }

    /// Adds the snapshot of another worker.
    pub fn add(&mut self, other: &Snapshot) {
        self.now = self.now.max(other.now);
        let queued = self.queued + other.queued;
        other.queues.iter().for_each(|queue| self.note(*queue));
        self.queued = queued;
        self.drops += other.drops;
        self.in_discards += other.in_discards;
        self.ecn_marks += other.ecn_marks;
        self.pause_frames += other.pause_frames;
        self.timeouts += other.timeouts;
    }
}

/// State of a run in progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    pub snapshot: Snapshot,
    /// Completion times in ns of the flows that have ended and count.
    pub completion: Histogram,
    /// Slowdowns of these flows, in thousandths.
    pub slowdown: Histogram,
}

impl View {
    /// Counts a flow that took `time` ps and would have taken `ideal` ps in an idle network.
    pub fn end(&mut self, time: u64, ideal: u64) {
        self.completion.add(time / 1_000);
        // A flow may have taken a shorter path than the ideal one.
        let ideal = ideal.min(time);
        self.slowdown.add(if ideal == 0 {
            1_000
        } else {
            (time as u128 * 1_000 / ideal as u128) as u64
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_step() {
        for value in (0..5_000).chain([1 << 40, u64::MAX / 3, u64::MAX - 1]) {
            let mut histogram = Histogram::default();
            histogram.add(value);
            let (low, high, count) = histogram.steps().next().unwrap();
            assert!(low <= value && value < high && count == 1, "{value}: {low} to {high}");
            assert!(
                value < 128 && high == low + 1 || (high - low) as f64 <= 0.016 * low as f64,
                "{value}: {low} to {high}"
            );
        }
    }

    #[test]
    fn the_longest_queues_of_two_workers() {
        let queue = |node, bytes| Queue { node, port: 0, peer: 0, bytes };
        let (mut one, mut other) = (Snapshot::default(), Snapshot::default());
        (0..40).for_each(|node| {
            if node % 3 == 0 { &mut one } else { &mut other }.note(queue(node, 100 + node as u64))
        });
        one.add(&other);
        assert_eq!(
            one.queues.iter().map(|q| q.node).collect::<Vec<_>>(),
            (24..40).rev().collect::<Vec<_>>()
        );
        assert_eq!(one.queued, (100..140).sum::<u64>());
    }
}
