//! `[host]`: NICs, frame sizes and transports.

use super::{Kernel, Python};
use afflux_config::{Duration, Names, Off, Or, Size, Unlimited, Word, form, table};
use afflux_net::spec::{
    EcnKeys, NicQueueKeys, PacerKeys, ProcessorKeys, QdiscKeys, QueueSize, SchedulingKind,
    StormKeys, TimingKeys, TransportKeys,
};
use schemars::{Schema, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

table! {
    /// Settings of all hosts.
    #[derive(Default)]
    pub struct Host {
        /// Delay of NIC and stack, added once when a frame leaves a host and once when a frame
        /// arrives. Default `"0ns"`; the pFabric authors' ns-2 has 2.5 us.
        delay: Duration,
        /// Limit of the NIC's queue; frames that do not fit are dropped. Default `"unlimited"`: a sender waits for its NIC.
        queue: Or<Unlimited, QueueSize>,
        /// Order in which the NIC sends. Default `"fifo"`, or the order that follows from the
        /// `nic_queue` blocks.
        scheduling: SchedulingKind,
        /// With `scheduling = "strict_priority"` and without `nic_queue` blocks: number of queues, 2 to 8. Default 8.
        priorities: u8,
        /// With `scheduling = "dwrr"` or `"ets"`: bytes per turn for a weight of 1, or for the least bandwidth. Default: a full frame.
        quantum: Size,
        /// Queues of each NIC, by class, 2 to 8 of them. Default: none: one queue, or with `scheduling = "strict_priority"` as many as `priorities`
        /// says.
        nic_queue: Vec<NicQueueKeys>,
        /// Priority of each DSCP, for blocks of traffic with `dscp`, as in `{ 26 = 3 }`. Default:
        /// each missing DSCP has its priority in SONiC: 3 → 3, 4 → 4, 5 → 2, 8 → 0, 46 → 5, 48 → 6,
        /// all others → 1.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub dscp_to_priority: BTreeMap<String, u8>,
        /// Whether the host uses explicit congestion notification: it asks for ECN if its transport
        /// does, and agrees when a peer asks. If `false`, no connection from or to the host uses
        /// ECN, and DCTCP behaves as Reno there, as in Linux. `false` is Linux's `tcp_ecn = 0` on a
        /// host without DCTCP; DCTCP asks and agrees whatever `tcp_ecn` is. Default `true`.
        ecn: bool,
        /// ECN marking in the NIC's queues, as on switches, or `"off"`. Default `"off"`; the
        /// pFabric authors' ns-2 also marks at NICs.
        nic_ecn: Or<Off, EcnKeys>,
        /// Queueing discipline of the kernel, which holds frames back while the NIC has enough: a
        /// name, or a table with `kind` and parameters. Default: `"fq_codel"` if the default of
        /// `timing` is not `"exact"`, some traffic is TCP, and no host has `queue`, `scheduling`,
        /// `nic_queue`, `nic_ecn` or `pacer`; otherwise `"off"`: the NIC takes everything at once.
        /// RDMA frames are not held back.
        #[serde(default)]
        #[schemars(schema_with = "afflux_config::name_or_table::<QdiscKeys>")]
        qdisc: QdiscKeys,
        /// With `qdisc`: limit in bytes on the frames that the NIC holds, including the frame in
        /// transmission (byte queue limits). At the limit it takes no more frames from the kernel.
        /// Default: two frames and what the link sends in 20 us, below 10 Gbps in 50 us, which is a
        /// NIC's time until it tells the kernel that frames have left.
        bql: Size,
        /// With `qdisc`: number of queues of the NIC, 1 to 64. The NIC serves them in turn. Each
        /// has its own discipline (Linux's `mq`), and a hash assigns each flow to one of them.
        /// Default 1.
        hardware_queues: u8,
        /// HULL's pacer before the NIC, or `"off"`. Default `"off"`; `{}` has the authors' parameters.
        pacer: Or<Off, PacerKeys>,
        /// Whether the NIC obeys PAUSE frames of its switch. Default `true`.
        honours_pause: bool,
        /// Fault for tests: the NIC repeatedly sends PAUSE frames to its switch. Default: none: no
        /// storm.
        storm: StormKeys,
        /// Processor that handles arriving frames, or `"off"`: handling takes no time. Default
        /// `"off"`.
        processor: Or<Off, ProcessorKeys>,
        /// Timing of real hosts (interrupts, hand-over to the NIC, gaps between frames, clocks), or
        /// `"exact"` for none of it. With `"exact"`, simultaneous senders stay in phase, and at a
        /// full queue one of them can take every free place. Default: `{}` if all traffic but
        /// datagrams uses Linux's TCP (`stack = "linux"`) or RDMA; otherwise, and always with
        /// `run.compat` or `run.engine = "ideal"`, `"exact"`.
        timing: Or<Exact, TimingKeys>,
        /// Frame sizes: the name of a profile or a table. Default `"ethernet"`.
        wire: Wire,
        /// Largest packet of the profile's network layer. Together with the profile's headers it
        /// gives the default of `mss`. Default: the profile's, `"1500B"` for `"ethernet"`.
        mtu: Size,
        /// Transport of all traffic that names no other. Default: Linux's TCP with CUBIC,
        /// `{ kind = "tcp", stack = "linux", congestion = "cubic" }`.
        transport: TransportKeys,
        /// Further transports by name, for `transport = "NAME"` in `[[traffic]]`. Default: none: `[host.transport]` is the only one.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub transports: BTreeMap<String, TransportKeys>,
        /// Congestion control written in Python. Default: the built-in one that `congestion` names.
        python: Python,
        /// Hosts that are real Linux kernels in simulated time. Default: none: all hosts are models.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub kernel: Vec<Kernel>,
        /// Hosts with other settings. Later overrides win. Default: none: all hosts are alike.
        #[serde(rename = "override", default, skip_serializing_if = "Vec::is_empty")]
        pub overrides: Vec<HostOverride>,
    }

    /// Settings of some hosts. Missing keys have their values from `[host]`.
    pub struct HostOverride {
        /// Names of hosts: `"host0"`, `["host1", "host2?"]`.
        #[serde(rename = "match")]
        pub matching: Names,
        /// Delay of the NIC and stack, added once when a frame leaves and once when one arrives. Default: that of `[host]`.
        delay: Duration,
        /// Limit of the NIC's queue. Default: that of `[host]`.
        queue: Or<Unlimited, QueueSize>,
        /// Order in which the NIC sends. Default: that of `[host]`.
        scheduling: SchedulingKind,
        /// With `scheduling = "strict_priority"`: number of queues, 2 to 8. Default: that of `[host]`.
        priorities: u8,
        /// Whether the host uses explicit congestion notification. Default: that of `[host]`.
        ecn: bool,
        /// ECN marking of the NIC's queues, or `"off"`. Default: that of `[host]`.
        nic_ecn: Or<Off, EcnKeys>,
        /// Queueing discipline of the kernel; the whole value is replaced. Default: that of `[host]`.
        #[serde(default)]
        #[schemars(schema_with = "afflux_config::name_or_table::<QdiscKeys>")]
        qdisc: QdiscKeys,
        /// With `qdisc`: limit in bytes on the frames that the NIC holds. Default: that of
        /// `[host]`.
        bql: Size,
        /// With `qdisc`: queues of the NIC, 1 to 64. Default: that of `[host]`.
        hardware_queues: u8,
        /// Whether the NIC obeys PAUSE frames of its switch. Default: that of `[host]`.
        honours_pause: bool,
        /// Fault for tests: the NIC repeatedly sends PAUSE frames to its switch. Default: that of
        /// `[host]`.
        storm: StormKeys,
        /// Processor that handles arriving frames, or `"off"`; the whole value is replaced.
        /// Default: that of `[host]`.
        processor: Or<Off, ProcessorKeys>,
        /// Timing of real hosts, or `"exact"`; the whole value is replaced. Default: that of `[host]`.
        timing: Or<Exact, TimingKeys>,
        /// With `scheduling = "dwrr"` or `"ets"`: bytes per turn. Default: that of `[host]`.
        quantum: Size,
        /// Queues of the NIC, by class; all queues are replaced. Default: that of `[host]`.
        nic_queue: Vec<NicQueueKeys>,
        /// Name in `[host.transports]`: transport of these hosts in blocks of traffic that name
        /// none. Default: `[host.transport]`. A DCTCP sender does not use explicit congestion
        /// notification, as Reno, to hosts whose own transport is not DCTCP: Linux refuses ECN to a
        /// SYN that is itself ECN-capable.
        transport: String,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exact;
impl Word for Exact {
    const WORD: &'static str = "exact";
}

/// Frame sizes: the name of a profile, or a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Wire {
    Profile(String),
    Table(WireTable),
}

table! {
    /// Frame sizes in bytes. A frame occupies its size in buffers, and `gap` bytes more on the
    /// link.
    #[derive(Default)]
    pub struct WireTable {
        /// Profile that supplies the values of missing keys. Default `"ethernet"`.
        base: String,
        /// Name in results. Default `"custom"`.
        name: String,
        /// Bytes of all headers and trailers of a data frame. Default: that of `base`, `"58B"` for `"ethernet"`.
        data_header: Size,
        /// Size of an acknowledgement without options. Default: that of `base`, `"58B"` for `"ethernet"`.
        ack: Size,
        /// Size of an RDMA congestion notification in a frame of its own (`cnp = "packet"`).
        /// Default: `ack` if it is written, otherwise that of `base`.
        cnp: Size,
        /// Size of a SYN or SYN-ACK. Default: that of `base`, `"70B"` for `"ethernet"`.
        syn: Size,
        /// Additional bytes of an acknowledgement with SACK blocks: `sack_base` plus `sack_block` for each. Default: that of `base`, `"4B"` for
        /// `"ethernet"`.
        sack_base: Size,
        /// Bytes of each SACK block in an acknowledgement, see `sack_base`. Default: that of `base`, `"8B"` for `"ethernet"`.
        sack_block: Size,
        /// Size to which smaller frames are padded. Default: that of `base`, `"64B"` for
        /// `"ethernet"`.
        min_frame: Size,
        /// Preamble, start delimiter and inter-frame gap, which occupy the link but no buffer.
        /// Default: that of `base`, `"20B"` for `"ethernet"`.
        gap: Size,
        /// The part of `data_header` that counts towards the MTU (network and transport layer). Default: that of `base`, `"40B"` for
        /// `"ethernet"`.
        mtu_header: Size,
    }
}

form! {
    Wire<'de>, deserialize_any, "the name of a profile, or a table" {
        fn visit_str<E: de::Error>(self, name: &str) -> Result<Wire, E> {
            Ok(Wire::Profile(name.to_string()))
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Wire, A::Error> {
            WireTable::deserialize(MapAccessDeserializer::new(map)).map(Wire::Table)
        }
    }
    |generator| {
        let profiles: Vec<Schema> = crate::wire::PROFILES.iter().map(|p| json_schema!({ "const": p.name, "description": p.about })).collect();
        json_schema!({
            "description": "Frame sizes: a profile's name or a table.",
            "anyOf": [{ "oneOf": profiles }, generator.subschema_for::<WireTable>()]
        })
    }
}
