//! Keys of the records that a run writes: `[record]`.

use super::{LinkId, NodeId};
use afflux_config::keys::at_most_160_h;
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Names, Off, Or, Size, keys};
use afflux_units::Span;

/// Largest size in bytes of the headers of a frame: Ethernet, IPv4 and TCP with the longest
/// options, in whole words of 32 bits.
const HEADERS: u64 = 96;

/// Finds the nodes that a key names, ascending.
pub type FindNodes<'a> = &'a dyn Fn(Names, Key) -> Result<Vec<NodeId>, Wrong>;

keys! {
    /// Records to write in addition to one row per flow.
    pub struct RecordKeys as "Record" => Record(find: FindNodes<'_>, captures: Vec<Capture>, joined: Vec<LinkId>) {
        /// Whether every flow's completion time is split by cause.
        explain: bool = true;
        /// Series of queues and counters (`ports.parquet`), or `"off"`.
        ports: Or<Off, PortsKeys> as Option<PortSeries> = "off", table |keys, key| keys.resolve(key, find);
        /// Whether frames are counted per flow and path (`paths.parquet`).
        paths: bool = false;
        /// Length of the windows in which the bytes over each switch's uplinks are recorded
        /// (`imbalance.parquet`), or `"off"`. ConWeave's figures have 100 us.
        imbalance: Or<Off, Duration> as Option<Span> = "off", check interval;
        /// Interval at which the reorder queues of each ToR and port are recorded, with
        /// `balance = { kind = "conweave" }` (`reorder.parquet`), or `"off"`. ConWeave's figures
        /// have 10 us.
        reordering "reorder": Or<Off, Duration> as Option<Span> = "off", check interval;
        /// Whether the round trips of every TCP connection and MPTCP subflow are recorded as its
        /// sender measures them (`round_trips.parquet`).
        round_trips: bool = false;
        /// Interval at which window, slow start threshold, smoothed round trip, bytes in flight and
        /// pacing rate of every sender are recorded (`senders.parquet`), or `"off"`. A fraction of
        /// the round trip shows every change.
        senders: Or<Off, Duration> as Option<Span> = "off", check interval;
        /// Gaps between the frames of a flow where they leave a port (`gaps.parquet`). The value
        /// names the ports: those of `"switches"`, `"hosts"` or `"all"`, or of nodes by name as in
        /// `["leaf*", "host0"]`. Default: none: no gaps are recorded.
        gaps: Names as Vec<NodeId> = (Names(Vec::new())), check find;
        /// Queueing by cause: which class of traffic each class waited behind (`waits.parquet`, and
        /// in `afflux explain`). The value names the ports, in the form of `gaps`. Default: none:
        /// it is not recorded.
        waits: Names as Vec<NodeId> = (Names(Vec::new())), check find;
        @{
            /// Links to capture. `"host0>leaf0"` captures what host0 sends to leaf0,
            /// `"host0-leaf0"` both directions in one file. Default: none: nothing is captured.
            capture: Names;
        };
        /// Number of bytes kept of each captured frame, from `"96B"` (all headers) to `"65535B"`.
        /// tcpdump keeps whole frames.
        snaplen: Size as u32 = "96B", check |Size(bytes), key| match bytes.0 {
            HEADERS..=65_535 => Ok(bytes.0 as u32),
            _ => Err(Wrong::at(key, format!("\"{bytes}\": write a size from {HEADERS}B (all headers) to 65535B"))),
        };
    }
    plus {
        captures: Vec<Capture> = captures;
        /// Links of which both directions are captured into one list; ascending.
        joined: Vec<LinkId> = joined;
    }
}

keys! {
    /// Series of queues and counters.
    pub struct PortsKeys as "Ports" => PortSeries(find: FindNodes<'_>) {
        /// Interval of the series; there is one row per port, queue and interval. Switches are
        /// polled: SONiC's flex counters read ports every second and queues every ten; shorter
        /// intervals show more than operators see.
        interval: Duration = "1s", check |interval, key| match interval {
            Duration(Span::ZERO) => Err(Wrong::at(key, "\"0s\": write a time above 0")),
            interval => at_most_160_h(interval, key),
        };
        /// Nodes whose ports are recorded: `"switches"`, `"hosts"`, `"all"`, or names as in
        /// `["leaf*", "host0"]`.
        nodes: Names as Vec<NodeId> = "switches", check find;
    }
}

impl Default for Record {
    fn default() -> Self {
        let no_nodes: FindNodes = &|_, _| Ok(Vec::new());
        let record =
            RecordKeys::default().resolve(&Key::default(), no_nodes, Vec::new(), Vec::new());
        record.expect("defaults are right")
    }
}

fn interval(given: Or<Off, Duration>, key: Key) -> Result<Option<Span>, Wrong> {
    match given.0 {
        Some(Duration(Span::ZERO)) => {
            Err(Wrong::at(key, "\"0s\": write a time above 0, or \"off\""))
        }
        given => given.map(|interval| at_most_160_h(interval, key)).transpose(),
    }
}

/// Records every frame that starts on the wire in one direction of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    pub link: LinkId,
    /// `false`: from `Link::a` to `Link::b`. `true`: from `Link::b` to `Link::a`.
    pub reverse: bool,
}
