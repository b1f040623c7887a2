//! Small network for tests: senders with pacing and a scoreboard in front of one link with a queue.

use super::super::{Ack, Control, Controller, SampleContext, Sampler, State, Window};
use crate::spec::CongestionControl;
use afflux_engine::random::Stream;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub const MS: u64 = 1_000_000_000;
pub const MSS: u32 = 1448;
const FRAME_BITS: u64 = 1514 * 8;

pub struct Path {
    /// Rate of the link in bit/s on the wire.
    pub rate: u64,
    /// Round trip in ps without queue and transmission.
    pub rtt: u64,
    /// Frames that the link holds, including the one in transmission.
    pub buffer: u64,
    /// Frames lost at random, per million.
    pub loss: u64,
    /// Number of queued frames from which a frame is marked.
    pub mark: Option<u64>,
    /// Delayed acknowledgements: every second segment is acknowledged, or each after this time in
    /// ps.
    pub delayed: Option<u64>,
    /// A policer: frames per second, and its burst in frames.
    pub police: Option<(u64, f64)>,
    /// Acknowledgements arrive only at multiples of this time in ps.
    pub hold: u64,
}

impl Path {
    pub fn new(rate: u64, rtt: u64, buffer: u64) -> Self {
        Path { rate, rtt, buffer, loss: 0, mark: None, delayed: None, police: None, hold: 1 }
    }
    pub fn frame(&self) -> u64 {
        FRAME_BITS * 1_000_000_000_000 / self.rate
    }
    /// Returns the number of frames in the pipe.
    pub fn product(&self) -> f64 {
        (self.rtt + self.frame()) as f64 / self.frame() as f64
    }
}

#[derive(Clone, Copy, Default)]
struct Segment {
    sent: u64,
    order: u32,
    again: bool,
    delivered: bool,
    lost: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Ack { seq: u32, marked: bool },
    Held { seq: u32 },
    Pace,
    Timer,
}

pub struct Flow {
    pub control: Control,
    pub window: Window,
    sampler: Sampler,
    segments: Vec<Segment>,
    order: VecDeque<(u32, u32)>,
    resend: VecDeque<u32>,
    una: u32,
    sent: u32,
    pub in_flight: u32,
    state: State,
    high: u32,
    min_rtt: u64,
    next_send: u64,
    burst: u32,
    expected: u32,
    held: Option<u32>,
    pacing: bool,
    limited: bool,
    limited_until: u32,
    most_out: u32,
    last_ack: u64,
    pub delivered: u64,
    pub lost: u64,
    pub timeouts: u64,
}

impl Flow {
    fn enter(&mut self, state: State, now: u64) {
        self.state = state;
        self.high = self.segments.len() as u32;
        self.control.on_state(state, &mut self.window, now);
    }
}

/// State at an acknowledgement.
pub struct Seen {
    pub now: u64,
    pub flow: usize,
    /// Name of the sender's state, as the test defines it.
    pub label: u8,
    /// Frames in the queue and in transmission.
    pub queue: f64,
    pub in_flight: u32,
    pub delivered: u64,
}

pub struct Network {
    pub path: Path,
    pub flows: Vec<Flow>,
    pub seen: Vec<Seen>,
    free_at: u64,
    tokens: (u64, f64),
    events: BinaryHeap<Reverse<(u64, u64, usize, Event)>>,
    count: u64,
    random: Stream,
    now: u64,
}

impl Network {
    pub fn new(path: Path, config: &CongestionControl, flows: usize, seed: u64) -> Self {
        let mut network = Network {
            path,
            flows: Vec::new(),
            seen: Vec::new(),
            free_at: 0,
            tokens: (0, 0.0),
            events: BinaryHeap::new(),
            count: 0,
            random: Stream::new(seed, 1, 0),
            now: 0,
        };
        for flow in 0..flows {
            network.flows.push(Flow {
                control: Control::new(config, MSS, 10, Stream::new(seed, 2, flow as u64)),
                window: Window { cwnd: 10, credit: 0, ssthresh: u32::MAX, limit: u32::MAX },
                sampler: Sampler::default(),
                segments: Vec::new(),
                order: VecDeque::new(),
                resend: VecDeque::new(),
                una: 0,
                sent: 0,
                in_flight: 0,
                state: State::Open,
                high: 0,
                min_rtt: 0,
                next_send: 0,
                burst: 0,
                expected: 0,
                held: None,
                pacing: false,
                limited: false,
                limited_until: 0,
                most_out: 0,
                last_ack: 0,
                delivered: 0,
                lost: 0,
                timeouts: 0,
            });
            network.at(0, flow, Event::Pace);
            network.at(1000 * MS, flow, Event::Timer);
        }
        network
    }

