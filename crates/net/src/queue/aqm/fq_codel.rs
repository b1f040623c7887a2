//! FQ-CoDel (RFC 8290): hashes flows into buckets, serves them by deficit round robin with
//! precedence for new flows, and runs CoDel on each.

use super::codel::{Codel, CodelConfig, target_in_interval};
use super::policy::{About, Policy, Site, take_class, up_to_1000_s};
use crate::Model;
use crate::balance::ecmp;
use crate::frame::Frame;
use crate::queue::waiting::Waiting;
use crate::queue::{Reason, Verdict};
use crate::spec::Limit;
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Size, keys};
use afflux_engine::random::Stream;
use std::collections::VecDeque;

keys! {
    /// Parameters of FQ-CoDel.
    pub struct Keys as "FqCodel" => FqCodelConfig {
        /// Delay that the CoDel of each flow aims at.
        target: Duration = "5ms" from "RFC 8290", check up_to_1000_s;
        /// Time for which the delay must have exceeded the target before frames are dropped or
        /// marked.
        interval: Duration = "100ms" from "RFC 8290", check up_to_1000_s;
        /// Whether ECN-capable frames are marked instead of dropped.
        ecn: bool = true from "RFC 8290";
        /// Bytes that a flow sends per turn. Where `host.qdisc` leaves it out: a packet of `host.mtu`
        /// with 14 B of Ethernet header (`psched_mtu`).
        quantum: Size as u32 = "1514B", check |Size(size), at| match size.0 {
            bytes @ 64..=1_000_000 => Ok(bytes as u32),
            _ => Err(Wrong::at(at, format!("\"{size}\": write a size from 64B to 1MB"))),
        };
        /// Number of buckets that flows are hashed into.
        flows: u32 = 1024, in 1 to 65_536 as "a whole number from 1 to 65536";
        /// Most frames of all flows together. Above it, the flow with the most bytes loses frames.
        /// The buffer, which drops arriving frames, should be larger.
        limit: u32 = 10_240, in 1 to 1_000_000_000 as "a whole number from 1 to 1000000000";
        /// Most frames that a flow loses at once. It stops losing frames earlier if half of its
        /// bytes are gone.
        drop_batch: u32 = 64, in 1 to 1_000_000 as "a whole number from 1 to 1000000";
    }
    check |parsed, at| target_in_interval(parsed.target, parsed.interval, at);
}

pub struct FqCodel {
    control: CodelConfig,
    frame: u64,
    quantum: i64,
    limit: u32,
    drop_batch: u32,
    perturbation: u32,
    /// Flow of each hash bucket, `NONE` if the bucket never had a frame. The table is allocated
    /// with the first flow, and each flow with its first frame.
    buckets: Vec<u32>,
    bucket_count: u32,
    flows: Vec<FlowQueue>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Frame lists of flows that have become empty, for reuse by the next flow. Memory thus grows
    /// with the number of flows that are backlogged at the same time.
    spare: Vec<VecDeque<Waiting>>,
    count: u32,
    /// Flow whose head frame CoDel has just dropped. The next `pull` continues with it.
    amid: Option<u32>,
}

const NONE: u32 = u32::MAX;

struct FlowQueue {
    bucket: u32,
    frames: VecDeque<Waiting>,
    bytes: u64,
    deficit: i64,
    /// True if the flow is in `new` or in `old`.
    listed: bool,
    codel: Codel,
}

impl FqCodel {
    fn flow_of(&mut self, hash: u32) -> u32 {
        if self.buckets.is_empty() {
            self.buckets = vec![NONE; self.bucket_count as usize];
        }
        let bucket = ecmp(hash, self.perturbation, self.buckets.len());
        if self.buckets[bucket] == NONE {
            self.buckets[bucket] = self.flows.len() as u32;
            let codel = Codel::under(self.control.clone(), self.frame);
            self.flows.push(FlowQueue {
                bucket: bucket as u32,
                frames: VecDeque::new(),
                bytes: 0,
                deficit: 0,
                listed: false,
                codel,
            });
        }
        self.buckets[bucket]
    }

    /// Drops frames at the head of the flow with the most bytes until half of its bytes or
    /// `drop_batch` frames are gone.
    #[cold]
    fn drop_from_fattest(&mut self) -> Vec<(Frame, Verdict)> {
        let fattest = self
            .flows
            .iter_mut()
            .max_by_key(|f| (f.bytes, std::cmp::Reverse(f.bucket)))
            .expect("a frame has just come");
        let half = fattest.bytes / 2;
        let mut dropped = Vec::new();
        let mut bytes = 0;
        while let Some(waiting) = fattest.frames.pop_front() {
            bytes += waiting.frame.size as u64;
            dropped.push((waiting.frame, Verdict::Drop(Reason::Buffer)));
            if dropped.len() >= self.drop_batch as usize || bytes >= half {
                break;
            }
        }
        fattest.bytes -= bytes;
        fattest.codel.count += dropped.len() as u32;
        self.count -= dropped.len() as u32;
        dropped
    }

