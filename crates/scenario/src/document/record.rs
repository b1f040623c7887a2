//! `[record]`: which records the run writes.

use afflux_config::{Duration, Names, Off, Or, Size, table};

table! {
    /// Records to write in addition to one row per flow.
    #[derive(Default)]
    pub struct Record {
        /// Whether every flow's completion time is split by cause. Default `true`.
        explain: bool,
        /// Series of queues and counters (`ports.parquet`), or `"off"`. Default `"off"`.
        ports: Or<Off, Ports>,
        /// Whether frames are counted per flow and path (`paths.parquet`). Default `false`.
        paths: bool,
        /// Length of the windows in which the bytes over each switch's uplinks are recorded
        /// (`imbalance.parquet`), or `"off"`. Default `"off"`; ConWeave's figures have 100 us.
        imbalance: Or<Off, Duration>,
        /// Interval at which the reorder queues of each ToR and port are recorded, with
        /// `balance = { kind = "conweave" }` (`reorder.parquet`), or `"off"`. Default `"off"`;
        /// ConWeave's figures have 10 us.
        reorder: Or<Off, Duration>,
        /// Whether the round trips of every TCP connection and MPTCP subflow are recorded as its
        /// sender measures them (`round_trips.parquet`). Default `false`.
        round_trips: bool,
        /// Interval at which window, slow start threshold, smoothed round trip, bytes in flight and
        /// pacing rate of every sender are recorded (`senders.parquet`), or `"off"`. Default
        /// `"off"`; a fraction of the round trip shows every change.
        senders: Or<Off, Duration>,
        /// Gaps between the frames of a flow where they leave a port (`gaps.parquet`). The value
        /// names the ports: those of `"switches"`, `"hosts"` or `"all"`, or of nodes by name as in
        /// `["leaf*", "host0"]`. Default: none: no gaps are recorded.
        gaps: Names,
        /// Queueing by cause: which class of traffic each class waited behind (`waits.parquet`, and
        /// in `afflux explain`). The value names the ports, in the form of `gaps`. Default: none:
        /// it is not recorded.
        waits: Names,
        /// Links to capture. `"host0>leaf0"` captures what host0 sends to leaf0, `"host0-leaf0"`
        /// both directions in one file. Default: none: nothing is captured.
        capture: Names,
        /// Number of bytes kept of each captured frame, from `"96B"` (all headers) to `"65535B"`.
        /// Default `"96B"`; tcpdump keeps whole frames.
        snaplen: Size,
    }

    /// Series of queues and counters.
    pub struct Ports {
        /// Interval of the series; there is one row per port, queue and interval. Default `"1s"`,
        /// as switches are polled: SONiC's flex counters read ports every second and queues every
        /// ten; shorter intervals show more than operators see.
        interval: Duration,
        /// Nodes whose ports are recorded: `"switches"`, `"hosts"`, `"all"`, or names as in `["leaf*", "host0"]`. Default `"switches"`.
        nodes: Names,
    }
}
