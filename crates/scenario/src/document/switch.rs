//! `[switch]`: buffers, marking, scheduling, forwarding and path selection.

use super::{Preset, Queue};
use afflux_config::{Duration, Names, Off, Or, Size, table, words};
use afflux_net::balance::BalanceKeys;
use afflux_net::spec::{
    AqmKeys, Compare, EcnKeys, MmuKeys, PfcKeys, ProcessorKeys, QueueLength, QueueSize, RouteHash, SchedulingKind, Sharing, TrimKeys, VoqKeys,
};
use schemars::Schema;

macro_rules! switch {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        table! {
            $(#[$meta])*
            pub struct $name {
                $($fields)*
                /// Product that supplies the values of all keys that are not written here. Default:
                /// none: such keys have the defaults below.
                preset: Preset,
                /// Buffer memory. With `sharing = "static"` it is that of each queue, also in
                /// packets, as in `"100packets"`; otherwise that of the whole switch. Default
                /// `"32MB"`: Trident 3, the shallow switch of the Hadoop study; with `"conweave"`
                /// `"9MiB"`, with `"hpcc"` `"32MiB"`.
                buffer: QueueSize,
                /// Rule by which queues share the buffer. Default `"dynamic"`, `"static"` if
                /// `buffer` is in packets, `"voq"` if there is `[switch.voq]`.
                sharing: Sharing,
                /// With `sharing = "dynamic"`: a queue may hold `alpha` times the free memory
                /// (Choudhury and Hahne 1998). Default 1, as in the ns-3 RDMA simulators; SONiC
                /// gives lossy queues of Trident 3 8 (`dynamic_th` 3). With `"sonic"` it limits
                /// lossy queues at egress: default 8; with `"conweave"` it limits all queues at
                /// egress: default 1.
                alpha: f64,
                /// With `sharing = "dynamic"`: bytes that each queue may always hold, independently
                /// of the other queues. Default `"0B"`; SONiC has 1792 B on Trident 3. With
                /// `"sonic"` it applies to lossy queues: default `"1792B"`; with `"hpcc"` to every
                /// port and priority: default `"4KiB"`.
                reserved: Size,
                /// Accounting and limits of the memory management unit, with `sharing = "sonic"`,
                /// `"conweave"` or `"hpcc"`. Default: every key has its own default.
                mmu: MmuKeys,
                /// Priority flow control, or `"off"`. It needs `sharing = "sonic"`, `"conweave"`,
                /// `"hpcc"` or `"voq"`. Default `"off"`.
                pfc: Or<Off, PfcKeys>,
                /// Whether the switch obeys PAUSE frames of its peers. Default: true with `pfc`, false without.
                honours_pause: bool,
                /// With `sharing = "voq"`: the virtual output queues of a deep-buffer switch.
                /// Default: every key has its own default.
                voq: VoqKeys,
                /// Frames that count in a queue's length. Default `"through_transmission"`,
                /// or `"before_transmission"` with a device queue.
                queue_length: QueueLength,
                /// Size in packets of a FIFO between each port's queues and its transmitter. Frames
                /// in it no longer count for buffer, marking and discipline. Default 0; ns-3's
                /// queue discs have a device queue of 1 packet behind them.
                device_queue: u32,
                /// With `sharing = "static"`: whether a frame is dropped if the queue including it
                /// would be above the limit (`"above"`), or already if it would reach the limit
                /// (`"at_or_above"`, ns-2's convention). Default `"above"`.
                drop_when: Compare,
                /// ECN marking in each queue, or `"off"`. Default `"off"`.
                ecn: Or<Off, EcnKeys>,
                /// Queue discipline that controls delay, instead of `ecn`, or `"off"`. Default
                /// `"off"`.
                aqm: Or<Off, AqmKeys>,
                /// Trimming: if a queue is full, data frames are cut to their headers, for
                /// `kind = "ndp"` in `[host.transport]`. Default: none: a full queue drops them.
                trimming: TrimKeys,
                /// Order in which a port sends. Default `"fifo"`, or the order that follows from
                /// the `queue` blocks.
                scheduling: SchedulingKind,
                /// With `scheduling = "strict_priority"` and without `queue` blocks: number of
                /// queues per port, 2 to 8. Priority p goes to queue min(p, queues−1), and the
                /// highest queue is served first. Default 8.
                priorities: u8,
                /// With `scheduling = "dwrr"` or `"ets"`: bytes per turn for a weight of 1, or for the least bandwidth. Default: a full frame.
                quantum: Size,
                /// Point at which a frame may leave: after all of it has arrived, or after its
                /// header. Default `"store_and_forward"`.
                forwarding: Forwarding,
                /// With `forwarding = "cut_through"`: number of bytes that must have arrived before
                /// a frame may leave. Default `"128B"`.
                cut_through_header: Size,
                /// Pipeline latency added to every frame between its arrival and its entry into the
                /// output queue. Default `"0ns"`, as in the ns-3 simulators; shallow switches of
                /// today take 500 to 800 ns.
                latency: Duration,
                /// Processor that handles arriving frames, or `"off"`: handling takes no time.
                /// Default `"off"`. In an override the whole value is replaced.
                processor: Or<Off, ProcessorKeys>,
                /// Choice among equal-cost next hops. Default `"ecmp"`. In an override the whole value is replaced.
                #[serde(default)]
                #[schemars(schema_with = "afflux_config::name_or_table::<BalanceKeys>")]
                balance: BalanceKeys,
                /// Hash that selects paths. Default `"own_seed"`; with
                /// `run.compat = "conweave-ns3"` that is `"murmur3"`.
                hash: RouteHash,
                /// Queues of each port, by class, 2 to 8 of them. In an override all queues are replaced. Default: none: one queue, or with
                /// `scheduling = "strict_priority"` as many as `priorities` says.
                queue: Vec<Queue>,
            }
        }
    };
}

