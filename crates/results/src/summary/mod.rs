//! `summary.json`: what a run was, what it cost, and what came of it.

mod balance;
mod deadlines;
mod ending;
mod flowcontrol;
mod goodput;
mod groups;
mod jobs;
mod paused_port;
mod queueing;
mod stalled;
mod unequal;

pub use balance::{BalanceReport, ImbalanceStatistics};
pub use deadlines::{DeadlineStatistics, Deadlines};
pub use ending::EarlyEnd;
pub use flowcontrol::{DeadlockReport, PauseStorm};
pub use goodput::{ClassGoodput, GoodputGroups};
pub use groups::{FctStatistics, Groups, Named, SlowdownStatistics};
pub use jobs::JobSummary;
pub use queueing::Queueing;
pub use stalled::Stalled;

use crate::durable::digest;
use crate::hash::{Hashes, hashes};
use crate::process::{self, ProcessStart};
use afflux_net::checks;
use afflux_net::record::{Counters, Output};
use afflux_net::spec::Topology;
use afflux_scenario::{FabricCost, Scenario};
use afflux_units::Span;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the result format: `summary.json`, the tables and their columns. It goes up when an older reader would misread a new result; a new reader
/// migrates results of the previous version (`results/format.py`).
pub const FORMAT: u32 = 3;

/// Written as JSON with the fields in this order. Percentiles are linear as numpy's, of finished flows that did not start
/// in the warm-up; totals (flows, drops, goodput, …) are of the whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// [`FORMAT`]; results of afflux 0.1 have none.
    pub format: u32,
    pub afflux_version: &'static str,
    /// Version and commit of the program ([`set_build`](crate::set_build)); results before afflux 0.3 have none.
    pub build: &'static str,
    pub name: String,
    pub scenario_hash: String,
    pub seed: u64,
    pub threads: u32,
    pub simulated_ns: u64,
    /// `done`: nothing was left to happen, or all jobs were done; `until`; or `max_memory`.
    pub ended_by: &'static str,
    /// Null unless the run ended for want of memory.
    pub early_end: Option<EarlyEnd>,
    /// Of a run that ended without progress (`ended_by` is `stalled`): who waits for whom.
    pub stalled: Option<Stalled>,
    /// Flows and jobs that start before this are left out of the statistics.
    pub warmup_ns: u64,
    /// Upper bounds of the size classes, bytes.
    pub size_bounds: Vec<u64>,
    pub wall_s: f64,
    /// User and system time of the whole process, until every file but this one is closed.
    pub cpu_s: f64,
    /// Of that, the simulation's worker threads.
    pub engine_cpu_s: f64,
    pub engine_wall_s: f64,
    /// Null where the system does not tell.
    pub peak_rss_bytes: Option<u64>,
    pub events: u64,
    /// Frames of any kind delivered by a link.
    pub packet_hops: u64,
    pub flows: FlowCounts,
    pub fct: Groups<FctStatistics>,
    pub slowdown: Groups<SlowdownStatistics>,
    /// Queueing in hosts and in the network. Null without `record.explain`, or where no transport tells them apart.
    pub queueing: Option<Queueing>,
    /// Null if no flow has a deadline.
    pub deadlines: Option<Deadlines>,
    /// Null if there are no jobs.
    pub jobs: Option<JobSummary>,
    /// Frames dropped for any reason but `in_discards`.
    pub drops: u64,
    pub drops_by_reason: DropReasons,
    pub in_discards: u64,
    pub ecn_marks: u64,
    /// Congestion notifications of RDMA that receivers sent.
    pub cnps: u64,
    pub pause_frames: u64,
    /// Queues that watchdogs have found paused for too long.
    pub pause_storms: Vec<PauseStorm>,
    /// Cycles of links that have paused each other.
    pub deadlocks: Vec<DeadlockReport>,
    pub retransmits: u64,
    pub timeouts: u64,
    pub balance: BalanceReport,
    /// Payload that applications can have: with TCP in order, duplicates not counted; all hosts together, without flows from a host to itself.
    pub delivered_bytes: u64,
    /// How long at least one flow was active: from its start to its completion, until its sender gave it up and nothing of it arrived any more, or to the
    /// end of the run.
    pub busy_ns: u64,
    /// `delivered_bytes` per second of `busy_ns`; 0 without flows.
    pub goodput_bps: f64,
    /// The mean over flows that did not start in the warm-up of each one's payload over its completion time, or, if it did not finish, of what it
    /// has delivered over the time in which it was active. Null without flows.
    pub goodput_flow_mean_bps: Option<f64>,
    pub goodput: GoodputGroups,
    pub conservation: Conservation,
    /// Checks of the result itself that failed, [`FAILED_SHOWN`] of them at most: defects of this program. Empty in any result that can be trusted.
    pub failed_checks: Vec<FailedCheck>,
    /// How many failed in all.
    pub failed_checks_total: u64,
    /// Null if the scenario has no prices.
    pub cost: Option<Cost>,
    pub result_hash: String,
    pub ports_hash: String,
    pub counters_hash: String,
    pub notes: Vec<String>,
    /// What is valid in the scenario and yet does not do what it seems to say.
    pub warnings: Vec<Warned>,
    /// What hosts are called, in their order; none if they have only numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_names: Vec<String>,
    /// SHA-256 of every other file of the result directory, by name; empty if none was written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
    /// SHA-256 of `summary.json` itself with this value left empty; the last key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_digest: Option<String>,
}

