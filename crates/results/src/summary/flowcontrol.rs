//! Pause storms and deadlocks, with the names of their nodes and links.

use super::paused_port::{PausedPort, link_name, paused_port};
use afflux_net::record::Output;
use afflux_net::spec::StormAction;
use afflux_scenario::Scenario;
use serde::Serialize;

/// A queue that a watchdog found paused for too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PauseStorm {
    pub detected_ns: u64,
    /// Time in ns of the end of the storm. Null if it lasted until the end of the run.
    pub restored_ns: Option<u64>,
    pub node: String,
    pub port: u32,
    pub priority: u8,
    pub action: &'static str,
}

/// A cycle of links, each paused because the next link is paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeadlockReport {
    /// Time of detection in ns.
    pub time_ns: u64,
    pub priority: u8,
    /// Links as `from>to`. Each link ends where the next one begins.
    pub links: Vec<String>,
    /// The paused ports, in the order of the links.
    pub ports: Vec<PausedPort>,
}

pub fn storms(scenario: &Scenario, output: &Output) -> Vec<PauseStorm> {
    let storm = |s: &afflux_net::record::StormRecord| PauseStorm {
        detected_ns: s.detected.round_ns(),
        restored_ns: s.restored.map(|at| at.round_ns()),
        node: scenario.plan.topology.nodes[s.node as usize].name.clone(),
        port: s.port,
        priority: s.priority,
        action: match s.action {
            StormAction::Drop => "drop",
            StormAction::Forward => "forward",
            StormAction::Alert => "alert",
        },
    };
    output.storms.iter().map(storm).collect()
}

pub fn deadlocks(scenario: &Scenario, output: &Output) -> Vec<DeadlockReport> {
    let topology = &scenario.plan.topology;
    let report = |d: &afflux_net::record::Deadlock| DeadlockReport {
        time_ns: d.time.round_ns(),
        priority: d.priority,
        links: d.links.iter().map(|&direction| link_name(topology, direction)).collect(),
        ports: d.links.iter().map(|&direction| paused_port(topology, direction)).collect(),
    };
    output.deadlocks.iter().map(report).collect()
}

/// Returns warnings for the user.
pub fn warnings(scenario: &Scenario, output: &Output) -> Vec<String> {
    let deadlock = |d: &DeadlockReport| {
        let ports: Vec<String> =
            d.ports.iter().map(|p| format!("{} port {}", p.node, p.port)).collect();
        format!(
            "warning: deadlock, seen at {} ns: priority {} is paused in a circle, {}",
            d.time_ns,
            d.priority,
            ports.join(", ")
        )
    };
    let storm = |s: &PauseStorm| {
        format!(
            "warning: pause storm, seen at {} ns: {} port {}, priority {}; the watchdog's action is \"{}\"",
            s.detected_ns, s.node, s.port, s.priority, s.action
        )
    };
    let found = deadlocks(scenario, output);
    let stalled = super::stalled::warning(scenario, output);
    stalled
        .into_iter()
        .chain(found.iter().map(deadlock))
        .chain(storms(scenario, output).iter().map(storm))
        .collect()
}
