//! Keys of switches: `[switch]` and its overrides.

use super::Preset;
use crate::balance::{Balance, BalanceKeys, RouteHash};
use crate::queue::aqm::{AqmKeys, Config as Aqm, TrimKeys};
use crate::queue::buffer::mmu::{Config as Mmu, MmuKeys};
use crate::queue::buffer::sharing::Sharing;
use crate::queue::buffer::{VoqConfig as Voq, VoqKeys};
use crate::queue::flowcontrol::keys::{Pfc, PfcKeys};
use crate::queue::limit::{Compare, Limit, QueueSize};
use crate::queue::marking::keys::{EcnKeys, Marking};
use crate::queue::scheduling::Kind as SchedulingKind;
use crate::queue::scheduling::about::Scheduling;
use crate::queue::scheduling::blocks::QueueKeys;
use crate::spec::processor::{Processor, ProcessorKeys};
use afflux_config::keys::{at_most_a_second, meaningless};
use afflux_config::tree::Wrong;
use afflux_config::{Duration, Off, Or, Size, keys, words};
use afflux_units::{Bytes, Span};

keys! {
    /// Settings of a switch.
    pub struct SwitchKeys as "SwitchKeys" => SwitchConfig(parts: SwitchParts) of written {
        @{
            /// Product that supplies the values of all keys that are not written here. Default:
            /// none: such keys have the defaults below.
            preset: Preset;
            /// Buffer memory. With `sharing = "static"` it is that of each queue, also in
            /// packets, as in `"100packets"`; otherwise that of the whole switch. Default
            /// `"32MB"`: Trident 3, the shallow switch of the Hadoop study; with `"conweave"`
            /// `"9MiB"`, with `"hpcc"` `"32MiB"`.
            buffer: QueueSize;
            /// Rule by which queues share the buffer. Default `"dynamic"`, `"static"` if
            /// `buffer` is in packets, `"voq"` if there is `[switch.voq]`.
            sharing: Sharing;
            /// With `sharing = "dynamic"`: a queue may hold `alpha` times the free memory
            /// (Choudhury and Hahne 1998). Default 1, as in the ns-3 RDMA simulators; SONiC
            /// gives lossy queues of Trident 3 8 (`dynamic_th` 3). With `"sonic"` it limits
            /// lossy queues at egress: default 8; with `"conweave"` it limits all queues at
            /// egress: default 1.
            alpha: f64;
            /// With `sharing = "dynamic"`: bytes that each queue may always hold, independently
            /// of the other queues. Default `"0B"`; SONiC has 1792 B on Trident 3. With
            /// `"sonic"` it applies to lossy queues: default `"1792B"`; with `"hpcc"` to every
            /// port and priority: default `"4KiB"`.
            reserved: Size;
            /// Accounting and limits of the memory management unit, with `sharing = "sonic"`,
            /// `"conweave"` or `"hpcc"`. Default: every key has its own default.
            mmu: MmuKeys;
            /// Priority flow control, or `"off"`. It needs `sharing = "sonic"`, `"conweave"`,
            /// `"hpcc"` or `"voq"`. Default `"off"`.
            pfc: Or<Off, PfcKeys>;
        };
        /// Whether the switch obeys PAUSE frames of its peers. Default: true with `pfc`, false
        /// without.
        honours_pause: bool = (parts.pfc.is_some());
        @{
            /// With `sharing = "voq"`: the virtual output queues of a deep-buffer switch.
            /// Default: every key has its own default.
            voq: VoqKeys;
        };
        /// Frames that count in a queue's length. Default: `"through_transmission"`, or
        /// `"before_transmission"` with a device queue.
        queue_length: QueueLength = (if written.device_queue > Some(0) { QueueLength::BeforeTransmission } else { QueueLength::ThroughTransmission }),
            check |counts, key| match written.device_queue {
                Some(packets @ 1..) if counts == QueueLength::ThroughTransmission => {
                    let what = "frames in the device queue no longer count in the queue length; write \"before_transmission\"";
                    Err(Wrong::at(key, format!("\"through_transmission\" with device_queue = {packets}: {what}")))
                }
                _ => Ok(counts),
            };
        /// Capacity in packets of a FIFO between each port's queues and its transmitter. Frames in it
        /// no longer count for buffer, marking and discipline. ns-3's queue discs have a device
        /// queue of 1 packet behind them.
        device_queue: u32 = 0, in 0 to 10_000 as "a number of packets from 0 to 10000";
        @{
            /// With `sharing = "static"`: whether a frame is dropped if the queue including it
            /// would be above the limit (`"above"`), or already if it would reach the limit
            /// (`"at_or_above"`, ns-2's convention). Default `"above"`.
            drop_when: Compare;
            /// ECN marking in each queue, or `"off"`. Default `"off"`.
            ecn: Or<Off, EcnKeys>;
            /// Queue discipline that controls delay, instead of `ecn`, or `"off"`. Default
            /// `"off"`.
            aqm: Or<Off, AqmKeys>;
            /// Trimming: if a queue is full, data frames are cut to their headers, for
            /// `kind = "ndp"` in `[host.transport]`. Default: none: a full queue drops them.
            trimming: TrimKeys;
            /// Order in which a port sends. Default `"fifo"`, or the order that follows from
            /// the `queue` blocks.
            scheduling: SchedulingKind;
            /// With `scheduling = "strict_priority"` and without `queue` blocks: number of
            /// queues per port, 2 to 8. Priority p goes to queue min(p, queues−1), and the
            /// highest queue is served first. Default 8.
            priorities: u8;
            /// With `scheduling = "dwrr"` or `"ets"`: bytes per turn for a weight of 1, or for the least bandwidth. Default: a full frame.
            quantum: Size;
            /// Point at which a frame may leave: after all of it has arrived, or after its
            /// header. Default `"store_and_forward"`.
            forwarding: Forwarding;
        };
        /// With `forwarding = "cut_through"`: number of bytes that must have arrived before a frame
        /// may leave. Default: `"128B"`.
        cut_through "cut_through_header": Size as Option<u16> = {(written.forwarding == Some(Forwarding::CutThrough)).then_some(Size(Bytes(128)))},
            check |Size(header), key| match u16::try_from(header.0) {
                _ if written.forwarding != Some(Forwarding::CutThrough) => Err(meaningless(key, "forwarding = \"store_and_forward\"")),
                Ok(bytes @ 1..) => Ok(bytes),
                _ => Err(Wrong::at(key, format!("\"{header}\": write a size from 1B to 65535B"))),
            };
        /// Pipeline latency added to every frame between its arrival and its entry into the output
        /// queue. Shallow switches of today take 500 to 800 ns.
        latency: Duration = "0ns" from "the ns-3 simulators", check at_most_a_second;
        /// Processor that handles arriving frames, or `"off"`: handling takes no time. In an
        /// override the whole value is replaced.
        processor: Or<Off, ProcessorKeys> as Option<Processor> = "off", table ProcessorKeys::processor;
        @{
            /// Choice among equal-cost next hops. Default `"ecmp"`. In an override the whole value is replaced.
            #[schemars(schema_with = "afflux_config::name_or_table::<BalanceKeys>")]
            balance: BalanceKeys;
        };
        /// Hash that selects paths. With `run.compat = "conweave-ns3"`, `"own_seed"` is
        /// `"murmur3"`.
        hash: RouteHash = "own_seed";
        @{
            /// Queues of each port, by class, 2 to 8 of them. In an override all queues are replaced. Default: none: one queue, or with
            /// `scheduling = "strict_priority"` as many as `priorities` says.
            queue: Vec<QueueKeys>;
        };
    }
    plus {
        buffer: Buffer = parts.buffer;
        /// Priority flow control for arriving frames; only with `Buffer::Mmu` and `Buffer::Voq`.
        pfc: Option<Pfc> = parts.pfc;
        marking: Option<Marking> = parts.marking;
        /// Discipline that controls the delay of each queue. It excludes marking.
        aqm: Option<Aqm> = parts.aqm;
        scheduling: Scheduling = parts.scheduling;
        /// Individual settings of the queues, one entry per queue. Empty: all queues have the
        /// settings above.
        own: Vec<QueueConfig> = parts.own;
        balance: Balance = parts.balance;
    }
}

