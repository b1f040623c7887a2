//! The part of a scenario's plan that live mode simulates.

use crate::LiveError;
use afflux_net::spec::{EngineKind, Flow, HostConfig, NodeKind, Plan, PortSeries, Start};
use afflux_scenario::Scenario;
use afflux_units::Span;
use std::collections::HashSet;

/// Sampling interval of switch ports if the scenario does not record any: 100 ms.
const INTERVAL: Span = Span(100_000_000_000);

/// Returns the plan without the traffic that real hosts generate themselves, and notes on the parts
/// left out.
pub fn between(scenario: &Scenario, real: &[u32]) -> Result<(Plan, Vec<String>), LiveError> {
    let mut plan = scenario.plan.clone();
    let mut notes = Vec::new();
    if plan.run.engine == EngineKind::Ideal {
        return Err(LiveError::Wrong(
            "run.engine = \"ideal\" knows no packets: live mode needs an engine of packets".into(),
        ));
    }
    plan.run.engine = EngineKind::Classical;
    plan.run.threads = 1;
    if plan.applications.take().is_some() {
        notes.push("applications are not simulated in live mode".into());
    }
    let real: HashSet<u32> = real.iter().copied().collect();
    for &host in &real {
        // A real host has its own timing noise, so none is simulated for it.
        let node = &mut plan.topology.nodes[host as usize];
        let config = &plan.hosts[node.config as usize];
        if config.timing.is_some() || config.qdisc.is_some() {
            plan.hosts.push(HostConfig { timing: None, qdisc: None, ..config.clone() });
            node.config = plan.hosts.len() as u32 - 1;
        }
    }
    if !scenario.kernels.is_empty() {
        notes.push(format!(
            "host.kernel: live mode starts no kernels, so nothing of these blocks runs ({} hosts)",
            scenario.kernels.len()
        ));
    }
    let all = plan.flows.len();
    let between = plan
        .flows
        .iter()
        .filter(|flow| real.contains(&flow.src) && real.contains(&flow.dst))
        .count();
    plan.flows = simulated(&plan.flows, &real);
    if between > 0 {
        notes.push(format!("{between} of {all} flows are between real hosts: programs there send, live mode does not"));
    }
    match all - plan.flows.len() - between {
        0 => {}
        after => notes.push(format!(
            "{after} of {all} flows start after flows between real hosts, and are left out"
        )),
    }
    if !plan.flows.is_empty() {
        // The scenario's notes concern its traffic. They only matter if some of it is simulated.
        notes.extend(scenario.notes.iter().cloned());
    }
    if !std::mem::take(&mut plan.record.captures).is_empty() {
        notes.push("links are not captured in live mode: capture at a host's nic0".into());
    }
    if std::mem::take(&mut plan.record.paths) {
        notes.push("paths are not recorded in live mode".into());
    }
    if plan.record.ports.is_none() {
        let switches = (0..plan.topology.nodes.len() as u32)
            .filter(|&node| plan.topology.nodes[node as usize].kind == NodeKind::Switch);
        plan.record.ports = Some(PortSeries { interval: INTERVAL, nodes: switches.collect() });
    }
    Ok((plan, notes))
}

/// Returns the flows that have a simulated end and do not depend on a flow that is left out.
fn simulated(flows: &[Flow], real: &HashSet<u32>) -> Vec<Flow> {
    let mut left: HashSet<usize> = (0..flows.len())
        .filter(|&flow| real.contains(&flows[flow].src) && real.contains(&flows[flow].dst))
        .collect();
    loop {
        let groups: HashSet<u32> = left.iter().filter_map(|&flow| flows[flow].group).collect();
        let connections: HashSet<u32> =
            left.iter().filter_map(|&flow| flows[flow].connection).collect();
        let also = |flow: &Flow| {
            matches!(flow.start, Start::After { group, .. } if groups.contains(&group))
                || flow.connection.is_some_and(|connection| connections.contains(&connection))
        };
        let before = left.len();
        left.extend((0..flows.len()).filter(|&flow| also(&flows[flow])));
        if left.len() == before {
            break;
        }
    }
    let kept = flows.iter().enumerate().filter(|(flow, _)| !left.contains(flow));
    kept.map(|(_, flow)| flow.clone()).collect()
}
