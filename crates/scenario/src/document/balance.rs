//! `[switch] balance`: choice among equal-cost next hops.

use super::{Duration, Off, Or, Size};
use afflux_config::tagged;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

tagged! {
    /// Choice among equal-cost next hops: a name, or a table with `kind` and parameters. Acknowledgements and control frames go by hash but where it
    /// says otherwise; traffic within a rack is not touched.
    pub enum Balance, default "kind" {
        /// One path per flow by hash (RFC 2992).
        "ecmp" => Ecmp,
        /// As `ecmp`, but where a next hop fails no other's flows move (resilient hashing).
        "resilient" => Resilient,
        /// By hash with unequal shares (Zhou et al., EuroSys 2014); acknowledgements too.
        "wcmp" => Wcmp,
        /// Every frame draws a next hop, acknowledgements too.
        "spray" => Spray,
        /// Every frame takes the next one in turn, acknowledgements too.
        "round_robin" => RoundRobin,
        /// Every data frame to the least loaded of a few next hops (Ghorbani et al., SIGCOMM 2017).
        "drill" => Drill,
        /// Flowlets on random paths, chosen by the source's ToR (Vanini et al., NSDI 2017).
        "letflow" => LetFlow,
        /// Flowlets on the least congested path, chosen by the source's ToR (Alizadeh et al., SIGCOMM 2014).
        "conga" => Conga,
        /// Flowlets or frames to the port of best quality (dynamic load balancing, adaptive routing and switching of switch ASICs).
        "dlb" => Dlb,
        /// The same, and next hops tell ToRs of their own links (global load balancing). On all switches.
        "glb" => Glb,
        /// Every frame to a port where little waits before it (Zats et al., SIGCOMM 2012); acknowledgements too.
        "detail" => Detail,
        /// Pieces of flows over all paths in turn, from the source's ToR (He et al., SIGCOMM 2015).
        "presto" => Presto,
        /// Rerouting at the source's ToR, reordering at the destination's (Song et al., SIGCOMM 2023).
        "conweave" => Conweave,
    }
}

/// The name alone, where parameters keep their defaults.
pub fn name_or_table(generator: &mut SchemaGenerator) -> Schema {
    let table = generator.subschema_for::<Balance>();
    json_schema!({ "anyOf": [table, { "enum": Balance::KINDS }] })
}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ecmp {}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resilient {}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spray {}

/// No parameters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundRobin {}

/// Shares of next hops.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wcmp {
    /// By name of the next hop (`*` and `?` as in `override`; of several that match the last in the order of the alphabet counts), 1 to 1000000; 1 where nothing is said. Default: the
    /// capacity of the shortest paths behind each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<BTreeMap<String, u32>>,
    /// Size of the table in which a next hop has as many entries as its share, 2 to 65536, or `"off"` for exact shares. Default `"off"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Or<Off, u32>>,
}

/// The paper's DRILL(d, m).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drill {
    /// Next hops drawn for every frame: d. Default 2 (the paper; ConWeave's evaluation).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u32>,
    /// Best next hops remembered from the frame before: m. Default 1 (the same).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
}

/// Flowlets on random paths.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LetFlow {
    /// A frame that comes later than this after the one before of its flow begins a flowlet. Default `"500us"` (the paper; recalled); ConWeave's
    /// evaluation has `"100us"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Duration>,
}

/// Flowlets on the least congested path.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conga {
    /// A frame that comes later than this after the one before of its flow begins a flowlet. Default `"500us"` (the paper; recalled); ConWeave's
    /// evaluation has `"100us"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Duration>,
    /// Interval at which the rate estimators lose the part `alpha`: Tdre. Default `"32us"`, which with `alpha` gives the paper's time constant
    /// Tdre / alpha of 160 us (recalled); ConWeave's evaluation has `"50us"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tdre: Option<Duration>,
    /// That part, between 0 and 1. Default 0.2 (ConWeave's evaluation).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Bits of a congestion metric, 1 to 8: Q. Default 3 (the paper).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits: Option<u8>,
    /// A metric that has not been reported again for this long is forgotten step by step. Default `"10ms"` (the paper; recalled); ConWeave's
    /// evaluation has `"500us"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aging: Option<Duration>,
}

/// DeTail's adaptive load balancing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detail {
    /// A port where so many bytes of the frame's priority and above wait is less favoured, and where so many do is to be avoided. Default
    /// `["16kB", "64kB"]` (the paper; recalled).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thresholds: Option<[Size; 2]>,
}

/// Port quality: of its own ports with `dlb`, of those behind next hops too with `glb`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dlb {
    /// A flow that has been idle for longer may change its port, or `"off"` for every frame by itself. Default `"256us"` (SONiC's
    /// `flowlet_idle_time`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Or<Off, Duration>>,
    /// Interval at which the past load, a moving average, is brought up to date; with `glb` next hops tell what has changed then. Default `"16us"` (SONiC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_interval: Option<Duration>,
    /// Weight of the past load in a port's quality, 0 to 255. Default 16 (SONiC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub past_load_weight: Option<u32>,
    /// Weight of the queue in a port's quality, 0 to 255. Default 16 (SONiC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub future_load_weight: Option<u32>,
    /// A queue of so many bytes, or more, is as bad as it gets. Default `"256kB"` (a guess: 1000 cells of 256 B of SONiC's example).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub future_load_range: Option<Size>,
    /// Steps of a port's quality, 1 to 256. Default 8 (a guess).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bands: Option<u32>,
}
/// The same keys.
pub type Glb = Dlb;

/// Pieces of flows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Presto {
    /// Bytes of frames in a piece. Default `"64KiB"` (the paper's flowcell).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flowcell: Option<Size>,
}

/// ConWeave (SIGCOMM 2023). The defaults are those of the leaf-spine fabrics of its authors' simulations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conweave {
    /// An RTT_REPLY is late after the path's propagation there and back and this; then the flow is rerouted. Default `"4us"`: 8 us (theta_reply)
    /// over two hops of 1 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_extra: Option<Duration>,
    /// A path of which a marked frame has come is avoided for so long (theta_path_busy). Default `"16us"`, as in the authors' runs; the paper's
    /// rule is the time to send `kmin`: 8 us for 100 kB at 100 Gb/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_busy: Option<Duration>,
    /// A flow that was silent for longer may take another path at once (theta_inactive). Default `"300us"`; on the authors' fat-trees 1 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inactive: Option<Duration>,
    /// Reordered frames are released so long after the TAIL should have come. Default `"16us"`; on lossless fat-trees 64 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_extra: Option<Duration>,
    /// How long a TAIL is waited for if no frame of the old path has been seen in its epoch, beside `flush_extra`. Default `"200us"`; on
    /// fat-trees 300 us (IRN) and 600 us (lossless).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_wait: Option<Duration>,
    /// A ToR forgets a flow that was silent for longer. Default `"2ms"`, as in the authors' simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<Duration>,
    /// Reorder queues of each port: a rerouted flow that finds none free goes on out of order. Default 24: the authors'
    /// Tofino2 at 100 Gb/s. With `[run] compat = "conweave-ns3"` there is no bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder_queues: Option<u16>,
}