    fn at(&mut self, time: u64, flow: usize, event: Event) {
        self.count += 1;
        self.events.push(Reverse((time, self.count, flow, event)));
    }

    /// Runs the network until `until` (ps).
    pub fn run(&mut self, until: u64, label: fn(&Control) -> u8) {
        while let Some(&Reverse((now, _, flow, event))) = self.events.peek()
            && now <= until
        {
            self.events.pop();
            self.now = now;
            match event {
                Event::Ack { seq, marked } => {
                    let next = &mut self.flows[flow];
                    let in_order =
                        seq == next.expected && next.una + next.held.is_some() as u32 == seq;
                    next.expected = next.expected.max(seq + 1);
                    if let Some(timeout) = self.path.delayed
                        && in_order
                        && next.held.is_none()
                    {
                        next.held = Some(seq);
                        self.at(now + timeout, flow, Event::Held { seq });
                        continue;
                    }
                    match next.held.take() {
                        Some(held) => self.on_ack(flow, &[held, seq], marked),
                        None => self.on_ack(flow, &[seq], marked),
                    }
                    let seen = &self.flows[flow];
                    let queue = self.free_at.saturating_sub(now) as f64 / self.path.frame() as f64;
                    let seen = Seen {
                        now,
                        flow,
                        label: label(&seen.control),
                        queue,
                        in_flight: seen.in_flight,
                        delivered: seen.delivered,
                    };
                    self.seen.push(seen);
                }
                Event::Held { seq } => {
                    if self.flows[flow].held == Some(seq) {
                        self.flows[flow].held = None;
                        self.on_ack(flow, &[seq], false);
                    }
                }
                Event::Pace => self.flows[flow].pacing = false,
                Event::Timer => self.on_timer(flow),
            }
            self.send(flow);
        }
        self.now = until;
    }

    fn on_timer(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        if now >= flow.last_ack + 1000 * MS {
            flow.timeouts += 1;
            flow.window.ssthresh = flow.control.on_loss(&flow.window, now);
            flow.window.cwnd = 1;
            flow.resend.clear();
            flow.order.clear();
            for seq in flow.una..flow.segments.len() as u32 {
                let segment = &mut flow.segments[seq as usize];
                if !segment.delivered {
                    if !segment.lost {
                        segment.lost = true;
                        let lost = flow.sampler.on_lost(seq);
                        flow.control.on_segment_lost(&flow.window, now, &lost, &flow.sampler);
                    }
                    flow.resend.push_back(seq);
                }
            }
            flow.in_flight = 0;
            flow.enter(State::Loss, now);
            flow.last_ack = now;
        }
        let next = self.flows[index].last_ack + 1000 * MS;
        self.at(next, index, Event::Timer);
    }

    fn on_ack(&mut self, index: usize, seqs: &[u32], marked: bool) {
        let now = self.now;
        let flow = &mut self.flows[index];
        flow.last_ack = now;
        flow.sampler.begin(flow.in_flight);
        let before = flow.una;
        let mut ack = Ack { now, ece: marked, ..Ack::default() };
        let mut newest = 0;
        for &seq in seqs {
            let segment = &mut flow.segments[seq as usize];
            newest = newest.max(segment.order);
            if !segment.delivered {
                segment.delivered = true;
                flow.in_flight -= !segment.lost as u32;
                ack.delivered += 1;
                flow.delivered += 1;
                flow.sampler.on_delivered(seq, segment.sent);
                if !segment.again {
                    ack.rtt = now - segment.sent;
                    flow.min_rtt =
                        if flow.min_rtt == 0 { ack.rtt } else { flow.min_rtt.min(ack.rtt) };
                }
            }
        }
        while flow.segments.get(flow.una as usize).is_some_and(|segment| segment.delivered) {
            flow.una += 1;
        }
        ack.acked = flow.una - before;
        // A segment is lost if one sent three transmissions later has arrived.
        while let Some(&(order, seq)) = flow.order.front()
            && order + 3 <= newest
        {
            flow.order.pop_front();
            let segment = &mut flow.segments[seq as usize];
            if !segment.delivered && !segment.lost && segment.order == order {
                segment.lost = true;
                flow.in_flight -= 1;
                flow.lost += 1;
                flow.resend.push_back(seq);
                let lost = flow.sampler.on_lost(seq);
                flow.control.on_segment_lost(&flow.window, now, &lost, &flow.sampler);
            }
        }
        if flow.state != State::Open
            && (flow.una > flow.high || flow.una == flow.high && flow.state != State::Reduced)
        {
            flow.state = State::Open;
            flow.control.on_state(State::Open, &mut flow.window, now);
        }
        if flow.state == State::Open && marked {
            flow.window.ssthresh = flow.control.on_ecn(&flow.window, now);
            flow.enter(State::Reduced, now);
        }
        if matches!(flow.state, State::Open | State::Reduced) && !flow.resend.is_empty() {
            flow.window.ssthresh = flow.control.on_loss(&flow.window, now);
            flow.enter(State::Recovery, now);
        }
        ack.state = flow.state;
        ack.una = flow.una;
        ack.next = flow.segments.len() as u32;
        let context = SampleContext {
            now,
            in_flight: flow.in_flight,
            min_rtt: flow.min_rtt,
            ece: marked,
            next_send: flow.next_send,
            window_limited: flow.limited,
        };
        let sample = flow.sampler.end(&context);
        flow.control.on_sample(&mut flow.window, &ack, &sample, &mut flow.sampler);
    }

