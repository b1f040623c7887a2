//! Processors of routers and hosts.

use super::Duration;
use afflux_config::table;

table! {
    /// A processor that deals with the frames that arrive by any link, one after the other: a router made of a personal computer, or a host whose kernel
    /// does something else at times. What finds no room is counted in `in_discards`.
    #[derive(Default)]
    pub struct Processor {
        /// What a frame takes: `"25us"` is 40,000 packets per second. Default `"0ns"`.
        packet_time: Duration,
        /// What the arrival of a frame takes on top, of all other work, whether the frame is dropped or not: above its limit such a processor does
        /// less (receive livelock, Mogul and Ramakrishnan 1997). Default `"0ns"`.
        interrupt_time: Duration,
        /// Frames that wait for it at most, the one that it is at included. Default 300 (Linux 2.2 and 2.4: `netdev_max_backlog`).
        queue: u32,
        /// It stops at times, as a receiver whose kernel writes to its disk (the KEK talk of 2001). Default: it does not.
        stall: Stall,
    }

    /// From the start on in turn.
    pub struct Stall {
        /// It works for so long.
        pub work: Duration,
        /// Then it does nothing for so long.
        pub pause: Duration,
    }
}
