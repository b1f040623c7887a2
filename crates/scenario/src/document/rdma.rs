//! `kind = "rdma"` of `[host.transport]`.

use super::{Duration, Off, Or, Size, Speed};
use afflux_config::tagged;
use afflux_config::words;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// RDMA over converged Ethernet: a queue pair per flow, whose frames the NIC makes when its transmitter is free.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rdma {
    /// How losses are avoided or repaired. Default `"lossless"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<RdmaMode>,
    /// What sets the rate; all start at the NIC's. Default `"dcqcn"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<RdmaCongestion>,
    /// Payload of a full frame. Default: `mtu` less the profile's headers (1000 B for `"ns3rdma"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Size>,
    /// Bytes that may be unacknowledged, with go-back-N; IRN has `bdp`, Swift and HPCC their own. Default `"none"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<RdmaWindow>,
    /// Their number. Default: rate of the NIC times idle round trip of the flow's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_size: Option<Size>,
    /// How receivers tell of marks. Default: as the DCQCN parameters say, otherwise `"ack"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp: Option<Cnp>,
    /// With `cnp = "packet"`: least time between two of a flow. Default `"50us"` (the paper of DCQCN); newer NVIDIA adapters have 4 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_interval: Option<Duration>,
    /// What the hash of frames comes from, by which switches choose paths; needs `cnp = "ack"` unless it is the flow. Default `"flow"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "name_or_table")]
    pub entropy: Option<Entropy>,
    /// A frame out of order is notified of as a marked one is. Default `false`; `true` with `run.compat = "conweave-ns3"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cnp_out_of_order: Option<bool>,
    /// The same gap (go-back-N), or the same block beyond it (IRN), is not answered negatively again before. Default `"4us"` (ConWeave's ns-3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nack_interval: Option<Duration>,
    /// Time-out of go-back-N, from the last frame sent or acknowledgement. Default `"4ms"` (ConWeave's ns-3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto: Option<Duration>,
    /// Time-out of IRN with few frames in flight. Default `"100us"` (the paper of IRN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_low: Option<Duration>,
    /// With more. Default `"320us"` (the paper of IRN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_high: Option<Duration>,
    /// How many are few. Default 3 (the paper of IRN).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_low_frames: Option<u32>,
    /// Bytes that IRN may have in flight. Default: rate of the NIC times idle round trip of the flow's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bdp: Option<Size>,
    /// Priority of acknowledgements and notifications, 0 to 7. Default: that of the flow. NICs send them before data in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_priority: Option<u8>,
    /// Parameters of DCQCN.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcqcn: Option<Dcqcn>,
    /// Parameters of TIMELY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timely: Option<Timely>,
    /// Parameters of Swift.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub swift: Option<Swift>,
    /// Parameters of HPCC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hpcc: Option<HpccControl>,
}

tagged! {
    /// What the hash of frames comes from: a name, or a table with `kind` and parameters.
    pub enum Entropy, default "kind" {
        /// The flow: one path for all of its frames.
        "flow" => OfFlow,
        /// Each frame its own; those of frames that came unmarked are used again (REPS).
        "reps" => Reps,
    }
}

/// The name alone, where parameters keep their defaults.
fn name_or_table(generator: &mut SchemaGenerator) -> Schema {
    let table = generator.subschema_for::<Entropy>();
    json_schema!({ "anyOf": [table, { "enum": Entropy::KINDS }] })
}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfFlow {}

/// Recycled entropies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reps {
    /// Entropies that a sender keeps, 1 to 255. Default 8 (uet-htsim).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<u8>,
    /// After a time-out those kept are used in turn for so long, or `"off"`. Default `"off"`: uet-htsim freezes for 10 ms where switches trim, so that a
    /// time-out means a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Or<Off, Duration>>,
    /// Frames that draw theirs after that. Default 16 (uet-htsim).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explore: Option<u8>,
}

/// Parameters of HPCC.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HpccControl {
    /// Target utilisation. Default 0.95 (paper).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eta: Option<f64>,
    /// Round trips of additive increase before a multiplicative one. Default 5 (paper); HPCC's simulator has 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_stage: Option<u32>,
    /// Additive increase per round trip. Default `"80B"` (paper).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive: Option<Size>,
    /// Base round trip T. Default: the idle one of the flow's path; the paper has one a little above the longest of the fabric.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_rtt: Option<Duration>,
}

