//! `[switch]`: buffers, marking, scheduling, forwarding, choice of path.

use super::{Aqm, Balance, Chance, Duration, Mmu, Names, Off, Or, Pfc, Preset, Processor, Queue, QueueSize, Scheduling, Size, Trimming, Voq};
use afflux_config::words;
use afflux_net::spec::{Compare, MarkAt, QueueLength, RouteHash, Spacing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! switch {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $(#[$meta])*
        pub struct $name {
            $($fields)*
            /// A switch as it is bought: gives the keys that are not written here the values of that product.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub preset: Option<Preset>,
            /// Buffer memory: of each queue with `sharing = "static"` (there also in packets, as in `"100packets"`), otherwise of the whole switch.
            /// Default `"32MB"`: Trident 3, the shallow switch of the Hadoop study; with `"conweave"` `"9MiB"`, with `"hpcc"` `"32MiB"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub buffer: Option<QueueSize>,
            /// Who may occupy the buffer. Default `"dynamic"`, `"static"` if `buffer` is in packets,
            /// `"voq"` if there is `[switch.voq]`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub sharing: Option<Sharing>,
            /// With `sharing = "dynamic"`: a queue may hold `alpha` times the free memory (Choudhury and Hahne 1998). Default 1, as in the
            /// ns-3 RDMA simulators; SONiC gives lossy queues of Trident 3 8 (`dynamic_th` 3). With `"sonic"`, of lossy queues at egress: default
            /// 8; with `"conweave"`, of all queues at egress: default 1.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub alpha: Option<f64>,
            /// With `sharing = "dynamic"`: bytes that each queue may hold whatever the others do. Default `"0B"`; SONiC has 1792 B on Trident 3.
            /// With `"sonic"`, of lossy queues: default `"1792B"`; with `"hpcc"`, of every port and priority: default `"4KiB"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub reserved: Option<Size>,
            /// How the memory management unit counts and decides, with `sharing = "sonic"`, `"conweave"` or `"hpcc"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub mmu: Option<Mmu>,
            /// Priority flow control, or `"off"`; with `sharing = "sonic"`, `"conweave"` or `"hpcc"`. Default `"off"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub pfc: Option<Or<Off, Pfc>>,
            /// Does the switch stop sending to a peer that tells it to? Default: true with `pfc`, false without.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub honours_pause: Option<bool>,
            /// With `sharing = "voq"`: the queues of a deep-buffer switch.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub voq: Option<Voq>,
            /// What a queue's length counts. Default `"through_transmission"`, or `"before_transmission"` with a device queue.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub queue_length: Option<QueueLength>,
            /// Frames that wait, first in, first out, between each port's queues and its transmitter: they have left the queue for buffer,
            /// marking and discipline. Default 0; ns-3's queue discs have a device queue of 1 packet behind them.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub device_queue: Option<u32>,
            /// With `sharing = "static"`: is a frame dropped when the queue with it would be above the limit, or already when it would reach it
            /// (ns-2's convention)? Default `"above"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub drop_when: Option<Compare>,
            /// ECN marking of each queue, or `"off"`. Default `"off"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub ecn: Option<Or<Off, Ecn>>,
            /// A queue discipline that controls delay, or `"off"`; instead of `ecn`. Default `"off"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub aqm: Option<Or<Off, Aqm>>,
            /// Cut data to headers where a queue is full, for `kind = "ndp"` in `[host.transport]`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub trimming: Option<Trimming>,
            /// Order in which a port sends. Default `"fifo"`, or what the `queue` blocks say.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub scheduling: Option<Scheduling>,
            /// With `scheduling = "strict_priority"` and without `queue` blocks: number of queues per port, 2 to 8; priority p goes to queue
            /// min(p, queues−1), the highest first. Default 8.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub priorities: Option<u8>,
            /// With `scheduling = "dwrr"` or `"ets"`: bytes per turn for a weight of 1, or for the least bandwidth. Default: a full frame.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub quantum: Option<Size>,
            /// When a frame may leave: after all of it has arrived, or after its header. Default `"store_and_forward"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub forwarding: Option<Forwarding>,
            /// With `forwarding = "cut_through"`: bytes that must have arrived before a frame may leave. Default `"128B"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub cut_through_header: Option<Size>,
            /// Pipeline latency added to every frame between its arrival and its joining the output queue. Default `"0ns"`, as in the ns-3
            /// simulators; shallow switches of today take 500 to 800 ns.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub latency: Option<Duration>,
            /// A processor that deals with what arrives, or `"off"`: that takes no time. Default `"off"`. In an override it replaces all of it.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub processor: Option<Or<Off, Processor>>,
            /// Choice among equal-cost next hops. Default `"ecmp"`. In an override it replaces all of it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(schema_with = "afflux_config::name_or_table::<Balance>")]
            pub balance: Option<Balance>,
            /// The hash of what goes by hash. Default `"own_seed"`; with `run.compat = "conweave-ns3"` that is `"murmur3"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub hash: Option<RouteHash>,
            /// Queues of each port, by class, 2 to 8 of them. In an override they replace all others.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub queue: Option<Vec<Queue>>,
        }
    };
}

switch! {
    /// Settings of all switches.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Switch {
        /// Switches that differ. Later overrides win.
        #[serde(rename = "override", default, skip_serializing_if = "Vec::is_empty")]
        pub overrides: Vec<SwitchOverride>,
    }
}

