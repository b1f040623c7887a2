//! Linux kernels as guests: unmodified Linux runs as a User-Mode Linux process whose clock and
//! network cards belong to the caller.
//!
//! CPU work of a guest takes no virtual time. Its timers, its TCP, its queueing disciplines and its
//! programs are those of the kernel. A guest that is given the clock runs until it is idle; then
//! the caller advances its time to its next timer, or to the arrival of a frame. The same frames at
//! the same times give the same run, bit for bit.
//!
//! This crate knows no networks. Times are in ns of virtual time.
#![cfg(target_os = "linux")]

mod calendar;
mod group;
mod guest;
mod initramfs;
mod line;
mod memory;
mod nic;
mod process;
mod ring;
mod socket;
mod tar;

pub use group::{Failed, Group, start};
pub use guest::{Counts, Failure, Guest, GuestSpec, Sent, State};
pub use initramfs::{Initramfs, Missing};
pub use line::NEVER;
pub use nic::NicSpec;
pub use tar::unpack;
