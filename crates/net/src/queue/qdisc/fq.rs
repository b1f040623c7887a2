//! Linux's fq: a queue per flow, deficit round robin among them with precedence for new flows.
//! Pacing is up to the sender.

use crate::Model;
use crate::frame::Frame;
use crate::queue::aqm::{About, Policy, Site};
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use crate::spec::Limit;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Size, keys};
use afflux_engine::random::Stream;
use afflux_units::Span;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

keys! {
    /// Parameters of fq.
    pub struct Keys as "Fq" => FqConfig {
        /// Most frames of all flows together. Further frames are dropped.
        limit: u32 = 10_000 from "sch_fq.c", in 1 to 1_000_000_000 as "a whole number from 1 to 1000000000";
        /// Most frames of one flow. Further frames are dropped.
        flow_limit: u32 = 100 from "sch_fq.c", in 1 to 1_000_000_000 as "a whole number from 1 to 1000000000";
        /// Bytes that a flow sends per turn: two packets of `host.mtu`, each with 14 B of Ethernet
        /// header (`psched_mtu`).
        quantum: Size as u32 = "3028B" from "sch_fq.c: two frames", check bytes;
        /// Bytes that a new flow may send in its first turn: ten packets of `host.mtu`, each with
        /// 14 B of Ethernet header. A flow that has been idle for 40 ms may send at least `quantum`.
        initial_quantum: Size as u32 = "15140B" from "sch_fq.c: ten frames", check bytes;
    }
}

fn bytes(Size(size): Size, at: Key) -> Result<u32, Wrong> {
    match size.0 {
        bytes @ 64..=10_000_000 => Ok(bytes as u32),
        _ => Err(Wrong::at(at, format!("\"{size}\": write a size from 64B to 10MB"))),
    }
}

/// Idle time after which a flow receives new credit.
const REFILL: Span = Span::from_ms(40);
/// Idle time after which a flow may be forgotten, and counts as new again (FQ_GC_AGE).
const FORGOTTEN: Span = Span::from_s(3);

pub struct Fq {
    limit: u32,
    flow_limit: u32,
    quantum: i64,
    initial: i64,
    /// Places in `flows`.
    known: FxHashMap<FlowKey, u32>,
    flows: Vec<FlowQueue>,
    free: Vec<u32>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    count: u32,
}

struct FlowQueue {
    key: FlowKey,
    frames: VecDeque<Waiting>,
    bytes: u64,
    credit: i64,
    /// True if the flow is in `new` or in `old`. Otherwise `idle` is the time in ps since which it
    /// has been idle.
    listed: bool,
    idle: u64,
}

/// Key of a queue: flow, destination, which all frames of one direction have in common, and hash,
/// which tells apart the subflows of MPTCP.
type FlowKey = (u32, u32, u32);

fn key(frame: &Frame, hash: u32) -> FlowKey {
    (frame.flow, frame.dst, hash)
}

impl Fq {
    fn flow_of(&mut self, key: FlowKey, now: u64) -> u32 {
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        if self.known.len() >= 256 && self.known.len() >= 2 * (self.new.len() + self.old.len()) {
            self.forget(now);
        }
        let fresh = FlowQueue {
            key,
            frames: VecDeque::new(),
            bytes: 0,
            credit: self.initial,
            listed: false,
            idle: now,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.flows[id as usize] = fresh;
                id
            }
            None => {
                self.flows.push(fresh);
                self.flows.len() as u32 - 1
            }
        };
        self.known.insert(key, id);
        id
    }

    /// Forgets flows that have been idle for long.
    #[cold]
    fn forget(&mut self, now: u64) {
        for (id, flow) in self
            .flows
            .iter()
            .enumerate()
            .filter(|(_, flow)| !flow.listed && now >= flow.idle + FORGOTTEN.0)
        {
            if self.known.get(&flow.key) == Some(&(id as u32)) {
                self.known.remove(&flow.key);
                self.free.push(id as u32);
            }
        }
    }
}

impl Policy for Fq {
    type Config = FqConfig;
    fn new(config: &FqConfig, _: Site, _: &mut Stream) -> Self {
        Fq {
            limit: config.limit,
            flow_limit: config.flow_limit,
            quantum: config.quantum.into(),
            initial: config.initial_quantum.into(),
            known: FxHashMap::default(),
            flows: Vec::new(),
            free: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            count: 0,
        }
    }
    fn about(config: &FqConfig) -> About {
        About { limit: Some(Limit::Packets(config.limit)), ..About::of(MODEL) }
    }
    fn push_as(
        &mut self,
        _: &mut VecDeque<Waiting>,
        waiting: Waiting,
        hash: u32,
        _: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        let full = self.count >= self.limit;
        let id = self.flow_of(key(&waiting.frame, hash), waiting.ready);
        let flow = &mut self.flows[id as usize];
        if full || flow.frames.len() >= self.flow_limit as usize {
            return vec![(waiting.frame, Verdict::Drop(Reason::Buffer))];
        }
        if !flow.listed {
            flow.listed = true;
            if waiting.ready >= flow.idle + REFILL.0 {
                flow.credit = flow.credit.max(self.quantum);
            }
            self.new.push_back(id);
        }
        flow.bytes += u64::from(waiting.frame.size);
        flow.frames.push_back(waiting);
        self.count += 1;
        Vec::new()
    }

