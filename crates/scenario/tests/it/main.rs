//! Tests of the scenario format through the public API, in one binary, because linking takes most
//! of the time.

mod common;
mod congestion;
mod derived;
mod errors;
mod examples;
mod hadoop;
mod ideal;
mod mutations;
mod names;
mod ndp;
mod pfabric;
mod presets;
mod queues;
mod rdma;
mod refused;
mod resolved;
mod runs;
mod schema;
mod timing;
mod topologies;
mod voq;
mod warnings;
