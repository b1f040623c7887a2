//! `summary.json`: identity, cost and results of a run.

mod balance;
mod deadlines;
mod ending;
mod flowcontrol;
mod goodput;
mod groups;
mod jobs;
mod paused_port;
mod queueing;
mod series;
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

/// Version of the result format: `summary.json`, the tables and their columns. It is raised if an
/// older reader would misread a new result. A new reader migrates results of the previous version
/// (`results/format.py`).
pub const FORMAT: u32 = 4;

/// Content of `summary.json`, with the keys in this order. Percentiles use linear interpolation
/// like numpy's, over finished flows that started after the warm-up. Totals (flows, drops, goodput,
/// …) cover the whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// [`FORMAT`]. Results of afflux 0.1 lack it.
    pub format: u32,
    pub afflux_version: &'static str,
    /// Version and commit of the program ([`set_build`](crate::set_build)). Results before afflux
    /// 0.3 lack it.
    pub build: &'static str,
    pub name: String,
    pub scenario_hash: String,
    pub seed: u64,
    pub threads: u32,
    pub simulated_ns: u64,
    /// `done` (no events were left, or all jobs were done), `until`, `max_memory` or `stalled`.
    pub ended_by: &'static str,
    /// Null unless the run reached its memory limit.
    pub early_end: Option<EarlyEnd>,
    /// For a run that ended without progress (`ended_by` is `stalled`): which ports wait for which.
    pub stalled: Option<Stalled>,
    /// Start of the statistics in ns. Flows and jobs that start earlier are excluded.
    pub warmup_ns: u64,
    /// Upper bounds of the size classes in bytes.
    pub size_bounds: Vec<u64>,
    pub wall_s: f64,
    /// User and system time of the whole process in seconds, until every file but this one is
    /// closed.
    pub cpu_s: f64,
    /// Part of `cpu_s` used by the simulation's worker threads.
    pub engine_cpu_s: f64,
    pub engine_wall_s: f64,
    /// Peak resident memory in bytes. Null if the system does not report it.
    pub peak_rss_bytes: Option<u64>,
    pub events: u64,
    /// Frames of any kind delivered by links, counted once per link.
    pub packet_hops: u64,
    pub flows: FlowCounts,
    pub fct: Groups<FctStatistics>,
    pub slowdown: Groups<SlowdownStatistics>,
    /// Queueing in hosts and in the network. Null without `record.explain`, or if no transport
    /// distinguishes them.
    pub queueing: Option<Queueing>,
    /// Null if no flow has a deadline.
    pub deadlines: Option<Deadlines>,
    /// Null if there are no jobs.
    pub jobs: Option<JobSummary>,
    /// Dropped frames for all reasons except `in_discards`.
    pub drops: u64,
    pub drops_by_reason: DropReasons,
    pub in_discards: u64,
    pub ecn_marks: u64,
    /// RDMA congestion notification packets sent by receivers.
    pub cnps: u64,
    pub pause_frames: u64,
    /// Queues that watchdogs found paused for too long.
    pub pause_storms: Vec<PauseStorm>,
    /// Cycles of links that have paused each other.
    pub deadlocks: Vec<DeadlockReport>,
    /// Data packets that were sent again. Those of real kernels are counted on the wire.
    pub retransmits: u64,
    /// Time-outs of simulated senders.
    pub timeouts: u64,
    pub balance: BalanceReport,
    /// Payload delivered to applications: in order with TCP, without duplicates. Sum over all
    /// hosts, without flows from a host to itself.
    pub delivered_bytes: u64,
    /// Time in ns in which at least one flow was active. A flow is active from its start to its
    /// completion. A flow that its sender gave up is active until its last data arrives, and an
    /// unfinished flow until the end of the run.
    pub busy_ns: u64,
    /// `delivered_bytes` per second of `busy_ns`; 0 without flows.
    pub goodput_bps: f64,
    /// Mean, over flows that started after the warm-up, of each flow's payload per completion time,
    /// in bit/s. An unfinished flow counts with its delivered payload per active time. Null without
    /// flows.
    pub goodput_flow_mean_bps: Option<f64>,
    pub goodput: GoodputGroups,
    pub conservation: Conservation,
    /// Failed self-checks of the result, at most [`FAILED_SHOWN`]. Each is a defect of afflux.
    /// Empty in a trustworthy result.
    pub failed_checks: Vec<FailedCheck>,
    /// Total number of failed checks.
    pub failed_checks_total: u64,
    /// Null if the scenario has no prices.
    pub cost: Option<Cost>,
    pub result_hash: String,
    pub ports_hash: String,
    pub counters_hash: String,
    pub notes: Vec<String>,
    /// Warnings about valid settings of the scenario that do not do what they seem to say.
    pub warnings: Vec<Warned>,
    /// Names of the hosts, in the order of their numbers. Omitted if they have only numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host_names: Vec<String>,
    /// SHA-256 of every other file of the result directory, by name. Omitted if no file was
    /// written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
    /// SHA-256 of `summary.json` itself, computed with this value left empty. This is the last key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_digest: Option<String>,
}