    fn pull(&mut self, _: &mut VecDeque<Waiting>, now: u64, _: u64) -> Option<(Waiting, Verdict)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let id = *list.front()?;
            let flow = &mut self.flows[id as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop_front();
                self.old.push_back(id);
                continue;
            }
            let Some(waiting) = flow.frames.pop_front() else {
                list.pop_front();
                // An empty new flow joins the old flows. Otherwise it could take precedence again
                // with every new frame.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(id);
                } else {
                    (flow.listed, flow.idle) = (false, now);
                }
                continue;
            };
            flow.bytes -= u64::from(waiting.frame.size);
            flow.credit -= i64::from(waiting.frame.size);
            self.count -= 1;
            return Some((waiting, Verdict::Admit));
        }
    }

    fn held(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        Box::new(self.flows.iter().flat_map(|flow| &flow.frames))
    }

    fn bytes_before(&self, bytes: u64, frame: &Frame, hash: u32) -> u64 {
        let own = self.known.get(&key(frame, hash)).map_or(0, |&id| self.flows[id as usize].bytes);
        let active = (self.new.len() + self.old.len()) as u64;
        if own <= self.initial as u64 { own } else { (own * active).min(bytes) }
    }
}

pub const MODEL: Model = Model {
    kind: "queueing discipline of hosts",
    name: "fq",
    source: "Linux sch_fq.c",
    faithful: "a queue for each direction of each flow, deficit round robin with lists of new and old flows, the first credit of new flows, limits of a flow and of all",
    simplified: "pacing is the sender's own; no bands, no horizon, no threshold for marks; flows that share a connection have queues of their own",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn fq() -> Fq {
        Fq::new(
            &Keys::default().resolve(&"host.qdisc".into()).unwrap(),
            Site::default(),
            &mut Stream::new(1, 1, 1),
        )
    }

    fn push(fq: &mut Fq, flow: u32, seq: u32, ready: u64) -> usize {
        let frame = Frame { flow, size: 1_514, seq, ..Frame::default() };
        let waiting = Waiting { frame, ready, clock: 0 };
        fq.push_as(&mut VecDeque::new(), waiting, 0, &mut Stream::new(1, 1, 1)).len()
    }

    fn pull(fq: &mut Fq) -> Option<(u32, u32)> {
        fq.pull(&mut VecDeque::new(), 1, 0)
            .map(|(waiting, _)| (waiting.frame.flow, waiting.frame.seq))
    }

    /// A flow sends ten frames in its first turn, then two per turn. A flow that arrives later goes
    /// first.
    #[test]
    fn flows_take_turns() {
        let mut fq = fq();
        (0..14).for_each(|seq| assert_eq!(push(&mut fq, 1, seq, 0) + push(&mut fq, 2, seq, 0), 0));
        let order: Vec<u32> = (0..22).map(|_| pull(&mut fq).unwrap().0).collect();
        assert_eq!(order, [vec![1; 10], vec![2; 10], vec![1; 2]].concat());
        push(&mut fq, 3, 0, 0);
        assert_eq!(pull(&mut fq), Some((3, 0)));
        assert_eq!(
            (pull(&mut fq), pull(&mut fq), pull(&mut fq)),
            (Some((2, 10)), Some((2, 11)), Some((1, 12)))
        );
        assert_eq!((0..10).filter_map(|_| pull(&mut fq)).count(), 3);
        assert!(fq.count == 0 && fq.held().count() == 0);
    }

    /// The subflows of an MPTCP connection differ in their hashes.
    #[test]
    fn each_subflow_has_its_queue() {
        let mut fq = fq();
        let mut dropped = |hash: u32| {
            let frame = Frame { flow: 1, hash, size: 1_514, ..Frame::default() };
            let waiting = Waiting { frame, ready: 0, clock: 0 };
            fq.push_as(&mut VecDeque::new(), waiting, hash, &mut Stream::new(1, 1, 1)).len()
        };
        assert_eq!((0..200).map(|turn| dropped(turn % 2)).sum::<usize>(), 0);
        assert_eq!((dropped(0), dropped(1), dropped(2)), (1, 1, 0));
    }

    #[test]
    fn a_flow_has_a_limit() {
        let mut fq = fq();
        assert_eq!((0..130).map(|seq| push(&mut fq, 1, seq, 0)).sum::<usize>(), 30);
        assert_eq!(push(&mut fq, 2, 0, 0), 0);
        assert_eq!((fq.count, fq.held().count()), (101, 101));
    }

    /// A flow that returns after 40 ms may send two frames per turn, however many other flows there
    /// are. A flow that returns after three seconds is new.
    #[test]
    fn an_idle_flow_is_not_new() {
        for others in [1, 1_000] {
            let mut fq = fq();
            let turn = |fq: &mut Fq, now: u64| {
                (0..12).for_each(|seq| assert_eq!(push(fq, 0, seq, now), 0));
                assert_eq!(push(fq, u32::MAX, 0, now), 0);
                let sent = (0..13).take_while(|_| pull(fq).unwrap().0 == 0).count();
                while pull(fq).is_some() {}
                sent
            };
            assert_eq!(turn(&mut fq, 0), 10);
            (1..=others).for_each(|flow| assert_eq!(push(&mut fq, flow, 0, 1), 0));
            while pull(&mut fq).is_some() {}
            assert_eq!(turn(&mut fq, 2 * REFILL.0), 2);
        }
    }

    #[test]
    fn flows_that_were_idle_are_forgotten() {
        let mut fq = fq();
        for flow in 0..10_000 {
            push(&mut fq, flow, 0, u64::from(flow) * REFILL.0);
            assert_eq!((pull(&mut fq), pull(&mut fq)), (Some((flow, 0)), None));
        }
        assert!(fq.known.len() < 300 && fq.flows.len() < 300);
    }
}
