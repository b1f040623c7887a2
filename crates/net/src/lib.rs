//! Packets, links, switches, hosts and transports: what a [`spec::Plan`] means, and its execution.

pub mod app;
pub mod balance;
pub mod checks;
pub mod congestion;
mod expected;
mod fault;
mod frame;
mod ideal;
mod idle;
pub mod memory;
mod pacer;
pub mod paths;
mod port;
mod probe;
mod processor;
mod progress;
mod queue;
pub mod record;
pub mod routing;
mod run;
mod shard;
pub mod spec;
mod telemetry;
mod transport;
mod world;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use congestion::{Ack, Algorithm, Factory, Foreign, State, Window};
pub use expected::{Doubt, Expected, expected};
pub use progress::Progress;
pub use queue::buffer::mmu::{SetAside, set_aside};
pub use queue::flowcontrol::headroom::{PortFacts, by_formula};
pub use queue::flowcontrol::response_time;
pub use run::{outside, run};

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("host {from} cannot reach host {to}: no path")]
    Unreachable { from: u32, to: u32 },
    #[error("frames cannot be pinned to paths here: {0}")]
    NoPaths(#[from] paths::NoPaths),
    #[error("the run was cancelled; nothing was written")]
    Cancelled,
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

/// Every model of this crate.
pub fn models() -> Vec<Model> {
    [
        transport::MODELS,
        congestion::MODELS,
        congestion::rate::MODELS,
        &queue::buffer::models(),
        queue::marking::MODELS,
        queue::aqm::MODELS,
        queue::scheduling::MODELS,
        balance::MODELS,
        queue::flowcontrol::MODELS,
        fault::MODELS,
        &spec::models(),
        &[ideal::MODEL, pacer::MODEL, outside::MODEL, processor::MODEL],
    ]
    .concat()
}
