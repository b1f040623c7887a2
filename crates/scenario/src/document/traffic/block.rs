//! Keys that all kinds of `[[traffic]]` blocks share.

use super::deadline::Deadline;
use afflux_config::{Duration, Off, Or};

/// Defines the block type of a kind of traffic, with the keys that all kinds share.
macro_rules! block {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        afflux_config::table! {
            $(#[$meta])*
            pub struct $name {
                /// Name of the block. Its random draws depend only on this name and the seed. Default: `"traffic"` and the block's position
                /// from 0.
                name: String,
                /// Class of the block's flows in results. Default `"default"`; any other class
                /// takes precedence over a flow list's column `class`.
                class: String,
                /// Priority of the block's flows at switches and NICs with several queues, 0
                /// (lowest) to 7. Default 0, or what a flow list's columns `priority` and `dscp`
                /// say.
                priority: u8,
                /// DSCP of the block's flows, 0 to 63, instead of `priority`.
                /// `[host] dscp_to_priority` gives their priority. Default: none: `priority` holds.
                dscp: u8,
                /// Simulated time at which the block begins. Start times in files count from it.
                /// Default `"0s"`.
                start: afflux_config::Duration,
                /// Simulated time at which the senders of the block's flows end. A flow that is not
                /// complete by then has the status `terminated`, with the bytes that have arrived.
                /// A flow that would start later is not sent. Default: none: senders send
                /// everything.
                stop: afflux_config::Duration,
                /// Deadline of each flow, from its start: a time, a table of a distribution, or `"off"`. Default `"off"`; a flow list's column
                /// `deadline_ns` takes precedence.
                deadline: afflux_config::Or<afflux_config::Off, $crate::document::Deadline>,
                /// Number that is added to `[run] seed` for this block's draws. Default 0.
                seed: u64,
                /// Whether flows between the same two hosts share one TCP connection, one flow
                /// after the other, instead of one connection each. The later flows then start with
                /// the connection's window and round trip. Default `false`.
                persistent: bool,
                $($fields)*
            }
        }
        impl $name {
            pub fn common(&mut self) -> $crate::document::Common<'_> {
                $crate::document::Common {
                    name: &mut self.name,
                    class: &mut self.class,
                    priority: &mut self.priority,
                    dscp: &mut self.dscp,
                    start: &mut self.start,
                    stop: &mut self.stop,
                    deadline: &mut self.deadline,
                    seed: &mut self.seed,
                    persistent: &mut self.persistent,
                }
            }
        }
    };
}

/// Mutable references to the keys that all kinds of traffic share.
pub struct Common<'a> {
    pub name: &'a mut Option<String>,
    pub class: &'a mut Option<String>,
    pub priority: &'a mut Option<u8>,
    pub dscp: &'a mut Option<u8>,
    pub start: &'a mut Option<Duration>,
    pub stop: &'a mut Option<Duration>,
    pub deadline: &'a mut Option<Or<Off, Deadline>>,
    pub seed: &'a mut Option<u64>,
    pub persistent: &'a mut Option<bool>,
}
