//! Tests flows that are created at run time.

use crate::app::{Application, Applications, Context, NewFlow, Program};
use crate::record::{Status, TaskRecord};
use crate::spec::*;
use crate::testing::*;
use crate::{Progress, run};
use afflux_engine::random::Stream;
use afflux_units::{Bytes, Rate, Span, Time};
use std::sync::Arc;

/// A program whose tokens wander: the end of each flow starts another flow from its destination to
/// a random host, after a random pause.
#[derive(Debug, Clone)]
pub struct Wander {
    pub hosts: u32,
    pub tokens: u64,
    pub hops: u32,
    pub bytes: u64,
    pub seed: u64,
    pub transport: u16,
}

impl Program for Wander {
    fn application(&self) -> Box<dyn Application> {
        Box::new(Wandering {
            what: self.clone(),
            stream: Stream::new(self.seed, 1, 0),
            left: self.tokens as u32 * (self.hops - 1),
            resting: 0,
            at: Vec::new(),
        })
    }
    fn hosts(&self) -> Vec<u32> {
        (0..self.hosts).collect()
    }
    fn expected_flows(&self) -> u64 {
        self.tokens * self.hops as u64
    }
}

struct Wandering {
    what: Wander,
    stream: Stream,
    left: u32,
    /// Number of tokens at rest.
    resting: u64,
    /// Destination of the token that each flow carries, by flow.
    at: Vec<(FlowId, u32)>,
}

impl Wandering {
    fn send(&mut self, context: &mut Context, src: u32) {
        let dst =
            (src + 1 + self.stream.below(self.what.hosts as u64 - 1) as u32) % self.what.hosts;
        let bytes = 1 + self.stream.below(self.what.bytes);
        let new = NewFlow {
            src,
            dst,
            bytes,
            transport: self.what.transport,
            class: 0,
            priority: self.stream.below(3) as u8,
            job: 0,
        };
        // Whole microseconds make many ties.
        let at = Time(context.now().0.next_multiple_of(1_000_000));
        self.at.push((context.start_flow(new, at), dst));
    }
}

impl Application for Wandering {
    fn begin(&mut self, context: &mut Context) {
        self.resting = self.what.tokens;
        for token in 0..self.what.tokens {
            context.timer(Time::from_ns(1_000 * (token % 5)), token);
        }
    }
    fn on_timer(&mut self, context: &mut Context, token: u64) {
        self.resting -= 1;
        self.send(context, token as u32 % self.what.hosts);
    }
    fn on_received(&mut self, context: &mut Context, flow: FlowId, read: Time) {
        let place = self.at.iter().position(|(id, _)| *id == flow).expect("each end is told once");
        let (_, host) = self.at.swap_remove(place);
        let now = context.now();
        context.record(TaskRecord {
            job: 0,
            phase: "hop",
            task: Some(flow),
            node: Some(host),
            start: now,
            finish: Some(read),
            bytes_in: 0,
            bytes_out: 0,
        });
        if self.left > 0 {
            self.left -= 1;
            self.resting += 1;
            context.timer(now + Span::from_us(self.stream.below(4)), host as u64);
        } else if self.at.is_empty() && self.resting == 0 {
            context.done();
        }
    }
}

pub fn wander(topology: Topology, programs: &[Wander], flows: Vec<Flow>) -> Plan {
    let programs = programs.iter().map(|w| Arc::new(w.clone()) as Arc<dyn Program>).collect();
    Plan {
        applications: Some(Applications { home: 3, latency: Span::from_us(2), programs }),
        ..plan(topology, flows)
    }
}

pub fn example(hosts: u32) -> Wander {
    Wander { hosts, tokens: 12, hops: 25, bytes: 60_000, seed: 5, transport: 0 }
}