    /// Returns the first flow in round-robin order that is empty or whose head frame may leave, as
    /// its place in the list of new flows (`true`) or of old flows (`false`).
    #[inline(always)]
    fn first_of(&self, may: &impl Fn(u8) -> bool) -> Option<(bool, usize)> {
        let free = |id: &u32| {
            self.flows[*id as usize].frames.front().is_none_or(|head| may(head.frame.priority()))
        };
        let new = self.new.iter().position(free).map(|place| (true, place));
        new.or_else(|| self.old.iter().position(free).map(|place| (false, place)))
    }

    #[inline(always)]
    fn pull_from(&mut self, now: u64, may: impl Fn(u8) -> bool) -> Option<(Waiting, Verdict)> {
        loop {
            let (is_new, place) = self.first_of(&may)?;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let id = list[place];
            let flow = &mut self.flows[id as usize];
            if flow.deficit <= 0 && self.amid != Some(id) {
                flow.deficit += self.quantum;
                // The only flow of the old list stays where it is.
                if is_new || list.len() > 1 {
                    take(list, place);
                    self.old.push_back(id);
                }
                continue;
            }
            self.amid = None;
            let Some(waiting) = flow.frames.pop_front() else {
                flow.codel.on_empty();
                take(list, place);
                // An empty new flow joins the end of the old flows. Otherwise it could take
                // precedence again with every new frame.
                if is_new && !self.old.is_empty() {
                    self.old.push_back(id);
                } else {
                    flow.listed = false;
                    self.spare.push(std::mem::take(&mut flow.frames));
                }
                continue;
            };
            let size = waiting.frame.size as u64;
            flow.bytes -= size;
            self.count -= 1;
            let verdict = flow.codel.on_dequeue(
                now,
                now.saturating_sub(waiting.ready),
                flow.bytes,
                waiting.frame.has(Frame::ECT),
            );
            if verdict == Verdict::Drop(Reason::Red) {
                self.amid = Some(id);
            } else {
                flow.deficit -= size as i64;
            }
            return Some((waiting, verdict));
        }
    }
}

/// Removes a flow from a list. It is nearly always the first.
#[inline(always)]
fn take(list: &mut VecDeque<u32>, place: usize) {
    if place == 0 {
        list.pop_front();
    } else {
        list.remove(place);
    }
}

impl Policy for FqCodel {
    type Config = FqCodelConfig;
    fn new(config: &FqCodelConfig, site: Site, stream: &mut Stream) -> Self {
        FqCodel {
            control: CodelConfig {
                target: config.target,
                interval: config.interval,
                ecn: config.ecn,
            },
            frame: site.frame,
            quantum: config.quantum as i64,
            limit: config.limit,
            drop_batch: config.drop_batch,
            perturbation: stream.next_u64() as u32,
            buckets: Vec::new(),
            bucket_count: config.flows,
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            spare: Vec::new(),
            count: 0,
            amid: None,
        }
    }
    fn about(config: &FqCodelConfig) -> About {
        let (limit, memory) = (Some(Limit::Packets(config.limit)), config.flows as u64 * 64);
        About { marks: config.ecn, alone: true, hashes: true, limit, memory, ..About::of(MODEL) }
    }
    fn push(
        &mut self,
        frames: &mut VecDeque<Waiting>,
        waiting: Waiting,
        stream: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        self.push_as(frames, waiting, waiting.frame.hash, stream)
    }

    fn push_as(
        &mut self,
        _: &mut VecDeque<Waiting>,
        waiting: Waiting,
        hash: u32,
        _: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
        let id = self.flow_of(hash);
        let flow = &mut self.flows[id as usize];
        flow.bytes += waiting.frame.size as u64;
        if !flow.listed {
            flow.frames = self.spare.pop().unwrap_or_default();
            flow.listed = true;
            flow.deficit = self.quantum;
            self.new.push_back(id);
        }
        flow.frames.push_back(waiting);
        self.count += 1;
        if self.count > self.limit { self.drop_from_fattest() } else { Vec::new() }
    }

    fn pull(&mut self, _: &mut VecDeque<Waiting>, now: u64, _: u64) -> Option<(Waiting, Verdict)> {
        self.pull_from(now, |_| true)
    }

    /// Skips flows whose head frame may not leave. They keep their places and deficits.
    fn pull_of(
        &mut self,
        _: &mut VecDeque<Waiting>,
        now: u64,
        _: u64,
        may: &dyn Fn(u8) -> bool,
    ) -> Option<(Waiting, Verdict)> {
        self.pull_from(now, may)
    }

