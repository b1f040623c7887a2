//! Queues of a port: buffer admission, marking and dropping, flow control, and the choice of the
//! next frame. Covers everything between a frame's arrival at a port and the port's transmitter.

pub mod aqm;
pub mod buffer;
pub mod class;
pub mod flowcontrol;
pub mod limit;
pub mod marking;
pub mod qdisc;
pub mod scheduling;
mod verdict;
pub mod waiting;

pub use verdict::{FastPathLimits, QueueView, Reason, Verdict};
