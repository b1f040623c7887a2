//! Tests of both ends together. Paths are FIFO with different, changing delays. A frame that is
//! late at the host must have a cause, for any delays and losses.

use super::super::destination::{Destination, Handling};
use super::super::paths::Known;
use super::super::reorder::{Held, ReorderQueues};
use super::super::source::{ReplyOutcome, Source};
use super::super::{Cause, Reply, Rules, Tag};
use super::config;
use crate::frame::Frame;
use afflux_engine::random::Stream;
use std::collections::BTreeMap;

const US: u64 = 1_000_000;
const PATHS: usize = 4;

enum Event {
    Leave(u32),
    Arrive(Tag, u32),
    Reply(Reply),
    Notify(u32),
    Flush,
}

/// Counts of what happened to the frames of one flow.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tale {
    delivered: u32,
    lost: u32,
    reroutes: u32,
    late: u32,
    held: u32,
    by_tail: u32,
    early: u32,
    in_time: u32,
    causes: Vec<Cause>,
}

struct Case {
    rules: Rules,
    /// Average number of frames per lost frame; 0 for no losses.
    loss: u64,
    /// Longest queueing delay of a path in ps.
    spread: u64,
    /// Longest silence of the flow in ps.
    silence: u64,
}

/// Number of frames of the flow.
const FRAMES: u32 = 3_000;

/// One flow through the paths between its two ToRs.
struct Paths<'a> {
    case: &'a Case,
    seed: u64,
    stream: Stream,
    now: u64,
    events: BTreeMap<(u64, u64), Event>,
    order: u64,
    source: Source,
    known: Known,
    destination: Destination,
    queues: ReorderQueues,
    last_arrival: [u64; PATHS],
    delay: [u64; PATHS],
    /// Highest frame at the host.
    highest: u32,
    tale: Tale,
}

impl Paths<'_> {
    fn file(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    /// Draws whether a frame or a reply is lost.
    fn loses(&mut self) -> bool {
        self.case.loss > 0 && self.stream.below(self.case.loss) == 0
    }

    fn leave(&mut self, seq: u32) {
        let (now, stream) = (self.now, &mut self.stream);
        // The queueing delays of the paths change.
        for delay in &mut self.delay {
            if stream.below(10) == 0 {
                *delay = stream.below(self.case.spread + 1);
            }
        }
        let known = &self.known;
        let sent = self.source.send(
            now,
            false,
            &self.case.rules,
            || known.choose(now, &[0, 1, 2, 3], [(); 2].map(|()| stream.below(PATHS as u64))),
            |path| known.round_trip(path as usize),
        );
        self.tale.reroutes += sent.rerouted as u32;
        let path = sent.path as usize;
        if self.loses() {
            self.tale.lost += 1;
        } else {
            let arrival = (now + 2 * US + self.delay[path]).max(self.last_arrival[path] + 1_000);
            self.last_arrival[path] = arrival;
            self.file(arrival, Event::Arrive(sent.tag, seq));
        }
        if seq < FRAMES {
            let most = if self.stream.below(100) == 0 { self.case.silence + 1 } else { US };
            let gap = self.stream.below(most);
            self.file(now + 80_000 + gap, Event::Leave(seq + 1));
        }
    }

    fn arrive(&mut self, tag: Tag, seq: u32) {
        let marked = self.stream.below(20) == 0;
        let arrived = self.destination.arrive(self.now, &tag, marked, &self.case.rules);
        let frame = Frame { seq, size: 1_000, ..Frame::default() };
        let held = Held { frame, epoch: tag.epoch };
        match arrived.handling {
            Handling::Pass(why) => self.deliver(seq, why),
            Handling::TooLate => self.deliver(seq, None),
            Handling::Open => match self.queues.open(0) {
                Some(queue) => {
                    self.destination.queue = queue;
                    self.hold(held);
                }
                None => {
                    let why = self.destination.do_without_queue(tag.epoch);
                    self.deliver(seq, why);
                }
            },
            Handling::Hold => self.hold(held),
        }
        if arrived.release {
            self.release();
        } else if self.destination.is_reordering() {
            self.file(self.destination.flush_at(), Event::Flush);
        }
        let notify = arrived.notify.then(|| Event::Notify(self.stream.below(PATHS as u64) as u32));
        for reply in arrived.answer.map(Event::Reply).into_iter().chain(notify) {
            if !self.loses() {
                let delay = 2 * US + self.stream.below(US);
                self.file(self.now + delay, reply);
            }
        }
    }

    fn hold(&mut self, held: Held) {
        self.queues.hold(self.destination.queue, held);
        self.tale.held += 1;
    }

    /// Delivers a frame to the host. `why` is the cause if it is late.
    fn deliver(&mut self, seq: u32, why: Option<Cause>) {
        self.tale.delivered += 1;
        if seq < self.highest {
            self.tale.late += 1;
            let (seed, highest) = (self.seed, self.highest);
            self.tale.causes.push(why.unwrap_or_else(|| {
                panic!("seed {seed}: frame {seq} after {highest} for no reason")
            }));
        }
        self.highest = self.highest.max(seq);
    }

    fn release(&mut self) {
        let by_tail = self.destination.release();
        self.tale.by_tail += by_tail as u32;
        self.tale.early += !by_tail as u32;
        while let Some(held) = self.queues.take(self.destination.queue) {
            let why = self.destination.pass_held(held.epoch);
            self.deliver(held.frame.seq, why);
        }
        self.queues.close(self.destination.queue);
    }

    fn happen(&mut self, event: Event) {
        let (now, rules) = (self.now, &self.case.rules);
        match event {
            Event::Leave(seq) => self.leave(seq),
            Event::Arrive(tag, seq) => self.arrive(tag, seq),
            Event::Reply(Reply::Rtt { epoch }) => {
                let outcome = self.source.on_reply(now, epoch, rules);
                self.tale.in_time += (outcome == ReplyOutcome::InTime) as u32;
            }
            Event::Reply(Reply::Clear { epoch }) => {
                self.source.on_clear(epoch, rules);
            }
            Event::Notify(path) => self.known.note_busy(now + rules.path_busy, path as usize),
            Event::Flush => {
                if self.destination.flush_at() == now {
                    self.release();
                }
            }
        }
    }
}

