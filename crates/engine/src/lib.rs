//! Event queues, partitions, random streams, and the memory of the process. Knows no networking.
//!
//! The fast engine is the *window log*: simulated time is cut into windows no longer than the shortest delay between
//! two nodes, so that everything a node does in a window can only be felt elsewhere in a later one. What is to happen
//! is appended to the log of its window; a window's log is sorted per node when its turn comes. Nothing is ever
//! ordered globally.

mod exchange;
mod log;
pub mod memory;
mod prefetch;
pub mod random;
mod windows;

pub use exchange::{Exchange, Turn};
pub use log::{Timed, WindowLog, scattered};
pub use prefetch::prefetch;
pub use windows::Windows;
