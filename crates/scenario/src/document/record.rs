//! `[record]`: what to write down.

use super::{Duration, Names, Off, Or, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to write down beside one row per flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Split every flow's completion time by cause. Default `true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<bool>,
    /// Series of queues and counters (`ports.parquet`), or `"off"`. Default `"off"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<Or<Off, Ports>>,
    /// Count frames per flow and path (`paths.parquet`). Default `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<bool>,
    /// Bytes sent over each switch's uplinks in windows of this length (`imbalance.parquet`), or `"off"`. Default `"off"`; ConWeave's
    /// figures have 100 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<Or<Off, Duration>>,
    /// Reorder queues of each ToR and port, with `balance = { kind = "conweave" }`, at this interval (`reorder.parquet`), or `"off"`. Default
    /// `"off"`; ConWeave's figures have 10 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Or<Off, Duration>>,
    /// Round trips of every TCP connection and MPTCP subflow as its sender measures them (`round_trips.parquet`). Default `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<bool>,
    /// Gaps between the frames of a flow where they leave a port (`gaps.parquet`), at the ports of: `"switches"`, `"hosts"`, `"all"`, or names as in
    /// `["leaf*", "host0"]`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Names>,
    /// Who stood in front of whom, by class of traffic (`waits.parquet`, and in `afflux explain`), at the ports of: as `gaps`. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Names>,
    /// Links to capture: `"host0>leaf0"` is what host0 sends to leaf0, `"host0-leaf0"` both directions in one file. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Names>,
    /// Bytes kept of each captured frame, from `"96B"` (all headers) to `"65535B"`. Default `"96B"`; tcpdump keeps whole frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snaplen: Option<Size>,
}

/// Series of queues and counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    /// A row per port, queue and interval. Default `"1s"`, as switches are polled: SONiC's flex counters read ports every second and queues every
    /// ten; shorter ones see what operators do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// Whose ports: `"switches"`, `"hosts"`, `"all"`, or names as in `["leaf*", "host0"]`. Default `"switches"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Names>,
}
