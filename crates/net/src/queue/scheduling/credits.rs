//! Limited credits: grants of an egress port's scheduler to the virtual output queues of its
//! ingress cores, and the fabric between the cores and the port.
//!
//! A queue that holds more bytes than it has credit for requests credits. The scheduler serves one
//! request after the other: of the highest priority, or of the class that is next by the rule of
//! the classes; cores in turn. Its rate is limited, and so is the number of credits that are in
//! flight or unused. A credit that is used up, or lost when its queue becomes empty, can be granted
//! again; what it pays for can leave `round_trip` later. A frame joins its queue when a credit that
//! was requested on its arrival can be there, so the time of joining includes that round trip.
//!
//! There are no timers. Every change first catches up with the grants that are due by then, so both
//! engines see the same state.

use super::dwrr::Weighted;
use super::limits::Limits;
use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub struct Credits {
    limits: Limits,
    cores: usize,
    /// Per queue, in bytes: waiting frames, and remaining credit. A queue may owe up to a frame.
    backlog: Vec<u64>,
    balance: Vec<i64>,
    /// Core that is served next, per class.
    turn: Vec<usize>,
    /// Scheduler of strict classes and classes with shares, in credits. `None`: the highest class
    /// with a request is served first.
    classes: Option<Weighted>,
    /// Time in ps before which no credit is granted.
    next: u64,
    /// Time in ps up to which the state is known.
    known: u64,
    /// Times in ps at which credits may be granted again, in ascending order.
    free: VecDeque<u64>,
    /// Time in ps at which each core's fabric to this port becomes idle.
    fabric_free: Vec<u64>,
}

impl Credits {
    pub fn new(classes: Option<Weighted>, limits: Limits, count: usize, cores: usize) -> Self {
        Credits {
            cores,
            classes,
            backlog: vec![0; count * cores],
            balance: vec![0; count * cores],
            turn: vec![0; count],
            next: 0,
            known: 0,
            free: std::iter::repeat_n(0, limits.most.unwrap_or(0) as usize).collect(),
            fabric_free: vec![0; cores],
            limits,
        }
    }

    /// Returns the time in ps at which the scheduler may grant its next credit; `None` if all are
    /// in use.
    fn next_credit(&self) -> Option<u64> {
        let at = self.known.max(self.next);
        if self.limits.most.is_none() {
            Some(at)
        } else {
            self.free.front().map(|free| at.max(*free))
        }
    }

    /// Returns the bytes for which a queue requests credits. A debt alone is no reason for a
    /// request: it is paid off once the queue has something to send.
    fn requested_bytes(&self, queue: usize) -> u64 {
        self.backlog[queue].saturating_sub(self.balance[queue].max(0) as u64)
    }

    fn has_request(&self, queue: usize) -> bool {
        self.requested_bytes(queue) > 0
    }

    /// Returns the class that gets the next credit at `at`. If classes have shares, it is charged
    /// for the credit.
    fn served(&mut self, at: u64, from: &dyn Fn(usize) -> u64) -> Option<usize> {
        let mut classes = self.classes.take();
        let may_have = |queue: usize| self.has_request(queue) && from(queue) <= at;
        let class = match &mut classes {
            None => (0..self.balance.len())
                .rev()
                .find(|&queue| may_have(queue))
                .map(|last| last / self.cores),
            Some(classes) => {
                let credit = u64::from(self.limits.credit);
                let of_class = |class: usize| class * self.cores..(class + 1) * self.cores;
                let requested_bytes = |class: usize| {
                    of_class(class)
                        .map(|queue| self.requested_bytes(queue).div_ceil(credit))
                        .sum::<u64>()
                };
                classes.choose(
                    self.turn.len(),
                    |class| of_class(class).any(may_have),
                    |class| requested_bytes(class) == 0,
                    |class| (credit, requested_bytes(class) == 1),
                )
            }
        };
        self.classes = classes;
        class
    }