switch! {
    /// Settings of all switches.
    #[derive(Default)]
    pub struct Switch {
        /// Switches with other settings. Later overrides win. Default: none: all switches are
        /// alike.
        #[serde(rename = "override", default, skip_serializing_if = "Vec::is_empty")]
        pub overrides: Vec<SwitchOverride>,
    }
}

switch! {
    /// Settings of some switches. Missing keys have their values from `[switch]`.
    #[schemars(transform = defaults_of_switch)]
    pub struct SwitchOverride {
        /// Names of switches: `"leaf*"`, `["spine0", "spine1"]`.
        #[serde(rename = "match")]
        pub matching: Names,
    }
}

/// Sets the description of each default in an override: the keys of `[switch]` default to their
/// values in `[switch]` there.
fn defaults_of_switch(schema: &mut Schema) {
    let keys = schema.get_mut("properties").and_then(|keys| keys.as_object_mut());
    for (name, key) in keys.into_iter().flatten().filter(|(name, _)| *name != "match") {
        let about = key["description"].as_str().unwrap_or_default();
        key["description"] =
            format!("{about} In an override the default is that of `[switch] {name}`.").into();
    }
}

/// Calls a macro with the keys that `[switch]` and its overrides share.
macro_rules! every_key {
    ($with:ident) => {
        $with!(preset buffer sharing alpha reserved mmu pfc honours_pause voq queue_length device_queue drop_when ecn aqm trimming scheduling priorities quantum forwarding cut_through_header latency processor balance hash queue)
    };
}

impl SwitchOverride {
    /// Returns the keys of this override as those of a switch.
    pub fn keys(&self) -> Switch {
        macro_rules! copy {
            ($($name:ident)*) => { Switch { $($name: self.$name.clone(),)* overrides: Vec::new() } };
        }
        every_key!(copy)
    }

    /// Replaces the keys of this override by `keys`.
    pub fn set_keys(&mut self, keys: Switch) {
        macro_rules! take {
            ($($name:ident)*) => { $(self.$name = keys.$name;)* };
        }
        every_key!(take);
    }
}

words! {
    /// Point at which a frame may leave:
    pub enum Forwarding {
        /// after its last bit has arrived.
        StoreAndForward,
        /// after its header, if the output is idle and not faster than the input; otherwise after
        /// its last bit.
        CutThrough,
    }
}
