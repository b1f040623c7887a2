//! Warns of events after the end of the run, and of statistics without flows.

use super::input::WarningInput;
use afflux_config::Duration;
use afflux_config::tree::{Key, Wrong};
use afflux_net::spec::Start;
use afflux_units::{Span, Time};

pub fn find(input: &WarningInput, found: &mut Vec<Wrong>) {
    let plan = input.plan;
    warm_up(input, found);
    let Some(until) = plan.run.until else { return };
    let late = |from: Time| from >= until;
    let text = |what: &str| {
        format!(
            "{what}, because the run ends at run.until = \"{}\"; write an earlier time, or a later run.until",
            Span(until.0)
        )
    };
    for block in (0..input.uses.starts.len()).filter(|block| late(input.uses.starts[*block])) {
        found.push(Wrong::at(
            Key::from("traffic").index(block).name("start"),
            text("this traffic never starts"),
        ));
    }
    for (link, down) in
        plan.topology.links.iter().flat_map(|link| link.down.iter().map(move |down| (link, down)))
    {
        if late(down.from) {
            let name = |node: u32| &plan.topology.nodes[node as usize].name;
            found.push(Wrong::at(
                Key::from("topology.fault"),
                text(&format!("the link {}-{} never goes down", name(link.a), name(link.b))),
            ));
            break;
        }
    }
    if input.hosts().any(|host| host.storm.is_some_and(|storm| late(storm.from))) {
        found.push(Wrong::at(input.host_key("storm"), text("the storm never begins")));
    }
}

fn warm_up(input: &WarningInput, found: &mut Vec<Wrong>) {
    let Some(Duration(warmup)) = input.document.run.warmup else { return };
    let plan = input.plan;
    if warmup.0 == 0
        || plan.flows.is_empty()
        || !plan.undrawn.is_empty()
        || plan.applications.is_some()
    {
        return;
    }
    if plan.flows.iter().all(|flow| matches!(flow.start, Start::At(at) if at.0 < warmup.0)) {
        let text = format!(
            "all flows start before \"{warmup}\", so no flow counts in the statistics; write a shorter warm-up"
        );
        found.push(Wrong::at(Key::from("run.warmup"), text));
    }
}
