//! Results of a run for Python.

use crate::errors::from_results;
use crate::table::Table;
use afflux_net::record::Output;
use afflux_results::{Kind, Tables};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A finished run, in memory.
#[pyclass(frozen, module = "afflux._core")]
pub struct Result {
    pub scenario: Arc<afflux_scenario::Scenario>,
    pub output: Output,
    pub dir: Option<PathBuf>,
    pub summary: String,
    /// `kernels.json`, if hosts of the run were kernels.
    pub kernels: Option<Kernels>,
}

/// Report and files of the kernels of a run.
pub struct Kernels {
    pub json: String,
    /// Why the run failed.
    pub failure: Option<String>,
    /// Further files, by name.
    pub files: Vec<(String, Vec<u8>)>,
}

#[pymethods]
impl Result {
    /// Path of the result directory, if one was written.
    #[getter]
    fn dir(&self) -> Option<&PathBuf> {
        self.dir.as_ref()
    }

    /// Text of `summary.json`.
    #[getter]
    fn summary(&self) -> &str {
        &self.summary
    }

    /// Text of `kernels.json`, if hosts of the run were kernels.
    #[getter]
    fn kernels(&self) -> Option<&str> {
        self.kernels.as_ref().map(|kernels| kernels.json.as_str())
    }

    /// Why a kernel of the run failed: it spun, ended, or a command or kernel parameter failed.
    #[getter]
    fn kernel_failure(&self) -> Option<&str> {
        self.kernels.as_ref()?.failure.as_deref()
    }

    /// Files of the kernels by name: consoles, captures, flows, and what the guests left.
    #[getter]
    fn kernel_files(&self) -> Vec<(&str, &[u8])> {
        let files = self.kernels.iter().flat_map(|kernels| &kernels.files);
        files.map(|(name, content)| (name.as_str(), content.as_slice())).collect()
    }

    /// Names of the recorded tables.
    #[getter]
    fn recorded(&self) -> Vec<&'static str> {
        Tables::new(&self.scenario, &self.output).recorded().into_iter().map(Kind::name).collect()
    }

    /// Returns a table by name. It has no rows if it was not recorded.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let kind = Kind::from_name(name).ok_or_else(|| PyKeyError::new_err(name.to_string()))?;
        let table = py
            .detach(|| Tables::new(&self.scenario, &self.output).get(kind))
            .map_err(|error| from_results(py, error))?;
        Ok(Table::new(table.schema, table.batches))
    }
}
