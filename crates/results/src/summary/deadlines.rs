//! Deadlines met and missed.

use super::Named;
use afflux_net::record::{FlowRecord, Output, Status};
use afflux_net::spec::Flow;
use afflux_scenario::Scenario;
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
    /// `met / flows` and `missed / flows`. Null without flows. Flows that still run before their
    /// deadline at the end of the run count in neither.
    pub met_share: Option<f64>,
    pub missed_share: Option<f64>,
}

impl DeadlineStatistics {
    fn add(&mut self, flow: &Flow, record: &FlowRecord, end: u64) {
        let (Some(deadline), Some(met), Some(start)) =
            (flow.deadline, crate::tables::deadline_met(flow, record), record.start)
        else {
            return;
        };
        let terminated = record.status == Status::Terminated;
        let open = record.status == Status::Running && end <= start.0.saturating_add(deadline.0);
        self.flows += 1;
        self.met += u64::from(met);
        self.missed += u64::from(!met && !open);
        self.terminated += u64::from(terminated);
    }

    fn closed(mut self) -> Self {
        let share = |part: u64| (self.flows > 0).then(|| part as f64 / self.flows as f64);
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
            all.add(flow, record, output.end.0);
            by_class[usize::from(flow.class)].add(flow, record, output.end.0);
        }
    }
    let named =
        scenario.classes.iter().cloned().zip(by_class.into_iter().map(DeadlineStatistics::closed));
    Some(Deadlines {
        all: all.closed(),
        by_class: Named(named.filter(|(_, class)| class.flows > 0).collect()),
    })
}
