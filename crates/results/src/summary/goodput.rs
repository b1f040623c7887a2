//! Goodput of applications, over the time in which they had data to transfer.

use super::groups::{Named, used_classes};
use afflux_net::record::Output;
use afflux_scenario::Scenario;
use serde::Serialize;

/// The key `goodput` in `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoodputGroups {
    /// Goodput of each class that has flows.
    pub by_class: Named<ClassGoodput>,
}

/// Goodput of the flows of one class, and how evenly the flows share it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassGoodput {
    /// Payload of the class delivered to applications, per second of the time in which at least one
    /// flow of the class was active, in bit/s. Null if no flow was active.
    pub bps: Option<f64>,
    /// Jain's index of the goodputs of the class's flows, (sum x)^2 / (n sum x^2): 1 if all are
    /// equal, 1/n if one flow has everything. Null if no flow delivered anything.
    pub jain: Option<f64>,
    /// Number of flows in `jain`: those that started after the warm-up.
    pub flows: u64,
}

/// Goodput of all flows, except flows from a host to itself, which do not use the network.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Goodput {
    /// Payload in bytes delivered to applications (with TCP in order, without duplicates).
    pub delivered_bytes: u64,
    /// Time in ps in which at least one flow was active.
    pub busy_ps: u64,
    /// `delivered_bytes` over the busy time, in bit/s. 0 without busy time.
    pub bps: f64,
    /// Mean, over flows that started after the warm-up, of the payload delivered per active time of
    /// the flow, in bit/s. `None` without such flows.
    pub flow_mean_bps: Option<f64>,
    pub groups: GoodputGroups,
}

/// Sums over the flows of one class.
#[derive(Default)]
struct Class {
    delivered: u128,
    active: Vec<(u64, u64)>,
    /// Number of flows with a goodput, the sum of their goodputs, and the sum of the squares.
    flows: u64,
    sum: f64,
    squares: f64,
}

impl Class {
    fn closed(self) -> ClassGoodput {
        let busy = union(self.active);
        ClassGoodput {
            bps: (busy > 0).then(|| rate(self.delivered, busy)),
            jain: (self.squares > 0.0)
                .then(|| self.sum * self.sum / (self.flows as f64 * self.squares)),
            flows: self.flows,
        }
    }
}

pub(super) fn of(scenario: &Scenario, output: &Output) -> Goodput {
    let mut active: Vec<(u64, u64)> = Vec::new();
    let (mut delivered, mut rates, mut counted) = (0u128, 0.0, 0u64);
    let mut classes: Vec<Class> = scenario.classes.iter().map(|_| Class::default()).collect();
    for (flow, record) in output.all_flows(&scenario.plan) {
        let Some((start, end)) = record.active(output.end).filter(|_| flow.src != flow.dst) else {
            continue;
        };
        let class = &mut classes[usize::from(flow.class)];
        delivered += u128::from(record.bytes_received);
        class.delivered += u128::from(record.bytes_received);
        active.push((start.0, end.0));
        class.active.push((start.0, end.0));
        if let Some(goodput) = record.goodput(output.end).filter(|_| start.0 >= scenario.warmup.0) {
            rates += goodput;
            counted += 1;
            class.flows += 1;
            class.sum += goodput;
            class.squares += goodput * goodput;
        }
    }
    let busy_ps = union(active);
    let named = scenario
        .classes
        .iter()
        .cloned()
        .zip(classes.into_iter().map(Class::closed))
        .zip(used_classes(scenario, output));
    let by_class = Named(named.filter(|(_, used)| *used).map(|(class, _)| class).collect());
    Goodput {
        delivered_bytes: u64::try_from(delivered).expect("bytes of a run fit"),
        busy_ps,
        bps: if busy_ps == 0 { 0.0 } else { rate(delivered, busy_ps) },
        flow_mean_bps: (counted > 0).then(|| rates / counted as f64),
        groups: GoodputGroups { by_class },
    }
}

/// Returns the rate in bit/s.
fn rate(bytes: u128, ps: u64) -> f64 {
    (bytes * 8_000_000_000_000) as f64 / ps as f64
}

