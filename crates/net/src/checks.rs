//! Checks the results of every run for consistency. A failed check is a defect of this program. The
//! results of such a run are kept, and every output that shows them reports the failure.

use crate::record::{Counters, FlowRecord, MemoryFault, Output, Split, Status};
use crate::spec::{EngineKind, Flow, FlowId, NodeId, Plan, Topology};
use afflux_units::Time;

/// A failed check of one flow, or of the whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCheck {
    pub flow: Option<FlowId>,
    /// `split`, `delivery`, `goodput`, `conservation` or `memory`.
    pub check: &'static str,
    pub detail: String,
}

/// Returns all failed checks of `output`, the results of a run of `plan`: first those of the whole
/// run, then those of flows.
pub fn failed_checks(plan: &Plan, output: &Output) -> Vec<FailedCheck> {
    let of_run = |check, detail| FailedCheck { flow: None, check, detail };
    let memory = output.memory_faults.iter().map(|MemoryFault { node, used, held }| {
        let name = &plan.topology.nodes[*node as usize].name;
        format!("at {name} {used} B of memory are in use, its queues hold {held} B")
    });
    let mut failed: Vec<FailedCheck> = conservation(&output.counters)
        .into_iter()
        .map(|detail| of_run("conservation", detail))
        .collect();
    failed.extend(memory.map(|detail| of_run("memory", detail)));
    let rates = HostRates::of(&plan.topology);
    for (id, (flow, record)) in output.all_flows(plan).enumerate() {
        let of_flow = |check, detail| FailedCheck { flow: Some(id as FlowId), check, detail };
        failed.extend(
            split(record)
                .filter(|_| plan.record.explain && !flow.is_outside())
                .map(|detail| of_flow("split", detail)),
        );
        if record.status == Status::Finished
            && record.bytes_received != flow.bytes
            && plan.run.engine != EngineKind::Ideal
        {
            failed.push(of_flow(
                "delivery",
                format!("finished with {} B received of {} B", record.bytes_received, flow.bytes),
            ));
        }
        failed.extend(
            goodput(flow, record, output.end, &rates).map(|detail| of_flow("goodput", detail)),
        );
    }
    failed
}

/// Checks that the frames and bytes sent equal the sum of those delivered, dropped and in flight,
/// and that the drops by reason add up.
fn conservation(c: &Counters) -> Vec<String> {
    let mut failed = Vec::new();
    for (what, sent, delivered, dropped, in_flight) in [
        ("packets", c.sent_packets, c.delivered_packets, c.dropped_packets, c.in_flight_packets),
        ("bytes", c.sent_bytes, c.delivered_bytes, c.dropped_bytes, c.in_flight_bytes),
    ] {
        if sent != delivered + dropped + in_flight {
            failed.push(format!("{sent} {what} were sent, but {delivered} were delivered, {dropped} dropped, and {in_flight} are in flight"));
        }
    }
    let by_reason = c.drops_buffer
        + c.drops_dram
        + c.drops_red
        + c.drops_loss
        + c.drops_down
        + c.drops_mtu
        + c.drops_watchdog
        + c.in_discards;
    if by_reason != c.dropped_packets {
        failed.push(format!("{} packets were dropped, {by_reason} by reason", c.dropped_packets));
    }
    failed
}

/// Link rates of each host in bit/s, from the host and to it. The rates of several links of a host
/// are added.
struct HostRates(Vec<[u64; 2]>);

impl HostRates {
    fn of(topology: &Topology) -> Self {
        let mut rates = vec![[0; 2]; topology.hosts as usize];
        let mut add = |host: NodeId, direction: usize, rate: u64| {
            if let Some(of_host) = rates.get_mut(host as usize) {
                of_host[direction] += rate;
            }
        };
        for link in &topology.links {
            let [there, back] = [false, true].map(|reverse| link.rate_of(reverse).0);
            add(link.a, 0, there);
            add(link.b, 1, there);
            add(link.b, 0, back);
            add(link.a, 1, back);
        }
        HostRates(rates)
    }
}

