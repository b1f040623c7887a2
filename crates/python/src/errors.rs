//! Errors of the simulator as Python exceptions.

use afflux_results::ResultsError;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use std::path::Path;

pyo3::create_exception!(afflux, Error, PyException, "Whatever afflux itself refuses or fails at.");
pyo3::create_exception!(
    afflux,
    ScenarioError,
    Error,
    "A wrong scenario. Attributes: file, line, key (None where they do not apply)."
);
pyo3::create_exception!(afflux, RunError, Error, "A run that could not be carried out.");
pyo3::create_exception!(
    afflux,
    ResultExists,
    Error,
    "The result directory is there already. Attribute: path."
);

pub fn from_scenario(py: Python<'_>, error: afflux_scenario::ScenarioError) -> PyErr {
    let exception = ScenarioError::new_err(error.message);
    let value = exception.value(py);
    let set = value
        .setattr("file", error.file)
        .and(value.setattr("line", error.line))
        .and(value.setattr("key", error.key));
    set.err().unwrap_or(exception)
}

/// Errors of a run, as passed from its thread.
pub enum Failure {
    Run(afflux_net::RunError),
    Results(ResultsError),
    /// An image or a file for the kernels of a scenario is missing.
    Missing(String),
    /// The kernels of a scenario did not start.
    Kernel(String),
    Panic(String),
}

impl Failure {
    pub fn into_py(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Run(error) => RunError::new_err(error.to_string()),
            Self::Results(error) => from_results(py, error),
            Self::Missing(message) => PyValueError::new_err(message),
            Self::Kernel(message) => RunError::new_err(message),
            Self::Panic(message) => RunError::new_err(format!(
                "{message}; this is a defect of afflux, please report it with the scenario"
            )),
        }
    }
}

pub fn from_results(py: Python<'_>, error: ResultsError) -> PyErr {
    let message = error.to_string();
    match &error {
        ResultsError::Exists(path) | ResultsError::NotAResult(path) => exists(py, message, path),
        ResultsError::Name(_)
        | ResultsError::InFile(_)
        | ResultsError::Unlisted { .. }
        | ResultsError::Changed(_) => PyValueError::new_err(message),
        _ => RunError::new_err(message),
    }
}

fn exists(py: Python<'_>, message: String, path: &Path) -> PyErr {
    let exception = ResultExists::new_err(message);
    let set = exception.value(py).setattr("path", path);
    set.err().unwrap_or(exception)
}
