//! Reason for the end of a run.

use afflux_net::record::{Ended, Output};
use afflux_net::spec::Bound;
use afflux_scenario::Scenario;
use serde::Serialize;

/// Data on a run that reached its memory limit and ended before it was done or before `until`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct EarlyEnd {
    pub reason: &'static str,
    pub limit_bytes: u64,
    /// Origin of the limit: `scenario`, `machine`, `control_group` or `address_space`.
    pub limit_of: &'static str,
    /// Quantity that reached the limit: `records` (bytes of all recorded data) or `process`
    /// (resident memory).
    pub reached_by: &'static str,
    /// True if the same scenario ends at the same point on any machine and with any number of
    /// threads.
    pub repeatable: bool,
}

/// Returns `done`, `until`, `max_memory` or `stalled`.
pub fn ended_by(output: &Output) -> &'static str {
    match output.ended {
        Ended::Done => "done",
        Ended::Until => "until",
        Ended::Records | Ended::Process => "max_memory",
        Ended::Stalled => "stalled",
    }
}

pub fn early(scenario: &Scenario, output: &Output) -> Option<EarlyEnd> {
    let max = scenario.plan.run.max_memory?;
    let reached_by = match output.ended {
        Ended::Done | Ended::Until | Ended::Stalled => return None,
        Ended::Records => "records",
        Ended::Process => "process",
    };
    let limit_of = match max.by {
        None => "scenario",
        Some(Bound::Machine) => "machine",
        Some(Bound::Group) => "control_group",
        Some(Bound::AddressSpace) => "address_space",
    };
    Some(EarlyEnd {
        reason: "max_memory",
        limit_bytes: max.bytes,
        limit_of,
        reached_by,
        repeatable: max.by.is_none() && output.ended == Ended::Records,
    })
}

/// Returns a message for the user.
pub fn note(scenario: &Scenario, output: &Output) -> Option<String> {
    if output.ended == Ended::Until && scenario.plan.run.until.is_none() {
        return Some(
            "the run ended after 160 h, the latest time of a run; flows that were under way then are unfinished"
                .to_string(),
        );
    }
    let EarlyEnd { limit_bytes, limit_of, reached_by, .. } = early(scenario, output)?;
    let limit = match limit_of {
        "scenario" => "max_memory",
        "machine" => "what the machine could give",
        "control_group" => "what the control group could give",
        _ => "what the address space allowed (ulimit -v)",
    };
    let what = if reached_by == "records" { "its records" } else { "its memory" };
    let until = seconds(output.end.0 as f64 * 1e-12);
    Some(format!(
        "the run ended early, after {until}: {what} came to {limit}, {} MB; flows that were under way then are unfinished",
        limit_bytes / 1_000_000
    ))
}

pub fn seconds(s: f64) -> String {
    let (value, unit) = if s < 1e-3 {
        (s * 1e6, "us")
    } else if s < 1.0 {
        (s * 1e3, "ms")
    } else {
        (s, "s")
    };
    format!("{value:.1} {unit}")
}
