//! `[[switch.queue]]` and `[[host.nic_queue]]`: the queues of a port, their priorities and their
//! service rules.

use crate::queue::limit::QueueSize;
use crate::queue::marking::keys::EcnKeys;
use afflux_config::schemars::json_schema;
use afflux_config::serde::de::Error;
use afflux_config::serde::{Serialize, Serializer};
use afflux_config::{Off, Or, Size, form, keys};

keys! {
    /// Keys of one queue that decide which priorities it takes and how it is served.
    pub struct ServiceKeys as "QueueService" => ServiceOfQueue {
        @{
            /// Number of the queue, from 0, as in `ports.parquet`. Among strict queues the
            /// highest number is served first. Default: the block's position.
            index: u8;
            /// Name of the queue, for readers. Default: `"queue"` and its number.
            name: String;
            /// Priorities (0 to 7) whose frames go to this queue. A priority that no queue
            /// names goes to queue 0. SONiC's queues are numbered as its traffic classes.
            /// Default: if no queue names any, each priority p whose min(p, queues−1) is the
            /// number of the queue; otherwise none.
            priorities: Vec<u8>;
            /// Whether this queue is served before all queues that are not strict. Default:
            /// `false`, with `scheduling = "strict_priority"` `true`.
            strict: bool;
            /// With `scheduling = "dwrr"`: share of the bandwidth that strict queues leave, as a weight, 1 to 10,000. SONiC has 14 (queues 0, 1, 2, 5, 6)
            /// and 15 (3 and 4). Default: required with `"dwrr"`, unless the queue is strict.
            weight: u32;
            /// With `scheduling = "ets"`: share of the bandwidth that strict queues leave, in whole percent; all shares add up to 100 %.
            /// Default: required with `"ets"`, unless the queue is strict.
            bandwidth: Percent;
        };
    }
}

keys! {
    /// A queue of every port of a switch. Its service rule is `strict = true`, `weight` or `bandwidth`.
    pub struct QueueKeys as "Queue" => SwitchQueue {
        @service: ServiceKeys;
        @{
            /// ECN marking of this queue, or `"off"`. Default: that of `[switch]`. SONiC marks queues 3 and 4 only, between 1 MiB and 2 MiB with up
            /// to 5 %.
            ecn: Or<Off, EcnKeys>;
            /// With `sharing = "dynamic"` and `"sonic"`: `alpha` of `[switch]` for this queue (SONiC's
            /// `dynamic_th` n is 2^n). Default: that of `[switch]`.
            alpha: f64;
            /// With `sharing = "dynamic"` and `"sonic"`: `reserved` of `[switch]` for this queue.
            /// Default: that of `[switch]`.
            reserved: Size;
            /// Limit of this queue in bytes or packets. With `sharing = "static"` it replaces
            /// `[switch] buffer`. With `"dynamic"` and `"sonic"` it applies in addition to the dynamic
            /// threshold. With `"voq"` it applies to each virtual output queue in addition to
            /// `max_bytes` and `max_time`, but not to lossless priorities. Default: none: no limit of
            /// its own.
            buffer: QueueSize;
        };
    }
}

keys! {
    /// A queue of every NIC. Its service rule is `strict = true`, `weight` or `bandwidth`.
    pub struct NicQueueKeys as "NicQueue" => NicQueue {
        @service: ServiceKeys;
    }
}

impl ServiceKeys {
    /// True if the key `share` (`"weight"` or `"bandwidth"`) is written.
    pub fn has(&self, share: &str) -> bool {
        if share == "weight" { self.weight.is_some() } else { self.bandwidth.is_some() }
    }
}

/// A whole number of percent: `"50%"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percent(pub u8);

form! {
    Percent<'de>, deserialize_str, "a whole percentage in quotes from \"1%\" to \"100%\"" {
        fn visit_str<E: Error>(self, text: &str) -> Result<Percent, E> {
            let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
            let number = number.filter(|number| (1..=100).contains(number));
            number.map(Percent).ok_or_else(|| E::custom(format!("\"{text}\": write a whole percentage from \"1%\" to \"100%\"")))
        }
    }
    |_| {
        json_schema!({ "type": "string", "pattern": r"^\s*[0-9]+\s*%\s*$", "description": "A whole percentage from \"1%\" to \"100%\"." })
    }
}
impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}%", self.0))
    }
}
