//! Progress of a run.

use pyo3::prelude::*;
use std::sync::Arc;

/// Observer of a run. Its values are current whenever they are read, from any thread.
#[pyclass(frozen, module = "afflux._core")]
pub struct Progress {
    pub shared: Arc<afflux_net::Progress>,
    pub scenario: Arc<afflux_scenario::Scenario>,
}

/// Queues and completion times at an instant of the run.
#[pyclass(frozen, get_all, module = "afflux._core")]
pub struct View {
    now_ns: u64,
    /// Queues, longest first: node, port, node at the other end, and length in bytes.
    queues: Vec<(String, u32, String, u64)>,
    queued_bytes: u64,
    drops: u64,
    in_discards: u64,
    ecn_marks: u64,
    pause_frames: u64,
    timeouts: u64,
    /// Histogram bins of completion times: lower bound, upper bound (exclusive), count.
    fct_ns: Vec<(u64, u64, u64)>,
    slowdown: Vec<(f64, f64, u64)>,
}

#[pymethods]
impl Progress {
    /// Simulated time in ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.shared.now_ps() / 1_000
    }

    #[getter]
    fn packet_hops(&self) -> u64 {
        self.shared.packet_hops()
    }

    #[getter]
    fn flows_finished(&self) -> u64 {
        self.shared.flows_finished()
    }

    /// Real kernel that has had the clock for the longest real time so far, and this time in seconds.
    /// `None` without kernels.
    #[getter]
    fn slowest_guest(&self) -> Option<(String, f64)> {
        self.shared.slowest_guest()
    }

    /// Returns queues and completion times of a recent instant, and requests the next view. `None`
    /// before the first view, and with the flow-level engine.
    fn view(&self) -> Option<View> {
        let seen = self.shared.view(self.scenario.warmup.0)?;
        let topology = &self.scenario.plan.topology;
        let name = |node: u32| topology.nodes[node as usize].name.clone();
        let queue = |queue: &afflux_net::Queue| {
            (name(queue.node), queue.port, name(queue.peer), queue.bytes)
        };
        let now = &seen.snapshot;
        Some(View {
            now_ns: now.now / 1_000,
            queues: now.queues.iter().map(queue).collect(),
            queued_bytes: now.queued,
            drops: now.drops,
            in_discards: now.in_discards,
            ecn_marks: now.ecn_marks,
            pause_frames: now.pause_frames,
            timeouts: now.timeouts,
            fct_ns: seen.completion.steps().collect(),
            slowdown: seen
                .slowdown
                .steps()
                .map(|(low, high, count)| (low as f64 / 1e3, high as f64 / 1e3, count))
                .collect(),
        })
    }

    /// Stops the run soon. Nothing of it is written.
    fn cancel(&self) {
        self.shared.cancel();
    }
}