#[test]
fn every_flow_is_told_of_once_and_the_run_lasts_until_all_is_over() {
    let plan = wander(leaf_spine(3, 2, 4), &[example(12)], Vec::new());
    let output = run(&plan, &Progress::default()).unwrap();
    // There are as many flows as timers, and no token is at rest before.
    assert_eq!((output.flows.len(), output.started.len()), (300, 300));
    assert_eq!(output.tasks.len(), 300);
    assert!(output.flows.iter().all(|flow| flow.status == Status::Finished));
    let bytes: u64 = output.started.iter().map(|flow| flow.bytes).sum();
    assert_eq!(output.flows.iter().map(|flow| flow.bytes_received).sum::<u64>(), bytes);
    let last = output.flows.iter().map(|flow| flow.finish.unwrap()).max().unwrap();
    assert!(output.end >= last && output.end <= last + Span::from_us(3), "{} {}", output.end, last);
}

#[test]
fn a_flow_takes_the_time_of_a_planned_one_and_its_end_is_heard_of_after_the_latency() {
    let lone = Wander { tokens: 1, hops: 1, ..example(4) };
    let with = run(&wander(star(4), &[lone], Vec::new()), &Progress::default()).unwrap();
    let spec = with.started[0].clone();
    let Start::At(start) = spec.start else { unreachable!() };
    assert_eq!(start, Time::from_ns(2_000), "decided on at 0");
    let mut planned = plan(star(4), vec![spec]);
    planned.run.fct_end = FctEnd::LastByte;
    let alone = run(&planned, &Progress::default()).unwrap();
    assert_eq!(with.tasks[0].start, alone.flows[0].finish.unwrap() + Span::from_us(2));
    assert_eq!(with.tasks[0].finish, alone.flows[0].finish);
    assert_eq!(with.counters, alone.counters);
}

#[test]
fn until_done_ends_a_run_that_would_go_on() {
    let endless = flow(0, 0, 5, 1 << 40, Time::ZERO);
    let mut plan = wander(leaf_spine(3, 2, 4), &[example(12)], vec![endless]);
    plan.run.until_done = true;
    let output = run(&plan, &Progress::default()).unwrap();
    let heard = output.tasks.iter().map(|task| task.start).max().unwrap();
    assert_eq!(output.end, heard + Span::from_us(2));
    assert_eq!(output.flows[0].status, Status::Running);
    // The last acknowledgement may still be in flight.
    assert!(
        output
            .started
            .iter()
            .zip(&output.flows[1..])
            .all(|(flow, record)| flow.bytes == record.bytes_received)
    );
}

/// A reader that processes what it reads limits the flow to its rate, through the receive window.
#[test]
fn a_reader_at_work_holds_the_sender_back() {
    let rate = Rate::from_gbps(1);
    let bytes = 30_000_000;
    let with = |rate| {
        let buffer = ReceiveBuffer { initial: Bytes(131_072), most: Bytes(6 << 20), share: 128 };
        let reader = Some(Reader::Worker { chunk: Bytes(65_536), rate });
        let mut plan = wander(star(4), &[Wander { tokens: 1, hops: 1, ..example(4) }], Vec::new());
        plan.transports.push(TransportConfig::Tcp(TcpConfig {
            receive: Receive::Buffer(buffer),
            reader,
            ..linux()
        }));
        plan.applications.as_mut().unwrap().programs =
            vec![Arc::new(Wander { tokens: 1, hops: 1, transport: 1, bytes: 1, ..example(4) })];
        plan.flows = vec![Flow { transport: 1, bytes, ..flow(0, 0, 1, bytes, Time::ZERO) }];
        run(&plan, &Progress::default()).unwrap()
    };
    let slow = with(rate);
    let took = (slow.flows[0].finish.unwrap() - slow.flows[0].start.unwrap()).0;
    let reading = rate.serialize(bytes).0;
    // When the last byte is acknowledged, everything has been read except what fits into the
    // buffer.
    let unread = rate.serialize(6 << 20).0;
    assert!(took <= reading + Span::from_ms(1).0 && took + unread >= reading, "{took} {reading}");
    let fast = with(Rate::from_gbps(400));
    let at_once = fast.flows[0].finish.unwrap().0;
    assert!(at_once < took / 50, "{at_once} {took}");
}
