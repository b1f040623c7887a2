//! Everything between a frame's arrival at a port and the port's transmitter: who may occupy memory, who is marked or dropped, and who goes first.

pub mod aqm;
pub mod buffer;
pub mod class;
pub mod flowcontrol;
pub mod marking;
pub mod qdisc;
pub mod scheduling;
mod verdict;
pub mod waiting;

pub use verdict::{Calm, QueueView, Reason, Verdict};
