//! Deadlines met and missed.

use super::Named;
use afflux_net::record::{FlowRecord, Output, Status};
use afflux_net::spec::Flow;
use afflux_scenario::Scenario;
use afflux_units::Time;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Deadlines {
    #[serde(flatten)]
    pub all: DeadlineStatistics,
    pub by_class: Named<DeadlineStatistics>,
}

/// Statistics of flows with a deadline that started after the warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DeadlineStatistics {
    pub flows: u64,
    pub met: u64,
    /// Flows that finished too late, were given up, or were still running after the deadline.
    pub missed: u64,
    /// Missed flows that their transport gave up.
    pub terminated: u64,
    /// Shares of the flows whose outcome is known: `met / (met + missed)` and `missed / (met +
    /// missed)`. Null without such flows. The deadlines of the other flows had not passed when the
    /// run ended.
    pub met_share: Option<f64>,
    pub missed_share: Option<f64>,
}

impl DeadlineStatistics {
    fn add(&mut self, flow: &Flow, record: &FlowRecord, end: Time) {
        if flow.deadline.is_none() {
            return;
        }
        let met = crate::tables::deadline_met(flow, record, end);
        self.flows += 1;
        self.met += u64::from(met == Some(true));
        self.missed += u64::from(met == Some(false));
        self.terminated += u64::from(record.status == Status::Terminated);
    }

    fn closed(mut self) -> Self {
        let decided = self.met + self.missed;
        let share = |part: u64| (decided > 0).then(|| part as f64 / decided as f64);
        (self.met_share, self.missed_share) = (share(self.met), share(self.missed));
        self
    }
}

/// Returns `None` if no flow has a deadline.
pub fn of(scenario: &Scenario, output: &Output) -> Option<Deadlines> {
    if scenario.plan.flows.iter().all(|flow| flow.deadline.is_none()) {
        return None;
    }
    let mut all = DeadlineStatistics::default();
    let mut by_class = vec![DeadlineStatistics::default(); scenario.classes.len()];
    for (flow, record) in output.all_flows(&scenario.plan) {
        if record.start.is_some_and(|start| start.0 >= scenario.warmup.0) {
            all.add(flow, record, output.end);
            by_class[usize::from(flow.class)].add(flow, record, output.end);
        }
    }
    let named =
        scenario.classes.iter().cloned().zip(by_class.into_iter().map(DeadlineStatistics::closed));
    Some(Deadlines {
        all: all.closed(),
        by_class: Named(named.filter(|(_, class)| class.flows > 0).collect()),
    })
}
