//! What `afflux models` lists.

/// One row of `afflux models`: a model with its source and its limits.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// What kind of thing: `transport`, `congestion control`, `buffer`, `marking`, `scheduling`, `balance`, …
    pub kind: &'static str,
    /// Its name in scenario files.
    pub name: &'static str,
    /// Paper, RFC or code it follows.
    pub source: &'static str,
    pub faithful: &'static str,
    pub simplified: &'static str,
}
