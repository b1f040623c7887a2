//! Packets, links, switches, hosts and transports: what a [`spec::Plan`] means, and its execution.

mod progress;
pub mod record;
pub mod spec;

pub use progress::Progress;

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("host {from} cannot reach host {to}: no path")]
    Unreachable { from: u32, to: u32 },
    #[error("conservation violated: {0}; this is a defect of afflux, please report it with the scenario")]
    Conservation(String),
}

/// Carries out `plan`. Deterministic: the same plan gives the same [`record::Output`] (but for its `engine` part)
/// with either engine and any number of threads.
pub fn run(plan: &spec::Plan, progress: &Progress) -> Result<record::Output, RunError> {
    let _ = (plan, progress);
    todo!()
}

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
