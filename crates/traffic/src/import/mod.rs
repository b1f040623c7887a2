//! Traffic files of other tools.

pub mod capture;
pub mod coflow;
pub mod hpcc;
pub mod matrix;
