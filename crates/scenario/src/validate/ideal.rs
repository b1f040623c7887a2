//! `[run] engine = "ideal"`: refuses scenarios that the flow-level engine, which has no packets,
//! cannot run.

use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::{EngineKind, Plan, Start};

pub fn fits(plan: &Plan) -> Result<(), Wrong> {
    if plan.run.engine != EngineKind::Ideal {
        return Ok(());
    }
    let engine = Key::from("run").name("engine");
    if plan.applications.is_some() {
        return Err(Wrong::at(
            engine,
            "\"ideal\" does not support applications: write \"window_log\", or traffic with given start times",
        ));
    }
    if plan.flows.iter().any(|flow| matches!(flow.start, Start::After { .. })) {
        return Err(Wrong::at(
            engine,
            "\"ideal\" does not support flows that other flows start (closed loop): write \"window_log\", or traffic with given start times",
        ));
    }
    if plan
        .flows
        .iter()
        .any(|flow| plan.transports[flow.transport as usize].parameters().is_limited())
    {
        return Err(Wrong::at(
            engine,
            "\"ideal\" sends every flow at line rate, and the scenario has traffic of a lower rate: write \"window_log\", or remove them",
        ));
    }
    let record = &plan.record;
    let asked = [
        ("ports", record.ports.is_some()),
        ("paths", record.paths),
        ("imbalance", record.imbalance.is_some()),
        ("reorder", record.reordering.is_some()),
        ("round_trips", record.round_trips),
        ("senders", record.senders.is_some()),
        ("gaps", !record.gaps.is_empty()),
        ("waits", !record.waits.is_empty()),
        ("capture", !record.captures.is_empty()),
    ];
    match asked.into_iter().find(|(_, asked)| *asked) {
        Some((name, _)) => Err(Wrong::at(
            Key::from("record").name(name),
            "has no effect with run.engine = \"ideal\", which has no packets: remove it",
        )),
        None => Ok(()),
    }
}
