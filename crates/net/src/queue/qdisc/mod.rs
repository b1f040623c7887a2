//! Queueing disciplines (qdiscs) of hosts: they hold frames in the kernel while the ring of the
//! network card is full (byte queue limits).
//!
//! The port's own queue is the card's ring, a FIFO. As in Linux, a frame goes straight to the ring
//! while the ring has room and no frame is held. All other frames go to the discipline. The port
//! asks it for the next frame whenever a transmission has ended.

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
use afflux_config::{Size, keys, tagged};
use afflux_engine::random::Stream;
use afflux_units::Bytes;
use std::collections::VecDeque;

/// The disciplines that `host.qdisc` names. Each line gives a file (which is the name in
/// scenarios), a type and the type of its parameters.
macro_rules! disciplines {
    ($with:ident) => {
        $with! {
            /// Flows by hash, deficit round robin with precedence for new flows, CoDel on each (RFC
            /// 8290). The default of Linux distributions.
            fq_codel FqCodel(FqCodelConfig);
            /// A queue per flow, with precedence for new flows. Pacing stays with the sender.
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
                /// No discipline: the card takes all frames at once and sends them in the order of
                /// arrival.
                off Off(OffKeys),
            }
        }

        impl QdiscKeys {
            /// Checks the given keys and fills in the defaults of the others. `key` is the position
            /// of the table.
            pub fn resolve(&mut self, key: &Key) -> Result<Option<Kind>, Wrong> {
                match self {
                    $(QdiscKeys::$name(keys) => keys.resolve(key).map(Kind::$name).map(Some),)+
                    QdiscKeys::Off(keys) => keys.resolve(key).map(|_| None),
                }
            }

            /// Fills in the quanta that Linux computes from the packets of the NIC: `mtu`, and the
            /// header of Ethernet (`psched_mtu`).
            pub fn fill_quanta(&mut self, mtu: u16) {
                let packets = |count: u64| Size(Bytes(count * (u64::from(mtu) + 14)));
                match self {
                    QdiscKeys::FqCodel(keys) => _ = keys.quantum.get_or_insert(packets(1)),
                    QdiscKeys::Fq(keys) => {
                        keys.quantum.get_or_insert(packets(2));
                        keys.initial_quantum.get_or_insert(packets(10));
                    }
                    _ => {}
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

keys! {
    /// A host's queueing discipline.
    pub struct RingKeys as "NicRings" => Config(kind: Kind) {
        /// With `qdisc`: limit in bytes on the frames that the NIC holds, including the frame in
        /// transmission (byte queue limits). At the limit it takes no more frames from the kernel.
        /// Default: two frames and what the link sends in 20 us, below 10 Gbps in 50 us, which is a
        /// NIC's time until it tells the kernel that frames have left.
        ring "bql": Size as Option<u64> = none, check |Size(Bytes(bytes)), key| match bytes {
            1..=100_000_000 => Ok(bytes),
            _ => Err(Wrong::at(key, "write a size from 1B to 100MB")),
        };
        /// With `qdisc`: number of queues of the NIC, 1 to 64. The NIC serves them in turn. Each has
        /// its own discipline (Linux's `mq`), and a hash assigns each flow to one of them.
        rings "hardware_queues": u8 = 1, in 1 to 64 as "a whole number from 1 to 64";
    }
    plus {
        kind: Kind = kind;
    }
}

impl Config {
    /// Returns the size of a ring in bytes. Default: two frames, and the bytes that the link sends
    /// until an interrupt informs the kernel.
    fn ring(&self, site: Site) -> u64 {
        let needed = || {
            2 * site.frame
                + (u128::from(site.line) * u128::from(timing::interrupt(site.line))
                    / 8_000_000_000_000) as u64
        };
        self.ring.unwrap_or_else(needed)
    }

    /// Returns the bytes of memory that the state of a port takes.
    pub fn memory(&self) -> u64 {
        let of_kind =
            if let Kind::FqCodel(config) = &self.kind { 4 * u64::from(config.flows) } else { 0 };
        size_of::<Qdisc>() as u64
            + u64::from(self.rings) * (size_of::<Ring>() as u64 + 256 + of_kind)
    }
}

/// Frames that the kernel holds for one port.
pub struct Qdisc {
    /// Bytes from which the port's own queue takes no more.
    limit: u64,
    /// Held frames, by queue of the card.
    rings: Box<[Ring]>,
    /// Bytes and frames held in all of them.
    bytes: u64,
    frames: u32,
    /// Queue of the card that sends next.
    turn: usize,
}

/// A queue of the card, with the discipline in front of it.
struct Ring {
    policy: Box<dyn Policy>,
    /// Frames of a policy that leaves its frames with the port.
    queued: VecDeque<Waiting>,
    /// Frames in the ring, with their verdicts, if the card has several queues; `taken`: their
    /// bytes.
    ring: VecDeque<(Waiting, Verdict)>,
    taken: u64,
    /// Frames held by the policy.
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
        // A card with several queues takes a frame from them only when it has none to send.
        Qdisc {
            limit: if several { 1 } else { size },
            rings: (0..config.rings).map(ring).collect(),
            bytes: 0,
            frames: 0,
            turn: 0,
        }
    }

    /// Returns the bytes from which the port's own queue takes no more.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the held bytes.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True if an arriving frame has to be held because `queued` bytes are at the port.
    #[inline(always)]
    pub fn takes(&self, queued: u64) -> bool {
        queued >= self.limit
    }

    /// True if a frame is held and the port's own queue has room for it. `queued`: bytes at the
    /// port, including held ones.
    #[inline(always)]
    pub fn may_give(&self, queued: u64) -> bool {
        self.frames > 0 && queued - self.bytes < self.limit
    }

    #[inline(always)]
    pub fn holds(&self) -> bool {
        self.frames > 0
    }

    /// Estimates the bytes that leave the port up to and including a frame, which is the last of
    /// its flow here. Later frames of other flows may go first. `queued`: bytes at the port. `hash`
    /// identifies the frame's flow.
    pub fn bytes_before(&self, queued: u64, frame: &Frame, hash: u32) -> u64 {
        let ring = &self.rings[self.ring_of(hash)];
        let outside = queued - self.bytes + ring.taken;
        let own = ring.policy.bytes_before(ring.held_bytes, frame, hash);
        // The rings send in turn.
        let others = self
            .rings
            .iter()
            .map(|other| (other.held_bytes + other.taken).min(ring.taken + own))
            .sum::<u64>();
        if self.rings.len() > 1 { outside - ring.taken + others } else { outside + own }
    }

    fn ring_of(&self, hash: u32) -> usize {
        if self.rings.len() == 1 {
            0
        } else {
            (hash.wrapping_mul(0x9e37_79b1) >> 8) as usize % self.rings.len()
        }
    }

    /// Holds a frame of the flow that `hash` identifies. Returns the frames that are dropped as a
    /// result.
    pub fn push(
        &mut self,
        waiting: Waiting,
        hash: u32,
        now: u64,
        stream: &mut Stream,
    ) -> Vec<(Frame, Verdict)> {
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
        let verdict =
            ring.policy.on_enqueue(now, ring.held_bytes, waiting.frame.has(Frame::ECT), stream);
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

    /// Returns the next frame for the port's own queue, with its verdict. If the verdict is a drop,
    /// the caller calls again.
    pub fn pull(&mut self, now: u64) -> Option<(Waiting, Verdict)> {
        let (waiting, verdict) =
            if self.rings.len() == 1 { self.rings[0].pull(now)? } else { self.pull_in_turn(now)? };
        self.frames -= 1;
        self.bytes -= u64::from(waiting.frame.size);
        Some((waiting, verdict))
    }

    fn pull_in_turn(&mut self, now: u64) -> Option<(Waiting, Verdict)> {
        let count = self.rings.len();
        for step in 0..count {
            let number = (self.turn + step) % count;
            let ring = &mut self.rings[number];
            // Sent frames have left room in the ring.
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

    /// Returns all held frames.
    pub fn held(&self) -> impl Iterator<Item = &Waiting> {
        self.rings.iter().flat_map(|ring| {
            ring.queued
                .iter()
                .chain(ring.ring.iter().map(|(waiting, _)| waiting))
                .chain(ring.policy.held())
        })
    }
}

pub const MODEL: Model = Model {
    kind: "host",
    name: "qdisc",
    source: "Linux net/sched/sch_generic.c (bypass), sch_mq.c, lib/dynamic_queue_limits.c; the kernel's own defaults",
    faithful: "a frame goes straight to the card's ring while that has room and nothing is held; the discipline is asked for more when a transmission has \
               ended; with several rings the card serves them in turn, each with a discipline of its own and flows by hash",
    simplified: "the ring's size is constant, where Linux adapts it; frames take turns, where Linux has buffers of segmentation offload of up to 64 KB, and \
                 limits of disciplines count frames, where Linux counts such buffers (1,000 hold up to 64 MB there, 9 MB here with frames of 9000 B); a \
                 sender is not told that its own host dropped a frame; with small queues (TSQ) the time at which a frame leaves is estimated when it comes; \
                 frames of RDMA are not held",
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

    /// Three of four frames are for one of two rings. Both rings are always full, and send equal
    /// amounts.
    #[test]
    fn rings_take_turns() {
        let kind = QdiscKeys::Pfifo(pfifo::Keys::default())
            .resolve(&"host.qdisc".into())
            .unwrap()
            .unwrap();
        let mut stream = Stream::new(1, 1, 1);
        let mut qdisc =
            Qdisc::new(&Config { kind, ring: Some(3_000), rings: 2 }, Site::default(), &mut stream);
        let frame = |hash: u32| Frame { hash, flow: hash, size: 1_514, ..Frame::default() };
        let first = qdisc.ring_of(0);
        let other = (1..).find(|&hash| qdisc.ring_of(hash) != first).unwrap();
        let (mut sent, mut pushed, mut dropped) = ([0u64; 2], 0, 0);
        for round in 0..10_000u64 {
            for hash in [0, 0, other, 0] {
                pushed += 1;
                dropped += qdisc
                    .push(
                        Waiting { frame: frame(hash), ready: round, clock: 0 },
                        hash,
                        round,
                        &mut stream,
                    )
                    .len();
            }
            let (waiting, verdict) = qdisc.pull(round).unwrap();
            assert_eq!(verdict, Verdict::Admit);
            sent[usize::from(waiting.frame.hash == 0)] += 1;
        }
        assert!(sent[0].abs_diff(sent[1]) <= 1, "{sent:?}");
        assert_eq!(pushed - dropped - 10_000, qdisc.held().count());
        assert_eq!(
            (qdisc.frames as usize, qdisc.bytes),
            (qdisc.held().count(), 1_514 * qdisc.held().count() as u64)
        );
    }
}
