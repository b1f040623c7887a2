//! Tests of both ends together. Paths are FIFO with different, changing delays. A frame that is
//! late at the host must have a cause, for any delays and losses.

use super::destination::{Destination, Handling};
use super::paths::Known;
use super::reorder::{Held, ReorderQueues};
use super::source::{ReplyOutcome, Source};
use super::tests::config;
use super::{Cause, Reply, Rules, Tag};
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

fn run(case: &Case, seed: u64) -> Tale {
    let rules = &case.rules;
    let mut stream = Stream::new(seed, 1, 2);
    let mut events: BTreeMap<(u64, u64), Event> = BTreeMap::new();
    let mut order = 0;
    let mut file = |events: &mut BTreeMap<(u64, u64), Event>, at: u64, event: Event| {
        order += 1;
        events.insert((at, order), event);
    };
    let (mut source, mut destination, mut queues) =
        (Source::new(), Destination::new(), ReorderQueues::new(1, rules.reorder_queues));
    let mut known = Known::new(vec![4 * US; PATHS]);
    let (mut last_arrival, mut delay) = ([0u64; PATHS], [0u64; PATHS]);
    let mut tale = Tale::default();
    let (mut highest, frames) = (0, 3_000);
    file(&mut events, 0, Event::Leave(1));
    while let Some(((now, _), event)) = events.pop_first() {
        let mut host = |seq: u32, why: Option<Cause>, tale: &mut Tale| {
            tale.delivered += 1;
            if seq < highest {
                tale.late += 1;
                tale.causes.push(why.unwrap_or_else(|| {
                    panic!("seed {seed}: frame {seq} after {highest} for no reason")
                }));
            }
            highest = highest.max(seq);
        };
        let release = |destination: &mut Destination,
                       queues: &mut ReorderQueues,
                       tale: &mut Tale,
                       host: &mut dyn FnMut(u32, Option<Cause>, &mut Tale)| {
            let by_tail = destination.release();
            (tale.by_tail, tale.early) =
                (tale.by_tail + by_tail as u32, tale.early + !by_tail as u32);
            while let Some(held) = queues.take(destination.queue) {
                host(held.frame.seq, destination.pass_held(held.epoch), tale);
            }
            queues.close(destination.queue);
        };
        match event {
            Event::Leave(seq) => {
                // The queueing delays of the paths change.
                for delay in &mut delay {
                    if stream.below(10) == 0 {
                        *delay = stream.below(case.spread + 1);
                    }
                }
                let sent = source.send(
                    now,
                    false,
                    rules,
                    || {
                        known.choose(
                            now,
                            &[0, 1, 2, 3],
                            [(); 2].map(|()| stream.below(PATHS as u64)),
                        )
                    },
                    |path| known.round_trip(path as usize),
                );
                tale.reroutes += sent.rerouted as u32;
                let path = sent.path as usize;
                if case.loss > 0 && stream.below(case.loss) == 0 {
                    tale.lost += 1;
                } else {
                    last_arrival[path] =
                        (now + 2 * US + delay[path]).max(last_arrival[path] + 1_000);
                    file(&mut events, last_arrival[path], Event::Arrive(sent.tag, seq));
                }
                if seq < frames {
                    let gap = if stream.below(100) == 0 {
                        stream.below(case.silence + 1)
                    } else {
                        stream.below(US)
                    };
                    file(&mut events, now + 80_000 + gap, Event::Leave(seq + 1));
                }
            }
            Event::Arrive(tag, seq) => {
                let marked = stream.below(20) == 0;
                let arrived = destination.arrive(now, &tag, marked, rules);
                let held = Held {
                    frame: Frame { seq, size: 1_000, ..Frame::default() },
                    epoch: tag.epoch,
                };
                match arrived.handling {
                    Handling::Pass(why) => host(seq, why, &mut tale),
                    Handling::TooLate => host(seq, None, &mut tale),
                    Handling::Open => match queues.open(0) {
                        Some(queue) => {
                            destination.queue = queue;
                            queues.hold(queue, held);
                            tale.held += 1;
                        }
                        None => {
                            let why = destination.do_without_queue(tag.epoch);
                            host(seq, why, &mut tale);
                        }
                    },
                    Handling::Hold => {
                        queues.hold(destination.queue, held);
                        tale.held += 1;
                    }
                }
                if arrived.release {
                    release(&mut destination, &mut queues, &mut tale, &mut host);
                } else if destination.is_reordering() {
                    file(&mut events, destination.flush_at(), Event::Flush);
                }
                // Replies may be lost too.
                let notify =
                    arrived.notify.then(|| Event::Notify(stream.below(PATHS as u64) as u32));
                for reply in arrived.answer.map(Event::Reply).into_iter().chain(notify) {
                    if case.loss == 0 || stream.below(case.loss) != 0 {
                        file(&mut events, now + 2 * US + stream.below(US), reply);
                    }
                }
            }
            Event::Reply(reply) => match reply {
                Reply::Rtt { epoch } => {
                    tale.in_time +=
                        (source.on_reply(now, epoch, rules) == ReplyOutcome::InTime) as u32
                }
                Reply::Clear { epoch } => {
                    source.on_clear(epoch, rules);
                }
            },
            Event::Notify(path) => known.note_busy(now + rules.path_busy, path as usize),
            Event::Flush => {
                if destination.flush_at() == now {
                    release(&mut destination, &mut queues, &mut tale, &mut host);
                }
            }
        }
    }
    assert_eq!(tale.delivered + tale.lost, frames);
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