    /// Grants all credits that are due by `now` (ps). `from` is the time from which a queue may
    /// send, as far as pauses are concerned.
    pub fn catch_up(&mut self, now: u64, from: &dyn Fn(usize) -> u64) {
        while let Some(at) = self.next_credit().filter(|at| *at <= now) {
            self.known = at;
            let Some(class) = self.served(at, from) else {
                // A paused queue requests again when its pause ends.
                match (0..self.balance.len())
                    .filter(|&queue| self.has_request(queue))
                    .map(from)
                    .min()
                    .filter(|soonest| *soonest <= now)
                {
                    Some(soonest) => self.known = soonest,
                    None => break,
                }
                continue;
            };
            let place = |step: usize| (self.turn[class] + step) % self.cores;
            let core = (0..self.cores).map(place).find(|core| {
                let queue = class * self.cores + core;
                self.has_request(queue) && from(queue) <= at
            });
            let core = core.expect("one of them asks");
            self.turn[class] = (core + 1) % self.cores;
            self.next = at + self.limits.interval;
            self.free.pop_front();
            self.change(at, class * self.cores + core, 1, |balance, credit| balance + credit);
        }
        self.known = self.known.max(now);
    }

    /// Changes the balance of a queue that was granted `given` credits at `at`. Credits that it no
    /// longer holds can be granted again.
    fn change(&mut self, at: u64, queue: usize, given: u64, change: impl Fn(i64, i64) -> i64) {
        let credit = i64::from(self.limits.credit);
        let held = |balance: i64| (balance.max(0) as u64).div_ceil(credit as u64);
        let before = held(self.balance[queue]);
        self.balance[queue] = change(self.balance[queue], credit);
        let used = before + given - held(self.balance[queue]);
        if self.limits.most.is_some() {
            self.free.extend(std::iter::repeat_n(at + self.limits.round_trip, used as usize));
        }
    }

    /// Accounts for a frame that has joined `queue`. The state is known up to that time.
    pub fn join(&mut self, queue: usize, size: u16) {
        self.backlog[queue] += u64::from(size);
    }

    /// True if `queue` may send at `at`, as far as credits and the fabric are concerned.
    pub fn has(&self, queue: usize, at: u64) -> bool {
        self.balance[queue] > 0 && self.fabric_free[queue % self.cores] <= at
    }

    /// Accounts for a frame of `queue` that leaves at `at`.
    pub fn sent(&mut self, at: u64, queue: usize, size: u16) {
        self.backlog[queue] -= u64::from(size);
        let empty = self.backlog[queue] == 0;
        self.change(at, queue, 0, |balance, _| {
            let left = balance - i64::from(size);
            if empty { left.min(0) } else { left }
        });
        if let Some(fabric) = &self.limits.fabric {
            self.fabric_free[queue % self.cores] = at + fabric.of(u64::from(size));
        }
    }

    /// Accounts for a dropped frame of `queue`. The state is known up to that time.
    pub fn dropped(&mut self, queue: usize, bytes: u64) {
        self.backlog[queue] -= bytes;
        if self.backlog[queue] == 0 {
            self.change(self.known, queue, 0, |balance, _| balance.min(0));
        }
    }

