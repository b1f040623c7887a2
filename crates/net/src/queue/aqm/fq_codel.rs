//! FQ-CoDel (RFC 8290): flows by hash, deficit round robin among them with precedence for new ones, CoDel on each.

use super::{Codel, Control};
use crate::Model;
use crate::balance::ecmp;
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use crate::spec;
use std::collections::VecDeque;

pub struct FqCodel {
    control: Control,
    quantum: i64,
    limit: u32,
    drop_batch: u32,
    perturbation: u32,
    /// By hash: the flow, `NONE` if there never was one. Flows are made when they are first seen.
    buckets: Vec<u32>,
    flows: Vec<FlowQueue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    count: u32,
    /// The frame taken last was dropped: its flow goes on.
    amid: bool,
}

const NONE: u32 = u32::MAX;

struct FlowQueue {
    bucket: u32,
    frames: VecDeque<Waiting>,
    bytes: u64,
    deficit: i64,
    /// In one of the two lists.
    listed: bool,
    codel: Codel,
}

impl FqCodel {
    pub fn new(config: &spec::FqCodel, perturbation: u64) -> Self {
        FqCodel {
            control: Control::new(&config.codel),
            quantum: config.quantum as i64,
            limit: config.limit,
            drop_batch: config.drop_batch,
            perturbation: perturbation as u32,
            buckets: vec![NONE; config.flows as usize],
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            count: 0,
            amid: false,
        }
    }

    fn flow_of(&mut self, hash: u32) -> u32 {
        let bucket = ecmp(hash, self.perturbation, self.buckets.len());
        if self.buckets[bucket] == NONE {
            self.buckets[bucket] = self.flows.len() as u32;
            let codel = Codel::new(self.control);
            self.flows.push(FlowQueue { bucket: bucket as u32, frames: VecDeque::new(), bytes: 0, deficit: 0, listed: false, codel });
        }
        self.buckets[bucket]
    }

    pub fn push(&mut self, waiting: Waiting) -> Vec<Frame> {
        let id = self.flow_of(waiting.frame.hash);
        let flow = &mut self.flows[id as usize];
        flow.bytes += waiting.frame.size as u64;
        flow.frames.push_back(waiting);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(id);
        }
        self.count += 1;
        if self.count > self.limit { self.drop_from_fattest() } else { Vec::new() }
    }

    /// Half of what the flow with the most bytes has, but at most a batch, from its head.
    #[cold]
    fn drop_from_fattest(&mut self) -> Vec<Frame> {
        let fattest = self.flows.iter_mut().max_by_key(|f| (f.bytes, std::cmp::Reverse(f.bucket))).expect("a frame has just come");
        let half = fattest.bytes / 2;
        let mut dropped = Vec::new();
        let mut bytes = 0;
        while let Some(waiting) = fattest.frames.pop_front() {
            bytes += waiting.frame.size as u64;
            dropped.push(waiting.frame);
            if dropped.len() >= self.drop_batch as usize || bytes >= half {
                break;
            }
        }
        fattest.bytes -= bytes;
        fattest.codel.count += dropped.len() as u32;
        self.count -= dropped.len() as u32;
        dropped
    }

    pub fn pull(&mut self, now: u64) -> Option<(Waiting, Verdict)> {
        loop {
            let (is_new, id) = match self.new.front() {
                Some(&id) => (true, id),
                None => (false, *self.old.front()?),
            };
            let list = if is_new { &mut self.new } else { &mut self.old };
            let flow = &mut self.flows[id as usize];
            if flow.deficit <= 0 && !self.amid {
                flow.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(id);
                continue;
            }
            let Some(waiting) = flow.frames.pop_front() else {
                self.amid = false;
                flow.codel.on_empty();
                list.pop_front();
                // A new flow that is empty waits for its turn among the old, lest it jump the queue again and again.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(id);
                } else {
                    flow.listed = false;
                }
                continue;
            };
            let size = waiting.frame.size as u64;
            flow.bytes -= size;
            self.count -= 1;
            let verdict = flow.codel.on_dequeue(now, now.saturating_sub(waiting.ready), flow.bytes, waiting.frame.has(Frame::ECT));
            self.amid = verdict == Verdict::Drop(Reason::Red);
            if !self.amid {
                flow.deficit -= size as i64;
            }
            return Some((waiting, verdict));
        }
    }

    pub fn held(&self) -> impl Iterator<Item = &Waiting> {
        self.flows.iter().flat_map(|flow| &flow.frames)
    }
}