    fn send(&mut self, index: usize) {
        loop {
            let now = self.now;
            let frame = self.path.frame();
            let flow = &mut self.flows[index];
            let out = flow.segments.len() as u32 - flow.una;
            let limited = flow.in_flight >= flow.window.cwnd;
            if limited || flow.una >= flow.limited_until || (!flow.limited && out > flow.most_out) {
                flow.limited = limited;
                flow.most_out = out;
                flow.limited_until = flow.segments.len() as u32;
            }
            if limited {
                return;
            }
            if now >= flow.next_send {
                flow.burst = flow.control.burst();
            } else if flow.burst == 0 {
                if !flow.pacing {
                    flow.pacing = true;
                    let at = flow.next_send;
                    self.at(at, index, Event::Pace);
                }
                return;
            }
            let next = flow.segments.len() as u32;
            let again = flow.resend.iter().position(|&seq| !flow.segments[seq as usize].delivered);
            let seq = again.map_or(next, |found| flow.resend[found]);
            flow.resend.drain(..again.map_or(flow.resend.len(), |found| found + 1));
            flow.sampler.on_send(seq, now, flow.una, next, flow.in_flight);
            if seq == next {
                flow.segments.push(Segment::default());
            }
            flow.segments[seq as usize] =
                Segment { sent: now, order: flow.sent, again: seq < next, ..Segment::default() };
            flow.order.push_back((flow.sent, seq));
            flow.sent += 1;
            flow.in_flight += 1;
            flow.burst -= 1;
            // As in Linux, the first ten segments are not paced, and a late sender may catch up by
            // half of a gap.
            let mut gap = 0;
            if flow.sent > 10 {
                gap = MSS as u64 * 8 * 1_000_000_000_000 / flow.control.pacing_rate().unwrap();
                gap -= (gap / 2).min(now.saturating_sub(flow.next_send));
            }
            flow.next_send = now.max(flow.next_send) + gap;
            let queue = self.free_at.saturating_sub(now).div_ceil(frame);
            if let Some((rate, burst)) = self.path.police {
                let grown = self.tokens.1 + rate as f64 * (now - self.tokens.0) as f64 / 1e12;
                self.tokens = (now, grown.min(burst));
                if self.tokens.1 < 1.0 {
                    continue;
                }
                self.tokens.1 -= 1.0;
            }
            if queue >= self.path.buffer || self.random.below(1_000_000) < self.path.loss {
                continue;
            }
            self.free_at = self.free_at.max(now) + frame;
            let at = (self.free_at + self.path.rtt).next_multiple_of(self.path.hold);
            let marked = self.path.mark.is_some_and(|mark| queue >= mark);
            self.at(at, index, Event::Ack { seq, marked });
        }
    }

    /// Returns the segments per second of a flow between two times, as a fraction of the link's
    /// capacity.
    pub fn share(&self, flow: usize, from: u64, to: u64) -> f64 {
        let delivered = |time: u64| {
            self.seen
                .iter()
                .rev()
                .find(|seen| seen.flow == flow && seen.now <= time)
                .map_or(0, |seen| seen.delivered)
        };
        (delivered(to) - delivered(from)) as f64 * self.path.frame() as f64 / (to - from) as f64
    }

    /// Returns the times at which `label` was entered and left.
    pub fn stays(&self, label: u8) -> Vec<(u64, u64)> {
        let mut stays: Vec<(u64, u64)> = Vec::new();
        let mut inside = false;
        for seen in &self.seen {
            match (inside, seen.label == label) {
                (false, true) => stays.push((seen.now, u64::MAX)),
                (true, false) => stays.last_mut().unwrap().1 = seen.now,
                _ => {}
            }
            inside = seen.label == label;
        }
        stays
    }
}
