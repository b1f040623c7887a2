//! Coverage words of a scenario: its features and the events of its run, in a form that can be
//! counted.

use afflux_net::record::{Ended, Output, Status};
use afflux_net::spec::{FctEnd, Plan};
use afflux_scenario::Scenario;
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Keys whose words are counted, in the whole scenario, in a transport and in a traffic block. A
/// table with a `kind` may be abbreviated to the word of its kind.
const SCENARIO: &[(&str, &str)] = &[
    ("topology", "topology.kind"),
    ("buffer", "switch.sharing"),
    ("balance", "switch.balance.kind"),
    ("scheduling", "switch.scheduling"),
    ("aqm", "switch.aqm.kind"),
    ("hash", "switch.hash"),
    ("forwarding", "switch.forwarding"),
    ("queue_length", "switch.queue_length"),
    ("nic", "host.scheduling"),
    ("compat", "run.compat"),
];
const TRANSPORT: &[(&str, &str)] = &[
    ("stack", "stack"),
    ("congestion", "congestion"),
    ("mode", "mode"),
    ("recovery", "recovery"),
    ("entropy", "entropy.kind"),
    ("connections", "connections"),
    ("coupling", "mptcp.coupling"),
    ("scheduler", "mptcp.scheduler"),
    ("manager", "mptcp.manager"),
];
const TRAFFIC: &[(&str, &str)] = &[("traffic", "kind")];

/// Tables whose presence is counted.
const TABLES: &[(&str, &str)] = &[
    ("ecn", "switch.ecn"),
    ("pfc", "switch.pfc"),
    ("nic_ecn", "host.nic_ecn"),
    ("pacer", "host.pacer"),
    ("processor", "switch.processor"),
    ("host processor", "host.processor"),
];

/// Coverage words of the form `balance=drill`.
#[derive(Default)]
struct Seen(BTreeSet<String>);

impl Seen {
    fn say(&mut self, what: &str, word: &str) {
        self.0.insert(format!("{what}={word}"));
    }

    /// Adds the words whose conditions are true.
    fn say_if(&mut self, what: &str, words: &[(&str, bool)]) {
        words.iter().filter(|(_, holds)| *holds).for_each(|(word, _)| self.say(what, word));
    }

    /// Adds the words at these paths of a table.
    fn say_words(&mut self, table: &Value, paths: &[(&str, &str)]) {
        for (what, path) in paths {
            let short = || value(table, path.strip_suffix(".kind")?)?.as_str();
            if let Some(word) = value(table, path).and_then(Value::as_str).or_else(short) {
                self.say(what, word);
            }
        }
    }
}

/// Returns words of the form `balance=drill`, each once.
pub fn of(scenario: &Scenario, output: &Output) -> Vec<String> {
    // Uncomment the defaults, which the resolved scenario lists as comments.
    let every: Vec<&str> =
        scenario.resolved.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
    let document: Value = toml::from_str(&every.join("\n")).expect("it has just been written");
    let mut seen = Seen::default();
    seen.say_words(&document, SCENARIO);
    for (what, path) in TABLES {
        seen.say_if("with", &[(what, value(&document, path).is_some_and(Value::is_table))]);
    }
    let named = value(&document, "host.transports").and_then(Value::as_table);
    let named = named.into_iter().flat_map(Table::values);
    for transport in named.chain(value(&document, "host.transport")) {
        seen.say_words(transport, TRANSPORT);
    }
    for block in value(&document, "traffic").and_then(Value::as_array).into_iter().flatten() {
        seen.say_words(block, TRAFFIC);
        let persistent = block.get("persistent").and_then(Value::as_bool) == Some(true);
        let stops = ("senders that stop", block.get("stop").is_some());
        seen.say_if("with", &[stops, ("persistent connections", persistent)]);
    }
    planned(&mut seen, &scenario.plan, output);
    happened(&mut seen, output);
    seen.0.into_iter().collect()
}

/// Adds the words of flows that started, of faults and of records.
fn planned(seen: &mut Seen, plan: &Plan, output: &Output) {
    let end = match plan.run.fct_end {
        FctEnd::LastAck => "last_ack",
        FctEnd::LastByte => "last_byte",
    };
    let until = if plan.run.until.is_some() { " until" } else { "" };
    for (flow, record) in output.all_flows(plan) {
        if record.start.is_some() {
            let transport = plan.transports[flow.transport as usize].name();
            seen.say("transport", &format!("{transport} {end}{until}"));
        }
    }
    for link in &plan.topology.links {
        seen.say_if(
            "fault",
            &[
                ("loss", link.loss.get() > 0.0),
                ("down", !link.down.is_empty()),
                ("convergence", link.down.iter().any(|down| down.converge.0 > 0)),
                ("one direction", link.rates().count() > 1 || link.loss_of(true) != link.loss),
            ],
        );
    }
    let record = &plan.record;
    seen.say_if(
        "record",
        &[
            ("ports", record.ports.is_some()),
            ("paths", record.paths),
            ("imbalance", record.imbalance.is_some()),
            ("reorder", record.reordering.is_some()),
            ("gaps", !record.gaps.is_empty()),
            ("waits", !record.waits.is_empty()),
            ("round_trips", record.round_trips),
            ("senders", record.senders.is_some()),
            ("capture", !record.captures.is_empty()),
        ],
    );
}

/// Adds the events of the run.
fn happened(seen: &mut Seen, output: &Output) {
    let c = &output.counters;
    let some = |status: Status| {
        output.flows.iter().any(|flow| flow.status == status && flow.start.is_some())
    };
    seen.say_if(
        "happened",
        &[
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
        ],
    );
}

fn value<'a>(table: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(table, |value, key| value.get(key))
}
