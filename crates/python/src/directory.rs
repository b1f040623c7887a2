//! Functions for Python code that writes result directories.

use crate::errors::from_results;
use afflux_results::fault::{self, Step};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a result directory from files given by name and content, like the directory of a run.
/// Replaces an existing directory.
#[pyfunction]
pub fn adopt(py: Python<'_>, files: Vec<(String, Vec<u8>)>, out: PathBuf) -> PyResult<()> {
    py.detach(|| afflux_results::adopt(&files, &out)).map_err(|error| from_results(py, error))
}

/// Removes files that killed writers left next to a result directory. Does nothing while a writer
/// is active.
#[pyfunction]
pub fn clear(py: Python<'_>, out: PathBuf) -> PyResult<()> {
    py.detach(|| afflux_results::clear(&out)).map_err(|error| from_results(py, error))
}

/// Announces a change on disk, for tests (docs/dev/faults.md). It may kill the process or report a
/// full disk.
#[pyfunction]
pub fn step(what: &str, path: PathBuf, removes: bool) -> PyResult<()> {
    Ok(fault::step(if removes { Step::Remove } else { Step::Write }, what, &path)?)
}

/// True if faults are requested in this process, so that `step` has an effect.
#[pyfunction]
pub fn has_faults() -> bool {
    fault::is_armed()
}
