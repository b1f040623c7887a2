//! Queueing disciplines of hosts: what the kernel holds back while its network card has enough (byte queue limits).
//!
//! The port's own queue is the card's ring, first in, first out. As in Linux a frame goes straight to the ring while that has room and nothing is held;
//! everything else is up to the discipline, which is asked for the next frame whenever a transmission has ended.

mod fq;
mod pfifo;

use super::aqm::fq_codel;
use super::aqm::{Policy, Site};
use super::verdict::Verdict;
use super::waiting::Waiting;
use crate::Model;
use crate::frame::Frame;
use crate::timing;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{keys, tagged};
use afflux_engine::random::Stream;
use std::collections::VecDeque;

/// The disciplines that `host.qdisc` names, one line for each: its file and name in scenarios, its name and its parameters here.
macro_rules! disciplines {
    ($with:ident) => {
        $with! {
            /// Flows by hash, deficit round robin with precedence for new ones, CoDel on each (RFC 8290): the default of Linux distributions.
            fq_codel FqCodel(FqCodelConfig);
            /// Every flow has a queue of its own, and new ones go first; pacing stays with the sender.
            fq Fq(FqConfig);
            /// First in, first out.
            pfifo Pfifo(PfifoConfig);
        }
    };
}

keys! {
    /// No parameters.
    pub struct OffKeys as "QdiscOff" => OffConfig {}
}

