//! BBR in versions 1 and 3, and version 1 as in ns-3. All three share the states, rounds and filters
//! of [`common`] and [`filters`]. They differ in their gains and bounds, in what they measure, and in
//! their arithmetic.

mod arithmetic;
#[cfg(test)]
mod bottleneck;
mod common;
mod filters;
pub mod ns3;
mod policer;
mod v1;
pub mod v3;

pub use v1::{ABOUT, Bbr, BbrConfig, Keys, MODEL};