    fn earliest(&self, _: &VecDeque<Waiting>, from: &dyn Fn(u8) -> u64) -> u64 {
        let heads = self.flows.iter().filter_map(|flow| flow.frames.front());
        heads.map(|head| from(head.frame.priority())).min().unwrap_or(u64::MAX)
    }

    fn purge(&mut self, _: &mut VecDeque<Waiting>, _now: u64, class: u8) -> Vec<Frame> {
        let mut purged = Vec::new();
        for flow in &mut self.flows {
            let taken = take_class(&mut flow.frames, class);
            flow.bytes -= taken.iter().map(|frame| u64::from(frame.size)).sum::<u64>();
            self.count -= taken.len() as u32;
            purged.extend(taken);
        }
        purged
    }

    fn bytes_before(&self, bytes: u64, _: &Frame, hash: u32) -> u64 {
        let bucket = ecmp(hash, self.perturbation, self.bucket_count as usize);
        let own = self
            .buckets
            .get(bucket)
            .filter(|id| **id != NONE)
            .map_or(0, |&id| self.flows[id as usize].bytes);
        let active = (self.new.len() + self.old.len()) as u64;
        if own <= self.quantum as u64 { own } else { (own * active).min(bytes) }
    }

    fn held(&self) -> Box<dyn Iterator<Item = &Waiting> + '_> {
        Box::new(self.flows.iter().flat_map(|flow| &flow.frames))
    }
}

