//! Traffic files of other tools.

pub mod coflow;
pub mod hpcc;
pub mod matrix;
