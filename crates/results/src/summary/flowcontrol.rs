//! Pause storms and deadlocks, with the names of what is concerned.

use afflux_net::record::Output;
use afflux_net::spec::StormAction;
use afflux_scenario::Scenario;
use serde::Serialize;

/// A queue that a watchdog found paused for too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PauseStorm {
    pub detected_ns: u64,
    /// Null if it lasted to the end.
    pub restored_ns: Option<u64>,
    pub node: String,
    pub port: u32,
    pub priority: u8,
    pub action: &'static str,
}

/// A cycle of links, each paused because the next one is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeadlockReport {
    /// When it was seen.
    pub time_ns: u64,
    pub priority: u8,
    /// `from>to` of each link; each ends where the next one begins.
    pub links: Vec<String>,
    /// The ports that are paused, in the same order.
    pub ports: Vec<PausedPort>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PausedPort {
    pub node: String,
    pub port: u32,
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
    let name = |node: u32| topology.nodes[node as usize].name.clone();
    let ends = |direction: u32| {
        let link = &topology.links[direction as usize / 2];
        if direction.is_multiple_of(2) { (link.a, link.b) } else { (link.b, link.a) }
    };
    let port = |direction: u32| {
        let (from, _) = ends(direction);
        let before = &topology.links[..direction as usize / 2];
        PausedPort { node: name(from), port: before.iter().filter(|link| link.a == from || link.b == from).count() as u32 }
    };
    let report = |d: &afflux_net::record::Deadlock| DeadlockReport {
        time_ns: d.time.round_ns(),
        priority: d.priority,
        links: d.links.iter().map(|&direction| format!("{}>{}", name(ends(direction).0), name(ends(direction).1))).collect(),
        ports: d.links.iter().map(|&direction| port(direction)).collect(),
    };
    output.deadlocks.iter().map(report).collect()
}

/// What whoever ran it has to be told.
pub fn warnings(scenario: &Scenario, output: &Output) -> Vec<String> {
    let deadlock = |d: &DeadlockReport| {
        let ports: Vec<String> = d.ports.iter().map(|p| format!("{} port {}", p.node, p.port)).collect();
        format!("warning: deadlock, seen at {} ns: priority {} is paused in a circle, {}", d.time_ns, d.priority, ports.join(", "))
    };
    let storm = |s: &PauseStorm| {
        format!(
            "warning: pause storm, seen at {} ns: {} port {}, priority {}; the watchdog's action is \"{}\"",
            s.detected_ns, s.node, s.port, s.priority, s.action
        )
    };
    deadlocks(scenario, output).iter().map(deadlock).chain(storms(scenario, output).iter().map(storm)).collect()
}