/// A warning about the scenario: of its key, because the lines of the file it was read from are not those of the result's `scenario.toml`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warned {
    pub key: String,
    pub text: String,
}

/// What the fabric costs by the scenario's prices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    pub currency: String,
    pub total: f64,
    pub switches: u64,
    /// Ports of switches that a link is plugged into.
    pub ports: u64,
}

/// `started == finished + unfinished`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    pub started: u64,
    pub finished: u64,
    /// Started, but still running at the end or given up.
    pub unfinished: u64,
    /// Those that were still to start when the run ended.
    pub not_started: u64,
    /// Those that started in the warm-up and are left out of the statistics.
    pub in_warmup: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DropReasons {
    /// No room in a buffer.
    pub buffer: u64,
    /// DRAM of a deep buffer could not keep up.
    pub dram: u64,
    /// RED, of frames that cannot be marked.
    pub red: u64,
    /// Lost on the wire.
    pub loss: u64,
    /// The link was down, or no path was left.
    pub down: u64,
    /// Longer than the `mtu` of a link.
    pub mtu: u64,
    /// The queue was in a storm of PAUSE frames.
    pub watchdog: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Conservation {
    pub packets: Balance,
    pub bytes: Balance,
    /// Both balances close.
    pub holds: bool,
}

/// A check that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedCheck {
    /// The flow's `id`; null if it is about the whole run.
    pub flow: Option<i64>,
    pub check: &'static str,
    pub detail: String,
}

/// Failed checks that the summary lists.
pub const FAILED_SHOWN: usize = 100;

/// `sent == delivered + dropped + in_flight`; frames count once from end to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Balance {
    pub sent: u64,
    pub delivered: u64,
    pub dropped: u64,
    pub in_flight: u64,
}

impl Summary {
    /// Indented, ending in a newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).map(|text| text + "\n").expect("string keys and numbers only")
    }

    /// With the digests of the files that it stands beside, and its own.
    pub(crate) fn sealed(mut self, digests: BTreeMap<String, String>) -> Self {
        self.digests = digests;
        self.summary_digest = Some(String::new());
        self.summary_digest = Some(digest(self.to_json().as_bytes()));
        self
    }
}

fn host_names(topology: &Topology) -> Vec<String> {
    let hosts = &topology.nodes[..topology.hosts as usize];
    let named = hosts.iter().enumerate().any(|(number, host)| host.name != format!("host{number}"));
    if named { hosts.iter().map(|host| host.name.clone()).collect() } else { Vec::new() }
}

