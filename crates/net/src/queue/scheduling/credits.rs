//! Credits that can run out: what the scheduler of an egress port gives to the virtual output queues of its ingress cores, and the fabric between
//! them and the port.
//!
//! A queue that holds more than it has credit for asks. The scheduler serves one request after the other: of the highest priority, or of the class that is
//! next by the classes' rule, cores in turn. It is no faster than its rate, and has no more credits on their way or unused than it may have. A credit that
//! is used up, or lost with an empty queue, can be given again, and what it pays for can leave `round_trip` later. Frames join their queues when a credit for which they asked at once can be
//! there, so that round trip is in the time at which they join.
//!
//! There are no timers: whoever changes anything first catches up with what the scheduler has done by then, so that both engines see the same.

use super::dwrr::Weighted;
use super::limits::Limits;
use std::collections::VecDeque;

#[derive(Debug, Clone)]
pub struct Credits {
    limits: Limits,
    cores: usize,
    /// Per queue: bytes that wait, and credit left; a queue may owe up to a frame.
    backlog: Vec<u64>,
    balance: Vec<i64>,
    /// Which core is served next, per class.
    turn: Vec<usize>,
    /// Strict classes and classes with shares, of credits; without, the highest class that asks goes first.
    classes: Option<Weighted>,
    /// Before this no credit is given.
    next: u64,
    /// Everything up to this has happened.
    known: u64,
    /// When credits may be given again, soonest first.
    free: VecDeque<u64>,
    /// When each core has sent what it had to send through the fabric.
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

    /// When the scheduler may give its next credit; `None` if all are under way.
    fn next_credit(&self) -> Option<u64> {
        let at = self.known.max(self.next);
        if self.limits.most.is_none() { Some(at) } else { self.free.front().map(|free| at.max(*free)) }
    }

    /// Bytes for which a queue asks. Debts alone are no reason: they are paid off once there is something to send.
    fn asked(&self, queue: usize) -> u64 {
        self.backlog[queue].saturating_sub(self.balance[queue].max(0) as u64)
    }

    fn asks(&self, queue: usize) -> bool {
        self.asked(queue) > 0
    }

    /// The class that gets the next credit, at `at`; it is charged for it, where classes have shares.
    fn served(&mut self, at: u64, from: &dyn Fn(usize) -> u64) -> Option<usize> {
        let mut classes = self.classes.take();
        let may_have = |queue: usize| self.asks(queue) && from(queue) <= at;
        let class = match &mut classes {
            None => (0..self.balance.len()).rev().find(|&queue| may_have(queue)).map(|last| last / self.cores),
            Some(classes) => {
                let credit = u64::from(self.limits.credit);
                let of_class = |class: usize| class * self.cores..(class + 1) * self.cores;
                let asked = |class: usize| of_class(class).map(|queue| self.asked(queue).div_ceil(credit)).sum::<u64>();
                classes.choose(self.turn.len(), |class| of_class(class).any(may_have), |class| asked(class) == 0, |class| (credit, asked(class) == 1))
            }
        };
        self.classes = classes;
        class
    }

    /// The scheduler has done what it does up to `now`; `from` is when a queue may send, as far as pauses are concerned.
    pub fn catch_up(&mut self, now: u64, from: &dyn Fn(usize) -> u64) {
        while let Some(at) = self.next_credit().filter(|at| *at <= now) {
            self.known = at;
            let Some(class) = self.served(at, from) else {
                // Whoever is paused asks again when that is over.
                match (0..self.balance.len()).filter(|&queue| self.asks(queue)).map(from).min().filter(|soonest| *soonest <= now) {
                    Some(soonest) => self.known = soonest,
                    None => break,
                }
                continue;
            };
            let place = |step: usize| (self.turn[class] + step) % self.cores;
            let core = (0..self.cores).map(place).find(|core| {
                let queue = class * self.cores + core;
                self.asks(queue) && from(queue) <= at
            });
            let core = core.expect("one of them asks");
            self.turn[class] = (core + 1) % self.cores;
            self.next = at + self.limits.interval;
            self.free.pop_front();
            self.change(at, class * self.cores + core, 1, |balance, credit| balance + credit);
        }
        self.known = self.known.max(now);
    }

    /// Changes the balance of a queue that has been given so many credits at `at`: those it no longer holds can be given again.
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

    /// A frame has joined `queue`; everything up to then is known.
    pub fn join(&mut self, queue: usize, size: u16) {
        self.backlog[queue] += u64::from(size);
    }

    /// May `queue` send at `at`, as far as credits and the fabric are concerned?
    pub fn has(&self, queue: usize, at: u64) -> bool {
        self.balance[queue] > 0 && self.fabric_free[queue % self.cores] <= at
    }

    /// A frame of `queue` leaves at `at`.
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

    /// A frame of `queue` has been dropped; everything up to then is known.
    pub fn dropped(&mut self, queue: usize, bytes: u64) {
        self.backlog[queue] -= bytes;
        if self.backlog[queue] == 0 {
            self.change(self.known, queue, 0, |balance, _| balance.min(0));
        }
    }

