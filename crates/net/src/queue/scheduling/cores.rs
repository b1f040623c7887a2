//! Which ingress core's queue sends next: credits in turn.

use crate::queue::class::Queue;

/// The scheduler of an egress port gives credits of one size to the queues that have something, one after the other within the highest
/// priority. A queue sends while its balance is above 0, so it may owe up to a frame; what it has not used when it is empty is gone.
#[derive(Debug, Clone)]
pub struct Cores {
    cores: usize,
    ports_per_core: u32,
    credit: i64,
    /// Whose turn it is, per priority.
    turn: Vec<usize>,
    /// Per queue, in bytes; queue `priority * cores + core`.
    balance: Vec<i64>,
}

impl Cores {
    pub fn new(priorities: usize, cores: usize, ports_per_core: u32, credit: u32) -> Self {
        Cores { cores, ports_per_core, credit: credit as i64, turn: vec![0; priorities], balance: vec![0; priorities * cores] }
    }

    /// The queue of a frame of this priority that came in by the switch's port `input`.
    pub fn queue_of(&self, priority: u8, input: u32) -> usize {
        (priority as usize).min(self.turn.len() - 1) * self.cores + (input / self.ports_per_core) as usize
    }

    /// The queue whose head goes now. At least one has something.
    pub fn next(&mut self, queues: &[Queue]) -> usize {
        let last = queues.iter().rposition(|q| !q.frames.is_empty()).expect("something waits");
        let priority = last / self.cores;
        loop {
            let queue = priority * self.cores + self.turn[priority];
            let balance = &mut self.balance[queue];
            match queues[queue].frames.front() {
                Some(head) if *balance > 0 => {
                    *balance -= head.frame.size as i64;
                    if queues[queue].frames.len() == 1 {
                        *balance = (*balance).min(0);
                    }
                    return queue;
                }
                _ => {}
            }
            self.turn[priority] = (self.turn[priority] + 1) % self.cores;
            let queue = priority * self.cores + self.turn[priority];
            if !queues[queue].frames.is_empty() {
                self.balance[queue] += self.credit;
            }
        }
    }

    /// A frame of `queue` leaves although no credit was asked for: the port was idle.
    pub fn send_at_once(&mut self, queue: usize, size: u16) {
        let priority = queue / self.cores;
        self.turn[priority] = queue % self.cores;
        let balance = &mut self.balance[queue];
        while *balance <= 0 {
            *balance += self.credit;
        }
        *balance = (*balance - size as i64).min(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::queue::waiting::Waiting;

    /// The queues that send, until all are empty.
    fn order(turns: &mut Cores, sizes: &[&[u16]]) -> Vec<usize> {
        let waiting = |size: &u16| Waiting { frame: Frame { size: *size, ..Frame::default() }, ready: 0, clock: 0 };
        let mut queues: Vec<Queue> = sizes.iter().map(|frames| Queue { frames: frames.iter().map(waiting).collect(), ..Queue::default() }).collect();
        let count = sizes.iter().map(|frames| frames.len()).sum();
        let mut pop = |turns: &mut Cores| {
            let queue = turns.next(&queues);
            queues[queue].frames.pop_front();
            queue
        };
        (0..count).map(|_| pop(turns)).collect()
    }

    #[test]
    fn credits_of_two_frames_and_debts() {
        // A credit pays for a frame of 1500 B and leaves 500 B, so that the next goes too and owes 1000 B. The credit after leaves 1000 B: one
        // frame, which owes 500 B; then 1500 B: one; then 2000 B again: two.
        let mut turns = Cores::new(1, 2, 1, 2_000);
        assert_eq!(order(&mut turns, &[&[1_500; 6], &[1_500; 6]]), [1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn bytes_are_shared_not_frames() {
        let mut turns = Cores::new(1, 2, 4, 1_500);
        let order = order(&mut turns, &[&[1_500; 4], &[500; 12]]);
        assert_eq!(order, [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0]);
    }

    #[test]
    fn the_highest_priority_first() {
        let mut turns = Cores::new(2, 2, 1, 1_500);
        assert_eq!(order(&mut turns, &[&[1_500], &[], &[1_500], &[1_500]]), [3, 2, 0]);
        assert_eq!((turns.queue_of(0, 1), turns.queue_of(1, 0), turns.queue_of(7, 1)), (1, 2, 3));
    }

    #[test]
    fn a_frame_larger_than_its_credit_is_paid_off() {
        let mut turns = Cores::new(1, 2, 1, 1_000);
        // After 9000 B the queue owes 8000: nine credits until it may send again.
        let order = order(&mut turns, &[&[9_000, 9_000], &[1_000; 12]]);
        assert_eq!(order, [1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1]);
    }
}
