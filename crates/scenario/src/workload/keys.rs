//! Keys that all kinds of `[[traffic]]` blocks share.

use super::deadline::Deadline;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Off, Or, keys};
use afflux_traffic::names;
use afflux_units::{Span, Time};

/// Latest start: the latest time of a run.
pub const LATEST: Span = Span(Time::LATEST.0);

keys! {
    /// Keys of every block of traffic.
    pub struct BlockKeys as "Block" => Block(index: usize) of written {
        /// Name of the block. Its random draws depend only on this name and the seed.
        name: String = (name_at(index)) "`\"traffic\"` and the block's position from 0", check named;
        /// Class of the block's flows in results. Any class but the default takes precedence over a
        /// flow list's column `class`.
        class: String = "default", check named;
        /// Priority of the block's flows at switches and NICs with several queues, 0
        /// (lowest) to 7.
        priority: u8 = {written.dscp.is_none().then_some(0)} "0, or what a flow list's columns `priority` and `dscp` say",
            in 0 to 7 as "a priority from 0 (lowest) to 7";
        /// DSCP of the block's flows, 0 to 63, instead of `priority`.
        /// `[host] dscp_to_priority` gives their priority. Default: none: `priority` holds.
        dscp: u8 = none, in 0 to 63 as "a DSCP from 0 to 63";
        /// Simulated time at which the block begins. Start times in files count from it.
        start: Duration = "0s", check |Duration(start), key| match start {
            late if late > LATEST => Err(Wrong::at(key, format!("\"{late}\": write a start up to 160h"))),
            start => Ok(start),
        };
        /// Simulated time at which the senders of the block's flows end. A flow that is not
        /// complete by then has the status `terminated`, with the bytes that have arrived.
        /// A flow that would start later does not start. Default: none: senders
        /// send everything.
        stop: Duration = none;
        /// Deadline of each flow, from its start: a time, a table of a distribution, or `"off"`. A flow list's column
        /// `deadline_ns` takes precedence.
        deadline: Or<Off, Deadline> = "off";
        /// Number that is added to `[run] seed` for this block's draws.
        seed: u64 = 0, in 0 to 9_223_372_036_854_775_807;
        /// Whether flows between the same two hosts share one TCP connection, one flow
        /// after the other, instead of one connection each. The later flows then start with
        /// the connection's window and round trip.
        persistent: bool = false;
    }
}

keys! {
    /// Keys of every block whose flows use a transport of `[host]`.
    pub struct FlowKeys as "Flows" => FlowTransport {
        @block: BlockKeys;
        /// Name of a transport in `[host.transports]`, or `"default"`: that of the source host,
        /// which is `[host.transport]` unless a `[[host.override]]` names another.
        transport: String = "default";
    }
}

impl BlockKeys {
    /// Returns the keys of every block. Such a block names no transport.
    pub fn parts(&mut self) -> (&mut BlockKeys, Option<&mut Option<String>>) {
        (self, None)
    }
}

impl FlowKeys {
    /// Returns the keys of every block, and the name of the transport.
    pub fn parts(&mut self) -> (&mut BlockKeys, Option<&mut Option<String>>) {
        (&mut self.block, Some(&mut self.transport))
    }
}

/// Returns the name of a block without a written name, by its position.
pub fn name_at(index: usize) -> String {
    format!("traffic{index}")
}

/// Refuses names that tables and terminals cannot show.
pub fn named(name: String, key: Key) -> Result<String, Wrong> {
    match names::wrong(&name) {
        Some(expected) => Err(Wrong::at(key, format!("{}: write {expected}", names::shown(&name)))),
        None => Ok(name),
    }
}
