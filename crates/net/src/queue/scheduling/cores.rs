//! Scheduler of a port with several ingress cores: grants credits to their queues in turn.

use super::about::{Classes, Scheduling};
use super::credits::Credits;
use super::dwrr::Weighted;
use super::limits::Limits;
use crate::queue::class::Queue;
use std::ops::Range;

/// Credit scheduler of an egress port. It grants credits of one size to the backlogged queues, in
/// turn within one class. The class is the highest priority, or the one that the scheduler of
/// classes chooses. A queue sends while its balance is above 0, so it may owe up to a frame. A
/// queue that becomes empty loses its unused credit.
#[derive(Debug, Clone)]
pub struct Cores {
    cores: usize,
    ports_per_core: u32,
    credit: i64,
    /// Class of each priority.
    of_priority: [u8; 8],
    /// Core whose turn it is, per class.
    turn: Vec<usize>,
    /// Credit balance of each queue in bytes. Queue `class * cores + core`.
    balance: Vec<i64>,
    /// Scheduler of strict classes and classes with shares. `None`: the highest class first.
    classes: Option<Box<Weighted>>,
    /// Limited credits: which queues have some. `None`: credits arrive faster than the port sends.
    credits: Option<Box<Credits>>,
}

impl Cores {
    pub fn new(scheduling: &Scheduling, cores: usize, ports_per_core: u32, credit: u32) -> Self {
        let classes = scheduling.queues() as usize;
        Cores {
            cores,
            ports_per_core,
            credit: credit as i64,
            of_priority: scheduling.of_priority(),
            turn: vec![0; classes],
            balance: vec![0; classes * cores],
            classes: Weighted::of(scheduling).map(Box::new),
            credits: None,
        }
    }

    /// Adds limited credits, which also follow the rule of the classes.
    pub fn limited(self, scheduling: &Scheduling, limits: Option<Limits>) -> Self {
        let grants = |limits: &Limits| match scheduling {
            // A turn of a class is worth at least one credit.
            Scheduling::Classes(classes) => Some(Weighted::new(&Classes {
                quantum: classes.quantum.max(limits.credit),
                ..classes.clone()
            })),
            _ => None,
        };
        let credits = limits.map(|limits| {
            Box::new(Credits::new(grants(&limits), limits, self.turn.len(), self.cores))
        });
        Cores { credits, ..self }
    }

    pub fn credits(&self) -> Option<&Credits> {
        self.credits.as_deref()
    }

    pub fn credits_mut(&mut self) -> Option<&mut Credits> {
        self.credits.as_deref_mut()
    }

    /// Returns the queue of a frame of this priority that arrived at the switch's port `input`.
    pub fn queue_of(&self, priority: u8, input: u32) -> usize {
        self.of_class(self.of_priority[priority as usize].into()).start
            + (input / self.ports_per_core) as usize
    }

    /// Returns the queues of a class.
    fn of_class(&self, class: usize) -> Range<usize> {
        class * self.cores..(class + 1) * self.cores
    }

    pub fn class_of(&self, queue: usize) -> usize {
        queue / self.cores
    }

    /// True if `queue` belongs to the class of `priority`.
    pub fn is_of_class(&self, queue: usize, priority: u8) -> bool {
        self.class_of(queue) == usize::from(self.of_priority[usize::from(priority)])
    }

    /// Returns the queue whose turn it is at `at`, among those that may send. The caller has
    /// updated limited credits to `at`. If classes have shares, the queue's class is charged for
    /// its head.
    pub fn select(
        &mut self,
        queues: &[Queue],
        at: u64,
        may_send: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let Cores { cores, credit, turn, balance, credits, classes, .. } = self;
        let may_send = |queue: usize| {
            may_send(queue) && credits.as_ref().is_none_or(|credits| credits.has(queue, at))
        };
        // Returns the queue whose turn it is in a class of which one may send. A second call before
        // the queue has sent gives the same answer.
        let mut in_turn = |class: usize| loop {
            let queue = class * *cores + turn[class];
            if balance[queue] > 0 && may_send(queue) {
                return queue;
            }
            turn[class] = (turn[class] + 1) % *cores;
            let queue = class * *cores + turn[class];
            if may_send(queue) {
                balance[queue] += *credit;
            }
        };
        let Some(classes) = classes else {
            let last = (0..queues.len()).rev().find(|&queue| may_send(queue))?;
            return Some(in_turn(last / *cores));
        };
        let of_class = |class: usize| class * *cores..(class + 1) * *cores;
        let waiting =
            |class: usize| queues[of_class(class)].iter().map(|q| q.frames.len()).sum::<usize>();
        let head = |class: usize| {
            let head = queues[in_turn(class)].frames.front().expect("it may send");
            (head.frame.size as u64, waiting(class) == 1)
        };
        let class = classes.choose(
            queues.len() / *cores,
            |class| of_class(class).any(&may_send),
            |class| waiting(class) == 0,
            head,
        )?;
        Some(in_turn(class))
    }

