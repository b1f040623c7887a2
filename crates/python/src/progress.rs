//! How far a run has come.

use pyo3::prelude::*;
use std::sync::Arc;

/// Watches a run; current whenever it is read, from any thread.
#[pyclass(frozen, module = "afflux._core")]
pub struct Progress {
    pub shared: Arc<afflux_net::Progress>,
}

#[pymethods]
impl Progress {
    /// Simulated time.
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

    /// Stops the run soon; nothing of it is written.
    fn cancel(&self) {
        self.shared.cancel();
    }
}
