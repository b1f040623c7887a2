//! What Python needs of the writing of result directories.

use crate::errors::from_results;
use afflux_results::fault::{self, Step};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Writes a result directory of these files, by name and content, as a run would have done; one that exists is replaced.
#[pyfunction]
pub fn adopt(py: Python<'_>, files: Vec<(String, Vec<u8>)>, out: PathBuf) -> PyResult<()> {
    py.detach(|| afflux_results::adopt(&files, &out)).map_err(|error| from_results(py, error))
}

/// Removes what killed writers of a result directory left beside it. Does nothing while one is at work.
#[pyfunction]
pub fn clear(py: Python<'_>, out: PathBuf) -> PyResult<()> {
    py.detach(|| afflux_results::clear(&out)).map_err(|error| from_results(py, error))
}

/// Announces a change on disk, for tests (docs/dev/faults.md): the process may be killed here, or the disk found full.
#[pyfunction]
pub fn step(what: &str, path: PathBuf, removes: bool) -> PyResult<()> {
    Ok(fault::step(if removes { Step::Remove } else { Step::Write }, what, &path)?)
}

/// Does `step` do anything in this process?
#[pyfunction]
pub fn has_faults() -> bool {
    fault::is_armed()
}
