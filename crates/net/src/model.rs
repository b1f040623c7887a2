//! Defines the rows of `afflux models`.

/// One row of `afflux models`: a model with its source and its limits.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Category: `transport`, `congestion control`, `buffer`, `marking`, `scheduling`, `balance`, …
    pub kind: &'static str,
    /// Name in scenario files.
    pub name: &'static str,
    /// Paper, RFC or code that the model follows.
    pub source: &'static str,
    pub faithful: &'static str,
    pub simplified: &'static str,
}
