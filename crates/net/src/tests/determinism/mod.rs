//! Tests that both engines and any number of threads give the same result.

mod classes;
mod fabric;
mod hosts;
mod queues;
mod transports;
mod voq;

use super::applications::{Wander, example, wander};
use super::scenarios::*;
use crate::record::Output;
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_engine::random::Stream;
use afflux_units::{Span, Time};

/// Random pairs, many of which start at equal times.
pub(super) fn traffic(hosts: u32, count: u32, span_us: u64, largest: u64, seed: u64) -> Vec<Flow> {
    let mut stream = Stream::new(seed, 99, 0);
    let flows = (0..count).map(|id| {
        let src = stream.below(hosts as u64) as u32;
        let dst = (src + 1 + stream.below(hosts as u64 - 1) as u32) % hosts;
        // Whole microseconds make many ties.
        let start = Time::from_ns(stream.below(span_us) * 1_000);
        Flow {
            priority: stream.below(3) as u8,
            ..flow(id as i64, src, dst, 1 + stream.below(largest), start)
        }
    });
    by_start(flows.collect())
}

/// Returns the output as text, except for the engine's own figures.
pub(super) fn digest(output: &Output) -> String {
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        output.flows,
        output.started,
        output.tasks,
        output.links,
        output.ports,
        output.paths,
        output.uplinks,
        output.reordering,
        output.captures,
        output.gaps,
        output.waits,
        output.round_trips,
        output.senders,
        output.counters,
        output.end,
        output.storms,
        output.deadlocks,
        output.ended,
        output.stuck
    )
}

/// Returns the surroundings of the first difference of a digest from the classical engine's.
pub(super) fn difference(got: &str, expected: &str) -> Option<String> {
    let (a, b) = got.lines().zip(expected.lines()).find(|(a, b)| a != b)?;
    let at = (a.bytes().zip(b.bytes()).position(|(x, y)| x != y)).unwrap_or(a.len().min(b.len()));
    let cut = |s: &str| s[at.saturating_sub(300)..(at + 200).min(s.len())].to_string();
    Some(format!(" window log {}\n classical  {}", cut(a), cut(b)))
}

pub(super) fn same_everywhere(name: &str, plan: &Plan) -> Output {
    // Runs with more threads than cores are slow. Three and seven threads run once for each kind of
    // port here, and everywhere in `make fuzz`.
    let most = std::env::var("AFFLUX_MOST_THREADS")
        .map_or(2, |text| text.parse().expect("a number of threads"));
    same_with_threads(name, plan, most)
}

/// Runs both engines, the default one with 1, 2, 3 and 7 threads up to `most`, and compares all
/// records.
fn same_with_threads(name: &str, plan: &Plan, most: u32) -> Output {
    let with = |engine, threads| {
        let mut plan = plan.clone();
        plan.run.engine = engine;
        plan.run.threads = threads;
        plan.record.senders.get_or_insert(Span::from_us(13));
        run(&plan, &Progress::default()).unwrap()
    };
    let oracle = with(EngineKind::Classical, 1);
    let expected = digest(&oracle);
    for threads in [1, 2, 3, 7].into_iter().filter(|threads| *threads <= most) {
        if let Some(difference) =
            difference(&digest(&with(EngineKind::WindowLog, threads)), &expected)
        {
            panic!("{name}: {threads} threads differ:\n{difference}");
        }
    }
    oracle
}

/// One scenario for each kind of port, to be run with seven threads.
const SEVEN_THREADS: [&str; 6] = [
    "drop-tail",
    "three priorities",
    "three priorities, shared buffer, marks at dequeue",
    "fq-codel",
    "virtual output queues of some switches, one of them recorded",
    "loss and link down",
];

/// Small scenarios, each of which tests one feature.
fn scenarios() -> Vec<(&'static str, Plan)> {
    let mut base = plan(fat_tree(4, 2), traffic(32, 300, 200, 200_000, 1));
    base.switches[0].buffer =
        Buffer::Static { per_queue: Limit::Bytes(60_000), drop_when: Compare::Above };
    let mut s = Scenarios::new(base);
    s.add("drop-tail", |_| {});
    s.add_switch("drop-tail, packets, at or above", tcp(), |s| {
        s.buffer = Buffer::Static { per_queue: Limit::Packets(24), drop_when: Compare::AtOrAbove }
    });
    for add in [
        hosts::add,
        queues::add_controls,
        queues::add_red,
        queues::add_disciplines,
        queues::add_memory,
        voq::add_memory,
        voq::add_disciplines,
        voq::add_marking,
        classes::add,
        classes::add_deep,
        classes::add_queues,
        fabric::add_forwarding,
        fabric::add_links,
        fabric::add_records,
        transports::add_datagrams,
        transports::add_processors,
        transports::add_closed_loop,
    ] {
        add(&mut s);
    }
    s.plans
}

/// Number of tests that share the scenarios and the cores. Each of them is short.
const PARTS: usize = 8;

/// Tests every eighth scenario.
fn scenarios_agree(part: usize) {
    let (mut drops, mut marks) = (0, 0);
    for (name, plan) in scenarios().iter().skip(part).step_by(PARTS) {
        let output = if SEVEN_THREADS.contains(name) {
            same_with_threads(name, plan, 7)
        } else {
            same_everywhere(name, plan)
        };
        let c = output.counters;
        eprintln!(
            "{name}: {} hops, {} drops, {} marks, {} timeouts, end {}",
            c.packet_hops, c.dropped_packets, c.ecn_marks, c.timeouts, output.end
        );
        drops += (c.dropped_packets > 0) as u32;
        marks += (c.ecn_marks > 0) as u32;
    }
    assert!(drops >= 3 && marks >= 1, "{drops} scenarios with drops, {marks} with marks");
}

parts! {
    scenarios_agree:
    scenarios_agree_0_of_8 0
    scenarios_agree_1_of_8 1
    scenarios_agree_2_of_8 2
    scenarios_agree_3_of_8 3
    scenarios_agree_4_of_8 4
    scenarios_agree_5_of_8 5
    scenarios_agree_6_of_8 6
    scenarios_agree_7_of_8 7
}

#[test]
fn the_scenarios_with_seven_threads_are_there() {
    let all = scenarios();
    assert!(all.len() >= 70, "{}", all.len());
    assert!(SEVEN_THREADS.iter().all(|name| all.iter().any(|(other, _)| other == name)));
}

#[test]
fn applications() {
    let two = [example(32), Wander { seed: 9, hops: 40, bytes: 200_000, ..example(20) }];
    let planned = || traffic(32, 60, 200, 200_000, 4);
    let long = || traffic(32, 20, 30, 100_000_000, 4);
    let mut open = wander(fat_tree(4, 2), &two, planned());
    open.transports = tcp_only(TcpConfig { handshake: true, ..tcp() });
    assert_eq!(same_everywhere("applications", &open).started.len(), 12 * 65);
    let mut cut = wander(fat_tree(4, 2), &two, long());
    cut.run.until_done = true;
    cut.switches[0].marking = step_at(30_000, MarkAt::Dequeue);
    cut.record.ports = Some(PortSeries { interval: Span::from_us(20), nodes: (32..52).collect() });
    let output = same_everywhere("applications end the run", &cut);
    assert!(output.flows.iter().any(|flow| flow.finish.is_none()), "something is cut off");
    cut.run.until = Some(Time::from_ns(150_000));
    let output = same_everywhere("the run ends before them", &cut);
    assert_eq!(output.end, Time::from_ns(150_000));
}