/// Returns the time in which at least one of these spans is active.
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
    use afflux_net::record::{FlowRecord, Status};
    use afflux_net::spec::Flow;
    use afflux_units::{Span, Time};

    const US: u64 = 1_000_000;

    #[test]
    fn spans_that_overlap_count_once() {
        assert_eq!(union(vec![]), 0);
        assert_eq!(union(vec![(5, 9), (0, 3), (2, 4), (6, 7), (20, 20)]), 4 + 4);
    }

    /// Returns a run with flows of 1000 B each, given as `(start, end)` in us. The run ends at 1000
    /// us.
    fn with(flows: &[(u64, u64)]) -> (Scenario, Output) {
        let (mut scenario, mut output) = run();
        scenario.plan.flows =
            flows.iter().map(|&(start, _)| flow(0, 1, 1_000, start * US)).collect();
        output.flows = flows
            .iter()
            .map(|&(start, end)| finished_flow(start * US, (end - start) * US))
            .collect();
        output.end = Time(1_000 * US);
        (scenario, output)
    }

    /// A straggler that starts long after the others adds its own time, not the idle time before
    /// it.
    #[test]
    fn idle_time_before_a_straggler_does_not_count() {
        let (scenario, output) = with(&[(0, 10), (5, 15), (990, 1_000)]);
        let goodput = of(&scenario, &output);
        assert_eq!((goodput.delivered_bytes, goodput.busy_ps), (3_000, 25 * US));
        assert_eq!((goodput.bps, goodput.flow_mean_bps), (3_000.0 * 8.0 / 25e-6, Some(800e6)));
    }

    /// A flow that waits for a time-out is active: the busy time is long, and the mean over flows
    /// hardly changes.
    #[test]
    fn a_straggler_that_waits_is_active() {
        let (scenario, output) = with(&[(0, 10), (0, 10), (0, 10), (0, 1_000)]);
        let goodput = of(&scenario, &output);
        assert_eq!((goodput.busy_ps, goodput.bps), (1_000 * US, 32e6));
        assert_eq!(goodput.flow_mean_bps, Some((3.0 * 800e6 + 8e6) / 4.0));
    }

    /// An unfinished flow has delivered data and is active until the end of the run. A flow that
    /// was given up is active until then. A flow that has not started is never active.
    #[test]
    fn flows_that_do_not_finish() {
        let (scenario, mut output) = with(&[(0, 10), (100, 110), (900, 910), (950, 960)]);
        let unfinished = |record: &mut FlowRecord, status| {
            (record.finish, record.status, record.bytes_received) = (None, status, 500)
        };
        unfinished(&mut output.flows[1], Status::Terminated);
        output.flows[1].given_up = Some(Time(120 * US));
        unfinished(&mut output.flows[2], Status::Running);
        (output.flows[3].start, output.flows[3].finish) = (None, None);
        let goodput = of(&scenario, &output);
        assert_eq!((goodput.delivered_bytes, goodput.busy_ps), (2_000, (10 + 20 + 100) * US));
        assert_eq!(goodput.flow_mean_bps, Some((800e6 + 200e6 + 40e6) / 3.0));
    }

    /// Totals include the whole run, means exclude flows that start in the warm-up. Flows within a
    /// host are in neither.
    #[test]
    fn warm_up_and_local_flows() {
        let (mut scenario, output) = with(&[(0, 10), (20, 40), (30, 30)]);
        scenario.warmup = Span(20 * US);
        scenario.plan.flows[2] = Flow { dst: 0, ..scenario.plan.flows[2].clone() };
        let goodput = of(&scenario, &output);
        assert_eq!(
            (goodput.delivered_bytes, goodput.busy_ps, goodput.flow_mean_bps),
            (2_000, 30 * US, Some(400e6))
        );
        let (scenario, output) = with(&[]);
        let groups = GoodputGroups { by_class: Named(Vec::new()) };
        assert_eq!(
            of(&scenario, &output),
            Goodput { delivered_bytes: 0, busy_ps: 0, bps: 0.0, flow_mean_bps: None, groups }
        );
    }

    /// Two classes that overlap: each uses its own busy time. Jain's index of 800, 800 and 200 Mbps
    /// is 1800^2 / (3 * (2 * 800^2 + 200^2)).
    #[test]
    fn each_class_has_its_own_time() {
        let (mut scenario, output) = with(&[(0, 10), (20, 30), (20, 60), (5, 15), (40, 50)]);
        scenario.plan.flows[3].class = 1;
        // A flow from a host to itself belongs to the class, but does not use the network.
        scenario.plan.flows[4] = Flow { dst: 0, ..scenario.plan.flows[4].clone() };
        let by_class = of(&scenario, &output).groups.by_class.0;
        let [(first, many), (second, one)] = &by_class[..] else { panic!("{by_class:?}") };
        assert_eq!(
            (first.as_str(), many.bps, many.flows),
            ("default", Some(3_000.0 * 8.0 / 50e-6), 3)
        );
        assert!(
            (many.jain.unwrap() - 1_800.0 * 1_800.0 / (3.0 * 1_320_000.0)).abs() < 1e-12,
            "{many:?}"
        );
        assert_eq!(
            (second.as_str(), one),
            ("batch", &ClassGoodput { bps: Some(800e6), jain: Some(1.0), flows: 1 })
        );
        // Flows of the warm-up count for the class, but not for the index.
        scenario.warmup = Span(US);
        let by_class = of(&scenario, &output).groups.by_class.0;
        assert_eq!((by_class[0].1.bps, by_class[0].1.flows), (Some(3_000.0 * 8.0 / 50e-6), 2));
    }

    /// A class that delivered nothing has no index. A class that was never active has no goodput
    /// either.
    #[test]
    fn classes_without_goodput() {
        let (mut scenario, mut output) = with(&[(0, 10), (0, 10)]);
        scenario.plan.flows[1].class = 1;
        output.flows[0] = FlowRecord {
            finish: None,
            status: Status::Running,
            bytes_received: 0,
            last_received: None,
            ..output.flows[0].clone()
        };
        output.flows[1].start = None;
        let by_class = of(&scenario, &output).groups.by_class.0;
        let found: Vec<_> =
            by_class.iter().map(|(_, class)| (class.bps, class.jain, class.flows)).collect();
        assert_eq!(found, [(Some(0.0), None, 1), (None, None, 0)]);
    }

    /// Data that arrives after a flow was given up counts, and extends the flow's active time.
    #[test]
    fn late_arrivals_of_a_stopped_flow() {
        let (scenario, mut output) = with(&[(0, 10)]);
        let stopped = FlowRecord {
            finish: None,
            status: Status::Terminated,
            given_up: Some(Time(10 * US)),
            ..output.flows[0].clone()
        };
        for (last, time) in [(Some(5), 10), (Some(40), 40), (None, 10)] {
            output.flows[0] =
                FlowRecord { last_received: last.map(|last| Time(last * US)), ..stopped.clone() };
            let goodput = of(&scenario, &output);
            assert_eq!(
                (goodput.busy_ps, goodput.flow_mean_bps),
                (time * US, Some(goodput.bps)),
                "{last:?}"
            );
        }
    }
}
