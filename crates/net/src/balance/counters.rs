//! What balancers have done, whole run.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BalanceCounters {
    /// Flowlets that began after another of their flow.
    pub flowlets: u64,
    /// Changes of a flow's path at its source's ToR.
    pub reroutes: u64,
    /// Frames that switches sent to switches.
    pub switch_frames: u64,
}

impl BalanceCounters {
    pub fn add(&mut self, other: &BalanceCounters) {
        let BalanceCounters { flowlets, reroutes, switch_frames } = other;
        self.flowlets += flowlets;
        self.reroutes += reroutes;
        self.switch_frames += switch_frames;
    }
}