fn run(case: &Case, seed: u64) -> Tale {
    let mut paths = Paths {
        case,
        seed,
        stream: Stream::new(seed, 1, 2),
        now: 0,
        events: BTreeMap::new(),
        order: 0,
        source: Source::new(),
        known: Known::new(vec![4 * US; PATHS]),
        destination: Destination::new(),
        queues: ReorderQueues::new(1, case.rules.reorder_queues),
        last_arrival: [0; PATHS],
        delay: [0; PATHS],
        highest: 0,
        tale: Tale::default(),
    };
    paths.file(0, Event::Leave(1));
    while let Some(((now, _), event)) = paths.events.pop_first() {
        paths.now = now;
        paths.happen(event);
    }
    let (tale, queues) = (paths.tale, paths.queues);
    assert_eq!(tale.delivered + tale.lost, FRAMES);
    assert_eq!((queues.frames, queues.bytes, queues.at_port(0)), (0, 0, (0, 0)));
    tale
}

fn cases(ns3: bool, change: impl Fn(&mut Case)) -> Vec<Tale> {
    let mut case =
        Case { rules: Rules::new(&config(ns3)), loss: 0, spread: 12 * US, silence: 50 * US };
    change(&mut case);
    (0..40).map(|seed| run(&case, seed)).collect()
}

fn total(tales: &[Tale], of: impl Fn(&Tale) -> u32) -> u32 {
    tales.iter().map(of).sum()
}

#[test]
fn without_loss_and_with_time_enough_everything_is_in_order() {
    // The delay of a path changes by at most 12 us between a frame and the TAIL, which the extra of
    // 16 us covers. No silence is as long as theta_inactive.
    for ns3 in [false, true] {
        let tales = cases(ns3, |_| {});
        assert_eq!((total(&tales, |t| t.late), total(&tales, |t| t.lost)), (0, 0));
        for (what, count) in [
            ("reroutes", total(&tales, |t| t.reroutes)),
            ("held", total(&tales, |t| t.held)),
            ("by tail", total(&tales, |t| t.by_tail)),
            ("in time", total(&tales, |t| t.in_time)),
        ] {
            assert!(count > 1_000, "ns3 {ns3}: {what} {count}");
        }
        // A release can be early only before a frame of the old path has been seen, which does not
        // happen here.
        assert_eq!(total(&tales, |t| t.early), 0);
    }
}

#[test]
fn a_flush_that_is_too_early_is_the_cause() {
    let tales = cases(false, |case| {
        case.rules.flush_extra = 0;
        case.rules.default_wait = US;
    });
    assert!(total(&tales, |t| t.early) > 100);
    assert!(total(&tales, |t| t.late) > 100);
    assert!(tales.iter().flat_map(|t| &t.causes).all(|&cause| cause == Cause::EarlyFlush));
}

#[test]
fn a_reroute_after_silence_is_the_cause() {
    let tales = cases(false, |case| {
        case.rules.inactive = 5 * US;
        case.silence = 20 * US;
    });
    let causes: Vec<Cause> = tales.iter().flat_map(|t| t.causes.clone()).collect();
    let count = causes.iter().filter(|&&cause| cause == Cause::Inactivity).count();
    assert!(count > 20, "{count} of {}", causes.len());
    assert!(
        causes
            .iter()
            .all(|cause| matches!(cause, Cause::Inactivity | Cause::OldEpoch | Cause::EarlyFlush))
    );
}

#[test]
fn having_no_queue_is_the_cause() {
    let tales = cases(false, |case| case.rules.reorder_queues = Some(0));
    assert!(total(&tales, |t| t.late) > 100);
    assert!(tales.iter().flat_map(|t| &t.causes).all(|&cause| cause == Cause::NoQueue));
}

#[test]
fn whatever_is_lost_there_is_a_cause() {
    for ns3 in [false, true] {
        for loss in [10, 100, 1_000] {
            for spread in [2, 12, 100] {
                let tales = cases(ns3, |case| {
                    case.loss = loss;
                    case.spread = spread * US;
                    case.rules.inactive = 40 * US;
                });
                assert!(total(&tales, |t| t.lost) > 0);
            }
        }
    }
}