switch! {
    /// Switches that differ from the others; what is not said is as in `[switch]`.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct SwitchOverride {
        /// Names of switches: `"leaf*"`, `["spine0", "spine1"]`.
        #[serde(rename = "match")]
        pub matching: Names,
    }
}

/// Calls a macro with the keys that `[switch]` and its overrides share.
macro_rules! every_key {
    ($with:ident) => {
        $with!(preset buffer sharing alpha reserved mmu pfc honours_pause voq queue_length device_queue drop_when ecn aqm trimming scheduling priorities quantum forwarding cut_through_header latency processor balance hash queue)
    };
}

impl SwitchOverride {
    /// Its keys, as those of a switch.
    pub fn keys(&self) -> Switch {
        macro_rules! copy {
            ($($name:ident)*) => { Switch { $($name: self.$name.clone(),)* overrides: Vec::new() } };
        }
        every_key!(copy)
    }

    /// Takes its keys from `keys`.
    pub fn set_keys(&mut self, keys: Switch) {
        macro_rules! take {
            ($($name:ident)*) => { $(self.$name = keys.$name;)* };
        }
        every_key!(take);
    }
}

impl Switch {
    /// Its own keys where it has them, else those of `other`.
    pub fn or(self, other: Switch) -> Switch {
        macro_rules! either {
            ($($name:ident)*) => { Switch { $($name: self.$name.or(other.$name),)* overrides: self.overrides } };
        }
        every_key!(either)
    }
}

words! {
    /// Who may occupy buffer memory.
    pub enum Sharing {
        /// Every queue has its own limit.
        Static,
        /// One memory with a dynamic threshold.
        Dynamic,
        /// Virtual output queues in on-chip memory and DRAM: a deep-buffer switch, see `voq`.
        Voq,
        /// Nothing is ever dropped for lack of memory.
        Unlimited,
        /// One memory with ingress and egress accounting, as real switches configured in SONiC's terms: see `mmu` and `pfc`.
        Sonic,
        /// The same as in ConWeave's ns-3.
        Conweave,
        /// The same as in HPCC's ns-3.
        Hpcc,
    }
    /// When a frame may leave.
    pub enum Forwarding {
        /// After its last bit has arrived.
        StoreAndForward,
        /// After its header, if the output is idle and not faster than the input; otherwise it is stored first.
        CutThrough,
    }
    /// Frames that are not ECN-capable:
    pub enum Incapable {
        /// are dropped where others would be marked (RED; WRED of real switches).
        Drop,
        /// pass.
        Pass,
    }
}

/// ECN marking: never below `kmin`, with a probability that rises to `pmax` at `kmax`, always above. Either `k` (a step, as for DCTCP) or
/// `kmin` and `kmax`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecn {
    /// A step: `kmin = kmax = k`, `pmax = 1`. The DCTCP paper has 65 packets at 10 Gbps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub k: Option<QueueSize>,
    /// Length below which nothing is marked. ConWeave: `"100kB"` at 100 Gbps; SONiC: `"1MiB"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmin: Option<QueueSize>,
    /// Length above which everything is marked, in the unit of `kmin`. ConWeave: `"400kB"`; SONiC: `"2MiB"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmax: Option<QueueSize>,
    /// Probability at `kmax`. Default 1; ConWeave and HPCC 0.2, SONiC 0.05.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmax: Option<Chance>,
    /// When the decision is made. Default `"enqueue"`, as in switches for lossy traffic; the ns-3 RDMA simulators have `"dequeue"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<MarkAt>,
    /// Weight of the newest sample in a moving average of the length, or `"off"` for the length of the moment. Default `"off"`;
    /// RED's classical value is 0.002.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_weight: Option<Or<Off, f64>>,
    /// With `average_weight`: the average decays on an idle link as if a frame that finds nothing came in every such time. Default: the time
    /// of 1500 B at the port's rate. Whatever the link, ns-3 has `"2.667ms"` unless told (500 B at 1.5 Mbps), `tc` `"1.2ms"` (`avpkt 1500` at
    /// its default of 10 Mbps). `"off"`: only arrivals move it; so it is in Linux where RED stands below a token bucket (tbf), which looks before
    /// it takes (`red_peek`) and so never finds RED empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_frame: Option<Or<Off, Duration>>,
    /// Is a length of exactly `kmin` marked? Default `"above"` (no: DCTCP's "greater than K"); ns-3 has `"at_or_above"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// What happens to frames that are not ECN-capable. Default `"drop"` (RFC 3168 §7; SONiC's `wred_green_enable`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incapable: Option<Incapable>,
    /// RED's gentle variant: from `kmax` to twice `kmax` the probability rises from `pmax` to 1, instead of being 1 at once. Default false;
    /// ns-3's default is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,
    /// How marks between the thresholds are drawn. Default `"independent"`, as in switches; for ns-3 and Linux `"ns3"` and `"linux"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
    /// Are ECN-capable frames dropped where everything is marked (above `kmax`, with `gentle` twice `kmax`)? Default false; ns-3's
    /// `UseHardDrop` is true by default, Linux's `harddrop` false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hard_drop: Option<bool>,
}
