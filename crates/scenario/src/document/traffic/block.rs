//! The keys that all kinds of traffic have.

use super::deadline::Deadline;
use afflux_config::{Duration, Off, Or};

/// Adds the keys that all kinds of traffic have.
macro_rules! block {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        afflux_config::table! {
            $(#[$meta])*
            pub struct $name {
                /// Name of the block. Its random draws depend only on this name and the seed. Default: `"traffic"` and the block's position
                /// from 0.
                name: String,
                /// Class of its flows in results. Default `"default"`; any other class takes precedence over a flow list's column `class`.
                class: String,
                /// Priority of its flows for switches and NICs with several queues, 0 (lowest) to 7. Default 0, or what a flow list's columns `priority`
                /// and `dscp` say.
                priority: u8,
                /// DSCP of its flows, 0 to 63, instead of `priority`; `[host] dscp_to_priority` gives the priority. Default: none: `priority`
                /// holds.
                dscp: u8,
                /// When the block begins; starts in files count from then. Default `"0s"`.
                start: afflux_config::Duration,
                /// When the senders of its flows end, from the start of the run: a flow that is not done by then has the status `terminated`, with what has
                /// arrived, and a flow that would start later is not sent. Default: none: they send everything.
                stop: afflux_config::Duration,
                /// Deadline of each flow, from its start: a time, a table of a distribution, or `"off"`. Default `"off"`; a flow list's column
                /// `deadline_ns` takes precedence.
                deadline: afflux_config::Or<afflux_config::Off, $crate::document::Deadline>,
                /// Added to `[run] seed` for this block's draws. Default 0.
                seed: u64,
                /// Flows between the same two hosts use one TCP connection one after the other, instead of one connection each, so its window and its
                /// round trip are known. Default `false`.
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

/// The keys that all kinds of traffic have.
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
