//! Keys of the run: engine and end conditions.

use crate::Model;
use afflux_config::keys::at_most_160_h;
use afflux_config::schemars::json_schema;
use afflux_config::serde::de::{Error, IntoDeserializer};
use afflux_config::serde::{Deserialize, Serialize, Serializer};
use afflux_config::tree::{Key, Wrong};
use afflux_config::{Duration, Off, Or, Size, form, keys, words};
pub use afflux_engine::memory::Bound;
use afflux_units::{Bytes, Span, Time};

words! {
    /// Engine that runs the simulation.
    #[schemars(rename = "Engine")]
    pub enum EngineKind {
        /// Fast engine: logs events in windows as long as the shortest crossing link delay.
        WindowLog,
        /// Reference engine: keeps events in a binary heap. It serves as oracle for the fast
        /// engine.
        Classical,
        /// Flow-level model without packets: flows share one big switch, and the flow with the
        /// fewest remaining bytes goes first (pFabric's Ideal). Transports, switches and links
        /// inside the fabric have no effect. A completion time includes the latency of the idle
        /// path.
        Ideal,
    }
    /// Event at which a flow counts as complete.
    pub enum FctEnd {
        /// The last byte is acknowledged at the sender.
        LastAck,
        /// The last byte has been received.
        LastByte,
    }
    /// Simulator whose deviations are reproduced.
    pub enum Compat {
        /// ConWeave's ns-3 (conweave-project/conweave-ns3 at 236a801). Times on links and between
        /// frames are rounded down to whole nanoseconds. Switches without another hash choose among
        /// next hops by MurmurHash3 of addresses and ports, which are numbered as in that
        /// simulator. Frames out of order are answered with a congestion notification. The sender
        /// of IRN ends its recovery at any acknowledgement without NACK, retransmits everything
        /// that it does not know to be held, and forgets blocks that it has skipped.
        #[serde(rename = "conweave-ns3")]
        ConweaveNs3,
    }
}

/// Returns the rows of `afflux models` for `compat`, one for each deviation.
pub(crate) fn models() -> Vec<Model> {
    let row = |&(name, faithful): &(&'static str, &'static str)| Model {
        kind: "compat",
        name,
        source: "`[run] compat = \"conweave-ns3\"`: conweave-project/conweave-ns3 at 236a801",
        faithful,
        simplified: "a deviation of that simulator, copied",
    };
    Compat::ConweaveNs3.deviations().iter().map(row).collect()
}

impl Compat {
    /// Returns the deviations that are reproduced, each with its name and a description.
    pub const fn deviations(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Compat::ConweaveNs3 => &[
                (
                    "whole_nanoseconds",
                    "the time of a frame on a link, and between frames of a queue pair, is cut off to whole nanoseconds (here to one at least); they coincide often: frames that arrive at a node at one instant go by port instead of by a hash, and a frame whose transmission begins at the very moment at which a balancer looks still waits to it",
                ),
                (
                    "ecmp_hash",
                    "MurmurHash3 x86 32 of source and destination address and ports, seeded with the switch's number, modulo the next hops",
                ),
                (
                    "flow_ports",
                    "source ports count from 10000 per source, destination ports from 100 per destination, in the order of the flows",
                ),
                (
                    "drill_memory",
                    "DRILL: the best port is remembered per destination host, and next hops are one group however unlike they are",
                ),
                (
                    "flowlet_key",
                    "LetFlow and CONGA: a flow's key leaves out the source's address, and the priority group is or-ed into the destination's port",
                ),
                (
                    "conga_routed",
                    "CONGA: the rate estimators count data alone, when they are routed, and metrics are not clamped to their bits",
                ),
                ("conga_reports", "CONGA: data alone carry reports, each one drawn at random"),
                (
                    "conga_choice",
                    "CONGA: four paths that follow each other are looked at, from one drawn at random, and the path before is not preferred",
                ),
                (
                    "conga_aging",
                    "CONGA: at multiples of the age what is older is cleared, instead of being forgotten step by step",
                ),
                (
                    "conweave_tags",
                    "ConWeave: what a frame says between the ToRs takes no bytes, so that epochs are numbers without end",
                ),
                (
                    "conweave_queues",
                    "ConWeave: reorder queues without bound, in memory that is not counted until they are released",
                ),
                (
                    "conweave_release",
                    "ConWeave: what waits for a TAIL is released a nanosecond after it has come",
                ),
                ("conweave_age", "ConWeave: both ToRs forget a silent flow after the same time"),
                (
                    "cnp_out_of_order",
                    "a frame out of order is answered with a congestion notification, as one that is marked",
                ),
                ("irn_plain_ack", "IRN: an acknowledgement without NACK ends the recovery"),
                (
                    "irn_repeats",
                    "IRN: everything after the gap that is not known to be held is sent again, not only what lies below something that is held",
                ),
                (
                    "irn_forgets",
                    "IRN: a sender that has skipped a block which the receiver holds forgets that block",
                ),
            ],
        }
    }
}

