//! What the choice of paths did, and what came out of order.

use afflux_net::record::{BalanceCounters, Counters};
use afflux_net::spec::{Balance, Plan};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BalanceReport {
    /// Flowlets that began after another of their flow.
    pub flowlets: u64,
    /// Changes of a flow's path at its source's ToR.
    pub reroutes: u64,
    /// Control frames between switches.
    pub switch_frames: u64,
    /// Null without ConWeave: see docs/results.md.
    pub conweave: Option<BTreeMap<&'static str, u64>>,
    /// Data frames that reached their host after one that was sent later, by cause.
    pub out_of_order: BTreeMap<&'static str, u64>,
}

pub(super) fn of(plan: &Plan, counters: &Counters) -> BalanceReport {
    let BalanceCounters { flowlets, reroutes, switch_frames, conweave, late } = counters.balance;
    let weaves = plan.switches.iter().any(|switch| matches!(switch.balance, Balance::Conweave(_)));
    BalanceReport {
        flowlets,
        reroutes,
        switch_frames,
        conweave: weaves.then(|| conweave.list().into_iter().collect()),
        out_of_order: late.list().into_iter().collect(),
    }
}
