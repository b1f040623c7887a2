//! Simulates packets, links, switches, hosts and transports: defines simulation plans
//! ([`spec::Plan`]) and runs them.

pub mod app;
pub mod balance;
pub mod checks;
mod clock;
pub mod congestion;
mod counters;
mod error;
mod expected;
mod fault;
mod features;
mod frame;
mod ideal;
mod idle;
pub mod memory;
mod model;
mod pacer;
pub mod paths;
mod port;
mod probe;
mod processor;
mod progress;
mod queue;
pub mod record;
mod reserved;
pub mod routing;
mod run;
mod shard;
pub mod spec;
mod telemetry;
mod timing;
mod transport;
mod view;
pub use transport::keys as transports;
mod world;

// Allows an experiment that an example and a test share to name this crate in both.
#[cfg(test)]
extern crate self as afflux_net;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use congestion::{Ack, Algorithm, Factory, Foreign, State, Window};
pub use error::RunError;
pub use expected::{Expected, Unknowns, expected, sample};
pub use model::Model;
pub use progress::Progress;
pub use queue::flowcontrol::headroom::{PortFacts, PortHeadroom, by_formula, headrooms};
pub use queue::flowcontrol::response_time;
pub use reserved::{ReservedMemory, reserved_memory};
pub use run::{outside, run, run_with};
pub use view::{Histogram, Queue, Snapshot, View};

/// Returns all models of this crate.
pub fn models() -> Vec<Model> {
    [
        transport::MODELS,
        congestion::MODELS,
        congestion::rate::MODELS,
        &queue::buffer::models(),
        queue::marking::MODELS,
        queue::aqm::MODELS,
        queue::scheduling::MODELS,
        queue::qdisc::MODELS,
        balance::MODELS,
        queue::flowcontrol::models::MODELS,
        fault::MODELS,
        &spec::models(),
        &[
            ideal::MODEL,
            pacer::MODEL,
            outside::MODEL,
            outside::KERNELS,
            processor::MODEL,
            timing::MODEL,
        ],
    ]
    .concat()
}
