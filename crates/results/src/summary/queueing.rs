//! Split of the queueing time between hosts and network.

use crate::times::SplitNs;
use afflux_net::record::Output;
use afflux_scenario::Scenario;
use serde::Serialize;

/// Means over finished flows that started after the warm-up and whose transport reports the waiting
/// time of frames in their own host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queueing {
    /// Number of these flows.
    pub flows: u64,
    /// Mean queueing time in ns in the sender's own host.
    pub host_mean_ns: f64,
    /// Mean of all other queueing time in ns, including that of acknowledgements.
    pub network_mean_ns: f64,
}

/// Returns `None` without such flows, or if the split was not recorded.
pub fn of(scenario: &Scenario, output: &Output) -> Option<Queueing> {
    let plan = &scenario.plan;
    if !plan.record.explain {
        return None;
    }
    let tells: Vec<bool> = plan
        .transports
        .iter()
        .map(|transport| transport.parameters().reports_host_queueing())
        .collect();
    let (mut flows, mut host, mut all) = (0, 0, 0);
    for (id, record) in output.flows.iter().enumerate() {
        let flow = output.flow(plan, id as u32);
        let late = record.start.is_some_and(|start| start.0 >= scenario.warmup.0);
        if tells.get(flow.transport as usize) == Some(&true)
            && late
            && let Some(split) = SplitNs::of(record)
        {
            flows += 1;
            host += split.host;
            all += split.queueing;
        }
    }
    let mean = |sum: i64| sum as f64 / flows as f64;
    (flows > 0).then(|| Queueing {
        flows,
        host_mean_ns: mean(host),
        network_mean_ns: mean(all - host),
    })
}