/// The summary of a run; costs are counted from `started` until now.
pub fn summary(scenario: &Scenario, output: &Output, started: &ProcessStart) -> Summary {
    let plan = &scenario.plan;
    let counters = &output.counters;
    let (fct, slowdown) = groups::of(scenario, output);
    let (deadlines, jobs) = (deadlines::of(scenario, output), jobs::of(scenario, output));
    let failed = checks::failed_checks(plan, output);
    let goodput = goodput::of(scenario, output);
    let Hashes { result, ports, counters: counters_hash } = hashes(scenario, output);
    Summary {
        format: FORMAT,
        afflux_version: env!("CARGO_PKG_VERSION"),
        build: process::build(),
        name: scenario.name.clone(),
        scenario_hash: scenario.hash.clone(),
        seed: plan.run.seed,
        threads: plan.run.threads,
        simulated_ns: output.end.round_ns(),
        ended_by: ending::ended_by(output),
        early_end: ending::early(scenario, output),
        stalled: stalled::of(scenario, output),
        warmup_ns: scenario.warmup.round_ns(),
        size_bounds: scenario.size_bounds.clone(),
        wall_s: started.wall().as_secs_f64(),
        cpu_s: started.cpu().as_secs_f64(),
        engine_cpu_s: output.engine.thread_cpu_s.iter().sum(),
        engine_wall_s: output.engine.wall_s,
        peak_rss_bytes: afflux_engine::memory::peak_resident(),
        events: output.engine.events,
        packet_hops: counters.packet_hops,
        flows: flow_counts(scenario, output),
        fct,
        slowdown,
        queueing: queueing::of(scenario, output),
        deadlines,
        jobs,
        drops: counters.dropped_packets - counters.in_discards,
        drops_by_reason: DropReasons {
            buffer: counters.drops_buffer,
            dram: counters.drops_dram,
            red: counters.drops_red,
            loss: counters.drops_loss,
            down: counters.drops_down,
            mtu: counters.drops_mtu,
            watchdog: counters.drops_watchdog,
        },
        in_discards: counters.in_discards,
        ecn_marks: counters.ecn_marks,
        cnps: counters.cnps,
        pause_frames: counters.pause_frames,
        pause_storms: flowcontrol::storms(scenario, output),
        deadlocks: flowcontrol::deadlocks(scenario, output),
        retransmits: counters.retransmits,
        timeouts: counters.timeouts,
        balance: balance::of(scenario, output),
        delivered_bytes: goodput.delivered_bytes,
        busy_ns: Span(goodput.busy_ps).round_ns(),
        goodput_bps: goodput.bps,
        goodput_flow_mean_bps: goodput.flow_mean_bps,
        goodput: goodput.groups,
        conservation: conservation(counters),
        failed_checks_total: failed.len() as u64,
        failed_checks: failed
            .into_iter()
            .take(FAILED_SHOWN)
            .map(|checks::FailedCheck { flow, check, detail }| FailedCheck { flow: flow.map(|flow| output.flow(plan, flow).id), check, detail })
            .collect(),
        cost: scenario.cost.clone().map(|FabricCost { currency, total, switches, ports }| Cost { currency, total, switches, ports }),
        result_hash: result,
        ports_hash: ports,
        counters_hash,
        notes: (scenario.notes.iter().cloned())
            .chain(flowcontrol::warnings(scenario, output))
            .chain(unequal::notes(scenario, output))
            .chain(ending::note(scenario, output))
            .collect(),
        warnings: scenario.warnings.iter().map(|warning| Warned { key: warning.key.clone(), text: warning.text.clone() }).collect(),
        host_names: host_names(&scenario.plan.topology),
        digests: BTreeMap::new(),
        summary_digest: None,
    }
}

fn flow_counts(scenario: &Scenario, output: &Output) -> FlowCounts {
    let mut counts = FlowCounts { started: 0, finished: 0, unfinished: 0, not_started: 0, in_warmup: 0 };
    for record in &output.flows {
        let Some(start) = record.start else {
            counts.not_started += 1;
            continue;
        };
        let finished = crate::times::completion(record).is_some();
        counts.started += 1;
        counts.finished += u64::from(finished);
        counts.unfinished += u64::from(!finished);
        counts.in_warmup += u64::from(start.0 < scenario.warmup.0);
    }
    counts
}

fn conservation(c: &Counters) -> Conservation {
    let packets = Balance { sent: c.sent_packets, delivered: c.delivered_packets, dropped: c.dropped_packets, in_flight: c.in_flight_packets };
    let bytes = Balance { sent: c.sent_bytes, delivered: c.delivered_bytes, dropped: c.dropped_bytes, in_flight: c.in_flight_bytes };
    let closes = |b: Balance| b.sent == b.delivered + b.dropped + b.in_flight;
    Conservation { packets, bytes, holds: closes(packets) && closes(bytes) }
}

#[cfg(test)]
mod tests;
