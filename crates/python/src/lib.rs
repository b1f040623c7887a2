//! `afflux._core`: Python interface of the simulator. Converts values and maps errors, and contains
//! no further logic.

mod catalogue;
mod congestion;
mod directory;
mod errors;
mod exchange;
mod interrupt;
mod live;
mod progress;
mod result;
mod scenario;
mod table;

#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use super::catalogue::{Model, models, schema};
    #[pymodule_export]
    use super::congestion::Ack;
    #[pymodule_export]
    use super::directory::{adopt, clear, has_faults, step};
    #[pymodule_export]
    use super::errors::{Error, ResultExists, RunError, ScenarioError};
    #[pymodule_export]
    use super::exchange::{
        flow_table, most_unpacked, read_capture, read_flows, table_of, write_parquet, wrong_name,
    };
    #[pymodule_export]
    use super::live::{live, live_capabilities};
    #[pymodule_export]
    use super::progress::{Progress, View};
    #[pymodule_export]
    use super::result::Result;
    #[pymodule_export]
    use super::scenario::{Block, Expected, Scenario, Warning, blocks, line_of, load, parse};
    #[pymodule_export]
    use super::table::{Table, read_parquet};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    /// Version and commit, set by build.rs.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __build__: &str = env!("AFFLUX_BUILD");

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        afflux_results::set_build(__build__);
        Ok(())
    }
}