/// A warning about the scenario. It names the key and no line, because the lines of the original
/// file differ from those of the result's `scenario.toml`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warned {
    pub key: String,
    pub text: String,
}

/// Cost of the fabric, from the scenario's prices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    pub currency: String,
    pub total: f64,
    pub switches: u64,
    /// Switch ports that are connected to a link.
    pub ports: u64,
}

/// Numbers of flows. `started == finished + unfinished`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
    pub started: u64,
    pub finished: u64,
    /// Flows that started, could complete, and were still running at the end or given up.
    pub unfinished: u64,
    /// Flows that had not started when the run ended.
    pub not_started: u64,
    /// Flows that started in the warm-up and are excluded from the statistics.
    pub in_warmup: u64,
    /// Flows of real kernels among those that started.
    pub of_kernels: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DropReasons {
    /// Frames dropped because a buffer was full.
    pub buffer: u64,
    /// Frames dropped because the DRAM of a deep buffer was too slow.
    pub dram: u64,
    /// Frames that active queue management dropped: RED, CoDel, PIE, PI2, `fq_codel` of hosts.
    pub red: u64,
    /// Frames lost on the wire.
    pub loss: u64,
    /// Frames dropped because the link was down or there was no path.
    pub down: u64,
    /// Frames dropped because they exceed the `mtu` of a link.
    pub mtu: u64,
    /// Frames dropped because the watchdog detected a PAUSE storm at their queue.
    pub watchdog: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Conservation {
    pub packets: Balance,
    pub bytes: Balance,
    /// True if both balances hold.
    pub holds: bool,
}

/// A self-check that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedCheck {
    /// The flow's `id`. Null if the check concerns the whole run.
    pub flow: Option<i64>,
    pub check: &'static str,
    pub detail: String,
}

/// Largest number of failed checks that the summary lists.
pub const FAILED_SHOWN: usize = 100;

/// Conservation: `sent == delivered + dropped + in_flight`. Each frame counts once from end to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Balance {
    pub sent: u64,
    pub delivered: u64,
    pub dropped: u64,
    pub in_flight: u64,
}

impl Summary {
    /// Returns indented JSON that ends with a newline.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .expect("string keys and numbers only")
    }

    /// Returns the summary with the digests of the other files in its directory, and with its own
    /// digest.
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

/// Returns the summary of a run. Its cost is counted from `started` until now.
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
        retransmits: counters.retransmits + of_kernels(scenario, output),
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
            .map(|checks::FailedCheck { flow, check, detail }| FailedCheck {
                flow: flow.map(|flow| output.flow(plan, flow).id),
                check,
                detail,
            })
            .collect(),
        cost: scenario.cost.clone().map(|FabricCost { currency, total, switches, ports }| Cost {
            currency,
            total,
            switches,
            ports,
        }),
        result_hash: result,
        ports_hash: ports,
        counters_hash,
        notes: (scenario.notes.iter().cloned())
            .chain(flowcontrol::warnings(scenario, output))
            .chain(unequal::notes(scenario, output))
            .chain(ending::note(scenario, output))
            .chain(series::notes(scenario, output))
            .collect(),
        warnings: scenario
            .warnings
            .iter()
            .map(|warning| Warned { key: warning.key.clone(), text: warning.text.clone() })
            .collect(),
        host_names: host_names(&scenario.plan.topology),
        digests: BTreeMap::new(),
        summary_digest: None,
    }
}

fn flow_counts(scenario: &Scenario, output: &Output) -> FlowCounts {
    let mut counts = FlowCounts {
        started: 0,
        finished: 0,
        unfinished: 0,
        not_started: 0,
        in_warmup: 0,
        of_kernels: 0,
    };
    for (flow, record) in output.all_flows(&scenario.plan) {
        let Some(start) = record.start else {
            counts.not_started += 1;
            continue;
        };
        let finished = crate::times::completion(record).is_some();
        counts.started += 1;
        counts.finished += u64::from(finished);
        counts.unfinished += u64::from(!finished && flow.can_complete());
        counts.of_kernels += u64::from(flow.is_outside());
        counts.in_warmup += u64::from(start.0 < scenario.warmup.0);
    }
    counts
}

/// Returns the number of data packets that kernels sent again.
fn of_kernels(scenario: &Scenario, output: &Output) -> u64 {
    let flows = output.all_flows(&scenario.plan).filter(|(flow, _)| flow.is_outside());
    flows.map(|(_, record)| record.packets_retransmitted).sum()
}

fn conservation(c: &Counters) -> Conservation {
    let packets = Balance {
        sent: c.sent_packets,
        delivered: c.delivered_packets,
        dropped: c.dropped_packets,
        in_flight: c.in_flight_packets,
    };
    let bytes = Balance {
        sent: c.sent_bytes,
        delivered: c.delivered_bytes,
        dropped: c.dropped_bytes,
        in_flight: c.in_flight_bytes,
    };
    let closes = |b: Balance| b.sent == b.delivered + b.dropped + b.in_flight;
    Conservation { packets, bytes, holds: closes(packets) && closes(bytes) }
}

#[cfg(test)]
mod tests;
