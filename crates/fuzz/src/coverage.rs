//! Coverage words of a scenario: its features and the events of its run, in a form that can be
//! counted.

use afflux_net::record::{Ended, Output, Status};
use afflux_scenario::Scenario;
use toml::{Table, Value};

/// Returns words of the form `balance=drill`, each once.
pub fn of(scenario: &Scenario, output: &Output) -> Vec<String> {
    let plan = &scenario.plan;
    // Uncomment the defaults, which the resolved scenario lists as comments.
    let every: Vec<&str> =
        scenario.resolved.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
    let document: Table = toml::from_str(&every.join("\n")).expect("it has just been written");
    let mut seen: Vec<String> = Vec::new();
    let mut say = |what: &str, word: &str| seen.push(format!("{what}={word}"));
    let ends = match (plan.run.fct_end, plan.run.until) {
        (afflux_net::spec::FctEnd::LastAck, None) => "last_ack",
        (afflux_net::spec::FctEnd::LastAck, Some(_)) => "last_ack until",
        (afflux_net::spec::FctEnd::LastByte, None) => "last_byte",
        (afflux_net::spec::FctEnd::LastByte, Some(_)) => "last_byte until",
    };
    for (flow, record) in output.all_flows(plan) {
        if record.start.is_some() {
            say(
                "transport",
                &format!("{} {ends}", plan.transports[flow.transport as usize].name()),
            );
        }
    }
    for (what, path) in [
        ("topology", &["topology", "kind"][..]),
        ("buffer", &["switch", "sharing"]),
        ("balance", &["switch", "balance", "kind"]),
        ("scheduling", &["switch", "scheduling"]),
        ("aqm", &["switch", "aqm", "kind"]),
        ("hash", &["switch", "hash"]),
        ("forwarding", &["switch", "forwarding"]),
        ("queue_length", &["switch", "queue_length"]),
        ("nic", &["host", "scheduling"]),
        ("compat", &["run", "compat"]),
    ] {
        if let Some(word) = lookup(&document, path) {
            say(what, &word);
        }
    }
    let has = |path: &[&str]| value(&document, path).is_some_and(Value::is_table);
    for (what, path) in [
        ("ecn", &["switch", "ecn"][..]),
        ("pfc", &["switch", "pfc"]),
        ("nic_ecn", &["host", "nic_ecn"]),
        ("pacer", &["host", "pacer"]),
        ("processor", &["switch", "processor"]),
        ("host processor", &["host", "processor"]),
    ] {
        if has(path) {
            say("with", what);
        }
    }
    let mut transports = vec![value(&document, &["host", "transport"])];
    if let Some(Value::Table(named)) = value(&document, &["host", "transports"]) {
        transports.extend(named.values().map(Some));
    }
    for transport in transports.into_iter().flatten() {
        let text = |key: &str| transport.get(key).and_then(Value::as_str);
        for key in ["stack", "congestion", "mode", "recovery", "entropy", "connections"] {
            if let Some(word) = text(key) {
                say(key, word);
            }
        }
        if let Some(entropy) =
            transport.get("entropy").and_then(|entropy| entropy.get("kind")).and_then(Value::as_str)
        {
            say("entropy", entropy);
        }
        if let Some(mptcp) = transport.get("mptcp") {
            for key in ["coupling", "scheduler", "manager"] {
                if let Some(word) = mptcp.get(key).and_then(Value::as_str) {
                    say(key, word);
                }
            }
        }
    }
    for block in document.get("traffic").and_then(Value::as_array).into_iter().flatten() {
        if let Some(kind) = block.get("kind").and_then(Value::as_str) {
            say("traffic", kind);
        }
        if block.get("stop").is_some() {
            say("with", "senders that stop");
        }
        if block.get("persistent").and_then(Value::as_bool) == Some(true) {
            say("with", "persistent connections");
        }
    }
    for link in &plan.topology.links {
        if link.loss.get() > 0.0 {
            say("fault", "loss");
        }
        if !link.down.is_empty() {
            say("fault", "down");
        }
        if link.down.iter().any(|down| down.converge.0 > 0) {
            say("fault", "convergence");
        }
        if link.rates().count() > 1 || link.loss_of(true) != link.loss {
            say("fault", "one direction");
        }
    }
    let record = &plan.record;
    for (what, recorded) in [
        ("ports", record.ports.is_some()),
        ("paths", record.paths),
        ("imbalance", record.imbalance.is_some()),
        ("reorder", record.reordering.is_some()),
        ("gaps", !record.gaps.is_empty()),
        ("waits", !record.waits.is_empty()),
        ("round_trips", record.round_trips),
        ("senders", record.senders.is_some()),
        ("capture", !record.captures.is_empty()),
    ] {
        if recorded {
            say("record", what);
        }
    }
    let c = &output.counters;
    let some = |status: Status| {
        output.flows.iter().any(|flow| flow.status == status && flow.start.is_some())
    };
    for (what, happened) in [
        ("drops", c.dropped_packets > 0),
        ("drops in DRAM", c.drops_dram > 0),
        ("drops by RED", c.drops_red > 0),
        ("losses on links", c.drops_loss > 0),
        ("losses on links that are down", c.drops_down > 0),
        ("discards at ingress", c.in_discards > 0),
        ("frames too long for a link", c.drops_mtu > 0),
        ("runs without progress", output.ended == Ended::Stalled),
        ("drops by watchdogs", c.drops_watchdog > 0),
        ("marks", c.ecn_marks > 0),
        ("pauses", c.pause_frames > 0),
        ("deadlocks", !output.deadlocks.is_empty()),
        ("storms", !output.storms.is_empty()),
        ("time-outs", c.timeouts > 0),
        ("retransmissions", c.retransmits > 0),
        ("reroutes", c.balance.reroutes > 0),
        ("reordering", output.flows.iter().any(|flow| flow.packets_reordered > 0)),
        ("flows that are given up", some(Status::Terminated)),
        ("flows unfinished", some(Status::Running)),
    ] {
        if happened {
            say("happened", what);
        }
    }
    seen.sort_unstable();
    seen.dedup();
    seen
}

fn value<'a>(document: &'a Table, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(document.get(*first)?, |value, key| value.get(key))
}

/// Returns the word at a path. If a table with a `kind` is abbreviated to the word of its kind,
/// returns that word.
fn lookup(document: &Table, path: &[&str]) -> Option<String> {
    let direct = value(document, path).and_then(Value::as_str);
    let short = value(document, &path[..path.len() - 1])
        .and_then(Value::as_str)
        .filter(|_| path.last() == Some(&"kind"));
    direct.or(short).map(str::to_string)
}
