//! `[[host.kernel]]`: hosts that are real Linux kernels in simulated time.

use super::Parameter;
use afflux_config::{Duration, Names, Off, Or, Size, table};
use std::collections::BTreeMap;

table! {
    /// Hosts that are unmodified Linux kernels with real programs. Their clock is the simulated
    /// time, so every run is the same. Images are built once by `afflux kernel build`. Needs
    /// `run.until`. Settings of `[host]` that describe a modelled stack (`timing`, `qdisc`, `pacer`,
    /// `processor`, `transport`) do not apply to these hosts. CPU work takes no simulated time.
    pub struct Kernel {
        /// Names of the hosts: `"host0"`, `["host1", "host2?"]`. No host may be in two blocks.
        #[serde(rename = "match")]
        pub matching: Names,
        /// Version of the kernel, as in `"6.12"`. Default `"6.12"`.
        image: String,
        /// Traffic class of the flows that these hosts send, for summaries, comparisons and reports.
        /// Default `"kernel"`.
        class: String,
        /// Files and directories of this machine that are copied into the guest, with the shared
        /// libraries that programs need. A relative path starts at the scenario's directory, and the
        /// copy is in `/root`, where commands start. An absolute path is the same in the guest.
        /// Default: none: busybox and the program `bulk`.
        files: Vec<String>,
        /// SHA-256 of each of `files` that is not a directory, by absolute path: other content is
        /// refused. Default: the digests of the files that are found.
        sha256: BTreeMap<String, String>,
        /// Shell commands that start with the guest, each on its own. Default: none: no command starts.
        run: Names,
        /// Shell commands by the simulated time at which they start, as in
        /// `{ "1s" = "ping -c 3 host1" }`. Default: none: no command starts.
        at: BTreeMap<String, String>,
        /// Kernel parameters, set before any command, as in
        /// `{ "net.ipv4.tcp_congestion_control" = "dctcp" }`. Default: the kernel's own values.
        sysctl: BTreeMap<String, Parameter>,
        /// Interval at which the state of all TCP connections of these hosts is recorded as the kernel
        /// tells it (`tcp_info`), in whole milliseconds, or `"off"`: windows, round trips and pacing
        /// rates go to `senders.parquet`, everything to `HOST.tcp_info.csv`. A sample of a connection
        /// takes 120 bytes of the guest's memory. Default: that of `record.senders`, rounded up to
        /// whole milliseconds.
        tcp_info: Or<Off, Duration>,
        /// Memory of each guest, `"24MB"` to `"4GB"`, in whole MiB. Default `"64MB"`; files take
        /// part of it.
        memory: Size,
        /// Real time after which a guest that does not become idle is stopped, because it spins or
        /// sends without end: `"1s"` to `"1h"`. Default `"60s"`.
        watchdog: Duration,
    }
}
