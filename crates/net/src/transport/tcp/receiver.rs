//! The receiving half.

use crate::frame::AckExtra;
use crate::spec::{EcnMode, TcpConfig};

/// An acknowledgement to be sent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckNow {
    pub cumulative: u32,
    pub trigger: u32,
    pub ece: bool,
}

/// What the arrival of a segment leads to: up to two acknowledgements (a DCTCP receiver first closes the old state).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reaction {
    pub first: Option<AckNow>,
    pub second: Option<AckNow>,
    /// The delayed-acknowledgement timer is to run.
    pub delay: bool,
}

pub struct Receiver {
    next: u32,
    segments: u32,
    /// Segments held above the first hole: disjoint ranges in ascending order.
    ranges: Vec<(u32, u32)>,
    /// Newest arrivals above the hole, newest first: RFC 2018 reports their blocks first.
    recent: [u32; AckExtra::BLOCKS],
    highest: u32,
    /// Segments not yet acknowledged, and the last to arrive.
    waiting: u32,
    trigger: u32,
    /// DCTCP: the state of the last segment. Classic: echo until the sender says it has reduced.
    congested: bool,
    pub deadline: u64,
    pub armed: u64,
    pub flow: u32,
    pub transport: u16,
    pub node: u32,
    pub src: u32,
    pub hash: u32,
    pub priority: u8,
    pub marked: u64,
    pub reordered: u64,
    pub held: u64,
}

impl Receiver {
    pub fn new(flow: u32, transport: u16, node: u32, src: u32, hash: u32, priority: u8, segments: u32) -> Self {
        Receiver {
            next: 0,
            segments,
            ranges: Vec::new(),
            recent: [u32::MAX; AckExtra::BLOCKS],
            highest: 0,
            waiting: 0,
            trigger: 0,
            congested: false,
            deadline: 0,
            armed: 0,
            flow,
            transport,
            node,
            src,
            hash,
            priority,
            marked: 0,
            reordered: 0,
            held: 0,
        }
    }

    pub fn finished(&self) -> bool {
        self.next == self.segments
    }
    /// Segments that have arrived, without duplicates.
    pub fn received(&self) -> u32 {
        self.next + self.ranges.iter().map(|(a, b)| b - a).sum::<u32>()
    }
    /// The last segment of the flow is among them.
    pub fn has_last(&self) -> bool {
        self.finished() || self.ranges.last().is_some_and(|&(_, end)| end == self.segments)
    }

    /// Takes segment `seq`.
    #[inline]
    pub fn on_data(&mut self, seq: u32, marked: bool, cwr: bool, retransmission: bool, config: &TcpConfig) -> Reaction {
        let mut reaction = Reaction::default();
        self.marked += marked as u64;
        self.reordered += (seq < self.highest && !retransmission) as u64;
        self.highest = self.highest.max(seq);
        match config.ecn {
            EcnMode::Off => {}
            EcnMode::Classic => {
                // RFC 3168 §6.1.3: the sender's CWR ends the echo, a mark on the same segment starts it anew.
                self.congested = (self.congested && !cwr) || marked;
            }
            EcnMode::Dctcp => {
                // RFC 8257 §3.2: acknowledge what came under the old state before taking on the new one.
                if marked != self.congested {
                    if self.waiting > 0 {
                        reaction.first = Some(self.acknowledge());
                    }
                    self.congested = marked;
                }
            }
        }
        self.trigger = seq;
        let at_once = if seq == self.next {
            self.next += 1;
            if let Some(&(start, end)) = self.ranges.first()
                && start == self.next
            {
                self.next = end;
                self.ranges.remove(0);
                true
            } else {
                // A hole is open above, or this was the last segment.
                !self.ranges.is_empty() || self.finished()
            }
        } else {
            if seq > self.next {
                self.hold(seq);
            }
            true
        };
        self.waiting += 1;
        match config.delayed_ack {
            Some(delayed) if !at_once && self.waiting < delayed.segments => reaction.delay = true,
            _ => reaction.second = Some(self.acknowledge()),
        }
        reaction
    }

    /// The answer to a segment that came again after everything had arrived.
    pub fn repeat(&self, seq: u32, marked: bool) -> AckNow {
        AckNow { cumulative: self.segments, trigger: seq, ece: marked }
    }

    /// The delayed-acknowledgement timer expired.
    pub fn on_timer(&mut self) -> Option<AckNow> {
        (self.waiting > 0).then(|| self.acknowledge())
    }

    fn acknowledge(&mut self) -> AckNow {
        self.waiting = 0;
        self.deadline = 0;
        AckNow { cumulative: self.next, trigger: self.trigger, ece: self.congested }
    }

    #[cold]
    fn hold(&mut self, seq: u32) {
        let at = self.ranges.partition_point(|&(_, end)| end < seq);
        match self.ranges.get(at).copied() {
            Some((start, end)) if start <= seq && seq < end => return,
            Some((start, end)) if end == seq => {
                self.ranges[at].1 = seq + 1;
                if let Some(&(next_start, next_end)) = self.ranges.get(at + 1)
                    && next_start == seq + 1
                {
                    self.ranges[at].1 = next_end;
                    self.ranges.remove(at + 1);
                }
                let _ = start;
            }
            Some((start, _)) if start == seq + 1 => self.ranges[at].0 = seq,
            _ => self.ranges.insert(at, (seq, seq + 1)),
        }
        self.held += 1;
        self.recent.rotate_right(1);
        self.recent[0] = seq;
    }

    /// SACK blocks, newest first; none when nothing is held.
    pub fn blocks(&self) -> ([(u32, u32); AckExtra::BLOCKS], u8) {
        let mut blocks = [(0, 0); AckExtra::BLOCKS];
        let mut count = 0;
        if self.ranges.is_empty() {
            return (blocks, 0);
        }
        for &seq in &self.recent {
            let at = self.ranges.partition_point(|&(_, end)| end <= seq);
            if let Some(&block) = self.ranges.get(at)
                && block.0 <= seq
                && !blocks[..count].contains(&block)
            {
                blocks[count] = block;
                count += 1;
            }
        }
        // The recent arrivals may all lie in one block: report others too, from the top.
        for &block in self.ranges.iter().rev() {
            if count == AckExtra::BLOCKS {
                break;
            }
            if !blocks[..count].contains(&block) {
                blocks[count] = block;
                count += 1;
            }
        }
        (blocks, count as u8)
    }
    pub fn holds(&self) -> bool {
        !self.ranges.is_empty()
    }
}
