//! Event queues, time windows, exchange between threads, random streams, and the memory of the
//! process. This crate does not know about networks.
//!
//! The fast engine uses the *window log*: it cuts simulated time into windows no longer than the
//! shortest delay between two nodes. An action of a node in one window can therefore affect other
//! nodes only in a later window. Each event is appended to the log of its window, and each window's
//! log is sorted per node when the window is processed. Events are never sorted globally.

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
