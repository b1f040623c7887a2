//! Statistics of load balancing: evenness of path use, and reordering.

use crate::statistics::Distribution;
use crate::tables::imbalances;
use afflux_net::record::{BalanceCounters, Output};
use afflux_scenario::Scenario;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalanceReport {
    /// Flowlets that began after another remembered flowlet of the same flow.
    pub flowlets: u64,
    /// Path changes of flows at the source ToR, or port changes where every switch chooses
    /// independently.
    pub reroutes: u64,
    /// Control frames between switches.
    pub switch_frames: u64,
    /// ConWeave's counters (see docs/results.md). Null without ConWeave.
    pub conweave: Option<BTreeMap<&'static str, u64>>,
    /// Data frames that arrived at their host after a frame with a higher sequence number.
    pub packets_reordered: u64,
    /// Data frames that arrived at their host after a frame that was sent later, by cause.
    pub out_of_order: BTreeMap<&'static str, u64>,
    /// Null if `imbalance` is not recorded, or no uplink was used.
    pub imbalance: Option<ImbalanceStatistics>,
}

/// Statistics of the imbalance (maximum − minimum) / average of the bytes that a ToR's uplinks sent
/// in a window, over all ToRs and all windows with traffic since the end of the warm-up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImbalanceStatistics {
    pub windows: u64,
    pub mean: f64,
    /// Quantiles of the distribution at 0 %, 5 %, … 100 %.
    pub cdf: Vec<f64>,
}

pub(super) fn of(scenario: &Scenario, output: &Output) -> BalanceReport {
    let BalanceCounters { flowlets, reroutes, switch_frames, conweave, late } =
        output.counters.balance;
    let weaves = scenario.plan.switches.iter().any(|switch| switch.balance.about().reorders);
    let windows = imbalances(scenario, output)
        .into_iter()
        .filter(|(time, _)| time.0 >= scenario.warmup.0)
        .map(|(_, imbalance)| imbalance);
    BalanceReport {
        flowlets,
        reroutes,
        switch_frames,
        conweave: weaves.then(|| conweave.list().into_iter().collect()),
        packets_reordered: output.flows.iter().map(|flow| flow.packets_reordered).sum(),
        out_of_order: late.list().into_iter().collect(),
        imbalance: Distribution::of(windows.collect()).map(|all| ImbalanceStatistics {
            windows: all.count(),
            mean: all.mean(),
            cdf: (0..=20).map(|step| all.quantile(step as f64 / 20.0)).collect(),
        }),
    }
}