/// Limit of the memory that the process may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxMemory {
    /// Total resident memory in bytes.
    pub bytes: u64,
    /// Source of this limit; `None`: the scenario.
    pub by: Option<Bound>,
    /// Part of `bytes` for records during the run, counted by [`crate::memory::Record`]. The run
    /// ends if they need more.
    pub records: u64,
}

/// Latest end of the simulated time.
const LATEST: Span = Span(Time::LATEST.0);

keys! {
    /// Settings of the run.
    pub struct RunKeys as "Run" => RunConfig of written {
        /// Simulated time at which the run stops. `"jobs"`: the run stops when all Hadoop jobs have
        /// ended and their logs are uploaded. `"off"`: it stops when no event is left.
        until: Or<Off, Until> as Option<Time> = "off", check |given, key| match given.0 {
            Some(Until::Time(Duration(span))) if span > Span::ZERO && span <= LATEST => Ok(Some(Time(span.0))),
            Some(Until::Time(_)) => Err(Wrong::at(key, "write a time above 0, up to 160h, \"jobs\" or \"off\"")),
            Some(Until::Jobs) | None => Ok(None),
        };
        /// Warm-up time. Flows that start before it are left out of completion times, slowdowns and
        /// their parts. Counters (drops, marks, …) cover the whole run.
        warmup: Duration = "0s", check |Duration(warmup), key| match until {
            Some(Time(until)) if warmup.0 >= until => {
                let what = "so no flow would count: write a shorter warm-up";
                Err(Wrong::at(key, format!("\"{warmup}\" is not before until = \"{}\", {what}", Span(until))))
            }
            _ => at_most_160_h(Duration(warmup), key),
        };
        /// Seed of all random draws.
        seed: u64 = 1, in 0 to 9_223_372_036_854_775_807;
        /// Event at which a flow counts as complete.
        fct_end: FctEnd = "last_ack";
        /// Engine of the run; `"window_log"` and `"classical"` give the same results.
        engine: EngineKind = "window_log";
        /// Worker threads; results do not depend on it.
        threads: u32 = 1, in 1 to 1_024;
        /// Copy another simulator's deviations from papers and standards, to compare with it.
        /// Default: none: the papers' and standards' rules.
        compat: Compat = none;
        /// Simulated time without progress after which the run ends: flow control holds frames in
        /// the network, and no frame has left it for this time. The result says who waits for whom.
        /// `"off"`: the run goes on until `until`.
        stall: Or<Off, Duration> as Option<Span> = "10s", check |given, key| match given.0 {
            Some(Duration(stall)) if stall < Span::from_ms(1) || stall > LATEST => {
                Err(Wrong::at(key, "write a time from 1ms to 160h, or \"off\""))
            }
            given => Ok(given.map(|Duration(stall)| stall)),
        };
        /// Upper bounds of the size classes of the summary, ascending; the last class is open.
        /// Default `["100kB", "10MB"]`.
        size_bounds: Vec<Size> as Vec<u64> = (vec![Size(Bytes(100_000)), Size(Bytes(10_000_000))]), check |bounds, key| {
            let bounds: Vec<u64> = bounds.iter().map(|Size(bytes)| bytes.0).collect();
            if bounds.first() == Some(&0) || !bounds.is_sorted_by(|low, high| low < high) {
                return Err(Wrong::at(key, "write ascending sizes above 0, as in [\"100kB\", \"10MB\"]"));
            }
            Ok(bounds)
        };
        /// Limit of the process's resident memory, records included: a scenario that needs more is
        /// refused, and a run that reaches it ends. Default: the free memory of the machine.
        memory "max_memory": Size as Option<u64> = none, check |Size(bytes), key| match bytes.0 {
            0 => Err(Wrong::at(key, "\"0B\": write a size above 0")),
            bytes => Ok(bytes),
        };
    }
    plus {
        /// Ends the run when all applications have finished, plus their latency.
        until_done: bool = written.until == Some(Or::some(Until::Jobs));
        /// Ends the run before the process uses more memory; `None`: no limit. It is set once the
        /// plan is complete.
        max_memory: Option<MaxMemory> = None;
    }
}

impl Default for RunConfig {
    fn default() -> Self {
        RunKeys::default().resolve(&Key::default()).expect("defaults are right")
    }
}

/// Condition that ends the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    Jobs,
    Time(Duration),
}

form! {
    Until<'de>, deserialize_str, "a string" {
        fn visit_str<E: Error>(self, text: &str) -> Result<Until, E> {
            if text == "jobs" {
                return Ok(Until::Jobs);
            }
            let time = Duration::deserialize(IntoDeserializer::<E>::into_deserializer(text));
            time.map(Until::Time).map_err(|error| E::custom(format!("{error}, \"jobs\"")))
        }
    }
    |generator| {
        json_schema!({ "description": "When to stop.", "anyOf": [generator.subschema_for::<Duration>(), { "const": "jobs" }] })
    }
}
impl Serialize for Until {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Until::Jobs => serializer.serialize_str("jobs"),
            Until::Time(time) => time.serialize(serializer),
        }
    }
}
