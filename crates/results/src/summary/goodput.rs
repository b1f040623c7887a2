//! What applications got of the network, over the time in which they wanted something of it.

use afflux_net::record::{FlowRecord, Output};
use afflux_scenario::Scenario;

/// Flows from a host to itself are left out: they do not use the network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Goodput {
    /// Payload that applications can have, bytes (with TCP in order, duplicates not counted).
    pub delivered_bytes: u64,
    /// Picoseconds in which at least one flow was active.
    pub busy_ps: u64,
    /// `delivered_bytes` over the busy time, bits per second; 0 without any.
    pub bps: f64,
    /// The mean over flows that did not start in the warm-up of what each delivered over the time in which it was active; `None` without any.
    pub flow_mean_bps: Option<f64>,
}

pub(super) fn of(scenario: &Scenario, output: &Output) -> Goodput {
    let mut active: Vec<(u64, u64)> = Vec::new();
    let (mut delivered, mut rates, mut counted) = (0u128, 0.0, 0u64);
    for (flow, record) in output.all_flows(&scenario.plan) {
        let Some((start, end)) = span(record, output.end.0).filter(|_| flow.src != flow.dst) else { continue };
        delivered += u128::from(record.bytes_received);
        active.push((start, end));
        if start >= scenario.warmup.0 && end > start {
            rates += rate(record.bytes_received.into(), end - start);
            counted += 1;
        }
    }
    let busy_ps = union(active);
    Goodput {
        delivered_bytes: u64::try_from(delivered).expect("bytes of a run fit"),
        busy_ps,
        bps: if busy_ps == 0 { 0.0 } else { rate(delivered, busy_ps) },
        flow_mean_bps: (counted > 0).then(|| rates / counted as f64),
    }
}

/// From when to when a flow was active: to its completion, until its transport gave it up, or to the end of the run.
fn span(record: &FlowRecord, end: u64) -> Option<(u64, u64)> {
    let last = record.finish.or(record.given_up).map_or(end, |time| time.0);
    record.start.map(|start| (start.0, last.max(start.0)))
}

/// Bits per second.
fn rate(bytes: u128, ps: u64) -> f64 {
    (bytes * 8_000_000_000_000) as f64 / ps as f64
}

/// How long at least one of these spans lasts.
fn union(mut spans: Vec<(u64, u64)>) -> u64 {
    spans.sort_unstable();
    let (mut busy, mut until) = (0, 0);
    for (start, end) in spans {
        busy += end.saturating_sub(start.max(until));
        until = until.max(end);
    }
    busy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finished_flow, flow, run};
    use afflux_net::record::Status;
    use afflux_net::spec::Flow;
    use afflux_units::{Span, Time};

    const US: u64 = 1_000_000;

    #[test]
    fn spans_that_overlap_count_once() {
        assert_eq!(union(vec![]), 0);
        assert_eq!(union(vec![(5, 9), (0, 3), (2, 4), (6, 7), (20, 20)]), 4 + 4);
    }

    /// Flows of 1000 B each, as `(start, end)` in microseconds; the run ends at 1000 us.
    fn with(flows: &[(u64, u64)]) -> (Scenario, Output) {
        let (mut scenario, mut output) = run();
        scenario.plan.flows = flows.iter().map(|&(start, _)| flow(0, 1, 1_000, start * US)).collect();
        output.flows = flows.iter().map(|&(start, end)| finished_flow(start * US, (end - start) * US)).collect();
        output.end = Time(1_000 * US);
        (scenario, output)
    }

    /// A straggler that starts long after the others counts for its own time, not for the idle time before.
    #[test]
    fn idle_time_before_a_straggler_does_not_count() {
        let (scenario, output) = with(&[(0, 10), (5, 15), (990, 1_000)]);
        let goodput = of(&scenario, &output);
        assert_eq!((goodput.delivered_bytes, goodput.busy_ps), (3_000, 25 * US));
        assert_eq!((goodput.bps, goodput.flow_mean_bps), (3_000.0 * 8.0 / 25e-6, Some(800e6)));
    }

    /// One that waits in a time-out is active: the busy time is long, and the mean over flows hardly changes.
    #[test]
    fn a_straggler_that_waits_is_active() {
        let (scenario, output) = with(&[(0, 10), (0, 10), (0, 10), (0, 1_000)]);
        let goodput = of(&scenario, &output);
        assert_eq!((goodput.busy_ps, goodput.bps), (1_000 * US, 32e6));
        assert_eq!(goodput.flow_mean_bps, Some((3.0 * 800e6 + 8e6) / 4.0));
    }

    /// An unfinished flow has delivered something, and is active until the end; one that was given up until then; one that has not started never.
    #[test]
    fn flows_that_do_not_finish() {
        let (scenario, mut output) = with(&[(0, 10), (100, 110), (900, 910), (950, 960)]);
        let unfinished = |record: &mut FlowRecord, status| (record.finish, record.status, record.bytes_received) = (None, status, 500);
        unfinished(&mut output.flows[1], Status::Terminated);
        output.flows[1].given_up = Some(Time(120 * US));
        unfinished(&mut output.flows[2], Status::Running);
        (output.flows[3].start, output.flows[3].finish) = (None, None);
        let goodput = of(&scenario, &output);
        assert_eq!((goodput.delivered_bytes, goodput.busy_ps), (2_000, (10 + 20 + 100) * US));
        assert_eq!(goodput.flow_mean_bps, Some((800e6 + 200e6 + 40e6) / 3.0));
    }

    /// Totals are of the whole run, means without what starts in the warm-up; what stays within a host is neither.
    #[test]
    fn warm_up_and_local_flows() {
        let (mut scenario, output) = with(&[(0, 10), (20, 40), (30, 30)]);
        scenario.warmup = Span(20 * US);
        scenario.plan.flows[2] = Flow { dst: 0, ..scenario.plan.flows[2].clone() };
        let goodput = of(&scenario, &output);
        assert_eq!((goodput.delivered_bytes, goodput.busy_ps, goodput.flow_mean_bps), (2_000, 30 * US, Some(400e6)));
        let (scenario, output) = with(&[]);
        assert_eq!(of(&scenario, &output), Goodput { delivered_bytes: 0, busy_ps: 0, bps: 0.0, flow_mean_bps: None });
    }
}