/// Settings of a switch that follow from several of its keys.
#[derive(Debug, Clone)]
pub struct SwitchParts {
    pub buffer: Buffer,
    pub pfc: Option<Pfc>,
    pub marking: Option<Marking>,
    pub aqm: Option<Aqm>,
    pub scheduling: Scheduling,
    pub own: Vec<QueueConfig>,
    pub balance: Balance,
}

impl SwitchConfig {
    /// True if only the hash of the frame and the seed of the switch choose among equal-cost ports.
    pub fn hashes_plainly(&self) -> bool {
        self.balance == Balance::default() && self.hash != RouteHash::Murmur3
    }

    /// Returns the minimum time from the arrival of a frame until it may leave.
    pub fn least_latency(&self) -> Span {
        match &self.buffer {
            Buffer::Voq(voq) => self.latency + voq.grant_latency,
            _ => self.latency,
        }
    }

    /// Returns the individual settings of the queue of a priority.
    pub fn own_of(&self, priority: u8) -> Option<&QueueConfig> {
        self.own.get(usize::from(self.scheduling.of_priority()[usize::from(priority & 7)]))
    }

    /// Returns the number of queues of each port, for a switch with `ports` ports.
    pub fn queues(&self, ports: usize) -> usize {
        let priorities = self.scheduling.queues() as usize;
        match &self.buffer {
            Buffer::Voq(voq) => priorities * voq.cores(ports),
            _ => priorities,
        }
    }
}