    /// Returns the earliest time in ps at which a queue may send if nothing else happens. No queue
    /// may send before. The caller has to ask again at that time.
    pub fn until(&self, from: &dyn Fn(usize) -> u64) -> u64 {
        let credit = self.next_credit().unwrap_or(u64::MAX);
        let of_queue = |queue: usize| {
            let waits_for = if self.balance[queue] > 0 { 0 } else { credit };
            waits_for.max(from(queue)).max(self.fabric_free[queue % self.cores])
        };
        let soonest = (0..self.balance.len())
            .filter(|&queue| self.backlog[queue] > 0)
            .map(of_queue)
            .min()
            .unwrap_or(u64::MAX);
        // Credits in use belong to queues with frames. Those queues can send, and return the
        // credits.
        assert!(soonest < u64::MAX, "a port with frames waits for something");
        soonest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::scheduling::about::{Classes, Service};
    use afflux_units::Rate;

    const FREE: &dyn Fn(usize) -> u64 = &|_| 0;
    /// Time in ps of 1000 B at 10 Gbps.
    const FRAME: u64 = 800_000;

    fn limits() -> Limits {
        Limits { credit: 1_000, interval: 0, most: None, round_trip: 0, fabric: None }
    }

    /// Simulates an endless supply of frames of 1000 B in each of `queues` over a port of 10 Gbps.
    /// Returns the start times of the first `count` frames, and their queues.
    fn starts(credits: &mut Credits, queues: &[usize], count: usize) -> Vec<(u64, usize)> {
        queues.iter().for_each(|queue| (0..count + 1).for_each(|_| credits.join(*queue, 1_000)));
        let (mut now, mut turn, mut starts) = (0, 0, Vec::new());
        while starts.len() < count {
            credits.catch_up(now, FREE);
            match (0..queues.len())
                .map(|step| queues[(turn + step) % queues.len()])
                .find(|queue| credits.has(*queue, now))
            {
                Some(queue) => {
                    credits.sent(now, queue, 1_000);
                    starts.push((now, queue));
                    turn = queues.iter().position(|known| *known == queue).unwrap() + 1;
                    now += FRAME;
                }
                None => {
                    let next = credits.until(FREE);
                    assert!(next > now && next < u64::MAX, "{now} {next}");
                    now = next;
                }
            }
        }
        starts
    }

    fn spacing(starts: &[(u64, usize)]) -> u64 {
        // An even number of frames, as the credits in flight are one to three or more than enough.
        let (first, last) = (starts.len() / 2 - 1, starts.len() - 1);
        (starts[last].0 - starts[first].0) / (last - first) as u64
    }

    /// The port sends at min(rate, credit rate, credits in flight · credit / round trip, fabric).
    #[test]
    fn the_scarcest_of_four_decides() {
        for (interval, most, round_trip, fabric, expected) in [
            (0, None, 0, None, FRAME),
            (0, Some(1), 3 * FRAME, None, 3 * FRAME),
            (0, Some(2), 3 * FRAME, None, 3 * FRAME / 2),
            (0, Some(3), 3 * FRAME, None, FRAME),
            (0, Some(8), 3 * FRAME, None, FRAME),
            (FRAME * 5 / 4, None, 0, None, FRAME * 5 / 4),
            (FRAME * 3 / 4, None, 0, None, FRAME),
            (0, None, 0, Some(Rate::from_gbps(8)), FRAME * 5 / 4),
            (FRAME * 2, Some(2), 3 * FRAME, Some(Rate::from_gbps(8)), 2 * FRAME),
        ] {
            let limits =
                Limits { interval, most, round_trip, fabric: fabric.map(Rate::pace), ..limits() };
            let starts = starts(&mut Credits::new(None, limits, 1, 1), &[0], 100);
            assert_eq!(spacing(&starts), expected, "{interval} {most:?} {round_trip} {fabric:?}");
        }
    }

    /// Two cores have twice the fabric of one core, and half of the credits each.
    #[test]
    fn cores_share_credits_and_have_a_fabric_each() {
        let slow = Limits { fabric: Some(Rate::from_gbps(8).pace()), ..limits() };
        assert_eq!(spacing(&starts(&mut Credits::new(None, slow, 1, 2), &[0, 1], 100)), FRAME);
        let few = Limits { most: Some(2), round_trip: 6 * FRAME, ..limits() };
        let both = starts(&mut Credits::new(None, few, 1, 2), &[0, 1], 100);
        assert_eq!(
            (spacing(&both), both.iter().filter(|start| start.1 == 0).count()),
            (3 * FRAME, 50)
        );
    }

    /// Frames of 1500 B and credits of 2000 B: the rest of a credit is used for the next frame. So
    /// at most a credit's bytes are sent per round trip, and a credit in flight is never granted
    /// twice.
    #[test]
    fn credits_are_conserved() {
        let limits = Limits { credit: 2_000, most: Some(3), round_trip: 50 * FRAME, ..limits() };
        let mut credits = Credits::new(None, limits, 2, 2);
        let mut now = 0;
        for step in 0..10_000u64 {
            let queue = (step * step % 7 % 4) as usize;
            credits.catch_up(now, FREE);
            credits.join(queue, [64, 1_500, 9_000][(step % 3) as usize]);
            credits.catch_up(now, FREE);
            if let Some(queue) = (0..4).rev().find(|queue| credits.has(*queue, now)) {
                let size = credits.backlog[queue].min(1_500) as u16;
                if step % 11 == 0 {
                    credits.dropped(queue, size.into())
                } else {
                    credits.sent(now, queue, size)
                }
            }
            let held: u64 = credits
                .balance
                .iter()
                .map(|balance| (*balance.max(&0) as u64).div_ceil(2_000))
                .sum();
            assert_eq!(held + credits.free.len() as u64, 3, "step {step}");
            now += FRAME / 3;
        }
    }

    /// An empty queue with a debt gets no credit. It would withhold the only credit from a queue
    /// that has frames.
    #[test]
    fn debts_do_not_ask() {
        let mut credits = Credits::new(None, Limits { most: Some(1), ..limits() }, 1, 2);
        credits.join(0, 1_500);
        credits.catch_up(0, FREE);
        credits.sent(0, 0, 1_500);
        credits.catch_up(10, FREE);
        assert_eq!((credits.balance.clone(), credits.free.len()), (vec![-500, 0], 1));
        credits.join(1, 1_000);
        credits.catch_up(20, FREE);
        assert!(credits.has(1, 20) && !credits.has(0, 20));
    }

    /// A paused queue gets no credit until its pause ends. Then it is served as if it had requested
    /// at that time.
    #[test]
    fn paused_queues_do_not_ask() {
        let mut credits = Credits::new(None, Limits { interval: 10, ..limits() }, 1, 2);
        credits.join(0, 1_000);
        credits.join(1, 1_000);
        let from = |queue: usize| [1_000, 0][queue];
        credits.catch_up(500, &from);
        assert_eq!((credits.balance.clone(), credits.next), (vec![0, 1_000], 10));
        credits.sent(500, 1, 1_000);
        assert_eq!(credits.until(&from), 1_000);
        credits.catch_up(2_000, &from);
        assert_eq!(
            (credits.balance.clone(), credits.next, credits.known),
            (vec![1_000, 0], 1_010, 2_000)
        );
    }

    /// The highest priority with a request is served first.
    #[test]
    fn priorities_come_first() {
        let mut credits = Credits::new(None, Limits { interval: FRAME, ..limits() }, 2, 1);
        (0..3).for_each(|_| credits.join(0, 1_000));
        (0..2).for_each(|_| credits.join(1, 1_000));
        credits.catch_up(2 * FRAME, FREE);
        assert_eq!(credits.balance, [1_000, 2_000]);
    }

    /// If credits come more slowly than the port sends, classes share them by their percentages, to
    /// within a turn, after the strict class has had its own.
    #[test]
    fn classes_share_credits() {
        let service = vec![Service::Bandwidth(20), Service::Bandwidth(80), Service::Strict];
        let classes = Weighted::new(&Classes { of_priority: [0; 8], service, quantum: 1_000 });
        let mut credits =
            Credits::new(Some(classes), Limits { interval: 2 * FRAME, ..limits() }, 3, 2);
        // One class is fed by both cores, one by the second core, and a strict class has five
        // frames.
        [0, 1, 3].iter().for_each(|queue| (0..1_000).for_each(|_| credits.join(*queue, 1_000)));
        (0..5).for_each(|_| credits.join(4, 1_000));
        credits.catch_up(2 * FRAME * 504, FREE);
        let [first, second, _, third, strict, _] = credits.balance[..] else {
            unreachable!("three classes of two cores")
        };
        assert_eq!((first + second, third, strict), (100_000, 400_000, 5_000));
        assert_eq!(first, second);
    }
}
