//! `processor` of `[switch]` and `[host]`: a processor that handles frames one after the other.

use afflux_config::{Duration, table};

table! {
    /// A processor that handles the frames of all links one after the other: a router made of a
    /// personal computer, or a host whose kernel is busy at times. A frame that finds the
    /// processor's queue full is dropped and counted in `in_discards`.
    #[derive(Default)]
    pub struct Processor {
        /// Processor time of a frame: `"25us"` is 40,000 packets per second. Default `"0ns"`.
        packet_time: Duration,
        /// Additional processor time of each arrival, even if the frame is then dropped. Above its
        /// capacity such a processor therefore handles fewer frames (receive livelock, Mogul and
        /// Ramakrishnan 1997). Default `"0ns"`.
        interrupt_time: Duration,
        /// Largest number of waiting frames, including the one in processing. Default 300 (Linux 2.2 and 2.4: `netdev_max_backlog`).
        queue: u32,
        /// Times at which the processor stops, such as those of a receiver whose kernel writes to
        /// its disk (the KEK talk of 2001). Default: none: the processor never stops.
        stall: Stall,
    }

    /// Periods of work and of standstill that alternate from the start of the run.
    pub struct Stall {
        /// Time during which the processor works.
        pub work: Duration,
        /// Time during which the processor stands still.
        pub pause: Duration,
    }
}
