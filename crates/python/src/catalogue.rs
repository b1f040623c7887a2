//! Catalogue of the scenario format and of the models.

use pyo3::prelude::*;

/// Returns the JSON Schema of scenario files.
#[pyfunction]
pub fn schema() -> String {
    afflux_scenario::schema()
}

/// One row of `afflux models`.
#[pyclass(frozen, get_all, module = "afflux._core")]
pub struct Model {
    kind: &'static str,
    name: &'static str,
    source: &'static str,
    faithful: &'static str,
    simplified: &'static str,
}

#[pymethods]
impl Model {
    fn __repr__(&self) -> String {
        format!("<Model {} {}>", self.kind, self.name)
    }
}

/// Returns all models with their sources and limits.
#[pyfunction]
pub fn models() -> Vec<Model> {
    let all = afflux_net::models()
        .into_iter()
        .chain(afflux_traffic::models())
        .chain(afflux_scenario::models());
    all.map(|afflux_net::Model { kind, name, source, faithful, simplified }| Model {
        kind,
        name,
        source,
        faithful,
        simplified,
    })
    .collect()
}