macro_rules! registry {
    ($($(#[doc = $doc:literal])* $module:ident $name:ident($config:ident);)+) => {
        tagged! {
            /// A queueing discipline: a name, or a table with `kind` and parameters.
            #[schemars(rename = "Qdisc")]
            pub enum QdiscKeys, default "kind" {
                $($(#[doc = $doc])* $module $name($module::Keys),)+
                /// None: the card takes everything at once and sends in the order of arrival.
                off Off(OffKeys),
            }
        }

        impl QdiscKeys {
            /// Checks the keys that are written, and writes the defaults of the others down. The table stands at `key`.
            pub fn resolve(&mut self, key: &Key) -> Result<Option<Kind>, Wrong> {
                match self {
                    $(QdiscKeys::$name(keys) => keys.resolve(key).map(Kind::$name).map(Some),)+
                    QdiscKeys::Off(keys) => keys.resolve(key).map(|_| None),
                }
            }
        }

        /// A discipline and its parameters.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Kind {
            $($(#[doc = $doc])* $name($module::$config),)+
        }

        fn policy(kind: &Kind, site: Site, stream: &mut Stream) -> Box<dyn Policy> {
            match kind {
                $(Kind::$name(config) => Box::new(<$module::$name as Policy>::new(config, site, stream)),)+
            }
        }

        /// Parameters of the disciplines.
        pub mod configs {
            pub use super::fq::FqConfig;
            pub use super::pfifo::PfifoConfig;
        }

        pub const MODELS: &[Model] = &[fq::MODEL, pfifo::MODEL, MODEL];
    };
}
disciplines!(registry);

impl Default for QdiscKeys {
    fn default() -> Self {
        QdiscKeys::FqCodel(fq_codel::Keys::default())
    }
}

/// A host's queueing discipline.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub kind: Kind,
    /// Bytes from which on the card takes no more, the frame in transmission among them; `None`: what its link needs.
    pub ring: Option<u64>,
    /// Queues of the card, which it serves in turn, each with a ring and a discipline of its own.
    pub rings: u8,
}

impl Config {
    /// Two frames and what the link sends until an interrupt tells the kernel.
    fn ring(&self, site: Site) -> u64 {
        let needed = || 2 * site.frame + (u128::from(site.line) * u128::from(timing::interrupt(site.line)) / 8_000_000_000_000) as u64;
        self.ring.unwrap_or_else(needed)
    }

    /// Bytes that a port's state takes.
    pub fn memory(&self) -> u64 {
        let of_kind = if let Kind::FqCodel(config) = &self.kind { 4 * u64::from(config.flows) } else { 0 };
        size_of::<Qdisc>() as u64 + u64::from(self.rings) * (size_of::<Ring>() as u64 + 256 + of_kind)
    }
}

/// Frames that the kernel holds back before one port.
pub struct Qdisc {
    /// Bytes from which on the port's own queue takes no more.
    limit: u64,
    /// Held frames, by queue of the card.
    rings: Box<[Ring]>,
    /// Bytes and frames in all of them.
    bytes: u64,
    frames: u32,
    /// The queue of the card that sends next.
    turn: usize,
}

/// A queue of the card, and the discipline before it.
struct Ring {
    policy: Box<dyn Policy>,
    /// Frames of the policy that lets the port hold them.
    queued: VecDeque<Waiting>,
    /// Where the card has several queues: what it has taken, marked or not.
    ring: VecDeque<(Waiting, Verdict)>,
    taken: u64,
    /// Frames with the policy.
    held: u32,
    held_bytes: u64,
    limit: u64,
}

impl Qdisc {
    pub fn new(config: &Config, site: Site, stream: &mut Stream) -> Qdisc {
        let (several, size) = (config.rings > 1, config.ring(site));
        let ring = |_| Ring {
            policy: policy(&config.kind, site, stream),
            queued: VecDeque::new(),
            ring: VecDeque::new(),
            taken: 0,
            held: 0,
            held_bytes: 0,
            limit: if several { size } else { 0 },
        };
        // Where the card has several queues, it takes a frame from them when it has none to send.
        Qdisc { limit: if several { 1 } else { size }, rings: (0..config.rings).map(ring).collect(), bytes: 0, frames: 0, turn: 0 }
    }

    /// Bytes from which on the port's own queue takes no more.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    pub fn frames(&self) -> u32 {
        self.frames
    }

    /// Bytes that are held.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A frame of these bytes has to be held back, where `queued` bytes are at the port.
    #[inline(always)]
    pub fn takes(&self, queued: u64) -> bool {
        queued >= self.limit
    }

    /// The port's own queue has room for another frame, where `queued` bytes are at the port, and one is held.
    #[inline(always)]
    pub fn may_give(&self, queued: u64) -> bool {
        self.frames > 0 && queued - self.bytes < self.limit
    }

    #[inline(always)]
    pub fn holds(&self) -> bool {
        self.frames > 0
    }

    /// Bytes that a frame, the last of its flow here, will have waited for when it has left, with its own: an estimate, since later frames of other
    /// flows may go first. At the port are `queued` bytes, and `hash` tells its flow.
    pub fn ahead(&self, queued: u64, frame: &Frame, hash: u32) -> u64 {
        let ring = &self.rings[self.ring_of(hash)];
        let beside = queued - self.bytes + ring.taken;
        let own = ring.policy.ahead(ring.held_bytes, frame, hash);
        // Rings take turns.
        let others = self.rings.iter().map(|other| (other.held_bytes + other.taken).min(ring.taken + own)).sum::<u64>();
        if self.rings.len() > 1 { beside - ring.taken + others } else { beside + own }
    }

    fn ring_of(&self, hash: u32) -> usize {
        if self.rings.len() == 1 { 0 } else { (hash.wrapping_mul(0x9e37_79b1) >> 8) as usize % self.rings.len() }
    }

    /// Holds back a frame of the flow that `hash` tells; gives back those that are dropped for it.
    pub fn push(&mut self, waiting: Waiting, hash: u32, now: u64, stream: &mut Stream) -> Vec<(Frame, Verdict)> {
        let number = self.ring_of(hash);
        let ring = &mut self.rings[number];
        let size = u64::from(waiting.frame.size);
        self.frames += 1;
        self.bytes += size;
        if ring.held == 0 && ring.taken < ring.limit {
            ring.taken += size;
            ring.ring.push_back((waiting, Verdict::Admit));
            return Vec::new();
        }
        let verdict = ring.policy.on_enqueue(now, ring.held_bytes, waiting.frame.has(Frame::ECT), stream);
        if matches!(verdict, Verdict::Drop(_)) {
            self.frames -= 1;
            self.bytes -= size;
            return vec![(waiting.frame, verdict)];
        }
        ring.held += 1;
        ring.held_bytes += size;
        let back = ring.policy.push_as(&mut ring.queued, waiting, hash, stream);
        let bytes: u64 = back.iter().map(|(frame, _)| u64::from(frame.size)).sum();
        ring.held -= back.len() as u32;
        ring.held_bytes -= bytes;
        self.frames -= back.len() as u32;
        self.bytes -= bytes;
        back
    }

    /// The next frame for the port's own queue, and what becomes of it; if it is dropped, ask again.
    pub fn pull(&mut self, now: u64) -> Option<(Waiting, Verdict)> {
        let (waiting, verdict) = if self.rings.len() == 1 { self.rings[0].pull(now)? } else { self.pull_in_turn(now)? };
        self.frames -= 1;
        self.bytes -= u64::from(waiting.frame.size);
        Some((waiting, verdict))
    }

    fn pull_in_turn(&mut self, now: u64) -> Option<(Waiting, Verdict)> {
        let count = self.rings.len();
        for step in 0..count {
            let number = (self.turn + step) % count;
            let ring = &mut self.rings[number];
            // Frames that the card has sent make room.
            while ring.taken < ring.limit {
                match ring.pull(now) {
                    Some(dropped @ (_, Verdict::Drop(_))) => return Some(dropped),
                    Some(taken) => {
                        ring.taken += u64::from(taken.0.frame.size);
                        ring.ring.push_back(taken);
                    }
                    None => break,
                }
            }
            if let Some(next) = ring.ring.pop_front() {
                ring.taken -= u64::from(next.0.frame.size);
                self.turn = (number + 1) % count;
                return Some(next);
            }
        }
        None
    }

    /// All that is held.
    pub fn held(&self) -> impl Iterator<Item = &Waiting> {
        self.rings.iter().flat_map(|ring| ring.queued.iter().chain(ring.ring.iter().map(|(waiting, _)| waiting)).chain(ring.policy.held()))
    }
}

pub const MODEL: Model = Model {
    kind: "host",
    name: "qdisc",
    source: "Linux net/sched/sch_generic.c (bypass), sch_mq.c, lib/dynamic_queue_limits.c; the kernel's own defaults",
    faithful: "a frame goes straight to the card's ring while that has room and nothing is held; the discipline is asked for more when a transmission has \
               ended; with several rings the card serves them in turn, each with a discipline of its own and flows by hash",
    simplified: "the ring's size is constant, where Linux adapts it; frames take turns, where Linux has buffers of segmentation offload of up to 64 KB; a sender \
                 is not told that its own host dropped a frame; with small queues (TSQ) the time at which a frame leaves is estimated when it comes; frames of \
                 RDMA are not held",
};

impl Ring {
    fn pull(&mut self, now: u64) -> Option<(Waiting, Verdict)> {
        let (waiting, verdict) = self.policy.pull(&mut self.queued, now, self.held_bytes)?;
        self.held -= 1;
        self.held_bytes -= u64::from(waiting.frame.size);
        Some((waiting, verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of four frames are for one of two rings; both are full all the time, and send as much.
    #[test]
    fn rings_take_turns() {
        let kind = QdiscKeys::Pfifo(pfifo::Keys::default()).resolve(&"host.qdisc".into()).unwrap().unwrap();
        let mut stream = Stream::new(1, 1, 1);
        let mut qdisc = Qdisc::new(&Config { kind, ring: Some(3_000), rings: 2 }, Site::default(), &mut stream);
        let frame = |hash: u32| Frame { hash, flow: hash, size: 1_514, ..Frame::default() };
        let first = qdisc.ring_of(0);
        let other = (1..).find(|&hash| qdisc.ring_of(hash) != first).unwrap();
        let (mut sent, mut pushed, mut dropped) = ([0u64; 2], 0, 0);
        for round in 0..10_000u64 {
            for hash in [0, 0, other, 0] {
                pushed += 1;
                dropped += qdisc.push(Waiting { frame: frame(hash), ready: round, clock: 0 }, hash, round, &mut stream).len();
            }
            let (waiting, verdict) = qdisc.pull(round).unwrap();
            assert_eq!(verdict, Verdict::Admit);
            sent[usize::from(waiting.frame.hash == 0)] += 1;
        }
        assert!(sent[0].abs_diff(sent[1]) <= 1, "{sent:?}");
        assert_eq!(pushed - dropped - 10_000, qdisc.held().count());
        assert_eq!((qdisc.frames as usize, qdisc.bytes), (qdisc.held().count(), 1_514 * qdisc.held().count() as u64));
    }
}
