//! Input and output types of the MMU's rules.

use crate::queue::Reason;

/// Number of priorities, and of priority groups and queues per port.
pub const CLASSES: usize = 8;

/// How a frame is taken into memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Take {
    /// True if the frame is charged to the headroom.
    pub headroom: bool,
    /// True if the peer has to pause the priority group.
    pub pause: bool,
}

/// How a frame is taken, or why it is dropped: no free memory at egress (`Buffer`) or at ingress.
pub type Answer = Result<Take, Reason>;

pub const PLAIN: Answer = Ok(Take { headroom: false, pause: false });

/// True if the answer, when given for upper bounds of the counters, also holds for exact counters.
#[inline(always)]
pub fn is_safe(answer: Answer) -> bool {
    matches!(answer, PLAIN)
}

/// Largest values, including the arriving frame, of all memory in use, of a priority group and of
/// an egress queue. In bytes.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub used: u64,
    pub group: u64,
    pub queue: u64,
}

/// Counters of a priority group of a port.
#[derive(Debug, Clone, Copy, Default)]
pub struct Group {
    /// Bytes of the group. They include the headroom, except under HPCC's rules.
    pub bytes: u64,
    pub headroom: u64,
    /// True if the peer has been told to pause this group.
    pub paused: bool,
}

/// A frame as input of the rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct Charge {
    /// Memory in bytes that the frame takes.
    pub size: u64,
    /// Ingress port, from 0.
    pub input: u32,
    /// Switch-wide indices of its priority group and of its egress queue.
    pub group: u32,
    pub queue: u32,
}

impl Charge {
    #[inline(always)]
    pub fn new(size: u64, input: u32, output: u32, class: u8, queue: u8) -> Self {
        Charge {
            size,
            input,
            group: input * CLASSES as u32 + class as u32,
            queue: output * CLASSES as u32 + queue as u32,
        }
    }
    #[inline(always)]
    pub fn class(&self) -> u8 {
        (self.group % CLASSES as u32) as u8
    }
}

/// Sums over the whole switch, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    pub used: u64,
    pub headroom: u64,
    /// Priority groups, by service pool. SONiC's and HPCC's rules count a group's bytes beyond its
    /// reserve, ConWeave's count all.
    pub ingress: [u64; 2],
    /// Egress queues, by service pool. SONiC's rules count lossy queues only, ConWeave's count all.
    pub egress: [u64; 2],
}

/// Returns alpha in units of 1/65536.
pub fn fixed(alpha: f64) -> u64 {
    assert!((0.0..=1024.0).contains(&alpha), "validated");
    (alpha * 65_536.0 + 0.5) as u64
}

/// Returns `alpha` (in units of 1/65536) times `free`, rounded down.
#[inline(always)]
pub fn times(alpha: u64, free: u64) -> u64 {
    // Memory is below 2^40 bytes and alpha at most 2^10, so a product beyond 64 bits exceeds any
    // memory.
    free.checked_mul(alpha).map_or(u64::MAX, |product| product >> 16)
}
