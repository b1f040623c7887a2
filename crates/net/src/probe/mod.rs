//! Collects records during a run.

pub mod explain;
pub mod hops;
pub mod pieces;