/// Returns a message if the goodput of a flow exceeds the rates of its hosts' links.
fn goodput(
    flow: &Flow,
    record: &FlowRecord,
    end: Time,
    HostRates(rates): &HostRates,
) -> Option<String> {
    let (start, last) = record.active(end).filter(|_| flow.src != flow.dst)?;
    let rate = rates[flow.src as usize][0].min(rates[flow.dst as usize][1]);
    // The time of a frame on a link is rounded to 1 ps, so each frame may have taken up to 1 ps
    // less than its exact time.
    let time = u128::from(last.since(start).0 + record.packets_sent);
    let fits = u128::from(record.bytes_received) * 8_000_000_000_000 <= u128::from(rate) * time;
    (!fits).then(|| {
        format!(
            "{} B of payload were delivered in {}, more than its hosts' links carry in that time at {} bit/s",
            record.bytes_received,
            last.since(start),
            rate
        )
    })
}

/// Returns a message if the split of a flow is wrong. The parts of a finished flow must add up to
/// its completion time, to the picosecond.
pub fn split(record: &FlowRecord) -> Option<String> {
    let (Status::Finished, Some(start), Some(finish)) =
        (record.status, record.start, record.finish)
    else {
        return None;
    };
    if record.propagation > record.ideal {
        return Some(format!(
            "its propagation of {} is longer than its ideal time of {}",
            record.propagation, record.ideal
        ));
    }
    let Split { recovery, reordering, paused, queueing, pacing, window, application, host } =
        record.split;
    if host > queueing {
        return Some(format!("{host} ps of {queueing} ps in queues are of its own host"));
    }
    let parts = [recovery, reordering, paused, queueing, pacing, window, application];
    // The sum needs 128 bits: a negative difference shows up as a part of almost 2^64.
    let sum = u128::from(record.ideal.0) + parts.iter().map(|part| u128::from(*part)).sum::<u128>();
    let took = i128::from(finish.0) - i128::from(start.0);
    (i128::try_from(sum) != Ok(took))
        .then(|| format!("the parts add up to {sum} ps, its completion time is {took} ps"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{flow, plan, star};
    use crate::{Progress, run};
    use afflux_units::{Span, Time};

    fn checked() -> (Plan, Output) {
        let plan =
            plan(star(3), vec![flow(7, 0, 1, 30_000, Time(0)), flow(8, 2, 1, 30_000, Time(0))]);
        let output = run(&plan, &Progress::default()).unwrap();
        assert_eq!(failed_checks(&plan, &output), []);
        (plan, output)
    }

    fn names(failed: &[FailedCheck]) -> Vec<(Option<FlowId>, &str)> {
        failed.iter().map(|failed| (failed.flow, failed.check)).collect()
    }

    #[test]
    fn each_check_can_fail() {
        let (mut plan, mut output) = checked();
        output.flows[1].split.window += 1;
        assert_eq!(names(&failed_checks(&plan, &output)), [(Some(1), "split")]);
        output.flows[0].propagation = output.flows[0].ideal + Span(1);
        output.flows[0].bytes_received -= 1;
        output.counters.sent_packets += 1;
        output.counters.dropped_bytes += 1;
        output.counters.drops_red += 1;
        output.memory_faults.push(MemoryFault { node: 3, used: 10, held: 20 });
        let of_run = [
            (None, "conservation"),
            (None, "conservation"),
            (None, "conservation"),
            (None, "memory"),
        ];
        let of_flows = [(Some(0), "split"), (Some(0), "delivery"), (Some(1), "split")];
        assert_eq!(names(&failed_checks(&plan, &output)), [&of_run[..], &of_flows].concat());
        output.flows[1].bytes_received = 1_000_000;
        output.flows[1].status = Status::Terminated;
        assert_eq!(
            names(&failed_checks(&plan, &output))[4..],
            [(Some(0), "split"), (Some(0), "delivery"), (Some(1), "goodput")]
        );
        (output.flows[1].bytes_received, output.flows[1].status) = (30_000, Status::Finished);
        // Without `record.explain` there are no parts to add up.
        plan.record.explain = false;
        assert_eq!(names(&failed_checks(&plan, &output)), [&of_run[..], &of_flows[1..2]].concat());
    }

    #[test]
    fn parts_of_almost_everything_are_wrong_and_not_a_panic() {
        let (_, mut output) = checked();
        output.flows[0].split.recovery = u64::MAX;
        assert!(split(&output.flows[0]).unwrap().starts_with("the parts add up to 18446744"));
    }
}