words! {
    /// Frames that count in the length of a queue.
    #[derive(Default)]
    pub enum QueueLength {
        /// Counts the whole frame until its last bit has left.
        #[default]
        ThroughTransmission,
        /// Counts a frame until its transmission starts (convention of ns-3).
        BeforeTransmission,
        /// Like `"before_transmission"`, but a frame that arrives exactly at the start of a
        /// transmission still counts the frame that starts (ns-3, if that arrival was scheduled
        /// first).
        ThroughStart,
    }
    /// Point at which a frame may leave:
    pub enum Forwarding {
        /// after its last bit has arrived.
        StoreAndForward,
        /// after its header, if the output is idle and not faster than the input; otherwise after
        /// its last bit.
        CutThrough,
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Buffer {
    Unlimited,
    /// Separate limit for every queue. A frame is dropped if the queue would exceed the limit
    /// (`Compare::Above`) or reach it (`Compare::AtOrAbove`, the convention of ns-2).
    Static {
        per_queue: Limit,
        drop_when: Compare,
    },
    /// Memory shared by all queues of the switch, with the dynamic threshold of Choudhury and
    /// Hahne. A frame is admitted if the queue including it does not exceed `reserved + alpha *
    /// (total - used)` and the memory can hold it.
    Shared {
        total: u64,
        alpha: f64,
        reserved_per_queue: u64,
    },
    /// Shared memory with ingress and egress accounting. It excludes a device queue, a discipline
    /// and `QueueLength::ThroughStart`.
    Mmu(Mmu),
    /// Deep buffer with virtual output queues at the ingress, in on-chip memory and DRAM: one queue
    /// per core, egress port and class.
    Voq(Voq),
}

/// Individual settings of a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueConfig {
    pub buffer: Buffer,
    /// Maximum length of this queue, in addition to the rule of the buffer.
    pub limit: Option<Limit>,
    pub marking: Option<Marking>,
}