    /// Charges the selected queue for a frame. `empties`: it is the queue's last one.
    pub fn charge(&mut self, queue: usize, size: u16, empties: bool) {
        let balance = &mut self.balance[queue];
        *balance -= size as i64;
        if empties {
            *balance = (*balance).min(0);
        }
    }

    /// Returns a charge to `queue`, because the frame was dropped instead of sent. `queues` still
    /// count it.
    pub fn give_back(&mut self, queues: &[Queue], queue: usize, bytes: u64) {
        let class = self.class_of(queue);
        let of_class = self.of_class(class);
        if let Some(classes) = &mut self.classes {
            classes.give_back(
                class,
                bytes,
                queues[of_class].iter().map(|q| q.count).sum::<u32>() == 1,
            );
        }
        let balance = &mut self.balance[queue];
        *balance += bytes as i64;
        if queues[queue].count == 1 {
            *balance = (*balance).min(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::queue::scheduling::about::Service;
    use crate::queue::waiting::Waiting;

    /// Creates a scheduler with one class, or with several by priority.
    fn cores(classes: u8, cores: usize, ports_per_core: u32, credit: u32) -> Cores {
        let scheduling =
            if classes == 1 { Scheduling::One } else { Scheduling::Priorities { queues: classes } };
        Cores::new(&scheduling, cores, ports_per_core, credit)
    }

    /// Returns the queue whose head is sent next, and charges it.
    fn next(
        turns: &mut Cores,
        queues: &[Queue],
        may_send: impl Fn(&Queue) -> bool,
    ) -> Option<usize> {
        let queue = turns.select(queues, 0, |queue| may_send(&queues[queue]))?;
        let frames = &queues[queue].frames;
        turns.charge(queue, frames.front().expect("it may send").frame.size, frames.len() == 1);
        Some(queue)
    }

    /// Returns the queues that send, in order, until all are empty.
    fn order(turns: &mut Cores, sizes: &[&[u16]]) -> Vec<usize> {
        let waiting = |size: &u16| Waiting {
            frame: Frame { size: *size, ..Frame::default() },
            ready: 0,
            clock: 0,
        };
        let mut queues: Vec<Queue> = sizes
            .iter()
            .map(|frames| Queue {
                frames: frames.iter().map(waiting).collect(),
                ..Queue::default()
            })
            .collect();
        let count = sizes.iter().map(|frames| frames.len()).sum();
        let mut pop = |turns: &mut Cores| {
            let queue = next(turns, &queues, |q| !q.frames.is_empty()).expect("frames wait");
            queues[queue].frames.pop_front();
            queue
        };
        (0..count).map(|_| pop(turns)).collect()
    }

    #[test]
    fn credits_of_two_frames_and_debts() {
        // A credit pays for a frame of 1500 B and leaves 500 B, so that a second frame goes too and
        // the queue owes 1000 B. The next credit leaves 1000 B: one frame, after which the queue
        // owes 500 B. Then 1500 B: one frame. Then 2000 B again: two frames.
        let mut turns = cores(1, 2, 1, 2_000);
        assert_eq!(
            order(&mut turns, &[&[1_500; 6], &[1_500; 6]]),
            [1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0]
        );
    }

    #[test]
    fn bytes_are_shared_not_frames() {
        let mut turns = cores(1, 2, 4, 1_500);
        let order = order(&mut turns, &[&[1_500; 4], &[500; 12]]);
        assert_eq!(order, [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0]);
    }

    #[test]
    fn the_highest_priority_first() {
        let mut turns = cores(2, 2, 1, 1_500);
        assert_eq!(order(&mut turns, &[&[1_500], &[], &[1_500], &[1_500]]), [3, 2, 0]);
        assert_eq!((turns.queue_of(0, 1), turns.queue_of(1, 0), turns.queue_of(7, 1)), (1, 2, 3));
    }

    /// A queue that may not send gets no credit, and keeps what it has. A dropped frame costs
    /// nothing.
    #[test]
    fn who_may_not_send_waits_and_drops_are_free() {
        let waiting =
            |size: u16| Waiting { frame: Frame { size, ..Frame::default() }, ready: 0, clock: 0 };
        let queues: Vec<Queue> = (0..2)
            .map(|_| Queue { frames: (0..9).map(|_| waiting(1_000)).collect(), ..Queue::default() })
            .collect();
        let mut turns = cores(1, 2, 1, 1_500);
        assert_eq!(next(&mut turns, &queues, |_| false), None);
        assert_eq!(next(&mut turns, &queues, |_| true), Some(1));
        for expected in [500, -500, 0, 500] {
            assert_eq!(next(&mut turns, &queues, |q| std::ptr::eq(q, &queues[0])), Some(0));
            assert_eq!(turns.balance, [expected, 500]);
        }
        assert_eq!(next(&mut turns, &queues, |_| true), Some(0));
        let mut queues = queues;
        queues[0].count = 9;
        turns.give_back(&queues, 0, 1_000);
        assert_eq!(turns.balance, [500, 500]);
        turns.charge(0, 1_000, true);
        queues[0].count = 1;
        turns.give_back(&queues, 0, 1_000);
        assert_eq!(turns.balance, [0, 500]);
    }

    #[test]
    fn a_frame_larger_than_its_credit_is_paid_off() {
        let mut turns = cores(1, 2, 1, 1_000);
        // After 9000 B the queue owes 8000 B: nine credits until it may send again.
        let order = order(&mut turns, &[&[9_000, 9_000], &[1_000; 12]]);
        assert_eq!(order, [1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1]);
    }

    /// Classes share by their percentages, whatever the number of cores that feed them. A strict
    /// class sends first. Within a class its cores take turns.
    #[test]
    fn classes_share_and_cores_within() {
        let service = vec![Service::Bandwidth(20), Service::Bandwidth(80), Service::Strict];
        let scheduling = Scheduling::Classes(Classes {
            of_priority: [0, 1, 2, 0, 0, 0, 0, 0],
            service,
            quantum: 1_000,
        });
        let waiting =
            |size: u16| Waiting { frame: Frame { size, ..Frame::default() }, ready: 0, clock: 0 };
        let mut turns = Cores::new(&scheduling, 3, 1, 1_000);
        assert_eq!(
            (
                turns.queue_of(1, 2),
                turns.queue_of(7, 1),
                turns.is_of_class(8, 2),
                turns.is_of_class(5, 2)
            ),
            (5, 1, true, false)
        );
        // Class 0 has frames from all cores, class 1 from one core, class 2 five frames in total.
        let frames = [4_000, 4_000, 4_000, 4_000, 0, 0, 0, 3, 2];
        let mut queues: Vec<Queue> = frames
            .iter()
            .map(|count| Queue {
                frames: (0..*count).map(|_| waiting(1_000)).collect(),
                ..Queue::default()
            })
            .collect();
        let mut sent = [0; 9];
        for step in 0..4_505 {
            let queue = next(&mut turns, &queues, |q| !q.frames.is_empty()).expect("frames wait");
            assert_eq!(queue > 5, step < 5);
            queues[queue].frames.pop_front();
            sent[queue] += 1;
        }
        // The tolerance is a turn of 1 to 4 frames.
        assert!(
            (896..=904).contains(&(sent[0] + sent[1] + sent[2]))
                && (3_596..=3_604).contains(&sent[3]),
            "{sent:?}"
        );
        assert!(sent[..3].iter().all(|count| (298..=302).contains(count)), "{sent:?}");
    }
}
