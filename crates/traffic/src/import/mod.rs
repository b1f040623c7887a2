//! Readers of other tools' traffic files.

pub mod capture;
pub mod coflow;
pub mod hpcc;
pub mod matrix;
