//! `[record]`: what to write down.

use super::{Duration, Names, Off, Or};
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
    /// Directions of links to capture: `"host0>leaf0"` is what host0 sends to leaf0. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<Names>,
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
