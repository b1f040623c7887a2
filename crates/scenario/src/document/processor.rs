//! Processors of routers and hosts.

use super::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A processor that deals with the frames that arrive by any link, one after the other: a router made of a personal computer, or a host whose kernel
/// does something else at times. What finds no room is counted in `in_discards`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// What a frame takes: `"25us"` is 40,000 packets per second. Default `"0ns"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_time: Option<Duration>,
    /// What the arrival of a frame takes on top, of all other work, whether the frame is dropped or not: above its limit such a processor does
    /// less (receive livelock, Mogul and Ramakrishnan 1997). Default `"0ns"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt_time: Option<Duration>,
    /// Frames that wait for it at most, the one that it is at included. Default 300 (Linux 2.2 and 2.4: `netdev_max_backlog`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<u32>,
    /// It stops at times, as a receiver whose kernel writes to its disk (the KEK talk of 2001). Default: it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall: Option<Stall>,
}

/// From the start on in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stall {
    /// It works for so long.
    pub work: Duration,
    /// Then it does nothing for so long.
    pub pause: Duration,
}