pub const MODEL: Model = Model {
    kind: "queue discipline",
    name: "fq_codel",
    source: "RFC 8290; Linux sch_fq_codel.c",
    faithful: "flows by hash into buckets (two may share one), each port with its own perturbation; deficit round robin by bytes with lists of new and old \
               flows; CoDel per flow; over the limit up to 64 frames, at most half, go from the head of the flow with the most bytes",
    simplified: "CoDel's \"at most a frame left\" looks at the flow (RFC 8289), where Linux looks at the whole discipline; no limit in memory besides the \
                 switch's buffer; one queue per port only",
};

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn discipline(limit: u32) -> FqCodel {
        use afflux_units::Span;
        let codel = spec::Codel { target: Span::from_ms(5), interval: Span::from_ms(100), ecn: false };
        FqCodel::new(&spec::FqCodel { codel, quantum: 1_514, flows: 1_024, limit, drop_batch: 64 }, 7)
    }

    fn waiting(flow: u32, size: u16, seq: u32) -> Waiting {
        Waiting { frame: Frame { flow, hash: flow.wrapping_mul(0x9e37_79b1), size, seq, ..Frame::default() }, ready: 0, clock: 0 }
    }

    /// Bytes are shared equally whatever the frames' sizes, and order within a flow is kept.
    #[test]
    fn bytes_are_shared() {
        let mut fq = discipline(100_000);
        for seq in 0..3_000 {
            assert!(fq.push(waiting(1, 1_500, seq)).is_empty());
            assert!(fq.push(waiting(2, 300, seq)).is_empty());
            assert!(fq.push(waiting(3, 900, seq)).is_empty());
        }
        let (mut sent, mut next) = ([0u64; 4], [0u32; 4]);
        for _ in 0..2_000 {
            let (w, verdict) = fq.pull(US).unwrap();
            assert_eq!((verdict, w.frame.seq), (Verdict::Admit, next[w.frame.flow as usize]));
            next[w.frame.flow as usize] += 1;
            sent[w.frame.flow as usize] += w.frame.size as u64;
        }
        let mean = sent.iter().sum::<u64>() as f64 / 3.0;
        assert!(sent[1..].iter().all(|&bytes| (bytes as f64 - mean).abs() < 3_100.0), "{sent:?}");
    }

    /// A frame of a flow that has been quiet goes before the backlog of the others, but not twice in a row while they wait.
    #[test]
    fn new_flows_first() {
        let mut fq = discipline(100_000);
        for seq in 0..100 {
            (10..15).for_each(|flow| drop(fq.push(waiting(flow, 1_500, seq))));
        }
        (0..20).for_each(|_| {
            fq.pull(US);
        });
        fq.push(waiting(3, 100, 0));
        assert_eq!(fq.pull(US).unwrap().0.frame.flow, 3);
        // It is empty, goes to the end of the old ones, and has no precedence until it has left them: all five come first.
        assert_ne!(fq.pull(US).unwrap().0.frame.flow, 3);
        fq.push(waiting(3, 100, 1));
        let before = std::iter::from_fn(|| fq.pull(US)).position(|(w, _)| w.frame.flow == 3).unwrap();
        assert!((3..=5).contains(&before), "{before}");
    }

    #[test]
    fn the_fattest_flow_pays() {
        let mut fq = discipline(1_000);
        for seq in 0..950 {
            assert!(fq.push(waiting(1, 1_500, seq)).is_empty());
        }
        for seq in 0..50 {
            assert!(fq.push(waiting(2, 1_500, seq)).is_empty());
        }
        let dropped = fq.push(waiting(2, 1_500, 50));
        assert_eq!(dropped.len(), 64);
        assert!(dropped.iter().enumerate().all(|(i, f)| f.flow == 1 && f.seq == i as u32));
        assert_eq!(fq.held().count(), 937);
        // At most half of what it has.
        let mut small = discipline(10);
        (0..10).for_each(|seq| assert!(small.push(waiting(1, 1_500, seq)).is_empty()));
        assert_eq!(small.push(waiting(1, 1_500, 10)).len(), 6);
    }

    #[test]
    fn it_empties() {
        let mut fq = discipline(10_000);
        (0..500).for_each(|i| drop(fq.push(waiting(i % 7, 1_000, i))));
        assert_eq!(std::iter::from_fn(|| fq.pull(US)).count(), 500);
        assert!(fq.pull(US).is_none() && fq.new.is_empty() && fq.old.is_empty() && fq.count == 0);
    }
}
