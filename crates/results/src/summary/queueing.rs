//! Where queues stood: in hosts, or in switches.

use crate::times::SplitNs;
use afflux_net::record::Output;
use afflux_scenario::Scenario;
use serde::Serialize;

/// Means of the finished flows that did not start in the warm-up and whose transport tells how long frames waited in their own host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queueing {
    /// How many.
    pub flows: u64,
    /// Queueing in the sender's own host.
    pub host_mean_ns: f64,
    /// All other queueing, acknowledgements' included.
    pub network_mean_ns: f64,
}

/// None without such flows, or where the split was not recorded.
pub fn of(scenario: &Scenario, output: &Output) -> Option<Queueing> {
    let plan = &scenario.plan;
    if !plan.record.explain {
        return None;
    }
    let tells: Vec<bool> = plan.transports.iter().map(|transport| transport.parameters().reports_host_queueing()).collect();
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
    (flows > 0).then(|| Queueing { flows, host_mean_ns: mean(host), network_mean_ns: mean(all - host) })
}
