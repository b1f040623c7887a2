//! Processors of routers and hosts.

use afflux_config::{Duration, table};

table! {
    /// A processor that handles the frames of all links one after the other: a router made of a personal computer, or a host whose kernel
    /// is busy at times. Frames that find its queue full are counted in `in_discards`.
    #[derive(Default)]
    pub struct Processor {
        /// Processor time of a frame: `"25us"` is 40,000 packets per second. Default `"0ns"`.
        packet_time: Duration,
        /// Additional processor time of each arrival, also if the frame is then dropped: above its limit such a processor does
        /// less (receive livelock, Mogul and Ramakrishnan 1997). Default `"0ns"`.
        interrupt_time: Duration,
        /// Largest number of waiting frames, including the one in processing. Default 300 (Linux 2.2 and 2.4: `netdev_max_backlog`).
        queue: u32,
        /// Stalls, as of a receiver whose kernel writes to its disk (the KEK talk of 2001). Default: none: it never stands still.
        stall: Stall,
    }

    /// The two times alternate from the start.
    pub struct Stall {
        /// Time during which it works.
        pub work: Duration,
        /// Time during which it stands still.
        pub pause: Duration,
    }
}
