//! How evenly paths were used, and what it cost.

use crate::statistics::Distribution;
use crate::tables::imbalances;
use afflux_net::record::{BalanceCounters, Output};
use afflux_scenario::Scenario;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PathBalance {
    /// Flowlets that began after another of their flow that was still remembered.
    pub flowlets: u64,
    /// Changes of a flow's path at its source's ToR, or of its port where every switch chooses by itself.
    pub reroutes: u64,
    /// Frames that switches sent to switches.
    pub switch_frames: u64,
    /// Data frames that came to their host after one with a higher sequence number.
    pub packets_reordered: u64,
    /// Null if `imbalance` is not recorded, or no uplink was used.
    pub imbalance: Option<ImbalanceStatistics>,
}

/// Of (maximum − minimum) / average of the bytes that a ToR's uplinks sent in a window: over all ToRs and windows in which anything was sent,
/// from the end of the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImbalanceStatistics {
    pub windows: u64,
    pub mean: f64,
    /// Its distribution: the 0 %, 5 %, … 100 % quantiles.
    pub cdf: Vec<f64>,
}

pub fn of(scenario: &Scenario, output: &Output) -> PathBalance {
    let BalanceCounters { flowlets, reroutes, switch_frames } = output.counters.balance;
    let windows = imbalances(scenario, output).into_iter().filter(|(time, _)| time.0 >= scenario.warmup.0).map(|(_, imbalance)| imbalance).collect();
    let imbalance = Distribution::of(windows).map(|all| ImbalanceStatistics {
        windows: all.count(),
        mean: all.mean(),
        cdf: (0..=20).map(|step| all.quantile(step as f64 / 20.0)).collect(),
    });
    PathBalance { flowlets, reroutes, switch_frames, packets_reordered: output.flows.iter().map(|flow| flow.packets_reordered).sum(), imbalance }
}
