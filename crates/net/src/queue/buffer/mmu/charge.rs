//! What the rules reckon with, and what they answer.

use crate::queue::Reason;

/// Priorities, priority groups and queues of a port.
pub const CLASSES: usize = 8;

/// How the rules take a frame in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Take {
    /// It is charged to the headroom.
    pub headroom: bool,
    /// There is cause to pause the priority group.
    pub pause: bool,
}

/// How a frame is taken in, or why it is dropped: no free memory at egress (`Buffer`) or at ingress.
pub type Answer = Result<Take, Reason>;

pub const PLAIN: Answer = Ok(Take { headroom: false, pause: false });

/// True under upper bounds, true with exact counters.
#[inline(always)]
pub fn is_safe(answer: Answer) -> bool {
    matches!(answer, PLAIN)
}

/// Largest figures, with the frame that comes, of all memory in use, of a priority group and of an egress queue.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub used: u64,
    pub group: u64,
    pub queue: u64,
}

/// A priority group of a port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Group {
    /// With the part in the headroom, but for HPCC's rules.
    pub bytes: u64,
    pub headroom: u64,
    /// The peer has been told to stop.
    pub paused: bool,
}

/// A frame as the rules see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Charge {
    /// Memory it takes.
    pub size: u64,
    /// Ingress port, from 0.
    pub input: u32,
    /// Number of its priority group, and of its egress queue, among all of the switch.
    pub group: u32,
    pub queue: u32,
}

impl Charge {
    #[inline(always)]
    pub fn new(size: u64, input: u32, output: u32, class: u8, queue: u8) -> Self {
        Charge { size, input, group: input * CLASSES as u32 + class as u32, queue: output * CLASSES as u32 + queue as u32 }
    }
    #[inline(always)]
    pub fn class(&self) -> u8 {
        (self.group % CLASSES as u32) as u8
    }
}

/// Sums over the whole switch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    pub used: u64,
    pub headroom: u64,
    /// Of the priority groups, beyond what each has to itself; by service pool.
    pub ingress: [u64; 2],
    /// Of the queues, by service pool.
    pub egress: [u64; 2],
}

/// Alpha in 1/65536.
pub fn fixed(alpha: f64) -> u64 {
    assert!((0.0..=1024.0).contains(&alpha), "validated");
    (alpha * 65_536.0 + 0.5) as u64
}

/// `alpha` times `free`, rounded down.
#[inline(always)]
pub fn times(alpha: u64, free: u64) -> u64 {
    // A memory has less than 2^40 bytes, and alpha at most 2^10 in 1/65536: beyond 64 bits it is more than any memory.
    free.checked_mul(alpha).map_or(u64::MAX, |product| product >> 16)
}
