//! Which ingress core's queue sends next: credits in turn.

use super::credits::{Credits, Limits};
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
    /// Where credits can run out: who has some. Without, they come faster than the port sends.
    credits: Option<Box<Credits>>,
}

impl Cores {
    pub fn new(priorities: usize, cores: usize, ports_per_core: u32, credit: u32) -> Self {
        Cores { cores, ports_per_core, credit: credit as i64, turn: vec![0; priorities], balance: vec![0; priorities * cores], credits: None }
    }

    /// With credits that can run out.
    pub fn limited(self, limits: Option<Limits>) -> Self {
        let credits = limits.map(|limits| Box::new(Credits::new(limits, self.turn.len(), self.cores)));
        Cores { credits, ..self }
    }

    pub fn credits(&self) -> Option<&Credits> {
        self.credits.as_deref()
    }

    pub fn credits_mut(&mut self) -> Option<&mut Credits> {
        self.credits.as_deref_mut()
    }

    /// The queue of a frame of this priority that came in by the switch's port `input`.
    pub fn queue_of(&self, priority: u8, input: u32) -> usize {
        (priority as usize).min(self.turn.len() - 1) * self.cores + (input / self.ports_per_core) as usize
    }

    /// Is this a queue of that priority?
    pub fn is_of_class(&self, queue: usize, class: u8) -> bool {
        queue / self.cores == usize::from(class).min(self.turn.len() - 1)
    }

    /// The queue whose head goes now, which is charged for it; none if no queue may send.
    pub fn next(&mut self, queues: &[Queue], at: u64, may_send: impl Fn(&Queue) -> bool) -> Option<usize> {
        let queue = self.select(at, |queue| may_send(&queues[queue]))?;
        let frames = &queues[queue].frames;
        self.charge(queue, frames.front().expect("it may send").frame.size, frames.len() == 1);
        Some(queue)
    }

    /// The queue whose turn it is at `at`, of those that may send. Credits that can run out have been brought up to then.
    pub fn select(&mut self, at: u64, may_send: impl Fn(usize) -> bool) -> Option<usize> {
        let Cores { cores, credit, turn, balance, credits, .. } = self;
        let may_send = |queue: usize| may_send(queue) && credits.as_ref().is_none_or(|credits| credits.has(queue, at));
        let last = (0..balance.len()).rev().find(|&queue| may_send(queue))?;
        let priority = last / *cores;
        loop {
            let queue = priority * *cores + turn[priority];
            if balance[queue] > 0 && may_send(queue) {
                return Some(queue);
            }
            turn[priority] = (turn[priority] + 1) % *cores;
            let queue = priority * *cores + turn[priority];
            if may_send(queue) {
                balance[queue] += *credit;
            }
        }
    }

    /// The selected queue sends a frame; its last one?
    pub fn charge(&mut self, queue: usize, size: u16, empties: bool) {
        let balance = &mut self.balance[queue];
        *balance -= size as i64;
        if empties {
            *balance = (*balance).min(0);
        }
    }

    /// What `queue` was charged for has been dropped instead; was that its last frame?
    pub fn give_back(&mut self, queue: usize, bytes: u64, empties: bool) {
        let balance = &mut self.balance[queue];
        *balance += bytes as i64;
        if empties {
            *balance = (*balance).min(0);
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
            let queue = turns.next(&queues, 0, |q| !q.frames.is_empty()).expect("frames wait");
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

    /// A queue that may not send gets no credit, and keeps what it has. A dropped frame costs none.
    #[test]
    fn who_may_not_send_waits_and_drops_are_free() {
        let waiting = |size: u16| Waiting { frame: Frame { size, ..Frame::default() }, ready: 0, clock: 0 };
        let queues: Vec<Queue> = (0..2).map(|_| Queue { frames: (0..9).map(|_| waiting(1_000)).collect(), ..Queue::default() }).collect();
        let mut turns = Cores::new(1, 2, 1, 1_500);
        assert_eq!(turns.next(&queues, 0, |_| false), None);
        assert_eq!(turns.next(&queues, 0, |_| true), Some(1));
        for expected in [500, -500, 0, 500] {
            assert_eq!(turns.next(&queues, 0, |q| std::ptr::eq(q, &queues[0])), Some(0));
            assert_eq!(turns.balance, [expected, 500]);
        }
        assert_eq!(turns.next(&queues, 0, |_| true), Some(0));
        turns.give_back(0, 1_000, false);
        assert_eq!(turns.balance, [500, 500]);
        turns.charge(0, 1_000, true);
        turns.give_back(0, 1_000, true);
        assert_eq!(turns.balance, [0, 500]);
    }

    #[test]
    fn a_frame_larger_than_its_credit_is_paid_off() {
        let mut turns = Cores::new(1, 2, 1, 1_000);
        // After 9000 B the queue owes 8000: nine credits until it may send again.
        let order = order(&mut turns, &[&[9_000, 9_000], &[1_000; 12]]);
        assert_eq!(order, [1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1]);
    }
}