pub const MODEL: Model = Model {
    kind: "queue discipline",
    name: "fq_codel",
    source: "RFC 8290; Linux sch_fq_codel.c",
    faithful: "flows by hash into buckets (two may share one), each port with its own perturbation; deficit round robin by bytes with lists of new and \
               old flows; CoDel per flow; above the limit it drops up to 64 frames, or until half of its bytes are gone, at the head of the flow with the most bytes",
    simplified: "CoDel's \"at most a frame left\" refers to the flow (RFC 8289), in Linux to the whole discipline; the switch's buffer is the only limit \
                 in bytes; one queue per port only",
};

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000_000;

    fn discipline(limit: u32) -> FqCodel {
        use afflux_units::Span;
        let (target, interval) = (Span::from_ms(5), Span::from_ms(100));
        FqCodel::new(
            &FqCodelConfig {
                target,
                interval,
                ecn: false,
                quantum: 1_514,
                flows: 1_024,
                limit,
                drop_batch: 64,
            },
            Site { frame: 1_514, ..Site::default() },
            &mut Stream::new(1, 1, 1),
        )
    }

    /// The port's own queue: no frame of this discipline waits there.
    fn none() -> VecDeque<Waiting> {
        VecDeque::new()
    }

    fn push(fq: &mut FqCodel, waiting: Waiting) -> Vec<(Frame, Verdict)> {
        fq.push(&mut none(), waiting, &mut Stream::new(1, 1, 1))
    }

    fn waiting(flow: u32, size: u16, seq: u32) -> Waiting {
        Waiting {
            frame: Frame {
                flow,
                hash: flow.wrapping_mul(0x9e37_79b1),
                size,
                seq,
                ..Frame::default()
            },
            ready: 0,
            clock: 0,
        }
    }

    /// Flows share bytes equally whatever the sizes of their frames, and frames of a flow stay in
    /// order.
    #[test]
    fn bytes_are_shared() {
        let mut fq = discipline(100_000);
        for seq in 0..3_000 {
            assert!(push(&mut fq, waiting(1, 1_500, seq)).is_empty());
            assert!(push(&mut fq, waiting(2, 300, seq)).is_empty());
            assert!(push(&mut fq, waiting(3, 900, seq)).is_empty());
        }
        let (mut sent, mut next) = ([0u64; 4], [0u32; 4]);
        for _ in 0..2_000 {
            let (w, verdict) = fq.pull(&mut none(), US, 0).unwrap();
            assert_eq!((verdict, w.frame.seq), (Verdict::Admit, next[w.frame.flow as usize]));
            next[w.frame.flow as usize] += 1;
            sent[w.frame.flow as usize] += w.frame.size as u64;
        }
        let mean = sent.iter().sum::<u64>() as f64 / 3.0;
        assert!(sent[1..].iter().all(|&bytes| (bytes as f64 - mean).abs() < 3_100.0), "{sent:?}");
    }

    /// A frame of a previously idle flow precedes the backlog of other flows, but the next one does
    /// not while they wait.
    #[test]
    fn new_flows_first() {
        let mut fq = discipline(100_000);
        for seq in 0..100 {
            (10..15).for_each(|flow| drop(push(&mut fq, waiting(flow, 1_500, seq))));
        }
        (0..20).for_each(|_| {
            fq.pull(&mut none(), US, 0);
        });
        push(&mut fq, waiting(3, 100, 0));
        assert_eq!(fq.pull(&mut none(), US, 0).unwrap().0.frame.flow, 3);
        // Flow 3 is empty now. It joins the end of the old flows and has no precedence until it has
        // left that list. The five other flows precede it.
        assert_ne!(fq.pull(&mut none(), US, 0).unwrap().0.frame.flow, 3);
        push(&mut fq, waiting(3, 100, 1));
        let before = std::iter::from_fn(|| fq.pull(&mut none(), US, 0))
            .position(|(w, _)| w.frame.flow == 3)
            .unwrap();
        assert!((3..=5).contains(&before), "{before}");
    }

    /// Flows that are active one after another share the memory of their lists.
    #[test]
    fn lists_of_empty_flows_are_used_again() {
        let mut fq = discipline(100_000);
        for flow in 0..500 {
            (0..8).for_each(|seq| drop(push(&mut fq, waiting(flow, 1_500, seq))));
            assert_eq!(std::iter::from_fn(|| fq.pull(&mut none(), US, 0)).count(), 8);
        }
        assert!(fq.flows.len() > 300, "most have a bucket of their own");
        assert_eq!(
            fq.spare.len() + fq.flows.iter().filter(|flow| flow.frames.capacity() > 0).count(),
            1
        );
    }

    #[test]
    fn the_fattest_flow_pays() {
        let mut fq = discipline(1_000);
        for seq in 0..950 {
            assert!(push(&mut fq, waiting(1, 1_500, seq)).is_empty());
        }
        for seq in 0..50 {
            assert!(push(&mut fq, waiting(2, 1_500, seq)).is_empty());
        }
        let dropped = push(&mut fq, waiting(2, 1_500, 50));
        assert_eq!(dropped.len(), 64);
        assert!(dropped.iter().enumerate().all(|(i, (f, _))| f.flow == 1 && f.seq == i as u32));
        assert_eq!(fq.held().count(), 937);
        // The batch stops once half of the flow's bytes are gone.
        let mut small = discipline(10);
        (0..10).for_each(|seq| assert!(push(&mut small, waiting(1, 1_500, seq)).is_empty()));
        assert_eq!(push(&mut small, waiting(1, 1_500, 10)).len(), 6);
    }

    /// Flows of a class that may not leave keep their places, and the others share as before. A
    /// watchdog purges a class.
    #[test]
    fn paused_flows_are_passed_over() {
        let mut fq = discipline(10_000);
        let of_class = |flow: u32, class: u16, seq: u32| {
            let w = waiting(flow, 1_000, seq);
            Waiting { frame: Frame { flags: class, ..w.frame }, ..w }
        };
        for seq in 0..20 {
            for flow in 0..4 {
                assert!(push(&mut fq, of_class(flow, (flow % 2) as u16, seq)).is_empty());
            }
        }
        let order = |fq: &mut FqCodel, may: &dyn Fn(u8) -> bool, count: usize| -> Vec<u32> {
            (0..count)
                .filter_map(|_| fq.pull_of(&mut none(), US, 0, may))
                .map(|(w, _)| w.frame.flow)
                .collect()
        };
        let even = order(&mut fq, &|class| class == 0, 40);
        assert_eq!(even.iter().filter(|flow| **flow == 0).count(), 20);
        assert_eq!((even.len(), even.iter().filter(|flow| **flow == 2).count()), (40, 20));
        assert!(fq.pull_of(&mut none(), US, 0, &|class| class == 0).is_none());
        assert_eq!((fq.earliest(&none(), &|class| [7, 9][class as usize]), fq.count), (9, 40));
        // A quantum of 1514 B pays for two frames of 1000 B.
        assert_eq!(order(&mut fq, &|_| true, 4), [1, 1, 3, 3]);
        assert_eq!(fq.purge(&mut none(), US, 1).len(), 36);
        assert!(
            fq.pull(&mut none(), US, 0).is_none()
                && fq.count == 0
                && fq.earliest(&none(), &|_| 5) == u64::MAX
        );
    }

    #[test]
    fn it_empties() {
        let mut fq = discipline(10_000);
        (0..500).for_each(|i| drop(push(&mut fq, waiting(i % 7, 1_000, i))));
        assert_eq!(std::iter::from_fn(|| fq.pull(&mut none(), US, 0)).count(), 500);
        assert!(
            fq.pull(&mut none(), US, 0).is_none()
                && fq.new.is_empty()
                && fq.old.is_empty()
                && fq.count == 0
        );
    }
}
