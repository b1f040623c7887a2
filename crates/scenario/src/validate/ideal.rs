//! `[run] engine = "ideal"`: what has a meaning without packets.

use crate::tree::{Key, Wrong};
use afflux_net::spec::{EngineKind, Plan, Start};

pub fn fits(plan: &Plan) -> Result<(), Wrong> {
    if plan.run.engine != EngineKind::Ideal {
        return Ok(());
    }
    let engine = Key::from("run").name("engine");
    if plan.applications.is_some() {
        return Err(Wrong::at(engine, "\"ideal\" knows no applications: write \"window_log\", or traffic that starts by the clock"));
    }
    if plan.flows.iter().any(|flow| matches!(flow.start, Start::After { .. })) {
        return Err(Wrong::at(engine, "\"ideal\" with flows that others start (closed loop): write \"window_log\", or traffic that starts by the clock"));
    }
    if plan.flows.iter().any(|flow| plan.transports[flow.transport as usize].parameters().is_limited()) {
        return Err(Wrong::at(engine, "\"ideal\" sends at line rate, and there are datagrams of a lower rate: write \"window_log\", or leave them out"));
    }
    let record = &plan.record;
    let asked = [
        ("ports", record.ports.is_some()),
        ("paths", record.paths),
        ("imbalance", record.imbalance.is_some()),
        ("reorder", record.reordering.is_some()),
        ("round_trips", record.round_trips),
        ("gaps", !record.gaps.is_empty()),
        ("waits", !record.waits.is_empty()),
        ("capture", !record.captures.is_empty()),
    ];
    match asked.into_iter().find(|(_, asked)| *asked) {
        Some((name, _)) => Err(Wrong::at(Key::from("record").name(name), "has no meaning with run.engine = \"ideal\", which has no packets: leave it out")),
        None => Ok(()),
    }
}