words! {
    /// How losses are avoided or repaired.
    pub enum RdmaMode {
        /// Switches pause (`switch.pfc`); go-back-N for what is lost all the same.
        Lossless,
        /// IRN: selective repeat, without flow control.
        Irn,
        /// IRN over switches that pause; without time-outs, as in ConWeave's ns-3.
        IrnPfc,
        /// Go-back-N without flow control.
        GbnNoPfc,
        /// Switches obey pauses of hosts (`switch.honours_pause`) but send none; go-back-N.
        SemiLossless,
    }
    /// What sets the rate.
    pub enum RdmaCongestion {
        /// Nothing: the NIC's rate.
        None,
        /// DCQCN: notifications of marks.
        Dcqcn,
        /// TIMELY: the gradient of the round trip.
        Timely,
        /// Swift: a window by delay.
        Swift,
        /// HPCC: a window by what switches write on frames: 42 B more on data and acknowledgements.
        Hpcc,
    }
    /// Bytes that may be unacknowledged.
    pub enum RdmaWindow {
        /// Any number.
        None,
        /// Always the same.
        Fixed,
        /// In proportion to the rate.
        Scaled,
    }
    /// How receivers tell of marks.
    pub enum Cnp {
        /// By a bit in the acknowledgement (the simulators).
        Ack,
        /// By a frame of its own, at most one per flow in `cnp_interval` (adapters).
        Packet,
    }
    /// Where DCQCN's parameters come from.
    pub enum DcqcnParameters {
        /// Zhu et al., SIGCOMM 2015, for 40 Gbps.
        Paper,
        /// Zhu's simulator (bobzhuyb/ns3-rdma).
        Zhu,
        /// HPCC's simulator, `dcqcn`: as production adapters are set.
        Hpcc,
        /// HPCC's simulator, `dcqcn_paper`.
        HpccPaper,
        /// ConWeave's simulator.
        Conweave,
        /// NVIDIA's firmware defaults.
        Nvidia,
    }
}

/// Parameters of DCQCN.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dcqcn {
    /// Where the defaults of the keys below come from. Default `"paper"`. The simulators' rates of increase are for 25 Gbps and scale with the
    /// first host's link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<DcqcnParameters>,
    /// Weight of a notification in alpha.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub g: Option<f64>,
    /// Alpha at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_alpha: Option<f64>,
    /// Period of alpha's updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha_period: Option<Duration>,
    /// Notifications are looked for at the end of every such time; `"0ns"`: each cuts the rate at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decrease_period: Option<Duration>,
    /// Period of the timer that raises the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increase_period: Option<Duration>,
    /// Bytes sent after which the rate is raised too; `"0B"`: by time alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_counter: Option<Size>,
    /// Raises that only go back towards the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_recovery: Option<u32>,
    /// Additive increase of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive: Option<Speed>,
    /// Hyper increase of the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyper: Option<Speed>,
    /// Least rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Speed>,
    /// Every cut sets the target to the rate before it, not only the first after a raise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clamp_target: Option<bool>,
    /// Part of the rate that the first notification leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_rate: Option<f64>,
}

/// Parameters of TIMELY.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timely {
    /// Round trips below this raise the rate whatever the gradient. Default `"50us"` (paper).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_low: Option<Duration>,
    /// Round trips above this lower it. Default `"500us"` (paper).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub t_high: Option<Duration>,
    /// What the gradient is measured in. Default `"20us"` (paper).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<Duration>,
    /// Weight of the newest difference of round trips. Default 0.875 (HPCC's simulator).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// Multiplicative decrease. Default 0.8 (paper).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Additive increase. Default `"10Mbps"` per 10 Gbps of the first host's link (HPCC's simulator).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additive: Option<Speed>,
    /// Completions with a falling round trip after which so many steps are made at once. Default 5 (paper).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hyper_after: Option<u32>,
    /// Bytes after whose acknowledgement the rate is decided on. Default `"16kB"` (paper: 16 to 64 KB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Size>,
    /// Least rate. Default `"100Mbps"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rate: Option<Speed>,
}

/// Parameters of Swift; windows in frames. Defaults as in csg-htsim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Swift {
    /// Target delay without switches. Default `"20us"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Duration>,
    /// More of it per switch of the path. Default: `base` divided by 6.55.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop: Option<Duration>,
    /// Up to so much more for small windows. Default: five times `base`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fs_range: Option<Duration>,
    /// Window that gets all of it. Default 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fs_min: Option<f64>,
    /// Window from which on there is none. Default 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fs_max: Option<f64>,
    /// Additive increase per round trip. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ai: Option<f64>,
    /// Decrease per part of the delay that is too much. Default 0.8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Largest decrease. Default 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_mdf: Option<f64>,
    /// Initial window. Default 12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<f64>,
    /// Least window. Default 0.01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_window: Option<f64>,
    /// Largest window. Default 10000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_window: Option<f64>,
    /// Time-outs in a row that set the window to its least. Default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u32>,
}
