//! What the choice of paths did: how evenly they were used, and what came out of order.

use crate::statistics::Distribution;
use crate::tables::imbalances;
use afflux_net::record::{BalanceCounters, Output};
use afflux_scenario::Scenario;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BalanceReport {
    /// Flowlets that began after another of their flow that was still remembered.
    pub flowlets: u64,
    /// Changes of a flow's path at its source's ToR, or of its port where every switch chooses by itself.
    pub reroutes: u64,
    /// Control frames between switches.
    pub switch_frames: u64,
    /// Null without ConWeave: see docs/results.md.
    pub conweave: Option<BTreeMap<&'static str, u64>>,
    /// Data frames that came to their host after one with a higher sequence number.
    pub packets_reordered: u64,
    /// Data frames that reached their host after one that was sent later, by cause.
    pub out_of_order: BTreeMap<&'static str, u64>,
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

pub(super) fn of(scenario: &Scenario, output: &Output) -> BalanceReport {
    let BalanceCounters { flowlets, reroutes, switch_frames, conweave, late } = output.counters.balance;
    let weaves = scenario.plan.switches.iter().any(|switch| switch.balance.about().reorders);
    let windows = imbalances(scenario, output).into_iter().filter(|(time, _)| time.0 >= scenario.warmup.0).map(|(_, imbalance)| imbalance);
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