    /// Nobody may send: the earliest time at which somebody may, if nothing else happens. Then it has to be asked again.
    pub fn until(&self, from: &dyn Fn(usize) -> u64) -> u64 {
        let credit = self.next_credit().unwrap_or(u64::MAX);
        let of_queue = |queue: usize| {
            let waits_for = if self.balance[queue] > 0 { 0 } else { credit };
            waits_for.max(from(queue)).max(self.fabric_free[queue % self.cores])
        };
        let soonest = (0..self.balance.len()).filter(|&queue| self.backlog[queue] > 0).map(of_queue).min().unwrap_or(u64::MAX);
        // Credits under way are with queues that hold something: those can go on, and give them back.
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
    /// Time of 1000 B at 10 Gbps.
    const FRAME: u64 = 800_000;

    fn limits() -> Limits {
        Limits { credit: 1_000, interval: 0, most: None, round_trip: 0, fabric: None }
    }

    /// Frames of 1000 B without end in each of `queues`, over a port of 10 Gbps: the times at which the first `count` start, and their queues.
    fn starts(credits: &mut Credits, queues: &[usize], count: usize) -> Vec<(u64, usize)> {
        queues.iter().for_each(|queue| (0..count + 1).for_each(|_| credits.join(*queue, 1_000)));
        let (mut now, mut turn, mut starts) = (0, 0, Vec::new());
        while starts.len() < count {
            credits.catch_up(now, FREE);
            match (0..queues.len()).map(|step| queues[(turn + step) % queues.len()]).find(|queue| credits.has(*queue, now)) {
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
        // An even number of frames, as credits in flight are one to three or more than enough.
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
            let limits = Limits { interval, most, round_trip, fabric: fabric.map(Rate::pace), ..limits() };
            let starts = starts(&mut Credits::new(None, limits, 1, 1), &[0], 100);
            assert_eq!(spacing(&starts), expected, "{interval} {most:?} {round_trip} {fabric:?}");
        }
    }

    /// Two cores have twice the fabric of one, and half of the credits each.
    #[test]
    fn cores_share_credits_and_have_a_fabric_each() {
        let slow = Limits { fabric: Some(Rate::from_gbps(8).pace()), ..limits() };
        assert_eq!(spacing(&starts(&mut Credits::new(None, slow, 1, 2), &[0, 1], 100)), FRAME);
        let few = Limits { most: Some(2), round_trip: 6 * FRAME, ..limits() };
        let both = starts(&mut Credits::new(None, few, 1, 2), &[0, 1], 100);
        assert_eq!((spacing(&both), both.iter().filter(|start| start.1 == 0).count()), (3 * FRAME, 50));
    }

    /// Frames of 1500 B and credits of 2000 B: what is left of one is used with the next, so that a credit's bytes are sent per round trip at most, and one
    /// that is on its way is never given twice.
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
                if step % 11 == 0 { credits.dropped(queue, size.into()) } else { credits.sent(now, queue, size) }
            }
            let held: u64 = credits.balance.iter().map(|balance| (*balance.max(&0) as u64).div_ceil(2_000)).sum();
            assert_eq!(held + credits.free.len() as u64, 3, "step {step}");
            now += FRAME / 3;
        }
    }

    /// A queue that owes and is empty gets no credit: it would keep the only one from a queue that has something.
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

    /// A paused queue gets no credit until its pause ends, and then as if it had asked at that moment.
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
        assert_eq!((credits.balance.clone(), credits.next, credits.known), (vec![1_000, 0], 1_010, 2_000));
    }

    /// The highest priority that asks is served first.
    #[test]
    fn priorities_come_first() {
        let mut credits = Credits::new(None, Limits { interval: FRAME, ..limits() }, 2, 1);
        (0..3).for_each(|_| credits.join(0, 1_000));
        (0..2).for_each(|_| credits.join(1, 1_000));
        credits.catch_up(2 * FRAME, FREE);
        assert_eq!(credits.balance, [1_000, 2_000]);
    }

    /// Credits that come more slowly than the port sends are shared by the classes' percentages, to within a turn, after the strict class has had its own.
    #[test]
    fn classes_share_credits() {
        let service = vec![Service::Bandwidth(20), Service::Bandwidth(80), Service::Strict];
        let classes = Weighted::new(&Classes { of_priority: [0; 8], service, quantum: 1_000 });
        let mut credits = Credits::new(Some(classes), Limits { interval: 2 * FRAME, ..limits() }, 3, 2);
        // A class that is fed by both cores, one that is fed by the second, and a strict one with five frames.
        [0, 1, 3].iter().for_each(|queue| (0..1_000).for_each(|_| credits.join(*queue, 1_000)));
        (0..5).for_each(|_| credits.join(4, 1_000));
        credits.catch_up(2 * FRAME * 504, FREE);
        let [first, second, _, third, strict, _] = credits.balance[..] else { unreachable!("three classes of two cores") };
        assert_eq!((first + second, third, strict), (100_000, 400_000, 5_000));
        assert_eq!(first, second);
    }
}
